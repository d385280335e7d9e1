package digest

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Sightings tells for each name, command or sentence where a text first shows
// it, as an offset in Readable(text), and -1 where it does not. It is shown
// where it stands letter by letter and its ends are ends of words: "read" is not
// in "reader", and "12" is not in "12.5". Time is linear in the text as long as
// the words of what is looked for are not all over it.
func Sightings(text string, wanted []string) []int {
	at := make([]int, len(wanted))
	// What is looked for is found by its longest word.
	type key struct{ index, offset int }
	byWord := map[string][]key{}
	for i, w := range wanted {
		at[i] = -1
		best, from := "", 0
		for begin := 0; begin < len(w); {
			end := begin
			for end < len(w) && isWordByte(w[end]) {
				end++
			}
			if end-begin > len(best) {
				best, from = w[begin:end], begin
			}
			begin = end + 1
		}
		if best != "" {
			byWord[best] = append(byWord[best], key{i, from})
		}
	}
	plain := Readable(text)
	for begin := 0; begin < len(plain) && len(byWord) > 0; {
		end := begin
		for end < len(plain) && isWordByte(plain[end]) {
			end++
		}
		if end == begin {
			begin++
			continue
		}
		if keys := byWord[plain[begin:end]]; keys != nil {
			left := keys[:0]
			for _, k := range keys {
				w, from := wanted[k.index], begin-k.offset
				if from >= 0 && strings.HasPrefix(plain[from:], w) && stands(plain, from, from+len(w)) {
					at[k.index] = from
					continue
				}
				left = append(left, k)
			}
			if len(left) == 0 {
				delete(byWord, plain[begin:end])
			} else {
				byWord[plain[begin:end]] = left
			}
		}
		begin = end
	}
	return at
}

func isWordByte(c byte) bool { return c < utf8.RuneSelf && isWordRune(rune(c)) }

// stands tells that a part of a text does not begin or end within a word or a
// number.
func stands(text string, from, to int) bool {
	if from > 0 && isWordByte(text[from]) && isWordByte(text[from-1]) || to < len(text) && isWordByte(text[to-1]) && isWordByte(text[to]) {
		return false
	}
	point := func(i int) bool {
		return i > 0 && i+1 < len(text) && (text[i] == '.' || text[i] == ',') && isDigit(text[i-1]) && isDigit(text[i+1])
	}
	return !point(from-1) && !point(to)
}

// Readable returns a text with the strings of JSON in it as they are meant: a
// line that calls a tool, or holds escaped quotes, has line feeds, tabs and
// quotes in place of their escapes. Lines are told one by one, so that a part of
// a text reads as the whole does.
func Readable(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		if strings.Contains(line, `\`) && (strings.HasPrefix(line, "call ") || strings.HasPrefix(line, "{") || strings.Contains(line, `\"`)) {
			writeUnescaped(&b, line)
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// unescape returns what a string of JSON means, up to its closing quote or as
// far as it goes.
func unescape(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
		} else if s[i] == '"' {
			s = s[:i]
			break
		}
	}
	var b strings.Builder
	writeUnescaped(&b, s)
	return b.String()
}

func writeUnescaped(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n', 'r':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '"', '\\', '/':
			b.WriteByte(c)
		case 'u':
			if i+4 < len(s) {
				if n, err := strconv.ParseUint(s[i+1:i+5], 16, 16); err == nil {
					b.WriteRune(rune(n))
					i += 4
					continue
				}
			}
			b.WriteString(`\u`)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
}
