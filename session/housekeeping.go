package session

import (
	"context"
	"fmt"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/terms"
	"hexapla/storage"
)

// completion is what changes a conversation's trio: that it is done, that the
// model spoke of it, or both.
type completion struct {
	id           string
	record       conversationRecord
	appended     []layers.Turn   // turns of the same write, not in the store yet
	changed      []changeVersion // changes of files, likewise
	replaced     *preparedTurn   // the turn of the same write that takes one's place; nil for none
	delta        int             // tokens that it has more
	edited       bool            // what was said of it before no longer holds
	outcome      layers.Outcome
	housekeeping *layers.Housekeeping
	says         *layers.Housekeeping // all that the model has said of it by then; nil for what the store has
}

// kept is what came of a completion.
type kept struct {
	trio     trioRecord
	exchange digest.Exchange
	trimmed  []string
	says     layers.Housekeeping // all that the model ever said of it and that is borne out
	used     []string            // what it said before that it had used
	checked  *digest.Verified    // what the model said, without what nothing bears out; nil if it said nothing
}

// said is the housekeeping that counts.
func (k *kept) said() *layers.Housekeeping {
	if k.checked == nil {
		return nil
	}
	return &k.checked.Housekeeping
}

// flags are the claims that do not.
func (k *kept) flags() []Flag {
	if k.checked == nil {
		return nil
	}
	return k.checked.Flags
}

// complete writes the last version of a conversation and its trio.
func (ws *Workspace) complete(tx *storage.Tx, c completion) (kept, error) {
	c.record.Outcome = c.outcome
	tx.Put(storage.Draft{Kind: kindConversation, ID: c.id, Parent: c.record.Session, Body: encode(c.record)})
	return ws.keepHouse(tx, c)
}

// keepHouse writes a new version of a conversation's trio. What the model did
// not say is extracted by rule; what it said before stays.
func (ws *Workspace) keepHouse(tx *storage.Tx, c completion) (kept, error) {
	out, err := ws.draft(tx.View(), c)
	if err != nil {
		return kept{}, err
	}
	turns := out.exchange.Conversation.Turns
	if c.outcome != "" {
		if err := ws.believeCalls(tx, &c, turns); err != nil {
			return kept{}, err
		}
	}
	text := digest.RenderHeader(out.trio.Header) + digest.RenderSummary(out.trio.Summary, c.id)
	tx.Put(storage.Draft{
		Kind: kindTrio, ID: c.id, Parent: c.id, Body: encode(out.trio),
		Terms: terms.NewDoc(text, digest.EntitiesOf(text)).Encode(),
	})
	if c.housekeeping != nil {
		// Changes go first, as before turns: see putChanges.
		c.housekeeping = out.said()
		if err := sayChanges(tx, c, out.exchange.Conversation.Turns); err != nil {
			return kept{}, err
		}
		tx.Put(storage.Draft{Kind: kindHousekeeping, ID: c.id, Parent: c.id, Body: encode(out.says)})
		learned, err := usedLessons(tx.View(), c, out.used, out.checked.Housekeeping.User.ContextUsed)
		if err == nil {
			err = learned.put(tx)
		}
		return out, err
	}
	return out, nil
}

