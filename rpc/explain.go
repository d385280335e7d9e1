package rpc

import (
	"context"
	"errors"
	"slices"

	"hexapla/layers"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) packExplain(ctx context.Context, p *wire.PackExplainParams) (*wire.PackExplainResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req, err := packFromWire(&p.PackBuildParams)
	if err != nil {
		return nil, err
	}
	reply, err := s.ExplainPack(ctx, req, p.EntersAt == nil || *p.EntersAt)
	if err != nil {
		return nil, domainError(err)
	}
	pack := reply.Pack
	result := &wire.PackExplainResult{
		Checksum: reply.Checksum, Sequence: pack.Sequence, Encoding: pack.Encoding, Estimate: pack.Estimate,
		Tokens: tokensToWire(pack), Profile: profileToWire(reply.Profile), Candidates: make([]wire.PackCandidate, 0, len(pack.Candidates)),
	}
	for _, c := range pack.Candidates {
		out := wire.PackCandidate{
			ID: c.ID, Layer: c.Layer, Section: c.Section, Detail: c.Shown.Detail, Tokens: c.Shown.Tokens,
			FullDetail: c.Full.Detail, FullTokens: c.Full.Tokens, Reason: c.Reason, ReplacedBy: c.By, Repeats: c.Repeats, EntersAt: c.EntersAt,
		}
		for _, hit := range reply.Scores[c.ID] {
			out.Scores = append(out.Scores, wire.CandidateScore{
				Conversation: hit.Conversation, Score: hit.Score, Coverage: hit.Coverage, Parts: partsToWire(hit.Parts),
			})
		}
		result.Candidates = append(result.Candidates, out)
	}
	return result, nil
}

func tokensToWire(p *layers.Pack) wire.PackTokens {
	return wire.PackTokens{
		Total: p.Budget.Total, Reserved: p.Budget.Reserved, Available: p.Budget.Total - p.Budget.Reserved, Used: p.Used(),
		System: p.System, Context: p.Context, Input: p.Input, FullHistory: p.FullHistory,
	}
}

func (b *backend) packWhatIf(ctx context.Context, p *wire.PackWhatIfParams) (*wire.PackWhatIfResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req, err := packFromWire(&wire.PackBuildParams{
		Budget: wire.Budget{Reserved: p.Reserved}, Layout: p.Layout, Input: p.Input, System: p.System, Task: p.Task, AsOf: p.AsOf, Fill: p.Fill, BudgetUnit: p.BudgetUnit,
	})
	if err != nil {
		return nil, err
	}
	packs, err := s.WhatIf(ctx, session.WhatIfRequest{PackRequest: req, Totals: p.Budgets, Models: p.Models})
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.PackWhatIfResult{Packs: make([]wire.WhatIfPack, 0, len(packs))}
	for i, pack := range packs {
		out := wire.WhatIfPack{Budget: pack.Total, Model: pack.Model, Checksum: pack.Checksum, Sections: []wire.SectionTokens{}}
		if pack.TooSmall != nil {
			var e *Error
			if errors.As(domainError(pack.TooSmall), &e) {
				e.Data.Path, e.Data.Committed = "budgets["+itoa(i%len(p.Budgets))+"]", wire.CommittedNo
				out.Error = &e.Data
			}
		} else {
			out.Encoding, out.Used, out.Dropped = pack.Pack.Encoding, pack.Pack.Used(), len(pack.Pack.Dropped)
			out.Sections = sectionTokens(pack.Pack)
		}
		result.Packs = append(result.Packs, out)
	}
	return result, nil
}

// sectionTokens adds up the sections of one name, in the order in which each
// comes first.
func sectionTokens(p *layers.Pack) []wire.SectionTokens {
	out := []wire.SectionTokens{}
	for _, s := range p.Sections {
		i := slices.IndexFunc(out, func(o wire.SectionTokens) bool { return o.Name == s.Name })
		if i < 0 {
			i = len(out)
			out = append(out, wire.SectionTokens{Name: s.Name})
		}
		out[i].Tokens += s.Tokens
	}
	return out
}

func (b *backend) packDiff(ctx context.Context, p *wire.PackDiffParams) (*wire.PackDiffResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.Diff(ctx, p.From, p.To)
	if err != nil {
		return nil, domainError(err)
	}
	return &wire.PackDiffResult{
		From: markToWire(p.From, reply.From), To: markToWire(p.To, reply.To),
		CommonPrefixBytes: reply.PrefixBytes, Reason: reply.Reason,
		Added: packChangesToWire(reply.Added), Removed: packChangesToWire(reply.Removed), Changed: packChangesToWire(reply.Changed),
	}, nil
}

func markToWire(checksum string, r session.PackReply) wire.PackMark {
	return wire.PackMark{
		Checksum: checksum, Match: r.Checksum == checksum, Sequence: r.Pack.Sequence, Used: r.Pack.Used(), Total: r.Pack.Budget.Total,
		Epoch: r.Pack.Epoch, EpochReason: r.Pack.EpochReason,
	}
}

func packChangesToWire(changes []session.PackChange) []wire.PackChange {
	out := make([]wire.PackChange, 0, len(changes))
	for _, c := range changes {
		out = append(out, wire.PackChange{
			ID: c.ID, Section: c.Section, From: detailOr(c.From, layers.FormNone), To: detailOr(c.To, layers.FormNone),
			FromTokens: c.From.Tokens, ToTokens: c.To.Tokens,
		})
	}
	return out
}

func detailOr(form layers.Form, none string) string {
	if form.Detail == "" {
		return none
	}
	return form.Detail
}
