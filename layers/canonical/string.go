package canonical

import (
	"unicode/utf16"
	"unicode/utf8"
)

// string reads the string that begins at the position into t.text, as UTF-8
// but for bytes that are not valid in the source: AppendString replaces those.
// A key is made valid here, because it is compared.
func (t *transformer) string() error {
	t.at++
	t.text = t.text[:0]
	start := t.at // of what is not yet in text
	for {
		if t.at == len(t.src) {
			return t.errorf("a string without end")
		}
		switch c := t.src[t.at]; {
		case c == '"':
			t.text = append(t.text, t.src[start:t.at]...)
			t.at++
			if !utf8.Valid(t.text) {
				t.text = []byte(string([]rune(string(t.text))))
			}
			return nil
		case c < 0x20:
			return t.errorf("a control in a string")
		case c == '\\':
			t.text = append(t.text, t.src[start:t.at]...)
			t.at++
			if err := t.escape(); err != nil {
				return err
			}
			start = t.at
		default:
			t.at++
		}
	}
}

// escape reads what follows a backslash.
func (t *transformer) escape() error {
	c := t.peek()
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r, ok := t.unit(t.at + 1)
		if !ok {
			return t.errorf("not four hexadecimal digits")
		}
		t.at += 5
		if utf16.IsSurrogate(r) {
			var low rune
			if t.at+1 < len(t.src) && t.src[t.at] == '\\' && t.src[t.at+1] == 'u' {
				low, _ = t.unit(t.at + 2)
			}
			// A surrogate alone becomes U+FFFD, and what follows it stays.
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				t.at += 6
			}
		}
		t.text = utf8.AppendRune(t.text, r)
		return nil
	default:
		return t.errorf("an unknown escape")
	}
	t.at++
	t.text = append(t.text, c)
	return nil
}

// unit reads four hexadecimal digits at i.
func (t *transformer) unit(i int) (r rune, ok bool) {
	if i+4 > len(t.src) {
		return 0, false
	}
	for _, c := range t.src[i : i+4] {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r |= rune(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r |= rune(c|0x20-'a') + 10
		default:
			return 0, false
		}
	}
	return r, true
}
