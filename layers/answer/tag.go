package answer

import (
	"strings"
)

// tagKind is a tag that may hold a block.
type tagKind int

const (
	tagHexapla tagKind = iota
	tagHousekeeping
	tagRequests
	tagCall // <tool_call>, in which some models write their calls
	tagKinds
)

// tag is a tag in the text.
type tag struct {
	kind  tagKind
	opens bool
	to    int // behind its >
}

// maxTag is the most bytes of a tag with its attributes.
const maxTag = 256

// tagAt reads the tag of ours that begins at a place.
func tagAt(text string, at int) (tag, bool) {
	i := at + 1
	t := tag{opens: true}
	if i < len(text) && text[i] == '/' {
		t.opens = false
		i++
	}
	from := i
	for i < len(text) && i-from < 32 && nameByte(text[i]) {
		i++
	}
	switch plainName(text[from:i]) {
	case "hexapla":
		t.kind = tagHexapla
	case "housekeeping", "hexaplahousekeeping":
		t.kind = tagHousekeeping
	case "contextrequests", "contextrequest", "hexaplacontext":
		t.kind = tagRequests
	case "toolcall", "functioncall":
		t.kind = tagCall
	default:
		return tag{}, false
	}
	rest := text[i:min(len(text), i+maxTag)]
	end := strings.IndexAny(rest, "<>")
	if end < 0 || rest[end] == '<' || end > 0 && (rest[end-1] == '/' || spaceAt(rest, 0) == 0) {
		return tag{}, false // it does not end, it is empty, or its name goes on
	}
	t.to = i + end + 1
	return t, true
}

// end returns the next closing tag of a kind, from a place on.
func (b *blocks) end(kind tagKind, from int) (at int, found bool) {
	if at := b.ends[kind]; at < 0 || at >= from && at > 0 {
		return at, at > 0
	}
	for i := from; ; {
		next := strings.Index(b.text[i:], "</")
		if next < 0 {
			b.ends[kind] = -1
			return -1, false
		}
		i += next
		if t, ok := tagAt(b.text, i); ok && t.kind == kind {
			b.ends[kind] = i
			return i, true
		}
		i += 2
	}
}

// tag reads the block that a tag at a place opens. It returns where to go on,
// the place itself if there is no tag.
func (b *blocks) tag(at int) int {
	t, ok := tagAt(b.text, at)
	if !ok {
		return at
	}
	if !t.opens {
		if b.wrapped[t.kind] > 0 {
			b.wrapped[t.kind]--
			b.remove(at, t.to, "")
		}
		return t.to
	}
	next := t.to + gapIn(b.text[t.to:], true)
	if next < len(b.text) && b.text[next] == '<' {
		if inner, ok := tagAt(b.text, next); ok && inner.opens && inner.kind != t.kind && t.kind == tagHexapla {
			b.wrapped[t.kind]++
			b.remove(at, t.to, "")
		}
		return t.to
	}
	end, closed := b.end(t.kind, t.to)
	object := next < len(b.text) && (b.text[next] == '{' || b.text[next] == '[')
	if !object && (!closed || t.kind != tagHexapla) {
		return t.to // spoken of, not given
	}
	where := bounds{open: at, start: t.to, limit: len(b.text), to: len(b.text), cut: !closed}
	if closed {
		closing, _ := tagAt(b.text, end)
		where.limit, where.to = end, closing.to
	}
	return b.body(where, [...]mark{markHexapla, markHouse, markRequests, markTool}[t.kind])
}
