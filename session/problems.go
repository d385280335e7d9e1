package session

import (
	"slices"
	"sort"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// ProblemsRequest asks for problems that were met before.
type ProblemsRequest struct {
	Error string // an error message, an output with errors in it, or a pattern
	Limit int
	AsOf  int64
}

// KnownProblem is an error pattern with where it was met and what resolved it.
type KnownProblem struct {
	Pattern     string
	Seen        []Place      // outputs that show it, newest first
	Total       int          // outputs, also those not listed
	Resolutions []Resolution // newest first
}

// Place is a tool output.
type Place struct {
	ID           string // of the piece: "c3#8", or "c3#8/2" among several
	Conversation string
	Turn         int
	Sequence     int64
}

// Resolution is what made an error go away.
type Resolution struct {
	Failed   Place
	Resolved Place // the output of the attempt that worked, or the last turn of a conversation that ended well
	// Command worked at Resolved and had failed, or covers what had; empty if
	// nothing was tried again.
	Command string
	Changes []Change // of files, between the two
	Finding string   // what the assistant said of it
}

const (
	defaultProblems = 10
	maxProblemsAsk  = 100
	maxSeen         = 50 // places of one problem that are listed
	maxResolutions  = 5  // of one problem
	// maxAhead is how many conversations behind a failure are looked through for
	// what resolved it.
	maxAhead = 5
	// findingTokens is the room of a resolution's sentence.
	findingTokens = 40
)

// Problems looks up whether an error was met before, and what resolved it. A
// text with several errors gives a problem for each; one that is known by its
// beginning alone is found as well.
func (s *Session) Problems(req ProblemsRequest) (problems []KnownProblem, seq int64, err error) {
	switch {
	case strings.TrimSpace(req.Error) == "":
		return nil, 0, invalid("error", "must not be empty")
	case len(req.Error) > maxTextSize:
		return nil, 0, &TooLargeError{Path: "error", Limit: maxTextSize}
	case req.Limit < 0 || req.Limit > maxProblemsAsk:
		return nil, 0, &InvalidError{Path: "limit", Message: "out of range", Limit: maxProblemsAsk}
	case req.AsOf < 0:
		return nil, 0, invalid("asOf", "must not be negative")
	case req.Limit == 0:
		req.Limit = defaultProblems
	}
	ws := s.Workspace
	err = ws.view(req.AsOf, func(v storage.View) error {
		seq = v.Seq()
		for _, prefix := range [...]bool{false, true} {
			for _, pattern := range digest.ErrorPatterns(asText(req.Error)) {
				found, err := references(v, "error", pattern, prefix, req.Limit)
				if err != nil {
					return err
				}
				for _, ref := range found {
					if len(problems) == req.Limit {
						return nil
					}
					p, err := ws.problem(v, ref)
					if err != nil {
						return err
					}
					if len(p.Seen) > 0 {
						problems = append(problems, p)
					}
				}
			}
			if len(problems) > 0 {
				break
			}
		}
		return nil
	})
	return problems, seq, err
}

// problem reads what is known of an error pattern. What people and the model
// said of it is not counted, only outputs that show it.
func (ws *Workspace) problem(v storage.View, ref Reference) (KnownProblem, error) {
	p := KnownProblem{Pattern: ref.Name}
	var failed error
	err := v.Mentions("error", ref.Name, false, func(_, _ string, seq int64) bool {
		var place *Place
		if place, failed = outputAt(v, seq); failed != nil {
			return false
		}
		if place == nil {
			return true
		}
		if p.Total++; len(p.Seen) < maxSeen {
			p.Seen = append(p.Seen, *place)
		}
		return true
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return p, err
	}
	last := "" // of failures that one attempt resolved, the newest stands for all
	for i := range p.Seen {
		if len(p.Resolutions) == maxResolutions {
			break
		}
		r, ok, err := ws.resolution(v, p.Seen[i], true)
		if err != nil {
			return p, err
		}
		if ok && r.Resolved.ID != last {
			p.Resolutions = append(p.Resolutions, r)
			last = r.Resolved.ID
		}
	}
	return p, nil
}

// outputAt returns the place of a tool output by the sequence of its record, nil
// if that is a record of something else.
func outputAt(v storage.View, seq int64) (*Place, error) {
	record, err := v.Get(seq)
	if err != nil || record.Kind != kindOutput {
		return nil, err
	}
	body, _, _, err := latest[outputRecord](v, kindOutput, record.ID)
	if err != nil {
		return nil, err
	}
	turn, _, _, err := latest[turnRecord](v, kindTurn, turnID(record.Parent, body.Turn))
	if err != nil {
		return nil, err
	}
	place := Place{ID: turnID(record.Parent, body.Turn), Conversation: record.Parent, Turn: body.Turn, Sequence: seq}
	if len(turn.Results) > 1 {
		place.ID = record.ID
	}
	return &place, nil
}

// try is a tool output that shows how an attempt went.
type try struct {
	id      string
	turn    int
	seq     int64 // of the turn
	attempt digest.Attempt
}

// triesOf returns the attempts of a conversation in order.
func (ws *Workspace) triesOf(v storage.View, conversation string) ([]try, error) {
	list := listOfTurns(conversation)
	n := v.ListLen(list)
	edited, err := newestEdit(v)
	if err != nil {
		return nil, err
	}
	key := triesKey{conversation, n, edited}
	if tries, ok := ws.tries.get(key); ok {
		return tries, nil
	}
	entries, err := v.List(list, 0, n)
	if err != nil {
		return nil, err
	}
	turns, _, err := turnsOf(v, conversation, maxTurnNumber)
	if err != nil {
		return nil, err
	}
	waiting := pending{calls: map[string]digest.MadeCall{}}
	var tries []try
	for i := range turns {
		turn := &turns[i]
		waiting.take(turn)
		for k := range turn.Results {
			made := waiting.calls[turn.Results[k].CallID]
			attempt, ok := digest.AttemptOf(made.Call, &turn.Results[k])
			if !ok {
				continue
			}
			t := try{id: turnID(conversation, turn.Number), turn: turn.Number, seq: entries[i].Seq, attempt: attempt}
			if len(turn.Results) > 1 {
				t.id = outputID(conversation, turn.Number, k)
			}
			tries = append(tries, t)
		}
	}
	ws.tries.put(key, tries)
	return tries, nil
}

// triesKey names the attempts among the first turns of a conversation, which
// never change.
type triesKey struct {
	conversation string
	turns        int
	edited       int64 // sequence of the newest edit
}

// resolution finds what resolved a failure: the first attempt behind it at the
// same that worked, in its conversation or in one of the next of its session; or
// else that its conversation ended well after files were changed. whole also
// reads what the assistant said of it.
func (ws *Workspace) resolution(v storage.View, failed Place, whole bool) (Resolution, bool, error) {
	r := Resolution{Failed: failed}
	tries, err := ws.triesOf(v, failed.Conversation)
	if err != nil {
		return r, false, err
	}
	at := slices.IndexFunc(tries, func(t try) bool { return t.id == failed.ID })
	if at < 0 || !tries[at].attempt.Failed {
		return r, false, nil
	}
	first := tries[at]
	body, _, _, err := latest[conversationRecord](v, kindConversation, failed.Conversation)
	if err != nil {
		return r, false, err
	}
	list := listOfSession(body.Session)
	n := v.ListLen(list)
	entries, err := v.List(list, 0, n)
	if err != nil {
		return r, false, err
	}
	here := sort.Search(len(entries), func(i int) bool { return entries[i].Seq >= body.Opened })
	if here == len(entries) || entries[here].ID != failed.Conversation {
		return r, false, nil
	}
	tries = tries[at+1:]
	for i := here; i < len(entries) && i <= here+maxAhead; i++ {
		if i > here {
			if tries, err = ws.triesOf(v, entries[i].ID); err != nil {
				return r, false, err
			}
		}
		for _, t := range tries {
			if t.attempt.Failed || !t.attempt.Resolves(first.attempt) {
				continue
			}
			r.Resolved = Place{ID: t.id, Conversation: entries[i].ID, Turn: t.turn, Sequence: t.seq}
			r.Command = t.attempt.Command()
			ids := make([]string, 0, i-here+1)
			for _, entry := range entries[here : i+1] {
				ids = append(ids, entry.ID)
			}
			return r, true, ws.between(v, &r, ids, whole)
		}
		if i == here {
			if ok, err := ws.endedWell(v, failed.Conversation, &r); err != nil || !ok {
				if err != nil {
					return r, false, err
				}
				continue
			}
			if err := ws.between(v, &r, []string{failed.Conversation}, whole); err != nil {
				return r, false, err
			}
			if len(r.Changes) > 0 {
				return r, true, nil
			}
		}
	}
	return r, false, nil
}

// endedWell tells whether a conversation was completed without an error, and
// notes its last turn as what resolved a failure in it.
func (ws *Workspace) endedWell(v storage.View, conversation string, r *Resolution) (bool, error) {
	trio, _, ok, err := latest[trioRecord](v, kindTrio, conversation)
	if err != nil || !ok || trio.Header.Outcome != layers.OutcomeCompleted {
		return false, err
	}
	list := listOfTurns(conversation)
	n := v.ListLen(list)
	entries, err := v.List(list, n-1, n)
	if err != nil || len(entries) == 0 {
		return false, err
	}
	r.Resolved = Place{ID: entries[0].ID, Conversation: conversation, Turn: n, Sequence: entries[0].Seq}
	return true, nil
}

// between reads what happened from a failure to what resolved it, in the
// conversations that lie there.
func (ws *Workspace) between(v storage.View, r *Resolution, conversations []string, whole bool) error {
	before, err := ws.firstChange(v)
	if err != nil {
		return err
	}
	for _, id := range conversations {
		var known []changeVersion
		if entries, err := v.List(listOfTurns(id), 0, 1); err != nil {
			return err
		} else if len(entries) > 0 && entries[0].Seq < before {
			derived, err := ws.derive(v, id, before)
			if err != nil {
				return err
			}
			for i := range derived {
				known = append(known, changeVersion{record: derived[i].record})
			}
		}
		written, err := changesOf(v, id)
		if err != nil {
			return err
		}
		for _, c := range append(known, written...) {
			after := id != r.Failed.Conversation || c.record.Turn > r.Failed.Turn
			until := id != r.Resolved.Conversation || c.record.Turn <= r.Resolved.Turn
			if after && until && c.record.Source == ChangeByCall {
				r.Changes = append(r.Changes, Change(c.record))
			}
		}
	}
	if !whole {
		return nil
	}
	var said strings.Builder
	for _, id := range conversations {
		turns, _, err := turnsOf(v, id, maxTurnNumber)
		if err != nil {
			return err
		}
		for i := range turns {
			turn := &turns[i]
			after := id != r.Failed.Conversation || turn.Number > r.Failed.Turn
			until := id != r.Resolved.Conversation || turn.Number <= r.Resolved.Turn+1
			if after && until && turn.Role == layers.RoleAssistant && turn.Text != "" {
				said.WriteString(turn.Text + "\n\n")
			}
		}
	}
	r.Finding = digest.Finding(said.String(), findingTokens, ws.standard())
	return nil
}

// firstChange returns the sequence before which changes are known from turns
// alone.
func (ws *Workspace) firstChange(v storage.View) (int64, error) {
	entries, err := v.List(listChanges, 0, 1)
	if err != nil || len(entries) == 0 {
		return v.Seq() + 1, err
	}
	return entries[0].Seq, nil
}
