package session

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"hexapla/storage"
)

// line is the conversations of a session that count: all but those that an edit
// cut off. The list of a session (listOfSession) has those too.
type line struct {
	view   storage.View
	spans  []span // the last one is still growing
	length int
	record lineRecord
}

// span is the beginning of a list.
type span struct {
	List  string `json:"list"`
	Count int    `json:"count"` // entries that count
}

// lineRecord is the body of a line record: what an edit that cut conversations
// off left of a session. A session that no edit changed has none.
type lineRecord struct {
	Spans []span `json:"spans,omitempty"` // of the lists that grow no more
	List  string `json:"list"`            // that new conversations join as well as the session's
	Gaps  []gap  `json:"gaps,omitempty"`
	Delta int64  `json:"delta,omitempty"` // tokens that edits added to the turns' running total
}

// gap is the time of what was cut off, in sequences: what was served in it is
// not part of the line.
type gap struct {
	From int64 `json:"from"` // the first of them
	To   int64 `json:"to"`   // the first after them
}

// lineOf reads a session's line as of a view.
func lineOf(v storage.View, session string) (line, error) {
	l := line{view: v}
	var err error
	if l.record, _, _, err = latest[lineRecord](v, kindLine, session); err != nil {
		return l, err
	}
	if l.record.List == "" {
		l.record.List = listOfSession(session)
	}
	l.spans = append(slices.Clone(l.record.Spans), span{l.record.List, v.ListLen(l.record.List)})
	for _, s := range l.spans {
		l.length += s.Count
	}
	return l, nil
}

// asOf is the line as far as it went at a view. What an edit cut off was never
// there.
func (l line) asOf(v storage.View) (line, error) {
	var err error
	if v.Seq() < l.view.Seq() {
		l.length, err = l.lengthAt(v.Seq())
	}
	return l, err
}

// list returns the conversations from one index up to another.
func (l line) list(from, to int) ([]storage.ListEntry, error) {
	var out []storage.ListEntry
	for _, s := range l.spans {
		if from < s.Count && to > 0 {
			entries, err := l.view.List(s.List, max(from, 0), min(to, s.Count))
			if err != nil {
				return nil, err
			}
			out = append(out, entries...)
		}
		from, to = from-s.Count, to-s.Count
	}
	return out, nil
}

// lengthAt returns how many of the conversations had opened at a sequence.
func (l line) lengthAt(seq int64) (int, error) {
	return l.search(func(e storage.ListEntry) bool { return e.Seq > seq })
}

// placeOf returns the index of a conversation. They stand in the order of their
// numbers.
func (l line) placeOf(conversation string) (int, error) {
	n, err := numberOf(conversation)
	if err != nil {
		return 0, err
	}
	place, err := l.search(func(e storage.ListEntry) bool {
		k, err := numberOf(e.ID)
		return err == nil && k >= n
	})
	if err != nil {
		return 0, err
	}
	entries, err := l.list(place, place+1)
	if err == nil && (len(entries) == 0 || entries[0].ID != conversation) {
		err = fmt.Errorf("conversation %q is not in its session's line: %w", conversation, storage.ErrDamaged)
	}
	return place, err
}

// search returns the first index from which on a conversation is past something.
func (l line) search(past func(storage.ListEntry) bool) (int, error) {
	var failed error
	n := sort.Search(l.length, func(i int) bool {
		entries, err := l.list(i, i+1)
		if err != nil || len(entries) == 0 {
			failed = errors.Join(failed, err)
			return true
		}
		return past(entries[0])
	})
	return n, failed
}

// numberOf is the place of a conversation among all of the workspace, from 1.
func numberOf(conversation string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(conversation, "c"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("conversation %q: %w", conversation, storage.ErrDamaged)
	}
	return n, nil
}

// newest returns up to n conversations, the newest last.
func (l line) newest(n int) ([]storage.ListEntry, error) {
	return l.list(max(0, l.length-n), l.length)
}

// cut returns what is left of the line when only its first conversations stay
// and others go on in a list of their own.
func (l line) cut(stay int, list string, gone gap) lineRecord {
	out := lineRecord{List: list}
	for _, s := range l.spans {
		if n := min(s.Count, stay); n > 0 {
			out.Spans = append(out.Spans, span{s.List, n})
			stay -= n
		}
	}
	for _, g := range l.record.Gaps {
		if g.From < gone.From {
			out.Gaps = append(out.Gaps, g)
		}
	}
	out.Gaps = append(out.Gaps, gone)
	return out
}

// without leaves out the places that lie in a gap.
func (l line) without(entries []storage.ListEntry) []storage.ListEntry {
	return slices.DeleteFunc(entries, func(e storage.ListEntry) bool {
		for _, g := range l.record.Gaps {
			if g.From <= e.Seq && e.Seq < g.To {
				return true
			}
		}
		return false
	})
}
