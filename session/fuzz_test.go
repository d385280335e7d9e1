package session_test

import (
	"testing"
	"unicode/utf8"

	"hexapla/layers"
	"hexapla/session"
)

// FuzzSplitAnswer: any text of a model is taken apart without a panic, twice
// the same, and nothing that is no valid text comes out of valid text.
func FuzzSplitAnswer(f *testing.F) {
	f.Add("plain")
	f.Add("text\n```json\n{\"housekeeping\":{\"llm\":{\"contextSummary\":\"x\"}}}\n```")
	f.Add(`{"content":"a","toolUses":[{"id":"1","name":"Bash","input":{}}],"contextRequests":{"summarizeTopics":["t"]}}`)
	f.Add("```json\n{\"content\":")
	f.Fuzz(func(t *testing.T, text string) {
		first, second := session.SplitAnswer(text), session.SplitAnswer(text)
		if first.Content != second.Content || len(first.Problems) != len(second.Problems) {
			t.Error("two answers of one text")
		}
		if utf8.ValidString(text) && !utf8.ValidString(first.Content) {
			t.Errorf("content %q", first.Content)
		}
	})
}

// FuzzParsePolicy: what is taken is a policy that can be used.
func FuzzParsePolicy(f *testing.F) {
	f.Add(`{"lowWaterPercent":40}`)
	f.Add(`{"unknown":1}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, text string) {
		policy, err := layers.ParsePolicy([]byte(text), layers.DefaultPolicy())
		if err == nil && policy.Check() != nil {
			t.Errorf("%s was taken: %v", text, policy.Check())
		}
	})
}
