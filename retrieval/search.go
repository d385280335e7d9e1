package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hexapla/index"
	"hexapla/layers/terms"
	"hexapla/storage"
)

// Bounds of a search.
const (
	searchTimeout  = 2 * time.Second // X8
	maxSearchTerms = 64              // the rarest terms of a query that are looked up
	defaultLimit   = 20
	maxLimit       = 1000
)

// Search ranks the records of a view. It returns ErrQueryTooComplex for a query
// beyond the bounds unless Clip is set, the context's error when it ends or
// after two seconds, unless Complete is set, and the store's errors. A query with
// nothing to look for has no hits.
func (e *Engine) Search(ctx context.Context, view storage.View, q Query) (Result, error) {
	if !q.Complete {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, searchTimeout)
		defer cancel()
	}
	query, err := newQuery(q)
	if err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	s := &search{engine: e, view: view, q: q, weights: q.Weights}
	if s.weights == (Weights{}) {
		s.weights = e.options.Weights
	}
	if s.stats, err = e.statistics(ctx, view); err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	s.choose(query)
	sequences, err := s.candidates(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	if err := s.load(ctx, sequences); err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	if err := s.near(ctx); err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	if err := s.score(); err != nil {
		return Result{}, fmt.Errorf("search: %w", err)
	}
	return s.result(), nil
}

// newQuery analyses the text within the bounds.
func newQuery(q Query) (*terms.Query, error) {
	text := q.Text
	if len(text) > MaxQueryBytes {
		if !q.Clip {
			return nil, fmt.Errorf("%d bytes: %w", len(text), ErrQueryTooComplex)
		}
		text = strings.ToValidUTF8(text[:MaxQueryBytes], "")
	}
	words := terms.Analyze(text)
	distinct := make(map[string]bool, len(words))
	kept := words[:0]
	for _, w := range words {
		if distinct[w] {
			continue
		}
		if len(kept) == MaxQueryTerms {
			if !q.Clip {
				return nil, fmt.Errorf("more than %d terms: %w", MaxQueryTerms, ErrQueryTooComplex)
			}
			break
		}
		distinct[w] = true
		kept = append(kept, w)
	}
	return terms.NewQuery(kept, terms.Entities(q.Entities)), nil
}

// search is the state of one search.
type search struct {
	engine   *Engine
	view     storage.View
	q        Query
	weights  Weights
	stats    *table
	query    *terms.Query // what is looked for
	keys     []key        // its terms and entities, rarest first
	idf      [classes][]float64
	degraded bool

	docs    []*document          // candidates, newest first
	turns   map[string]*document // by ID
	isError []bool               // of the query's entities
	errors  int                  // how many are errors

	cosines   map[int64]float64 // of turns to the query, by the encoder
	meaningOf string            // the model that nearness in meaning goes by
}

// key is a term or an entity as the index knows it.
type key struct {
	name   string
	df     int
	number int // in the query's terms or entities
	entity bool
}

// entityMark goes before entities in the index, where no term begins with it.
const entityMark = "\x01"

// choose keeps the rarest terms and entities of a query, by the statistics of
// the view, and orders them from rare to common.
func (s *search) choose(q *terms.Query) {
	rank := func(names []string, entity bool) []key {
		keys := make([]key, 0, len(names))
		for _, name := range names {
			df := s.stats.df(nameHash(name, entity))
			keys = append(keys, key{name: name, df: df[classLeaf] + df[classWhole], entity: entity})
		}
		slices.SortFunc(keys, compareKeys)
		return keys[:min(len(keys), maxSearchTerms)]
	}
	names := func(keys []key) (out []string) {
		for _, k := range keys {
			out = append(out, k.name)
		}
		return out
	}
	words, things := rank(q.Terms(), false), rank(q.Entities(), true)
	s.query = terms.NewQuery(names(words), names(things))
	s.keys = append(words, things...)
	for i := range s.keys {
		list := s.query.Terms()
		if s.keys[i].entity {
			list = s.query.Entities()
		}
		s.keys[i].number, _ = slices.BinarySearch(list, s.keys[i].name)
	}
	slices.SortFunc(s.keys, compareKeys)
	for c := range classes {
		s.idf[c] = make([]float64, len(s.query.Terms()))
		for i, t := range s.query.Terms() {
			s.idf[c][i] = terms.IDF(s.stats.docs[c], max(s.stats.df(nameHash(t, false))[c], 1))
		}
	}
	for _, name := range s.query.Entities() {
		is := strings.HasPrefix(name, terms.EntityError)
		s.isError = append(s.isError, is)
		if is {
			s.errors++
		}
	}
}

