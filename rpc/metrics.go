package rpc

import (
	"context"

	"hexapla/rpc/wire"
)

func (b *backend) instructionsGet(_ context.Context, p *wire.InstructionsGetParams) (*wire.InstructionsGetResult, error) {
	reply, err := b.service.Instructions(p.Format, p.Model)
	if err != nil {
		return nil, domainError(err)
	}
	return &wire.InstructionsGetResult{Text: reply.Text, Tokens: reply.Tokens, Tools: list(reply.Tools)}, nil
}

func (b *backend) metricsGet(_ context.Context, p *wire.MetricsGetParams) (*wire.MetricsGetResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	m, err := s.Workspace.Metrics()
	if err != nil {
		return nil, domainError(err)
	}
	return &wire.MetricsGetResult{
		Sequence: m.Sequence, Conversations: m.Conversations, Turns: m.Turns, FullTokens: m.FullTokens,
		Blobs: m.Blobs, BlobBytes: m.BlobBytes, Packs: m.Packs, PackTokens: m.PackTokens,
		BudgetViolations: m.Violations, Indexed: m.Indexed, Latencies: list(b.latencies()),
	}, nil
}
