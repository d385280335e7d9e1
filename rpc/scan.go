package rpc

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errSyntax = errors.New("scan: not JSON")
	errCut    = errors.New("scan: the text ends inside a value")
)

// scanner walks JSON text once without building values: it proves the grammar
// of RFC 8259, and finds nesting beyond a limit and members that come twice.
// Text is assumed to be valid UTF-8 (see normalise). It never recurses, so
// depth costs one bit a level.
type scanner struct {
	text  []byte
	limit int  // deepest nesting that is not tooDeep
	raw   bool // text is not normalised: it may have NUL in strings

	tooDeep   bool
	duplicate string // first name that came twice in one object, as shownName has it

	kinds  []uint64 // one bit a level: 1 is an object
	scopes []scope  // of the objects down to limit
	names  [][]byte // of the open objects, innermost last
}

// scope is the names of one open object: names[base:], or set when many.
type scope struct {
	base int
	set  map[string]struct{}
}

// Objects with more members than this compare names by a map.
const linearNames = 24

// reset forgets what was found, for the next value.
func (s *scanner) reset() {
	s.tooDeep, s.duplicate = false, ""
	s.scopes, s.names = s.scopes[:0], s.names[:0]
}

func (s *scanner) space(i int) int {
	for i < len(s.text) {
		switch s.text[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// What may come next.
const (
	wantValue = iota
	wantFirstElement
	wantName
	wantFirstName
	wantMore
)

// value scans the value that begins at i, after white space, and returns where
// it ends.
func (s *scanner) value(i int) (int, error) {
	depth, want := 0, wantValue
	for {
		i = s.space(i)
		if i >= len(s.text) {
			return i, errCut
		}
		c, err := s.text[i], error(nil)
		switch want {
		case wantFirstName:
			if c == '}' {
				i, depth, want = i+1, s.pop(depth), wantMore
				break
			}
			fallthrough
		case wantName:
			if i, err = s.name(i, depth); err != nil {
				return i, err
			}
			want = wantValue
			continue
		case wantFirstElement:
			if c == ']' {
				i, depth, want = i+1, s.pop(depth), wantMore
				break
			}
			fallthrough
		case wantValue:
			switch c {
			case '{':
				depth, want = s.push(depth, true), wantFirstName
				i++
				continue
			case '[':
				depth, want = s.push(depth, false), wantFirstElement
				i++
				continue
			}
			if i, err = s.scalar(i); err != nil {
				return i, err
			}
			want = wantMore
		case wantMore:
			object := s.isObject(depth)
			switch {
			case c == ',' && object:
				want = wantName
			case c == ',':
				want = wantValue
			case c == '}' && object, c == ']' && !object:
				depth = s.pop(depth)
			default:
				return i, errSyntax
			}
			i++
		}
		if depth == 0 && want == wantMore {
			return i, nil
		}
	}
}

func (s *scanner) push(depth int, object bool) int {
	word, bit := depth/64, uint64(1)<<(depth%64)
	if word == len(s.kinds) {
		s.kinds = append(s.kinds, 0)
	}
	if object {
		s.kinds[word] |= bit
	} else {
		s.kinds[word] &^= bit
	}
	if depth++; depth > s.limit {
		s.tooDeep = true
	} else if object {
		s.scopes = append(s.scopes, scope{base: len(s.names)})
	}
	return depth
}

func (s *scanner) isObject(depth int) bool {
	return s.kinds[(depth-1)/64]&(1<<((depth-1)%64)) != 0
}

func (s *scanner) pop(depth int) int {
	if depth <= s.limit && s.isObject(depth) {
		last := len(s.scopes) - 1
		s.names = s.names[:s.scopes[last].base]
		s.scopes = s.scopes[:last]
	}
	return depth - 1
}

// name scans a member's name and the colon after it.
func (s *scanner) name(i, depth int) (int, error) {
	if s.text[i] != '"' {
		return i, errSyntax
	}
	end, err := s.str(i)
	if err != nil {
		return end, err
	}
	if depth <= s.limit && s.duplicate == "" {
		s.note(s.text[i:end])
	}
	if end = s.space(end); end >= len(s.text) {
		return end, errCut
	}
	if s.text[end] != ':' {
		return end, errSyntax
	}
	return end + 1, nil
}

// shownName is a name as errors tell it; the empty one in quotes, so that it can
// be seen.
func shownName(name []byte) string {
	if len(name) == 0 {
		return `""`
	}
	return string(name)
}

// note remembers a quoted name of the innermost object.
func (s *scanner) note(quoted []byte) {
	name := unquote(quoted)
	scope := &s.scopes[len(s.scopes)-1]
	if scope.set != nil {
		if _, twice := scope.set[string(name)]; twice {
			s.duplicate = shownName(name)
		}
		scope.set[string(name)] = struct{}{}
		return
	}
	for _, other := range s.names[scope.base:] {
		if string(other) == string(name) {
			s.duplicate = shownName(name)
			return
		}
	}
	s.names = append(s.names, name)
	if len(s.names)-scope.base > linearNames {
		scope.set = make(map[string]struct{}, 2*linearNames)
		for _, other := range s.names[scope.base:] {
			scope.set[string(other)] = struct{}{}
		}
	}
}

// scalar scans a string, a number or a literal.
func (s *scanner) scalar(i int) (int, error) {
	switch c := s.text[i]; {
	case c == '"':
		return s.str(i)
	case c == '-' || c >= '0' && c <= '9':
		return s.number(i)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	}
	return i, errSyntax
}

func (s *scanner) literal(i int, word string) (int, error) {
	for k := range len(word) {
		if i+k >= len(s.text) {
			return i + k, errCut
		}
		if s.text[i+k] != word[k] {
			return i + k, errSyntax
		}
	}
	return i + len(word), nil
}

func (s *scanner) str(i int) (int, error) {
	text := s.text
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1, nil
		case c < 0x20 && (c != 0 || !s.raw):
			return i, errSyntax
		case c == '\\':
			if i++; i >= len(text) {
				return i, errCut
			}
			switch text[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i >= len(text) {
						return i, errCut
					}
					if !isHex(text[i]) {
						return i, errSyntax
					}
				}
			default:
				return i, errSyntax
			}
		}
	}
	return i, errCut
}

