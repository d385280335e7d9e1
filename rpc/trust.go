package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) housekeepingHistory(ctx context.Context, p *wire.HousekeepingHistoryParams) (*wire.HousekeepingHistoryResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	versions, more, err := s.ContextHistory(ctx, p.Before, p.Limit)
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.HousekeepingHistoryResult{Versions: []wire.ContextVersion{}, More: more}
	for _, v := range versions {
		result.Versions = append(result.Versions, wire.ContextVersion{
			Sequence: v.Sequence, Drift: v.Distance, CurrentContext: contextToWire(v.Context),
		})
	}
	return result, nil
}

func (b *backend) housekeepingRollback(ctx context.Context, p *wire.HousekeepingRollbackParams) (*wire.HousekeepingRollbackResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.RollbackContext(ctx, p.To, p.Key)
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodHousekeepingRollback, reply.Sequence, "")
	return &wire.HousekeepingRollbackResult{From: reply.From, To: reply.To, CurrentContext: contextToWire(reply.Context), Sequence: reply.Sequence}, nil
}

func flagsToWire(flags []session.Flag) []wire.Flag {
	out := []wire.Flag{}
	for _, f := range flags {
		out = append(out, wire.Flag{Path: f.Path, Kind: f.Kind, Text: f.Text})
	}
	return out
}

// drifted announces a swing of layer 0.
func (b *backend) drifted(name string, swing *session.Swing) {
	if swing != nil {
		b.notify(name, wire.EventDrift, wire.DriftParams{Session: name, Drift: swing.Distance, From: swing.From, To: swing.To})
	}
}
