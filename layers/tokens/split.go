package tokens

// The patterns of the two encodings are (after github.com/openai/tiktoken, the
// file tiktoken_ext/openai_public.py):
//
//	cl100k_base
//	  (?i:'s|'t|'re|'ve|'m|'ll|'d)
//	  [^\r\n\p{L}\p{N}]?\p{L}+
//	  \p{N}{1,3}
//	   ?[^\s\p{L}\p{N}]+[\r\n]*
//	  \s*[\r\n]+  |  \s+(?!\S)  |  \s+
//
//	o200k_base
//	  [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	  [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	  \p{N}{1,3}
//	   ?[^\s\p{L}\p{N}]+[\r\n/]*
//	  \s*[\r\n]+  |  \s+(?!\S)  |  \s+
//
// Alternatives are tried in this order and quantifiers are greedy. Nothing looks
// behind, so what a piece is depends only on the text from its start on; and
// only \s+(?!\S) looks beyond its own end. Every code point starts some piece.
//
// In the contractions, letters match in either ASCII case and no other: U+017F,
// the long s, does not match here as it does not in tiktoken-go.

// nextCl100k returns the end of the piece of cl100k_base that starts at s[i].
func (t *classes) nextCl100k(s string, i int) int {
	first, width := t.at(s, i)
	j := i + width
	if first&letter != 0 {
		return t.letters(s, j)
	}
	if first == number {
		return t.numbers(s, j)
	}
	if first == newline {
		return t.blank(s, i)
	}
	if s[i] == '\'' {
		if size := contraction(s, i); size > 0 {
			return i + size
		}
	}
	if j < len(s) {
		second, width := t.at(s, j)
		if second&letter != 0 {
			return t.letters(s, j+width)
		}
		if s[i] == ' ' && second&notSymbol == 0 {
			return t.symbols(s, j+width, 0)
		}
	}
	if first == space {
		return t.blank(s, i)
	}
	return t.symbols(s, j, 0)
}

// nextO200k returns the end of the piece of o200k_base that starts at s[i].
func (t *classes) nextO200k(s string, i int) int {
	first, width := t.at(s, i)
	j := i + width
	if first&letter != 0 {
		end, _ := t.word(s, i)
		return end + contraction(s, end)
	}
	if first == number {
		return t.numbers(s, j)
	}
	if first == newline {
		return t.blank(s, i)
	}
	if j < len(s) {
		end, tail := t.word(s, j)
		if first == mark && !tail {
			// The mark as prefix finds no word tail, so the first alternative
			// goes on without a prefix, and the mark is itself the tail.
			end = j
		}
		if end > j || first == mark {
			return end + contraction(s, end)
		}
		if s[i] == ' ' {
			if second, width := t.at(s, j); second&notSymbol == 0 {
				return t.symbols(s, j+width, '/')
			}
		}
	}
	if first == space {
		return t.blank(s, i)
	}
	if first == mark { // the last code point of s
		return j
	}
	return t.symbols(s, j, '/')
}

// word matches the letters of the first two alternatives of o200k_base at s[i]:
// head* tail+ or else head+. It returns the end, i if there is no match, and
// whether it was the first of the two.
func (t *classes) word(s string, i int) (end int, tail bool) {
	last := i // the end of the last code point that could be the tail
	for i < len(s) {
		c, width := t.at(s, i)
		if c&wordHead == 0 {
			if c != lower {
				break
			}
			for i += width; i < len(s); i += width {
				if c, width = t.at(s, i); c&wordTail == 0 {
					break
				}
			}
			return i, true
		}
		i += width
		if c != upper {
			last, tail = i, true
		}
	}
	if tail {
		// head* took every candidate for tail+, so it gives back from the end
		// up to the last one.
		return last, true
	}
	return i, false
}

// contraction returns the length of (?i:'s|'t|'re|'ve|'m|'ll|'d) at s[i], or 0.
func contraction(s string, i int) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return 0
	}
	switch a := s[i+1] | 0x20; a {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v', 'l':
		if i+2 >= len(s) {
			return 0
		}
		if b := s[i+2] | 0x20; a == 'l' && b == 'l' || a != 'l' && b == 'e' {
			return 3
		}
	}
	return 0
}

// letters returns the end of \p{L}* at s[i].
func (t *classes) letters(s string, i int) int {
	for i < len(s) {
		c, width := t.at(s, i)
		if c&letter == 0 {
			break
		}
		i += width
	}
	return i
}

// numbers returns the end of \p{N}{0,2} at s[i].
func (t *classes) numbers(s string, i int) int {
	for range 2 {
		if i == len(s) {
			break
		}
		c, width := t.at(s, i)
		if c != number {
			break
		}
		i += width
	}
	return i
}

// symbols returns the end of [^\s\p{L}\p{N}]*[\r\n]* at s[i], where the second
// set also holds the byte extra, if that is not 0.
func (t *classes) symbols(s string, i int, extra byte) int {
	for i < len(s) {
		c, width := t.at(s, i)
		if c&notSymbol != 0 {
			break
		}
		i += width
	}
	for i < len(s) && (s[i] == '\n' || s[i] == '\r' || s[i] == extra && extra != 0) {
		i++
	}
	return i
}

// blank returns the end of \s*[\r\n]+ or \s+(?!\S) or \s+ at s[i], which is white
// space.
func (t *classes) blank(s string, i int) int {
	start, last, line := i, i, -1 // last: start of the last code point
	for i < len(s) {
		c, width := t.at(s, i)
		if c&(space|newline) == 0 {
			break
		}
		last = i
		i += width
		if c == newline {
			line = i
		}
	}
	switch {
	case line >= 0:
		return line
	case i == len(s) || last == start:
		return i
	}
	return last
}
