package session

import (
	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// renewal is what moves layer 0 on.
type renewal struct {
	session      string
	done         []kept           // conversations whose trio was just written, oldest first
	ongoing      *digest.Exchange // the conversation in progress, if there is one
	housekeeping *layers.Housekeeping
	edited       bool  // what the rule said before no longer holds
	cutFrom      int64 // sequence from which on the conversations are cut off by this write; 0 for none
}

// renewed is layer 0 after a renewal.
type renewed struct {
	context layers.CurrentContext
	trimmed []string // names of fields that were over their cap
	swing   *Swing
	memory  *MemoryChange // nil where no item moved to another tier
}

// renew writes the next version of layer 0: what the model said, where it said
// something, and the rule's story where it never did.
func (ws *Workspace) renew(tx *storage.Tx, r renewal) (renewed, error) {
	v := tx.View()
	previous, at, ok, err := currentContext(v, r.session)
	if err != nil {
		return renewed{}, err
	}
	if r.cutFrom != 0 {
		// What was said of what is cut off is cut off with it.
		before, err := v.At(r.cutFrom - 1)
		if err != nil {
			return renewed{}, err
		}
		if previous, _, ok, err = currentContext(before, r.session); err != nil {
			return renewed{}, err
		}
	}
	trios, err := triosOf(v, r, storyLength)
	if err != nil {
		return renewed{}, err
	}
	before := &previous
	if !ok {
		before = nil
	}
	next, trimmed := ws.moveOn(r, before, trios)
	body := encode(next)
	out := renewed{context: next, trimmed: trimmed}
	seq := tx.Put(storage.Draft{Kind: kindContext, ID: r.session, Body: body})
	if err := handDown(tx, v, r.session, body); err != nil {
		return renewed{}, err
	}
	if ok && r.housekeeping != nil && r.housekeeping.LLM.CurrentContext != nil {
		if d := distance(contextTerms(previous), contextTerms(next)); d >= DriftAlert {
			out.swing = &Swing{Distance: d, From: at, To: seq}
		}
	}
	if len(r.done) > 0 {
		out.memory, err = ws.retierFinished(tx, r.session)
	}
	return out, err
}

// handDown makes a session's layer 0 the one that new sessions of the workspace
// begin with, unless the session is of another memory.
func handDown(tx *storage.Tx, v storage.View, session string, body []byte) error {
	by, _, _, err := latest[sessionRecord](v, kindSession, session)
	if err == nil && !by.Shared {
		tx.Put(storage.Draft{Kind: kindContext, ID: workspaceContext, Body: body})
	}
	return err
}

// moveOn makes the version of layer 0 that follows on one, nil for none, and names
// the fields that were over their cap.
func (ws *Workspace) moveOn(r renewal, previous *layers.CurrentContext, trios []digest.Trio) (next layers.CurrentContext, trimmed []string) {
	counter := ws.standard()
	story := digest.Story{Ongoing: r.ongoing, Trios: trios}
	if !r.edited {
		story.Previous = previous
	}
	next = digest.CurrentContext(story, counter)
	if previous != nil && previous.Source == layers.SourceHousekeeping {
		// The model's own story counts for more than the rule's.
		updated := next.LastUpdated
		next = *previous
		next.LastUpdated = updated
	}
	if r.housekeeping != nil && r.housekeeping.LLM.CurrentContext != nil {
		next = sayContext(next, *r.housekeeping.LLM.CurrentContext)
	}
	ws.naming.context(&next)
	return digest.TrimCurrentContext(next, counter)
}

// sayContext puts the fields that the model gave in place of the ones before.
func sayContext(cc, said layers.CurrentContext) layers.CurrentContext {
	cc.Source = layers.SourceHousekeeping
	cc.OverallNarrative = either(said.OverallNarrative, cc.OverallNarrative)
	cc.CurrentObjective = either(said.CurrentObjective, cc.CurrentObjective)
	cc.ContextualState = either(said.ContextualState, cc.ContextualState)
	replace(&cc.KeyAchievements, said.KeyAchievements)
	replace(&cc.NextSteps, said.NextSteps)
	replace(&cc.ActiveEntities.Files, said.ActiveEntities.Files)
	replace(&cc.ActiveEntities.Functions, said.ActiveEntities.Functions)
	replace(&cc.ActiveEntities.Concepts, said.ActiveEntities.Concepts)
	return cc
}

func replace(list *[]string, by []string) {
	if len(by) > 0 {
		*list = by
	}
}

// currentContext returns the session's layer 0, or the workspace's where the
// session has none yet, and its sequence.
func currentContext(v storage.View, session string) (layers.CurrentContext, int64, bool, error) {
	body, seq, ok, err := latest[layers.CurrentContext](v, kindContext, session)
	if err != nil || ok {
		return body, seq, ok, err
	}
	return latest[layers.CurrentContext](v, kindContext, workspaceContext)
}

// triosOf returns the trios of the session's last n conversations, oldest
// first, with those that were just written in their newest form.
func triosOf(v storage.View, r renewal, n int) ([]digest.Trio, error) {
	l, err := lineOf(v, r.session)
	if err != nil {
		return nil, err
	}
	if r.cutFrom != 0 {
		if l.length, err = l.lengthAt(r.cutFrom - 1); err != nil {
			return nil, err
		}
	}
	entries, err := l.newest(n)
	if err != nil {
		return nil, err
	}
	var out []digest.Trio
	for _, entry := range entries {
		trio, _, ok, err := latest[trioRecord](v, kindTrio, entry.ID)
		if err != nil {
			return nil, err
		}
		for i := range r.done {
			if r.done[i].trio.Header.ID == entry.ID {
				trio, ok = r.done[i].trio, true
			}
		}
		if ok && (r.ongoing == nil || r.ongoing.Conversation.ID != entry.ID) {
			out = append(out, digest.Trio{Header: trio.Header, Summary: trio.Summary})
		}
	}
	for i := range r.done { // opened and completed by this very write
		id := r.done[i].trio.Header.ID
		if len(out) == 0 || out[len(out)-1].Header.ID != id && !contains(entries, id) {
			out = append(out, digest.Trio{Header: r.done[i].trio.Header, Summary: r.done[i].trio.Summary})
		}
	}
	return out, nil
}

func contains(entries []storage.ListEntry, id string) bool {
	for _, entry := range entries {
		if entry.ID == id {
			return true
		}
	}
	return false
}

// turnsOf reads the first n turns of a conversation, without the outputs'
// contents, and their tokens in full.
func turnsOf(v storage.View, conversation string, n int) (turns []layers.Turn, tokens int, err error) {
	list := listOfTurns(conversation)
	entries, err := v.List(list, 0, min(n, v.ListLen(list)))
	if err != nil {
		return nil, 0, err
	}
	for _, entry := range entries {
		body, err := turnAt(v, entry)
		if err != nil {
			return nil, 0, err
		}
		turns = append(turns, body.Turn)
		tokens += body.Tokens
	}
	return turns, tokens, nil
}

// renewalOf is the renewal that follows from one conversation's change.
func renewalOf(session string, outcome layers.Outcome, k kept) renewal {
	r := renewal{session: session, housekeeping: k.said()}
	if outcome == layers.OutcomeOngoing {
		r.ongoing = &k.exchange
	} else {
		r.done = []kept{k}
	}
	return r
}
