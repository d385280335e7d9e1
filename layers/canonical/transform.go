package canonical

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of arrays and objects, as encoding/json does.
const maxDepth = 10000

// Marshal returns the canonical JSON of v, which is what encoding/json makes of
// it, canonicalised. Invalid UTF-8 becomes U+FFFD; numbers beyond 2^53 are
// rounded to doubles. It fails for what encoding/json refuses (NaN, infinities,
// functions, cycles), for numbers beyond the range of a double, and for raw JSON
// with a key twice in an object.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("canonical json: %w", err)
	}
	return Transform(make([]byte, 0, buf.Len()), buf.Bytes())
}

// Transform appends the canonical form of one JSON value to dst. It fails, and
// returns dst as it was, for text that is not one JSON value, for numbers beyond
// the range of a double, for a key that is twice in an object, and for nesting
// deeper than 10,000; the error tells the offset. It does not keep src.
func Transform(dst, src []byte) ([]byte, error) {
	t := transformer{src: src, dst: dst}
	t.skip()
	err := t.value(0)
	if err == nil {
		if t.skip(); t.at < len(src) {
			err = t.errorf("text after the value")
		}
	}
	if err != nil {
		return dst, err
	}
	return t.dst, nil
}

// Check returns nil if data is one JSON value in canonical form, else an error
// with the offset of the first byte that is not as it should be.
func Check(data []byte) error {
	want, err := Transform(make([]byte, 0, len(data)), data)
	if err != nil {
		return err
	}
	if bytes.Equal(want, data) {
		return nil
	}
	at := 0
	for at < len(want) && at < len(data) && want[at] == data[at] {
		at++
	}
	return fmt.Errorf("canonical json: not canonical at offset %d", at)
}

// transformer reads src from at on and appends to dst.
type transformer struct {
	src     []byte
	at      int
	dst     []byte
	text    []byte   // the string last read, decoded
	members []member // of the objects that are open, the innermost last
	scratch []byte
}

// member is a member of an object: its key and where in dst it is written.
type member struct {
	key        string
	start, end int
}

func (t *transformer) errorf(format string, args ...any) error {
	return fmt.Errorf("canonical json: offset %d: %s", t.at, fmt.Sprintf(format, args...))
}

func (t *transformer) skip() {
	for t.at < len(t.src) {
		switch t.src[t.at] {
		case ' ', '\t', '\n', '\r':
			t.at++
		default:
			return
		}
	}
}

// peek returns the byte at the position, or 0 at the end.
func (t *transformer) peek() byte {
	if t.at < len(t.src) {
		return t.src[t.at]
	}
	return 0
}

// value reads a value that begins at the position.
func (t *transformer) value(depth int) error {
	if depth > maxDepth {
		return t.errorf("nested deeper than %d", maxDepth)
	}
	switch c := t.peek(); {
	case c == '{':
		return t.object(depth)
	case c == '[':
		return t.array(depth)
	case c == '"':
		if err := t.string(); err != nil {
			return err
		}
		t.dst = AppendString(t.dst, string(t.text))
		return nil
	case c == '-' || c >= '0' && c <= '9':
		return t.number()
	case c == 't':
		return t.literal("true")
	case c == 'f':
		return t.literal("false")
	case c == 'n':
		return t.literal("null")
	}
	return t.errorf("a value is missing")
}

func (t *transformer) literal(word string) error {
	if !bytes.HasPrefix(t.src[t.at:], []byte(word)) {
		return t.errorf("neither true, false nor null")
	}
	t.at += len(word)
	t.dst = append(t.dst, word...)
	return nil
}

func (t *transformer) array(depth int) error {
	t.at++
	t.dst = append(t.dst, '[')
	t.skip()
	for first := true; t.peek() != ']'; first = false {
		if !first {
			if t.peek() != ',' {
				return t.errorf("neither ',' nor ']' after an element")
			}
			t.at++
			t.dst = append(t.dst, ',')
			t.skip()
		}
		if err := t.value(depth + 1); err != nil {
			return err
		}
		t.skip()
	}
	t.at++
	t.dst = append(t.dst, ']')
	return nil
}

