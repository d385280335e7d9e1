package main

import (
	"sort"
	"strings"

	"hexapla/internal/needs"
	"hexapla/layers"
	"hexapla/layers/tokens"
)

// needed counts the names that the tool calls of one model answer needed and
// that had occurred in the history, and how many of them were in a context.
type needed struct {
	paths, identifiers held
}

// held is how many names were needed, and how many of them were there.
type held struct{ all, pack, window int }

func (h held) add(o held) held { return held{h.all + o.all, h.pack + o.pack, h.window + o.window} }

func (n needed) add(o needed) needed {
	return needed{n.paths.add(o.paths), n.identifiers.add(o.identifiers)}
}

// needsOfCall is what one model call needed, kept until the average size of the
// packs is known.
type needsOfCall struct {
	names  layers.Names
	at     int // bytes of history before the call
	result *needed
}

// needsTracker keeps the text of a session and what was needed of it.
type needsTracker struct {
	counter layers.Counter
	text    strings.Builder
	ends    []int // of each message in text
	sums    []int // tokens up to each
	calls   []needsOfCall
}

// answer notes what the calls of a model's answer need, and how much of it the
// pack held.
func (t *needsTracker) answer(m *counted, pack string) *needed {
	var names layers.Names
	for _, call := range m.Calls {
		one := needs.OfCall(call.Input)
		names.Paths = append(names.Paths, one.Paths...)
		names.Identifiers = append(names.Identifiers, one.Identifiers...)
	}
	names = needs.Known(names, t.text.String())
	n := &needed{
		paths:       held{all: len(names.Paths), pack: needs.In(names.Paths, pack)},
		identifiers: held{all: len(names.Identifiers), pack: needs.In(names.Identifiers, pack)},
	}
	t.calls = append(t.calls, needsOfCall{names, t.text.Len(), n})
	return n
}

// add takes in a message.
func (t *needsTracker) add(m *counted) {
	if m.Compaction {
		return
	}
	t.text.WriteString(plainText(m.Message))
	before := 0
	if n := len(t.sums); n > 0 {
		before = t.sums[n-1]
	}
	t.ends = append(t.ends, t.text.Len())
	t.sums = append(t.sums, before+m.tokens)
}

// windows finds out what a sliding window of so many tokens would have held.
func (t *needsTracker) windows(size int) {
	text := t.text.String()
	for _, call := range t.calls {
		window := text[t.windowStart(call.at, size):call.at]
		call.result.paths.window = needs.In(call.names.Paths, window)
		call.result.identifiers.window = needs.In(call.names.Identifiers, window)
	}
}

// windowStart returns where the newest size tokens before a byte begin. The
// message in which the window begins is cut.
func (t *needsTracker) windowStart(at, size int) int {
	n := sort.SearchInts(t.ends, at+1) // messages that end at or before at
	if n == 0 {
		return 0
	}
	total := t.sums[n-1]
	first := sort.SearchInts(t.sums[:n], total-size) // the message that the border is in
	if total <= size {
		return 0
	}
	begin := 0
	if first > 0 {
		begin = t.ends[first-1]
	}
	end := t.ends[first]
	room := size - (total - t.sums[first])
	return end - len(tokens.Suffix(t.counter, t.text.String()[begin:end], room))
}
