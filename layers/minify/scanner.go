package minify

import "strings"

// scanner takes source apart. After each call of next, source[before:at] is one
// piece.
type scanner struct {
	source   string
	at       int
	language Language
	cgo      bool // comments may be code of C
	lost     bool // it is not sure of what it reads

	// Of JavaScript, to tell a regular expression from a division.
	last   string   // the last word or sign
	parens []string // the word before each open parenthesis
	before string   // the word before the parenthesis closed last
	braces []bool   // for each open brace, whether it is of a template
}

func (s *scanner) rest() string { return s.source[s.at:] }

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.rest(), prefix) }

// until goes on to behind the next end, or tells that there is none.
func (s *scanner) until(end string) bool {
	i := strings.Index(s.rest(), end)
	if i < 0 {
		return false
	}
	s.at += i + len(end)
	return true
}

// line goes on to the end of the line.
func (s *scanner) line() {
	if i := strings.IndexByte(s.rest(), '\n'); i >= 0 {
		s.at += i
	} else {
		s.at = len(s.source)
	}
	if s.source[s.at-1] == '\r' { // the line feed's
		s.at--
	}
}

func (s *scanner) next() kind {
	if s.at == 0 && s.has("#!") && !s.has("#![") {
		s.line()
		return kindKept
	}
	switch c := s.source[s.at]; {
	case c == '\n':
		s.at++
		return kindNewline
	case c == '\r' && s.has("\r\n"):
		s.at += 2
		return kindNewline
	case c == ' ' || c == '\t' || c == '\r':
		for s.at < len(s.source) && (s.source[s.at] == ' ' || s.source[s.at] == '\t') {
			s.at++
		}
		if c == '\r' {
			s.lost = true // a line of its own in some of the languages
			s.at++
		}
		return kindBlank
	}
	if kind, ok := s.comment(); ok {
		return kind
	}
	if !s.literal() && !s.lost {
		s.code()
	}
	return kindCode
}

// comment reads a comment, if there is one.
func (s *scanner) comment() (kind, bool) {
	from := s.at
	switch s.language {
	case Python:
		if !s.has("#") {
			return 0, false
		}
		s.line()
		text := s.source[from:s.at]
		if strings.Count(s.source[:from], "\n") < 2 && strings.Contains(text, "coding") {
			return kindKept, true
		}
		return kindComment, true
	case Lua:
		if !s.has("--") {
			return 0, false
		}
		s.at += 2
		if !s.longBracket() && !s.lost {
			s.at = from + 2
			s.line()
		}
		return kindComment, true
	}
	switch {
	case s.has("//"):
		s.line()
		return s.lineComment(s.source[from:s.at]), true
	case s.has("/*"):
		s.at += 2
		if s.language == Rust {
			s.nested()
		} else if !s.until("*/") {
			s.lost = true
		}
		if s.cgo {
			return kindKept, true
		}
		return kindComment, true
	}
	return 0, false
}

// lineComment tells which comments of Go stay.
func (s *scanner) lineComment(text string) kind {
	switch {
	case s.language != Go:
	case strings.HasPrefix(text, "//go:build"), strings.HasPrefix(text, "// +build"), strings.HasPrefix(text, "//+build"):
		return kindGuard
	case s.cgo, strings.HasPrefix(text, "//go:"), strings.HasPrefix(text, "//export "), strings.HasPrefix(text, "//line "):
		return kindKept
	}
	return kindComment
}

// nested goes on to the end of a comment of Rust, which may hold others.
func (s *scanner) nested() {
	for depth := 1; depth > 0; {
		i := strings.IndexAny(s.rest(), "*/")
		if i < 0 {
			s.lost = true
			return
		}
		s.at += i
		switch {
		case s.has("*/"):
			depth--
			s.at += 2
		case s.has("/*"):
			depth++
			s.at += 2
		default:
			s.at++
		}
	}
}

