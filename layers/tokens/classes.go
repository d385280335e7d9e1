package tokens

import (
	"unicode"
	"unicode/utf8"
)

// class says to which of the character sets of the two patterns a code point
// belongs. A code point has at most one bit; punctuation, symbols, controls and
// unassigned code points have none.
type class uint8

const (
	upper    class = 1 << iota // \p{Lu} \p{Lt}
	lower                      // \p{Ll}
	caseless                   // \p{Lm} \p{Lo}
	mark                       // \p{M}
	number                     // \p{N}
	space                      // \s without the two below
	newline                    // \r \n
)

const (
	letter = upper | lower | caseless
	// The two letter sets of o200k_base overlap in caseless letters and marks.
	wordHead = upper | caseless | mark
	wordTail = lower | caseless | mark
	// symbol's complement: [^\s\p{L}\p{N}] is what has none of these.
	notSymbol = letter | number | space | newline
	// What may not stand as the one optional character in front of a word.
	notPrefix = letter | number | newline
)

// classes maps every code point to its class, by pages of 256 that are shared
// when equal. The Unicode version is that of the Go toolchain, as it is in
// tiktoken-go. Immutable once built.
type classes struct {
	ascii [utf8.RuneSelf]class
	page  [(unicode.MaxRune + 1) / 256]uint8
	pages [][256]class
}

func newClasses() *classes {
	flat := make([]class, unicode.MaxRune+1)
	sets := []struct {
		class class
		table *unicode.RangeTable
	}{
		{upper, unicode.Lu}, {upper, unicode.Lt}, {lower, unicode.Ll},
		{caseless, unicode.Lm}, {caseless, unicode.Lo},
		{mark, unicode.M}, {number, unicode.N}, {space, unicode.White_Space},
	}
	for _, set := range sets {
		for _, r := range set.table.R16 {
			for c := uint32(r.Lo); c <= uint32(r.Hi); c += uint32(r.Stride) {
				flat[c] = set.class
			}
		}
		for _, r := range set.table.R32 {
			for c := r.Lo; c <= r.Hi; c += r.Stride {
				flat[c] = set.class
			}
		}
	}
	flat['\r'], flat['\n'] = newline, newline

	t := &classes{}
	copy(t.ascii[:], flat)
	seen := make(map[[256]class]uint8)
	for i := range t.page {
		content := [256]class(flat[i*256 : i*256+256])
		at, ok := seen[content]
		if !ok {
			at = uint8(len(t.pages))
			seen[content] = at
			t.pages = append(t.pages, content)
		}
		t.page[i] = at
	}
	return t
}

// at returns the class of the code point at s[i] and its width in bytes. s must
// be valid UTF-8 and i the start of a code point.
func (t *classes) at(s string, i int) (class, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return t.ascii[c], 1
	}
	r, width := utf8.DecodeRuneInString(s[i:])
	return t.pages[t.page[uint32(r)>>8]][r&255], width
}
