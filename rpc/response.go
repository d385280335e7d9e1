package rpc

import (
	"context"
	"slices"

	"hexapla/layers"
	"hexapla/layers/answer"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) responseIngest(ctx context.Context, p *wire.ResponseIngestParams) (*wire.ResponseIngestResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req := session.IngestRequest{Conversation: p.Conversation, Done: p.Done, Key: p.Key}
	if req.Time, err = timeFromWire("time", p.Time); err != nil {
		return nil, err
	}
	var provider answer.Provider
	if req.Answer, provider, err = answerFromWire(p); err != nil {
		return nil, err
	}
	reply, err := s.Ingest(ctx, req)
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.ResponseIngestResult{
		Content: req.Answer.Content, ToolUses: callsToWire(req.Answer.ToolUses), HousekeepingApplied: reply.Applied,
		ToolResults: []wire.OwnToolResult{}, SummarySource: reply.SummarySource,
		Problems: []wire.Problem{}, Flagged: flagsToWire(reply.Flags), Conversation: reply.Conversation, TurnNumber: reply.Number, Sequence: reply.Sequence,
	}
	for _, problem := range reply.Problems {
		result.Problems = append(result.Problems, wire.Problem(problem))
	}
	if reply.Context != nil {
		answer := answerToWire(*reply.Context)
		result.Context = &answer
	}
	for _, own := range reply.Results {
		result.ToolResults = append(result.ToolResults, wire.OwnToolResult{
			CallID: own.CallID, Tool: own.Tool, Text: own.Text,
			Message: answer.AppendResult(nil, provider, own.CallID, own.Tool, own.Text),
		})
	}
	b.recorded(p.Session, wire.MethodResponseIngest, reply.Sequence, reply.Conversation)
	b.drifted(p.Session, reply.Swing)
	b.remembered(p.Session, "task", reply.Memory, reply.Sequence)
	return result, nil
}

// answerFromWire reads the one of text, message and response that is given.
func answerFromWire(p *wire.ResponseIngestParams) (answer.Answer, answer.Provider, error) {
	given := 0
	for _, one := range [...]bool{p.Text != "", p.Response != nil, len(p.Message) > 0} {
		if one {
			given++
		}
	}
	if given > 1 {
		return answer.Answer{}, "", InvalidParams("text", "text: give one of text, response and message")
	}
	provider := answer.Provider(p.Provider)
	if provider != "" && !slices.Contains(answer.Providers(), provider) {
		return answer.Answer{}, "", InvalidParams("provider", `provider: must be "anthropic", "openai-chat", "openai-responses" or "gemini"`)
	}
	switch {
	case len(p.Message) > 0:
		out, found, err := answer.ReadMessage(p.Message)
		if err != nil {
			return out, "", InvalidParams("message", "message: "+err.Error())
		}
		if provider == "" {
			provider = found
		}
		return out, provider, nil
	case p.Response == nil:
		return answer.Read(p.Text), provider, nil
	}
	out := answer.Answer{Content: p.Response.Content}
	calls, err := callsFromWire(p.Response.ToolUses)
	if err != nil {
		return out, "", InvalidParams("response.toolUses", "response.toolUses: input cannot be read")
	}
	if out.Housekeeping, err = housekeepingFromWire(p.Response.Housekeeping); err != nil {
		return out, "", err
	}
	if p.Response.ContextRequests != nil {
		requests := requestsFromWire(*p.Response.ContextRequests)
		asked := layers.ContextRequests{Retrieve: requests.Retrieve, Topics: requests.Topics, Archive: requests.Archive}
		if !asked.Empty() {
			out.Requests = &asked
		}
	}
	out.TakeCalls(calls)
	return out, provider, nil
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
