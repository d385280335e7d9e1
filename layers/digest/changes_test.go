package digest_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/digest"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	before := "     1→package a\n     2→\n     3→func f() {}\n     4→func g() {}\n"
	now := "     1→package a\n     2→\n     3→// f does it.\n     4→func f() {}\n     5→func h() {}\n"
	got := digest.Changes(before, now)
	want := digest.Changed{New: "@3\n     3→// f does it.\n@5\n     5→func h() {}\n", Gone: "     4→func g() {}\n", Lines: 4, Same: 2}
	if got != want {
		t.Errorf("got %+v", got)
	}
	for _, c := range [][2]string{
		{"404: not found\nretry\n500: oops\n", "500: not found\nretry\n404: oops\n"}, // numbers that count nothing
		{"a\n", "a\na\n"}, // more often than before
	} {
		if got := digest.Changes(c[0], c[1]); got.New == "" {
			t.Errorf("%q to %q: nothing is new", c[0], c[1])
		}
	}
	if got := digest.Changes("b\na\n", "a\nb"); got.New != "" || got.Gone != "" {
		t.Errorf("lines that moved: %+v", got)
	}
}

// TestChangesTellEverything: the lines before, without what is gone and with
// what is new, are the lines after, but for their order.
func TestChangesTellEverything(t *testing.T) {
	t.Parallel()
	text := rapid.Custom(func(t *rapid.T) []string {
		return rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c d", "e", "12: x", "13: x", "7|y"})).Draw(t, "lines")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, now := text.Draw(t, "before"), text.Draw(t, "now")
		c := digest.Changes(strings.Join(before, "\n"), strings.Join(now, "\n"))
		if strings.ContainsAny(strings.Join(before, "")+strings.Join(now, ""), "0123456789") {
			return // what counts as a number depends on the neighbours
		}
		left := slices.Clone(before)
		for line := range strings.Lines(c.Gone) {
			i := slices.Index(left, strings.TrimSuffix(line, "\n"))
			if i < 0 {
				t.Fatalf("%q is gone, but was not there", line)
			}
			left = slices.Delete(left, i, i+1)
		}
		for line := range strings.Lines(c.New) {
			if !strings.HasPrefix(line, "@") {
				left = append(left, strings.TrimSuffix(line, "\n"))
			}
		}
		slices.Sort(left)
		slices.Sort(now)
		if !slices.Equal(left, now) {
			t.Fatalf("%q with the changes is %q, not %q", before, left, now)
		}
	})
}

func FuzzChanges(f *testing.F) {
	f.Add("1→a\n2→b", "1→a\n2→c")
	f.Add("\r\n|", "999999999999999:")
	f.Fuzz(func(t *testing.T, before, now string) {
		c := digest.Changes(before, now)
		if c.Same > c.Lines || before == now && (c.New != "" || c.Gone != "") {
			t.Fatalf("%+v", c)
		}
	})
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	bash := func(command string) layers.ToolCall {
		return layers.ToolCall{ID: "t", Name: "Bash", Input: `{"command":"` + command + `"}`}
	}
	edit := layers.ToolCall{ID: "t", Name: "Edit", Input: `{"file_path":"/a/b.go","old_string":"x","new_string":"y"}`}
	attempt := func(call layers.ToolCall, output string, isError bool) (digest.Attempt, bool) {
		compressed := digest.ToolResult(digest.ToolOutput{Tool: call.Name, Input: call.Input, Output: output, IsError: isError}, counter(t))
		return digest.AttemptOf(call, &layers.ToolResult{CallID: "t", Tool: call.Name, IsError: isError, Compressed: compressed})
	}
	const fails = "--- FAIL: TestX (0.00s)\\n    x_test.go:3: got 1\\nFAIL\\nexit status 1"
	failed, ok := attempt(bash("go test ./x"), strings.ReplaceAll(fails, `\n`, "\n"), true)
	if !ok || !failed.Failed || !strings.Contains(failed.Told, "x_test.go:3") {
		t.Fatalf("a failed test: %+v, %v", failed, ok)
	}
	for _, c := range []struct {
		call   layers.ToolCall
		output string
		failed bool
		want   bool
	}{
		{bash("go test ./x"), "ok  \tx\t0.1s", false, true},
		{bash("go test ./x"), "exit status 1\nFAIL", true, true}, // takes its place
		{bash("go test ./y"), "ok  \ty\t0.1s", false, false},
		{bash("go vet ./x"), "", false, false},
		{edit, "updated", false, false},
	} {
		later, _ := attempt(c.call, c.output, c.failed)
		if got := later.Resolves(failed); got != c.want {
			t.Errorf("%s resolves it: %v", c.call.Input, got)
		}
	}
	if a, ok := attempt(bash("ls nowhere"), "", true); ok {
		t.Errorf("looking for a file that is not there is an open error: %+v", a)
	}
	if a, ok := attempt(edit, "String to replace not found in file.", true); !ok || !a.Failed {
		t.Errorf("a failed edit: %+v, %v", a, ok)
	}
}
