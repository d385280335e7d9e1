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
