package retrieval

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"hexapla/layers/terms"
	"hexapla/storage"
)

// document is a candidate.
type document struct {
	seq    int64
	head   head
	class  class
	length int
	freq   []uint32 // of each of the query's terms
	common int      // entities that query and document share
	wrong  int      // of them, errors
	all    int      // entities of the document

	bm25, passage, coverage, near float64

	parts ScoreParts
	score float64
}

// minParallel is how many candidates are worth another goroutine.
const minParallel = 200

// load reads the candidates from the store, on several cores. Records that are
// gone, that do not hold what the index said, or of which the view has a newer
// version are passed over.
func (s *search) load(ctx context.Context, sequences []int64) error {
	docs := make([]*document, len(sequences))
	workers := max(1, min(runtime.GOMAXPROCS(0), 4, len(sequences)/minParallel))
	errs := make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		from, to := len(docs)*w/workers, len(docs)*(w+1)/workers
		wait.Go(func() { errs[w] = s.loadPart(ctx, sequences[from:to], docs[from:to]) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.docs = make([]*document, 0, len(docs))
	s.turns = make(map[string]*document, len(docs))
	for _, d := range docs {
		if d != nil {
			s.add(d)
		}
	}
	return s.inviteNeighbours()
}

// loadPart reads some of the candidates.
func (s *search) loadPart(ctx context.Context, sequences []int64, docs []*document) error {
	var m terms.Match
	for i, seq := range sequences {
		if i%64 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		d, err := s.read(seq, &m)
		if err != nil {
			return err
		}
		if d != nil && (d.bm25 > 0 || d.common > 0) {
			docs[i] = d
		}
	}
	return nil
}

func (s *search) add(d *document) {
	s.docs = append(s.docs, d)
	if d.head.kind == kindTurn {
		s.turns[d.head.id] = d
	}
}

// read makes a document of a record; nil if there is none to be had, or it is
// not the newest version of itself.
func (s *search) read(seq int64, m *terms.Match) (*document, error) {
	encoded, ok, err := s.view.Terms(seq)
	if err != nil && !isGone(err) {
		return nil, err
	}
	if err != nil || !ok || s.query.Match(encoded, m) != nil {
		return nil, nil
	}
	h, newest, err := s.engine.head(s.view, seq)
	if err != nil && !isGone(err) {
		return nil, err
	}
	if err != nil || !newest {
		return nil, nil
	}
	d := &document{
		seq: seq, head: h, class: classOf(h.kind), length: m.Length, freq: slices.Clone(m.Freq), all: m.Entities,
	}
	average := s.stats.average(d.class)
	for i, freq := range m.Freq {
		if freq > 0 {
			d.bm25 += terms.BM25(s.idf[d.class][i], float64(freq), float64(m.Length), average)
		}
	}
	for i, shared := range m.Shared {
		if shared {
			d.common++
			if s.isError[i] {
				d.wrong++
			}
		}
	}
	return d, nil
}

// isGone tells that a record has been purged or cannot be read; a search goes
// on without it.
func isGone(err error) bool {
	return errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDamaged)
}

// invitations is how many of the best turns bring in their neighbours.
const invitations = 50

// inviteNeighbours adds the turns before and after the best turns, which may
// hold none of the terms: the answer often stands next to the words of the
// question.
func (s *search) inviteNeighbours() error {
	var m terms.Match
	best := make([]*document, 0, len(s.turns))
	for _, d := range s.docs {
		if d.head.kind == kindTurn && d.bm25 > 0 {
			d.score = terms.Round(d.bm25)
			best = append(best, d)
		}
	}
	slices.SortFunc(best, compareDocuments)
	for _, d := range best[:min(len(best), invitations)] {
		for _, step := range [...]int{-1, 1} {
			id := neighbour(d.head.id, step)
			if id == "" || s.turns[id] != nil {
				continue
			}
			r, ok, err := s.view.Latest(kindTurn, id)
			if err != nil && !isGone(err) {
				return err
			}
			if err != nil || !ok {
				continue
			}
			guest, err := s.read(r.Seq, &m)
			if err != nil {
				return err
			}
			if guest != nil {
				s.add(guest)
			}
		}
	}
	return nil
}

// neighbour returns the ID of the turn some steps away: "c12#3" to "c12#4". It
// is empty where there is none.
func neighbour(id string, step int) string {
	at := strings.LastIndexByte(id, '#')
	if at < 0 {
		return ""
	}
	n, err := strconv.Atoi(id[at+1:])
	if err != nil || n+step < 1 {
		return ""
	}
	return id[:at+1] + strconv.Itoa(n+step)
}

// turnOf returns the ID of the turn that a record belongs to: "c12#3/call" to
// "c12#3".
func turnOf(id string) string {
	at := strings.LastIndexByte(id, '#')
	if at < 0 {
		return id
	}
	if end := strings.IndexByte(id[at:], '/'); end >= 0 {
		return id[:at+end]
	}
	return id
}
