package rpc

import (
	"bytes"
	"unicode/utf8"
)

const (
	byteOrderMark = "\ufeff"
	replacement   = "\ufffd"
)

// normalise makes JSON text that any decoder accepts and any store keeps:
// bytes that are not UTF-8, lone surrogates and NUL, raw or escaped, become
// U+FFFD. A byte order mark before the text is taken off. The result shares
// text's memory; changed tells whether anything was replaced.
func normalise(text []byte) (clean []byte, changed bool) {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		text, changed = replaceBytes(text), true
	}
	return text, replaceEscapes(text) || changed
}

func replaceBytes(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(text)/8)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 || r == 0 {
			out = append(out, replacement...)
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

// replaceEscapes writes \ufffd over \u0000 and over escapes of surrogates that
// have no partner, in place. A backslash outside a string is no JSON anyway.
func replaceEscapes(text []byte) (changed bool) {
	for i := 0; ; {
		at := bytes.IndexByte(text[i:], '\\')
		if at < 0 {
			return changed
		}
		i += at
		unit, ok := escapedUnit(text[i:])
		if !ok {
			i += 2
			if i > len(text) {
				return changed
			}
			continue
		}
		switch {
		case unit >= 0xD800 && unit < 0xDC00:
			if low, ok := escapedUnit(text[i+6:]); ok && low >= 0xDC00 && low < 0xE000 {
				i += 12
				continue
			}
		case unit >= 0xDC00 && unit < 0xE000, unit == 0:
		default:
			i += 6
			continue
		}
		copy(text[i:], `\ufffd`)
		changed = true
		i += 6
	}
}

// escapedUnit reads the UTF-16 code unit of an escape such as \u00e9.
func escapedUnit(text []byte) (unit rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		if !isHex(c) {
			return 0, false
		}
		digit := c - '0'
		if c >= 'a' {
			digit = c - 'a' + 10
		} else if c >= 'A' {
			digit = c - 'A' + 10
		}
		unit = unit<<4 | rune(digit)
	}
	return unit, true
}
