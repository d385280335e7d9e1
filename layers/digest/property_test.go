package digest_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// perByte counts a token for every byte: the dearest counter there can be.
type perByte struct{}

func (perByte) Count(s string) int { return len(s) }
func (perByte) Name() string       { return "bytes" }
func (perByte) Estimate() bool     { return true }

// perWord counts words and every fourth letter, and is not additive.
type perWord struct{}

func (perWord) Count(s string) int {
	n := 0
	for _, w := range strings.Fields(s) {
		n += 1 + len(w)/4
	}
	return (n*6 + 4) / 5
}
func (perWord) Name() string   { return "words" }
func (perWord) Estimate() bool { return true }

func counters(t testing.TB) []layers.Counter {
	return []layers.Counter{counter(t), perByte{}, perWord{}}
}

// phrase generates text that looks like what assistants and tools write.
func phrase() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"Fixed the bug in `roundCents`. ", "The root cause is that ", "Should I go on? ", "internal/cart/cart.go:12:4: undefined: x\n",
			"```go\nfunc main() {}\n```\n", "- Added `a.go`\n", "1. Removed the thing\n", "## Summary\n\n", "### c12\n", "**Done**: ", "`unclosed ", "because ",
			"<system-reminder>x</system-reminder>", "<command-name>/x</command-name>", "--- FAIL: TestX (0.00s)\n", "Exit code 1\n", "…", "“quoted”", "日本語のテスト。", "🎉 ", "\u2028", "\x00", "\xff", "\r\n", " ", "\n\n", ", ", ": ", "(", ")", "\"", "/", "\\", "#", "https://example.com/a?b=c ", "I'd like you to add a flag. ", "let's use B instead of A. ", "TODO: write tests. ",
		}),
		rapid.StringN(0, 12, 40),
		rapid.StringMatching(`[a-z]{1,12}[ .,]`),
		rapid.StringMatching(`[a-z]{2,6}[A-Z][a-z]{2,6}\(\) `),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
	})
}

func exchanges() *rapid.Generator[layers.Conversation] {
	calls := rapid.SampledFrom([]layers.ToolCall{
		{Name: "Edit", Input: `{"file_path":"/a/b/c.go","old_string":"x","new_string":"func y() {}"}`},
		{Name: "Bash", Input: `{"command":"go test ./... && rm x/y.go"}`},
		{Name: "Read", Input: `{"file_path":"d.py"}`},
		{Name: "TodoWrite", Input: `{"todos":[{"content":"one","status":"pending"}]}`},
		{Name: "Write", Input: `{"file_path":"new.ts","content":`}, {Name: "", Input: ""}, {Name: "Grep", Input: `{"pattern":"\n## x"}`},
	})
	return rapid.Custom(func(t *rapid.T) layers.Conversation {
		conv := layers.Conversation{ID: rapid.SampledFrom([]string{"c1", "c12", "c99999", ""}).Draw(t, "id")}
		conv.Outcome = rapid.SampledFrom([]layers.Outcome{"", layers.OutcomeCompleted, layers.OutcomeOngoing, layers.OutcomeError}).Draw(t, "outcome")
		for i := range rapid.IntRange(0, 8).Draw(t, "turns") {
			turn := layers.Turn{Number: i + 1, Role: rapid.SampledFrom([]layers.Role{layers.RoleUser, layers.RoleAssistant, layers.RoleTool}).Draw(t, "role"), Time: rapid.Int64Range(-1, 1<<45).Draw(t, "time")}
			if turn.Role != layers.RoleTool {
				turn.Text = phrase().Draw(t, "text")
			}
			if turn.Role == layers.RoleAssistant {
				turn.Calls = rapid.SliceOfN(calls, 0, 3).Draw(t, "calls")
			} else if turn.Role == layers.RoleTool {
				turn.Results = []layers.ToolResult{{CallID: "", Content: phrase().Draw(t, "output"), IsError: rapid.Bool().Draw(t, "error")}}
			}
			conv.Turns = append(conv.Turns, turn)
		}
		return conv
	})
}

// rendering checks what every rendered text must hold.
func rendering(t *rapid.T, what, text string, cap int, c layers.Counter) {
	t.Helper()
	if n := c.Count(text); n > cap {
		t.Fatalf("%s: %d tokens by %s, cap %d:\n%q", what, n, c.Name(), cap, text)
	}
	if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") {
		t.Fatalf("%s does not end in exactly one line feed: %q", what, text)
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") || strings.TrimRight(line, " \t\r") != line || line == "" {
			t.Fatalf("%s: bad line %q", what, line)
		}
		if i == 0 && (line[0] == ' ' || line[0] == '/' || line[0] == '\t') {
			t.Fatalf("%s begins with %q", what, line[0])
		}
	}
}

