package digest

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"hexapla/layers"
)

// EntitiesOf returns the files, functions and types, concepts and error
// patterns that a text speaks of, each list in order of first appearance,
// without duplicates, and at most 200 long.
//
// Files are paths with a known extension or a known name; references such as
// "a.go:12" lose the line, and "a/" and "b/" are stripped in diff headers.
// Functions are called or declared names and identifiers in camel, Pascal or
// snake case. Concepts are commands ("go test"), branches, issue keys, known
// tools, and technical terms in backticks. Errors are normalised messages: see
// the package's failure rules.
//
// Time is linear in the text: about 20 ms for a megabyte.
func EntitiesOf(text string) layers.Entities {
	s := newScanner()
	s.text(text)
	return layers.Entities{
		Files: s.files.list, Functions: s.functions.list,
		Concepts: s.concepts.list, Errors: s.errors.list,
	}
}

// gathering is an ordered list without duplicates, up to max.
type gathering struct {
	list []string
	seen map[string]struct{}
	max  int
}

func (g *gathering) full() bool { return len(g.list) >= g.max }

func (g *gathering) add(s string) {
	if s == "" || g.full() {
		return
	}
	if _, ok := g.seen[s]; ok {
		return
	}
	if g.seen == nil {
		g.seen = make(map[string]struct{}, 16)
	}
	s = strings.Clone(s) // do not keep a whole tool output alive
	g.seen[s] = struct{}{}
	g.list = append(g.list, s)
}

func (g *gathering) has(s string) bool {
	_, ok := g.seen[s]
	return ok
}

// scanner collects entities line by line.
type scanner struct {
	files, functions, concepts, errors, pointers gathering

	hits    int  // entities found, known ones too
	fenced  bool // inside a fenced code block
	escaped bool // the text is JSON: `\n` stands for a line feed

	// state within a line
	code    bool   // inside backticks or a fence, or the line is numbered code
	prev    string // the token before
	prevEnd int    // where it ended
	tool    string // a command and subcommand that may go on
	toolAt  int
}

func newScanner() *scanner {
	s := &scanner{}
	for _, g := range []*gathering{&s.files, &s.functions, &s.concepts, &s.errors, &s.pointers} {
		g.max = maxEntities
	}
	return s
}

func (s *scanner) full() bool {
	return s.files.full() && s.functions.full() && s.concepts.full() && s.errors.full()
}

