package session

import (
	"context"

	"hexapla/layers"
	"hexapla/retrieval"
)

// Bounds of the totals that an explained pack's candidates come in at.
const maxEntering = 200 // candidates that are looked at

// ExplainReply is a pack with everything that it could have shown.
type ExplainReply struct {
	Checksum string // of the pack that BuildPack would give
	Pack     *layers.Pack
	Profile  ProfileState
	// Scores are the hits behind candidates that were found by searching, best
	// first, by the candidate's id.
	Scores map[string][]retrieval.Hit
}

// ExplainPack builds a pack with its candidates. It writes nothing, not even to
// the audit log, and the session's next pack is not compared with this one.
// With entersAt it finds for the 200 largest candidates the total at which they
// come in (layers.EntersAt). Errors are those of BuildPack.
func (s *Session) ExplainPack(ctx context.Context, req PackRequest, entersAt bool) (ExplainReply, error) {
	s.fill(&req)
	var reply ExplainReply
	explain := func(p *packer, in layers.Input) error {
		in.Explain = true
		pack, err := build(in)
		if err != nil {
			return err
		}
		reply = ExplainReply{Checksum: layers.Checksum(pack.AppendCanonical(nil)), Pack: pack, Profile: p.profileOf(pack), Scores: p.scores}
		if !entersAt {
			return nil
		}
		p.heads = &headCache{} // the tries leave what packs use alone
		if err := layers.EntersAt(ctx, in, pack, maxEntering, maxBudget); err != nil || in.Calibration == nil {
			return err
		}
		for i := range pack.Candidates {
			if c := &pack.Candidates[i]; c.EntersAt != 0 {
				c.EntersAt = inProvider(in.Calibration, c.EntersAt)
			}
		}
		return nil
	}
	_, err := s.withinLimit(&req, func() error { return s.Workspace.withInput(ctx, s.ID, req, explain) })
	return reply, err
}
