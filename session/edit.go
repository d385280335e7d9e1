package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// maxReason bounds the reason of an edit, in bytes.
const maxReason = 1 << 10

// EditRequest changes one turn of a conversation. What is nil stays.
type EditRequest struct {
	Conversation string               `json:"conversation"`
	Turn         int                  `json:"turn"`
	Text         *string              `json:"text,omitempty"`
	Calls        *[]layers.ToolCall   `json:"calls,omitempty"`
	Results      *[]layers.ToolResult `json:"results,omitempty"`
	Contents     []string             `json:"contents,omitempty"` // of all results, in order; part of what a key stands for
	// Truncate cuts off all that came after the turn: the rest of the
	// conversation and the session's later ones. A new conversation goes on.
	Truncate bool   `json:"truncate,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Key      string `json:"-"`
}

// EditReply is the receipt of an edit.
type EditReply struct {
	Conversation string // that has the turn now: a new one after a truncation
	Turn         string // id of the turn as it is now
	Before       string // id under which the turn can be read as it was
	Superseded   []string
	Header       layers.Header
	Results      []StoredResult
	Sequence     int64 `json:"-"`
}

// Edit makes a new version of a turn. What it was stays readable as of before
// and under an id of its own; packs of the past stay what they were.
func (s *Session) Edit(ctx context.Context, req EditRequest) (EditReply, error) {
	switch {
	case req.Turn < 1:
		return EditReply{}, invalid("turn", "must be positive")
	case req.Text == nil && req.Calls == nil && req.Results == nil:
		return EditReply{}, invalid("content", "content, toolCalls or toolResults must say what the turn is to be")
	case len(req.Reason) > maxReason:
		return EditReply{}, &InvalidError{Path: "reason", Message: "too long", Limit: maxReason}
	}
	e := edit{session: s, req: req}
	if err := e.prepare(ctx); err != nil {
		return EditReply{}, err
	}
	reply, receipt, err := write(ctx, s.Workspace, "conversation/edit", s.ID, req.Key, req, func(tx *storage.Tx) (EditReply, error) {
		return e.write(ctx, tx)
	})
	reply.Sequence = receipt.Seq
	return reply, err
}

// edit is the work of one edit.
type edit struct {
	session *Session
	req     EditRequest
	turn    preparedTurn
	seq     int64 // of the version that was read when it was prepared
	record  conversationRecord
}

// prepare makes the new turn of the one in the store and stores its outputs
// beside it.
func (e *edit) prepare(ctx context.Context) error {
	ws, req := e.session.Workspace, &e.req
	var before turnRecord
	calls := map[string]digest.MadeCall{}
	err := ws.view(0, func(v storage.View) error {
		var ok bool
		var err error
		if e.record, _, ok, err = latest[conversationRecord](v, kindConversation, req.Conversation); err != nil {
			return err
		}
		if !ok || e.record.Session != e.session.ID {
			return notFound("conversation", req.Conversation)
		}
		if before, e.seq, ok, err = latest[turnRecord](v, kindTurn, turnID(req.Conversation, req.Turn)); err != nil {
			return err
		}
		if !ok {
			return notFound("turn", turnID(req.Conversation, req.Turn))
		}
		turns, _, err := turnsOf(v, req.Conversation, req.Turn)
		for i := range turns[:max(0, len(turns)-1)] {
			for _, call := range turns[i].Calls {
				calls[call.ID] = digest.MadeCall{Call: call, Said: turns[i].Text}
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	turn := before.Turn
	if req.Text != nil {
		turn.Text = *req.Text
	}
	if req.Calls != nil {
		turn.Calls = *req.Calls
	}
	if req.Results != nil {
		turn.Results = *req.Results
	}
	if err := checkTurn("turn", &turn); err != nil {
		return err
	}
	e.turn, err = ws.prepareTurn(ctx, "turn", turn, calls)
	return err
}

// write makes the version inside the store's writer.
func (e *edit) write(ctx context.Context, tx *storage.Tx) (EditReply, error) {
	v, req := tx.View(), &e.req
	by, gone, err := superseded(v, req.Conversation)
	if err != nil {
		return EditReply{}, err
	}
	if gone {
		return EditReply{}, invalid("conversation", "it was superseded by %q, which can be edited", by)
	}
	before, seq, _, err := latest[turnRecord](v, kindTurn, turnID(req.Conversation, req.Turn))
	if err != nil {
		return EditReply{}, err
	}
	if seq != e.seq {
		return EditReply{}, fmt.Errorf("turn %q was edited at the same time: %w", turnID(req.Conversation, req.Turn), ErrStateChanged)
	}
	if e.record, _, _, err = latest[conversationRecord](v, kindConversation, req.Conversation); err != nil {
		return EditReply{}, err
	}
	if req.Truncate {
		return e.truncate(ctx, tx)
	}
	return e.replace(tx, before)
}

// version keeps what a conversation is before the write and returns its number.
func version(tx *storage.Tx, conversation string, body versionRecord) int {
	v := tx.View()
	n := v.ListLen(listOfVersions(conversation)) + 1
	body.Sequence = v.Seq()
	tx.Put(storage.Draft{
		Kind: kindVersion, ID: versionID(conversation, n), Parent: conversation, Body: encode(body),
		Lists: []string{listOfVersions(conversation)},
	})
	return n
}

// end marks the end of an edit: as of here and later, all is as it made it.
func end(tx *storage.Tx, conversation string) {
	tx.Put(storage.Draft{Kind: kindEdit, ID: tx.NextID("e"), Parent: conversation, Body: []byte("{}"), Lists: []string{listEdits}})
}

// replace puts the turn in the place of the one before.
func (e *edit) replace(tx *storage.Tx, before turnRecord) (EditReply, error) {
	v, req, ws := tx.View(), &e.req, e.session.Workspace
	n := version(tx, req.Conversation, versionRecord{Turn: req.Turn, Reason: req.Reason})
	reply := EditReply{
		Conversation: req.Conversation, Turn: turnID(req.Conversation, req.Turn),
		Before: turnID(versionID(req.Conversation, n), req.Turn), Superseded: []string{},
	}
	delta := int64(e.turn.tokens - before.Tokens)
	reply.Results = putTurn(tx, req.Conversation, req.Turn, &e.turn, before.Total+delta)
	for k := len(e.turn.turn.Results); k < len(before.Results); k++ {
		// An output that is gone is found no more.
		tx.Put(storage.Draft{
			Kind: kindOutput, ID: outputID(req.Conversation, req.Turn, k), Parent: req.Conversation,
			Body: encode(outputRecord{Turn: req.Turn, Result: k}),
		})
	}
	tx.Add(counterTokens, delta)
	l, err := lineOf(v, e.session.ID)
	if err != nil {
		return reply, err
	}
	newest, err := e.isNewest(l)
	if err != nil {
		return reply, err
	}
	if !newest { // else the running total has it
		l.record.Delta += delta
		tx.Put(storage.Draft{Kind: kindLine, ID: e.session.ID, Body: encode(l.record)})
	}
	change := completion{id: req.Conversation, record: e.record, outcome: e.record.Outcome, replaced: &e.turn, delta: int(delta), edited: true}
	_, has, err := v.Latest(kindTrio, req.Conversation)
	if err != nil {
		return reply, err
	}
	keep := ws.keepHouse
	if !has && e.record.Outcome == layers.OutcomeOngoing { // it has a trio once it is done
		keep = func(tx *storage.Tx, c completion) (kept, error) { return ws.draft(tx.View(), c) }
	}
	out, err := keep(tx, change)
	if err != nil {
		return reply, err
	}
	reply.Header = out.trio.Header
	next := renewalOf(e.session.ID, e.record.Outcome, out)
	next.edited = true
	_, err = ws.renew(tx, next)
	end(tx, req.Conversation)
	return reply, err
}

// isNewest tells that the turn is the session's last.
func (e *edit) isNewest(l line) (bool, error) {
	entries, err := l.newest(1)
	if err != nil || len(entries) == 0 {
		return false, err
	}
	return entries[0].ID == e.req.Conversation && e.req.Turn == l.view.ListLen(listOfTurns(e.req.Conversation)), nil
}

// truncate opens a conversation that has the turns up to the edited one, and
// takes out of the session's line all that it takes the place of. The ids of
// those stand for the new one.
func (e *edit) truncate(ctx context.Context, tx *storage.Tx) (EditReply, error) {
	v, req, ws := tx.View(), &e.req, e.session.Workspace
	l, err := lineOf(v, e.session.ID)
	if err != nil {
		return EditReply{}, err
	}
	stay, err := l.placeOf(req.Conversation)
	if err != nil {
		return EditReply{}, err
	}
	gone, err := l.list(stay, l.length)
	if err != nil {
		return EditReply{}, err
	}
	total, err := ws.tokensBefore(l, stay)
	if err != nil {
		return EditReply{}, err
	}
	turns, err := e.copied(ctx, v)
	if err != nil {
		return EditReply{}, err
	}
	id := tx.NextID("c")
	reply := EditReply{Conversation: id, Turn: turnID(id, req.Turn), Results: []StoredResult{}}
	for i, entry := range gone {
		body, carried := versionRecord{By: id, Reason: req.Reason}, 0
		if i == 0 {
			body.Turn, carried = req.Turn, req.Turn
		}
		n := version(tx, entry.ID, body)
		if i == 0 {
			reply.Before = turnID(versionID(entry.ID, n), req.Turn)
		}
		tx.Put(storage.Draft{
			Kind: kindAlias, ID: entry.ID, Parent: id, Body: encode(aliasRecord{To: id, Turns: carried}), Lists: []string{listSuperseded},
		})
		reply.Superseded = append(reply.Superseded, entry.ID)
	}
	list := listOfLine(e.session.ID, v.ListLen(listEdits)+1)
	record := conversationRecord{Session: e.session.ID, Outcome: layers.OutcomeOngoing, Time: e.record.Time}
	record.Opened = tx.Put(storage.Draft{
		Kind: kindConversation, ID: id, Parent: e.session.ID, Body: encode(record),
		Lists: []string{listConversations, listOfSession(e.session.ID), list},
	})
	left := l.cut(stay, list, gap{From: gone[0].Seq, To: record.Opened})
	tx.Put(storage.Draft{Kind: kindLine, ID: e.session.ID, Body: encode(left)})
	appended := make([]layers.Turn, 0, len(turns))
	for i := range turns {
		total += int64(turns[i].tokens)
		reply.Results = append(reply.Results, putTurn(tx, id, i+1, &turns[i], total)...)
		turn := turns[i].turn
		turn.Number = i + 1
		appended = append(appended, turn)
		tx.Add(counterTokens, int64(turns[i].tokens))
	}
	tx.Add(counterTurns, int64(len(turns)))
	out, err := ws.draft(v, completion{id: id, record: record, appended: appended})
	if err != nil {
		return reply, err
	}
	reply.Header = out.trio.Header
	_, err = ws.renew(tx, renewal{session: e.session.ID, ongoing: &out.exchange, edited: true, cutFrom: gone[0].Seq})
	end(tx, id)
	return reply, err
}

// copied returns the turns up to the edited one, that one as it is to be.
func (e *edit) copied(ctx context.Context, v storage.View) ([]preparedTurn, error) {
	ws, req := e.session.Workspace, &e.req
	before, _, err := turnsOf(v, req.Conversation, req.Turn-1)
	if err != nil {
		return nil, err
	}
	calls := map[string]digest.MadeCall{}
	out := make([]preparedTurn, 0, len(before)+1)
	for i := range before {
		for _, call := range before[i].Calls {
			calls[call.ID] = digest.MadeCall{Call: call, Said: before[i].Text}
		}
		turn := before[i]
		turn.Results = slices.Clone(turn.Results)
		p, err := ws.prepareTurn(ctx, fmt.Sprintf("turn %d", i+1), turn, calls)
		if errors.Is(err, storage.ErrNotFound) {
			err = fmt.Errorf("an output before the turn is missing: %w", err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return append(out, e.turn), nil
}

// tokensBefore counts the turns of the first conversations of a line.
func (ws *Workspace) tokensBefore(l line, n int) (int64, error) {
	entries, err := l.list(0, n)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, entry := range entries {
		trio, _, ok, err := latest[trioRecord](l.view, kindTrio, entry.ID)
		if err == nil && !ok {
			trio, err = ws.ruleTrio(l.view, entry.ID)
		}
		if err != nil {
			return 0, err
		}
		total += int64(trio.Header.TokenCount)
	}
	return total, nil
}
