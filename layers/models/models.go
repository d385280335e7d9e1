// Package models is the table of models: context window, output limit,
// tokenizer and prices (requirement P7).
//
// It guarantees that every name has an answer: names with a date, a version or
// a provider's prefix find the model they belong to, and unknown names get the
// default, which says so. It does not know what a call costs; package billing
// does that sum.
package models

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Model is what is known of a model.
type Model struct {
	Name          string // as its provider writes it, lower case, without a date
	ContextWindow int    // tokens of input and output together
	OutputLimit   int    // most tokens of an answer
	Tokenizer     string // encoding that counts exactly; "" when there is no public one
	Prices        Prices
}

// Prices are US dollars per million tokens.
type Prices struct {
	Input      float64
	Output     float64
	CacheWrite float64 // input written to the cache for five minutes; the price of input where writing is free
	CacheRead  float64
}

// Default is the model that stands in for unknown ones. Window and answer are
// seed 004's; the prices are those of a middling model.
func Default() Model {
	return Model{Name: "default", ContextWindow: 100_000, OutputLimit: 8_192, Prices: anthropic(3, 15)}
}

// Table finds models by name. It is immutable; the zero value knows no model
// but the default.
type Table struct {
	models []Model // sorted by name
}

// Builtin returns the table of the models that this program knows. Windows and
// prices are the providers' published ones (platform.claude.com,
// developers.openai.com and ai.google.dev, as of 2026); where a price depends
// on the length of a prompt it is that of short ones.
func Builtin() Table {
	const k, m = 1_000, 1_000_000
	claude := func(name string, window, output int, prices Prices) Model {
		return Model{name, window, output, "", prices}
	}
	openai := func(name string, window, output int, encoding string, input, cached, out float64) Model {
		return Model{name, window, output, encoding, Prices{Input: input, Output: out, CacheWrite: input, CacheRead: cached}}
	}
	gemini := func(name string, input, cached, out float64) Model {
		return Model{name, 1_048_576, 65_536, "", Prices{Input: input, Output: out, CacheWrite: input, CacheRead: cached}}
	}
	const o200k, cl100k = "o200k_base", "cl100k_base"
	return Table{}.with([]Model{
		claude("claude-fable-5", m, 128*k, anthropic(10, 50)),
		claude("claude-fable-5-1", m, 128*k, Prices{10, 50, 12.5, 0.25}),
		claude("claude-opus-5-5", m, 128*k, Prices{4, 20, 5, 0.2}),
		claude("claude-opus-5", m, 128*k, anthropic(5, 25)),
		claude("claude-opus-4-8", m, 128*k, anthropic(5, 25)),
		claude("claude-opus-4-7", m, 128*k, anthropic(5, 25)),
		claude("claude-opus-4-6", m, 128*k, anthropic(5, 25)),
		claude("claude-opus-4-5", 200*k, 64*k, anthropic(5, 25)),
		claude("claude-opus-4-1", 200*k, 32*k, anthropic(15, 75)),
		claude("claude-opus-4", 200*k, 32*k, anthropic(15, 75)),
		claude("claude-3-opus", 200*k, 4096, anthropic(15, 75)),
		claude("claude-sonnet-5-5", m, 128*k, Prices{2, 10, 2.5, 0.1}),
		claude("claude-sonnet-5", m, 128*k, anthropic(2, 10)),
		claude("claude-sonnet-4-6", m, 128*k, anthropic(3, 15)),
		claude("claude-sonnet-4-5", 200*k, 64*k, anthropic(3, 15)),
		claude("claude-sonnet-4", 200*k, 64*k, anthropic(3, 15)),
		claude("claude-3-7-sonnet", 200*k, 64*k, anthropic(3, 15)),
		claude("claude-3-5-sonnet", 200*k, 8192, anthropic(3, 15)),
		claude("claude-3-sonnet", 200*k, 4096, anthropic(3, 15)),
		claude("claude-haiku-4-5", 200*k, 64*k, anthropic(1, 5)),
		claude("claude-3-5-haiku", 200*k, 8192, anthropic(0.8, 4)),
		claude("claude-3-haiku", 200*k, 4096, Prices{0.25, 1.25, 0.30, 0.03}),

		openai("gpt-5", 400*k, 128*k, o200k, 1.25, 0.125, 10),
		openai("gpt-5-mini", 400*k, 128*k, o200k, 0.25, 0.025, 2),
		openai("gpt-5-nano", 400*k, 128*k, o200k, 0.05, 0.005, 0.4),
		openai("gpt-5.1", 400*k, 128*k, o200k, 1.25, 0.125, 10),
		openai("gpt-5.2", 400*k, 128*k, o200k, 1.75, 0.175, 14),
		openai("gpt-4.1", 1_047_576, 32_768, o200k, 2, 0.5, 8),
		openai("gpt-4.1-mini", 1_047_576, 32_768, o200k, 0.4, 0.1, 1.6),
		openai("gpt-4.1-nano", 1_047_576, 32_768, o200k, 0.1, 0.025, 0.4),
		openai("gpt-4o", 128*k, 16_384, o200k, 2.5, 1.25, 10),
		openai("gpt-4o-mini", 128*k, 16_384, o200k, 0.15, 0.075, 0.6),
		openai("o1", 200*k, 100*k, o200k, 15, 7.5, 60),
		openai("o3", 200*k, 100*k, o200k, 2, 0.5, 8),
		openai("o3-mini", 200*k, 100*k, o200k, 1.1, 0.55, 4.4),
		openai("o4-mini", 200*k, 100*k, o200k, 1.1, 0.275, 4.4),
		openai("gpt-4-turbo", 128*k, 4096, cl100k, 10, 10, 30),
		openai("gpt-4", 8192, 8192, cl100k, 30, 30, 60),
		openai("gpt-3.5-turbo", 16_385, 4096, cl100k, 0.5, 0.5, 1.5),

		gemini("gemini-2.5-pro", 1.25, 0.125, 10),
		gemini("gemini-2.5-flash", 0.3, 0.03, 2.5),
		gemini("gemini-2.5-flash-lite", 0.1, 0.01, 0.4),
		gemini("gemini-2.0-flash", 0.1, 0.025, 0.4),
	})
}

