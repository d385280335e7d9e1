package rpc

import (
	"context"
	"strconv"

	"hexapla/layers"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func itoa(i int) string { return strconv.Itoa(i) }

// textNormalised is the warning that invalid text was replaced (F13).
const textNormalised = "text_normalised"

func warnings(ctx context.Context) []string {
	if Normalised(ctx) {
		return []string{textNormalised}
	}
	return []string{}
}

func (b *backend) conversationRecord(ctx context.Context, p *wire.ConversationRecordParams) (*wire.ConversationRecordResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req := session.RecordRequest{Conversation: p.Conversation, Done: p.Done, Outcome: layers.Outcome(p.Outcome), Key: p.Key}
	if req.Housekeeping, err = housekeepingFromWire(p.Housekeeping); err != nil {
		return nil, err
	}
	for i, t := range p.Turns {
		turn, err := turnFromWire("turns["+itoa(i)+"]", t)
		if err != nil {
			return nil, err
		}
		req.Turns = append(req.Turns, turn)
		for _, r := range turn.Results {
			req.Contents = append(req.Contents, r.Content)
		}
	}
	reply, err := s.Record(ctx, req)
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.ConversationRecordResult{
		Conversation: reply.Conversation, TurnNumbers: list(reply.Numbers), Sequence: reply.Sequence, Opened: reply.Opened,
		Done: reply.Done, Completed: reply.Completed, ToolResults: []wire.CompressedToolResult{}, Warnings: warnings(ctx),
		Flagged:        flagsToWire(reply.Flags),
		ServedDeferred: contextItemsToWire(reply.ServedDeferred), Expired: deferralsToWire(reply.Expired),
	}
	for _, r := range reply.Results {
		result.ToolResults = append(result.ToolResults, compressedToWire(r.Compressed, r.Blob))
	}
	b.recorded(p.Session, wire.MethodConversationRecord, reply.Sequence, reply.Conversation)
	b.drifted(p.Session, reply.Swing)
	b.remembered(p.Session, "task", reply.Memory, reply.Sequence)
	return result, nil
}

func (b *backend) conversationList(ctx context.Context, p *wire.ConversationListParams) (*wire.ConversationListResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.Conversations(ctx, session.ConversationsRequest{
		Of: p.Of, Outcome: layers.Outcome(p.Outcome), Limit: p.Limit, AsOf: p.AsOf, Cursor: p.Cursor,
	})
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.ConversationListResult{Conversations: []wire.ListedConversation{}, Cursor: reply.Cursor, Sequence: reply.Sequence}
	for _, c := range reply.Conversations {
		result.Conversations = append(result.Conversations, wire.ListedConversation{
			Header: headerToWire(c.Header), Session: c.Session, Turns: c.Turns, Opened: c.Opened, Shared: c.Shared,
		})
	}
	return result, nil
}

func (b *backend) conversationGet(_ context.Context, p *wire.ConversationGetParams) (*wire.ConversationGetResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.Conversation(session.ConversationRequest{
		Conversation: p.Conversation, Detail: layers.Detail(p.Detail), MaxTokens: p.MaxTokens, AsOf: p.AsOf, Cursor: p.Cursor, Query: p.Query,
	})
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.ConversationGetResult{
		Conversation: reply.Conversation, Covered: reply.Covered, Versions: versionsToWire(reply.Versions), Detail: string(reply.Detail), Text: reply.Text, Tokens: reply.Tokens,
		Header: headerToWire(reply.Header), Turns: []wire.RecordedTurn{}, Sources: []wire.Provenance{}, Trust: string(reply.Trust), Cursor: reply.Cursor, Sequence: reply.Sequence,
	}
	if reply.Detail != layers.DetailHeader {
		summary := summaryToWire(reply.Summary)
		result.Summary = &summary
	}
	for _, turn := range reply.Turns {
		result.Turns = append(result.Turns, turnToWire(turn))
	}
	for _, source := range reply.Sources {
		result.Sources = append(result.Sources, wire.Provenance{
			Turn: source.Turn, Result: source.Result, Author: string(source.Author), Tool: source.Tool, Client: source.Client,
			Trust: string(source.Author.Trust()), Invisible: source.Invisible, Tags: source.Tags,
		})
	}
	return result, nil
}
