package models_test

import (
	"strings"
	"testing"

	"hexapla/layers/models"
)

// TestPrune7_ModelsOfSettings: a model that settings name is found like any other,
// keeps what they do not say, and takes the place of one of its name.
func TestPrune7_ModelsOfSettings(t *testing.T) {
	encodings := []string{"o200k_base", "cl100k_base"}
	table, err := models.Builtin().Parse([]byte(`[
		{"name": "Brew-1", "contextWindow": 32000, "outputLimit": 2000, "tokenizer": "cl100k_base", "input": 2, "output": 6},
		{"name": "claude-sonnet-4-5", "input": 2.5, "cacheRead": 0.25},
		{"name": "tiny", "contextWindow": 4000}
	]`), encodings)
	if err != nil {
		t.Fatal(err)
	}
	brew, known := table.Lookup("acme/brew-1-2026-05-01")
	if want := (models.Model{Name: "brew-1", ContextWindow: 32000, OutputLimit: 2000, Tokenizer: "cl100k_base", Prices: models.Prices{Input: 2, Output: 6, CacheWrite: 2, CacheRead: 2}}); !known || brew != want {
		t.Errorf("%+v", brew)
	}
	was, _ := models.Builtin().Lookup("claude-sonnet-4-5")
	was.Prices.Input, was.Prices.CacheWrite, was.Prices.CacheRead = 2.5, 2.5, 0.25
	if now, _ := table.Lookup("claude-sonnet-4-5-20250929"); now != was {
		t.Errorf("%+v, want %+v", now, was)
	}
	if tiny, _ := table.Lookup("tiny"); tiny.OutputLimit != 4000 || tiny.Prices != models.Default().Prices || tiny.Tokenizer != "" {
		t.Errorf("%+v", tiny)
	}
	for text, want := range map[string]string{
		`{}`:             "must be an array",
		`[{"name": ""}]`: "models[0]: no name",
		`[{"name": "a"}, {"name": "b", "in": 1}]`:                       "models[1]: ",
		`[{"name": "a", "contextWindow": 0}]`:                           "context window 0 is not positive",
		`[{"name": "a", "outputLimit": 1e9}]`:                           "models[0]: ",
		`[{"name": "a", "outputLimit": 100001}]`:                        "output limit",
		`[{"name": "a", "input": -1}]`:                                  "a price is negative",
		`[{"name": "a", "tokenizer": "wordpiece"}]`:                     "tokenizer must be o200k_base or cl100k_base",
		`[` + strings.Repeat(`{"name": "a"},`, 1000) + `{"name": "a"}]`: "at most 1000",
	} {
		if _, err := models.Builtin().Parse([]byte(text), encodings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}
