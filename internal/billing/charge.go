// Package billing computes what the input of a row of model calls costs, for
// several ways of making prompts from one recorded session: the full history,
// a sliding window, a summary at a threshold, and packs.
//
// It guarantees that all ways are measured with one meter: the same messages,
// the same counts, the same model of the provider's cache, the same price.
//
// The cache is modelled as a provider that bills by prefix (Anthropic's
// documentation, "Prompt caching"): what a prompt has in common with the
// beginning of the one before is read from the cache, all else is written to
// it. Three things are left out, each to the advantage of long prompts: the
// cache never expires between calls (it lives five minutes), a prefix is found
// at any length (in truth at breakpoints), and the call that writes a summary
// is free. Output is left out too: it is the same on every side.
package billing

import (
	"math"

	"hexapla/layers/models"
)

// Weights of input tokens relative to plain ones, by Anthropic's price list
// (platform.claude.com, "Pricing", prompt caching): a write that lives five
// minutes, one that lives an hour, and a read.
const (
	WeightPlain     = 1.0
	WeightWrite     = 1.25
	WeightWriteHour = 2.0
	WeightRead      = 0.1
)

// Charge is input tokens by the way they are billed.
type Charge struct {
	Plain     int64 // neither written to the cache nor read from it
	Write     int64 // written for five minutes
	WriteHour int64 // written for an hour
	Read      int64 // read from the cache
}

// Add returns the sum of two charges.
func (c Charge) Add(d Charge) Charge {
	return Charge{c.Plain + d.Plain, c.Write + d.Write, c.WriteHour + d.WriteHour, c.Read + d.Read}
}

// Scale multiplies the tokens, as when those of one tokenizer are to be told in
// those of another.
func (c Charge) Scale(f float64) Charge {
	scale := func(n int64) int64 { return int64(math.Round(float64(n) * f)) }
	return Charge{scale(c.Plain), scale(c.Write), scale(c.WriteHour), scale(c.Read)}
}

// Tokens returns all input tokens.
func (c Charge) Tokens() int64 { return c.Plain + c.Write + c.WriteHour + c.Read }

// Equivalents returns the charge in plain input tokens:
// plain + 1.25 write + 2 write for an hour + 0.1 read.
func (c Charge) Equivalents() float64 {
	// In hundredths, so that sums of equal charges are equal numbers.
	return float64(100*c.Plain+125*c.Write+200*c.WriteHour+10*c.Read) / 100
}

// EquivalentsAt returns the charge in plain input tokens by the prices of a
// model, whose writes and reads may weigh otherwise; without a price of input as
// Equivalents does.
func (c Charge) EquivalentsAt(p models.Prices) float64 {
	if p.Input <= 0 {
		return c.Equivalents()
	}
	return c.Dollars(p) / p.Input * 1e6
}

// Dollars returns the charge in US dollars. A write for an hour costs 1.6 times
// one for five minutes (2 against 1.25).
func (c Charge) Dollars(p models.Prices) float64 {
	sum := float64(c.Plain)*p.Input + float64(c.Write)*p.CacheWrite +
		float64(c.WriteHour)*p.CacheWrite*WeightWriteHour/WeightWrite + float64(c.Read)*p.CacheRead
	return sum / 1e6
}

// Pack returns the charge of a pack of used tokens, of which the first common
// are the same as in the pack before.
func Pack(used, common int) Charge {
	used = max(used, 0)
	common = min(max(common, 0), used)
	return Charge{Read: int64(common), Write: int64(used - common)}
}

// Overhead returns the charge of what stands before the history on every call
// (system prompt, tool schemas): written at the first, read afterwards.
func Overhead(tokens int, first bool) Charge {
	if first {
		return Charge{Write: int64(max(tokens, 0))}
	}
	return Charge{Read: int64(max(tokens, 0))}
}
