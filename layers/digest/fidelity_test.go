package digest_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// mended is a conversation with two names of note, a decision, a command that
// failed and one that passed.
func mended() digest.Exchange {
	failed := layers.CompressedToolResult{Tool: "Bash", Summary: "`go test ./...`: failed: undefined: parseTimer", ErrorPatterns: []string{"undefined: parseTimer"}}
	passed := layers.CompressedToolResult{Tool: "Bash", Summary: "`go test ./...`: passed"}
	return digest.Exchange{Conversation: layers.Conversation{ID: "c1", Outcome: layers.OutcomeCompleted, Turns: []layers.Turn{
		{Number: 1, Role: layers.RoleUser, Text: "Why does parseTimer in timer/timer.go fail?"},
		{Number: 2, Role: layers.RoleAssistant, Text: "I look at it.", Calls: []layers.ToolCall{{ID: "a", Name: "Bash", Input: `{"command":"go test ./..."}`}}},
		{Number: 3, Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: "a", Tool: "Bash", IsError: true, Compressed: failed}}},
		{Number: 4, Role: layers.RoleAssistant, Text: "The root cause was that parseTimer overwrote the duration with each part.", Calls: []layers.ToolCall{
			{ID: "b", Name: "Bash", Input: `{"command":"go test ./..."}`}, {ID: "c", Name: "Bash", Input: `{"command":"git log --oneline"}`}}},
		{Number: 5, Role: layers.RoleTool, Results: []layers.ToolResult{
			{CallID: "b", Tool: "Bash", Compressed: passed}, {CallID: "c", Tool: "Bash", Compressed: layers.CompressedToolResult{Summary: "3 commits"}}}},
		{Number: 6, Role: layers.RoleAssistant, Text: "parseTimer in timer/timer.go adds the parts now."},
	}}}
}

func TestFidelityOf(t *testing.T) {
	t.Parallel()
	outputs := []layers.Entities{{Files: []string{"go.mod"}, Functions: []string{"parsetimer", "testParse"}, Errors: []string{"undefined: parsetimer", "exit status <n>"}}}
	for _, c := range []struct {
		short string
		want  digest.Fidelity
	}{
		{"", digest.Fidelity{
			Identifiers: digest.Kept{Noted: 2, All: 4}, Decisions: digest.Kept{Noted: 1, All: 1},
			Errors: digest.Kept{Noted: 1, All: 2}, Commands: digest.Kept{Noted: 1, All: 2},
		}},
		{"c1: Why does parseTimer fail? undefined: parseTimer, seen by `go test ./...`, in timer.go.", digest.Fidelity{
			Identifiers: digest.Kept{Noted: 2, NotedKept: 2, All: 4, AllKept: 2}, Decisions: digest.Kept{Noted: 1, All: 1},
			Errors: digest.Kept{Noted: 1, NotedKept: 1, All: 2, AllKept: 1}, Commands: digest.Kept{Noted: 1, NotedKept: 1, All: 2, AllKept: 1},
		}},
		{"The root cause: the duration was overwritten with each part; seen in xtimer.go by parseTimers", digest.Fidelity{
			Identifiers: digest.Kept{Noted: 2, All: 4}, Decisions: digest.Kept{Noted: 1, NotedKept: 1, All: 1, AllKept: 1},
			Errors: digest.Kept{Noted: 1, All: 2}, Commands: digest.Kept{Noted: 1, All: 2},
		}},
	} {
		if got := digest.FidelityOf(mended(), outputs, c.short, counter(t)); got != c.want {
			t.Errorf("%q:\n%+v, want\n%+v", c.short, got, c.want)
		}
	}
}

// TestFidelityLaws: what is of note is of all, the whole text keeps everything
// that was said, and more text never keeps less.
func TestFidelityLaws(t *testing.T) {
	t.Parallel()
	words := []string{"parseTimer", "timer/timer.go", "because", "I decided", "the root cause was", "go test ./...", "README.md", "instead of", "fails", "we keep it.", "ParseAll()", "\n", "ünïcode.", "`npm run build`"}
	c := counter(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(words), 0, 40), func(w []string) string { return strings.Join(w, " ") })
		var all strings.Builder
		exchange := digest.Exchange{Conversation: layers.Conversation{ID: "c1"}}
		for i := range rapid.IntRange(1, 5).Draw(t, "turns") {
			turn := layers.Turn{Number: i + 1, Role: layers.RoleUser, Text: text.Draw(t, "text")}
			if i%2 == 1 {
				turn.Role = layers.RoleAssistant
				turn.Calls = []layers.ToolCall{{ID: "a", Name: "Bash", Input: `{"command":"go vet ./..."}`}}
				all.WriteString("go vet ./...\n")
			}
			all.WriteString(turn.Text + "\n")
			exchange.Conversation.Turns = append(exchange.Conversation.Turns, turn)
		}
		short, more := text.Draw(t, "short"), text.Draw(t, "more")
		kinds := func(short string) [4]digest.Kept {
			f := digest.FidelityOf(exchange, nil, short, c)
			return [4]digest.Kept{f.Identifiers, f.Decisions, f.Errors, f.Commands}
		}
		whole, some, extended := kinds(all.String()), kinds(short), kinds(short+"\n"+more)
		for i, k := range whole {
			if k.AllKept != k.All || k.NotedKept != k.Noted {
				t.Fatalf("kind %d: the whole text keeps %+v", i, k)
			}
			if k.Noted > k.All || some[i].NotedKept > some[i].AllKept {
				t.Fatalf("kind %d: more is of note than there is: %+v, %+v", i, k, some[i])
			}
			if extended[i].AllKept < some[i].AllKept || extended[i].NotedKept < some[i].NotedKept {
				t.Fatalf("kind %d: more text keeps less: %+v, %+v", i, some[i], extended[i])
			}
		}
	})
}
