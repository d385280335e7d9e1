package minify

import "strings"

// pythonLiteral reads a string with its prefix.
func (s *scanner) pythonLiteral() bool {
	rest := s.rest()
	n := 0
	for n < len(rest) && n < 3 && strings.IndexByte("rbuftRBUFT", rest[n]) >= 0 {
		n++
	}
	if n >= len(rest) || rest[n] != '"' && rest[n] != '\'' {
		if n > 0 { // a word that begins like a prefix
			s.code()
			return true
		}
		if rest[0] == '\\' && (strings.HasPrefix(rest, "\\\n") || strings.HasPrefix(rest, "\\\r\n")) {
			s.at++
			return true
		}
		return false
	}
	prefix := strings.ToLower(rest[:n])
	s.at += n
	quote := s.rest()[:1]
	if s.has(strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	s.at += len(quote)
	s.pythonText(quote, strings.ContainsAny(prefix, "ft"), 0)
	return true
}

// maxNesting bounds strings in strings.
const maxNesting = 32

// pythonText reads to the end of a string. In one that is formatted, braces hold
// expressions, which may hold strings with the same quotes. A backslash takes a
// quote along in raw strings, too.
func (s *scanner) pythonText(quote string, formatted bool, depth int) {
	for s.at < len(s.source) && !s.lost {
		switch {
		case s.has(quote):
			s.at += len(quote)
			return
		case s.source[s.at] == '\\':
			s.at += 2
		case s.source[s.at] == '\n' && len(quote) == 1:
			s.lost = true
		case formatted && s.has("{{"):
			s.at += 2
		case formatted && s.source[s.at] == '{':
			s.at++
			s.pythonField(quote, depth+1)
		default:
			s.at++
		}
	}
	s.lost = true
}

// pythonField reads an expression in braces, with its format. A comment in it is
// more than this is sure of.
func (s *scanner) pythonField(quote string, depth int) {
	brackets, format := 0, false
	if depth > maxNesting {
		s.lost = true
	}
	for s.at < len(s.source) && !s.lost {
		c := s.source[s.at]
		switch {
		case c == '}' && brackets == 0:
			s.at++
			return
		case format && c == '{':
			s.at++
			s.pythonField(quote, depth+1)
		case format && (s.has(quote) || c == '\n' && len(quote) == 1):
			s.lost = true
		case format:
			s.at++
		case c == '"' || c == '\'':
			inner := string(c)
			if s.has(strings.Repeat(inner, 3)) {
				inner = strings.Repeat(inner, 3)
			}
			formatted := s.at > 0 && strings.IndexByte("fFtT", s.source[s.at-1]) >= 0 || s.at > 1 && strings.IndexByte("fFtT", s.source[s.at-2]) >= 0 && strings.IndexByte("rR", s.source[s.at-1]) >= 0
			s.at += len(inner)
			s.pythonText(inner, formatted, depth)
		case c == '#':
			s.lost = true
		case c == '(' || c == '[' || c == '{':
			brackets++
			s.at++
		case c == ')' || c == ']' || c == '}':
			brackets--
			s.at++
		case c == ':' && brackets == 0:
			format = true
			s.at++
		default:
			s.at++
		}
	}
	s.lost = true
}