// anthropic returns prices with Anthropic's cache multipliers: 1.25 for
// writing with a lifetime of five minutes, 0.1 for reading.
func anthropic(input, output float64) Prices {
	return Prices{Input: input, Output: output, CacheWrite: input * 1.25, CacheRead: input * 0.1}
}

// With returns the table with models added; one of a name that is known
// already takes its place.
func (t Table) With(models ...Model) (Table, error) {
	for i, m := range models {
		if err := m.check(); err != nil {
			return Table{}, fmt.Errorf("models: entry %d: %w", i+1, err)
		}
	}
	return t.with(models), nil
}

func (t Table) with(models []Model) Table {
	all := slices.Clone(t.models)
	for _, m := range models {
		m.Name = strings.ToLower(m.Name)
		i, found := slices.BinarySearchFunc(all, m.Name, byName)
		if found {
			all[i] = m
		} else {
			all = slices.Insert(all, i, m)
		}
	}
	return Table{all}
}

func byName(m Model, name string) int { return strings.Compare(m.Name, name) }

func (m Model) check() error {
	p := m.Prices
	switch {
	case m.Name == "":
		return errors.New("no name")
	case m.ContextWindow <= 0:
		return fmt.Errorf("%s: context window %d is not positive", m.Name, m.ContextWindow)
	case m.OutputLimit < 0 || m.OutputLimit > m.ContextWindow:
		return fmt.Errorf("%s: output limit %d is not between 0 and the context window", m.Name, m.OutputLimit)
	case !(p.Input >= 0 && p.Output >= 0 && p.CacheWrite >= 0 && p.CacheRead >= 0):
		return fmt.Errorf("%s: a price is negative", m.Name)
	}
	return nil
}

// Models returns all models by name. The caller owns the slice.
func (t Table) Models() []Model { return slices.Clone(t.models) }

// Lookup finds a model by a name as providers, gateways and transcripts write
// it: "claude-opus-4-5-20251101", "anthropic/claude-opus-4.5",
// "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-opus-4-6[1m]".
// known is false when the default stands in.
func (t Table) Lookup(name string) (m Model, known bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	name = name[strings.LastIndexByte(name, '/')+1:]
	for {
		if m, ok := t.longest(name); ok {
			return m, true
		}
		// Gateways put region and maker in front, apart by a point.
		_, rest, found := strings.Cut(name, ".")
		if !found {
			return Default(), false
		}
		name = rest
	}
}

// longest returns the model with the longest name that is the beginning of
// name and ends where a part of it ends. Anthropic's version numbers are also
// written with a point.
func (t Table) longest(name string) (Model, bool) {
	forms := [...]string{name, strings.ReplaceAll(name, ".", "-")}
	best := -1
	for i, m := range t.models {
		for _, form := range forms {
			rest, ok := strings.CutPrefix(form, m.Name)
			if ok && ends(rest) && (best < 0 || len(m.Name) > len(t.models[best].Name)) {
				best = i
			}
		}
	}
	if best < 0 {
		return Model{}, false
	}
	return t.models[best], true
}

// ends tells whether what follows a model's name is a date, a variant or
// nothing, and not another version: gpt-4 is not gpt-4.5, nor is
// claude-opus-4 claude-opus-4-9.
func ends(rest string) bool {
	if rest == "" {
		return true
	}
	switch rest[0] {
	case '@', ':', '[', ' ':
		return true
	case '-':
		digits := 1
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' {
			digits++
		}
		return digits == 1 || digits >= 5 // no number, or year and month
	}
	return false
}
