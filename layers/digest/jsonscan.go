package digest

import (
	"encoding/json"
	"strings"
)

// object reads the members of a JSON object without decoding what is not asked
// for: arguments of tool calls hold whole files. Damaged input yields the
// members before the damage.
type object struct {
	members []member
	whole   bool // the object was read to its end
}

type member struct {
	name  string // as written, between its quotes
	value string // raw JSON
}

// maxMembers bounds what one object keeps.
const maxMembers = 64

func readObject(s string) object {
	var o object
	s = strings.TrimLeft(s, " \t\r\n")
	if s == "" || s[0] != '{' {
		return o
	}
	i := 1
	for {
		i = skipSpace(s, i)
		if i >= len(s) || s[i] == '}' {
			o.whole = i < len(s)
			return o
		}
		if s[i] == ',' {
			i++
			continue
		}
		if s[i] != '"' {
			return o
		}
		end := endOfString(s, i)
		if end < 0 {
			return o
		}
		name := s[i+1 : end-1]
		i = skipSpace(s, end)
		if i >= len(s) || s[i] != ':' {
			return o
		}
		i = skipSpace(s, i+1)
		end = endOfValue(s, i)
		if end < 0 {
			return o
		}
		if len(o.members) < maxMembers {
			o.members = append(o.members, member{name, s[i:end]})
		}
		i = end
	}
}

// raw returns the value of the first of the names that is present.
func (o object) raw(names ...string) string {
	for _, name := range names {
		for _, m := range o.members {
			if m.name == name {
				return m.value
			}
		}
	}
	return ""
}

// text returns the first of the named members that is a string, decoded.
func (o object) text(names ...string) string {
	for _, name := range names {
		for _, m := range o.members {
			if m.name == name && len(m.value) > 1 && m.value[0] == '"' {
				return decodeString(m.value)
			}
		}
	}
	return ""
}

// number returns the first of the named members that is a number, as written.
func (o object) number(names ...string) string {
	v := strings.Trim(o.raw(names...), `"`)
	if v != "" && (isDigit(v[0]) || v[0] == '-' && len(v) > 1) && len(v) < 16 {
		return v
	}
	return ""
}

func (o object) has(names ...string) bool { return o.raw(names...) != "" }

// elements returns the raw values of a JSON array, at most max of them, and how
// many there are.
func elements(s string, max int) (list []string, n int) {
	s = strings.TrimLeft(s, " \t\r\n")
	if s == "" || s[0] != '[' {
		return nil, 0
	}
	i := 1
	for {
		i = skipSpace(s, i)
		if i >= len(s) || s[i] == ']' {
			return list, n
		}
		if s[i] == ',' {
			i++
			continue
		}
		end := endOfValue(s, i)
		if end < 0 {
			return list, n
		}
		n++
		if len(list) < max {
			list = append(list, s[i:end])
		}
		i = end
	}
}

func firstElements(s string, max int) []string {
	list, _ := elements(s, max)
	return list
}

func decodeString(raw string) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if strings.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return raw[1 : len(raw)-1]
	}
	return s
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// endOfString returns the offset behind the string that begins at i, or -1.
func endOfString(s string, i int) int {
	for i++; i < len(s); {
		n := strings.IndexByte(s[i:], '"')
		if n < 0 {
			return -1
		}
		slashes := 0
		for k := i + n - 1; k >= i && s[k] == '\\'; k-- {
			slashes++
		}
		i += n + 1
		if slashes%2 == 0 {
			return i
		}
	}
	return -1
}

// endOfValue returns the offset behind the value that begins at i, or -1.
func endOfValue(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	switch s[i] {
	case '"':
		return endOfString(s, i)
	case '{', '[':
		depth := 0
		for i < len(s) {
			switch s[i] {
			case '{', '[':
				depth++
			case '}', ']':
				depth--
				if depth == 0 {
					return i + 1
				}
			case '"':
				end := endOfString(s, i)
				if end < 0 {
					return -1
				}
				i = end
				continue
			}
			i++
		}
		return -1
	}
	start := i
	for i < len(s) && strings.IndexByte(",}] \n\t\r", s[i]) < 0 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}
