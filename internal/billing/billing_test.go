package billing

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers/models"
)

// feed adds messages of the given sizes, each following the one before, with a
// call after each, and returns the charges.
func feed(s Strategy, sizes ...int) []Charge {
	var charges []Charge
	for i, n := range sizes {
		s.Add(Message{ID: i, Tokens: n, Follows: i - 1})
		charges = append(charges, s.Call())
	}
	return charges
}

func equal(t *testing.T, got, want []Charge) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d charges, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("call %d: %+v, want %+v", i+1, got[i], want[i])
		}
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	equal(t, feed(&Full{}, 100, 50, 10), []Charge{{Write: 100}, {Read: 100, Write: 50}, {Read: 150, Write: 10}})
}

func TestFullBeginsAnewAtACompaction(t *testing.T) {
	t.Parallel()
	f := &Full{}
	feed(f, 1000, 1000)
	f.Add(Message{ID: 2, Tokens: 30, Follows: 1, Compaction: true})
	f.Add(Message{ID: 3, Tokens: 5, Follows: 2})
	equal(t, []Charge{f.Call()}, []Charge{{Write: 35}})
	f.Add(Message{ID: 4, Tokens: 7, Follows: 3})
	equal(t, []Charge{f.Call()}, []Charge{{Read: 35, Write: 7}})
}

func TestFullAfterGoingBack(t *testing.T) {
	t.Parallel()
	f := &Full{}
	feed(f, 100, 200, 300)
	f.Add(Message{ID: 3, Tokens: 7, Follows: 0})
	equal(t, []Charge{f.Call()}, []Charge{{Read: 100, Write: 7}})
}

func TestWindow(t *testing.T) {
	t.Parallel()
	// Grows until it is full, then nothing of it is read from the cache.
	equal(t, feed(NewWindow(100), 40, 40, 40, 10, 500, 10),
		[]Charge{{Write: 40}, {Read: 40, Write: 40}, {Write: 80}, {Read: 80, Write: 10}, {Write: 100}, {Write: 10}})
}

func TestWindowLeavesTheClientsSummaryOut(t *testing.T) {
	t.Parallel()
	w := NewWindow(1000)
	feed(w, 100)
	w.Add(Message{ID: 1, Tokens: 50, Follows: 0, Compaction: true})
	w.Add(Message{ID: 2, Tokens: 5, Follows: 1})
	equal(t, []Charge{w.Call()}, []Charge{{Read: 100, Write: 5}})
}

func TestCompacting(t *testing.T) {
	t.Parallel()
	// 80 % of 20,000 less 1,000 overhead leaves 15,000.
	equal(t, feed(NewCompacting(20_000, 1_000), 10_000, 5_000, 1, 100), []Charge{
		{Write: 10_000}, {Read: 10_000, Write: 5_000}, {Write: 3_000}, {Read: 3_000, Write: 100},
	})
	// A window that is too small for a summary does not make one larger.
	equal(t, feed(NewCompacting(100, 0), 200, 300), []Charge{{Write: 200}, {Read: 200, Write: 300}})
}

func TestCharge(t *testing.T) {
	t.Parallel()
	c := Charge{Plain: 10, Write: 100, WriteHour: 10, Read: 1000}
	if got, want := c.Equivalents(), 10+125+20+100.0; got != want {
		t.Errorf("equivalents %v, want %v", got, want)
	}
	prices, _ := models.Builtin().Lookup("claude-opus-4-5")
	if got, want := c.Dollars(prices.Prices), (10*5+100*6.25+10*10+1000*0.5)/1e6; math.Abs(got-want) > 1e-12 {
		t.Errorf("dollars %v, want %v", got, want)
	}
	if got := c.EquivalentsAt(prices.Prices); math.Abs(got-c.Equivalents()) > 1e-9 {
		t.Errorf("equivalents at the prices of Anthropic %v, want %v", got, c.Equivalents())
	}
	if got := c.EquivalentsAt(models.Prices{Input: 2, CacheWrite: 2, CacheRead: 1}); got != 10+100+16+500 {
		t.Errorf("equivalents where writing is free %v", got)
	}
	if got := c.EquivalentsAt(models.Prices{}); got != c.Equivalents() {
		t.Errorf("equivalents without prices %v", got)
	}
	if got := c.Add(c); got.Tokens() != 2*c.Tokens() || got.Equivalents() != 2*c.Equivalents() {
		t.Errorf("sum %+v", got)
	}
}

