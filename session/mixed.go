package session

import (
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/terms"
	"hexapla/layers/tokens"
	"hexapla/storage"
)

// passageTokens bounds what is shown of one piece around the words that were
// looked for.
const passageTokens = 240

// sought is what a conversation is asked about.
type sought struct {
	query *terms.Query
	words map[string]bool
}

// seek analyses a question; false if it has no words to look for.
func seek(text string) (sought, bool) {
	text = strings.ToValidUTF8(text[:min(len(text), maxRelatedQuery)], "")
	q := terms.NewQuery(terms.Analyze(text), nil)
	s := sought{query: q, words: map[string]bool{}}
	for _, term := range q.Terms() {
		s.words[term] = true
	}
	return s, len(s.words) > 0
}

// match tells how often a text holds each of the words.
func (s sought) match(text string) (terms.Match, error) {
	var m terms.Match
	err := s.query.Match(terms.NewDoc(text, layers.Entities{}).Encode(), &m)
	return m, err
}

// holds counts the words that a match holds.
func holds(m terms.Match) (n int) {
	for _, freq := range m.Freq {
		if freq > 0 {
			n++
		}
	}
	return n
}

// passage is a piece that holds words of a question.
type passage struct {
	index int // of the piece
	text  string
	freq  []uint32
	size  int // terms
	score float64
}

// showCheapest shows the least of a conversation that answers a question: its
// header if that holds every word of the question that the full text holds, else
// its summary, else the passages of the full text, best first, from the given
// one on.
func (ws *Workspace) showCheapest(v storage.View, conversation string, q sought, from, most int, counter layers.Counter) (shown, error) {
	pieces, err := ws.pieces(v, conversation, counter)
	if err != nil {
		return shown{}, err
	}
	found, all, err := passagesOf(pieces, q)
	if err != nil {
		return shown{}, err
	}
	share := func(n int) float64 { return terms.Round(float64(n) / float64(len(q.words))) }
	if from == 0 {
		for _, detail := range [...]layers.Detail{layers.DetailHeader, layers.DetailSummary} {
			out, err := ws.showTrio(v, conversation, detail, most, counter)
			if err != nil {
				return out, err
			}
			m, err := q.match(out.text)
			if err != nil {
				return out, err
			}
			if n := holds(m); n >= all {
				out.covered = share(n)
				return out, nil
			}
		}
	}
	if from > len(found) {
		return shown{}, ErrStateChanged
	}
	out := shown{detail: layers.DetailMixed, whole: true}
	seen := make([]bool, len(q.query.Terms()))
	var b strings.Builder
	for i := from; i < len(found); i++ {
		text := q.around(found[i].text, counter)
		n := counter.Count(text)
		if most > 0 && out.tokens+n > most {
			out.next = i
			if i > from {
				break
			}
			cut := fit(text, layers.DetailMixed, most, counter)
			text, n, out.next = cut.text, cut.tokens, i+1
			if out.next == len(found) {
				out.next = 0
			}
		}
		b.WriteString(text)
		out.tokens += n
		for k, freq := range found[i].freq {
			seen[k] = seen[k] || freq > 0
		}
		if out.next > 0 {
			break
		}
	}
	out.text, out.whole = b.String(), out.next == 0
	n := 0
	for _, yes := range seen {
		if yes {
			n++
		}
	}
	out.covered = share(n)
	return out, nil
}

// passagesOf returns the pieces that hold words of a question, best first, and
// how many of the words the pieces hold together. A word counts for more the
// fewer pieces hold it.
func passagesOf(pieces []layers.Piece, q sought) (found []passage, all int, err error) {
	df := make([]int, len(q.query.Terms()))
	length := 0
	for i := range pieces {
		m, err := q.match(pieces[i].Forms[0].Text)
		if err != nil {
			return nil, 0, err
		}
		length += m.Length
		if holds(m) == 0 {
			continue
		}
		for k, freq := range m.Freq {
			if freq > 0 {
				df[k]++
			}
		}
		found = append(found, passage{index: i, text: pieces[i].Forms[0].Text, freq: slices.Clone(m.Freq), size: m.Length})
	}
	for _, n := range df {
		if n > 0 {
			all++
		}
	}
	average := float64(length) / float64(max(len(pieces), 1))
	for i := range found {
		p := &found[i]
		for k, freq := range p.freq {
			if freq > 0 {
				p.score += terms.BM25(terms.IDF(len(pieces), df[k]), float64(freq), float64(p.size), average)
			}
		}
		p.score = terms.Round(p.score)
	}
	slices.SortStableFunc(found, func(a, b passage) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return a.index - b.index
	})
	return found, all, nil
}

// around cuts a piece to the lines around the one that holds most of the words,
// within passageTokens. Its heading stays.
func (s sought) around(text string, counter layers.Counter) string {
	if counter.Count(text) <= passageTokens {
		return text
	}
	head, body, _ := strings.Cut(text, "\n")
	lines := strings.SplitAfter(body, "\n")
	best, most := 0, -1
	for i, line := range lines {
		n := 0
		counted := map[string]bool{}
		for _, term := range terms.Analyze(line) {
			if s.words[term] && !counted[term] {
				counted[term] = true
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	room := passageTokens - counter.Count(head) - 8
	if counter.Count(lines[best]) > room { // one long line
		short, _ := digest.Trim(lines[best], room, counter)
		if short == "" {
			short = tokens.Prefix(counter, lines[best], room)
		}
		return block(head, short)
	}
	from, to := best, best+1
	used := counter.Count(lines[best])
	for grown := true; grown; {
		grown = false
		for _, at := range [...]int{to, from - 1} {
			if at < 0 || at >= len(lines) {
				continue
			}
			if n := counter.Count(lines[at]); used+n <= room {
				used += n
				from, to, grown = min(from, at), max(to, at+1), true
			}
		}
	}
	out := strings.Join(lines[from:to], "")
	if from > 0 {
		out = "[…]\n" + out
	}
	if to < len(lines) {
		out = strings.TrimRight(out, "\n") + "\n[…]\n"
	}
	return block(head, out)
}
