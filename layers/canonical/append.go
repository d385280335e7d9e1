package canonical

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendString appends s as a JSON string with the escapes of RFC 8785 §3.2.2.2
// and no other: \b \t \n \f \r \" \\, and \u00xx in lower case for the remaining
// controls below U+0020. Each byte that is not part of valid UTF-8 becomes
// U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0            // of what is not yet appended
	stop := uint64(highs) // the high bits that end a step of eight bytes
	for checked, i := false, 0; i < len(s); {
		if len(s)-i >= 8 {
			if w := load8(s, i); w&stop|escapes(w) == 0 {
				i += 8
				continue
			}
		}
		switch c := s[i]; {
		case c >= utf8.RuneSelf && stop == 0:
			i++
		case c >= utf8.RuneSelf && !checked:
			// Text is nearly always valid; then what follows is plain.
			checked = true
			if utf8.ValidString(s[i:]) {
				stop = 0
			}
		case c >= utf8.RuneSelf:
			r, width := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && width == 1 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, "\uFFFD"...)
				start = i + 1
			}
			i += width
		case c >= 0x20 && c != '"' && c != '\\':
			i++
		default:
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// escapes returns 0 if none of the eight bytes of w needs an escape. (A byte
// above one that does may be flagged too, and no other.)
func escapes(w uint64) uint64 {
	quote, slash := w^'"'*ones, w^'\\'*ones
	return ((w-0x20*ones)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// load8 reads eight bytes; the compiler makes one load of it.
func load8(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// maxExact is the largest magnitude below which every integer is a double.
const maxExact = 1 << 53

// AppendInt appends v as a JSON number. JSON numbers are doubles in RFC 8785,
// so a v beyond ±2^53 is written as the nearest double is: put such integers
// into strings where each digit counts.
func AppendInt(dst []byte, v int64) []byte {
	if v < -maxExact || v > maxExact {
		return AppendFloat(dst, float64(v))
	}
	return strconv.AppendInt(dst, v, 10)
}

// AppendFloat appends v as ECMAScript writes a number (RFC 8785 §3.2.2.3): the
// shortest digits that read back as v, without exponent from 1e-6 up to below
// 1e21; -0 is 0. NaN and infinities have no JSON form: they become null, so
// that the output stays JSON. Marshal returns an error for them.
func AppendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	if v == 0 {
		return append(dst, '0')
	}
	if abs := math.Abs(v); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
	// Go writes exponents with two digits at least, ECMAScript does not.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// AppendBool appends true or false.
func AppendBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

// AppendKey begins a member of an object: a comma unless dst ends in the
// object's brace, the key, and the colon. Keys are to be given in the order of
// their UTF-16 code units, which for ASCII keys is the order of their bytes; it
// is not checked here but by Check, in the encoder's test.
//
//	b = append(b, '{')
//	b = canonical.AppendKey(b, "id")
//	b = canonical.AppendString(b, id)
//	b = canonical.AppendKey(b, "tokens")
//	b = canonical.AppendInt(b, tokens)
//	b = append(b, '}')
func AppendKey(dst []byte, key string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	return append(AppendString(dst, key), ':')
}

// AppendNext begins an element of an array: a comma unless dst ends in the
// array's bracket.
func AppendNext(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '[' {
		return append(dst, ',')
	}
	return dst
}
