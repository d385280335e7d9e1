package scrub

import "slices"

// automaton finds many words in one pass over a text (Aho and Corasick, 1975).
// ASCII letters count as equal in both cases.
type automaton struct {
	class [256]uint8 // of a byte; 0 for bytes that are in no word
	width uint32     // number of classes
	// next has a row of width for each state: the offset of the next state's row,
	// with hitBit set where words end there.
	next []uint32
	ends []endList // by state
}

// endList are the words that end in a state.
type endList []uint16

const hitBit = 1 << 31

// newAutomaton makes an automaton for words that are not empty, of which there
// are at most 65,535.
func newAutomaton(words []string) *automaton {
	a := &automaton{width: 1}
	for _, w := range words {
		for i := range len(w) {
			c := lower(w[i])
			if a.class[c] != 0 {
				continue
			}
			a.class[c] = uint8(a.width)
			if 'a' <= c && c <= 'z' {
				a.class[c-'a'+'A'] = uint8(a.width)
			}
			a.width++
		}
	}
	type node struct {
		fail uint32
		ends endList
	}
	nodes := []node{{}}
	row := make([]uint32, a.width)
	a.next = append(a.next, row...)
	for n, w := range words {
		at := uint32(0)
		for i := range len(w) {
			cell := at*a.width + uint32(a.class[lower(w[i])])
			if a.next[cell] == 0 {
				a.next[cell] = uint32(len(nodes))
				nodes = append(nodes, node{})
				a.next = append(a.next, row...)
			}
			at = a.next[cell]
		}
		nodes[at].ends = append(nodes[at].ends, uint16(n))
	}
	// Breadth first, so that the state that a state falls back to is complete.
	order := []uint32{}
	for c := range a.width {
		if to := a.next[c]; to != 0 {
			order = append(order, to)
		}
	}
	for i := 0; i < len(order); i++ {
		at := order[i]
		nodes[at].ends = append(nodes[at].ends, nodes[nodes[at].fail].ends...)
		for c := range a.width {
			cell := at*a.width + c
			back := a.next[nodes[at].fail*a.width+c]
			if to := a.next[cell]; to != 0 {
				nodes[to].fail = back
				order = append(order, to)
			} else {
				a.next[cell] = back
			}
		}
	}
	for i, to := range a.next {
		a.next[i] = to * a.width
		if len(nodes[to].ends) > 0 {
			a.next[i] |= hitBit
		}
	}
	for _, n := range nodes {
		slices.Sort(n.ends)
		a.ends = append(a.ends, n.ends)
	}
	return a
}

// each calls hit with the end of each place where words end, and the words.
func (a *automaton) each(text string, hit func(end int, words endList)) {
	next, width := a.next, a.width
	at := uint32(0)
	for i := 0; i < len(text); i++ {
		at = next[at+uint32(a.class[text[i]])]
		if at&hitBit != 0 {
			at &^= hitBit
			hit(i+1, a.ends[at/width])
		}
	}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}
