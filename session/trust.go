package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// maxEvidenceBytes bounds the bytes of old texts that housekeeping is checked
// against. What would be in more than that is taken to be true.
const maxEvidenceBytes = 16 << 20

// evidence is what was said and printed in a conversation, and behind it in the
// layer 0 that the model saw, in the session's earlier conversations and in the
// summaries of other sessions.
func (ws *Workspace) evidence(v storage.View, c completion, turns []layers.Turn) *digest.Evidence {
	e := &digest.Evidence{}
	var outputs []string
	addTurns(e, turns, nil, false)
	for i := range c.appended {
		for k := range c.appended[i].Results {
			outputs = append(outputs, c.appended[i].Results[k].Content)
		}
	}
	w := &witness{ws: ws, view: v, session: c.record.Session, conversation: c.id, turns: turns, texts: outputs, left: maxEvidenceBytes}
	e.IDs = w.known
	e.More = func() (string, bool) {
		text, ok := w.next()
		e.Partial = w.left <= 0
		return text, ok
	}
	return e
}

// addTurns adds what was said in turns. read is called for outputs if they are
// wanted.
func addTurns(e *digest.Evidence, turns []layers.Turn, read func(layers.BlobRef), outputs bool) {
	for i := range turns {
		turn := &turns[i]
		switch {
		case turn.Role == layers.RoleUser && turn.Kind != layers.InputToolResponse:
			e.User = append(e.User, turn.Text)
		case turn.Text != "":
			e.Other = append(e.Other, turn.Text)
		}
		for _, call := range turn.Calls {
			e.Other = append(e.Other, call.Name+"\n"+digest.Arguments(call.Input))
		}
		for k := range turn.Results {
			result := &turn.Results[k]
			e.Other = append(e.Other, result.Compressed.Summary+"\n"+strings.Join(result.Compressed.ErrorPatterns, "\n"))
			if outputs {
				read(result.Blob)
			}
		}
	}
}

// witness gives old texts one after another, those nearest first.
type witness struct {
	ws                    *Workspace
	view                  storage.View
	session, conversation string
	turns                 []layers.Turn // of the conversation, whose outputs come first
	texts                 []string      // that come next
	stage                 int
	at                    int // of the list that is gone through, from its end
	left                  int // bytes
}

// next returns the next text; false when there is none or enough was read.
func (w *witness) next() (string, bool) {
	for len(w.texts) == 0 {
		if w.left <= 0 || !w.fill() {
			return "", false
		}
	}
	text := w.texts[0]
	w.texts = w.texts[1:]
	w.left -= len(text)
	return text, true
}

// fill reads more texts; false when there are no more. What cannot be read is
// no evidence.
func (w *witness) fill() bool {
	switch w.stage {
	case 0: // the conversation's own outputs, newest first
		if len(w.turns) > 0 {
			turn := w.turns[len(w.turns)-1]
			w.turns = w.turns[:len(w.turns)-1]
			for _, result := range turn.Results {
				if text, ok := w.ws.readText(result.Blob); ok && result.Blob.SHA256 != "" {
					w.texts = append(w.texts, text)
				}
			}
			return true
		}
		if cc, _, ok, err := currentContext(w.view, w.session); err == nil && ok {
			w.texts = append(w.texts, digest.RenderCurrentContext(cc))
		}
		w.at = w.view.ListLen(listOfSession(w.session))
	case 1: // the session's other conversations
		if id, ok := w.before(listOfSession(w.session)); ok {
			if turns, _, err := turnsOf(w.view, id, maxTurnNumber); err == nil && id != w.conversation {
				var e digest.Evidence
				addTurns(&e, turns, func(ref layers.BlobRef) {
					if text, ok := w.ws.readText(ref); ok {
						e.Other = append(e.Other, text)
					}
				}, true)
				w.texts = append(w.texts, append(e.User, e.Other...)...)
			}
			return true
		}
		w.at = w.view.ListLen(listConversations)
	case 2: // what other sessions came to
		if id, ok := w.before(listConversations); ok {
			if trio, _, ok, err := latest[trioRecord](w.view, kindTrio, id); err == nil && ok {
				w.texts = append(w.texts, digest.RenderHeader(trio.Header)+digest.RenderSummary(trio.Summary, id))
			}
			return true
		}
	default:
		return false
	}
	w.stage++
	return true
}

// before returns the next id of a list, from its end.
func (w *witness) before(list string) (string, bool) {
	if w.at--; w.at < 0 {
		return "", false
	}
	entries, err := w.view.List(list, w.at, w.at+1)
	if err != nil || len(entries) == 0 {
		return "", false
	}
	return entries[0].ID, true
}

