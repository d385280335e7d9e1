package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// bird is a word that only one conversation has: in what was asked, said, called
// and printed, in its housekeeping, in layer 0, in a pin, in queries and in
// inputs of packs.
const bird = "zibbertanic"

// filesWith tells which files below a folder hold a text, in their names too.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) || strings.Contains(path, text) {
			found = append(found, path[len(dir):])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// tellOfBird records a conversation about the bird between others, and does all
// that can be done with it. It returns the checksums of two packs: one from
// before, one that shows it.
func tellOfBird(c *child, dir string) (before, shown string) {
	c.t.Helper()
	recordStory(c, 4)
	plain, _ := buildPack(c, 8000, 0, "")
	input := "Where does the " + bird + " nest?"
	call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 8000}, Input: &wire.UserInput{Type: "user_query", Content: input}})
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: "s", Key: "bird-1", Turns: []wire.Turn{
			{Role: "user", Text: input},
			{Role: "assistant", Text: "I look for the " + bird + ".", ToolCalls: []wire.ToolCall{{ID: "b1", Name: "Write", Input: map[string]any{"file_path": "birds/" + bird + ".go", "content": "package " + bird}}, {ID: "b2", Name: "Bash", Input: map[string]any{"command": "find . -name " + bird}}}},
			{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "b1", Content: "wrote birds/" + bird + ".go"}, {CallID: "b2", Content: strings.Repeat("--- FAIL: a "+bird+" in the tree\n", 900), IsError: true}}},
		},
	})
	call[wire.ToolRecordResult](c, wire.MethodToolRecord, wire.ToolRecordParams{Session: "s", Tool: "Bash", Content: strings.Repeat("beside: "+bird+"\n", 700)})
	call[wire.PinAddResult](c, wire.MethodPinAdd, wire.PinAddParams{Session: "s", Text: "Never scare the " + bird + "."})
	call[wire.ContextRequestResult](c, wire.MethodContextRequest, wire.ContextRequestParams{Session: "s", Key: "bird-ask", Requests: wire.ContextRequests{RetrieveConversations: []wire.RetrieveConversations{{Query: bird + " reader"}}}})
	call[wire.ResponseIngestResult](c, wire.MethodResponseIngest, wire.ResponseIngestParams{Session: "s", Key: "bird-2", Text: "It nests in the oak, the " + bird + ".\n<hexapla>" + fmt.Sprintf(
		`{"housekeeping":{"llm":{"responseHeader":{"topic":"Nest of the %[1]s","summary":"The %[1]s nests in the oak."},"contextSummary":"The %[1]s nests in the oak.","keyDecisions":["Leave the %[1]s alone."],"currentContext":{"overallNarrative":"The reader was repaired. The %[1]s was found.","currentObjective":"Find the %[1]s","keyAchievements":["Found the %[1]s"],"contextualState":"A %[1]s in the oak","nextSteps":["Feed the %[1]s"],"activeEntities":{"files":["birds/%[1]s.go"],"functions":[],"concepts":["%[1]s"]}}},"user":{"contextUsed":["c1"]}}}`, bird) + "</hexapla>"})
	content := "It nests in the elm, the " + bird + "."
	call[wire.ConversationEditResult](c, wire.MethodConversationEdit, wire.ConversationEditParams{Session: "s", Conversation: "c5", Turn: 4, Content: &content, Reason: "the " + bird + " moved"})
	call[wire.ConversationAliasResult](c, wire.MethodConversationAlias, wire.ConversationAliasParams{Session: "s", Alias: bird, To: "c5"})
	pack, text := buildPack(c, 8000, 0, "")
	if !strings.Contains(text.Text, bird) {
		c.t.Fatal("the pack does not show it")
	}
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: "s", Done: true, Turns: []wire.Turn{{Role: "user", Text: "Now the writer, please."}, {Role: "assistant", Text: "The writer is sound."}},
	})
	call[wire.ContextRequestResult](c, wire.MethodContextRequest, wire.ContextRequestParams{Session: "s", Requests: wire.ContextRequests{RetrieveConversations: []wire.RetrieveConversations{{ConversationIDs: []string{"c5"}, Format: "summary"}}}})
	call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: "reader tests"})
	c.awaitIndex("s")
	if len(filesWith(c.t, dir, bird)) == 0 {
		c.t.Fatal("the word is in no file")
	}
	return plain.Checksum, pack.Checksum
}

