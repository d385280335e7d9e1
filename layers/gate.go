package layers

import "math"

// CachePrices are what a provider charges for input that it writes to its cache
// and reads from it, as multiples of plain input.
type CachePrices struct {
	Write float64 `json:"write"`
	Read  float64 `json:"read"`
}

// Gate is the decision about a fold: what it saves against what it costs that
// the bytes behind it are written to the provider's cache anew. Gain and Cost
// are in tokens of plain input.
type Gate struct {
	Decision  string // GateForced, GatePays or GateDeferred; "" if there was nothing to decide
	Sequence  int64  // at which it was taken
	Saved     int    // tokens that every later pack is without
	Rewritten int    // tokens that are written anew
	Calls     int    // model calls that are expected until the next decision: as many as since the last
	Gain      float64
	Cost      float64
	// BreakEven is the number of calls from which on the fold pays; 0 where it
	// never does.
	BreakEven int
}

// Decisions of a gate.
const (
	GateForced   = "forced"   // there was no room, or it had been put off often enough
	GatePays     = "pays"     // the gain is the cost or more
	GateDeferred = "deferred" // the gain is less; the pack goes on as it was
)

// Weigh sets what a fold saves in the calls to come against what it costs.
// Without it the rewritten tokens would be read from the cache.
func Weigh(saved, rewritten, calls int, p CachePrices) Gate {
	g := Gate{Saved: saved, Rewritten: rewritten, Calls: calls, Decision: GateDeferred}
	g.Gain = float64(saved) * p.Read * float64(calls)
	g.Cost = float64(rewritten) * max(p.Write-p.Read, 0)
	if per := float64(saved) * p.Read; per > 0 {
		g.BreakEven = int(math.Ceil(g.Cost / per))
	}
	if saved > 0 && g.Gain >= g.Cost {
		g.Decision = GatePays
	}
	return g
}

// ConversationSize is what the gate needs of a completed conversation.
type ConversationSize struct {
	Tokens int // of its full text
	Calls  int // model calls in it
}

// Window is where layer 1 begins.
type Window struct {
	Base  int // conversations before it
	Start int // number, from 1, of the conversation whose opening moved it there; 1 if it never moved
	// Gate is the newest decision, Decided the number of the conversation at
	// whose opening it was taken.
	Gate    Gate
	Decided int
}

// WindowFrom returns the number of conversations that Window need not know the
// sizes of, when n have been opened.
func (p Policy) WindowFrom(n int) int {
	moves := p.WindowBase(n) / p.WindowStep
	return moves / (p.WindowDeferrals + 1) * (p.WindowDeferrals + 1) * p.WindowStep
}

// Window returns where layer 1 begins when n conversations have been opened.
// sizes are those of the conversations from WindowFrom(n) on that are complete.
//
// WindowBase says where it may move. It does where the gate says that this pays,
// and after WindowDeferrals times in a row that it did not. So the window is a
// function of the conversations alone.
func (p Policy) Window(n int, sizes []ConversationSize, prices CachePrices) Window {
	from := p.WindowFrom(n)
	w := Window{Base: from, Start: 1}
	if from > 0 {
		w.Start = p.WindowStart(p.opens(from))
		w.Gate.Decision, w.Decided = GateForced, w.Start
	}
	sum := func(a, b int) (s ConversationSize) {
		for i := max(a-from, 0); i < min(b-from, len(sizes)); i++ {
			s.Tokens += sizes[i].Tokens
			s.Calls += sizes[i].Calls
		}
		return s
	}
	for base := from + p.WindowStep; base <= p.WindowBase(n); base += p.WindowStep {
		opened := p.opens(base)
		leave, keep, lately := sum(w.Base, base), sum(base, opened-1), sum(opened-1-p.WindowStep, opened-1)
		front := CapHeader*min(base, MaxHeaders) + CapSummary*p.Summaries
		w.Decided = opened
		w.Gate = Weigh(max(leave.Tokens-CapHeader*(base-w.Base), 0), keep.Tokens+front, lately.Calls, prices)
		if w.Gate.Decision == GatePays {
			w.Base, w.Start = base, opened
		}
	}
	return w
}

// opens returns the number of the conversation whose opening may move the
// window to a base.
func (p Policy) opens(base int) int { return base + p.ActiveMemory + 1 }
