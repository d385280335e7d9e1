package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// maxSet is how many models settings may name.
const maxSet = 1000

// modelSetting is a model as settings give it. Members that are left out keep what
// the table has for the model, or the default's.
type modelSetting struct {
	Name          string   `json:"name"`
	ContextWindow *int     `json:"contextWindow"`
	OutputLimit   *int     `json:"outputLimit"`
	Tokenizer     *string  `json:"tokenizer"`
	Input         *float64 `json:"input"` // US dollars per million tokens, as all prices
	Output        *float64 `json:"output"`
	CacheWrite    *float64 `json:"cacheWrite"`
	CacheRead     *float64 `json:"cacheRead"`
}

// Parse reads settings, a JSON array of models, and returns the table with them
// (requirement P7). encodings are the tokenizers that can be named. An unknown
// member, a wrong type and a number out of range are errors that name the entry.
func (t Table) Parse(data []byte, encodings []string) (Table, error) {
	var set []json.RawMessage
	if err := json.Unmarshal(data, &set); err != nil {
		return t, fmt.Errorf("models: must be an array of objects: %w", err)
	}
	if len(set) > maxSet {
		return t, fmt.Errorf("models: %d entries; at most %d", len(set), maxSet)
	}
	added := make([]Model, 0, len(set))
	for i, text := range set {
		m, err := t.parse(text, encodings)
		if err != nil {
			return t, fmt.Errorf("models[%d]: %w", i, err)
		}
		added = append(added, m)
	}
	return t.with(added), nil
}

func (t Table) parse(text []byte, encodings []string) (Model, error) {
	var s modelSetting
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return Model{}, err
	}
	m, known := t.Lookup(s.Name)
	if !known {
		m = Default()
		m.Tokenizer = ""
	}
	m.Name = strings.ToLower(strings.TrimSpace(s.Name))
	put(&m.ContextWindow, s.ContextWindow)
	put(&m.Prices.Input, s.Input)
	put(&m.Prices.Output, s.Output)
	// A cache costs what input costs where nothing else is said of a new price.
	if s.Input != nil {
		m.Prices.CacheWrite, m.Prices.CacheRead = *s.Input, *s.Input
	}
	put(&m.Prices.CacheWrite, s.CacheWrite)
	put(&m.Prices.CacheRead, s.CacheRead)
	if m.OutputLimit = min(m.OutputLimit, m.ContextWindow); s.OutputLimit != nil {
		m.OutputLimit = *s.OutputLimit
	}
	if s.Tokenizer != nil {
		m.Tokenizer = *s.Tokenizer
		found := m.Tokenizer == ""
		for _, name := range encodings {
			found = found || name == m.Tokenizer
		}
		if !found {
			return m, fmt.Errorf("%s: tokenizer must be %s, or empty for an estimate", m.Name, strings.Join(encodings, " or "))
		}
	}
	return m, m.check()
}

func put[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}
