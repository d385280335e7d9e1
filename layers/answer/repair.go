package answer

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep values may be nested; what is deeper is left out.
// Housekeeping needs six levels.
const maxDepth = 64

// repaired is what could be read of a JSON value.
type repaired struct {
	json jsontext.Value // strict JSON
	end  int            // where the value ends in the text, in bytes
	cut  string         // where the text breaks off inside the value, "" if it does not
	lost []string       // what else is not in json, at most maxProblems
	more int            // losses beyond those
}

// repair reads the object or array that text begins with. Strict JSON is
// returned as it is. open tells that the text may have been broken off at its
// end, so that a number or name that ends there may lack its rest.
func repair(text string, open bool) repaired {
	// A reader is taken, not the bytes: no more of it is copied than the value has.
	strict := jsontext.NewDecoder(strings.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if value, err := strict.ReadValue(); err == nil {
		return repaired{json: bytes.ToValidUTF8(value, []byte("\uFFFD")), end: int(strict.InputOffset())}
	}
	s := scanner{text: text, open: open}
	s.value()
	return repaired{json: s.out, end: s.at, cut: s.cut, lost: s.lost, more: s.more}
}

// scanner turns what a model takes for JSON into JSON. Every step moves at
// forward, so its work is linear.
type scanner struct {
	text  string
	at    int
	open  bool
	out   []byte
	path  []step
	depth struct{ objects, arrays int }
	cut   string
	lost  []string
	more  int
}

// step is one step into a value: a member or an element.
type step struct {
	name  string // of a member, as the protocol writes it
	index int    // of an element, if name is ""
}

func (s *scanner) where() string {
	var b strings.Builder
	for _, p := range s.path {
		switch {
		case p.name == "":
			b.WriteString("[" + strconv.Itoa(p.index) + "]")
		case b.Len() > 0:
			b.WriteString("." + p.name)
		default:
			b.WriteString(p.name)
		}
	}
	return b.String()
}

func (s *scanner) lose(why string) {
	if len(s.lost) == maxProblems {
		s.more++
		return
	}
	if at := s.where(); at != "" {
		why = at + ": " + why
	}
	s.lost = append(s.lost, why)
}

// breakOff notes where the text ended; the innermost place comes first.
func (s *scanner) breakOff() {
	if s.cut == "" {
		s.cut = either(s.where(), "its beginning")
	}
	s.at = len(s.text)
}

func (s *scanner) ended() bool { return s.at >= len(s.text) }

// value writes the value at s.at. It returns false, and may leave a rest in out,
// if there is none that is complete.
func (s *scanner) value() bool {
	s.space()
	if s.ended() {
		s.breakOff()
		return false
	}
	switch c := s.text[s.at]; {
	case c == '{' || c == '[':
		if len(s.path) >= maxDepth {
			return s.skip()
		}
		if c == '{' {
			return s.object()
		}
		return s.array()
	case quoteAt(s.text, s.at) > 0:
		return s.quoted(false)
	}
	return s.bare()
}

func (s *scanner) object() bool {
	s.at++
	s.out = append(s.out, '{')
	s.depth.objects++
	for first := true; ; {
		s.gap()
		if s.ended() {
			s.breakOff()
			break
		}
		c := s.text[s.at]
		if c == '}' {
			s.at++
			break
		}
		if c == ']' {
			if s.depth.arrays > 0 { // the object's own end is missing
				break
			}
			s.at++
			continue
		}
		mark := len(s.out)
		if !first {
			s.out = append(s.out, ',')
		}
		if s.member() {
			first = false
		} else {
			s.out = s.out[:mark]
		}
	}
	s.depth.objects--
	s.out = append(s.out, '}')
	return true
}

// member writes a name and its value.
func (s *scanner) member() bool {
	name := len(s.out)
	if quoteAt(s.text, s.at) > 0 {
		if !s.quoted(true) {
			return false
		}
	} else if !s.bareName() {
		return false
	}
	s.path = append(s.path, step{name: knownQuoted(s.out[name:])})
	defer func() { s.path = s.path[:len(s.path)-1] }()
	s.space()
	if s.ended() {
		s.breakOff()
		return false
	}
	if s.text[s.at] != ':' {
		s.lose("has no value")
		return false
	}
	s.at++
	s.out = append(s.out, ':')
	return s.value()
}

func (s *scanner) array() bool {
	s.at++
	s.out = append(s.out, '[')
	s.depth.arrays++
	for first, index := true, 0; ; {
		s.gap()
		if s.ended() {
			s.breakOff()
			break
		}
		c := s.text[s.at]
		if c == ']' {
			s.at++
			break
		}
		if c == '}' || c == ':' {
			if c == '}' && s.depth.objects > 0 { // the array's own end is missing
				break
			}
			s.at++
			continue
		}
		mark := len(s.out)
		if !first {
			s.out = append(s.out, ',')
		}
		s.path = append(s.path, step{index: index})
		if s.value() {
			first = false
			index++
		} else {
			s.out = s.out[:mark]
		}
		s.path = s.path[:len(s.path)-1]
	}
	s.depth.arrays--
	s.out = append(s.out, ']')
	return true
}

// skip leaves out a value that is nested too deep.
func (s *scanner) skip() bool {
	s.lose("nested deeper than " + strconv.Itoa(maxDepth) + " levels")
	for level := 0; !s.ended(); {
		switch s.text[s.at] {
		case '{', '[':
			level++
		case '}', ']':
			level--
		case '"':
			for s.at++; !s.ended() && s.text[s.at] != '"'; s.at++ {
				if s.text[s.at] == '\\' {
					s.at++
				}
			}
		}
		s.at++
		if level == 0 {
			s.at = min(s.at, len(s.text))
			return false
		}
	}
	s.breakOff()
	return false
}

// bareName writes a name without quotes.
func (s *scanner) bareName() bool {
	from := s.at
	for !s.ended() && !strings.ContainsRune(":,{}[]\n\"", rune(s.text[s.at])) {
		s.at++
	}
	name := strings.TrimSpace(s.text[from:s.at])
	switch {
	case s.ended():
		s.breakOff()
	case s.text[s.at] != ':' || name == "":
		if s.at == from { // nothing that a name can begin with
			s.at++
		}
		s.lose("a member has no name or no value")
	default:
		s.out = appendString(s.out, name)
		return true
	}
	return false
}

// bare writes a literal, a number, or words without quotes as a string.
func (s *scanner) bare() bool {
	from := s.at
	for !s.ended() && !strings.ContainsRune(",{}[]\n", rune(s.text[s.at])) {
		if s.at > from && spaceAt(s.text, s.at-1) > 0 && commentAt(s.text, s.at) { // not in c12#3 or https://
			break
		}
		s.at++
	}
	word := strings.TrimSpace(s.text[from:s.at])
	if s.ended() && s.open {
		s.breakOff()
		return false
	}
	switch word {
	case "":
		if s.at == from && (s.text[from:] == "" || s.text[from] == '{' || s.text[from] == '[') {
			s.at++
		}
		s.lose("has no value")
		return false
	case "true", "True", "TRUE":
		s.out = append(s.out, "true"...)
	case "false", "False", "FALSE":
		s.out = append(s.out, "false"...)
	case "null", "None", "Null", "NULL", "nil", "undefined", "NaN", "nan", "Infinity", "-Infinity", "+Infinity":
		s.out = append(s.out, "null"...)
	default:
		if number, ok := numberOf(word); ok {
			s.out = append(s.out, number...)
		} else {
			s.out = appendString(s.out, word)
		}
	}
	return true
}

// numberOf gives a number as JSON writes it: without a plus, with digits on
// both sides of the point, without _ between digits.
func numberOf(word string) (string, bool) {
	if word[0] != '+' && word[0] != '-' && word[0] != '.' && (word[0] < '0' || word[0] > '9') {
		return "", false
	}
	digits := strings.ReplaceAll(strings.TrimPrefix(word, "+"), "_", "")
	if strings.HasPrefix(digits, ".") {
		digits = "0" + digits
	}
	if strings.HasSuffix(digits, ".") {
		digits += "0"
	}
	value := jsontext.Value(digits)
	return digits, value.IsValid() && value.Kind() == '0'
}

// space passes white space and comments.
func (s *scanner) space() {
	for !s.ended() {
		switch {
		case spaceAt(s.text, s.at) > 0:
			s.at += spaceAt(s.text, s.at)
		case !commentAt(s.text, s.at):
			return
		case strings.HasPrefix(s.text[s.at:], "/*"):
			end := strings.Index(s.text[s.at:], "*/")
			if end < 0 {
				s.breakOff()
				return
			}
			s.at += end + 2
		default:
			end := strings.IndexByte(s.text[s.at:], '\n')
			if end < 0 {
				s.at = len(s.text)
				return
			}
			s.at += end
		}
	}
}

// gap passes what may stand between two members or elements: also commas, and
// the dots that stand for "and so on".
func (s *scanner) gap() {
	for {
		s.space()
		switch {
		case s.ended():
			return
		case s.text[s.at] == ',' || s.text[s.at] == ';':
			s.at++
		case strings.HasPrefix(s.text[s.at:], "..."), strings.HasPrefix(s.text[s.at:], "…"):
			s.at += 3
		default:
			return
		}
	}
}

// commentAt tells that a comment of JavaScript or Python begins.
func commentAt(text string, at int) bool {
	return text[at] == '#' || strings.HasPrefix(text[at:], "//") || strings.HasPrefix(text[at:], "/*")
}

// spaceAt returns how many bytes of white space stand at a place.
func spaceAt(text string, at int) int {
	switch c := text[at]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return 1
	case c < utf8.RuneSelf:
		return 0
	}
	switch r, size := utf8.DecodeRuneInString(text[at:]); r {
	case '\u00a0', '\u200b', '\u2028', '\u2029', '\u202f', '\u3000', '\ufeff':
		return size
	}
	return 0
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
