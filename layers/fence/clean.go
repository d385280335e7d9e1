package fence

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Counts says what Clean changed.
type Counts struct {
	Invisible int // characters that were taken out
	Tags      int // role tags and marks that were broken
}

// Clean returns a text as it may stand in a pack: what nobody sees is taken out,
// role tags and the mark are broken by one character that looks alike.
func (f Fence) Clean(text string) string {
	text, _ = f.Inspect(text)
	return text
}

// Inspect is Clean, with what it changed.
func (f Fence) Inspect(text string) (string, Counts) {
	var out strings.Builder
	var counts Counts
	if f.mark == "" {
		return text, counts
	}
	kept := 0 // bytes of text that are in out already
	drop := func(from, to int) {
		if out.Len() == 0 && kept == 0 {
			out.Grow(len(text))
		}
		out.WriteString(text[kept:from])
		kept = to
	}
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '<' || c == '[':
			if at, with, ok := roleTag(text[i:]); ok {
				drop(i+at, i+at+1)
				out.WriteString(with)
				counts.Tags++
			}
			i++
		case c == 0x1b:
			n := escapeSequence(text[i:])
			drop(i, i+n)
			counts.Invisible++
			i += n
		case c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f:
			drop(i, i+1)
			counts.Invisible++
			i++
		case c < utf8.RuneSelf:
			if c == f.mark[0] && strings.HasPrefix(text[i:], f.mark) {
				drop(i+1, i+1)
				out.WriteString("·")
				counts.Tags++
			}
			i++
		default:
			r, n := utf8.DecodeRuneInString(text[i:])
			if !invisible(r) {
				i += n
				continue
			}
			if n := flag(text, i); n > 0 {
				i += n
				continue
			}
			if visibleHere(r, text[:i], text[i+n:]) {
				i += n
				continue
			}
			drop(i, i+n)
			counts.Invisible++
			i += n
		}
	}
	if kept == 0 && out.Len() == 0 {
		return text, counts
	}
	out.WriteString(text[kept:])
	cleaned := out.String()
	if counts.Invisible > 0 {
		// What was hidden within a tag or the mark joined its parts.
		again, more := f.Inspect(cleaned)
		counts.Invisible += more.Invisible
		counts.Tags += more.Tags
		return again, counts
	}
	return cleaned, counts
}

// roleNames are the names in angle brackets by which prompts of models tell who
// speaks, or where Hexapla's kind of context begins and ends. Names that are
// common in documents and code, such as user, are not among them.
var roleNames = [...]string{
	"system", "system-reminder", "system_prompt", "system-prompt", "assistant", "human", "memory", "instructions",
	"function_calls", "function_results", "tool_use", "tool_result", "tool_results", "tool_call", "tool_response",
}

// roleTag tells whether a text begins with a role tag, which of its bytes to
// replace, and by what.
func roleTag(text string) (at int, with string, ok bool) {
	if text[0] == '[' {
		for _, tag := range [...]string{"[INST]", "[/INST]"} {
			if hasPrefixFold(text, tag) {
				return 0, "［", true
			}
		}
		return 0, "", false
	}
	if strings.HasPrefix(text, "<|") {
		name := text[2:]
		for n := 0; n < len(name) && n < 40; n++ {
			switch c := name[n]; {
			case c == '|':
				return 1, "¦", n > 0 && strings.HasPrefix(name[n:], "|>")
			case c != '_' && c != '-' && c != '/' && !unicode.IsLetter(rune(c)) && !unicode.IsDigit(rune(c)):
				return 0, "", false
			}
		}
		return 0, "", false
	}
	if hasPrefixFold(text, "<<SYS>>") || hasPrefixFold(text, "<</SYS>>") {
		return 0, "‹", true
	}
	name := strings.TrimPrefix(text[1:], "/")
	if i := strings.IndexAny(name[:min(len(name), 40)], "> \t\n/"); i > 0 {
		name = name[:i]
		if _, local, ok := strings.Cut(name, ":"); ok {
			name = local
		}
		for _, role := range roleNames {
			if strings.EqualFold(name, role) {
				return 0, "‹", true
			}
		}
	}
	return 0, "", false
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// escapeSequence is the length of a terminal's control sequence (ECMA-48) that a
// text begins with.
func escapeSequence(text string) int {
	if len(text) < 2 {
		return len(text)
	}
	switch text[1] {
	case '[': // parameters and intermediates, then a final byte
		for i := 2; i < len(text); i++ {
			if c := text[i]; c < 0x20 || c > 0x3f {
				if c >= 0x40 && c <= 0x7e {
					return i + 1
				}
				return i
			}
		}
		return len(text)
	case ']', 'P', 'X', '^', '_': // a string up to BEL or ESC \
		const most = 4096 // a lost end must not take the text with it
		for i := 2; i < min(len(text), most); i++ {
			switch {
			case text[i] == 0x07:
				return i + 1
			case text[i] == '\n':
				return i
			case text[i] == 0x1b:
				if i+1 < len(text) && text[i+1] == '\\' {
					return i + 2
				}
				return i
			}
		}
		return min(len(text), most)
	}
	n := 1
	for n < len(text) && text[n] >= ' ' && text[n] <= '/' {
		n++
	}
	if n < len(text) && text[n] > '/' && text[n] < 0x7f {
		n++
	}
	return n
}

// invisible tells whether a character has no shape of its own: format and bidi
// controls, tags, joiners, selectors and fillers.
func invisible(r rune) bool {
	switch {
	case r >= 0x80 && r < 0xa0, // C1 controls
		r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f,
		r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r == 0x3164, r == 0xfeff, r == 0xffa0,
		r >= 0xfe00 && r <= 0xfe0f, r >= 0xfff0 && r <= 0xfffb, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

const (
	blackFlag = '\U0001F3F4'
	cancelTag = '\U000E007F'
)

// flag is the length of the tags behind a black flag that make it a region's
// (Unicode Technical Standard 51): two to six letters or digits and their end.
func flag(text string, at int) int {
	if before, _ := utf8.DecodeLastRuneInString(text[:at]); before != blackFlag {
		return 0
	}
	n := 0
	for i := at; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == cancelTag && n >= 2 && n <= 6:
			return i - at
		case (r >= 0xe0030 && r <= 0xe0039 || r >= 0xe0061 && r <= 0xe007a) && n < 6:
			n++
		default:
			return 0
		}
	}
	return 0
}

// visibleHere tells whether an invisible character changes how its neighbours
// look, as it may: a joiner between letters of a script that joins or between
// emojis, one selector behind what it selects.
func visibleHere(r rune, before, after string) bool {
	prev, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	switch {
	case r == 0x200c || r == 0x200d:
		joins := func(r rune) bool {
			return r >= 0x300 && r != utf8.RuneError && (!invisible(r) || r == 0xfe0f) && !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
		}
		return joins(prev) && joins(next)
	case r >= 0xfe00 && r <= 0xfe0f:
		return prev != utf8.RuneError && !invisible(prev) && (prev >= 0x80 || prev >= '0' && prev <= '9' || prev == '#' || prev == '*')
	case r >= 0xe0100 && r <= 0xe01ef:
		return unicode.Is(unicode.Han, prev)
	}
	return false
}
