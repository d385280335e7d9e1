package answer

import (
	"strings"
)

// fence is the line that opens a block of code.
type fence struct {
	mark     byte // ` or ~
	size     int
	language string // lower case, without punctuation
	rest     int    // where the line goes on behind the language, from its beginning
}

// maxFence is the size from which fences count as the same, so that the kinds of
// them are few.
const maxFence = 12

// fenceAt reads an opening fence.
func fenceAt(line string) (fence, bool) {
	body := strings.TrimLeft(line, " \t")
	at := len(line) - len(body)
	if body == "" || body[0] != '`' && body[0] != '~' {
		return fence{}, false
	}
	f := fence{mark: body[0]}
	run := 0
	for run < len(body) && body[run] == f.mark {
		run++
	}
	if run < 3 {
		return fence{}, false
	}
	f.size = min(run, maxFence)
	info := strings.TrimLeft(body[run:], " \t")
	n := 0
	for n < len(info) && nameByte(info[n]) {
		n++
	}
	f.language = strings.ToLower(info[:n])
	f.rest = at + len(body) - len(info) + n
	if f.mark == '`' && strings.IndexByte(info, '`') >= 0 && f.language != "hexapla" {
		return fence{}, false // code inside a line
	}
	return f, true
}

// closes tells that a line closes the fence.
func (f fence) closes(line string) bool {
	line = strings.TrimSpace(line)
	if len(line) < f.size {
		return false
	}
	for i := range len(line) {
		if line[i] != f.mark {
			return false
		}
	}
	return true
}

// ours tells that a fence is marked as ours.
func (f fence) ours() bool {
	return f.language == "hexapla" || strings.HasPrefix(f.language, "hexapla-") || strings.HasPrefix(f.language, "hexapla_")
}

// mayHold tells that a fence may hold a block of ours without saying so.
func (f fence) mayHold() bool {
	switch f.language {
	case "", "json", "json5", "jsonc", "javascript", "js", "xml", "text", "housekeeping", "tool_call":
		return true
	}
	return false
}

// edge is a kind of fence and where the next line begins and ends that ends it.
type edge struct {
	mark     byte
	size     int
	ours, md bool
}

type edgeAt struct {
	from, to int // -1 and the text's length if there is none
	nested   bool
}

// closer returns the next line that closes a fence, from a line's beginning on.
// A fence of ours ends one that nothing closed before it. What was found is
// remembered, so that no line is looked at twice for one kind of fence.
func (b *blocks) closer(f fence, at int) edgeAt {
	kind := edge{f.mark, f.size, f.ours(), f.language == "markdown" || f.language == "md"}
	if found, ok := b.edges[kind]; ok && (found.from < 0 || found.from >= at) {
		return found
	}
	found := edgeAt{from: -1, to: len(b.text)}
	for at < len(b.text) {
		end := b.lineEnd(at)
		line := b.text[at:end]
		if f.closes(line) {
			found = edgeAt{from: at, to: at + len(strings.TrimSuffix(line, "\r"))}
			break
		}
		if !kind.ours && !kind.md {
			if inner, ok := fenceAt(line); ok && inner.ours() && inner.mark == f.mark && inner.size >= f.size {
				found = edgeAt{from: at, to: at, nested: true}
				break
			}
		}
		at = end + 1
	}
	b.edges[kind] = found
	return found
}

// fence reads the block that a fence opens at a line and returns where to go
// on.
func (b *blocks) fence(f fence, at, end int) int {
	if f.ours() {
		return b.marked(f, at, end)
	}
	closer := b.closer(f, min(end+1, len(b.text)))
	limit, open := closer.from, closer.from < 0
	if open {
		limit = len(b.text)
	}
	if !f.mayHold() {
		return b.goOn(closer)
	}
	start := at + f.rest
	if rest := strings.TrimSpace(b.text[start:end]); rest != "" && rest[0] != '{' && rest[0] != '<' {
		start = end + 1 // a title
	}
	body := strings.TrimLeft(b.text[min(start, limit):limit], " \t\r\n\ufeff")
	start = limit - len(body)
	switch {
	case body == "":
	case body[0] == '<' && !open:
		// Around tags of ours the fence goes, too.
		spans := len(b.spans)
		to := b.tag(start)
		if to > limit {
			return to
		}
		if len(b.spans) > spans && strings.TrimSpace(b.text[to:limit]) == "" {
			b.spans[spans].from = at
			b.remove(to, closer.to, "")
		}
	case body[0] == '{':
		object := repair(body, open)
		stop := start + object.end
		whole := strings.TrimSpace(b.text[:at]) == "" && strings.TrimSpace(b.text[closer.to:]) == ""
		v, content := b.take(object, markNone, whole)
		switch {
		case v != used:
		case open: // what follows an object that is complete is content
			b.remove(at, stop, content)
			return stop
		case trailing(b.text[stop:limit]):
			b.remove(at, closer.to, content)
		default:
			b.remove(at, stop, content)
			b.remove(limit, closer.to, "")
		}
	}
	return b.goOn(closer)
}

// goOn returns the place behind a fence's end.
func (b *blocks) goOn(closer edgeAt) int {
	if closer.nested {
		return closer.from
	}
	return min(closer.to+1, len(b.text))
}

// trailing tells that what follows an object is only what models leave behind
// one: surplus ends, commas.
func trailing(rest string) bool {
	return strings.Trim(rest, "}])>,;` \t\r\n") == ""
}

// marked reads a fence that is marked as ours.
func (b *blocks) marked(f fence, at, end int) int {
	start := at + f.rest
	if rest := strings.TrimSpace(b.text[start:end]); rest == "" || rest[0] != '{' && rest[0] != '[' {
		start = min(end+1, len(b.text))
	}
	closer := b.closer(f, min(end+1, len(b.text)))
	limit, open := closer.from, closer.from < 0
	if open {
		limit = len(b.text)
	}
	return b.body(bounds{open: at, start: min(start, limit), limit: limit, to: closer.to, cut: open, fence: &f}, markHexapla)
}
