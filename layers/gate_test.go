package layers_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
)

// TestWeigh: the break-even of a fold at the prices of providers that charge for
// writing, of those that do not, and of those without a cache. The cases are
// worked out by hand: cost = rewritten × (write − read), a call gains saved × read.
func TestWeigh(t *testing.T) {
	t.Parallel()
	anthropic, openai, openaiHalf, none := layers.CachePrices{Write: 1.25, Read: 0.1}, layers.CachePrices{Write: 1, Read: 0.1},
		layers.CachePrices{Write: 1, Read: 0.5}, layers.CachePrices{Write: 1, Read: 1}
	hour := layers.CachePrices{Write: 2, Read: 0.1} // Anthropic's longer lifetime
	for i, c := range []struct {
		saved, rewritten, calls int
		prices                  layers.CachePrices
		gain, cost              float64
		breakEven               int
		decision                string
	}{
		{10_000, 5_000, 10, anthropic, 10_000, 5_750, 6, layers.GatePays},
		{10_000, 5_000, 5, anthropic, 5_000, 5_750, 6, layers.GateDeferred},
		{10_000, 5_000, 6, anthropic, 6_000, 5_750, 6, layers.GatePays},
		{1_000, 8_000, 30, anthropic, 3_000, 9_200, 92, layers.GateDeferred},
		{1_000, 8_000, 92, anthropic, 9_200, 9_200, 92, layers.GatePays},
		{10_000, 5_000, 9, hour, 9_000, 9_500, 10, layers.GateDeferred},
		{10_000, 5_000, 10, hour, 10_000, 9_500, 10, layers.GatePays},
		{10_000, 5_000, 4, openai, 4_000, 4_500, 5, layers.GateDeferred},
		{10_000, 5_000, 5, openai, 5_000, 4_500, 5, layers.GatePays},
		{10_000, 5_000, 1, openaiHalf, 5_000, 2_500, 1, layers.GatePays},
		{1, 5_000, 1, none, 1, 0, 0, layers.GatePays},
		{0, 5_000, 100, anthropic, 0, 5_750, 0, layers.GateDeferred},
		{500, 0, 1, anthropic, 50, 0, 0, layers.GatePays},
	} {
		g := layers.Weigh(c.saved, c.rewritten, c.calls, c.prices)
		if math.Abs(g.Gain-c.gain) > 1e-6 || math.Abs(g.Cost-c.cost) > 1e-6 || g.BreakEven != c.breakEven || g.Decision != c.decision {
			t.Errorf("case %d: %+v", i+1, g)
		}
	}
}

// TestWindowGate: layer 1 begins where the standard steps may put it, never
// goes back, and is behind them by no more steps than the policy allows. It is a
// function of the conversations that were complete when it was decided.
func TestWindowGate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policy := layers.DefaultPolicy()
		policy.ActiveMemory = rapid.IntRange(1, 10).Draw(t, "active")
		policy.WindowStep = rapid.IntRange(1, 10).Draw(t, "step")
		policy.WindowDeferrals = rapid.IntRange(0, 4).Draw(t, "deferrals")
		prices := layers.CachePrices{Write: 1.25, Read: 0.1}
		sizes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) layers.ConversationSize {
			return layers.ConversationSize{Tokens: rapid.IntRange(10, 30_000).Draw(t, "tokens"), Calls: rapid.IntRange(1, 40).Draw(t, "calls")}
		}), 1, 120).Draw(t, "sizes")
		before := layers.Window{Start: 1}
		for n := 1; n <= len(sizes)+1; n++ {
			w := policy.Window(n, sizes[min(policy.WindowFrom(n), n-1):n-1], prices)
			standard := policy.WindowBase(n)
			switch {
			case w.Base > standard || standard-w.Base > policy.WindowDeferrals*policy.WindowStep:
				t.Fatalf("with %d opened the window begins at %d, the standard is %d", n, w.Base, standard)
			case w.Base < before.Base:
				t.Fatalf("with %d opened the window goes back from %d to %d", n, before.Base, w.Base)
			case w.Base != before.Base && w.Start != n:
				t.Fatalf("conversation %d moved the window, not %d", n, w.Start)
			case w.Base == before.Base && w.Start != before.Start:
				t.Fatalf("with %d opened the start is %d, it was %d", n, w.Start, before.Start)
			case w.Base == standard && w.Gate.Decision == layers.GateDeferred, w.Base != standard && w.Gate.Decision != layers.GateDeferred:
				t.Fatalf("with %d opened: base %d, standard %d, yet %q", n, w.Base, standard, w.Gate.Decision)
			}
			before = w
		}
	})
}

// TestShortConversationsStay: where conversations are so short that moving the
// window costs more than it saves, it is moved as seldom as the policy allows;
// where they are long, with every step.
func TestShortConversationsStay(t *testing.T) {
	t.Parallel()
	policy := layers.DefaultPolicy()
	for _, c := range []struct {
		size  layers.ConversationSize
		moves int
	}{{layers.ConversationSize{Tokens: 300, Calls: 1}, 2}, {layers.ConversationSize{Tokens: 20_000, Calls: 20}, 8}} {
		sizes := make([]layers.ConversationSize, 50)
		for i := range sizes {
			sizes[i] = c.size
		}
		moves, base := 0, 0
		for n := 1; n <= 48; n++ {
			w := policy.Window(n, sizes[policy.WindowFrom(n):n-1+1], layers.CachePrices{Write: 1.25, Read: 0.1})
			if w.Base != base {
				moves, base = moves+1, w.Base
			}
		}
		if moves != c.moves {
			t.Errorf("conversations of %d tokens: %d moves, want %d", c.size.Tokens, moves, c.moves)
		}
	}
}
