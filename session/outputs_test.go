package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// run records a call of a tool and its output.
func run(t *testing.T, s *session.Session, id, tool, input, output string, failed bool) {
	t.Helper()
	for _, req := range []session.RecordRequest{
		{Turns: []layers.Turn{{Role: layers.RoleAssistant, Calls: []layers.ToolCall{{ID: id, Name: tool, Input: input}}}}},
		{Turns: []layers.Turn{{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: id, Tool: tool, Content: output, IsError: failed}}}}},
	} {
		if _, err := s.Record(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
}

func query(t *testing.T, s *session.Session, text string) {
	t.Helper()
	if _, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{{Role: layers.RoleUser, Kind: layers.InputUserQuery, Text: text}}}); err != nil {
		t.Fatal(err)
	}
}

func numbered(first int, lines ...string) string {
	var b strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&b, "%6d→%s\n", first+i, line)
	}
	return b.String()
}

// sectionOf returns the texts of a pack's sections of one name.
func sectionOf(p *layers.Pack, name string) string {
	var b strings.Builder
	for _, s := range p.Sections {
		if s.Name == name {
			b.WriteString(s.Text)
		}
	}
	return b.String()
}

// TestFileReadAgain: a file that is read again is shown as what is new since the
// version in the pack, with its own id as the handle to the whole; where that
// version is out of view, it is shown as any other output. Nothing before it
// moves.
func TestFileReadAgain(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("func step%d() error { return flush(%d) }", i, i))
	}
	const read = `{"file_path":"/src/steps.go"}`
	query(t, s, "Repair the steps in /src/steps.go, please.")
	run(t, s, "t1", "Read", read, numbered(1, lines...), false)
	before := pack(t, s, 8000)
	changed := append([]string{"// Package steps walks."}, lines...)
	changed[11] = "func step10() error { return errEnd }"
	run(t, s, "t2", "Read", read, numbered(1, changed...), false)
	run(t, s, "t3", "Read", read, numbered(1, changed...), false)
	got := pack(t, s, 8000)
	if !strings.HasPrefix(got.Pack.Text, before.Pack.Text[:before.Pack.StableBytes]) {
		t.Error("reading again moved the prefix")
	}
	const want = "### c1#5 tool Read\n[as c1#3 but for these of 31 lines]\n@1\n     1→// Package steps walks.\n@12\n    12→func step10() error { return errEnd }\n[gone]\n    11→func step10() error { return flush(10) }\n"
	if !strings.Contains(unmarked(got.Pack.Text), want) {
		t.Errorf("the changed file is shown as %q", got.Pack.Text[strings.Index(got.Pack.Text, "### c1#5"):])
	}
	if !strings.Contains(unmarked(got.Pack.Text), "### c1#7 tool Read\n[as c1#3 but for these of 31 lines]\n") {
		t.Errorf("the file read a third time is shown as %q", got.Pack.Text[strings.Index(got.Pack.Text, "### c1#7"):])
	}
	explained, err := s.ExplainPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 8000}}, false)
	if err != nil {
		t.Fatal(err)
	}
	repeated := 0
	for _, c := range explained.Pack.Candidates {
		if c.Reason == layers.Repeated && c.Repeats == "c1#3" {
			repeated++
		}
	}
	if repeated != 2 {
		t.Errorf("%d candidates repeat c1#3", repeated)
	}
	whole, err := s.RequestContext(t.Context(), session.ContextRequest{Retrieve: []session.Retrieve{{IDs: []string{"c1#5"}, Format: layers.DetailFull}}})
	if err != nil || len(whole.Items) != 1 || !strings.Contains(whole.Items[0].Text, lines[29]) {
		t.Errorf("the handle gives %+v, %v", whole, err)
	}
	// With what it repeats out of view, it stands for itself.
	for i := range 14 {
		run(t, s, fmt.Sprintf("u%d", i), "Read", fmt.Sprintf(`{"file_path":"/src/%d.go"}`, i), strings.Repeat(fmt.Sprintf("line of %d\n", i), 120), false)
	}
	folded := pack(t, s, 3000)
	run(t, s, "t4", "Read", read, numbered(1, changed...), false)
	if got := pack(t, s, 3000); got.Pack.Epoch == folded.Pack.Epoch && strings.Contains(got.Pack.Text, "c1#3 but") {
		t.Error("a file is shown as what is new since something out of view")
	}
}