// known tells that a conversation, a turn or an output of the workspace exists.
func (w *witness) known(id string) bool {
	conversation, turn, hasTurn := strings.Cut(id, "#")
	if _, ok, err := w.view.Latest(kindConversation, conversation); err != nil || !ok && conversation != w.conversation {
		return err != nil
	}
	turn, _, _ = strings.Cut(turn, "/")
	n, err := strconv.Atoi(turn)
	return !hasTurn || err == nil && n >= 1 && (n <= w.view.ListLen(listOfTurns(conversation)) || conversation == w.conversation)
}

// Flag is a claim of housekeeping that nothing bears out. It was kept out of
// header, summary and layer 0.
type Flag = digest.Flag

// DriftAlert is the distance from which on a new layer 0 is announced as a
// swing (H1). Extracted by rule from recorded sessions, layer 0 moves by 0.4 in
// the mean and seldom by more than this.
const DriftAlert = 0.6

// Swing is a version of layer 0 that says something else than the one before.
type Swing struct {
	Distance float64 // 0 to 1, as in Drift
	From, To int64   // sequences of the two versions
}

// ContextVersion is a version of a session's layer 0.
type ContextVersion struct {
	Sequence int64
	Time     int64 // Unix milliseconds of the newest event it speaks of
	Source   string
	Distance float64 // from the version before, 0 for the first
	Context  layers.CurrentContext
}

// maxHistory bounds the versions of one answer.
const maxHistory = 100

// ContextHistory lists the versions of the session's layer 0, newest first,
// those written before a sequence; 0 means from the newest on. more is the
// sequence to go on before; 0 at the end.
func (s *Session) ContextHistory(ctx context.Context, before int64, limit int) (versions []ContextVersion, more int64, err error) {
	if limit < 0 || limit > maxHistory {
		return nil, 0, &InvalidError{Path: "limit", Message: "must be from 1 to the limit", Limit: maxHistory}
	}
	if before < 0 {
		return nil, 0, invalid("before", "must not be negative")
	}
	if limit == 0 {
		limit = 20
	}
	snapshot, err := s.Workspace.store.Snapshot()
	if err != nil {
		return nil, 0, err
	}
	defer snapshot.Release()
	v := snapshot.View()
	if before != 0 && before <= v.Seq() {
		if v, err = snapshot.At(before - 1); err != nil {
			return nil, 0, fmt.Errorf("sequence %d: %w", before, ErrNotFound)
		}
	}
	for len(versions) <= limit {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		body, seq, ok, err := latest[layers.CurrentContext](v, kindContext, s.ID)
		if err != nil {
			return nil, 0, err
		}
		if n := len(versions); n > 0 && ok {
			versions[n-1].Distance = distance(contextTerms(body), contextTerms(versions[n-1].Context))
		}
		if !ok || seq == 0 {
			return versions, 0, nil
		}
		if len(versions) == limit {
			return versions, versions[limit-1].Sequence, nil
		}
		versions = append(versions, ContextVersion{Sequence: seq, Time: body.LastUpdated, Source: body.Source, Context: body})
		if seq == 1 {
			return versions, 0, nil
		}
		if v, err = snapshot.At(seq - 1); err != nil {
			return nil, 0, err
		}
	}
	return versions, 0, nil
}

// RollbackReply is layer 0 after a rollback.
type RollbackReply struct {
	From, To int64 // sequences of the version that was in force, and of the one that is again
	Context  layers.CurrentContext
	Sequence int64 `json:"-"`
}

// RollbackContext writes an earlier version of the session's layer 0 anew, so
// that it is in force again; what came between stays in the history. A sequence
// at which no version was written gives ErrNotFound.
func (s *Session) RollbackContext(ctx context.Context, to int64, key string) (RollbackReply, error) {
	if to <= 0 {
		return RollbackReply{}, invalid("to", "must be the sequence of a version")
	}
	ws := s.Workspace
	request := struct {
		To int64 `json:"to"`
	}{to}
	reply, receipt, err := write(ctx, ws, "housekeeping/rollback", s.ID, key, request, func(tx *storage.Tx) (RollbackReply, error) {
		v := tx.View()
		_, from, ok, err := latest[layers.CurrentContext](v, kindContext, s.ID)
		if err != nil {
			return RollbackReply{}, err
		}
		record, err := v.Get(to)
		if err != nil || !ok || record.Kind != kindContext || record.ID != s.ID {
			return RollbackReply{}, fmt.Errorf("version %d of the current context: %w", to, ErrNotFound)
		}
		var body layers.CurrentContext
		if err := json.Unmarshal(record.Body, &body); err != nil {
			return RollbackReply{}, fmt.Errorf("read version %d: %w", to, err)
		}
		tx.Put(storage.Draft{Kind: kindContext, ID: s.ID, Body: record.Body})
		if err := handDown(tx, v, s.ID, record.Body); err != nil {
			return RollbackReply{}, err
		}
		return RollbackReply{From: from, To: to, Context: body}, nil
	})
	reply.Sequence = receipt.Seq
	return reply, err
}
