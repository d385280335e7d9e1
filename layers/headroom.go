package layers

// Headroom is how near the next fold is, an estimate: what is to come is taken
// to be like what came last.
type Headroom struct {
	Tokens int // that the stream may grow by
	// Calls of the model for which they are enough; meaningless unless Known.
	Calls int
	Known bool // whether there were calls to go by
}

// flowReach is how many of the newest calls of the model an estimate goes by.
const flowReach = 8

// flow is what the newest calls of a stream added to it, and how many there are
// in a conversation.
type flow struct {
	calls    [flowReach]int // tokens, each with what followed it
	n        int            // calls so far
	inFirst  int            // calls before the conversation now
	opened   int            // conversations before it
	now      int            // index of it
	openedAt bool           // whether a piece was seen
}

// add takes a piece down in the form in which it is appended at the most.
func (f *flow) add(c int, piece *Piece) {
	if !f.openedAt || c != f.now {
		if f.openedAt {
			f.opened, f.inFirst = f.opened+1, f.n
		}
		f.now, f.openedAt = c, true
	}
	if piece.Answer {
		f.calls[f.n%flowReach] = 0
		f.n++
	}
	if f.n > 0 && !piece.User && !piece.Context {
		f.calls[(f.n-1)%flowReach] += piece.Forms[0].Tokens
	}
}

// perCall is the mean of what the newest calls added, at least 1; 0 if there were
// none.
func (f *flow) perCall() int {
	n, sum := min(f.n, flowReach), 0
	for _, tokens := range f.calls[:n] {
		sum += tokens
	}
	if n == 0 {
		return 0
	}
	return max(sum/n, 1)
}

// perConversation is the mean of the calls in the conversations before the one
// now; 0 if there were none.
func (f *flow) perConversation() int {
	if f.opened == 0 {
		return 0
	}
	return (f.inFirst + f.opened/2) / f.opened
}

// headroom is what is left of high tokens.
func (pl *plan) headroom(high int) Headroom {
	h := Headroom{Tokens: max(high-pl.tokens, 0)}
	if per := pl.flow.perCall(); per > 0 {
		h.Calls, h.Known = h.Tokens/per, true
	}
	return h
}

// early tells whether piece i of conversation c, which was just appended, is a
// query that opens the conversation, and a fold now is worth its price: in the
// conversation to come, taken to be like those before, there would be one anyway,
// and what it saves until then is more than what the room costs that it gives
// away.
func (f *folder) early(c, i, high int, prices CachePrices) bool {
	if f.policy.OpeningFoldPercent == 0 || c == 0 || !f.stream[c].Pieces[i].User {
		return false
	}
	for k := range f.stream[c].Pieces[:i] {
		if f.stream[c].Pieces[k].User || f.stream[c].Pieces[k].Answer {
			return false
		}
	}
	flow := &f.plan.flow
	calls := flow.perConversation()
	if f.plan.tokens+flow.perCall()*calls*f.policy.OpeningFoldPercent/100 <= high {
		return false
	}
	low := high * f.policy.LowWaterPercent / 100
	return Weigh(f.plan.tokens-low, low, calls, prices).Decision == GatePays
}