func (s *scanner) number(i int) (int, error) {
	text := s.text
	if text[i] == '-' {
		i++
	}
	if i >= len(text) {
		return i, errCut
	}
	switch {
	case text[i] == '0':
		i++
	case text[i] >= '1' && text[i] <= '9':
		i = digits(text, i)
	default:
		return i, errSyntax
	}
	if i < len(text) && text[i] == '.' {
		start := i + 1
		if i = digits(text, start); i == start {
			return i, cutOrSyntax(text, i)
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		start := i
		if i = digits(text, start); i == start {
			return i, cutOrSyntax(text, i)
		}
	}
	return i, nil
}

func digits(text []byte, i int) int {
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return i
}

func cutOrSyntax(text []byte, i int) error {
	if i >= len(text) {
		return errCut
	}
	return errSyntax
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// unquote returns the text of a quoted string that was scanned; it shares the
// memory of quoted when nothing in it is escaped.
func unquote(quoted []byte) []byte {
	body := quoted[1 : len(quoted)-1]
	for _, c := range body {
		if c == '\\' {
			plain, err := jsontext.AppendUnquote(nil, quoted)
			if err != nil && plain == nil {
				return body
			}
			return plain
		}
	}
	return body
}

// member finds a member of the object that text is; to is 0 when it has none of
// that name. ok is false when text is no object, empty when it has no members.
func (s *scanner) member(want string) (from, to int, empty, ok bool) {
	i := s.space(0)
	if i >= len(s.text) || s.text[i] != '{' {
		return 0, 0, false, false
	}
	i = s.space(i + 1)
	if i < len(s.text) && s.text[i] == '}' {
		return 0, 0, true, true
	}
	for i < len(s.text) && s.text[i] == '"' {
		end, err := s.str(i)
		if err != nil {
			return 0, 0, false, false
		}
		name := unquote(s.text[i:end])
		if end = s.space(end); end >= len(s.text) || s.text[end] != ':' {
			return 0, 0, false, false
		}
		s.reset()
		i = s.space(end + 1)
		if end, err = s.value(i); err != nil {
			return 0, 0, false, false
		}
		if string(name) == want {
			return i, end, false, true
		}
		if i = s.space(end); i >= len(s.text) || s.text[i] != ',' {
			break
		}
		i = s.space(i + 1)
	}
	return 0, 0, false, true
}
