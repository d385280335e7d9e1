package answer

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// bounds are the places of a marked block.
type bounds struct {
	open, start int    // of its opening mark and its body
	limit, to   int    // where its closing mark begins and ends
	cut         bool   // it has no closing mark
	fence       *fence // nil for a tag
}

// maxRetries is how many closing fences are passed over because they stand
// inside a string.
const maxRetries = 3

// body reads the objects of a marked block, and returns where to go on. Prose
// beside them stays in the content.
func (b *blocks) body(at bounds, m mark) int {
	taken, free := false, at.start
	line := at.start // where the line of the last object ends
	for i := at.start; i < at.limit; {
		if i += gapIn(b.text[i:at.limit], at.fence == nil); i >= at.limit {
			break
		}
		c := b.text[i]
		if run := at.fence.run(b.text[i:at.limit]); taken && run > 0 && i < line { // it closes in the object's line
			b.remove(free, i+run, "")
			return i + run
		}
		if c != '{' && c != '[' {
			next := strings.IndexAny(b.text[i+1:at.limit], "{\n")
			if next < 0 {
				break
			}
			i += next + 1
			continue
		}
		object, limit, to := b.object(at, i)
		stop := i + object.end
		if ok, content := b.takeAll(object, m); ok {
			at.limit, at.to = limit, to
			from := i
			if gapIn(b.text[free:i], at.fence == nil) == i-free {
				from = free
			}
			if !taken {
				b.remove(at.open, at.start, "")
			}
			b.remove(from, stop, content)
			if taken, free = true, stop; line <= stop {
				line = b.lineEnd(stop)
			}
		}
		i = max(stop, i+1)
	}
	if !taken {
		return b.unread(at, m)
	}
	rest := b.text[free:at.limit]
	switch {
	case at.cut, at.fence != nil && strings.Contains(rest, "```"):
		// Nothing closes the block, or what closes it belongs to another one.
		if trailing(rest) {
			b.remove(free, at.limit, "")
			return at.limit
		}
		return free
	case trailing(rest):
		b.remove(free, at.to, "")
	default:
		b.remove(at.limit, at.to, "")
	}
	return at.to
}

// unread is a marked block in which nothing is known.
func (b *blocks) unread(at bounds, m mark) int {
	switch {
	case strings.TrimSpace(b.text[at.start:at.limit]) == "" && !at.cut:
		b.remove(at.open, at.to, "")
	case m == markRequests:
		b.problem(PartRequests, "a marked block holds no JSON object that is known; it stays in the content")
	case m != markTool:
		b.problem(PartHousekeeping, "a marked block holds no JSON object that is known; it stays in the content")
	}
	return max(at.to, at.start)
}

// run returns the size of the closing fence that a text begins with, 0 if there
// is none.
func (f *fence) run(text string) int {
	if f == nil {
		return 0
	}
	n := 0
	for n < len(text) && text[n] == f.mark {
		n++
	}
	if n < f.size {
		return 0
	}
	return n
}

// takeAll reads an object, or the objects of a list.
func (b *blocks) takeAll(object repaired, m mark) (taken bool, content string) {
	if object.json.Kind() != '[' {
		v, content := b.take(object, m, false)
		return v != foreign, content
	}
	if m == markRequests {
		taken = b.readRequests(object.json)
	} else {
		eachItem(object.json, func(item jsontext.Value) {
			if item.Kind() == '{' {
				v, said := b.take(repaired{json: item}, m, false)
				taken = taken || v != foreign
				content = either(content, said)
			}
		})
	}
	if taken {
		b.report(PartHousekeeping, object)
	}
	return taken, content
}

// object reads the object at i. Where it is not complete at the block's end,
// that may stand inside a string, and a later one is the block's.
func (b *blocks) object(at bounds, i int) (object repaired, limit, to int) {
	object = repair(b.text[i:at.limit], at.cut)
	if at.fence == nil || at.cut {
		return object, at.limit, at.to
	}
	for tries, next := 0, at.to; object.cut != "" && tries < maxRetries; tries++ {
		closer := b.closer(*at.fence, min(next+1, len(b.text)))
		if closer.from < 0 {
			break
		}
		if longer := repair(b.text[i:closer.from], false); longer.cut == "" && longer.end > at.limit-i && len(longer.lost) == 0 {
			return longer, closer.from, closer.to
		}
		next = closer.to
	}
	return object, at.limit, at.to
}

// gapIn returns how much of a text's beginning is neither an object nor prose:
// white space, commas, surplus ends, and inside tags CDATA and fences.
func gapIn(text string, tag bool) int {
	i := 0
	for i < len(text) {
		switch c := text[i]; {
		case strings.IndexByte(" \t\r\n,;})", c) >= 0:
			i++
		case c >= utf8.RuneSelf && spaceAt(text, i) > 0:
			i += spaceAt(text, i)
		case tag && strings.HasPrefix(text[i:], "<![CDATA["):
			i += len("<![CDATA[")
		case tag && strings.HasPrefix(text[i:], "]]>"):
			i += len("]]>")
		case tag && (c == '`' || c == '~'):
			line, _, _ := strings.Cut(text[i:], "\n")
			f, ok := fenceAt(line)
			if !ok {
				return i
			}
			i += f.rest
		default:
			return i
		}
	}
	return i
}