// longBracket reads [[…]] or [==[…]==] of Lua.
func (s *scanner) longBracket() bool {
	if !s.has("[") {
		return false
	}
	n := 1
	for n < len(s.rest()) && s.rest()[n] == '=' {
		n++
	}
	if n >= len(s.rest()) || s.rest()[n] != '[' {
		return false
	}
	end := "]" + strings.Repeat("=", n-1) + "]"
	s.at += n + 1
	if !s.until(end) {
		s.lost = true
	}
	return true
}

// quoted reads a string of one line with escapes, from its opening quote on.
func (s *scanner) quoted(quote byte, escapes, lines bool) {
	for s.at++; s.at < len(s.source); s.at++ {
		switch c := s.source[s.at]; {
		case c == quote:
			s.at++
			return
		case c == '\\' && escapes:
			if s.at++; s.has("\r\n") {
				s.at++
			}
		case c == '\n' && !lines:
			s.lost = true
			return
		}
	}
	s.lost = true
}

// literal reads a string or what else may hold quotes and signs of comments.
func (s *scanner) literal() bool {
	c := s.source[s.at]
	switch s.language {
	case Go:
		switch c {
		case '`':
			s.at++
			s.lost = !s.until("`")
			return true
		case '"', '\'':
			s.quoted(c, true, false)
			return true
		}
	case Java:
		switch {
		case s.has(`"""`):
			s.triple(`"""`, true)
			return true
		case c == '"' || c == '\'':
			s.quoted(c, true, false)
			return true
		}
	case Lua:
		switch {
		case c == '"' || c == '\'':
			s.luaString(c)
			return true
		case c == '[':
			return s.longBracket()
		}
	case Rust:
		return s.rustLiteral()
	case Python:
		return s.pythonLiteral()
	case TypeScript:
		return s.scriptLiteral()
	}
	return false
}

// luaString reads a string of Lua, in which \z skips line feeds.
func (s *scanner) luaString(quote byte) {
	for s.at++; s.at < len(s.source); s.at++ {
		switch c := s.source[s.at]; {
		case c == quote:
			s.at++
			return
		case c == '\\':
			if s.at++; s.has("z") {
				for s.at+1 < len(s.source) && strings.IndexByte(" \t\r\n\v\f", s.source[s.at+1]) >= 0 {
					s.at++
				}
			} else if s.has("\r\n") {
				s.at++
			}
		case c == '\n':
			s.lost = true
			return
		}
	}
	s.lost = true
}

// triple reads a string in three quotes, from the first on.
func (s *scanner) triple(quotes string, escapes bool) {
	for s.at += 3; s.at < len(s.source); s.at++ {
		switch {
		case s.has(quotes):
			s.at += 3
			return
		case s.source[s.at] == '\\' && escapes:
			s.at++
		}
	}
	s.lost = true
}

// rustLiteral reads strings, characters and lifetimes.
func (s *scanner) rustLiteral() bool {
	rest := s.rest()
	switch rest[0] {
	case '"':
		s.quoted('"', true, true)
		return true
	case '\'':
		switch {
		case len(rest) > 1 && rest[1] == '\\':
			s.quoted('\'', true, false)
		default:
			for i, r := range rest[1:] { // the first one is the character
				after := 1 + i + len(string(r))
				if after < len(rest) && rest[after] == '\'' && r != '\'' {
					s.at += after + 1
				} else {
					s.at++ // of a lifetime
				}
				return true
			}
			s.at++
		}
		return true
	}
	n := 0
	for _, prefix := range [...]string{"br", "cr", "r"} {
		if strings.HasPrefix(rest, prefix) {
			n = len(prefix)
			break
		}
	}
	if n == 0 {
		return false
	}
	hashes := n
	for hashes < len(rest) && rest[hashes] == '#' {
		hashes++
	}
	if hashes >= len(rest) || rest[hashes] != '"' {
		return false
	}
	s.at += hashes + 1
	s.lost = !s.until(`"` + strings.Repeat("#", hashes-n))
	return true
}

// code reads a word, or one sign.
func (s *scanner) code() {
	from := s.at
	for s.at < len(s.source) && wordByte(s.source[s.at]) {
		s.at++
	}
	if s.at == from {
		s.at++
	}
	if s.language == TypeScript {
		s.sign(s.source[from:s.at])
	}
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}
