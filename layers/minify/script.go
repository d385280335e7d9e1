package minify

// sign notes a word or sign of JavaScript.
func (s *scanner) sign(text string) {
	switch text {
	case "(":
		s.parens = append(s.parens, s.last)
	case ")":
		if n := len(s.parens); n > 0 {
			s.before, s.parens = s.parens[n-1], s.parens[:n-1]
		}
	case "{":
		s.braces = append(s.braces, false)
	case "}":
		if n := len(s.braces); n > 0 {
			template := s.braces[n-1]
			if s.braces = s.braces[:n-1]; template {
				s.template()
				return
			}
		}
	}
	if (text == "+" || text == "-") && s.last == text && s.at > 1 && s.source[s.at-2] == text[0] {
		text += text
	}
	if s.last == "." && wordByte(text[0]) {
		text = "value" // a member, whatever word it is
	}
	s.last = text
}

// scriptLiteral reads strings, templates and regular expressions.
func (s *scanner) scriptLiteral() bool {
	switch c := s.source[s.at]; c {
	case '"', '\'':
		s.quoted(c, true, false)
		s.last = "value"
		return true
	case '`':
		s.at++
		s.template()
		return true
	case '/':
		switch begins, sure := s.expressionBegins(); {
		case !sure:
			s.lost = true
		case begins:
			s.regexp()
			s.last = "value"
			return true
		}
	case '<':
		begins, _ := s.expressionBegins()
		if rest := s.rest(); begins && len(rest) > 1 && (wordByte(rest[1]) || rest[1] == '>') {
			s.lost = true // JSX, or a cast that looks like it
		}
		if s.has("<!--") {
			s.lost = true
		}
	}
	return false
}

// template reads the text of a template to its end or to the next expression.
func (s *scanner) template() {
	for ; s.at < len(s.source); s.at++ {
		switch {
		case s.source[s.at] == '`':
			s.at++
			s.last = "value"
			return
		case s.source[s.at] == '\\':
			s.at++
		case s.has("${"):
			s.at += 2
			s.braces = append(s.braces, true)
			s.last = "{"
			return
		}
	}
	s.lost = true
}

// expressionBegins tells whether an expression begins here, so that a slash is a
// regular expression; sure is false behind a brace, which may end a block or an
// object.
func (s *scanner) expressionBegins() (begins, sure bool) {
	switch s.last {
	case "":
		return true, true
	case ")":
		switch s.before {
		case "if", "while", "for", "with":
			return true, true
		}
		return false, true
	case "}":
		return false, false
	case "]", "value", "++", "--":
		return false, true
	case "return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else", "await", "yield", "default", "extends":
		return true, true
	}
	return !wordByte(s.last[0]), true
}

// regexp reads a regular expression.
func (s *scanner) regexp() {
	class := false
	for s.at++; s.at < len(s.source); s.at++ {
		switch c := s.source[s.at]; {
		case c == '\\':
			s.at++
		case c == '\n':
			s.lost = true
			return
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			s.at++
			return
		}
	}
	s.lost = true
}
