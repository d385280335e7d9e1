package rpc

import (
	"context"
	"encoding/json"
	"strconv"

	"hexapla/layers"
	"hexapla/layers/rendering"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) packBuild(ctx context.Context, p *wire.PackBuildParams) (*wire.PackBuildResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	if err := checkRender(p.Render); err != nil {
		return nil, err
	}
	req, err := packFromWire(p)
	if err != nil {
		return nil, err
	}
	reply, err := s.BuildPack(ctx, req)
	if err != nil {
		return nil, domainError(err)
	}
	var loss *wire.PackLoss
	lost := 0
	if reply.Loss != nil {
		loss, lost = (*wire.PackLoss)(reply.Loss), reply.Loss.Items
	}
	b.notify(p.Session, wire.EventPacked, wire.PackedParams{
		Session: p.Session, Checksum: reply.Checksum, Sequence: reply.Pack.Sequence, Tokens: reply.Pack.Used(),
		Available: p.Budget.Total - p.Budget.Reserved, CachedShare: reply.CachedShare, Dropped: len(reply.Pack.Dropped), Lost: lost,
	})
	b.tellLimit(p.Session, reply.Limit, reply.Pack.Sequence)
	if saved, err := s.FlashWhenFull(ctx, &reply, p.AsOf != nil); err != nil {
		b.logf("session %s: a flash save that was due: %v", p.Session, err)
	} else if saved != nil {
		b.recorded(p.Session, wire.MethodMemoryFlashSave, saved.Sequence, "")
		b.remembered(p.Session, "flashSave", saved.Change, saved.Sequence)
	}
	b.profileChanged(p.Session, reply.ProfileBefore, reply.Profile, reply.Pack.Sequence)
	rendered, err := renderingOf(reply.Pack, p.Render)
	if err != nil {
		return nil, err
	}
	return &wire.PackBuildResult{
		Checksum: reply.Checksum, Pack: json.RawMessage(reply.Canonical), Stability: stabilityToWire(reply), Loss: loss, Limit: packLimitToWire(reply.Limit), Rendering: rendered,
	}, nil
}

func packFromWire(p *wire.PackBuildParams) (session.PackRequest, error) {
	req := session.PackRequest{
		Budget: layers.Budget(p.Budget), Model: p.Model, Layout: layers.Layout(p.Layout), Task: p.Task, Fill: p.Fill, Unit: p.BudgetUnit,
	}
	var err error
	if req.AsOf, req.AsOfTime, err = momentFromWire("asOf", p.AsOf); err != nil {
		return req, err
	}
	if p.Input != nil {
		req.Input = &session.PackInput{Kind: layers.InputKind(p.Input.Type), Content: p.Input.Content}
	}
	if p.System != nil {
		req.System = []session.SystemPart{
			{Name: "tools", Text: p.System.Tools}, {Name: "environment", Text: p.System.Environment},
			{Name: "guardrails", Text: p.System.Guardrails}, {Name: "other", Text: p.System.Other},
		}
	}
	return req, nil
}

func stabilityToWire(reply session.PackReply) wire.Stability {
	out := wire.Stability{
		CommonPrefixBytes: reply.PrefixBytes, CommonPrefixTokens: reply.PrefixTokens, CachedShare: reply.CachedShare,
		StablePrefixBytes: reply.Pack.StableBytes, Epoch: reply.Pack.Epoch, EpochReason: reply.Pack.EpochReason,
		HeadroomTokens: reply.Pack.Headroom.Tokens, Profile: profileToWire(reply.Profile), Breakpoints: []wire.Breakpoint{},
	}
	if h := reply.Pack.Headroom; h.Known {
		out.FoldExpectedInCalls = &h.Calls
	}
	for _, b := range reply.Pack.Breakpoints {
		out.Breakpoints = append(out.Breakpoints, wire.Breakpoint(b))
	}
	if g := reply.Pack.Gate; g.Decision != "" {
		out.Gate = &wire.Gate{
			Decision: g.Decision, Sequence: g.Sequence, SavedTokens: g.Saved, RewrittenTokens: g.Rewritten,
			ExpectedCalls: g.Calls, Gain: g.Gain, Cost: g.Cost, BreakEvenCalls: g.BreakEven,
		}
	}
	return out
}

// checkRender checks the name of a rendering before anything is done for it.
func checkRender(format string) error {
	if format == "" || rendering.Format(format).Valid() {
		return nil
	}
	return InvalidParams("render", `render: must be "anthropic-messages", "openai-chat", "openai-responses", "gemini-contents" or "text"`)
}