// draft makes the trio that a conversation is kept as once it is complete.
func (ws *Workspace) draft(v storage.View, c completion) (kept, error) {
	counter := ws.standard()
	turns, tokens, err := turnsOf(v, c.id, maxTurnNumber)
	if err != nil {
		return kept{}, err
	}
	if c.replaced != nil {
		turns[c.replaced.turn.Number-1] = c.replaced.turn
		tokens += c.delta
	}
	for i := range c.appended {
		tokens += counter.Count(plainTurn(&c.appended[i]))
	}
	turns = append(turns, c.appended...)
	out := kept{exchange: digest.Exchange{Tokens: tokens, Conversation: layers.Conversation{
		ID: c.id, Session: c.record.Session, Opened: c.record.Opened, Outcome: c.record.Outcome, Turns: turns,
	}}}
	work := digest.Work(turns)
	e := &digest.Evidence{}
	addTurns(e, turns, nil, false)
	ruled := digest.Disarm(digest.Trio{Header: digest.Header(out.exchange, counter), Summary: digest.Summary(out.exchange, counter)}, e)
	trio := trioRecord{Header: ruled.Header, Summary: ruled.Summary, Work: &work, Trust: trustOf(turns)}
	if c.record.Outcome != layers.OutcomeCompleted || trio.Header.Outcome == layers.OutcomeOngoing {
		// The rule may infer that a completed conversation ended in an error;
		// otherwise what the client says of the end holds.
		trio.Header.Outcome = c.record.Outcome
	}
	before, _, _, err := latest[layers.Housekeeping](v, kindHousekeeping, c.id)
	if err != nil {
		return kept{}, err
	}
	before.LLM.ResponseHeader.Outcome = "" // it was of that moment
	before.LLM.CurrentContext = nil
	out.used = before.User.ContextUsed
	if c.housekeeping != nil {
		checked := digest.Verify(*c.housekeeping, ws.evidence(v, c, turns))
		out.checked = &checked
		before = sayMore(before, checked.Housekeeping)
	}
	if c.says != nil {
		before = *c.says
	}
	said(&trio, &before)
	out.says = before
	switch {
	case trio.Summary.Source == layers.SourceRule:
		trio.Summary.Confidence = digest.Confidence(trio.Summary, e)
	case out.checked != nil && c.housekeeping.LLM.ContextSummary != "":
		trio.Summary.Confidence = out.checked.Confidence
	default:
		kept, _, _, err := latest[trioRecord](v, kindTrio, c.id)
		if err != nil {
			return out, err
		}
		trio.Summary.Confidence = kept.Summary.Confidence
	}
	trio.Header.ID, trio.Summary.ConversationID = c.id, c.id
	trio.Header.TokenCount = tokens
	trio.Summary.Retrievable = true
	ws.naming.trio(&trio)
	ended := out.exchange.Conversation
	ended.Outcome = trio.Header.Outcome
	trio.Activity = digest.ActivityOf(ended, counter)
	var trimmed []string
	trio.Header, trimmed = digest.TrimHeader(trio.Header, counter)
	out.trimmed = append(out.trimmed, trimmed...)
	trio.Summary, trimmed = digest.TrimSummary(trio.Summary, counter)
	out.trimmed = append(out.trimmed, trimmed...)
	out.trio = trio
	return out, nil
}

// sayMore is what the model said of a conversation before, with what it says now
// in the place of the same members.
func sayMore(before, now layers.Housekeeping) layers.Housekeeping {
	out := now
	h, b := &out.LLM.ResponseHeader, before.LLM.ResponseHeader
	h.Topic, h.Summary = either(h.Topic, b.Topic), either(h.Summary, b.Summary)
	inherit(&h.KeyEntities, b.KeyEntities)
	out.LLM.ContextSummary = either(out.LLM.ContextSummary, before.LLM.ContextSummary)
	inherit(&out.LLM.KeyDecisions, before.LLM.KeyDecisions)
	inherit(&out.LLM.CodeChanges, before.LLM.CodeChanges)
	inherit(&out.LLM.OpenQuestions, before.LLM.OpenQuestions)
	u := &out.User
	u.QueryHeader = either(u.QueryHeader, before.User.QueryHeader)
	u.UnderstoodIntent = either(u.UnderstoodIntent, before.User.UnderstoodIntent)
	u.Satisfaction = either(u.Satisfaction, before.User.Satisfaction)
	inherit(&u.ContextUsed, before.User.ContextUsed)
	inherit(&u.Corrections, before.User.Corrections)
	return out
}

func inherit[T any](list *[]T, from []T) {
	if len(*list) == 0 {
		*list = from
	}
}

