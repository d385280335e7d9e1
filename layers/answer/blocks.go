package answer

import (
	"strings"
)

// Read takes the text of an answer apart.
//
// Blocks are found in fences (```hexapla, or a fence of JSON), in tags
// (<hexapla>, <housekeeping>, <context_requests>) and as bare objects. What is
// not marked as ours is read only if its members say that it is ours, so that
// JSON that the answer speaks of stays as it is. Inside other fences nothing is
// looked for.
func Read(text string) Answer {
	r := &reader{}
	r.answer.Content = strings.TrimSpace(r.read(text))
	return r.finish()
}

// read returns the content of a text and adds the rest to the answer.
func (r *reader) read(text string) string {
	b := &blocks{reader: r, text: text, edges: map[edge]edgeAt{}}
	b.find()
	b.bare()
	return b.content()
}

// span is a part of the text that leaves the content, and what comes in its
// place.
type span struct {
	from, to int
	instead  string
}

// blocks finds what is not content.
type blocks struct {
	*reader
	text  string
	spans []span
	// objects are places outside of fences where an object of ours may begin.
	objects []int
	// edges and ends are where fences and tags end next, so that no place is
	// searched twice; wrapped counts the tags that stand around other tags.
	edges   map[edge]edgeAt
	ends    [tagKinds]int
	wrapped [tagKinds]int
}

func (b *blocks) remove(from, to int, instead string) {
	if from < to {
		b.spans = append(b.spans, span{from, to, instead})
	}
}

func (b *blocks) content() string {
	var out strings.Builder
	at := 0
	for _, s := range b.spans {
		out.WriteString(b.text[at:s.from])
		out.WriteString(s.instead)
		at = s.to
	}
	out.WriteString(b.text[at:])
	return out.String()
}

// lineEnd returns where the line that holds at ends, without its newline.
func (b *blocks) lineEnd(at int) int {
	if end := strings.IndexByte(b.text[at:], '\n'); end >= 0 {
		return at + end
	}
	return len(b.text)
}

// find goes through the text line by line.
func (b *blocks) find() {
	for at, end := 0, -1; at < len(b.text); {
		if at > end { // a block may end inside a line
			end = b.lineEnd(at)
		}
		if f, ok := fenceAt(b.text[at:end]); ok {
			at = b.fence(f, at, end)
			continue
		}
		at = b.line(at, end)
	}
}

// line looks for tags and objects in a line outside of fences and returns where
// to go on.
func (b *blocks) line(at, end int) int {
	for i := at; i < end; i++ {
		switch b.text[i] {
		case '<':
			if i > 0 && b.text[i-1] == '`' { // spoken of, not given
				continue
			}
			if to := b.tag(i); to > i {
				return to
			}
		case '{':
			if i == 0 || b.text[i-1] != '`' {
				b.candidate(i)
			}
		}
	}
	return end + 1
}

// candidate notes a place if the first name behind it is one of ours, or if it
// is where the answer begins.
func (b *blocks) candidate(at int) {
	s := scanner{text: b.text[at+1 : min(len(b.text), at+256)]}
	s.space()
	rest := strings.TrimLeft(s.text[s.at:], "\"'“”‘’`")
	n := 0
	for n < len(rest) && nameByte(rest[n]) {
		n++
	}
	switch known(rest[:n]) {
	case nameHousekeeping, nameRequests, nameContent, nameToolUses, nameTool, nameType, nameCallID:
	default:
		if len(b.objects) > 0 || strings.TrimSpace(b.text[:min(at, 64)]) != "" || at > 64 {
			return
		}
	}
	b.objects = append(b.objects, at)
}

// maxBare is how many places are tried where a bare object may begin; the last
// ones, because blocks stand at the end of an answer. The first is always
// tried: it may be the whole answer.
const maxBare = 8

// bare reads objects that nothing marks.
func (b *blocks) bare() {
	if over := len(b.objects) - maxBare; over > 0 {
		b.objects = append(b.objects[:1], b.objects[over+1:]...)
	}
	marked := b.spans
	b.spans = nil
	done := 0
	for _, at := range b.objects {
		for len(marked) > 0 && marked[0].from < at {
			b.spans = append(b.spans, marked[0])
			done = max(done, marked[0].to)
			marked = marked[1:]
		}
		if at < done {
			continue
		}
		limit := len(b.text)
		if len(marked) > 0 {
			limit = marked[0].from
		}
		object := repair(b.text[at:limit], true)
		to := at + object.end
		whole := strings.TrimSpace(b.text[:at]) == "" && strings.TrimSpace(b.text[to:]) == ""
		switch v, content := b.take(object, markNone, whole); v {
		case used:
			b.remove(at, to, content)
			done = to
		case shown:
			done = to
		case foreign:
			if object.cut == "" { // what is inside belongs to it
				done = to
			}
		}
	}
	b.spans = append(b.spans, marked...)
}
