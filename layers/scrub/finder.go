package scrub

import (
	"slices"
	"strings"
)

const (
	maxRun    = 2 << 10  // most bytes of a run that are looked at, each way
	maxPiece  = 16 << 10 // of a window on which an expression runs at once
	overlap   = 2 << 10  // of two such pieces
	maxSecret = 64 << 10 // bytes of one secret
)

// hit is a value that a rule found.
type hit struct {
	span
	rule *rule
}

// window is where a rule's expression is to run: what its hits so far cover.
type window struct {
	span
	done int // no hit before this place need be looked at
	used bool
}

// finder is one pass over one text.
type finder struct {
	rules   *Rules
	text    string
	hits    []hit
	windows []window // by rule
	used    []uint16 // rules that have a window
	held    []span   // placeholders
	near    run      // that was looked at last
	pem     struct{ end, done int }
	cookie  int // up to where cookies were looked at
	work    int // bytes that were looked at beyond the pass itself
}

// reset makes a finder ready for another text. Its memory is kept.
func (f *finder) reset(text string) {
	for _, n := range f.used {
		f.windows[n] = window{}
	}
	f.text, f.hits, f.used, f.work = text, f.hits[:0], f.used[:0], 0
	f.held = f.rules.placeholders(text)
	f.near, f.pem.end, f.pem.done, f.cookie = run{}, -1, 0, 0
}

// run finds everything in the text. The hits may overlap.
func (f *finder) run() {
	if f.rules.secrets {
		f.rules.words.each(f.text, f.at)
		for _, n := range f.used {
			f.flush(int(n))
		}
	}
	if f.rules.pii.any() {
		f.personal()
	}
}

// at serves a place where keywords end.
func (f *finder) at(end int, words endList) {
	for _, w := range words {
		start := end - len(f.rules.keywords[w])
		for _, use := range f.rules.uses[w] {
			f.try(int(use.rule), use, start, end)
		}
	}
}

// keywordUse is a rule that a keyword belongs to.
type keywordUse struct {
	rule uint16
	// exact is the keyword in the only case in which the rule takes it; "" for any.
	exact string
	// bounded: nothing that is part of a word stands before the keyword.
	bounded bool
}

func (f *finder) try(n int, use keywordUse, start, end int) {
	text := f.text
	if use.bounded && start > 0 && isWord(text[start-1]) || use.exact != "" && text[start:end] != use.exact {
		return
	}
	r := f.rules.rules[n]
	if start < f.windows[n].done {
		return
	}
	switch r.mode {
	case coded:
		r.find(f, start, end)
	case anchored:
		if r.assigns {
			f.work += 32
			if !assignsAt(text, end) {
				return
			}
		}
		f.anchor(n, r, start)
	case inside:
		around := f.runAround(start, end)
		if around.end-around.start < r.minRun {
			return
		}
		if r.assigns {
			around.start -= 128
		}
		f.widen(n, span{max(0, around.start-4), min(len(text), around.end+4)})
	case wide:
		f.widen(n, span{max(0, start-r.reach), min(len(text), end+r.reach)})
	}
}

// run is a run of characters that a secret of known form can be in.
type run struct {
	span
	whole bool // it ends there; else only that much of it was looked at
}

// runAround returns the run of characters that a keyword is in, as much of it as
// matters. A run is looked at once, and a very long one in steps.
func (f *finder) runAround(start, end int) span {
	if near := &f.near; start >= near.start && end <= near.end && (near.whole || near.end-end >= maxRun/2) {
		return near.span
	}
	text, r := f.text, run{span: span{start, end}}
	for r.end < len(text) && r.end-end < maxRun && inRun(text[r.end]) {
		r.end++
	}
	for r.start > 0 && start-r.start < maxRun/4 && inRun(text[r.start-1]) {
		r.start--
	}
	r.whole = r.end-end < maxRun
	f.work += r.end - r.start
	f.near = r
	return r.span
}

// widen adds to the window of a rule, after running the expression on what it
// covered if that is apart.
func (f *finder) widen(n int, s span) {
	w := &f.windows[n]
	switch {
	case !w.used:
		f.touch(n)
		w.span = s
	case s.start <= w.end:
		w.start, w.end = min(w.start, s.start), max(w.end, s.end)
	default:
		f.flush(n)
		w.span = s
	}
}

func (f *finder) touch(n int) {
	f.windows[n].used = true
	f.used = append(f.used, uint16(n))
}

