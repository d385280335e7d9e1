package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) conversationEdit(ctx context.Context, p *wire.ConversationEditParams) (*wire.ConversationEditResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req := session.EditRequest{
		Conversation: p.Conversation, Turn: p.Turn, Text: p.Content, Truncate: p.Truncate, Reason: p.Reason, Key: p.Key,
	}
	turn, err := turnFromWire("turn", wire.Turn{ToolCalls: p.ToolCalls, ToolResults: p.ToolResults})
	if err != nil {
		return nil, err
	}
	if p.ToolCalls != nil {
		req.Calls = &turn.Calls
	}
	if p.ToolResults != nil {
		req.Results = &turn.Results
	}
	for _, r := range turn.Results {
		req.Contents = append(req.Contents, r.Content)
	}
	reply, err := s.Edit(ctx, req)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.ConversationEditResult{
		Conversation: reply.Conversation, Turn: reply.Turn, Before: reply.Before, Superseded: list(reply.Superseded),
		Header: headerToWire(reply.Header), ToolResults: []wire.CompressedToolResult{}, Sequence: reply.Sequence,
	}
	for _, r := range reply.Results {
		out.ToolResults = append(out.ToolResults, compressedToWire(r.Compressed, r.Blob))
	}
	b.recorded(p.Session, wire.MethodConversationEdit, reply.Sequence, reply.Conversation)
	return out, nil
}

func (b *backend) conversationAlias(ctx context.Context, p *wire.ConversationAliasParams) (*wire.ConversationAliasResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.SetAlias(ctx, p.Alias, p.To, p.Key)
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodConversationAlias, reply.Sequence, reply.Conversation)
	return &wire.ConversationAliasResult{Conversation: reply.Conversation, Sequence: reply.Sequence}, nil
}

func (b *backend) contextDeferrals(_ context.Context, p *wire.ContextDeferralsParams) (*wire.ContextDeferralsResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	waiting, seq, err := s.Deferrals()
	if err != nil {
		return nil, domainError(err)
	}
	return &wire.ContextDeferralsResult{Deferrals: deferralsToWire(waiting), Sequence: seq}, nil
}

func (b *backend) contextCancel(ctx context.Context, p *wire.ContextCancelParams) (*wire.ContextCancelResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.CancelDeferrals(ctx, p.Deferrals, p.Key)
	if err != nil {
		return nil, domainError(err)
	}
	b.recorded(p.Session, wire.MethodContextCancel, reply.Sequence, "")
	return &wire.ContextCancelResult{Cancelled: list(reply.Cancelled), Sequence: reply.Sequence}, nil
}

func deferralsToWire(waiting []session.Deferral) []wire.Deferral {
	out := make([]wire.Deferral, 0, len(waiting))
	for _, d := range waiting {
		out = append(out, wire.Deferral{
			ID: d.ID, Conversation: d.Asked, Detail: string(d.Detail), Query: d.Query, Reason: d.Reason, Sequence: d.Sequence, TurnsLeft: d.Left,
		})
	}
	return out
}

func contextItemsToWire(items []session.ContextItem) []wire.ContextItem {
	out := make([]wire.ContextItem, 0, len(items))
	for _, item := range items {
		one := wire.ContextItem{
			Conversation: item.ID, Detail: string(item.Detail), Text: item.Text, Tokens: item.Tokens, Covered: item.Covered,
			Cursor: item.Cursor, InContext: item.InContext, Deferral: item.Deferral,
		}
		if item.Stands != nil {
			one.ReAsked, one.Stands = true, &wire.Standing{Section: item.Stands.Section, ID: item.Stands.ID}
		}
		if hit := item.Found; hit != nil {
			one.Relevance = &wire.Relevance{Score: hit.Score, Coverage: hit.Coverage, Parts: partsToWire(hit.Parts)}
		}
		out = append(out, one)
	}
	return out
}

func versionsToWire(versions []session.Version) []wire.ConversationVersion {
	out := make([]wire.ConversationVersion, 0, len(versions))
	for _, v := range versions {
		out = append(out, wire.ConversationVersion(v))
	}
	return out
}
