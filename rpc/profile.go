package rpc

import (
	"context"

	"hexapla/layers"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) profileGet(_ context.Context, p *wire.ProfileGetParams) (*wire.ProfileGetResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.Profile()
	if err != nil {
		return nil, domainError(err)
	}
	result := profileReplyToWire(&reply)
	return &result, nil
}

func (b *backend) profileSet(ctx context.Context, p *wire.ProfileSetParams) (*wire.ProfileSetResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.SetProfile(ctx, session.ProfileRequest{Profile: layers.ProfileName(p.Profile), Now: p.Now, Key: p.Key})
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodProfileSet, reply.Sequence, "")
	b.profileChanged(p.Session, reply.Previous, reply.ProfileState, reply.Sequence)
	return &wire.ProfileSetResult{ProfileGetResult: profileReplyToWire(&reply), Previous: string(reply.Previous)}, nil
}

// profileChanged tells the client of another profile; previous is "" where it is
// not known.
func (b *backend) profileChanged(session string, previous layers.ProfileName, now session.ProfileState, sequence int64) {
	if previous == "" || previous == now.Profile {
		return
	}
	b.notify(session, wire.EventProfile, wire.ProfileParams{Session: session, ProfileState: profileToWire(now), Previous: string(previous), Sequence: sequence})
}

func profileToWire(s session.ProfileState) wire.ProfileState {
	return wire.ProfileState{Profile: string(s.Profile), Mode: s.Mode, Reason: s.Reason, LaidOut: string(s.LaidOut), LaidOutAt: s.LaidOutAt}
}

func profileReplyToWire(r *session.ProfileReply) wire.ProfileGetResult {
	out := wire.ProfileGetResult{ProfileState: profileToWire(r.ProfileState), Since: r.Since, Sequence: r.Sequence, Scores: []wire.ProfileScore{}}
	for _, s := range r.Scores {
		out.Scores = append(out.Scores, wire.ProfileScore{Profile: string(s.Profile), Score: s.Score})
	}
	n := &r.Policy
	out.Numbers = wire.ProfileNumbers{
		ActiveMemory: n.ActiveMemory, Summaries: n.Summaries, Retrieved: n.Retrieved, RelatedCoveragePercent: n.RelatedCoveragePercent,
		ResultCap: n.ResultCap, ExcerptCap: n.ExcerptCap, CallCap: n.CallCap, CallBriefCap: n.CallBriefCap,
		LowWaterPercent: n.LowWaterPercent, OpenErrors: n.OpenErrors,
	}
	return out
}
