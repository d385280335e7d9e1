package digest_test

import (
	"testing"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// TestH18_WorkCounts: calls count by what they do, whichever tool does it; plans
// and questions are no work; what failed counts as that, too.
func TestH18_WorkCounts(t *testing.T) {
	t.Parallel()
	call := func(id, tool, input string) layers.Turn {
		return layers.Turn{Role: layers.RoleAssistant, Calls: []layers.ToolCall{{ID: id, Name: tool, Input: input}}}
	}
	result := func(id, summary string, failed bool) layers.Turn {
		return layers.Turn{Role: layers.RoleTool, Results: []layers.ToolResult{{
			CallID: id, IsError: failed, Compressed: layers.CompressedToolResult{Summary: summary},
		}}}
	}
	got := digest.Work([]layers.Turn{
		{Role: layers.RoleUser, Text: "Go."},
		call("1", "Read", `{"file_path":"a.go"}`), result("1", "a.go: 10 lines", false),
		call("2", "Bash", `{"command":"cat a.go"}`), result("2", "10 lines", false),
		call("3", "Grep", `{"pattern":"x"}`), result("3", "nothing", false),
		call("4", "Edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`), result("4", "the text was not found", true),
		call("5", "shell", `{"command":["bash","-lc","go test ./..."]}`), result("5", "`go test ./...`: failed (exit 1): TestRead", false),
		call("6", "Bash", `{"command":"git commit -m x"}`), result("6", "committed", false),
		call("7", "Bash", `{"command":"docker ps"}`), // not answered
		call("8", "TodoWrite", `{"todos":[]}`), result("8", "a list", true),
		result("9", "of no call", true),
	})
	want := layers.Work{Calls: 7, Reads: 2, Searches: 1, Edits: 1, Tests: 1, Upkeep: 1, Commands: 1, Failed: 2}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
