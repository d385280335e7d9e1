package rpc

import (
	"context"
	"encoding/json"
	"errors"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) historyStats(_ context.Context, p *wire.HistoryStatsParams) (*wire.HistoryStatsResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	stats, err := s.HistoryStats(historyFromWire(&p.HistoryList))
	if err != nil {
		return nil, domainError(err)
	}
	return &wire.HistoryStatsResult{HistoryState: historyStateToWire(&stats)}, nil
}

func (b *backend) historyPrune(ctx context.Context, p *wire.HistoryPruneParams) (*wire.HistoryPruneResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	return b.pruned(ctx, p, wire.MethodHistoryPrune, s.PruneHistory)
}

func (b *backend) historyManage(ctx context.Context, p *wire.HistoryManageParams) (*wire.HistoryManageResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	result, err := b.pruned(ctx, &p.HistoryPruneParams, wire.MethodHistoryManage, s.ManageHistory)
	if err != nil {
		return nil, err
	}
	return &wire.HistoryManageResult{HistoryPruneResult: *result}, nil
}

func (b *backend) pruned(ctx context.Context, p *wire.HistoryPruneParams, method string,
	prune func(context.Context, session.HistoryRequest) (session.HistoryReply, error)) (*wire.HistoryPruneResult, error) {
	req := historyFromWire(&p.HistoryList)
	req.Budget, req.Key = p.Budget, p.Key
	reply, err := prune(ctx, req)
	if err != nil {
		return nil, historyError(err)
	}
	result := historyToWire(&reply)
	if p.Return {
		result.Messages = keptMessages(&reply, p.Messages)
	}
	if result.Changed {
		b.recorded(p.Session, method, reply.Sequence, "")
		b.notify(p.Session, wire.EventPruned, prunedToWire(p.Session, &reply))
	}
	return &result, nil
}

func (b *backend) historySummarize(ctx context.Context, p *wire.HistorySummarizeParams) (*wire.HistorySummarizeResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req := historyFromWire(&p.HistoryList)
	req.Keep, req.Key = p.Keep, p.Key
	reply, err := s.SummarizeHistory(ctx, req)
	if err != nil {
		return nil, historyError(err)
	}
	result := &wire.HistorySummarizeResult{
		HistoryPruneResult: historyToWire(&reply), Summary: reply.Summary, SummaryAt: reply.SummaryAt, SummaryTokens: reply.SummaryTokens,
	}
	if p.Return {
		result.Messages = keptMessages(&reply, p.Messages)
	}
	if result.Changed {
		b.recorded(p.Session, wire.MethodHistorySummarize, reply.Sequence, "")
		b.notify(p.Session, wire.EventSummarized, wire.SummarizedParams{
			PrunedParams: prunedToWire(p.Session, &reply), SummaryTokens: reply.SummaryTokens,
		})
	}
	return result, nil
}

func (b *backend) historyGet(_ context.Context, p *wire.HistoryGetParams) (*wire.HistoryGetResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	messages, seq, err := s.ArchivedMessages(p.Archived)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.HistoryGetResult{Messages: []wire.ArchivedMessage{}, Sequence: seq}
	for _, m := range messages {
		out.Messages = append(out.Messages, wire.ArchivedMessage{Archived: m.ID, Message: m.Message})
	}
	return out, nil
}

// historyError tells which budget would do.
func historyError(err error) error {
	var small *session.HistoryBudgetError
	if !errors.As(err, &small) {
		return domainError(err)
	}
	e := NewError(wire.KindBudgetTooSmall, small.Error())
	e.Data.Path, e.Data.SmallestTotal = "budget", int64(small.Needed)
	return e
}

func historyFromWire(p *wire.HistoryList) session.HistoryRequest {
	return session.HistoryRequest{Messages: p.Messages, System: p.System, Model: p.Model, Limit: p.Limit, Threshold: p.Threshold}
}

func historyStateToWire(s *session.HistoryStats) wire.HistoryState {
	out := wire.HistoryState{
		Items: s.Items, Tokens: s.Tokens, SystemTokens: s.SystemTokens, Limit: s.Limit, UtilizationPercent: s.Utilization, NeedsPruning: s.NeedsPruning,
		Threshold: s.Threshold, ModelKnown: s.Known, Estimate: s.Estimate, Problems: []wire.HistoryProblem{},
	}
	for _, problem := range s.Problems {
		out.Problems = append(out.Problems, wire.HistoryProblem{Message: problem.Message, Kind: string(problem.Kind)})
	}
	return out
}

func historyToWire(r *session.HistoryReply) wire.HistoryPruneResult {
	out := wire.HistoryPruneResult{
		Changed: len(r.Removed) > 0, Kept: list(r.Kept), Removed: removedToWire(r.Removed),
		Before: historyStateToWire(&r.Before), After: historyStateToWire(&r.After), Sequence: r.Sequence,
	}
	return out
}

func removedToWire(removed []session.RemovedMessage) []wire.RemovedMessage {
	out := []wire.RemovedMessage{}
	for _, m := range removed {
		out = append(out, wire.RemovedMessage{
			Message: m.Message, Archived: m.ID, Tokens: m.Tokens, Reason: string(m.Reason), Score: wire.HistoryScore(m.Score),
		})
	}
	return out
}

func prunedToWire(name string, r *session.HistoryReply) wire.PrunedParams {
	return wire.PrunedParams{
		Session: name, Removed: len(r.Removed), Kept: len(r.Kept), Original: r.Before.Tokens, Final: r.After.Tokens, Limit: r.Before.Limit, Sequence: r.Sequence,
	}
}

// keptMessages is the list as it is to be sent.
func keptMessages(r *session.HistoryReply, sent []json.RawMessage) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(r.Kept)+1)
	for i, m := range r.Kept {
		if r.Summary != nil && i == r.SummaryAt {
			out = append(out, r.Summary)
		}
		out = append(out, sent[m])
	}
	if r.Summary != nil && r.SummaryAt == len(r.Kept) {
		out = append(out, r.Summary)
	}
	return out
}