func compareKeys(a, b key) int {
	if c := cmp.Compare(a.df, b.df); c != 0 {
		return c
	}
	if a.entity != b.entity {
		if a.entity {
			return -1
		}
		return 1
	}
	return strings.Compare(a.name, b.name)
}

// candidates returns the sequences of the records to rank: going from the
// rarest key to the most common, the newest records that hold it, until there
// are enough. The set is the same wherever the index stands, because the order
// comes from the statistics, and each key's newest records are taken from the
// index up to its watermark and from the store above it.
func (s *search) candidates(ctx context.Context) ([]int64, error) {
	if len(s.keys) == 0 {
		return nil, nil
	}
	// The index may be replaced while it is asked; after that, or when it turns
	// out to be damaged, the search begins again with what there is.
	for range maxFailures {
		ix := s.engine.usableIndex()
		if ix == nil {
			break
		}
		sequences, err := s.choices(ctx, ix)
		if err == nil || ctx.Err() != nil || !errors.As(err, new(*indexError)) {
			return sequences, err
		}
		s.engine.options.Logf("retrieval: %v", err)
		s.engine.wake()
	}
	s.degraded = true
	return s.choices(ctx, nil)
}

// indexError is an error that a search can do without the index for.
type indexError struct{ err error }

func (e *indexError) Error() string { return e.err.Error() }
func (e *indexError) Unwrap() error { return e.err }

// choices does the work of candidates with an index, or with none.
func (s *search) choices(ctx context.Context, ix *index.Index) ([]int64, error) {
	indexed := int64(0)
	if ix != nil {
		indexed = min(ix.Watermark(), s.view.Seq())
	}
	fresh, err := s.scan(ctx, indexed)
	if err != nil {
		return nil, err
	}
	bound := s.engine.options.Candidates
	if s.q.Candidates > 0 {
		bound = min(bound, s.q.Candidates)
	}
	chosen := make(map[int64]bool, bound)
	for i, k := range s.keys {
		room := bound - len(chosen)
		if room == 0 {
			break
		}
		for j := len(fresh[i]) - 1; j >= 0 && room > 0; j-- {
			chosen[fresh[i][j]] = true
			room--
		}
		if room == 0 || indexed == 0 {
			continue
		}
		name := k.name
		if k.entity {
			name = entityMark + name
		}
		older, err := ix.Candidates(ctx, []string{name}, indexed, room)
		if err != nil {
			return nil, &indexError{err}
		}
		for _, seq := range older {
			chosen[seq] = true
		}
	}
	sequences := make([]int64, 0, len(chosen))
	for seq := range chosen {
		sequences = append(sequences, seq)
	}
	slices.Sort(sequences)
	slices.Reverse(sequences)
	return sequences, nil
}

// scan reads the records above a sequence and returns, for each key, those that
// hold it, oldest first.
func (s *search) scan(ctx context.Context, from int64) ([][]int64, error) {
	found := make([][]int64, len(s.keys))
	if limit := s.view.Seq() - int64(s.engine.options.ScanLimit); from < limit && !s.q.Complete {
		from = limit
		s.degraded = true
	}
	if from >= s.view.Seq() {
		return found, nil
	}
	var m terms.Match
	n := 0
	err := s.view.Scan(from, s.view.Seq(), func(r storage.Record, encoded []byte) error {
		if n++; n%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if len(encoded) == 0 || s.query.Match(encoded, &m) != nil {
			return nil
		}
		for i, k := range s.keys {
			if (k.entity && m.Shared[k.number]) || (!k.entity && m.Freq[k.number] > 0) {
				found[i] = append(found[i], r.Seq)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("scan records: %w", err)
	}
	return found, nil
}
