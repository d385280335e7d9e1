package rendering

import (
	"strings"

	"hexapla/layers"
)

// outline is a pack taken apart into what messages are made of.
type outline struct {
	system   []block
	context  []block   // said by the user before the exchange
	exchange *exchange // nil if there is none
	input    []block   // said by the user behind it
}

// block is a run of text that a provider is given as one. Texts begin with a
// character that is no white space and end in a line feed, so their tokens add
// up.
type block struct {
	text string
	ttl  string // of the breakpoint behind it; "" if there is none
}

// placed is an item and where it lies in the pack's text.
type placed struct {
	layers.Item
	section    string
	begin, end int // bytes
}

// outlineOf takes a pack apart.
func outlineOf(p *layers.Pack) outline {
	var system, context, input []placed
	at := 0
	for i := range p.Sections {
		s := &p.Sections[i]
		for _, item := range s.Items {
			one := placed{item, s.Name, at, at + len(item.Form.Text)}
			at = one.end
			switch s.Name {
			case layers.SectionSystem:
				system = append(system, one)
			case layers.SectionInput:
				input = append(input, one)
			default:
				context = append(context, one)
			}
		}
	}
	o := outline{}
	context, answer, between := splitAtAnswer(context)
	var rest []placed
	if answer != nil && len(context) > 0 {
		o.exchange, rest = newExchange(*answer, input)
	}
	breakpoints := p.Breakpoints
	o.system = blocksOf(system, &breakpoints, false)
	if o.exchange != nil {
		// The next pack narrates the exchange, so what may be kept ends before it.
		o.context = append(blocksOf(context, &breakpoints, true), blocksOf(between, &breakpoints, false)...)
		o.input = blocksOf(rest, &breakpoints, false)
		return o
	}
	if answer != nil {
		context = append(append(context, *answer), between...)
	}
	o.context = blocksOf(context, &breakpoints, false)
	o.input = blocksOf(input, &breakpoints, false)
	return o
}

// blocksOf makes blocks of items and puts the breakpoints that end among them
// on their blocks; those are taken off the list. If the items are the last ones
// that can have breakpoints, the last block gets the first of those that are
// left, unless it has one.
func blocksOf(items []placed, breakpoints *[]layers.Breakpoint, last bool) []block {
	var blocks []block
	for i, item := range items {
		one := item.section == layers.SectionHeaders || item.section == layers.SectionSummaries
		if one && i > 0 && items[i-1].section == item.section && items[i-1].end == item.begin {
			blocks[len(blocks)-1].text += item.Form.Text
		} else {
			blocks = append(blocks, block{text: item.Form.Text})
		}
		if rest := *breakpoints; len(rest) > 0 && rest[0].Bytes == item.end {
			blocks[len(blocks)-1].ttl = rest[0].TTL
			*breakpoints = rest[1:]
		}
	}
	if last {
		if n, rest := len(blocks), *breakpoints; n > 0 && len(rest) > 0 && blocks[n-1].ttl == "" {
			blocks[n-1].ttl = rest[0].TTL
		}
		*breakpoints = nil
	}
	return blocks
}

// texts returns the text of all blocks.
func texts(blocks []block) string {
	var b strings.Builder
	for _, one := range blocks {
		b.WriteString(one.text)
	}
	return b.String()
}
