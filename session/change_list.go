package session

import (
	"cmp"
	"fmt"
	"slices"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// ChangesRequest asks which files were changed.
type ChangesRequest struct {
	File         string // a path or its end; all when empty
	Conversation string // all when empty
	Since        int64  // Unix ms of the turns, as clients claim; 0 for all
	Limit        int
	AsOf         int64
	Cursor       string
}

// Change is a change of one file.
type Change struct {
	digest.FileChange
	Impact       string
	Conversation string
	Turn         int
	Time         int64
	Session      string
	Agent, Model string
	Source       string
}

// ChangesReply is changes, newest first.
type ChangesReply struct {
	Changes  []Change
	Cursor   string
	Sequence int64
	// Derived tells that changes from before the first change record were read
	// from the turns of the newest of those conversations.
	Derived bool
}

const (
	defaultChanges = 50
	maxChanges     = 500
	// maxDerived bounds the conversations whose changes are read from their turns.
	maxDerived = 200
)

// Changes lists changes of files, newest first.
func (s *Session) Changes(req ChangesRequest) (reply ChangesReply, err error) {
	switch {
	case len(req.File) > maxURI:
		return reply, &InvalidError{Path: "file", Message: "too long", Limit: maxURI}
	case req.Limit < 0 || req.Limit > maxChanges:
		return reply, &InvalidError{Path: "limit", Message: "out of range", Limit: maxChanges}
	case req.AsOf < 0:
		return reply, invalid("asOf", "must not be negative")
	case req.Limit == 0:
		req.Limit = defaultChanges
	}
	offset, asOf, err := parsePage(req.Cursor, req.AsOf)
	if err != nil {
		return reply, err
	}
	ws := s.Workspace
	err = ws.view(asOf, func(v storage.View) error {
		reply.Sequence = v.Seq()
		if req.Conversation != "" {
			if _, ok, err := v.Latest(kindConversation, req.Conversation); err != nil {
				return err
			} else if !ok {
				return notFound("conversation", req.Conversation)
			}
		}
		seen := 0
		more := false
		take := func(c changeRecord) bool {
			if !req.wants(&c) {
				return true
			}
			if seen++; seen <= offset {
				return true
			}
			if more = len(reply.Changes) == req.Limit; more {
				return false
			}
			reply.Changes = append(reply.Changes, Change(c))
			return true
		}
		if err := ws.eachChange(v, req, take); err != nil {
			return err
		}
		if !more {
			derived, err := ws.changesBefore(v, req.Conversation)
			if err != nil {
				return err
			}
			reply.Derived = len(derived) > 0
			for i := len(derived) - 1; i >= 0 && take(derived[i]); i-- {
			}
		}
		if more {
			reply.Cursor = fmt.Sprintf("%d@%d", offset+len(reply.Changes), v.Seq())
		}
		return nil
	})
	return reply, err
}

// wants tells whether a change is asked for.
func (r *ChangesRequest) wants(c *changeRecord) bool {
	return (r.File == "" || digest.SameFile(c.File, r.File) || digest.SameFile(c.From, r.File)) &&
		(r.Conversation == "" || c.Conversation == r.Conversation) && (r.Since == 0 || c.Time >= r.Since)
}

// eachChange calls take with the change records that may be asked for, newest
// first, until it returns false.
func (ws *Workspace) eachChange(v storage.View, req ChangesRequest, take func(changeRecord) bool) error {
	list := listChanges
	if req.Conversation != "" {
		list = listOfChanges(req.Conversation)
	} else if req.File != "" {
		return eachChangeOf(v, req.File, take)
	}
	const page = 256
	for to := v.ListLen(list); to > 0; to -= page {
		entries, err := v.List(list, max(0, to-page), to)
		if err != nil {
			return err
		}
		for i := len(entries) - 1; i >= 0; i-- {
			body, _, _, err := latest[changeRecord](v, kindChange, entries[i].ID)
			if err != nil || !take(body) {
				return err
			}
		}
	}
	return nil
}

// eachChangeOf calls take with the change records of a file, newest first, until
// it returns false. They are found by the last two parts of the path.
func eachChangeOf(v storage.View, file string, take func(changeRecord) bool) error {
	var failed error
	err := v.Mentions(mentionChanged, tail(file, 2), false, func(_, _ string, seq int64) bool {
		var record storage.Record
		if record, failed = v.Get(seq); failed != nil {
			return false
		}
		var body changeRecord
		body, _, _, failed = latest[changeRecord](v, kindChange, record.ID)
		return failed == nil && take(body)
	})
	if failed != nil {
		return failed
	}
	return err
}

// changesBefore reads the changes from before the first change record out of the
// turns, oldest first: an older program wrote no such records. Of the
// conversations, the newest maxDerived are read.
func (ws *Workspace) changesBefore(v storage.View, only string) ([]changeRecord, error) {
	first, err := ws.firstChange(v)
	if err != nil {
		return nil, err
	}
	n := v.ListLen(listConversations)
	conversations, err := v.List(listConversations, 0, n)
	if err != nil {
		return nil, err
	}
	for n > 0 && conversations[n-1].Seq > first {
		n--
	}
	conversations = conversations[max(0, n-maxDerived):n]
	var out []derivedChange
	for _, entry := range conversations {
		if only != "" && entry.ID != only {
			continue
		}
		changes, err := ws.derive(v, entry.ID, first)
		if err != nil {
			return nil, err
		}
		out = append(out, changes...)
	}
	slices.SortStableFunc(out, func(a, b derivedChange) int { return cmp.Compare(a.seq, b.seq) })
	records := make([]changeRecord, 0, len(out))
	for i := range out {
		records = append(records, out[i].record)
	}
	return records, nil
}

type derivedChange struct {
	seq    int64 // of the turn
	record changeRecord
}

// derive reads a conversation's changes out of its turns before a sequence.
func (ws *Workspace) derive(v storage.View, conversation string, before int64) ([]derivedChange, error) {
	body, _, ok, err := latest[conversationRecord](v, kindConversation, conversation)
	if err != nil || !ok {
		return nil, err
	}
	by, _, _, err := latest[sessionRecord](v, kindSession, body.Session)
	if err != nil {
		return nil, err
	}
	list := listOfTurns(conversation)
	entries, err := v.List(list, 0, v.ListLen(list))
	if err != nil {
		return nil, err
	}
	turns, _, err := turnsOf(v, conversation, maxTurnNumber)
	if err != nil {
		return nil, err
	}
	waiting := pending{calls: map[string]digest.MadeCall{}}
	var known []changeVersion
	var seqs []int64
	for i := range turns {
		if i >= len(entries) || entries[i].Seq >= before {
			turns = turns[:i]
			break
		}
		turn := &turns[i]
		waiting.take(turn)
		for k := range turn.Results {
			made, ok := waiting.calls[turn.Results[k].CallID]
			if !ok {
				continue
			}
			for n, change := range digest.FileChanges(made, &turn.Results[k], ws.standard()) {
				known = append(known, changeVersion{
					id:     changeID(outputID(conversation, turn.Number, k), n),
					record: changeBy(conversation, body.Session, by, change, turn.Number, turn.Time, ChangeByCall),
				})
				seqs = append(seqs, entries[i].Seq)
			}
		}
	}
	last := layers.Turn{}
	if n := len(turns); n > 0 {
		last = turns[n-1]
	}
	if body.Outcome != layers.OutcomeOngoing && v.ListLen(listOfChanges(conversation)) == 0 {
		for _, change := range believed(conversation, turns, ws.standard()) {
			change.record.Session, change.record.Agent, change.record.Model = body.Session, by.Agent, by.Model
			known = append(known, change)
			seqs = append(seqs, entries[len(turns)-1].Seq)
		}
	}
	said, seq, ok, err := latest[layers.Housekeeping](v, kindHousekeeping, conversation)
	if err != nil {
		return nil, err
	}
	if ok && seq < before {
		news, again := mergeSaid(slices.Clone(known), said.LLM.CodeChanges, changeBy(conversation, body.Session, by, digest.FileChange{}, last.Number, last.Time, ChangeByHousekeeping))
		for _, c := range again {
			for i := range known {
				if known[i].id == c.id {
					known[i] = c
				}
			}
		}
		for _, c := range news {
			known, seqs = append(known, c), append(seqs, seq)
		}
	}
	out := make([]derivedChange, 0, len(known))
	for i := range known {
		out = append(out, derivedChange{seqs[i], known[i].record})
	}
	return out, nil
}