// renderingOf gives a pack in the shape asked for, nil if none is.
func renderingOf(pack *layers.Pack, format string) (*wire.Rendering, error) {
	if format == "" {
		return nil, nil
	}
	r, err := rendering.Render(pack, rendering.Format(format))
	if err != nil {
		return nil, err
	}
	return &wire.Rendering{
		Format: string(r.Format), Body: json.RawMessage(r.Body), Tokens: r.Tokens,
		FramingTokens: r.FramingTokens, Framing: string(r.Framing),
	}, nil
}

func (b *backend) budgetReport(ctx context.Context, p *wire.BudgetReportParams) (*wire.BudgetReportResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.ReportUsage(ctx, session.UsageReport{
		Model: p.Model, PromptTokens: p.PromptTokens, Checksum: p.Checksum, Counted: p.CountedTokens, Key: p.Key,
		CacheWriteTokens: p.CacheWriteTokens, CacheReadTokens: p.CacheReadTokens, OutputTokens: p.OutputTokens, User: p.User,
	})
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodBudgetReport, reply.Sequence, "")
	if status := &reply.Budget; reply.Crossed {
		b.notify(p.Session, wire.EventBudget, wire.BudgetParams{
			Session: p.Session, User: p.User, BudgetPercent: status.Left, Binding: useToWire(status.Binding), Exceeded: status.Exceeded, Range: status.Range, Sequence: reply.Sequence,
		})
	}
	return &wire.BudgetReportResult{
		Model: reply.Model, Factor: reply.Fit.Factor, Overhead: reply.Fit.Overhead, Band: reply.Fit.Band,
		Samples: reply.Fit.Samples, MicroUSD: reply.MicroUSD, Priced: reply.Known, BudgetPercent: reply.Budget.Left, Binding: useToWire(reply.Budget.Binding),
		Sequence: reply.Sequence,
	}, nil
}

func (b *backend) packReplay(ctx context.Context, p *wire.PackReplayParams) (*wire.PackReplayResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	if err := checkRender(p.Render); err != nil {
		return nil, err
	}
	reply, err := s.Replay(ctx, p.Checksum)
	if err != nil {
		return nil, domainError(err)
	}
	rendered, err := renderingOf(reply.Pack, p.Render)
	if err != nil {
		return nil, err
	}
	return &wire.PackReplayResult{
		Checksum: p.Checksum, Rebuilt: reply.Checksum, Match: reply.Checksum == p.Checksum, Redacted: reply.Redacted, Pack: json.RawMessage(reply.Canonical),
		Rendering: rendered,
	}, nil
}

const (
	defaultAuditEntries = 20
	maxAuditEntries     = 200
)

func (b *backend) auditQuery(ctx context.Context, p *wire.AuditQueryParams) (*wire.AuditQueryResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	filter := session.AuditFilter{
		OnlySession: p.OnlySession, Checksum: p.Checksum, From: p.FromSequence, To: p.ToSequence, Reason: p.EpochReason, Limit: p.Limit,
	}
	if filter.Since, err = boundFromWire("since", p.Since); err != nil {
		return nil, err
	}
	if filter.Until, err = boundFromWire("until", p.Until); err != nil {
		return nil, err
	}
	if filter.Limit < 0 || filter.Limit > maxAuditEntries {
		e := InvalidParams("limit", "limit: out of range")
		e.Data.Limit = maxAuditEntries
		return nil, e
	}
	if filter.Limit == 0 {
		filter.Limit = defaultAuditEntries
	}
	if p.Cursor != "" {
		if filter.Before, err = strconv.ParseInt(p.Cursor, 10, 64); err != nil || filter.Before <= 0 {
			return nil, InvalidParams("cursor", "cursor: is not a cursor of this method")
		}
	}
	entries, more, err := s.Audit(ctx, filter)
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.AuditQueryResult{Entries: []wire.AuditEntry{}}
	for _, entry := range entries {
		out := wire.AuditEntry{
			Entry: entry.Entry, Session: entry.Session, Checksum: entry.Checksum, Previous: entry.Previous, Lost: entry.Lost, Sequence: entry.Sequence,
			Time: timeToWire(entry.Time), Sections: []wire.AuditSection{}, Tokens: entry.Tokens,
			Epoch: entry.Epoch, EpochReason: entry.Reason, Dropped: dropsToWire(entry.Dropped),
			DroppedTotal: max(entry.Drops, len(entry.Dropped)), Settings: entry.Settings,
		}
		for _, section := range entry.Sections {
			shown := wire.AuditSection{Name: section.Name, Tokens: section.Tokens}
			for _, item := range section.Items {
				if p.Items {
					shown.Items = append(shown.Items, wire.PackItem(item))
				}
			}
			out.Sections = append(out.Sections, shown)
		}
		result.Entries = append(result.Entries, out)
	}
	if more > 0 {
		result.Cursor = strconv.FormatInt(more, 10)
	}
	return result, nil
}
