package session

import (
	"errors"
	"reflect"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// This file makes anew what was made of texts and cut: a piece of a secret that a
// cut left is not found by any rule.

// trios makes the trios anew of conversations whose texts are other ones. v has
// the texts as they will be.
func (r *rescrubbing) trios(v storage.View) (m storage.Mapping, err error) {
	if r.failed != nil || len(r.touched) == 0 {
		return m, r.failed
	}
	fresh := map[int64]storage.Content{}
	says := map[string]*layers.Housekeeping{} // said with the version that is looked at
	var records []storage.Record
	err = v.Scan(0, v.Seq(), func(record storage.Record, _ []byte) error {
		if first, ok := r.touched[record.ID]; ok && record.Seq >= first && (record.Kind == kindTrio || record.Kind == kindHousekeeping) {
			records = append(records, record)
		}
		return r.ctx.Err()
	})
	if err != nil {
		return m, err
	}
	// Housekeeping is written behind the trio that it made.
	for i := len(records) - 1; i >= 0; i-- {
		record := records[i]
		if record.Kind == kindHousekeeping {
			body, err := read[layers.Housekeeping](record)
			if err != nil {
				return m, err
			}
			says[record.ID] = &body
			continue
		}
		body, err := read[trioRecord](record)
		if err != nil {
			return m, err
		}
		again, err := r.trio(v, record, body, says[record.ID])
		if err != nil {
			return m, err
		}
		delete(says, record.ID)
		r.again(&again)
		if text := encode(again); string(text) != string(record.Body) {
			fresh[record.Seq] = storage.Content{Body: text, Terms: trioWords(&again, record.ID)}
			if _, counted := r.records[record.Seq]; !counted {
				r.done.Records++
			}
		}
	}
	return replacing(fresh), nil
}

func replacing(fresh map[int64]storage.Content) storage.Mapping {
	if len(fresh) == 0 {
		return storage.Mapping{}
	}
	return storage.Mapping{Record: func(record storage.Record, words []byte) (storage.Fate, storage.Content) {
		content, ok := fresh[record.Seq]
		if !ok {
			return storage.Keep, storage.Content{}
		}
		if content.Terms == nil {
			content.Terms = words
		}
		return storage.Replace, content
	}}
}

// trio makes a trio as the write did that put it. Where the turns are not there
// any more it stays.
func (r *rescrubbing) trio(v storage.View, record storage.Record, was trioRecord, says *layers.Housekeeping) (trioRecord, error) {
	then, err := v.At(record.Seq - 1)
	if err != nil {
		return was, err
	}
	body, _, ok, err := latest[conversationRecord](then, kindConversation, record.ID)
	if err != nil || !ok {
		return was, err
	}
	out, err := r.ws.draft(then, completion{id: record.ID, record: body, says: says})
	if errors.Is(err, storage.ErrErased) || errors.Is(err, storage.ErrDamaged) {
		return was, nil
	}
	if err != nil {
		return was, err
	}
	if out.trio.Summary.Source != layers.SourceRule {
		out.trio.Summary.Confidence = was.Summary.Confidence // of what was said then
	}
	return out.trio, nil
}

// again looks through what was made anew: a rule may take for a secret what only
// stands together there.
func (r *rescrubbing) again(made any) {
	walkTexts(reflect.ValueOf(made).Elem(), func(text string) string { return r.scrub("", text) }, func(v any) any { return v })
}

// contextRenewal says how a version of layer 0 was made.
type contextRenewal struct {
	copies  int64 // it is the same as the version at this sequence; 0 for none
	trios   int   // how many it looked back at
	edited  bool
	cut     bool // by an edit that cut conversations off
	ongoing bool // with the conversation in progress
	said    bool // with the newest housekeeping
}

// noteContext finds out how a version of layer 0 was made: of the ways to make it,
// the one that gives what is recorded. Versions that none gives stay as they are,
// with what is found in them replaced.
func (r *rescrubbing) noteContext(record *storage.Record) error {
	if len(r.touched) == 0 && len(r.renewals) == 0 {
		return nil
	}
	then, err := r.view.At(record.Seq - 1)
	if err != nil {
		return err
	}
	if record.ID == workspaceContext {
		// It is written behind that of a session, and the same.
		if before, err := then.Get(record.Seq - 1); err == nil && before.Kind == kindContext && string(before.Body) == string(record.Body) {
			r.renewals[record.Seq] = contextRenewal{copies: before.Seq}
		}
		return nil
	}
	plain := func(v storage.View, session string) (layers.CurrentContext, int64, bool, error) {
		return currentContext(v, session)
	}
	var ways []contextRenewal
	for _, way := range [...]contextRenewal{{}, {edited: true}, {edited: true, cut: true}} {
		for _, said := range [...]bool{false, true} {
			for _, ongoing := range [...]bool{true, false} {
				for _, trios := range [...]int{storyLength + 1, storyLength} {
					way.said, way.ongoing, way.trios = said, ongoing, trios
					ways = append(ways, way)
				}
			}
		}
	}
	for _, way := range ways {
		made, ok, err := r.renewed(then, record.ID, way, plain)
		if err != nil {
			return err
		}
		if ok && string(encode(made)) == string(record.Body) {
			r.renewals[record.Seq] = way
			return nil
		}
	}
	return r.noteRollback(then, record)
}

// noteRollback finds the version that a rollback wrote again.
func (r *rescrubbing) noteRollback(v storage.View, record *storage.Record) error {
	for range maxHistory {
		before, ok, err := v.Latest(kindContext, record.ID)
		if err != nil || !ok {
			return err
		}
		if string(before.Body) == string(record.Body) {
			r.renewals[record.Seq] = contextRenewal{copies: before.Seq}
			return nil
		}
		if v, err = v.At(before.Seq - 1); err != nil {
			return err
		}
	}
	return nil
}

// renewed makes the version of layer 0 that follows on a view in one way; not ok
// if there is no such way there. previous gives the version before.
func (r *rescrubbing) renewed(v storage.View, session string, way contextRenewal,
	previous func(storage.View, string) (layers.CurrentContext, int64, bool, error),
) (next layers.CurrentContext, ok bool, err error) {
	renew := renewal{session: session, edited: way.edited}
	l, err := lineOf(v, session)
	if err != nil {
		return next, false, err
	}
	at := v
	if way.cut {
		if len(l.record.Gaps) == 0 {
			return next, false, nil
		}
		renew.cutFrom = l.record.Gaps[len(l.record.Gaps)-1].From
		if at, err = v.At(renew.cutFrom - 1); err != nil {
			return next, false, err
		}
	}
	if way.ongoing {
		id, body, err := ongoing(v, session)
		if err != nil || id == "" {
			return next, false, err
		}
		turns, tokens, err := turnsOf(v, id, maxTurnNumber)
		if err != nil {
			return next, false, err
		}
		renew.ongoing = &digest.Exchange{Tokens: tokens, Conversation: layers.Conversation{
			ID: id, Session: session, Opened: body.Opened, Outcome: layers.OutcomeOngoing, Turns: turns,
		}}
	}
	if way.said {
		if renew.housekeeping, err = saidBefore(v); err != nil || renew.housekeeping == nil {
			return next, false, err
		}
	}
	trios, err := triosOf(v, renew, way.trios)
	if err != nil {
		return next, false, err
	}
	before, _, has, err := previous(at, session)
	if err != nil {
		return next, false, err
	}
	if !has {
		next, _ = r.ws.moveOn(renew, nil, trios)
		return next, true, nil
	}
	next, _ = r.ws.moveOn(renew, &before, trios)
	return next, true, nil
}

// saidReach is how many records back the housekeeping of a write is looked for: it
// has lessons and nothing else behind it.
const saidReach = 2

// saidBefore is the housekeeping of the write that a view ends in; nil for none.
func saidBefore(v storage.View) (*layers.Housekeeping, error) {
	for seq := v.Seq(); seq > max(0, v.Seq()-saidReach); seq-- {
		record, err := v.Get(seq)
		if errors.Is(err, storage.ErrErased) || errors.Is(err, storage.ErrDamaged) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if record.Kind == kindHousekeeping {
			body, err := read[layers.Housekeeping](record)
			if body.LLM.CurrentContext == nil {
				return nil, err
			}
			return &body, err
		}
	}
	return nil, nil
}

// contexts makes the versions of layer 0 anew, each on the one before. v has the
// trios as they will be.
func (r *rescrubbing) contexts(v storage.View) (m storage.Mapping, err error) {
	if len(r.renewals) == 0 {
		return m, nil
	}
	made := map[int64]layers.CurrentContext{}
	previous := func(v storage.View, session string) (layers.CurrentContext, int64, bool, error) {
		body, seq, ok, err := currentContext(v, session)
		if again, known := made[seq]; known && ok {
			body = again
		}
		return body, seq, ok, err
	}
	fresh := map[int64]storage.Content{}
	err = v.Scan(r.first-1, v.Seq(), func(record storage.Record, _ []byte) error {
		way, ok := r.renewals[record.Seq]
		if err := r.ctx.Err(); err != nil || !ok || record.Kind != kindContext {
			return err
		}
		var next layers.CurrentContext
		if way.copies != 0 {
			again, known := made[way.copies]
			if !known {
				return nil
			}
			next = again
		} else {
			then, err := v.At(record.Seq - 1)
			if err != nil {
				return err
			}
			if next, ok, err = r.renewed(then, record.ID, way, previous); err != nil || !ok {
				return err
			}
		}
		r.again(&next)
		made[record.Seq] = next
		if text := encode(next); string(text) != string(record.Body) {
			fresh[record.Seq] = storage.Content{Body: text}
			if _, counted := r.records[record.Seq]; !counted {
				r.done.Records++
			}
		}
		return nil
	})
	return replacing(fresh), err
}
