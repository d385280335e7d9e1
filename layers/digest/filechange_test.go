package digest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// changesBy returns what a call changed, in short.
func changesBy(c layers.Counter, tool, input, output string, failed bool) []string {
	result := &layers.ToolResult{Tool: tool, IsError: failed, Compressed: digest.ToolResult(digest.ToolOutput{Tool: tool, Input: input, Output: output, IsError: failed}, c)}
	out := []string{}
	for _, f := range digest.FileChanges(digest.MadeCall{Call: layers.ToolCall{Name: tool, Input: input}}, result, c) {
		text := f.Type + " " + f.File
		if f.From != "" {
			text += " from " + f.From
		}
		if f.Counted {
			text += fmt.Sprintf(" +%d -%d", f.Added, f.Removed)
		}
		out = append(out, text)
	}
	return out
}

// TestFileChanges: the calls by which common assistants change files.
func TestFileChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, input, output string
		failed              bool
		want                []string
	}{
		// Claude Code
		{"Write", `{"file_path":"/w/a.go","content":"package a\n\nvar x = 1\n"}`, "File created successfully at: /w/a.go", false, []string{"create /w/a.go +2 -0"}},
		{"Write", `{"file_path":"/w/a.go","content":"package a\n"}`, "The file /w/a.go has been updated.", false, []string{"modify /w/a.go"}},
		{"Edit", `{"file_path":"/w/a.go","old_string":"a\nb","new_string":"a\nc\nd"}`, "The file /w/a.go has been updated.", false, []string{"modify /w/a.go +2 -1"}},
		{"Edit", `{"file_path":"/w/a.go","old_string":"a","new_string":"b","replace_all":true}`, "The file /w/a.go has been updated.", false, []string{"modify /w/a.go"}},
		{"MultiEdit", `{"file_path":"/w/a.go","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":""}]}`, "Applied 2 edits", false, []string{"modify /w/a.go +1 -2"}},
		{"Edit", `{"file_path":"/w/a.go","old_string":"a","new_string":"b"}`, "The user doesn't want to proceed with this tool use.", true, []string{}},
		{"Read", `{"file_path":"/w/a.go"}`, "     1→package a", false, []string{}},
		{"NotebookEdit", `{"notebook_path":"/w/n.ipynb","new_source":"x = 1","edit_mode":"insert"}`, "Inserted cell", false, []string{"modify /w/n.ipynb"}},
		// Codex
		{"shell", `{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n@@\n-x = 1\n+x = 2\n*** Add File: src/b.py\n+y = 1\n*** Delete File: src/c.py\n*** Update File: src/d.py\n*** Move to: src/e.py\n*** End Patch\nEOF"]}`, `{"output":"Success.","metadata":{"exit_code":0}}`, false,
			[]string{"modify src/a.py +1 -1", "create src/b.py +1 -0", "delete src/c.py", "rename src/e.py from src/d.py"}},
		{"shell", `{"command":["bash","-lc","rm src/a.py"]}`, `{"output":"rm: src/a.py: No such file or directory","metadata":{"exit_code":1}}`, false, []string{}},
		// Cline
		{"replace_in_file", `{"path":"src/a.ts","diff":"<<<<<<< SEARCH\nlet a = 1;\n=======\nlet a = 2;\nlet b = 3;\n>>>>>>> REPLACE\n"}`, "The content was successfully saved to src/a.ts.", false, []string{"modify src/a.ts +2 -1"}},
		{"write_to_file", `{"path":"src/new.ts","content":"let a = 1;\n"}`, "The content was successfully saved to src/new.ts.", false, []string{"modify src/new.ts"}},
		// Cursor
		{"edit_file", `{"target_file":"src/a.ts","code_edit":"// ... existing code ...\nlet a = 2;\n"}`, "The file was edited.", false, []string{"modify src/a.ts"}},
		{"delete_file", `{"target_file":"src/a.ts"}`, "Deleted.", false, []string{"delete src/a.ts"}},
		// Gemini CLI
		{"replace", `{"file_path":"/w/a.js","old_string":"a","new_string":"b"}`, "Successfully modified file: /w/a.js (1 replacements).", false, []string{"modify /w/a.js +1 -1"}},
		// OpenHands and SWE-agent
		{"str_replace_editor", `{"command":"create","path":"/w/a.py","file_text":"x = 1\n"}`, "File created successfully at: /w/a.py", false, []string{"create /w/a.py +1 -0"}},
		{"str_replace_editor", `{"command":"insert","path":"/w/a.py","insert_line":3,"new_str":"y = 2\n"}`, "The file /w/a.py has been edited.", false, []string{"modify /w/a.py +1 -0"}},
		{"str_replace_editor", `{"command":"view","path":"/w/a.py"}`, "x = 1", false, []string{}},
		// A unified diff
		{"patch", `{"patch":"--- a/old.c\n+++ b/new.c\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/made.c\n@@ -0,0 +1 @@\n+c\n--- a/gone.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-d\n"}`, "ok", false,
			[]string{"rename new.c from old.c +1 -1", "create made.c +1 -0", "delete gone.c +0 -1"}},
		// Shell
		{"bash", `{"command":"cd /w && mv one.go lib/ && cp two.go three.go && touch four.go && git rm five.go"}`, "", false,
			[]string{"rename lib/one.go from one.go", "create three.go", "create four.go", "delete five.go"}},
		{"bash", `{"command":"echo 'x' >> notes.md; printf y | tee -a log.txt; git checkout -- six.go; sed -i 's/a/b/' seven.go"}`, "", false,
			[]string{"modify notes.md", "modify log.txt", "modify six.go", "modify seven.go"}},
		{"bash", `{"command":"cat > conf.yaml <<'EOF'\na: 1\nEOF"}`, "", false, []string{"modify conf.yaml"}},
		{"bash", `{"command":"go test ./... > /tmp/out.txt 2>&1; rm /tmp/out.txt; mv *.go lib/"}`, "ok", false, []string{}},
	} {
		if got := changesBy(counter(t), c.tool, c.input, c.output, c.failed); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

// TestFileChangesAddUp: the lines that came less those that went are the lines
// after less those before.
func TestFileChangesAddUp(t *testing.T) {
	t.Parallel()
	count := counter(t)
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c := 1", "", "return"}), 1, 8).Draw(t, "lines"), "\n")
	})
	filled := func(s string) (n int) {
		for line := range strings.Lines(s) {
			if strings.TrimSpace(line) != "" {
				n++
			}
		}
		return n
	}
	rapid.Check(t, func(t *rapid.T) {
		old, now := text.Draw(t, "old"), text.Draw(t, "new")
		input, err := json.Marshal(map[string]string{"file_path": "x.go", "old_string": old, "new_string": now})
		if err != nil {
			t.Fatal(err)
		}
		got := digest.FileChanges(digest.MadeCall{Call: layers.ToolCall{Name: "Edit", Input: string(input)}}, nil, count)
		if len(got) != 1 || old != "" && !got[0].Counted || got[0].Counted && got[0].Added-got[0].Removed != filled(now)-filled(old) {
			t.Fatalf("%q to %q: %+v", old, now, got)
		}
	})
}

// TestTelling: patterns that say what is wrong are told from those that say only
// that something is.
func TestTelling(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"undefined: newRoot": true, "FAIL: TestFlush (<time>)": true, "Cannot find module '<path>'": true, "connection refused": true,
		"FAIL example.com/w/io <time>": false, "exit status <n>": false, "Process exited with code 1": false, "<path>: <n>": false,
		"make: *** [test] Error <n>": false,
	} {
		if got := digest.Telling(pattern); got != want {
			t.Errorf("%q: %v", pattern, got)
		}
	}
}
