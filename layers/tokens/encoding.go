package tokens

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// The encodings that are counted exactly.
const (
	O200k  = "o200k_base"
	Cl100k = "cl100k_base"
)

// An Encoding is one exact byte pair encoding. It is safe for concurrent use.
// It implements layers.Counter. Get one from a Registry.
type Encoding struct {
	name    string
	ranks   string
	next    func(t *classes, s string, i int) int
	classes func() *classes

	once   sync.Once
	table  *classes
	words  *vocabulary
	states sync.Pool // of *state
}

// Name returns "o200k_base" or "cl100k_base".
func (e *Encoding) Name() string { return e.name }

// Estimate returns false: an Encoding's counts are exact.
func (e *Encoding) Estimate() bool { return false }

// load builds the tables on first use.
func (e *Encoding) load() {
	e.once.Do(func() {
		e.table = e.classes()
		e.words = newVocabulary(e.ranks)
		e.states.New = func() any { return new(state) }
	})
}

// Count returns the number of tokens of s. Special tokens such as
// <|endoftext|> are plain text, and each byte that is not valid UTF-8 counts as
// U+FFFD, both as in tiktoken-go's EncodeOrdinary. Time is proportional to
// len(s), but for pieces (see split.go) longer than shortPiece to n log n.
func (e *Encoding) Count(s string) int {
	if s == "" {
		return 0
	}
	e.load()
	s = valid(s)
	st := e.states.Get().(*state)
	n := 0
	if e.name == O200k {
		for i := 0; i < len(s); {
			end := e.table.nextO200k(s, i)
			n += st.count(e.words, s, i, end)
			i = end
		}
	} else {
		for i := 0; i < len(s); {
			end := e.table.nextCl100k(s, i)
			n += st.count(e.words, s, i, end)
			i = end
		}
	}
	e.states.Put(st)
	return n
}

// Encode returns the ids of the tokens of s; len(Encode(s)) == Count(s).
func (e *Encoding) Encode(s string) []uint32 {
	if s == "" {
		return nil
	}
	e.load()
	s = valid(s)
	st := e.states.Get().(*state)
	ids := make([]uint32, 0, len(s)/3+1)
	emit := func(i, j int) { ids = append(ids, e.words.id(s, i, j)) }
	for i := 0; i < len(s); {
		end := e.next(e.table, s, i)
		if id := e.words.id(s, i, end); id != noRank {
			ids = append(ids, id)
		} else {
			st.merger.parts(e.words, s, i, end, emit)
		}
		i = end
	}
	e.states.Put(st)
	return ids
}

// Decode joins the bytes of the tokens. The error names the first id that is
// not a token; special tokens' ids are not.
func (e *Encoding) Decode(ids []uint32) (string, error) {
	e.load()
	var b strings.Builder
	for at, id := range ids {
		if int64(id) >= int64(e.words.size()) {
			return "", fmt.Errorf("decode %s: id %d at %d is not a token", e.name, id, at)
		}
		b.WriteString(e.words.token(id))
	}
	return b.String(), nil
}

// cacheSlots is the number of pieces that a state remembers, a power of two.
// 2^14 slots of 24 bytes stay within a core's second-level cache.
const (
	cacheBits  = 14
	cacheSlots = 1 << cacheBits
)

// state is what one goroutine needs while it counts: a direct-mapped cache of
// the counts of pieces of up to 16 bytes, and the buffers of merges. It makes
// common words cost one look-up in a small table instead of three in large ones.
type state struct {
	cache  [cacheSlots]pieceCount
	merger merger
}

// pieceCount is a piece, padded with zeros, its size in bytes, and its count. The
// zero value is the empty piece, which is never looked up.
type pieceCount struct {
	lo, hi      uint64
	size, count uint32
}

// count returns the number of tokens of the piece s[i:j].
func (st *state) count(v *vocabulary, s string, i, j int) int {
	size := j - i
	if size > 16 {
		if v.rank(s, i, j) != noRank {
			return 1
		}
		return st.merger.parts(v, s, i, j, nil)
	}
	if size == 1 {
		return 1
	}
	lo, hi := words(s, i, j)
	h := mix(lo, hi, size)
	slot := &st.cache[h>>(64-cacheBits)]
	if slot.lo == lo && slot.hi == hi && slot.size == uint32(size) {
		return int(slot.count)
	}
	n := 1
	if v.find(s, i, j, h) == noRank {
		n = st.merger.parts(v, s, i, j, nil)
	}
	*slot = pieceCount{lo, hi, uint32(size), uint32(n)}
	return n
}

// valid replaces each byte of s that is not part of valid UTF-8 by U+FFFD. (Not
// strings.ToValidUTF8, which replaces a run of such bytes by one.)
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}