func TestCapsHold(t *testing.T) {
	t.Parallel()
	all := counters(t)
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(all).Draw(t, "counter")
		var trios []digest.Trio
		for range rapid.IntRange(0, 3).Draw(t, "before") {
			x := digest.Exchange{Conversation: exchanges().Draw(t, "earlier")}
			trios = append(trios, digest.Trio{Header: digest.Header(x, c), Summary: digest.Summary(x, c)})
		}
		x := digest.Exchange{Conversation: exchanges().Draw(t, "conversation")}
		h := digest.Header(x, c)
		rendering(t, "header", digest.RenderHeader(h), layers.CapHeader, c)
		if n := c.Count(h.Summary); n > layers.CapHeaderSummary {
			t.Fatalf("header's summary has %d tokens: %q", n, h.Summary)
		}
		s := digest.Summary(x, c)
		rendering(t, "summary", digest.RenderSummary(s, h.ID), layers.CapSummary, c)
		cc := digest.CurrentContext(digest.Story{Trios: trios, Ongoing: &x}, c)
		rendering(t, "layer 0", digest.RenderCurrentContext(cc), layers.CapCurrentContext, c)
		next := digest.CurrentContext(digest.Story{Previous: &cc, Trios: trios}, c)
		rendering(t, "next layer 0", digest.RenderCurrentContext(next), layers.CapCurrentContext, c)
		if again := digest.Summary(x, c); !reflect.DeepEqual(s, again) {
			t.Fatalf("two summaries of one conversation:\n%+v\n%+v", s, again)
		}
		if again := digest.CurrentContext(digest.Story{Trios: trios, Ongoing: &x}, c); !reflect.DeepEqual(cc, again) {
			t.Fatal("two stories of one workspace")
		}
	})
}

// TestModelsWordsAreTrimmed gives the Trim functions what a model may say.
func TestModelsWordsAreTrimmed(t *testing.T) {
	t.Parallel()
	all := counters(t)
	list := rapid.SliceOfN(phrase(), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(all).Draw(t, "counter")
		id := rapid.SampledFrom([]string{"c1", "c12", "c4711"}).Draw(t, "id")
		h := layers.Header{ID: id, Timestamp: rapid.Int64().Draw(t, "time"), Topic: phrase().Draw(t, "topic"), Summary: phrase().Draw(t, "line"), KeyEntities: list.Draw(t, "key"), Outcome: layers.OutcomeCompleted}
		got, trimmed := digest.TrimHeader(h, c)
		rendering(t, "header", digest.RenderHeader(got), layers.CapHeader, c)
		if got.ID != id {
			t.Fatal("the id was cut")
		}
		if !reflect.DeepEqual(got, h) && len(trimmed) == 0 && (c.Count(h.Summary) <= layers.CapHeaderSummary) && got.Topic != h.Topic {
			t.Fatalf("changed without saying so: %+v", got)
		}
		s := layers.Summary{ConversationID: id, Content: phrase().Draw(t, "content"), KeyDecisions: list.Draw(t, "decisions"), OpenQuestions: list.Draw(t, "questions")}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			s.CodeChanges = append(s.CodeChanges, layers.CodeChange{Files: list.Draw(t, "files"), ChangeType: phrase().Draw(t, "type"), Summary: phrase().Draw(t, "what")})
		}
		short, _ := digest.TrimSummary(s, c)
		rendering(t, "summary", digest.RenderSummary(short, id), layers.CapSummary, c)
		cc := layers.CurrentContext{OverallNarrative: phrase().Draw(t, "story"), CurrentObjective: phrase().Draw(t, "objective"), KeyAchievements: list.Draw(t, "done"),
			ActiveEntities: layers.ActiveEntities{Files: list.Draw(t, "f"), Functions: list.Draw(t, "g"), Concepts: list.Draw(t, "h")}, ContextualState: phrase().Draw(t, "state"), NextSteps: list.Draw(t, "next")}
		less, _ := digest.TrimCurrentContext(cc, c)
		rendering(t, "layer 0", digest.RenderCurrentContext(less), layers.CapCurrentContext, c)
	})
}

func TestTrimKeepsItsPromise(t *testing.T) {
	t.Parallel()
	all := counters(t)
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(all).Draw(t, "counter")
		text := phrase().Draw(t, "text")
		max := rapid.IntRange(-1, 120).Draw(t, "max")
		got, cut := digest.Trim(text, max, c)
		if n := c.Count(got); n > max && max >= 0 || max < 0 && got != "" {
			t.Fatalf("%d tokens of %d: %q", n, max, got)
		}
		if !cut && got != text && strings.TrimSpace(text) != "" {
			t.Fatalf("changed without saying so: %q", got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Fatalf("a rune was cut: %q", got)
		}
		if cut && !strings.Contains(text, "\n") && strings.Count(text, "`")%2 == 0 && strings.Count(got, "`")%2 != 0 {
			t.Fatalf("half a code span: %q of %q", got, text)
		}
	})
}
