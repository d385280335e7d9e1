package main

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"time"

	"hexapla/internal/billing"
	"hexapla/layers/models"
)

// replayCall is one model call of a replay.
type replayCall struct {
	number       int
	conversation int
	history      int64 // tokens of the full history
	pack         int   // tokens of the pack
	bytes, same  int   // of the pack's text, and of those the ones that are as before
	charges      charges
	actual       *billing.Charge // as the provider billed it; nil when unknown
	model        models.Model    // that was called
	needs        *needed         // nil before the first pack
	build        time.Duration
	violation    bool
}

// charges are what the input of a call costs in each way.
type charges struct{ full, window, summary, pack billing.Charge }

func (c charges) add(d charges) charges {
	return charges{c.full.Add(d.full), c.window.Add(d.window), c.summary.Add(d.summary), c.pack.Add(d.pack)}
}

// scale turns counted tokens into the provider's.
func (c charges) scale(f float64) charges {
	return charges{c.full.Scale(f), c.window.Scale(f), c.summary.Scale(f), c.pack.Scale(f)}
}

// money is charges in dollars.
type money struct{ full, window, summary, pack float64 }

func (c charges) dollars(p models.Prices) money {
	return money{c.full.Dollars(p), c.window.Dollars(p), c.summary.Dollars(p), c.pack.Dollars(p)}
}

func (m money) add(n money) money {
	return money{m.full + n.full, m.window + n.window, m.summary + n.summary, m.pack + n.pack}
}

// totals are the sums of one replay or several.
type totals struct {
	conversations int
	calls         []replayCall
	overhead      int // tokens; of several replays the sum
	full, pack    int64
	bytes, same   int64
	history       charges // of the history alone
	billed        charges // with the system overhead
	dollars       money   // with the system overhead
	actual        billing.Charge
	actualDollars float64
	hasActual     bool // whether every call has the provider's usage
	needs         needed
	violations    int
	checksum      string
}

// fileResult is what came of one file.
type fileResult struct {
	totals
	file     string
	model    string // as the transcript or the flag names it
	prices   models.Model
	known    bool // whether the model is in the price table
	counter  string
	factor   float64 // what a counted token is in the provider's tokens
	estimate bool
	budget   int
	measured bool // the overhead was taken from the first call's usage
}

// finish adds up the calls.
func (r *fileResult) finish() {
	r.hasActual = len(r.calls) > 0
	for i, c := range r.calls {
		r.full += c.history
		r.pack += int64(c.pack)
		r.bytes += int64(c.bytes)
		r.same += int64(c.same)
		r.history = r.history.add(c.charges)
		o := billing.Overhead(r.overhead, i == 0)
		r.billed = r.billed.add(charges{o, o, o, o})
		if c.violation {
			r.violations++
		}
		if c.needs != nil {
			r.needs = r.needs.add(*c.needs)
		}
		if c.actual == nil {
			r.hasActual = false
			continue
		}
		r.actual = r.actual.Add(*c.actual)
		r.actualDollars += c.actual.Dollars(c.model.Prices)
	}
	r.history = r.history.scale(r.factor)
	r.billed = r.billed.add(r.history)
	r.dollars = r.billed.dollars(r.prices.Prices)
}

// sum adds up several replays. The overhead is a sum, too: each session sends
// its own.
func sum(results []*fileResult) totals {
	t := totals{hasActual: len(results) > 0}
	for _, r := range results {
		t.conversations += r.conversations
		t.calls = append(t.calls, r.calls...)
		t.overhead += r.overhead
		t.full += r.full
		t.pack += r.pack
		t.bytes += r.bytes
		t.same += r.same
		t.history = t.history.add(r.history)
		t.billed = t.billed.add(r.billed)
		t.dollars = t.dollars.add(r.dollars)
		t.actual = t.actual.Add(r.actual)
		t.actualDollars += r.actualDollars
		t.hasActual = t.hasActual && r.hasActual
		t.needs = t.needs.add(r.needs)
		t.violations += r.violations
		t.checksum = r.checksum
	}
	return t
}

// reduction returns 1 - pack/full, the share of history tokens that is saved.
func (t totals) reduction() float64 {
	if t.full == 0 {
		return 0
	}
	return 1 - float64(t.pack)/float64(t.full)
}

