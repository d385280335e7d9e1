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
