package session

import (
	"context"
	"fmt"

	"hexapla/layers"
	"hexapla/storage"
)

// ConversationsRequest asks for the conversations of a workspace.
type ConversationsRequest struct {
	Of      string         // only those of this session; all when empty
	Outcome layers.Outcome // only those with it; all when empty
	Limit   int
	AsOf    int64
	Cursor  string
}

// ListedConversation is a conversation in a list.
type ListedConversation struct {
	Header  layers.Header
	Session string
	Turns   int
	Opened  int64 // sequence
	Shared  bool  // it comes from another memory
}

// ConversationsReply is conversations, newest first.
type ConversationsReply struct {
	Conversations []ListedConversation
	Cursor        string
	Sequence      int64
}

const (
	defaultConversations = 100
	maxConversations     = 1000
)

// Conversations lists conversations by their headers, newest first, without those
// that an edit took the place of or that were forgotten. A page costs what it
// shows; a filter costs what it passes over.
func (s *Session) Conversations(ctx context.Context, req ConversationsRequest) (reply ConversationsReply, err error) {
	switch {
	case req.Limit < 0 || req.Limit > maxConversations:
		return reply, &InvalidError{Path: "limit", Message: "out of range", Limit: maxConversations}
	case req.AsOf < 0:
		return reply, invalid("asOf", "must not be negative")
	case req.Limit == 0:
		req.Limit = defaultConversations
	}
	switch req.Outcome {
	case "", layers.OutcomeOngoing, layers.OutcomeCompleted, layers.OutcomeError:
	default:
		return reply, invalid("outcome", `must be "ongoing", "completed" or "error"`)
	}
	// The cursor counts entries of the list, which only grows.
	passed, asOf, err := parsePage(req.Cursor, req.AsOf)
	if err != nil {
		return reply, err
	}
	ws := s.Workspace
	reply.Conversations = []ListedConversation{}
	err = ws.view(asOf, func(v storage.View) error {
		reply.Sequence = v.Seq()
		list := listConversations
		if req.Of != "" {
			if _, ok, err := v.Latest(kindSession, req.Of); err != nil {
				return err
			} else if !ok {
				return notFound("session", req.Of)
			}
			list = listOfSession(req.Of)
		}
		sessions := map[string]sessionRecord{}
		const page = 256
		for to := v.ListLen(list) - passed; to > 0; to -= page {
			entries, err := v.List(list, max(0, to-page), to)
			if err != nil {
				return err
			}
			for i := len(entries) - 1; i >= 0; i-- {
				if err := ctx.Err(); err != nil {
					return err
				}
				if len(reply.Conversations) == req.Limit {
					reply.Cursor = fmt.Sprintf("%d@%d", passed, v.Seq())
					return nil
				}
				passed++
				listed, ok, err := ws.listed(v, entries[i], sessions)
				if err != nil {
					return err
				}
				if ok && (req.Outcome == "" || listed.Header.Outcome == req.Outcome) {
					reply.Conversations = append(reply.Conversations, listed)
				}
			}
		}
		return nil
	})
	return reply, err
}

// listed reads what a list shows of a conversation; ok is false where it is one no
// more. sessions holds those that were read.
func (ws *Workspace) listed(v storage.View, entry storage.ListEntry, sessions map[string]sessionRecord) (listed ListedConversation, ok bool, err error) {
	record, _, ok, err := latest[conversationRecord](v, kindConversation, entry.ID)
	if err != nil || !ok {
		return listed, false, err
	}
	if _, gone, err := superseded(v, entry.ID); err != nil || gone {
		return listed, false, err
	}
	trio, _, ok, err := latest[trioRecord](v, kindTrio, entry.ID)
	if err == nil && !ok {
		trio, err = ws.ruleTrio(v, entry.ID)
	}
	if err != nil {
		return listed, false, err
	}
	by, known := sessions[record.Session]
	if !known {
		if by, _, _, err = latest[sessionRecord](v, kindSession, record.Session); err != nil {
			return listed, false, err
		}
		sessions[record.Session] = by
	}
	return ListedConversation{
		Header: trio.Header, Session: record.Session, Turns: v.ListLen(listOfTurns(entry.ID)), Opened: entry.Seq, Shared: by.Shared,
	}, true, nil
}
