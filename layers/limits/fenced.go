package limits

import (
	"strings"

	"hexapla/layers/digest"
	"hexapla/layers/minify"
)

// segment is a stretch of a text: prose, or a block of code with its fences.
type segment struct {
	text string
	code bool
	name string // what the fence says of the code, such as "go"
}

// segments takes a text apart at fences of code: three backticks or tildes and more
// at the beginning of a line, up to as many of the same. One that is not closed
// goes to the end.
func segments(text string) (out []segment) {
	begin, at, open := 0, 0, ""
	name := ""
	cut := func(to int, code bool) {
		if to > begin {
			out = append(out, segment{text: text[begin:to], code: code, name: name})
		}
		begin = to
	}
	for at < len(text) {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := strings.TrimSpace(text[at:end])
		fence := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		if fence == "" {
			fence = line[:len(line)-len(strings.TrimLeft(line, "~"))]
		}
		switch {
		case open == "" && len(fence) >= 3 && !strings.Contains(line[len(fence):], "`"):
			cut(at, false)
			open, name = fence, strings.TrimSpace(line[len(fence):])
		case open != "" && line == fence && strings.HasPrefix(fence, open):
			cut(end, true)
			open, name = "", ""
		}
		at = end
	}
	cut(len(text), open != "")
	return out
}

// shorten makes prose shorter by its sentences, to a share of its tokens. Blocks of
// code in it are minified and stay whole.
func (r *run) shorten(text string, ratio float64) string {
	var b strings.Builder
	for _, s := range segments(text) {
		switch {
		case s.code:
			b.WriteString(minified(s))
		case strings.TrimSpace(s.text) == "":
			b.WriteString(s.text)
		default:
			room := int(float64(r.Counter.Count(s.text)) * ratio)
			short, cut := digest.Trim(s.text, room-1, r.Counter)
			b.WriteString(short)
			if cut && short != "" {
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// minified is a block of code without what means nothing.
func minified(s segment) string {
	first, rest, ok := strings.Cut(s.text, "\n")
	at := strings.LastIndexByte(strings.TrimRight(rest, "\n"), '\n') + 1
	language := languageOf(&Unit{Name: s.name})
	if !ok || language == "" || at <= 0 {
		return s.text
	}
	code, ok := minify.Code(rest[:at], language)
	if !ok {
		return s.text
	}
	return first + "\n" + code + rest[at:]
}
