package retrieval

import (
	"cmp"
	"context"
	"slices"

	"hexapla/index/vectorlog"
	"hexapla/layers/terms"
	"hexapla/retrieval/vectors"
)

const (
	// semanticTurns is how many of the best turns by all other parts are compared
	// by meaning.
	semanticTurns = 100
	// nearestTurns is how many of the turns that are nearest to the query by the
	// encoder are candidates, whatever their words.
	nearestTurns = 100
	// leastNear is the cosine from which on a turn is near at all: texts that have
	// nothing to do with each other have 0.0 to 0.2 with all-MiniLM-L6-v2.
	leastNear = 0.2
	// encodedTime is how much more nearness in time is worth where conversations
	// are ranked with an encoder, which would else leave it too small a share: of
	// earlier work on the same branch 65 % are among the first five with it, 48
	// without, and 62 without an encoder.
	encodedTime = 1.5
)

// BuiltinModel names the built-in word vectors.
const BuiltinModel = "words"

// near compares all turns of the view with the query by the encoder, if it has
// embedded them all, and makes the nearest candidates. Without an encoder, or
// where it is behind, nearness goes by word vectors.
func (s *search) near(ctx context.Context) error {
	n := s.engine.encoding.Load()
	if n == nil || s.weights.Encoded == 0 || len(s.query.Terms()) == 0 {
		return nil
	}
	there, err := n.advance(ctx, s.view.Seq(), true)
	var query vectors.Vector
	if err == nil && there {
		query, err = n.query(ctx, s.q.Text)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.engine.options.Logf("retrieval: %v; turns are compared by built-in vectors", err)
	}
	if query == nil {
		return nil
	}
	wanted := make([]int64, 0, len(s.docs))
	for _, d := range s.docs {
		if d.head.kind == kindTurn {
			wanted = append(wanted, d.seq)
		}
	}
	slices.Sort(wanted)
	cosines := make(map[int64]float64, len(wanted))
	var best nearest
	square := vectors.Square(query)
	err = n.log.Scan(s.view.Seq(), func(row vectorlog.Row) {
		cosine := vectors.CosineOf(vectors.Dot(query, row.Vector), square, row.Square)
		if cosine >= leastNear {
			best.add(neighbourTurn{row.Seq, cosine})
		}
		for len(wanted) > 0 && wanted[0] < row.Seq {
			wanted = wanted[1:]
		}
		if len(wanted) > 0 && wanted[0] == row.Seq {
			cosines[row.Seq] = cosine
		}
	})
	if err != nil {
		s.engine.options.Logf("retrieval: %v; turns are compared by built-in vectors", err)
		return nil
	}
	s.cosines, s.meaningOf = cosines, n.encoder.ID()
	s.weights.Semantic = s.weights.Encoded
	if len(s.q.Kinds) == 0 {
		s.weights.Temporal *= encodedTime
	}
	return s.invite(best)
}

// invite adds the nearest turns to the candidates.
func (s *search) invite(best nearest) error {
	var m terms.Match
	slices.SortFunc(best, func(a, b neighbourTurn) int { return cmp.Compare(a.seq, b.seq) })
	for _, turn := range best {
		if _, known := s.cosines[turn.seq]; known {
			continue
		}
		guest, err := s.read(turn.seq, &m)
		if err != nil {
			return err
		}
		if guest != nil && s.turns[guest.head.id] == nil {
			s.add(guest)
			s.cosines[turn.seq] = turn.cosine
		}
	}
	return nil
}

// neighbourTurn is a turn with its cosine to the query.
type neighbourTurn struct {
	seq    int64
	cosine float64
}

// nearest are the nearestTurns nearest turns so far; of equally near ones the
// newest. It is a heap with the farthest on top.
type nearest []neighbourTurn

func farther(a, b neighbourTurn) bool {
	return a.cosine < b.cosine || a.cosine == b.cosine && a.seq < b.seq
}

func (h *nearest) add(t neighbourTurn) {
	all := *h
	if len(all) < nearestTurns {
		all = append(all, t)
		for i := len(all) - 1; i > 0 && farther(all[i], all[(i-1)/2]); i = (i - 1) / 2 {
			all[i], all[(i-1)/2] = all[(i-1)/2], all[i]
		}
		*h = all
		return
	}
	if !farther(all[0], t) {
		return
	}
	all[0] = t
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(all); child++ {
			if farther(all[child], all[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		all[i], all[least] = all[least], all[i]
		i = least
	}
}

// meaning compares the best turns with the query by meaning: the part is the
// cosine, stretched from the least to the most alike of them.
func (s *search) meaning() error {
	if s.weights.Semantic == 0 {
		return nil
	}
	var turns []*document
	for _, d := range s.docs {
		if d.head.kind == kindTurn {
			turns = append(turns, d)
		}
	}
	if s.meaningOf == "" {
		slices.SortFunc(turns, compareDocuments)
		turns = turns[:min(len(turns), semanticTurns)]
		compared, err := s.byWords(turns)
		if err != nil || !compared {
			return err
		}
	} else {
		turns = slices.DeleteFunc(turns, func(d *document) bool {
			_, ok := s.cosines[d.seq]
			return !ok
		})
	}
	if s.meaningOf != BuiltinModel {
		s.smooth(turns)
	}
	low, high := 1.0, -1.0
	for _, d := range turns {
		low, high = min(low, d.near), max(high, d.near)
	}
	for _, d := range turns {
		d.near = ratio(d.near-low, high-low)
	}
	for _, d := range s.docs {
		if t := s.turns[turnOf(d.head.id)]; t != nil && d.class == classLeaf {
			d.parts.Semantic = t.near
		}
	}
	return nil
}

// neighbourShare is the share with which the turns before and after a turn count
// for its nearness: what it answers to stands there. 0.3 finds more in chats of
// short turns (LoCoMo), 0 where an answer is a page (BEAM).
const neighbourShare = 0.15

// smooth gives each turn the mean of its cosine and, with a smaller share, those
// of the turns before and after it.
func (s *search) smooth(turns []*document) {
	for _, d := range turns {
		sum, whole := s.cosines[d.seq], 1.0
		for _, step := range [...]int{-1, 1} {
			n := s.turns[neighbour(d.head.id, step)]
			if n == nil {
				continue
			}
			if cosine, ok := s.cosines[n.seq]; ok {
				sum += float64(neighbourShare * cosine)
				whole += neighbourShare
			}
		}
		d.near = terms.Round(sum / whole)
	}
}

// byWords sets the cosine of turns by the built-in word vectors; false if the
// query has no word that they know.
func (s *search) byWords(turns []*document) (bool, error) {
	m := s.engine.model()
	if m == nil {
		return false, nil
	}
	var sum vectors.Sum
	for _, term := range s.query.Terms() {
		m.Add(&sum, []byte(term))
	}
	query, ok := sum.Vector()
	if !ok {
		return false, nil
	}
	s.meaningOf = BuiltinModel
	for _, d := range turns {
		vector, _, err := s.vector(m, d)
		if err != nil {
			return false, err
		}
		d.near = vectors.Cosine(query, vector)
	}
	return true, nil
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
