package main

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"hexapla/internal/billing"
	"hexapla/layers/models"
)

// madeUp is a result of n calls with round figures.
func madeUp(file string, n int) *fileResult {
	prices, known := models.Builtin().Lookup("claude-opus-4-5-20251101")
	r := &fileResult{
		file: file, model: "claude-opus-4-5-20251101", prices: prices, known: known,
		counter: "estimate:o200k_base", estimate: true, factor: 1, budget: 16_000, measured: true,
	}
	r.overhead = 20_000
	full, window, summary := &billing.Full{}, billing.NewWindow(16_000), billing.NewCompacting(200_000, 20_000)
	for i := range n {
		m := billing.Message{ID: i, Tokens: 2_000, Follows: i - 1}
		full.Add(m)
		window.Add(m)
		summary.Add(m)
		c := replayCall{number: i + 1, conversation: 1 + i/9, history: int64(2_000 * (i + 1)), pack: min(2_000*(i+1), 16_000), bytes: 60_000, same: 54_000}
		c.build = time.Duration(i+1) * 100 * time.Microsecond
		c.charges = charges{full.Call(), window.Call(), summary.Call(), billing.Pack(c.pack, max(0, c.pack-2_000))}
		c.actual = &billing.Charge{Plain: 10, Write: 2_000, Read: int64(2_000*i + 20_000)}
		c.model = prices
		r.calls = append(r.calls, c)
	}
	r.conversations = 1 + (n-1)/9
	r.checksum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	r.finish()
	return r
}

func TestReplayTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	one, two := madeUp("one.jsonl", 60), madeUp("two.md", 3)
	two.calls[0].violation, two.calls[1].actual = true, nil
	two.prices = models.Default()
	two.known, two.measured, two.estimate, two.counter, two.model = false, false, false, "o200k_base", ""
	two.totals = totals{calls: two.calls, conversations: 1, overhead: 0, checksum: "ff"}
	two.finish()
	writeFile(&b, one, false)
	b.WriteString("\n")
	writeFile(&b, two, true)
	b.WriteString("\n")
	writeTotal(&b, sum([]*fileResult{one, two}), 2)
	golden(t, "replay/table.txt", b.String())
}

func TestReplayJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := writeJSON(&b, []*fileResult{madeUp("one.jsonl", 60)}); err != nil {
		t.Fatal(err)
	}
	golden(t, "replay/one.json", b.String())
	b.Reset()
	if err := writeJSON(&b, []*fileResult{madeUp("one.jsonl", 10), madeUp("two.jsonl", 2)}); err != nil {
		t.Fatal(err)
	}
	var out jsonResult
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Files) != 2 || out.File != "" || out.Files[1].File != "two.jsonl" || out.Calls != 12 ||
		out.Files[0].Calls+out.Files[1].Calls != 12 || out.FullTokens != out.Files[0].FullTokens+out.Files[1].FullTokens {
		t.Errorf("%+v", out)
	}
}

// TestSums: what the table adds up, checked by hand.
func TestSums(t *testing.T) {
	t.Parallel()
	r := madeUp("x", 10)
	// Full history: 20,000 written, 2,000 × (1 + … + 9) read.
	if want := (billing.Charge{Write: 20_000, Read: 90_000}); r.history.full != want {
		t.Errorf("full history %+v, want %+v", r.history.full, want)
	}
	// The overhead: 20,000 written once, read nine times; the same on each side.
	overhead := billing.Charge{Write: 20_000, Read: 180_000}
	if r.billed.full != r.history.full.Add(overhead) || r.billed.pack != r.history.pack.Add(overhead) || r.billed.window != r.history.window.Add(overhead) {
		t.Errorf("billed %+v", r.billed)
	}
	if r.full != 110_000 || r.pack != 2_000*(1+2+3+4+5+6+7+8+8+8) {
		t.Errorf("%d tokens of history, %d of packs", r.full, r.pack)
	}
	if got, want := r.reduction(), 6_000.0/110_000; math.Abs(got-want) > 1e-12 {
		t.Errorf("reduction %v, want %v", got, want)
	}
	if got := r.cachedShare(); got != 0.9 {
		t.Errorf("cached share %v", got)
	}
	if p50, p99 := r.latency(0.5), r.latency(0.99); p50 != 0.5 || p99 != 1 {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, most int
		want    []int
	}{
		{0, 5, []int{}}, {1, 5, []int{0}}, {3, 5, []int{0, 1, 2}}, {5, 5, []int{0, 1, 2, 3, 4}},
		{10, 4, []int{0, 3, 6, 9}}, {100, 2, []int{0, 99}}, {7, 1, []int{0}},
	} {
		if got := sample(c.n, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%d of %d: %v, want %v", c.most, c.n, got, c.want)
		}
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -123: "-123", 100000: "100,000"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
