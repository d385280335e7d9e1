package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// TestBrokenFilter_CanariesStayInTheirWorkspace: one client has several
// workspaces open, each with a word of its own in what was said, printed and
// pinned. Whatever is asked in one tells none of the others' words.
func TestBrokenFilter_CanariesStayInTheirWorkspace(t *testing.T) {
	t.Parallel()
	const workspaces = 3
	c := startChild(t, t.TempDir())
	canary := func(i int) string { return fmt.Sprintf("canary%cword", 'a'+i) }
	name := func(i int) string { return fmt.Sprint("s", i) }
	for i := range workspaces {
		call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: fmt.Sprintf("file:///own/%d", i)}, Session: name(i)})
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: name(i), Done: true, Turns: []wire.Turn{
			{Role: "user", Text: "The reader of the " + canary(i) + " loses a record."},
			{Role: "assistant", Text: "I look.", ToolCalls: []wire.ToolCall{{ID: "t", Name: "Bash", Input: map[string]any{"command": "cat " + canary(i) + ".go"}}}},
			{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t", Content: "--- FAIL: reader of " + canary(i), IsError: true}}},
			{Role: "assistant", Text: "Done with the " + canary(i) + "."},
		}})
		call[wire.PinAddResult](c, wire.MethodPinAdd, wire.PinAddParams{Session: name(i), Text: "Keep the " + canary(i) + "."})
	}
	for i := range workspaces {
		asked := map[string]any{
			wire.MethodPackBuild:       wire.PackBuildParams{Session: name(i), Budget: wire.Budget{Total: 8000}},
			wire.MethodSearchQuery:     wire.SearchQueryParams{Session: name(i), Query: "reader loses a record"},
			wire.MethodConversationGet: wire.ConversationGetParams{Session: name(i), Conversation: "c1", Detail: "full"},
			wire.MethodContextRequest:  wire.ContextRequestParams{Session: name(i), Requests: wire.ContextRequests{RetrieveConversations: []wire.RetrieveConversations{{Query: "reader record"}}}},
			wire.MethodPinList:         wire.PinListParams{Session: name(i)},
			wire.MethodProblemLookup:   wire.ProblemLookupParams{Session: name(i), Error: "--- FAIL: reader of"},
			wire.MethodClusterList:     wire.ClusterListParams{Session: name(i)},
		}
		for method, params := range asked {
			answer := string(call[json.RawMessage](c, method, params))
			if method == wire.MethodPackBuild && !strings.Contains(answer, canary(i)) {
				t.Errorf("%s in workspace %d does not tell its own word", method, i)
			}
			for other := range workspaces {
				if other != i && strings.Contains(answer, canary(other)) {
					t.Errorf("%s in workspace %d tells the word of workspace %d", method, i, other)
				}
			}
		}
	}
	c.stop()
}
