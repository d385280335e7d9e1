package digest_test

import (
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// hostile are texts that make careless scanners slow.
func hostile(size int) map[string]string {
	out := map[string]string{}
	for _, unit := range []string{"a", "[", "(", "<", "`", "\"", "\\", "{", "\\\"", "a/", "a.", "/", ".", "-", "_", ": ", "a.go:1:1: ", "`a", "`a` ", "a ", "\n", "<file>", "[x](", "**", "{\"a\":", "1", "Ab", "日", "\xff", "\x00", "error: ", "--- FAIL: T\n", "x.go ", "a,", "? ", "- ", "$(", "'", "&&", "|", "<<", "(a)/", "[Image", "<system-reminder>", "f(", "go test ", "```\n"} {
		out[unit] = strings.Repeat(unit, size/len(unit))
	}
	return out
}

// TestHostileTexts must simply come to an end: a scanner that is not linear
// would need minutes.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	c := perWord{}
	for unit, text := range hostile(1 << 18) {
		e := digest.EntitiesOf(text)
		for _, list := range [][]string{e.Files, e.Functions, e.Concepts, e.Errors} {
			if len(list) > 200 {
				t.Errorf("%q: %d entities", unit, len(list))
			}
		}
		for _, tool := range []string{"Bash", "Read", "Grep", "Edit", "WebFetch", "Task", "x"} {
			for _, in := range []digest.ToolOutput{{Tool: tool, Input: `{"command":"go test","file_path":"a.go","pattern":"x"}`, Output: text}, {Tool: tool, Input: text, Output: "x", IsError: true}} {
				r := digest.ToolResult(in, c)
				if c.Count(r.Summary) > layers.CapToolSummary || len(r.Entities) > 64 || len(r.KeyFiles) > 64 || len(r.ErrorPatterns) > 64 || len(r.Pointers) > 64 {
					t.Errorf("%q %s: over its bounds: %d tokens", unit, tool, c.Count(r.Summary))
				}
			}
		}
		if got, _ := digest.Trim(text, 50, c); c.Count(got) > 50 {
			t.Errorf("%q: trimmed to %d", unit, c.Count(got))
		}
		x := digest.Exchange{Conversation: layers.Conversation{ID: "c1", Turns: []layers.Turn{
			{Role: layers.RoleUser, Text: text}, {Role: layers.RoleAssistant, Text: text, Calls: []layers.ToolCall{{ID: "1", Name: "Edit", Input: text}}}, {Role: layers.RoleAssistant, Text: text},
		}}}
		if text := digest.RenderSummary(digest.Summary(x, c), ""); c.Count(text) > layers.CapSummary {
			t.Errorf("%q: summary of %d", unit, c.Count(text))
		}
		if text := digest.RenderHeader(digest.Header(x, c)); c.Count(text) > layers.CapHeader {
			t.Errorf("%q: header of %d", unit, c.Count(text))
		}
	}
}

// TestEmptyInputs has nothing to say and says so.
func TestEmptyInputs(t *testing.T) {
	t.Parallel()
	c := perWord{}
	if got := digest.RenderHeader(digest.Header(digest.Exchange{}, c)); !strings.HasPrefix(got, "conversation ongoing") {
		t.Errorf("header: %q", got)
	}
	if got := digest.RenderSummary(digest.Summary(digest.Exchange{}, c), ""); got != "conversation\n" {
		t.Errorf("summary: %q", got)
	}
	if got := digest.RenderCurrentContext(digest.CurrentContext(digest.Story{}, c)); got != "Objective: none recorded yet\n" {
		t.Errorf("layer 0: %q", got)
	}
	if got := digest.ToolResult(digest.ToolOutput{}, c); got.Summary == "" {
		t.Error("no summary of an unknown tool")
	}
}