// TestOpenErrorsAreNeverDropped: a failure that nothing has resolved is told
// after folds, too; once the same command passes, it goes with the next fold.
func TestOpenErrorsAreNeverDropped(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	query(t, s, "Make the tests of ./x pass, please.")
	const test = `{"command":"go test ./x"}`
	run(t, s, "t1", "Bash", test, "--- FAIL: TestX (0.00s)\n    x_test.go:31: got 7, want 9\nFAIL\nexit status 1\n", true)
	fill := func(from int) {
		for i := range 14 {
			run(t, s, fmt.Sprintf("u%d", from+i), "Read", fmt.Sprintf(`{"file_path":"/src/%d.go"}`, from+i), strings.Repeat(fmt.Sprintf("line of %d\n", i), 120), false)
		}
	}
	fill(0)
	const told = "x_test.go:31"
	folded := pack(t, s, 2500)
	if text := sectionOf(folded.Pack, layers.SectionErrors); !strings.Contains(text, "### c1#3 open error ") || !strings.Contains(text, told) {
		t.Fatalf("errors %q of %s", text, folded.Pack.Text)
	}
	// The smallest pack has it, too, and says what it is made of.
	_, err := s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 20}})
	var small *layers.BudgetError
	if !errors.As(err, &small) || small.Needs.Errors == 0 || small.Needs.Request == 0 {
		t.Fatalf("error %v", err)
	}
	if sum := small.Needs.System + small.Needs.Pins + small.Needs.Request + small.Needs.Errors + small.Needs.Rest; sum != small.Smallest {
		t.Errorf("the parts of %+v come to %d", small, sum)
	}
	bare := pack(t, s, small.Smallest)
	if !strings.Contains(bare.Pack.Text, told) || !strings.Contains(bare.Pack.Text, "Make the tests of ./x pass, please.") {
		t.Errorf("the smallest pack: %s", bare.Pack.Text)
	}
	run(t, s, "t2", "Bash", test, "ok  \tx\t0.1s\n", false)
	fill(100)
	if text := sectionOf(pack(t, s, 2500).Pack, layers.SectionErrors); text != "" {
		t.Errorf("resolved, and yet %q", text)
	}
}

// TestOpenErrorsEndWithTheirConversation: what failed in a conversation that
// ended well is no longer open in the next one.
func TestOpenErrorsEndWithTheirConversation(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	query(t, s, "Why does ./x fail?")
	run(t, s, "t1", "Bash", `{"command":"go test ./x"}`, "--- FAIL: TestX (0.00s)\n    x_test.go:31: got 7, want 9\nFAIL\nexit status 1\n", true)
	if _, err := s.Record(t.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{{Role: layers.RoleAssistant, Text: "It is fixed: all tests pass now."}}}); err != nil {
		t.Fatal(err)
	}
	query(t, s, "Read these files, please.")
	for i := range 14 {
		run(t, s, fmt.Sprintf("u%d", i), "Read", fmt.Sprintf(`{"file_path":"/src/%d.go"}`, i), strings.Repeat(fmt.Sprintf("line of %d\n", i), 120), false)
	}
	got := pack(t, s, 2500)
	if got.Pack.EpochReason != layers.EpochBudget {
		t.Fatalf("no fold: %q", got.Pack.EpochReason)
	}
	if text := sectionOf(got.Pack, layers.SectionErrors); text != "" {
		t.Errorf("ended well, and yet %q", text)
	}
}