// cachedShare returns the share of all packs' bytes that are the same as at
// the beginning of the pack before.
func (t totals) cachedShare() float64 { return ratio(float64(t.same), float64(t.bytes)) }

// latency returns a percentile of the times to build a pack, as the client
// sees it, in milliseconds: the smallest that q of all do not exceed.
func (t totals) latency(q float64) float64 {
	if len(t.calls) == 0 {
		return 0
	}
	times := make([]time.Duration, len(t.calls))
	for i, c := range t.calls {
		times[i] = c.build
	}
	slices.Sort(times)
	rank := int(math.Ceil(q*float64(len(times)))) - 1
	return float64(times[min(max(rank, 0), len(times)-1)]) / float64(time.Millisecond)
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// jsonResult is a result as --json prints it. Costs are in plain input tokens.
type jsonResult struct {
	File           string       `json:"file,omitempty"`
	Conversations  int          `json:"conversations"`
	Calls          int          `json:"calls"`
	OverheadTokens int          `json:"overheadTokens"`
	FullTokens     int64        `json:"fullTokens"`
	PackTokens     int64        `json:"packTokens"`
	Reduction      float64      `json:"reduction"`
	CachedShare    float64      `json:"cachedShare"`
	Billed         jsonBilled   `json:"billed"`
	BilledHistory  jsonHistory  `json:"billedHistory"`
	Needs          jsonNeeds    `json:"needs"`
	Violations     int          `json:"violations"`
	P50Ms          float64      `json:"p50Ms"`
	P99Ms          float64      `json:"p99Ms"`
	LastChecksum   string       `json:"lastChecksum"`
	Files          []jsonResult `json:"files,omitempty"`
}

// jsonNeeds is which share of the names that the next tool call needed, and that
// had occurred before, was in the pack, and in a sliding window of the packs'
// average size.
type jsonNeeds struct {
	Paths       *float64        `json:"paths"` // null when none was needed
	Identifiers *float64        `json:"identifiers"`
	Window      jsonWindowNeeds `json:"window"`
}

type jsonWindowNeeds struct {
	Paths       *float64 `json:"paths"`
	Identifiers *float64 `json:"identifiers"`
}

func (n needed) json() jsonNeeds {
	share := func(part, all int) *float64 {
		if all == 0 {
			return nil
		}
		s := places(ratio(float64(part), float64(all)))
		return &s
	}
	return jsonNeeds{
		share(n.paths.pack, n.paths.all), share(n.identifiers.pack, n.identifiers.all),
		jsonWindowNeeds{share(n.paths.window, n.paths.all), share(n.identifiers.window, n.identifiers.all)},
	}
}

type jsonBilled struct {
	Actual *float64 `json:"actual"` // null when a call has no usage
	jsonHistory
}

type jsonHistory struct {
	Full       float64 `json:"full"`
	Window     float64 `json:"window"`
	Compaction float64 `json:"compaction"`
	Pack       float64 `json:"pack"`
}

func (t totals) json() jsonResult {
	r := jsonResult{
		Conversations: t.conversations, Calls: len(t.calls), OverheadTokens: t.overhead,
		FullTokens: t.full, PackTokens: t.pack, Reduction: places(t.reduction()), CachedShare: places(t.cachedShare()),
		Billed: jsonBilled{jsonHistory: t.billed.json()}, BilledHistory: t.history.json(),
		Needs: t.needs.json(), Violations: t.violations, P50Ms: places(t.latency(0.5)), P99Ms: places(t.latency(0.99)), LastChecksum: t.checksum,
	}
	if t.hasActual {
		actual := t.actual.Equivalents()
		r.Billed.Actual = &actual
	}
	return r
}

func (c charges) json() jsonHistory {
	return jsonHistory{c.full.Equivalents(), c.window.Equivalents(), c.summary.Equivalents(), c.pack.Equivalents()}
}

// places rounds to four places.
func places(x float64) float64 { return math.Round(x*1e4) / 1e4 }

func writeJSON(w io.Writer, results []*fileResult) error {
	out := sum(results).json()
	if len(results) > 1 {
		for _, r := range results {
			one := r.json()
			one.File = r.file
			out.Files = append(out.Files, one)
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
