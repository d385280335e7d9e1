package transcript_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/internal/transcript"
	"hexapla/layers"
)

// read reads a transcript that must be readable.
func read(t testing.TB, name, text string) (transcript.Session, []transcript.Message, transcript.Report) {
	t.Helper()
	session, messages, report, err := transcript.ReadAll(name, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return session, messages, report
}

// outline is a sequence of messages in lines, for comparison.
func outline(messages []transcript.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%d", m.Index)
		if m.Follows != m.Index-1 {
			fmt.Fprintf(&b, " after %d", m.Follows)
		}
		fmt.Fprintf(&b, " %s", m.Role)
		if m.Role == layers.RoleUser && m.Kind != layers.InputUserQuery {
			fmt.Fprintf(&b, " %s", m.Kind)
		}
		if m.Compaction {
			b.WriteString(" compaction")
		}
		if m.Text != "" {
			fmt.Fprintf(&b, " %q", m.Text)
		}
		if m.Thinking != "" {
			fmt.Fprintf(&b, " (%s)", m.Thinking)
		}
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " %s=%s%s", c.ID, c.Name, c.Input)
		}
		for _, r := range m.Results {
			fmt.Fprintf(&b, " %s/%s:%q", r.CallID, r.Tool, r.Content)
			if r.IsError {
				b.WriteString("!")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func compare(t *testing.T, what, got, want string) {
	t.Helper()
	want = strings.TrimLeft(want, "\n")
	if got != want {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func fixture(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "sessions", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const (
	claudeFixture    = "claude-code-agent-field.jsonl"
	specStoryFixture = "specstory-rename-docs.md"
)

func TestClaudeFixture(t *testing.T) {
	t.Parallel()
	session, messages, report := read(t, claudeFixture, fixture(t, claudeFixture))
	if session.ID != "19abe528-a510-4c89-a1f8-138956474766" || session.Model != "claude-opus-4-5-20251101" ||
		session.Format != transcript.ClaudeCode || session.Start.Format("2006-01-02T15:04") != "2026-01-15T12:10" || session.Version != "2.1.7" {
		t.Errorf("session %+v", session)
	}
	if report.Prompts != 6 || report.Calls != 54 || report.Messages != 108 || len(report.Problems) != 0 || report.Rewinds != 0 {
		t.Errorf("report %+v", report)
	}
	wellFormed(t, messages)
	input := 0
	for _, m := range messages {
		if m.Role == layers.RoleAssistant {
			if m.Usage == nil {
				t.Fatalf("line %d: no usage", m.Line)
			}
			input += m.Usage.Prompt()
		}
	}
	if mean := input / report.Calls; mean < 100_000 || mean > 105_000 {
		t.Errorf("%d prompt tokens a call; usage is counted wrongly", mean)
	}
}

func TestSpecStoryFixture(t *testing.T) {
	t.Parallel()
	session, messages, report := read(t, specStoryFixture, fixture(t, specStoryFixture))
	if session.ID != "066e1e40-6740-41a9-98e0-70c0e7e01db9" || session.Model != "claude-opus-4-5-20251101" ||
		session.Format != transcript.SpecStory || session.Start.Format("2006-01-02T15:04:05") != "2026-01-12T15:08:38" {
		t.Errorf("session %+v", session)
	}
	if report.Prompts != 3 || report.Calls != 26 || len(report.Problems) != 0 {
		t.Errorf("report %+v", report)
	}
	wellFormed(t, messages)
	if m := messages[1]; m.Text != "Let me first see what files are in the docs directory and their current naming conventions." ||
		!strings.HasPrefix(m.Thinking, "The user wants me to update") || len(m.Calls) != 1 ||
		m.Calls[0].Input != `{"input":"ls -la ./docs/","text":"List files in docs directory"}` {
		t.Errorf("first answer %+v", m)
	}
	if m := messages[2]; m.Role != layers.RoleTool || !strings.HasPrefix(m.Results[0].Content, "total 248\ndrwxr-xr-x") || !strings.HasSuffix(m.Results[0].Content, "spst_posthog.md") {
		t.Errorf("first output %+v", m)
	}
}

// wellFormed checks what every reading must keep: indices without gaps, each
// message following one before it, every role with what belongs to it.
func wellFormed(t testing.TB, messages []transcript.Message) {
	t.Helper()
	for i, m := range messages {
		switch {
		case m.Index != i || m.Follows >= i || m.Follows < -1:
			t.Fatalf("message %d: index %d follows %d", i, m.Index, m.Follows)
		case m.Role == layers.RoleUser && (m.Text == "" && !m.Compaction || len(m.Calls)+len(m.Results) > 0):
			t.Fatalf("line %d: user message %+v", m.Line, m.Turn)
		case m.Role == layers.RoleAssistant && (len(m.Results) > 0 || m.Kind != "" || m.CallID == ""):
			t.Fatalf("line %d: assistant message %+v", m.Line, m.Turn)
		case m.Role == layers.RoleTool && (len(m.Results) == 0 || len(m.Calls) > 0):
			t.Fatalf("line %d: tool message %+v", m.Line, m.Turn)
		case m.Role != layers.RoleUser && m.Role != layers.RoleAssistant && m.Role != layers.RoleTool:
			t.Fatalf("line %d: role %q", m.Line, m.Role)
		case m.Line < 1:
			t.Fatalf("message %d has no line", i)
		}
	}
}

func TestForeign(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"gemini.jsonl":  {"{\n  \"sessionId\": \"a\",\n  \"projectHash\": \"b\",\n  \"startTime\": \"2026-01-15\",\n  \"messages\": []\n}\n", "Gemini CLI session"},
		"rollout.jsonl": {`{"timestamp":"2025-10-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}` + "\n", "Codex rollout"},
		"pi.jsonl":      {`{"type":"session","id":"a","timestamp":"2026-01-01T00:00:00Z","cwd":"/w","provider":"p"}` + "\n", "pi session"},
		"aider.md":      {"\n# aider chat started at 2025-01-01 00:00:00\n\n#### hello\n", "aider chat history"},
		"empty.jsonl":   {" \n\n", "empty"},
		"notes.md":      {"# Notes\n\nNothing here.\n", "no recorded session"},
		"other.json":    {`{"a":1}`, "no recorded session"},
		"torn.jsonl":    {`{"ty`, "torn"},
	} {
		_, _, _, err := transcript.ReadAll(name, strings.NewReader(c.text))
		if !errors.Is(err, transcript.ErrForeign) {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, name+":1: ") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q does not name file, line and %q", name, got, c.want)
		}
	}
}

// failing is an input that breaks after some bytes.
type failing struct {
	text io.Reader
	err  error
}

func (f failing) Read(p []byte) (int, error) {
	n, err := f.text.Read(p)
	if errors.Is(err, io.EOF) {
		err = f.err
	}
	return n, err
}

func TestInputErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	for _, name := range []string{claudeFixture, specStoryFixture} {
		text := fixture(t, name)
		for _, n := range []int{0, len(text) / 2, len(text)} {
			_, messages, _, err := transcript.ReadAll(name, failing{strings.NewReader(text[:n]), broken})
			if !errors.Is(err, broken) {
				t.Errorf("%s cut at %d: error %v", name, n, err)
			}
			if strings.HasSuffix(name, ".jsonl") && n > len(text)/3 && len(messages) == 0 {
				t.Errorf("%s cut at %d: what was read before the error is lost", name, n)
			}
		}
	}
}
