package layers

// Breakpoint is a place in a pack's text up to which packs to come repeat the
// bytes, so that it pays to have a provider keep them in its prompt cache.
type Breakpoint struct {
	Bytes   int    // of the text up to it; an item ends there
	Tokens  int    // of the text up to it
	Section string // name of the section that ends there
	TTL     string // how long keeping it pays: TTLWindow or TTLStream
}

// MaxBreakpoints is the most breakpoints that a pack has: as many as
// Anthropic's interface takes in a request.
const MaxBreakpoints = 4

// Times to live of a breakpoint, in the terms of providers.
const (
	TTLWindow = "1h" // changes only when the window moves or at a fold
	TTLStream = "5m" // the stream, which grows with every call
)

// border is a place between two sections: behind the first so many of them.
type border struct {
	sections int
	ttl      string
}

// borders returns where a pack of so many sections has breakpoints: behind the
// system branch, behind the head of sections that stand before the stream,
// behind the stable sections, and at the end if the next pack goes on there.
//
// A pack that is laid out for itself alone has one behind its system branch only.
func (b *builder) borders(head, stable, all int) []border {
	borders := []border{{1, TTLWindow}}
	if b.alone() {
		return borders
	}
	borders = append(borders, border{head, TTLWindow}, border{stable, TTLStream})
	if stable == all-1 && !b.anyFresh() {
		borders = append(borders, border{all, TTLStream})
	}
	return borders
}

// alone tells that the pack is laid out for itself alone, because it fills its
// budget or keeps only what must be there: the next has only what the client and
// the user put in front in common with it.
func (b *builder) alone() bool { return b.bare || b.in.Fill }

// mark sets the breakpoints that stand behind the first so many sections, with
// so many bytes of text. There is never one without text since the one before.
func (p *Pack) mark(borders []border, sections, bytes int) {
	for _, at := range borders {
		if at.sections != sections || len(p.Sections) == 0 {
			continue
		}
		if n := len(p.Breakpoints); n > 0 && p.Breakpoints[n-1].Bytes == bytes {
			continue
		}
		p.Breakpoints = append(p.Breakpoints, Breakpoint{
			Bytes: bytes, Tokens: p.Used(), Section: p.Sections[len(p.Sections)-1].Name, TTL: at.ttl,
		})
	}
}

// anyFresh tells that some of the input is shown in a form that it has in this
// pack alone.
func (b *builder) anyFresh() bool {
	for _, fresh := range b.plan.fresh {
		if fresh.Text != "" {
			return true
		}
	}
	return false
}
