package retrieval

import (
	"cmp"
	"slices"

	"hexapla/layers/terms"
)

// passageShares are the shares with which the words of the turns around a turn
// count for its passage, by distance. A turn is short, and what it answers to
// stands before it (chosen on LoCoMo, dialogs 0 to 4).
const (
	passage1 = 0.7
	passage2 = 0.5
	passage3 = 0.3
)

func passageShares() [4]float64 { return [...]float64{1, passage1, passage2, passage3} }

// Scales of nearness in time: what is that old counts half.
const (
	halfSequences = 3000               // about a hundred exchanges with their tools
	halfTime      = 3 * 24 * 3_600_000 // ms
	halfVisits    = 2                  // visits
)

// score computes all parts and the scores.
func (s *search) score() error {
	var best [classes]float64
	bestPassage := 0.0
	for _, d := range s.docs {
		best[d.class] = max(best[d.class], d.bm25)
		if d.head.kind == kindTurn {
			d.passage = s.passage(d)
			bestPassage = max(bestPassage, d.passage)
		}
	}
	wholes, bestConversation := s.conversations()
	entities := len(s.query.Entities()) - s.errors
	for _, d := range s.docs {
		p := &d.parts
		p.Lexical = ratio(d.bm25, best[d.class])
		if t := s.turns[turnOf(d.head.id)]; t != nil && d.class == classLeaf {
			p.Passage = ratio(t.passage, bestPassage)
		}
		home := wholes[d.head.parent]
		p.Conversation, d.coverage = ratio(home.bm25, bestConversation), home.coverage
		p.Temporal = s.temporal(d)
		if common := d.common - d.wrong; common > 0 {
			p.Entities = ratio(float64(common), float64(entities+d.all-common))
		}
		p.Errors = ratio(float64(d.wrong), float64(s.errors))
		if s.q.Visits != nil {
			n := max(s.q.Visits(d.head.parent), 0)
			p.Visits = ratio(float64(n), float64(n+halfVisits))
		}
		if s.q.Usefulness != nil {
			p.Usefulness = ratio(min(max(s.q.Usefulness(d.head.parent), 0), 1), 1)
		}
		d.score = s.mean(p, true)
	}
	if err := s.meaning(); err != nil {
		return err
	}
	if s.q.Reciprocal && s.meaningOf != "" {
		s.fuse()
		return nil
	}
	for _, d := range s.docs {
		d.score = s.mean(&d.parts, false)
	}
	return nil
}

// reciprocalRank is the constant of reciprocal rank fusion, from the paper that
// named it.
const reciprocalRank = 60

// fuse sets scores by the ranks in two rankings, one of all parts but nearness in
// meaning, which is the present score, and one of nearness alone. Which is
// first in both has 1.
func (s *search) fuse() {
	byScore := slices.Clone(s.docs)
	slices.SortFunc(byScore, compareDocuments)
	byNear := slices.DeleteFunc(slices.Clone(s.docs), func(d *document) bool { return d.parts.Semantic == 0 })
	slices.SortFunc(byNear, func(a, b *document) int {
		if c := cmp.Compare(b.parts.Semantic, a.parts.Semantic); c != 0 {
			return c
		}
		return compareDocuments(a, b)
	})
	fused := make(map[*document]float64, len(s.docs))
	for _, ranking := range [...][]*document{byScore, byNear} {
		for i, d := range ranking {
			fused[d] += float64((reciprocalRank + 1) / float64(reciprocalRank+1+i) / 2)
		}
	}
	for _, d := range s.docs {
		d.score = terms.Round(fused[d])
	}
}

// ratio is a part of a score: a of b, rounded; 0 if there is no b.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return terms.Round(a / b)
}

// passage is the BM25 of a turn together with the candidates around it.
func (s *search) passage(d *document) float64 {
	shares := passageShares()
	freq := make([]float64, len(d.freq))
	length, whole := 0.0, 0.0
	for step := -3; step <= 3; step++ {
		share := shares[max(step, -step)]
		whole += share
		n := d
		if step != 0 {
			if n = s.turns[neighbour(d.head.id, step)]; n == nil {
				continue
			}
		}
		for i, f := range n.freq {
			freq[i] += float64(share * float64(f))
		}
		length += float64(share * float64(n.length))
	}
	average := float64(whole * s.stats.average(classLeaf))
	sum := 0.0
	for i, f := range freq {
		sum += terms.BM25(s.idf[classLeaf][i], f, length, average)
	}
	return sum
}

// whole is what is known of a conversation.
type whole struct {
	freq     []float64 // candidates that hold each of the query's terms
	records  float64   // candidates
	bm25     float64
	coverage float64
}

// conversations scores whole conversations by BM25 over their records: how many
// of its candidates hold a term stands for the term's frequency, and how many
// candidates it has for its length. So one long tool output does not decide.
func (s *search) conversations() (wholes map[string]*whole, best float64) {
	wholes = make(map[string]*whole)
	for _, d := range s.docs {
		w := wholes[d.head.parent]
		if w == nil {
			w = &whole{freq: make([]float64, len(d.freq))}
			wholes[d.head.parent] = w
		}
		for i, f := range d.freq {
			if f > 0 {
				w.freq[i]++
			}
		}
		w.records++
	}
	mass := 0.0
	for _, idf := range s.idf[classLeaf] {
		mass += idf
	}
	average := float64(len(s.docs)) / float64(max(len(wholes), 1))
	for _, w := range wholes { // each for itself: the order does not matter
		for i, f := range w.freq {
			w.bm25 += terms.BM25(s.idf[classLeaf][i], f, w.records, average)
			if f > 0 {
				w.coverage += s.idf[classLeaf][i]
			}
		}
		w.coverage = ratio(w.coverage, mass)
		best = max(best, w.bm25)
	}
	return wholes, best
}

// temporal is 1 for a record at the view's sequence, or at Now, and falls with
// its age; the tail is heavy, so that old records still differ.
func (s *search) temporal(d *document) float64 {
	if s.q.Now > 0 && d.head.time > 0 {
		return ratio(halfTime, halfTime+float64(max(s.q.Now-d.head.time, 0)))
	}
	return ratio(halfSequences, halfSequences+float64(max(s.view.Seq()-d.seq, 0)))
}

// mean weighs the parts, if asked so without nearness in meaning. A part that the
// query gives no occasion for, such as errors when it names none, has no weight.
func (s *search) mean(p *ScoreParts, without bool) float64 {
	w := s.weights
	if without {
		w.Semantic = 0
	}
	if len(s.query.Terms()) == 0 {
		w.Lexical, w.Passage, w.Conversation, w.Semantic = 0, 0, 0, 0
	}
	if len(s.query.Entities()) == s.errors {
		w.Entities = 0
	}
	if s.errors == 0 {
		w.Errors = 0
	}
	if s.q.Visits == nil {
		w.Visits = 0
	}
	if s.q.Usefulness == nil {
		w.Usefulness = 0
	}
	total, sum := 0.0, 0.0
	for _, part := range [...][2]float64{
		{p.Lexical, w.Lexical}, {p.Passage, w.Passage}, {p.Conversation, w.Conversation}, {p.Semantic, w.Semantic}, {p.Temporal, w.Temporal},
		{p.Entities, w.Entities}, {p.Errors, w.Errors}, {p.Visits, w.Visits}, {p.Usefulness, w.Usefulness},
	} {
		total += float64(part[0] * part[1]) // no fused product and sum
		sum += part[1]
	}
	return ratio(total, sum)
}
