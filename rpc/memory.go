package rpc

import (
	"context"
	"strconv"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) changeList(_ context.Context, p *wire.ChangeListParams) (*wire.ChangeListResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	since, err := timeFromWire("since", p.Since)
	if err != nil {
		return nil, err
	}
	reply, err := s.Changes(session.ChangesRequest{
		File: p.File, Conversation: p.Conversation, Since: since, Limit: p.Limit, AsOf: p.AsOf, Cursor: p.Cursor,
	})
	if err != nil {
		return nil, domainError(err)
	}
	return &wire.ChangeListResult{
		Changes: fileChangesToWire(reply.Changes), Cursor: reply.Cursor, Derived: reply.Derived, Sequence: reply.Sequence,
	}, nil
}

func fileChangesToWire(changes []session.Change) []wire.FileChange {
	out := make([]wire.FileChange, 0, len(changes))
	for i := range changes {
		c := &changes[i]
		w := wire.FileChange{
			File: c.File, From: c.From, ChangeType: c.Type, Summary: c.Summary, Impact: c.Impact,
			Conversation: c.Conversation, Turn: c.Conversation + "#" + strconv.Itoa(c.Turn), Time: timeToWire(c.Time),
			By: wire.ChangeAuthor{Session: c.Session, Agent: c.Agent, Model: c.Model}, Source: c.Source,
		}
		if c.Counted {
			w.Added, w.Removed = &c.Added, &c.Removed
		}
		out = append(out, w)
	}
	return out
}

func (b *backend) problemLookup(_ context.Context, p *wire.ProblemLookupParams) (*wire.ProblemLookupResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	problems, seq, err := s.Problems(session.ProblemsRequest{Error: p.Error, Limit: p.Limit, AsOf: p.AsOf})
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.ProblemLookupResult{Problems: []wire.KnownProblem{}, Sequence: seq}
	for i := range problems {
		known := wire.KnownProblem{
			Pattern: problems[i].Pattern, Seen: []wire.OutputPlace{}, Total: problems[i].Total, Resolutions: []wire.Resolution{},
		}
		for _, place := range problems[i].Seen {
			known.Seen = append(known.Seen, wire.OutputPlace(place))
		}
		for _, r := range problems[i].Resolutions {
			known.Resolutions = append(known.Resolutions, wire.Resolution{
				Failed: wire.OutputPlace(r.Failed), Resolved: wire.OutputPlace(r.Resolved), Command: r.Command,
				Changes: fileChangesToWire(r.Changes), Finding: r.Finding,
			})
		}
		out.Problems = append(out.Problems, known)
	}
	return out, nil
}

func (b *backend) entityNeighbors(_ context.Context, p *wire.EntityNeighborsParams) (*wire.EntityNeighborsResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	known, neighbors, seq, err := s.Neighbors(session.NeighborsRequest{
		Entity: session.Entity{Kind: p.Kind, Name: p.Entity}, Depth: p.Depth, Limit: p.Limit, AsOf: p.AsOf,
	})
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.EntityNeighborsResult{Neighbors: make([]wire.Neighbor, 0, len(neighbors)), Sequence: seq}
	if known.Name != "" {
		out.Entity = &wire.EntityName{Kind: known.Kind, Name: known.Name}
	}
	for _, n := range neighbors {
		w := wire.Neighbor{
			Kind: n.Kind, Name: n.Name, Weight: n.Weight, Distance: n.Distance, Shared: n.Shared, Near: n.Near,
			ChangedTogether: n.Together, Conversations: list(n.Conversations),
		}
		if n.Via.Name != "" {
			w.Via = &wire.EntityName{Kind: n.Via.Kind, Name: n.Via.Name}
		}
		out.Neighbors = append(out.Neighbors, w)
	}
	return out, nil
}

func (b *backend) contextPredict(_ context.Context, p *wire.ContextPredictParams) (*wire.ContextPredictResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	predictions, seq, err := s.Predict(p.Limit, p.AsOf)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.ContextPredictResult{Predictions: make([]wire.Prediction, 0, len(predictions)), Sequence: seq}
	for _, prediction := range predictions {
		w := wire.Prediction{Kind: prediction.Kind, Name: prediction.Name, Score: prediction.Score, Reasons: []wire.PredictionReason{}}
		for _, r := range prediction.Reasons {
			w.Reasons = append(w.Reasons, wire.PredictionReason(r))
		}
		out.Predictions = append(out.Predictions, w)
	}
	return out, nil
}
