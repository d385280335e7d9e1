package tokens

import (
	"unicode/utf8"

	"hexapla/layers"
)

// wordBytes is the longest piece, in bytes, that Prefix and Suffix never cut
// when another piece stays: a word with its space, not a run of one character.
const wordBytes = 64

// Prefix returns a prefix of s with c.Count(prefix) ≤ max, as long as whole
// words reach: it ends where a piece of the encoding's pattern ends, or at a code
// point's end inside a piece that is longer than 64 bytes or the first. It
// returns s itself if that fits, and "" for max ≤ 0. Time grows with max, not
// with len(s).
func Prefix(c layers.Counter, s string, max int) string {
	if max <= 0 || s == "" {
		return ""
	}
	if max/3 >= len(s) { // a bad byte counts as three, any other as at most one
		return s
	}
	if e := encodingOf(c); e != nil {
		e.load()
		return e.prefix(s, max)
	}
	return s[:searchCut(len(s), max, func(n int) (int, int) {
		n = borderBefore(s, n)
		return n, c.Count(s[:n])
	})]
}

// Suffix returns a suffix of s with c.Count(suffix) ≤ max by the same rules: it
// begins where a piece begins, or at a code point inside a piece that is longer
// than 64 bytes or the last.
func Suffix(c layers.Counter, s string, max int) string {
	if max <= 0 || s == "" {
		return ""
	}
	if max/3 >= len(s) {
		return s
	}
	if e := encodingOf(c); e != nil {
		e.load()
		return e.suffix(s, max)
	}
	return s[len(s)-searchCut(len(s), max, func(n int) (int, int) {
		n = len(s) - borderAfter(s, len(s)-n)
		return n, c.Count(s[len(s)-n:])
	}):]
}

func (e *Encoding) prefix(s string, max int) string {
	// No token is longer than longest bytes, so more than this cannot fit.
	window := s
	if reach := (max + 1) * e.words.longest; reach < len(s) {
		window = s[:borderBefore(s, reach)]
	}
	text := valid(window)
	st := e.states.Get().(*state)
	defer e.states.Put(st)
	total, at := 0, 0
	for at < len(text) {
		end := e.next(e.table, text, at)
		n := st.count(e.words, text, at, end)
		if total+n > max {
			if end-at > wordBytes || at == 0 {
				at = e.cutPiece(st, text, at, end, max-total, max)
			}
			break
		}
		total += n
		at = end
	}
	return s[:original(window, text, at)]
}

// cutPiece returns the end of the longest prefix of text that it finds with at
// most max tokens, inside the piece text[i:j] of which room tokens may be used.
func (e *Encoding) cutPiece(st *state, text string, i, j, room, limit int) int {
	j = min(j, i+(room+1)*e.words.longest)
	var ends []int
	st.merger.parts(e.words, text, i, j, func(_, end int) {
		if len(ends) < room {
			ends = append(ends, end)
		}
	})
	// A cut piece may divide otherwise than the whole, so each cut is counted.
	// One token back nearly always suffices.
	for k := len(ends) - 1; k >= 0; k = k - 1 - (len(ends)-1-k)/2 {
		if cut := borderBefore(text, ends[k]); cut > i && e.Count(text[:cut]) <= limit {
			return cut
		}
	}
	return i
}

func (e *Encoding) suffix(s string, max int) string {
	st := e.states.Get().(*state)
	defer e.states.Put(st)
	farthest := (max + 1) * e.words.longest
	// Most text has fewer than 8 bytes a token; go on until it is too much.
	for reach := 8*max + 64; ; reach *= 4 {
		window := s
		if reach = min(reach, farthest); reach < len(s) {
			window = s[borderAfter(s, len(s)-reach):]
		}
		text := valid(window)
		starts, counts, total := []int(nil), []int(nil), 0
		for at := 0; at < len(text); {
			end := e.next(e.table, text, at)
			n := st.count(e.words, text, at, end)
			starts, counts, total = append(starts, at), append(counts, n), total+n
			at = end
		}
		if total <= max && len(window) < len(s) && reach < farthest {
			continue
		}
		k := 0
		for ; k < len(starts) && total > max; k++ {
			total -= counts[k]
		}
		at := len(text)
		if k < len(starts) {
			at = starts[k]
		}
		if k > 0 && (at-starts[k-1] > wordBytes || k == len(starts)) {
			at = e.cutPieceFront(st, text, starts[k-1], at, max-total, max)
		}
		return s[len(s)-len(window)+original(window, text, at):]
	}
}

// cutPieceFront is cutPiece from the other side: the suffix begins in text[i:j].
func (e *Encoding) cutPieceFront(st *state, text string, i, j, room, limit int) int {
	i = max(i, j-(room+1)*e.words.longest)
	var starts []int
	st.merger.parts(e.words, text, i, j, func(start, _ int) { starts = append(starts, start) })
	starts = starts[len(starts)-min(room, len(starts)):]
	for k := 0; k < len(starts); k += 1 + k/2 {
		if cut := borderAfter(text, starts[k]); cut < j && e.Count(text[cut:]) <= limit {
			return cut
		}
	}
	return j
}

// searchCut returns the largest length that it finds with at most limit tokens,
// for a counter of which nothing is known but that longer texts have, nearly
// always, more tokens. try moves a length down to a border of code points and
// counts.
func searchCut(size, limit int, try func(n int) (length, tokens int)) int {
	good, bad := 0, size+1
	for n := 4*limit + 16; ; n *= 2 {
		n = min(n, size)
		length, tokens := try(n)
		if tokens > limit {
			bad = n
			break
		}
		good = length
		if n == size {
			return good
		}
	}
	for low := good; bad-low > 1; {
		n := low + (bad-low)/2
		length, tokens := try(n)
		if tokens > limit {
			bad = n
		} else {
			low, good = n, length
		}
	}
	return good
}

// original returns the position in window that corresponds to the position at
// in text, where text is valid(window).
func original(window, text string, at int) int {
	if len(window) == len(text) {
		return at
	}
	for i, r := range window {
		if at <= 0 {
			return i
		}
		at -= utf8.RuneLen(r)
	}
	return len(window)
}

// borderBefore returns the largest position ≤ i that is not inside a code point.
func borderBefore(s string, i int) int {
	if i <= 0 || i >= len(s) {
		return min(max(i, 0), len(s))
	}
	for back := 0; back < utf8.UTFMax && back <= i; back++ {
		if utf8.RuneStart(s[i-back]) {
			if _, width := utf8.DecodeRuneInString(s[i-back:]); width > back {
				return i - back
			}
			break
		}
	}
	return i // between bytes that are not valid UTF-8
}

// borderAfter returns the smallest position ≥ i that is not inside a code point.
func borderAfter(s string, i int) int {
	before := borderBefore(s, i)
	if before >= i {
		return before
	}
	_, width := utf8.DecodeRuneInString(s[before:])
	return before + width
}
