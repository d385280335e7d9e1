package session

import (
	"encoding/json"
	"fmt"
	"slices"

	"hexapla/layers"
	"hexapla/storage"
)

// profileRecord is the body of a profile record: one that was set by hand.
type profileRecord struct {
	Profile layers.ProfileName `json:"profile"`
	Now     bool               `json:"now,omitempty"` // whether it made a fold at once
}

// profileSet is a profile record with its sequence.
type profileSet struct {
	seq int64
	profileRecord
}

// profiler tells which profile was in force when in a session. What was recorded
// under a profile keeps its caps; so the answer for a sequence is a function of
// the workspace up to it and of the settings, and never changes.
type profiler struct {
	ws      *Workspace
	session string
	line    line // of the session; as of a view that is not older than those asked for
}

// profiler returns what tells a session's profiles as of views up to one.
func (ws *Workspace) profiler(v storage.View, session string) (profiler, error) {
	l, err := lineOf(v, session)
	return profiler{ws, session, l}, err
}

// opened is what was in force when a conversation opened.
type opened struct {
	name layers.ProfileName
	seq  int64
}

// set returns the profile that was set by hand before a sequence, the newest.
func (p profiler) set(v storage.View, before int64) (profileSet, bool, error) {
	sets, err := p.sets(v, func(s profileSet) bool { return s.seq < before })
	if err != nil || len(sets) == 0 || sets[0].seq >= before {
		return profileSet{}, false, err
	}
	return sets[0], true, nil
}

// sets returns the profiles that were set by hand, oldest first, from the newest
// one back to the first that is the last wanted.
func (p profiler) sets(v storage.View, last func(profileSet) bool) ([]profileSet, error) {
	list := listOfProfiles(p.session)
	var out []profileSet
	for n := v.ListLen(list); n > 0; n-- {
		entries, err := v.List(list, n-1, n)
		if err != nil {
			return nil, err
		}
		one := profileSet{seq: entries[0].Seq}
		var ok bool
		if one.profileRecord, ok = p.ws.profileSets.get(one.seq); !ok {
			record, err := v.Get(one.seq)
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(record.Body, &one.profileRecord); err != nil {
				return nil, fmt.Errorf("read profile %q: %w", record.ID, err)
			}
			p.ws.profileSets.put(one.seq, one.profileRecord)
		}
		out = append(out, one)
		if last(one) {
			break
		}
	}
	slices.Reverse(out)
	return out, nil
}

// resolve returns the profile that a choice by hand, or by the settings where it
// is "", comes to in a conversation.
func (p profiler) resolve(v storage.View, by layers.ProfileName, ordinal int) (layers.ProfileName, error) {
	if by == "" {
		by = p.ws.opts.Profiles.Mode
	}
	switch by {
	case layers.ProfileAuto:
		choice, err := p.choice(v, ordinal)
		return choice.Profile, err
	case "": // settings of a program that knew no profiles
		return layers.ProfileBalanced, nil
	}
	return by, nil
}

// choice returns the profile that the conversations before one come to, as of
// its opening. The last of those may be in progress; it is taken as complete
// then.
func (p profiler) choice(v storage.View, ordinal int) (layers.ProfileChoice, error) {
	profiles := &p.ws.opts.Profiles
	before, err := p.line.list(max(0, ordinal-profiles.Reach()), ordinal+1)
	if err != nil {
		return layers.ProfileChoice{}, err
	}
	opened := "" // the conversation, if it did
	if n := len(before) - 1; n == min(ordinal, profiles.Reach()) {
		if before[n].Seq <= v.Seq() {
			opened = before[n].ID
			if choice, ok := p.ws.choices.get(opened); ok {
				return choice, nil
			}
			if v, err = v.At(before[n].Seq); err != nil {
				return layers.ProfileChoice{}, err
			}
		}
		before = before[:n]
	}
	var work []layers.Work
	for _, entry := range before {
		one, err := p.work(v, entry.ID)
		if err != nil {
			return layers.ProfileChoice{}, err
		}
		work = append(work, one)
	}
	choice := profiles.Choose(work)
	if opened != "" {
		p.ws.choices.put(opened, choice)
	}
	return choice, nil
}

// work returns what the calls of a conversation did as of a view.
func (p profiler) work(v storage.View, conversation string) (layers.Work, error) {
	body, _, _, err := latest[conversationRecord](v, kindConversation, conversation)
	if err != nil {
		return layers.Work{}, err
	}
	if body.Outcome == layers.OutcomeOngoing {
		done, err := p.ws.draft(v, completion{id: conversation, record: body})
		if err != nil {
			return layers.Work{}, err
		}
		return *done.trio.Work, nil
	}
	record, _, err := v.Latest(kindTrio, conversation)
	if err != nil {
		return layers.Work{}, err
	}
	key := trioVersion{conversation, record.Seq}
	if w, ok := p.ws.works.get(key); ok {
		return w, nil
	}
	trio, _, _, err := latest[trioRecord](v, kindTrio, conversation)
	if err != nil {
		return layers.Work{}, err
	}
	var work layers.Work
	if trio.Work != nil {
		work = *trio.Work
	}
	p.ws.works.put(key, work)
	return work, nil
}