// said puts what the model says in the place of what was extracted.
func said(trio *trioRecord, h *layers.Housekeeping) {
	r := h.LLM.ResponseHeader
	if r.Topic != "" || r.Summary != "" {
		trio.Header.Source = layers.SourceHousekeeping
		trio.Header.Topic = either(oneLine(r.Topic), trio.Header.Topic)
		trio.Header.Summary = either(oneLine(r.Summary), trio.Header.Summary)
	}
	if len(r.KeyEntities) > 0 {
		trio.Header.KeyEntities = r.KeyEntities
	}
	if r.Outcome != "" {
		trio.Header.Outcome = r.Outcome
	}
	if h.LLM.ContextSummary != "" {
		trio.Summary.Source = layers.SourceHousekeeping
		trio.Summary.Content = h.LLM.ContextSummary
	}
	if len(h.LLM.KeyDecisions) > 0 {
		trio.Summary.KeyDecisions = h.LLM.KeyDecisions
	}
	if len(h.LLM.CodeChanges) > 0 {
		trio.Summary.CodeChanges = h.LLM.CodeChanges
	}
	if len(h.LLM.OpenQuestions) > 0 {
		trio.Summary.OpenQuestions = h.LLM.OpenQuestions
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// storyLength is how many trios the rule for layer 0 looks back at.
const storyLength = 12

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
	tx.Put(storage.Draft{Kind: kindContext, ID: workspaceContext, Body: body})
	if ok && r.housekeeping != nil && r.housekeeping.LLM.CurrentContext != nil {
		if d := distance(contextTerms(previous), contextTerms(next)); d >= DriftAlert {
			out.swing = &Swing{Distance: d, From: at, To: seq}
		}
	}
	return out, nil
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

// HousekeepingReply shows what came of housekeeping.
type HousekeepingReply struct {
	Conversation string
	Header       layers.Header
	Summary      layers.Summary
	Context      layers.CurrentContext
	Trimmed      []string
	Flags        []Flag
	Swing        *Swing // nil if layer 0 says much the same as before
	Sequence     int64  `json:"-"`
}

// ApplyHousekeeping writes what the model says of a conversation; without an
// id, of the session's newest.
func (s *Session) ApplyHousekeeping(ctx context.Context, conversation string, h layers.Housekeeping, key string) (HousekeepingReply, error) {
	ws := s.Workspace
	request := struct {
		Conversation string
		Housekeeping layers.Housekeeping
	}{conversation, h}
	reply, receipt, err := write(ctx, ws, "housekeeping/apply", s.ID, key, request, func(tx *storage.Tx) (HousekeepingReply, error) {
		v := tx.View()
		id := conversation
		if id == "" {
			l, err := lineOf(v, s.ID)
			if err != nil {
				return HousekeepingReply{}, err
			}
			entries, err := l.newest(1)
			if err != nil {
				return HousekeepingReply{}, err
			}
			if len(entries) == 0 {
				return HousekeepingReply{}, fmt.Errorf("the session has no conversation: %w", ErrNotFound)
			}
			id = entries[0].ID
		}
		record, _, ok, err := latest[conversationRecord](v, kindConversation, id)
		if err != nil {
			return HousekeepingReply{}, err
		}
		if !ok || record.Session != s.ID {
			return HousekeepingReply{}, notFound("conversation", id)
		}
		out, err := ws.keepHouse(tx, completion{id: id, record: record, housekeeping: &h})
		if err != nil {
			return HousekeepingReply{}, err
		}
		renewed, err := ws.renew(tx, renewalOf(s.ID, record.Outcome, out))
		return HousekeepingReply{
			Conversation: id, Header: out.trio.Header, Summary: out.trio.Summary,
			Context: renewed.context, Trimmed: append(out.trimmed, renewed.trimmed...), Flags: out.flags(), Swing: renewed.swing,
		}, err
	})
	reply.Sequence = receipt.Seq
	return reply, err
}
