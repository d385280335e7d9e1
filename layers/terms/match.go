package terms

import (
	"fmt"
	"slices"
)

// Query is a set of terms and entities to look for in encoded documents. It is
// not changed by matching and may be used by several goroutines.
type Query struct {
	terms, entities names
}

// names is a sorted list with the length of the prefix that each name shares
// with the next.
type names struct {
	list   []string
	common []int
}

func newNames(list []string) names {
	list = slices.Compact(slices.Sorted(slices.Values(list)))
	common := make([]int, len(list))
	for i := 0; i+1 < len(list); i++ {
		common[i] = commonPrefix(list[i], list[i+1])
	}
	return names{list: list, common: common}
}

// NewQuery makes a query of terms, as Analyze returns them, and entities, as
// Entities returns them. Order and duplicates do not matter.
func NewQuery(terms, entities []string) *Query {
	return &Query{terms: newNames(terms), entities: newNames(entities)}
}

// Terms returns the query's terms, sorted. They must not be changed.
func (q *Query) Terms() []string { return q.terms.list }

// Entities returns the query's entities, sorted. They must not be changed.
func (q *Query) Entities() []string { return q.entities.list }

// Match is what a query and a document have in common.
type Match struct {
	Length   int      // of the document
	Freq     []uint32 // occurrences of each of the query's terms
	Entities int      // entities of the document
	Shared   []bool   // which of the query's entities the document has
}

// Match fills m, whose slices it reuses, with what q finds in an encoded Doc.
// It reads the bytes once and decodes nothing that is not needed, which takes
// about a microsecond for a document of 150 terms. It returns ErrEncoding for
// bytes that are no encoded Doc; not every damage is noticed, as with Decode.
func (q *Query) Match(encoded []byte, m *Match) error {
	m.Freq = resized(m.Freq, len(q.terms.list))
	m.Shared = resized(m.Shared, len(q.entities.list))
	m.Length, m.Entities = 0, 0
	r, err := newReader(encoded)
	if err != nil {
		return err
	}
	m.Length = r.length
	if len(q.terms.list) > 0 {
		find(&r, &q.terms, r.count(MaxTerms), true, func(i int, freq uint64) { m.Freq[i] = uint32(min(freq, maxLength)) })
	}
	r.skipTerms()
	m.Entities = r.count(MaxEntities)
	if len(q.entities.list) > 0 {
		find(&r, &q.entities, m.Entities, false, func(i int, _ uint64) { m.Shared[i] = true })
	}
	if r.failed {
		return fmt.Errorf("match terms: %w", ErrEncoding)
	}
	return nil
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// find merges n front-coded names with a sorted list and reports each that is
// in both. It never puts a name together: all it keeps of the last name is that
// it is smaller than the wanted one, and how many bytes the two share.
func find(r *reader, wanted *names, n int, freqs bool, found func(i int, freq uint64)) {
	i, same := 0, 0 // same: bytes that list[i] shares with the last name
	for ; n > 0 && i < len(wanted.list); n-- {
		shared, rest := r.entry()
		var freq uint64
		if freqs {
			freq = r.uvarint()
		}
		if r.failed {
			return
		}
		if shared > same {
			continue // differs from list[i] where the last name did: still smaller
		}
		// A name that shares less with the last one than list[i] does has passed
		// list[i], and shares that much with it.
		at, passed := shared, shared < same
		for {
			if !passed {
				tail, mine := wanted.list[i][at:], rest[at-shared:]
				k := 0
				for k < len(mine) && k < len(tail) && mine[k] == tail[k] {
					k++
				}
				if k == len(mine) && k == len(tail) {
					found(i, freq)
					same = wanted.common[i]
					i++
					break
				}
				if k == len(mine) || (k < len(tail) && mine[k] < tail[k]) {
					same = at + k
					break
				}
				at += k
			}
			// list[i] is smaller than the name and shares "at" bytes with it. How
			// the next wanted name stands to list[i] tells how it stands to the name.
			common := wanted.common[i]
			if i++; i == len(wanted.list) {
				return
			}
			if common < at {
				same = common // it is greater than the name
				break
			}
			passed = common > at // then it is smaller, for the reason list[i] is
		}
	}
}
