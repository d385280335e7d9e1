package retrieval

import (
	"slices"

	"hexapla/layers/terms"
	"hexapla/retrieval/vectors"
)

// semanticTurns is how many of the best turns by all other parts are compared
// by meaning, which takes some ten microseconds each.
const semanticTurns = 100

// meaning compares the best turns with the query by meaning: the part is the
// cosine, stretched from the least to the most alike of them.
func (s *search) meaning() error {
	m := s.engine.model()
	if m == nil || s.weights.Semantic == 0 {
		return nil
	}
	var sum vectors.Sum
	for _, term := range s.query.Terms() {
		m.Add(&sum, []byte(term))
	}
	query, ok := sum.Vector()
	if !ok {
		return nil
	}
	var turns []*document
	for _, d := range s.docs {
		if d.head.kind == kindTurn {
			turns = append(turns, d)
		}
	}
	slices.SortFunc(turns, compareDocuments)
	turns = turns[:min(len(turns), semanticTurns)]
	cosines := make([]float64, len(turns))
	low, high := 1.0, -1.0
	for i, d := range turns {
		vector, ok, err := s.vector(m, d)
		if err != nil {
			return err
		}
		if ok {
			cosines[i] = vectors.Cosine(query, vector)
		}
		low, high = min(low, cosines[i]), max(high, cosines[i])
	}
	for i, d := range turns {
		d.near = ratio(cosines[i]-low, high-low)
	}
	for _, d := range s.docs {
		if t := s.turns[turnOf(d.head.id)]; t != nil && d.class == classLeaf {
			d.parts.Semantic = t.near
		}
	}
	return nil
}

// vector is the direction of a turn's terms.
func (s *search) vector(m *vectors.Model, d *document) (v vectors.Vector, ok bool, err error) {
	var sum vectors.Sum
	encoded, ok, err := s.view.Terms(d.seq)
	if err != nil && !isGone(err) {
		return v, false, err
	}
	if err != nil || !ok {
		return v, false, nil
	}
	// What cannot be read was not matched either.
	_ = terms.Names(encoded, func(name []byte, entity bool) {
		if !entity {
			m.Add(&sum, name)
		}
	})
	v, ok = sum.Vector()
	return v, ok, nil
}
