package main

import (
	"fmt"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// refused calls a method that is to fail and returns the error.
func refused(c *child, method string, params any) *rpc.Error {
	c.t.Helper()
	var remote *rpc.Error
	if err := c.Call(c.t.Context(), method, params, nil); !asRemote(err, &remote) {
		c.t.Fatalf("%s: %v, want an error of the server", method, err)
	}
	return remote
}

// TestH7_EditsThroughTheProcess: edits of turns, of outputs and of the past take
// hold in packs, errors follow them, and what was sent before is built again to
// the byte by another process without an index.
func TestH7_EditsThroughTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	recordStory(c, 9)
	var packs []wire.PackBuildResult
	var texts []string
	build := func() string {
		t.Helper()
		result, pack := buildPack(c, 6000, 0, "")
		packs, texts = append(packs, result), append(texts, pack.Text)
		return pack.Text
	}
	build()
	content := "Reader seven loses nothing, it was the ocelot."
	edited := call[wire.ConversationEditResult](c, wire.MethodConversationEdit, wire.ConversationEditParams{Session: "s", Conversation: "c9", Turn: 1, Content: &content})
	if edited.Before != "c9@1#1" {
		t.Errorf("%+v", edited)
	}
	if text := build(); !strings.Contains(text, "ocelot") || strings.Contains(text, "please repair it (8)") {
		t.Errorf("the pack is\n%s", text)
	}
	results := []wire.ToolResult{{CallID: "t1", Content: "ok\tinternal/part1\t0.2s\n"}}
	call[wire.ConversationEditResult](c, wire.MethodConversationEdit, wire.ConversationEditParams{Session: "s", Conversation: "c9", Turn: 3, ToolResults: results})
	if text := build(); strings.Contains(text, "reader_test.go:18: got EOF") || !strings.Contains(text, "internal/part1\t0.2s") {
		t.Errorf("the output before is there still:\n%s", text)
	}
	branch := call[wire.ConversationEditResult](c, wire.MethodConversationEdit, wire.ConversationEditParams{Session: "s", Conversation: "c6", Turn: 4, Content: &content, Truncate: true})
	if branch.Conversation != "c10" || len(branch.Superseded) != 4 {
		t.Errorf("%+v", branch)
	}
	text := build()
	for i := range 9 {
		if said := strings.Contains(text, fmt.Sprintf("please repair it (%d)", i)); said && i > 5 {
			t.Errorf("conversation %d was cut off and is in the pack", i+1)
		}
	}
	if !strings.Contains(text, "### c10#3 tool Bash failed") {
		t.Errorf("the new conversation has not the turns before:\n%s", text)
	}
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Done: true, Turns: []wire.Turn{{Role: "assistant", Text: "Done with c10."}}})
	build()
	c.stop()
	removeIndex(t, dir)
	c = startChild(t, dir)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	for i, pack := range packs {
		again := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: pack.Checksum})
		if !again.Match || string(again.Pack) != string(pack.Pack) {
			t.Errorf("pack %d is another one", i)
		}
	}
	if _, pack := buildPack(c, 6000, 0, ""); pack.Text != texts[len(texts)-1] {
		t.Error("the newest pack is another one")
	}
	for _, bad := range []struct {
		method string
		params any
		kind   wire.Kind
	}{
		{wire.MethodConversationEdit, wire.ConversationEditParams{Session: "s", Conversation: "c7", Turn: 1, Content: &content}, wire.KindInvalidParams},
		{wire.MethodConversationEdit, wire.ConversationEditParams{Session: "s", Conversation: "c77", Turn: 1, Content: &content}, wire.KindNotFound},
		{wire.MethodConversationAlias, wire.ConversationAliasParams{Session: "s", Alias: "a", To: "a"}, wire.KindInvalidParams},
		{wire.MethodConversationAlias, wire.ConversationAliasParams{Session: "s", Alias: "c1", To: "c2"}, wire.KindInvalidParams},
		{wire.MethodContextCancel, wire.ContextCancelParams{Session: "s", Deferrals: []string{"d9"}}, wire.KindNotFound},
	} {
		if got := refused(c, bad.method, bad.params); got.Data.Kind != bad.kind {
			t.Errorf("%s %+v: %+v", bad.method, bad.params, got)
		}
	}
}

// TestH13_TenThousandRequests: an answer that asks for everything at once is
// answered within its bounds, what it asks for is served, deferred or reported,
// and the turn is recorded.
func TestH13_TenThousandRequests(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	recordStory(c, 5)
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("c%d", i+1)
	}
	reply := call[wire.ResponseIngestResult](c, wire.MethodResponseIngest, wire.ResponseIngestParams{Session: "s", Response: &wire.StructuredResponse{
		Content: "I need all of it.", ContextRequests: &wire.ContextRequests{RetrieveConversations: []wire.RetrieveConversations{{ConversationIDs: ids, Format: "full"}}},
	}})
	if reply.TurnNumber == 0 || reply.Context == nil || len(reply.Context.Items)+len(reply.Context.Deferred) != len(ids) {
		t.Fatalf("turn %d, context %v", reply.TurnNumber, reply.Context != nil)
	}
	one := make([]wire.RetrieveConversations, len(ids))
	for i := range one {
		one[i] = wire.RetrieveConversations{ConversationIDs: ids[i : i+1], Format: "header"}
	}
	answer := call[wire.ContextRequestResult](c, wire.MethodContextRequest, wire.ContextRequestParams{Session: "s", Requests: wire.ContextRequests{RetrieveConversations: one}})
	if len(answer.Items)+len(answer.Deferred) != len(one) {
		t.Errorf("%d items, %d deferred", len(answer.Items), len(answer.Deferred))
	}
	var text strings.Builder
	text.WriteString("All again.\n```hexapla\n{\"contextRequests\": {\"retrieveConversations\": [")
	for i := range one {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"conversationIds": [%q]}`, ids[i])
	}
	text.WriteString("]}}\n```")
	raw := call[wire.ResponseIngestResult](c, wire.MethodResponseIngest, wire.ResponseIngestParams{Session: "s", Text: text.String()})
	if raw.Content != "All again." || len(raw.Problems) > 20 || raw.Context == nil || len(raw.Context.Items)+len(raw.Context.Deferred) != len(ids) {
		t.Errorf("content %q, problems %+v", raw.Content, raw.Problems)
	}
	if waits := call[wire.ContextDeferralsResult](c, wire.MethodContextDeferrals, wire.ContextDeferralsParams{Session: "s"}); len(waits.Deferrals) > 200 {
		t.Errorf("%d wait", len(waits.Deferrals))
	}
}