// flush runs a rule's expression on its window.
func (f *finder) flush(n int) {
	r, w := f.rules.rules[n], f.windows[n]
	if r.source == "" || r.mode == anchored {
		return
	}
	for from := w.start; from < w.end; {
		to := min(w.end, from+maxPiece)
		f.work += to - from
		for _, m := range r.regexp().FindAllStringSubmatchIndex(f.text[from:to], -1) {
			f.matched(r, from, m)
		}
		if to == w.end {
			return
		}
		from = to - overlap
	}
}

// anchor runs a rule's expression at a place.
func (f *finder) anchor(n int, r *rule, at int) {
	to := min(len(f.text), at+r.reach)
	f.work += to - at
	m := r.regexp().FindStringSubmatchIndex(f.text[at:to])
	if m == nil {
		return
	}
	if m[1] == to-at && to < len(f.text) { // cut by the window
		to = min(len(f.text), at+maxPiece)
		f.work += to - at
		if m = r.regexp().FindStringSubmatchIndex(f.text[at:to]); m == nil {
			return
		}
	}
	if !f.windows[n].used {
		f.touch(n)
	}
	f.windows[n].done = at + m[1]
	f.matched(r, at, m)
}

// matched takes the secret out of a match of an expression, as gitleaks does.
func (f *finder) matched(r *rule, base int, m []int) {
	s := span{base + m[0], base + m[1]}
	if r.group > 0 {
		if m[2*r.group] < 0 {
			return
		}
		s = span{base + m[2*r.group], base + m[2*r.group+1]}
	} else {
		for g := 1; g < len(m)/2; g++ {
			if m[2*g+1] > m[2*g] {
				s = span{base + m[2*g], base + m[2*g+1]}
				break
			}
		}
	}
	first := base + m[0]
	if r.assigns { // the identifier that the keyword ends
		for n := 0; n < 50 && first > 0 && (isWord(f.text[first-1]) || f.text[first-1] == '.' || f.text[first-1] == '-'); n++ {
			first--
		}
	}
	f.found(r, s, span{first, base + m[1]})
}

// found takes a value that a rule found, unless something says that it is none.
func (f *finder) found(r *rule, s, match span) {
	for s.start < s.end && (f.text[s.end-1] == '\n' || f.text[s.end-1] == '\\') {
		s.end-- // a backslash belongs to the quote behind it
	}
	if s.start >= s.end {
		return
	}
	if c := f.text[s.start]; s.end-s.start > 2 && (c == '"' || c == '\'') && f.text[s.end-1] == c {
		s.start, s.end = s.start+1, s.end-1
	}
	if s.start >= s.end || f.holds(s) {
		return
	}
	value := f.text[s.start:s.end]
	if r.entropy > 0 && entropy(value) <= r.entropy || r.accept != nil && !r.accept(value) {
		return
	}
	for i := range r.allow {
		if r.allow[i].allows(value, strings.Trim(f.text[match.start:match.end], "\n"), f.line(match)) {
			return
		}
	}
	if f.rules.allowed(value) {
		return
	}
	f.hits = append(f.hits, hit{s, r})
}

// line is the line around a match, as much of it as matters.
func (f *finder) line(s span) string {
	from, to := max(0, s.start-500), min(len(f.text), s.end+500)
	if i := strings.LastIndexByte(f.text[from:s.start], '\n'); i >= 0 {
		from += i + 1
	}
	if i := strings.IndexByte(f.text[s.end:to], '\n'); i >= 0 {
		to = s.end + i
	}
	return f.text[from:to]
}

// holds tells whether a placeholder stands in a span.
func (f *finder) holds(s span) bool {
	i, _ := slices.BinarySearchFunc(f.held, s, func(held, s span) int { return held.end - s.start - 1 })
	return i < len(f.held) && f.held[i].start < s.end
}

// settle makes the hits disjoint and puts them in order. Of two that overlap the
// one whose rule knows the value by its form counts, if it covers most of both;
// else they become one.
func (f *finder) settle() []hit {
	slices.SortStableFunc(f.hits, func(a, b hit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	var out []hit
	for _, h := range f.hits {
		if len(out) == 0 || h.start >= out[len(out)-1].end {
			out = append(out, h)
			continue
		}
		last := &out[len(out)-1]
		*last = joined(*last, h)
	}
	return out
}

func joined(a, b hit) hit {
	whole := span{min(a.start, b.start), max(a.end, b.end)}
	for _, h := range [...]hit{a, b} {
		if !h.rule.context() && (h.end-h.start)*5 >= (whole.end-whole.start)*4 {
			return h
		}
	}
	out := a
	if b.end-b.start > a.end-a.start {
		out = b
	}
	if out.span != whole {
		out = hit{whole, ruleJoined}
	}
	return out
}

// ruleJoined stands for values that several rules found parts of.
var ruleJoined = &rule{id: "joined", label: labelCredential}