func (t *transformer) object(depth int) error {
	t.at++
	t.dst = append(t.dst, '{')
	begin, base := len(t.dst), len(t.members)
	t.skip()
	for first := true; t.peek() != '}'; first = false {
		if !first {
			if t.peek() != ',' {
				return t.errorf("neither ',' nor '}' after a member")
			}
			t.at++
			t.skip()
		}
		if t.peek() != '"' {
			return t.errorf("a key is missing")
		}
		if err := t.string(); err != nil {
			return err
		}
		m := member{key: string(t.text), start: len(t.dst)}
		t.dst = append(AppendString(t.dst, m.key), ':')
		t.skip()
		if t.peek() != ':' {
			return t.errorf("no ':' after a key")
		}
		t.at++
		t.skip()
		if err := t.value(depth + 1); err != nil {
			return err
		}
		t.dst = append(t.dst, ',')
		m.end = len(t.dst)
		t.members = append(t.members, m)
		t.skip()
	}
	t.at++
	if err := t.sort(t.members[base:], begin); err != nil {
		return err
	}
	if len(t.members) > base {
		t.dst = t.dst[:len(t.dst)-1] // the last comma
	}
	t.members = t.members[:base]
	t.dst = append(t.dst, '}')
	return nil
}

// sort puts the members, which are written one after another from begin on, in
// the order of their keys.
func (t *transformer) sort(members []member, begin int) error {
	byKey := func(a, b member) int { return compareKeys(a.key, b.key) }
	if !slices.IsSortedFunc(members, byKey) {
		slices.SortStableFunc(members, byKey)
		t.scratch = t.scratch[:0]
		for _, m := range members {
			t.scratch = append(t.scratch, t.dst[m.start:m.end]...)
		}
		copy(t.dst[begin:], t.scratch)
	}
	for i := 1; i < len(members); i++ {
		if members[i].key == members[i-1].key {
			return t.errorf("a key is twice in the object that ends here")
		}
	}
	return nil
}

// compareKeys orders two strings of valid UTF-8 by their UTF-16 code units
// (RFC 8785 §3.2.3).
func compareKeys(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return len(a) - len(b)
	}
	for !utf8.RuneStart(a[i]) {
		i--
	}
	x, _ := utf8.DecodeRuneInString(a[i:])
	y, _ := utf8.DecodeRuneInString(b[i:])
	if high := x >= 0x10000; high != (y >= 0x10000) {
		// A code point beyond U+FFFF begins with a surrogate, which comes
		// before U+E000 to U+FFFF.
		if high {
			x, _ = utf16.EncodeRune(x)
		} else {
			y, _ = utf16.EncodeRune(y)
		}
	}
	return int(x) - int(y)
}

func (t *transformer) number() error {
	start := t.at
	digits := func() int {
		from := t.at
		for c := t.peek(); c >= '0' && c <= '9'; c = t.peek() {
			t.at++
		}
		return t.at - from
	}
	if t.peek() == '-' {
		t.at++
	}
	if t.peek() == '0' {
		t.at++
	} else if digits() == 0 {
		return t.errorf("not a number")
	}
	// Integers of up to 15 digits are doubles and already as they should be.
	if c := t.peek(); c != '.' && c != 'e' && c != 'E' && t.at-start <= 15 {
		if text := t.src[start:t.at]; string(text) != "-0" {
			t.dst = append(t.dst, text...)
			return nil
		}
	}
	if t.peek() == '.' {
		t.at++
		if digits() == 0 {
			return t.errorf("no digit after '.'")
		}
	}
	if c := t.peek(); c == 'e' || c == 'E' {
		t.at++
		if c := t.peek(); c == '-' || c == '+' {
			t.at++
		}
		if digits() == 0 {
			return t.errorf("no digit in the exponent")
		}
	}
	v, err := strconv.ParseFloat(string(t.src[start:t.at]), 64)
	if err != nil {
		return t.errorf("number beyond the range of a double")
	}
	t.dst = AppendFloat(t.dst, v)
	return nil
}
