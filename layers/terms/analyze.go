package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Analyze returns the terms of a text in the order in which they occur, each
// as often as it occurs:
//
//   - words in lower case, English ones stemmed, function words dropped;
//   - identifiers whole, without their separators, so that parseConfig,
//     parse_config and parse-config are the same term, and their parts as words;
//   - paths whole with forward slashes and no leading one, the last two and
//     three segments, and every segment as a file name or an identifier;
//   - dotted names whole and by part (main.go, fmt.Println, 1.26);
//   - pairs of neighbouring Chinese, Japanese and Korean characters.
//
// Long numbers, addresses, digests and what looks like encoded bytes are
// dropped. At most MaxText bytes are read and MaxTerms distinct terms returned.
func Analyze(text string) []string {
	seen := make(map[string]bool, 64)
	var out []string
	walk(text, func(term []byte) {
		if !seen[string(term)] {
			if len(seen) == MaxTerms {
				return
			}
			seen[string(term)] = true
		}
		out = append(out, string(term))
	})
	return out
}

// walk calls emit with each term. The bytes are only valid during the call.
func walk(text string, emit func(term []byte)) {
	if len(text) > MaxText {
		text = text[:MaxText]
	}
	a := analysis{emit: emit}
	start := -1 // of the chunk being read
	for i := 0; i < len(text); {
		c := text[i]
		size := 1
		in := false
		if c < utf8.RuneSelf {
			in = classOf(c) != classOther
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(text[i:])
			if isCJK(r) {
				if start >= 0 {
					a.chunk(text[start:i])
					start = -1
				}
				i = a.cjk(text, i)
				continue
			}
			in = r == '’' || (r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)))
		}
		if in && start < 0 {
			start = i
		} else if !in && start >= 0 {
			a.chunk(text[start:i])
			start = -1
		}
		i += size
	}
	if start >= 0 {
		a.chunk(text[start:])
	}
}

// Classes of ASCII bytes that may stand in a chunk.
const (
	classOther = iota
	classLower
	classUpper
	classDigit
	classUnderscore
	classJoin // may join words: - . / \ '
)

// classOf tells the class of an ASCII byte.
func classOf(c byte) uint8 {
	switch {
	case 'a' <= c && c <= 'z':
		return classLower
	case 'A' <= c && c <= 'Z':
		return classUpper
	case '0' <= c && c <= '9':
		return classDigit
	case c == '_':
		return classUnderscore
	case c == '-' || c == '.' || c == '/' || c == '\\' || c == '\'':
		return classJoin
	}
	return classOther
}

// isCJK tells runes of scripts that are written without spaces.
func isCJK(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// analysis holds the buffers of one walk.
type analysis struct {
	emit     func([]byte)
	word     []byte // of the word being stemmed
	whole    []byte // of the identifier or path being put together
	segments []string
}

// cjk emits the pairs of a run of characters that begins at i and returns the
// run's end.
func (a *analysis) cjk(text string, i int) int {
	begin, previous, n := i, i, 0
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isCJK(r) {
			break
		}
		if n++; n > 1 {
			a.whole = append(a.whole[:0], text[previous:i+size]...)
			a.emit(a.whole)
		}
		previous = i
		i += size
	}
	if n == 1 {
		a.whole = append(a.whole[:0], text[begin:i]...)
		a.emit(a.whole)
	}
	return i
}

// chunk analyses a run of letters, digits and joining characters.
func (a *analysis) chunk(s string) {
	s = strings.TrimRight(s, `-./\'’`)
	s = strings.TrimLeft(s, `-.'’`)
	if s == "" {
		return
	}
	if strings.IndexByte(s, '/') >= 0 || strings.IndexByte(s, '\\') >= 0 {
		a.path(s)
		return
	}
	a.name(s)
}

// maxSegments is how many of a path's last segments are looked at.
const maxSegments = 16

func (a *analysis) path(s string) {
	a.segments = a.segments[:0]
	for len(s) > 0 {
		end := strings.IndexAny(s, `/\`)
		segment := s
		if end >= 0 {
			segment, s = s[:end], s[end+1:]
		} else {
			s = ""
		}
		if segment = strings.TrimLeft(segment, "-'’"); segment == "" || segment == "." || segment == ".." {
			continue
		}
		if len(a.segments) == maxSegments {
			copy(a.segments, a.segments[1:])
			a.segments = a.segments[:maxSegments-1]
		}
		a.segments = append(a.segments, segment)
	}
	n := len(a.segments)
	if n > 1 {
		a.suffix(a.segments)
	}
	if n > 3 {
		a.suffix(a.segments[n-3:])
	}
	if n > 2 {
		a.suffix(a.segments[n-2:])
	}
	for _, segment := range a.segments {
		a.name(strings.TrimRight(strings.TrimLeft(segment, "."), "."))
	}
}

// suffix emits segments joined by slashes.
func (a *analysis) suffix(segments []string) {
	size := len(segments) - 1
	for _, s := range segments {
		size += len(s)
	}
	if size > MaxTerm {
		return
	}
	a.whole = a.whole[:0]
	for i, s := range segments {
		if i > 0 {
			a.whole = append(a.whole, '/')
		}
		a.whole = appendLower(a.whole, s)
	}
	a.flush()
}

// flush emits the buffer if it is a term.
func (a *analysis) flush() {
	if len(a.whole) > 0 && len(a.whole) <= MaxTerm {
		a.emit(a.whole)
	}
}

// name analyses what stands between slashes: words, identifiers and dotted
// names.
func (a *analysis) name(s string) {
	if strings.IndexByte(s, '.') < 0 {
		a.identifier(s)
		return
	}
	digits, initials := true, true
	for i, run := 0, 0; i < len(s); i++ {
		if s[i] == '.' {
			run = 0
			continue
		}
		run++
		digits = digits && s[i] >= '0' && s[i] <= '9'
		initials = initials && run == 1 && s[i] < utf8.RuneSelf
	}
	switch {
	case digits: // a version, a decimal number
		if len(s) <= 16 {
			a.whole = append(a.whole[:0], s...)
			a.flush()
		}
		return
	case initials: // e.g, U.S
		a.whole = a.whole[:0]
		for i := 0; i < len(s); i++ {
			if s[i] != '.' {
				a.whole = append(a.whole, s[i])
			}
		}
		a.identifier(strings.ToUpper(string(a.whole)))
		return
	}
	a.whole = appendLower(a.whole[:0], s)
	a.flush()
	for len(s) > 0 {
		part := s
		if end := strings.IndexByte(s, '.'); end >= 0 {
			part, s = s[:end], s[end+1:]
		} else {
			s = ""
		}
		if len(part) > 1 {
			a.identifier(part)
		}
	}
}

// appendLower appends s in lower case.
func appendLower(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			for _, r := range s[i:] {
				dst = utf8.AppendRune(dst, unicode.ToLower(r))
			}
			return dst
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
