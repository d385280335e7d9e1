package session

import (
	"context"

	"hexapla/layers"
	"hexapla/storage"
)

// openedSession is the stored reply of an open.
type openedSession struct {
	Session string
	Resumed bool
}

func (ws *Workspace) openSession(ctx context.Context, req OpenRequest) (OpenReply, error) {
	opened, _, err := write(ctx, ws, "session/open", "", req.Key, req, func(tx *storage.Tx) (openedSession, error) {
		return ws.putSession(tx, req)
	})
	if err != nil {
		return OpenReply{}, err
	}
	reply := OpenReply{Session: opened.Session, Workspace: ws.ID, Resumed: opened.Resumed}
	err = ws.view(0, func(v storage.View) error {
		reply.Sequence = v.Seq()
		reply.Conversations = v.ListLen(listConversations)
		id, _, err := ongoing(v, opened.Session)
		reply.Ongoing = id
		return err
	})
	return reply, err
}

func (ws *Workspace) putSession(tx *storage.Tx, req OpenRequest) (openedSession, error) {
	v := tx.View()
	id := req.Session
	if id == "" {
		id = ws.ID[:8] + "-" + tx.NextID("s")
	}
	known, _, ok, err := latest[sessionRecord](v, kindSession, id)
	if err != nil {
		return openedSession{}, err
	}
	body := sessionRecord{Agent: req.Agent, Title: req.Title, Model: req.Model, Shared: req.Shared}
	if ok {
		if req.Shared && !known.Shared {
			return openedSession{}, invalid("shared", "session %q is one of this workspace's own", id)
		}
		body = sessionRecord{
			Agent: either(req.Agent, known.Agent), Title: either(req.Title, known.Title), Model: either(req.Model, known.Model), Shared: known.Shared,
		}
		if body == known {
			return openedSession{Session: id, Resumed: true}, nil
		}
	}
	tx.Put(storage.Draft{Kind: kindSession, ID: id, Body: encode(body), Lists: []string{listSessions}})
	return openedSession{Session: id, Resumed: ok}, nil
}

func (ws *Workspace) modelOf(session string) (model string, err error) {
	err = ws.view(0, func(v storage.View) error {
		body, _, _, err := latest[sessionRecord](v, kindSession, session)
		model = body.Model
		return err
	})
	return model, err
}

// ongoing returns the id and record of the session's conversation in
// progress; the id is "" when there is none.
func ongoing(v storage.View, session string) (string, conversationRecord, error) {
	l, err := lineOf(v, session)
	if err != nil {
		return "", conversationRecord{}, err
	}
	entries, err := l.newest(1)
	if err != nil || len(entries) == 0 {
		return "", conversationRecord{}, err
	}
	body, _, ok, err := latest[conversationRecord](v, kindConversation, entries[0].ID)
	if err != nil || !ok || body.Outcome != layers.OutcomeOngoing {
		return "", conversationRecord{}, err
	}
	return entries[0].ID, body, nil
}

// SessionInfo is one session in a list.
type SessionInfo struct {
	Session       string
	Agent         string
	Title         string
	Model         string
	Opened        int64
	Closed        bool
	Shared        bool
	Conversations int
}

// Sessions lists the workspace's sessions, newest first, and the sequence that
// was read.
func (ws *Workspace) Sessions() (infos []SessionInfo, seq int64, err error) {
	err = ws.view(0, func(v storage.View) error {
		seq = v.Seq()
		entries, err := v.List(listSessions, 0, v.ListLen(listSessions))
		if err != nil {
			return err
		}
		for i := len(entries) - 1; i >= 0; i-- {
			body, _, _, err := latest[sessionRecord](v, kindSession, entries[i].ID)
			if err != nil {
				return err
			}
			infos = append(infos, SessionInfo{
				Session: entries[i].ID, Agent: body.Agent, Title: body.Title, Model: body.Model,
				Opened: entries[i].Seq, Closed: body.Closed, Shared: body.Shared, Conversations: v.ListLen(listOfSession(entries[i].ID)),
			})
		}
		return nil
	})
	return infos, seq, err
}

// closedSession is the stored reply of a close.
type closedSession struct{ Completed string }

// CloseSession marks a session closed and completes its conversation in
// progress. The session can be opened again.
func (s *Session) Close(ctx context.Context, key string) (completed string, seq int64, err error) {
	ws := s.Workspace
	reply, receipt, err := write(ctx, ws, "session/close", s.ID, key, s.ID, func(tx *storage.Tx) (closedSession, error) {
		v := tx.View()
		body, _, ok, err := latest[sessionRecord](v, kindSession, s.ID)
		if err != nil {
			return closedSession{}, err
		}
		if !ok {
			return closedSession{}, notFound("session", s.ID)
		}
		id, record, err := ongoing(v, s.ID)
		if err != nil {
			return closedSession{}, err
		}
		if id != "" {
			done, err := ws.complete(tx, completion{id: id, record: record, outcome: layers.OutcomeCompleted})
			if err != nil {
				return closedSession{}, err
			}
			if _, err := ws.renew(tx, renewal{session: s.ID, done: []kept{done}}); err != nil {
				return closedSession{}, err
			}
		}
		body.Closed = true
		tx.Put(storage.Draft{Kind: kindSession, ID: s.ID, Body: encode(body)})
		return closedSession{Completed: id}, nil
	})
	if err != nil {
		return "", 0, err
	}
	return reply.Completed, receipt.Seq, nil
}
