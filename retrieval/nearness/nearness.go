// Package nearness tells how near texts are in what they say: by word vectors, and
// by their words where the vectors know too few of them.
//
// Numbers are rounded, so that they are the same on every machine, and do not
// depend on the order of texts in a group. What was analysed of a text is kept for
// as long as the value lives; it is for one goroutine and one piece of work.
//
// It stores nothing and reads no files.
package nearness

import (
	"cmp"
	"math"
	"slices"

	"hexapla/layers/terms"
	"hexapla/retrieval/vectors"
)

// knownShare is the part of a text's terms, one in so many, that the model must
// know for its vector to stand for the text.
const knownShare = 4

// Texts compares texts. The zero value compares by words alone.
type Texts struct {
	Model *vectors.Model // nil for none

	kept map[string]*sense
}

// sense is what a text says.
type sense struct {
	sum   vectors.Sum
	terms int
	words []word // by name; only where the vector does not stand for the text
}

type word struct {
	name string
	n    int
}

// Near tells how near each group of texts is to another, each taken together: 0 to
// 1, which is the same; a group without any words is at 0, but two are at 1.
func (t *Texts) Near(about []string, groups [][]string) []float64 {
	whole := t.join(about)
	base, known := whole.direction()
	out := make([]float64, len(groups))
	for i, group := range groups {
		g := t.join(group)
		v, ok := g.direction()
		switch {
		case whole.terms == 0 || g.terms == 0:
			if whole.terms == g.terms {
				out[i] = 1
			}
		case known && ok:
			out[i] = max(vectors.Cosine(base, v), 0)
		default:
			out[i] = alike(t.words(about), t.words(group))
		}
	}
	return out
}

func (s *sense) direction() (vectors.Vector, bool) {
	if s.sum.Known()*knownShare < s.terms {
		return nil, false
	}
	return s.sum.Vector()
}

func (t *Texts) join(texts []string) *sense {
	if len(texts) == 1 {
		return t.of(texts[0])
	}
	var whole sense
	for _, text := range texts {
		s := t.of(text)
		whole.sum.Merge(&s.sum)
		whole.terms += s.terms
	}
	return &whole
}

func (t *Texts) of(text string) *sense {
	if s := t.kept[text]; s != nil {
		return s
	}
	list := terms.Analyze(text)
	s := &sense{terms: len(list)}
	if t.Model != nil {
		for _, term := range list {
			t.Model.Add(&s.sum, []byte(term))
		}
	}
	if t.kept == nil {
		t.kept = map[string]*sense{}
	}
	t.kept[text] = s
	return s
}

// words are the words of texts with how often they stand there, by name.
func (t *Texts) words(texts []string) []word {
	var all []word
	for _, text := range texts {
		s := t.of(text)
		if s.words == nil {
			s.words = tally(terms.Analyze(text))
		}
		all = append(all, s.words...)
	}
	if len(texts) == 1 {
		return all
	}
	slices.SortFunc(all, func(a, b word) int { return cmp.Compare(a.name, b.name) })
	out := all[:0]
	for _, w := range all {
		if n := len(out); n > 0 && out[n-1].name == w.name {
			out[n-1].n += w.n
			continue
		}
		out = append(out, w)
	}
	return out
}

func tally(list []string) []word {
	slices.Sort(list)
	out := []word{}
	for _, name := range list {
		if n := len(out); n > 0 && out[n-1].name == name {
			out[n-1].n++
			continue
		}
		out = append(out, word{name, 1})
	}
	return out
}

// alike is the cosine of two texts by how often words stand in them.
func alike(a, b []word) float64 {
	product, left, right := 0.0, 0.0, 0.0
	for _, w := range a {
		left += float64(w.n) * float64(w.n)
	}
	for _, w := range b {
		right += float64(w.n) * float64(w.n)
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch cmp.Compare(a[i].name, b[j].name) {
		case -1:
			i++
		case 1:
			j++
		default:
			product += float64(a[i].n) * float64(b[j].n)
			i, j = i+1, j+1
		}
	}
	if left == 0 || right == 0 {
		return 0
	}
	return terms.Round(product / math.Sqrt(float64(left*right)))
}
