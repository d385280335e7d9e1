package answer

import (
	"strings"
	"unicode/utf8"
)

// quoteAt returns the bytes of the quotation mark that a string begins with, 0
// if there is none.
func quoteAt(text string, at int) int {
	switch text[at] {
	case '"', '\'', '`':
		return 1
	}
	switch r, size := utf8.DecodeRuneInString(text[at:]); r {
	case '“', '”', '„', '‘', '’', '‚', '«':
		return size
	}
	return 0
}

// closing returns the marks that end a string that a mark began.
func closing(open string) string {
	switch open {
	case "“", "”", "„":
		return `”“"`
	case "‘", "’", "‚":
		return "’‘'"
	case "«":
		return "»"
	}
	return open
}

// quoted writes the string at s.at. A mark ends it only where something can
// follow that follows a string, so that a mark inside, for which the model
// forgot the backslash, is kept. In strict JSON every mark without a backslash
// is an end by that rule.
func (s *scanner) quoted(name bool) bool {
	size := quoteAt(s.text, s.at)
	ends := closing(s.text[s.at : s.at+size])
	from := len(s.out)
	s.out = append(s.out, '"')
	for i := s.at + size; i < len(s.text); {
		c := s.text[i]
		switch {
		case c == '\\':
			if i++; i < len(s.text) {
				i += s.escape(i)
			}
		case c == '"' || c == '\'' || c == '`' || c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s.text[i:])
			if strings.ContainsRune(ends, r) && r != utf8.RuneError && s.follows(i+n, name) {
				s.out = append(s.out, '"')
				s.at = i + n
				return true
			}
			s.out = appendRune(s.out, r)
			i += n
		default:
			s.out = appendRune(s.out, rune(c))
			i++
		}
	}
	s.out = s.out[:from]
	s.breakOff()
	return false
}

// escape writes what a backslash in front of text[i] means and returns the
// bytes it takes. A backslash that JSON does not know stands for itself, as in
// a path of Windows.
func (s *scanner) escape(i int) int {
	c := s.text[i]
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.out = append(s.out, '\\', c)
		return 1
	case '\'', '`':
		s.out = append(s.out, c)
		return 1
	case '\n': // the string goes on in the next line
		return 1
	case '\r':
		if strings.HasPrefix(s.text[i:], "\r\n") {
			return 2
		}
	case 'u':
		if i+5 <= len(s.text) && hexadecimal(s.text[i+1:i+5]) {
			s.out = append(append(s.out, '\\'), s.text[i:i+5]...)
			return 5
		}
	}
	s.out = append(s.out, '\\', '\\')
	return 0
}

func hexadecimal(text string) bool {
	for i := range len(text) {
		if c := text[i] | 0x20; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// follows tells that what stands at i can follow the end of a string.
func (s *scanner) follows(i int, name bool) bool {
	j, line := s.beyond(i)
	if j == len(s.text) {
		return true
	}
	switch c := s.text[j]; {
	case c == ':':
		return name
	case c == '}' || c == ']':
		return true
	case c == ',' || c == ';':
		return name || s.next(j+1)
	case commentAt(s.text, j):
		return c != '#' || j > i
	case name:
		return false
	case line: // a comma is missing between two lines
		return quoteAt(s.text, j) > 0 || c == '{' || c == '[' || s.named(j)
	}
	return j > i && quoteAt(s.text, j) > 0 // and here between two words
}

// next tells that what stands behind a comma can be a member or an element.
func (s *scanner) next(i int) bool {
	j, _ := s.beyond(i)
	if j == len(s.text) || commentAt(s.text, j) || quoteAt(s.text, j) > 0 {
		return true
	}
	c := s.text[j]
	switch {
	case c == '}' || c == ']' || c == ',' || c == '{' || c == '[' || c == '.':
		return true
	case s.named(j):
		return true
	case c == '-' || c >= '0' && c <= '9':
		return s.depth.arrays > 0
	}
	for _, word := range [...]string{"true", "false", "null", "True", "False", "None", "NaN"} {
		if strings.HasPrefix(s.text[j:], word) {
			return s.depth.arrays > 0
		}
	}
	return false
}

// beyond returns where white space ends, and whether it goes over a line's end.
func (s *scanner) beyond(i int) (end int, line bool) {
	for i < len(s.text) {
		n := spaceAt(s.text, i)
		if n == 0 {
			break
		}
		line = line || s.text[i] == '\n'
		i += n
	}
	return i, line
}

// named tells that a name without quotes and a colon stand at i.
func (s *scanner) named(i int) bool {
	from := i
	for i < len(s.text) && i-from < 64 && nameByte(s.text[i]) {
		i++
	}
	if i == from {
		return false
	}
	j := i
	for j < len(s.text) && j-i < 8 && (s.text[j] == ' ' || s.text[j] == '\t') {
		j++
	}
	return j < len(s.text) && s.text[j] == ':'
}

func nameByte(c byte) bool {
	return c == '_' || c == '-' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func appendString(b []byte, text string) []byte {
	b = append(b, '"')
	for _, r := range text {
		b = appendRune(b, r)
	}
	return append(b, '"')
}

// appendRune appends a character of a JSON string.
func appendRune(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		return append(b, '\\', byte(r))
	case r == '\n':
		return append(b, `\n`...)
	case r == '\t':
		return append(b, `\t`...)
	case r == '\r':
		return append(b, `\r`...)
	case r < 0x20:
		return append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
	case r < utf8.RuneSelf:
		return append(b, byte(r))
	}
	return utf8.AppendRune(b, r)
}