// TestY10_ForgetLeavesNoBytes: a forgotten conversation is in no file, no answer
// and no pack; the others are as they were; packs of the past are built again
// and say that something is missing.
func TestY10_ForgetLeavesNoBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	before, shown := tellOfBird(c, dir)
	done := call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: "s", Conversation: "c5"})
	if fmt.Sprint(done.Conversations) != "[c5]" || done.Records == 0 || done.Blobs < 2 {
		t.Errorf("%+v", done)
	}
	if files := filesWith(t, dir, bird); len(files) > 0 {
		t.Fatalf("the word is still in %v", files)
	}
	check := func() {
		t.Helper()
		for method, params := range map[string]any{
			wire.MethodConversationGet:    wire.ConversationGetParams{Session: "s", Conversation: "c5"},
			wire.MethodConversationForget: wire.ConversationForgetParams{Session: "s", Conversation: "c5"},
			wire.MethodConversationEdit:   wire.ConversationEditParams{Session: "s", Conversation: "c5", Turn: 1, Content: new(string)},
			wire.MethodConversationRecord: wire.ConversationRecordParams{Session: "s", Key: "bird-1", Turns: []wire.Turn{{Role: "user", Text: "again"}}},
		} {
			err := refused(c, method, params)
			want := wire.KindForgotten
			if method == wire.MethodConversationRecord {
				want = wire.KindOpIDReused
			}
			if method == wire.MethodConversationEdit {
				want = wire.KindNotFound
			}
			if err.Kind() != want {
				t.Errorf("%s: %v", method, err)
			}
		}
		if err := refused(c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: "c99"}); err.Kind() != wire.KindNotFound {
			t.Errorf("%v", err)
		}
		hits := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: bird})
		if len(hits.Hits) != 0 {
			t.Errorf("%+v", hits.Hits)
		}
		hits = call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: "reader loses the last record"})
		if len(hits.Hits) == 0 {
			t.Error("nothing else is found any more")
		}
		if pins := call[wire.PinListResult](c, wire.MethodPinList, wire.PinListParams{Session: "s"}); len(pins.Pins) != 0 {
			t.Errorf("%+v", pins.Pins)
		}
		if _, pack := buildPack(c, 8000, 0, ""); strings.Contains(pack.Text, bird) || !strings.Contains(pack.Text, "Now the writer") || !strings.Contains(pack.Text, "please repair it (3)") {
			t.Errorf("the pack is\n%s", pack.Text)
		}
		old := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: before})
		if !old.Match || old.Redacted {
			t.Errorf("the pack from before: %v %v", old.Match, old.Redacted)
		}
		since := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: shown})
		if since.Match || !since.Redacted || since.Checksum != shown || since.Rebuilt == shown || since.Rebuilt == "" || bytes.Contains(since.Pack, []byte(bird)) {
			t.Errorf("the pack that showed it: %v %v %s %s", since.Match, since.Redacted, since.Checksum, since.Rebuilt)
		}
	}
	check()
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: "s", Done: true, Turns: []wire.Turn{{Role: "user", Text: "And the index?"}, {Role: "assistant", Text: "Sound as well."}},
	})
	if got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: "c7"}); got.Conversation != "c7" {
		t.Errorf("an id was given again: %+v", got)
	}
	c.stop()
	c = startChild(t, dir)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	check()
	c.stop()
	if files := filesWith(t, dir, bird); len(files) > 0 {
		t.Fatalf("the word is in %v again", files)
	}
}

// TestY10_ForgetTurn: a single turn goes, its place stays, and what is made of
// the conversation is made anew.
func TestY10_ForgetTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	recordStory(c, 3)
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Done: true, Turns: []wire.Turn{
		{Role: "user", Text: "Which key opens the gate?"},
		{Role: "assistant", Text: "I ask.", ToolCalls: []wire.ToolCall{{ID: "k", Name: "Bash", Input: map[string]any{"command": "ask"}}}},
		{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "k", Content: strings.Repeat("the key is "+bird+"\n", 500)}}},
		{Role: "assistant", Text: "The key is known now."},
	}})
	c.awaitIndex("s")
	call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: "s", Conversation: "c4", Turn: 3})
	if files := filesWith(t, dir, bird); len(files) > 0 {
		t.Fatalf("the word is still in %v", files)
	}
	got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: "c4", Detail: "full"})
	if len(got.Turns) != 4 || got.Turns[2].Text != "(forgotten)" || got.Turns[3].Text != "The key is known now." || got.Header.Topic == "" {
		t.Errorf("%+v", got)
	}
	if _, pack := buildPack(c, 8000, 0, ""); !strings.Contains(pack.Text, "The key is known now.") {
		t.Errorf("the pack is\n%s", pack.Text)
	}
	if err := refused(c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: "s", Conversation: "c4", Turn: 9}); err.Kind() != wire.KindNotFound {
		t.Errorf("%v", err)
	}
	c.stop()
}

// TestY10_EraseWorkspace: nothing is left of a workspace, and it can be used
// anew.
func TestY10_EraseWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	tellOfBird(c, dir)
	if err := refused(c, wire.MethodWorkspaceErase, wire.WorkspaceEraseParams{Workspace: wire.Workspace{URI: testWorkspace}}); err.Kind() != wire.KindInvalidParams {
		t.Errorf("%v", err)
	}
	call[wire.WorkspaceEraseResult](c, wire.MethodWorkspaceErase, wire.WorkspaceEraseParams{Workspace: wire.Workspace{URI: testWorkspace}, Confirm: true})
	for _, text := range []string{bird, "please repair it"} {
		if files := filesWith(t, dir, text); len(files) > 0 {
			t.Errorf("%q is still in %v", text, files)
		}
	}
	var remote *rpc.Error
	if err := c.Call(t.Context(), wire.MethodPinList, wire.PinListParams{Session: "s"}, nil); !asRemote(err, &remote) || remote.Kind() != wire.KindNotFound {
		t.Errorf("the session: %v", err)
	}
	recordStory(c, 2)
	if m := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, wire.MetricsGetParams{Session: "s"}); m.Conversations != 2 {
		t.Errorf("%+v", m)
	}
	c.stop()
}
