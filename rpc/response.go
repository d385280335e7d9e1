package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) responseIngest(ctx context.Context, p *wire.ResponseIngestParams) (*wire.ResponseIngestResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	if p.Response != nil && p.Text != "" {
		return nil, InvalidParams("text", "text: give text or response, not both")
	}
	req := session.IngestRequest{Conversation: p.Conversation, Done: p.Done, Key: p.Key}
	if req.Time, err = timeFromWire("time", p.Time); err != nil {
		return nil, err
	}
	if p.Response == nil {
		req.Answer = session.SplitAnswer(p.Text)
	} else {
		req.Answer.Content = p.Response.Content
		if req.Answer.ToolUses, err = callsFromWire(p.Response.ToolUses); err != nil {
			return nil, InvalidParams("response.toolUses", "response.toolUses: input cannot be read")
		}
		if req.Answer.Housekeeping, err = housekeepingFromWire(p.Response.Housekeeping); err != nil {
			return nil, err
		}
		if p.Response.ContextRequests != nil {
			if requests := requestsFromWire(*p.Response.ContextRequests); !requests.Empty() {
				req.Answer.Requests = &requests
			}
		}
	}
	reply, err := s.Ingest(ctx, req)
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.ResponseIngestResult{
		Content: req.Answer.Content, ToolUses: callsToWire(req.Answer.ToolUses), HousekeepingApplied: reply.Applied,
		Problems: []wire.Problem{}, Flagged: flagsToWire(reply.Flags), Conversation: reply.Conversation, TurnNumber: reply.Number, Sequence: reply.Sequence,
	}
	for _, problem := range reply.Problems {
		result.Problems = append(result.Problems, wire.Problem(problem))
	}
	if reply.Context != nil {
		answer := answerToWire(*reply.Context)
		result.Context = &answer
	}
	b.recorded(p.Session, wire.MethodResponseIngest, reply.Sequence, reply.Conversation)
	b.drifted(p.Session, reply.Swing)
	return result, nil
}

func (b *backend) housekeepingApply(ctx context.Context, p *wire.HousekeepingApplyParams) (*wire.HousekeepingApplyResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	h, err := housekeepingFromWire(&p.Housekeeping)
	if err != nil {
		return nil, err
	}
	reply, err := s.ApplyHousekeeping(ctx, p.Conversation, *h, p.Key)
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodHousekeepingApply, reply.Sequence, reply.Conversation)
	b.drifted(p.Session, reply.Swing)
	return &wire.HousekeepingApplyResult{
		Conversation: reply.Conversation, Header: headerToWire(reply.Header), Summary: summaryToWire(reply.Summary),
		CurrentContext: contextToWire(reply.Context), Trimmed: list(reply.Trimmed), Flagged: flagsToWire(reply.Flags), Sequence: reply.Sequence,
	}, nil
}
