package rpc

import (
	"context"
	"math"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) metricsGet(ctx context.Context, p *wire.MetricsGetParams) (*wire.MetricsGetResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req := session.MetricsRequest{OnlySession: p.OnlySession, FromSeq: p.SinceSequence, ToSeq: p.UntilSequence}
	if req.Since, err = timeFromWire("since", p.Since); err != nil {
		return nil, err
	}
	if req.Until, err = timeFromWire("until", p.Until); err != nil {
		return nil, err
	}
	counts, err := s.Workspace.Counts()
	if err != nil {
		return nil, domainError(err)
	}
	m, err := s.Metrics(ctx, req)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.MetricsGetResult{
		Sequence: counts.Sequence, Conversations: counts.Conversations, Turns: counts.Turns, FullTokens: counts.FullTokens,
		Blobs: counts.Blobs, BlobBytes: counts.BlobBytes, Indexed: counts.Indexed, Latencies: list(b.latencies()),
		Window: wire.MetricsWindow{
			FromSequence: m.Window.From, ToSequence: m.Window.To, From: timeToWire(m.Window.First), To: timeToWire(m.Window.Last),
			Conversations: m.Window.Conversations, Turns: m.Window.Turns,
		},
	}
	packsToWire(out, &m)
	if r := m.Retrieval; r != nil {
		asked := float64(r.Asked())
		out.Retrieval = &wire.MetricsRetrieval{
			Requests: r.Requests, Asked: r.Asked(), Served: r.Served, Deferred: r.Deferred, NotFound: r.NotFound,
			HitRate: places(float64(r.Served) / asked),
		}
		out.ReAsks = &wire.ReAsks{Count: r.ReAsked, Rate: places(float64(r.ReAsked) / asked)}
	}
	if m.Fidelity != nil {
		out.Fidelity = fidelityToWire(m.Fidelity)
	}
	if d := m.Drift; d != nil {
		out.Drift = &wire.Drift{Versions: d.Versions, Limited: d.Limited, Mean: places(d.Mean), Max: places(d.Max)}
	}
	return out, nil
}

func packsToWire(out *wire.MetricsGetResult, m *session.Metrics) {
	p := &m.Packs
	out.Packs, out.PackTokens, out.BudgetViolations = p.Count, p.Tokens, p.Violations
	out.ForcedDrops, out.Unmeasured = p.Forced, p.Count-p.Measured
	if p.Measured == 0 {
		return
	}
	n := float64(p.Measured)
	out.Tokens = &wire.MetricsTokens{
		PerPack: places(float64(p.MeasuredTokens) / n), PerTurn: share(float64(p.MeasuredTokens), float64(m.Window.Turns)),
		FullHistoryPerPack: places(float64(p.FullTokens) / n),
	}
	out.Reduction = share(float64(p.FullTokens-p.MeasuredTokens), float64(p.FullTokens))
	out.CachedShare = share(float64(p.Common), float64(p.Bytes))
	out.Billed = &wire.MetricsBilled{
		Equivalents: places(p.Billed), FullHistoryEquivalents: places(p.BilledFull), Share: share(p.Billed, p.BilledFull), PricedPacks: p.Priced,
	}
	if p.Priced > 0 {
		out.Billed.Dollars, out.Billed.FullHistoryDollars = share(p.Dollars, 1), share(p.DollarsFull, 1)
	}
	l := p.Latency
	out.Latency = &wire.Percentiles{Count: l.Count, P50Ms: l.P50, P95Ms: l.P95, P99Ms: l.P99}
}

func fidelityToWire(f *session.SummaryFidelity) *wire.Fidelity {
	return &wire.Fidelity{
		Conversations: f.Conversations, Limited: f.Limited,
		Identifiers: keptToWire(f.Identifiers), Decisions: keptToWire(f.Decisions), Errors: keptToWire(f.Errors), Commands: keptToWire(f.Commands),
		Overall: keptToWire(f.Identifiers.Add(f.Decisions).Add(f.Errors).Add(f.Commands)),
	}
}

// keptToWire returns nil where there is nothing to be kept.
func keptToWire(k session.Kept) *wire.FidelityShare {
	if k.All == 0 {
		return nil
	}
	return &wire.FidelityShare{
		Noted: k.Noted, Kept: k.NotedKept, Share: share(float64(k.NotedKept), float64(k.Noted)),
		All: k.All, AllKept: k.AllKept, AllShare: places(float64(k.AllKept) / float64(k.All)),
	}
}

// share is a figure that is absent where it has nothing to be made of.
func share(part, all float64) *float64 {
	if all == 0 {
		return nil
	}
	x := places(part / all)
	return &x
}

// places rounds to four places, so that figures are the same on every platform.
func places(x float64) float64 { return math.Round(x*1e4) / 1e4 }
