package models

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	table := Builtin()
	for name, want := range map[string]string{
		"claude-opus-4-5":                              "claude-opus-4-5",
		"claude-opus-4-5-20251101":                     "claude-opus-4-5",
		"claude-opus-4-20250514":                       "claude-opus-4",
		"claude-opus-4-1-20250805":                     "claude-opus-4-1",
		"anthropic/claude-opus-4.5":                    "claude-opus-4-5",
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0": "claude-sonnet-4-5",
		"claude-opus-4-6[1m]":                          "claude-opus-4-6",
		"Claude-3-5-Haiku-latest":                      "claude-3-5-haiku",
		"claude-sonnet-4@20250514":                     "claude-sonnet-4",
		"gpt-4o-2024-08-06":                            "gpt-4o",
		"gpt-4o-mini-2024-07-18":                       "gpt-4o-mini",
		"gpt-4.1-mini":                                 "gpt-4.1-mini",
		"gpt-5-codex":                                  "gpt-5",
		"gemini-2.5-pro-preview-05-06":                 "gemini-2.5-pro",
		"models/gemini-2.5-flash":                      "gemini-2.5-flash",
		// Other versions are other models.
		"claude-opus-4-9": "",
		"gpt-4.5-preview": "",
		"gpt-5.9":         "",
		"gpt-40":          "",
		"llama3":          "",
		"":                "",
		"...":             "",
	} {
		m, known := table.Lookup(name)
		if want == "" {
			if known || m.Name != Default().Name {
				t.Errorf("Lookup(%q) = %s, %v; want the default, unknown", name, m.Name, known)
			}
			continue
		}
		if m.Name != want || !known {
			t.Errorf("Lookup(%q) = %s, %v; want %s", name, m.Name, known, want)
		}
	}
}

// TestPrices checks the published prices of the models that the recorded
// sessions use.
func TestPrices(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Prices{
		"claude-opus-4-5":   {Input: 5, Output: 25, CacheWrite: 6.25, CacheRead: 0.5},
		"claude-sonnet-4-5": {Input: 3, Output: 15, CacheWrite: 3.75, CacheRead: 0.3},
		"claude-haiku-4-5":  {Input: 1, Output: 5, CacheWrite: 1.25, CacheRead: 0.1},
		"gpt-4o":            {Input: 2.5, Output: 10, CacheWrite: 2.5, CacheRead: 1.25},
	} {
		m, _ := Builtin().Lookup(name)
		near := func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }
		if !near(m.Prices.Input, want.Input) || !near(m.Prices.Output, want.Output) ||
			!near(m.Prices.CacheWrite, want.CacheWrite) || !near(m.Prices.CacheRead, want.CacheRead) {
			t.Errorf("%s: %+v, want %+v", name, m.Prices, want)
		}
	}
}

func TestBuiltinIsSound(t *testing.T) {
	t.Parallel()
	models := Builtin().Models()
	if len(models) < 30 {
		t.Fatalf("%d models", len(models))
	}
	if !slices.IsSortedFunc(models, func(a, b Model) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted by name")
	}
	for i, m := range models {
		if err := m.check(); err != nil {
			t.Error(err)
		}
		if i > 0 && models[i-1].Name == m.Name {
			t.Errorf("%s is in the table twice", m.Name)
		}
		if p := m.Prices; p.CacheRead > p.Input || p.CacheWrite < p.Input || p.Output < p.Input {
			t.Errorf("%s: odd prices %+v", m.Name, p)
		}
		if found, known := Builtin().Lookup(m.Name); !known || found != m {
			t.Errorf("%s does not find itself but %s", m.Name, found.Name)
		}
	}
}

func TestWith(t *testing.T) {
	t.Parallel()
	base := Builtin()
	own := Model{Name: "My-Model", ContextWindow: 32_000, OutputLimit: 1000, Prices: Prices{Input: 1}}
	cheaper := Model{Name: "gpt-4o", ContextWindow: 128_000, Prices: Prices{Input: 0.5}}
	table, err := base.With(own, cheaper)
	if err != nil {
		t.Fatal(err)
	}
	if m, known := table.Lookup("my-model-20260101"); !known || m.ContextWindow != 32_000 {
		t.Errorf("the added model is not found: %+v", m)
	}
	if m, _ := table.Lookup("gpt-4o"); m.Prices.Input != 0.5 {
		t.Errorf("the replaced model keeps its price: %+v", m)
	}
	if m, _ := base.Lookup("gpt-4o"); m.Prices.Input != 2.5 {
		t.Error("With changed the table it was called on")
	}
	for _, bad := range []Model{
		{ContextWindow: 1},
		{Name: "a"},
		{Name: "a", ContextWindow: 10, OutputLimit: 11},
		{Name: "a", ContextWindow: 10, Prices: Prices{Input: -1}},
	} {
		if _, err := base.With(bad); err == nil {
			t.Errorf("With(%+v) gave no error", bad)
		}
	}
}

func TestLookupAnyName(t *testing.T) {
	t.Parallel()
	table := Builtin()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		m, known := table.Lookup(name)
		if m.ContextWindow <= 0 || !known && m != Default() {
			t.Fatalf("Lookup(%q) = %+v, %v", name, m, known)
		}
	})
}