func (s *scanner) text(text string) {
	s.escaped = strings.Contains(text, `\"`) || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[{")
	for text != "" && !s.full() {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		s.line(line)
	}
}

func (s *scanner) line(line string) {
	trimmed := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
		s.fenced = !s.fenced
		return
	}
	if strings.TrimSpace(trimmed) == "" {
		return
	}
	numbered := false
	if rest, ok := cutLineNumber(trimmed); ok {
		line, numbered = rest, true
	}
	if !numbered {
		if s.diffHeader(line) {
			return
		}
		if f, ok := failureIn(line); ok {
			s.errors.add(f.pattern())
		}
	}
	s.code = s.fenced || numbered
	s.prev, s.tool = "", ""
	s.tokens(line, 0)
}

// cutLineNumber strips the number that a reading tool puts before each line:
// "   12→text", or "12<tab>text".
func cutLineNumber(trimmed string) (rest string, ok bool) {
	n := 0
	for n < len(trimmed) && n < 8 && isDigit(trimmed[n]) {
		n++
	}
	if n == 0 || n == len(trimmed) {
		return "", false
	}
	if rest, ok = strings.CutPrefix(trimmed[n:], "→"); ok {
		return rest, true
	}
	if trimmed[n] == '\t' {
		return trimmed[n+1:], true
	}
	return "", false
}

// diffHeader takes the paths of a diff's header lines, without "a/" and "b/".
func (s *scanner) diffHeader(line string) bool {
	var rest string
	var ok bool
	if rest, ok = strings.CutPrefix(line, "diff --git "); !ok {
		if rest, ok = strings.CutPrefix(line, "--- "); !ok {
			rest, ok = strings.CutPrefix(line, "+++ ")
		}
		if ok && !strings.HasPrefix(rest, "a/") && !strings.HasPrefix(rest, "b/") {
			return false // a heading, a test result, a diff without prefixes
		}
	}
	if !ok {
		return false
	}
	for _, name := range strings.Fields(rest) {
		if len(name) > 2 && (name[:2] == "a/" || name[:2] == "b/") {
			name = name[2:]
		}
		if name != "/dev/null" && len(name) <= longestToken && isFile(name, 0, false) {
			s.files.add(name)
		}
	}
	return true
}

// tokens walks a line, or a code span in it, from the given offset.
func (s *scanner) tokens(line string, i int) {
	for i < len(line) {
		c := line[i]
		switch {
		case c == '`':
			i = s.span(line, i)
			continue
		case c == '\\' && s.escaped && i+1 < len(line):
			i += 2 // an escape of JSON: the letter is not part of a name
			continue
		case !startsToken(c):
			if c < utf8.RuneSelf {
				i++
				continue
			}
			r, size := utf8.DecodeRuneInString(line[i:])
			if !unicode.IsLetter(r) {
				i += size
				continue
			}
		}
		end := s.tokenEnd(line, i)
		if end == i {
			i++
			continue
		}
		if strings.HasPrefix(line[end:], "://") {
			end = endOfURL(line, end)
			s.prev = ""
			i = end
			continue
		}
		s.token(line, i, end)
		i = end
	}
}

// span handles a code span that opens at i and returns where to go on.
func (s *scanner) span(line string, i int) int {
	rest := line[i+1:]
	if len(rest) > longestToken {
		rest = rest[:longestToken]
	}
	n := strings.IndexByte(rest, '`')
	if n <= 0 || s.code {
		return i + 1
	}
	body := rest[:n]
	was := s.code
	s.code = true
	s.prev, s.tool = "", ""
	before := s.hits
	s.tokens(body, 0)
	s.code = was
	s.prev, s.tool = "", ""
	if before == s.hits && isTerm(body) {
		s.concepts.add(body)
	}
	return i + 1 + n + 1
}

// found notes an entity and that there was one.
func (s *scanner) found(g *gathering, name string) {
	s.hits++
	g.add(name)
}

// isTerm tells whether the text of a code span is a technical term: one to
// three words in lower case or hyphenated.
func isTerm(s string) bool {
	if len(s) < 3 || len(s) > 40 || s[0] == '-' || s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	letters, spaces := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isLetter(c):
			letters++
		case c == ' ':
			spaces++
		case isDigit(c) || c == '-' || c == '_' || c == '/' || c == '.' || c == ':':
		default:
			return false
		}
	}
	if letters < 3 || spaces > 2 || looksLikeHash(s) {
		return false
	}
	for _, word := range strings.Fields(s) {
		if !stopWord(word) && !keyword(word) {
			return true
		}
	}
	return false
}

// tokenEnd returns the end of the token that begins at i.
func (s *scanner) tokenEnd(line string, i int) int {
	start := i
	for i < len(line) {
		c := line[i]
		switch {
		case isLetter(c) || isDigit(c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '~' || c == '@' || c == '+' || c == '%' || c == '$':
			i++
		case c == '\\' && !s.escaped && i+1 < len(line) && (isLetter(line[i+1]) || line[i+1] == '.' || line[i+1] == '_'):
			i++
		case c == ':' && i == start+1 && isLetter(line[start]) && i+1 < len(line) && line[i+1] == '\\':
			i++ // a drive letter
		case (c == '(' || c == '[') && i > start && (line[i-1] == '/' || line[i-1] == '\\'):
			n := routeGroup(line[i:])
			if n == 0 {
				return i
			}
			i += n
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(line[i:])
			if !unicode.IsLetter(r) {
				return i
			}
			i += size
		default:
			return i
		}
	}
	return i
}

// routeGroup measures a path element such as "(protected)/" or "[id]/" of a
// web framework, brackets included.
func routeGroup(s string) int {
	for n := 1; n < len(s) && n < 42; n++ {
		c := s[n]
		if c == ')' || c == ']' {
			if n > 1 && n+1 < len(s) && (s[n+1] == '/' || s[n+1] == '.' || s[n+1] == ']') {
				return n + 1
			}
			return 0
		}
		if !isLetter(c) && !isDigit(c) && c != '-' && c != '_' && c != '.' && c != '[' {
			return 0
		}
	}
	return 0
}

func endOfURL(line string, i int) int {
	for i < len(line) && line[i] > ' ' && line[i] != '"' && line[i] != '\'' && line[i] != '`' && line[i] != ')' && line[i] != '>' && line[i] != ']' {
		i++
	}
	return i
}

func startsToken(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '.' || c == '/' || c == '~' || c == '@' || c == '$' || c == '-'
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
