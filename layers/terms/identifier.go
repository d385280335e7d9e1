package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// identifier analyses a run of letters, digits, underscores, hyphens and
// apostrophes.
func (a *analysis) identifier(s string) {
	if strings.ContainsAny(s, "'’") {
		if s = contraction(s); s == "" {
			return
		}
	}
	s = strings.Trim(s, "-_")
	if s == "" || isNoise(s) {
		return
	}
	parts := 0
	for rest := s; rest != ""; {
		var part string
		part, rest = nextPart(rest)
		if part != "" {
			parts++
		}
	}
	if parts < 2 {
		a.plain(strings.Trim(s, "-_"))
		return
	}
	a.whole = a.whole[:0]
	if len(s) <= 2*MaxTerm {
		for rest := s; rest != ""; {
			var part string
			part, rest = nextPart(rest)
			a.whole = appendLower(a.whole, part)
		}
		a.flush()
	}
	for rest := s; rest != ""; {
		var part string
		if part, rest = nextPart(rest); len(part) > 1 && !isNoise(part) {
			a.plain(part)
		}
	}
}

// contraction resolves apostrophes: the genitive and short verbs go, negations
// go as a whole, and O'Brien becomes OBrien.
func contraction(s string) string {
	s = strings.ReplaceAll(s, "’", "'")
	cut := strings.LastIndexByte(s, '\'')
	if cut < 0 {
		return s
	}
	switch strings.ToLower(s[cut+1:]) {
	case "", "s", "re", "ve", "ll", "d", "m":
		s = s[:cut]
	case "t":
		return ""
	}
	return strings.ReplaceAll(s, "'", "")
}

// nextPart takes the first part of an identifier: up to a hyphen, an
// underscore, or the next capital that begins a word (parse|Config,
// HTTP|Server, sha256|Sum). The part may be empty.
func nextPart(s string) (part, rest string) {
	var before, previous rune // the two runes before r; 0 at the beginning
	last := 0                 // where previous begins
	for i, r := range s {
		if r == '_' || r == '-' {
			return s[:i], s[i+1:]
		}
		if i > 0 {
			switch {
			case unicode.IsUpper(r) && !unicode.IsUpper(previous):
				return s[:i], s[i:]
			case before != 0 && unicode.IsLower(r) && unicode.IsUpper(previous) && unicode.IsUpper(before):
				// A plural of capitals (URLs, IDs) is one part.
				if r == 's' && !lowerFollows(s[i+1:]) {
					break
				}
				return s[:last], s[last:]
			}
		}
		before, previous, last = previous, r, i
	}
	return s, ""
}

func lowerFollows(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLower(r)
}

// plain emits a word: lower-case, stemmed, unless it is a function word, a
// single letter or a long number.
func (a *analysis) plain(s string) {
	if len(s) > MaxTerm {
		return
	}
	a.word = appendLower(a.word[:0], s)
	if len(a.word) > MaxTerm {
		return
	}
	letters, digits := true, true
	for _, c := range a.word {
		letters = letters && 'a' <= c && c <= 'z'
		digits = digits && '0' <= c && c <= '9'
	}
	switch {
	case digits:
		if len(a.word) > maxDigits {
			return
		}
	case letters:
		if len(a.word) == 1 || isStop(a.word) {
			return
		}
		a.word = stem(a.word)
	}
	if len(a.word) > 0 {
		a.emit(a.word)
	}
}

const (
	maxDigits  = 8           // longer numbers are times, sizes and ids that nobody searches for
	minHex     = 12          // hexadecimal runs from here are digests, addresses, UUIDs
	minEncoded = 16          // runs from here may be encoded bytes
	maxWord    = 2 * MaxTerm // longer runs without a separator are not words
)

// isNoise tells addresses, digests, UUIDs and encoded bytes. Encoded bytes
// change between small letters, capitals and digits at more than half of their
// characters, identifiers at far fewer.
func isNoise(s string) bool {
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		return true
	}
	hex, digits, size, changes := true, 0, 0, 0
	previous := uint8(classOther)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			return len(s) > maxWord && !strings.ContainsAny(s, "-_")
		}
		if c == '-' || c == '_' {
			continue
		}
		size++
		class := classOf(c)
		if previous != classOther && class != previous {
			changes++
		}
		previous = class
		if class == classDigit {
			digits++
		} else if l := c | 0x20; l < 'a' || l > 'f' {
			hex = false
		}
	}
	switch {
	case hex && digits > 0 && size >= minHex:
		return true
	case size >= minEncoded && digits > 0 && changes*5 >= size*2:
		return true
	case digits == size && size > 2*maxDigits:
		return true
	}
	return len(s) > maxWord && !strings.ContainsAny(s, "-_")
}