// opening returns the profile that was in force when a conversation opened.
func (p profiler) opening(v storage.View, ordinal int) (opened, error) {
	entries, err := p.line.list(ordinal, ordinal+1)
	if err != nil {
		return opened{}, err
	}
	entry := entries[0]
	if o, ok := p.ws.openings.get(entry.ID); ok {
		return o, nil
	}
	set, _, err := p.set(v, entry.Seq)
	if err != nil {
		return opened{}, err
	}
	name, err := p.resolve(v, set.Profile, ordinal)
	if err != nil {
		return opened{}, err
	}
	o := opened{name, entry.Seq}
	p.ws.openings.put(entry.ID, o)
	return o, nil
}

// span is a policy from a sequence on.
func (p profiler) span(seq int64, name layers.ProfileName) layers.ProfileSpan {
	return layers.ProfileSpan{Seq: seq, Name: name, Policy: p.ws.policyOf(name)}
}

// spans returns the policies in force in the conversations from base on: one for
// the opening of each, whose index is given too, and one for each profile that
// was set by hand since. The last of them are for the conversation that is about
// to open, if there is one.
func (p profiler) spans(v storage.View, base, n int, opens bool) (spans []layers.ProfileSpan, first []int, err error) {
	var sets []profileSet
	for ordinal := base; ordinal < n; ordinal++ {
		o, err := p.opening(v, ordinal)
		if err != nil {
			return nil, nil, err
		}
		if ordinal == base {
			if sets, err = p.sets(v, func(s profileSet) bool { return s.seq < o.seq }); err != nil {
				return nil, nil, err
			}
		}
		if spans, sets, err = p.setSpans(v, spans, sets, o.seq, ordinal-1); err != nil {
			return nil, nil, err
		}
		first = append(first, len(spans))
		spans = append(spans, p.span(o.seq, o.name))
	}
	if spans, _, err = p.setSpans(v, spans, sets, v.Seq()+1, n-1); err != nil {
		return nil, nil, err
	}
	if opens || n == base {
		first = append(first, len(spans))
		next, err := p.next(v, n)
		if err != nil {
			return nil, nil, err
		}
		spans = append(spans, p.span(v.Seq(), next))
	}
	return spans, first, nil
}

// next returns the profile that a conversation would open with now.
func (p profiler) next(v storage.View, ordinal int) (layers.ProfileName, error) {
	set, _, err := p.set(v, v.Seq()+1)
	if err != nil {
		return "", err
	}
	return p.resolve(v, set.Profile, ordinal)
}

// setSpans appends the profiles that were set before a sequence, in a
// conversation, and returns those that are left. Those before the first
// conversation are told by its opening.
func (p profiler) setSpans(v storage.View, spans []layers.ProfileSpan, sets []profileSet, before int64, ordinal int) ([]layers.ProfileSpan, []profileSet, error) {
	for len(sets) > 0 && sets[0].seq < before {
		if len(spans) > 0 {
			name, err := p.resolve(v, sets[0].Profile, ordinal)
			if err != nil {
				return nil, nil, err
			}
			spans = append(spans, p.span(sets[0].seq, name))
		}
		sets = sets[1:]
	}
	return spans, sets, nil
}

// shape is the policies under which a conversation was recorded, in order of
// their beginning; the first is that of its opening.
type shape []layers.ProfileSpan

// at returns the policy that was in force at a sequence.
func (s shape) at(seq int64) layers.Policy {
	at := 0
	for at+1 < len(s) && s[at+1].Seq <= seq {
		at++
	}
	return s[at].Policy
}

// shapeOf returns the policies under which a conversation was recorded.
func (ws *Workspace) shapeOf(v storage.View, conversation string) (shape, error) {
	body, _, ok, err := latest[conversationRecord](v, kindConversation, conversation)
	if err != nil {
		return nil, err
	}
	p, err := ws.profiler(v, body.Session)
	if err != nil {
		return nil, err
	}
	_, gone, err := superseded(v, conversation)
	if err != nil {
		return nil, err
	}
	if !ok || gone {
		return shape{p.span(0, layers.ProfileBalanced)}, nil
	}
	ordinal, err := p.line.placeOf(conversation)
	if err != nil {
		return nil, err
	}
	spans, first, err := p.spans(v, ordinal, min(ordinal+2, p.line.length), false)
	if err != nil {
		return nil, err
	}
	if len(first) > 1 {
		spans = spans[:first[1]]
	}
	return shape(spans), nil
}

// policyOf returns the policy that a profile makes of the workspace's.
func (ws *Workspace) policyOf(name layers.ProfileName) layers.Policy {
	return ws.opts.Profiles.Policy(name, ws.opts.Policy)
}
