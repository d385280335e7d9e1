package digest_test

import (
	"testing"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// TestH17_KindsOfWork: queries with what was done for them, and the kind.
func TestH17_KindsOfWork(t *testing.T) {
	t.Parallel()
	edit := layers.ToolCall{ID: "e", Name: "Edit", Input: `{"file_path":"a/b.go","old_string":"x","new_string":"y"}`}
	create := layers.ToolCall{ID: "e", Name: "Write", Input: `{"file_path":"a/new.go","content":"package a"}`}
	for _, c := range []struct {
		query string
		call  *layers.ToolCall
		want  digest.Activity
	}{
		{"Fix the crash when the file is empty", &edit, digest.ActivityBug},
		{"The tests are failing with panic: index out of range", nil, digest.ActivityBug},
		{"Refactor the parser into two files", &edit, digest.ActivityRefactoring},
		{"Rename Total to Sum everywhere", &edit, digest.ActivityRefactoring},
		{"Add a flag that prints the version", &edit, digest.ActivityFeature},
		{"Implement support for durations", &create, digest.ActivityFeature},
		{"How does the cache decide what to drop?", nil, digest.ActivityLearning},
		{"Explain the retry loop", nil, digest.ActivityLearning},
		{"Thanks", nil, digest.ActivityLearning},
		{"Go ahead", &edit, digest.ActivityFeature},
	} {
		turns := []layers.Turn{{Role: layers.RoleUser, Text: c.query}}
		if c.call != nil {
			turns = append(turns, layers.Turn{Role: layers.RoleAssistant, Calls: []layers.ToolCall{*c.call}},
				layers.Turn{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: "e", Content: "ok"}}})
		}
		turns = append(turns, layers.Turn{Role: layers.RoleAssistant, Text: "Done."})
		conv := layers.Conversation{Turns: turns, Outcome: layers.OutcomeCompleted}
		if got := digest.ActivityOf(conv, counter(t)); got != c.want {
			t.Errorf("%q: %s, want %s", c.query, got, c.want)
		}
	}
}