func TestPackAndOverhead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got, want Charge
	}{
		{Pack(16_000, 14_400), Charge{Read: 14_400, Write: 1_600}},
		{Pack(100, 200), Charge{Read: 100}},
		{Pack(100, -1), Charge{Write: 100}},
		{Overhead(20_000, true), Charge{Write: 20_000}},
		{Overhead(20_000, false), Charge{Read: 20_000}},
		{Overhead(-5, true), Charge{}},
	} {
		if c.got != c.want {
			t.Errorf("%+v, want %+v", c.got, c.want)
		}
	}
	// The figure of the design: nine tenths unchanged cost 3,440, rewritten 20,000.
	if got := Pack(16_000, 14_400).Equivalents(); got != 3_440 {
		t.Errorf("%v", got)
	}
}

func sizes(t *rapid.T) []int {
	return rapid.SliceOfN(rapid.IntRange(0, 5_000), 1, 40).Draw(t, "sizes")
}

// TestEveryTokenIsBilledOnce: a charge has the tokens of the prompt, whatever
// the strategy.
func TestEveryTokenIsBilledOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := sizes(t)
		budget := rapid.IntRange(0, 20_000).Draw(t, "budget")
		full, window, compacting := feed(&Full{}, all...), feed(NewWindow(budget), all...), feed(NewCompacting(25_000, 0), all...)
		sum := 0
		for i, n := range all {
			sum += n
			if full[i].Tokens() != int64(sum) {
				t.Fatalf("call %d: full history of %d tokens billed as %+v", i, sum, full[i])
			}
			if window[i].Tokens() > int64(min(budget, sum)) && sum > 0 && n <= budget {
				t.Fatalf("call %d: window of %d billed as %+v", i, budget, window[i])
			}
			if compacting[i].Tokens() > 20_000+5_000 {
				t.Fatalf("call %d: compacting history billed as %+v", i, compacting[i])
			}
		}
	})
}

// TestCachePaysOff: a history that only grows costs no more than without a
// cache, wherever the old part is worth what writing the new one costs more:
// 0.9 old ≥ 0.25 new.
func TestCachePaysOff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		old := 0
		for i, charge := range feed(&Full{}, sizes(t)...) {
			if charge.Read != int64(old) {
				t.Fatalf("call %d: %+v, but %d tokens were there before", i, charge, old)
			}
			if 0.9*float64(charge.Read) >= 0.25*float64(charge.Write) && charge.Equivalents() > float64(charge.Tokens())+1e-6 {
				t.Fatalf("call %d: %+v costs more than without a cache", i, charge)
			}
			old = int(charge.Tokens())
		}
	})
}

// TestEqualPromptsCostATenth: the same prompt again is read from the cache.
func TestEqualPromptsCostATenth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := sizes(t)
		strategies := []Strategy{&Full{}, NewWindow(rapid.IntRange(0, 20_000).Draw(t, "budget")), NewCompacting(25_000, 0)}
		for _, s := range strategies {
			feed(s, all...)
			first, again := s.Call(), s.Call()
			if again.Tokens() != first.Tokens() || again.Write != 0 || math.Abs(again.Equivalents()-0.1*float64(again.Tokens())) > 1e-6 {
				t.Fatalf("%T: %+v, again %+v", s, first, again)
			}
		}
	})
}
