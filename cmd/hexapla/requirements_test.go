package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/tokens"
	"hexapla/rpc/wire"
)

// Each test below is named after the requirement whose substance it checks,
// through the process, as a client sees it. docs/requirements.md says where each
// requirement lives; the laws behind them are tested beside the code.

// openStory starts a server whose session has a history of so many conversations.
func openStory(t *testing.T, conversations int) *child {
	t.Helper()
	c := startChild(t, t.TempDir())
	t.Cleanup(c.stop)
	recordStory(c, conversations)
	return c
}

// openAt opens a session of its own in a workspace.
func (c *child) openAt(uri string) wire.SessionOpenResult {
	c.t.Helper()
	return call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: uri}})
}

func recordAsked(c *child, query string, rest ...wire.Turn) wire.ConversationRecordResult {
	c.t.Helper()
	return call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: "s", Turns: append([]wire.Turn{{Role: "user", Text: query}}, rest...),
	})
}

func sectionNamed(p wire.Pack, name string) wire.Section {
	for _, s := range p.Sections {
		if s.Name == name {
			return s
		}
	}
	return wire.Section{}
}

// TestH2_ActiveMemory: the conversation in progress and the completed ones
// before it stand in the pack turn by turn, the newest at the end.
func TestH2_ActiveMemory(t *testing.T) {
	t.Parallel()
	c := openStory(t, 9)
	recordAsked(c, "And what of the writer?")
	_, pack := buildPack(c, 60_000, 0, "stable-prefix")
	var seen []string
	for _, s := range pack.Sections {
		for _, item := range s.Items {
			if conversation, _, ok := strings.Cut(item.ID, "#"); ok && !slices.Contains(seen, conversation) {
				seen = append(seen, conversation)
			}
		}
	}
	if want := []string{"c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10"}; !slices.Equal(seen, want) {
		t.Errorf("layer 1 shows %v", seen)
	}
	if !strings.HasSuffix(pack.Text, "And what of the writer?\n") {
		t.Error("the question is not at the end")
	}
}

// TestH3_Headers: every conversation before layer 1 has its line, at most 200
// of them singly; those beyond are told in one roll-up, at any budget.
func TestH3_Headers(t *testing.T) {
	t.Parallel()
	const conversations = 240
	c := startChild(t, t.TempDir())
	t.Cleanup(c.stop)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	for i := range conversations {
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Done: true, Turns: []wire.Turn{
			{Role: "user", Text: fmt.Sprintf("Please rename part %d of the catalogue.", i), Time: "2026-01-12T10:00:00Z"}, {Role: "assistant", Text: "Renamed."},
		}})
	}
	counter := tokens.NewRegistry().ForModel("")
	for _, total := range []int{200_000, 4_000, 400} {
		_, pack := buildPack(c, total, 0, "stable-prefix")
		headers := sectionNamed(pack, layers.SectionHeaders)
		single, rollups := 0, 0
		for _, item := range headers.Items {
			switch item.Detail {
			case layers.FormRollup:
				rollups++
			case string(layers.DetailHeader):
				single++
				if item.Tokens > layers.CapHeader {
					t.Errorf("the header of %s has %d tokens", item.ID, item.Tokens)
				}
			}
		}
		if single > layers.MaxHeaders || rollups != 1 || total == 200_000 && single != layers.MaxHeaders {
			t.Errorf("%d tokens: %d headers and %d roll-ups", total, single, rollups)
		}
		if !strings.Contains(headers.Text, "c1") {
			t.Errorf("%d tokens: the timeline's beginning is not told: %q", total, headers.Text)
		}
	}
	got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: "c7", Detail: "header"})
	h := got.Header
	if h.ID != "c7" || h.Timestamp == "" || h.Topic == "" || h.Outcome != "completed" || h.TokenCount == 0 || counter.Count(h.Summary) > layers.CapHeaderSummary {
		t.Errorf("header %+v", h)
	}
}

// TestH4_Summaries: the conversations right before layer 1 stand there as
// summaries of at most 120 tokens.
func TestH4_Summaries(t *testing.T) {
	t.Parallel()
	c := openStory(t, 31)
	_, pack := buildPack(c, 60_000, 0, "stable-prefix")
	first := ""
	for _, item := range sectionNamed(pack, layers.SectionActiveMemory).Items {
		if conversation, _, ok := strings.Cut(item.ID, "#"); ok && first == "" {
			first = conversation
		}
	}
	var shown []string
	for _, item := range sectionNamed(pack, layers.SectionSummaries).Items {
		if item.Detail != string(layers.DetailSummary) {
			continue
		}
		shown = append(shown, item.ID)
		if item.Tokens > layers.CapSummary {
			t.Errorf("the summary of %s has %d tokens", item.ID, item.Tokens)
		}
	}
	var n int
	if _, err := fmt.Sscanf(first, "c%d", &n); err != nil {
		t.Fatalf("layer 1 begins with %q", first)
	}
	var want []string
	for i := n - 5; i < n; i++ {
		want = append(want, fmt.Sprintf("c%d", i))
	}
	if !slices.Equal(shown, want) {
		t.Errorf("layer 1 begins with %s, summaries of %v", first, shown)
	}
	got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: want[0], Detail: "summary"})
	if s := got.Summary; s == nil || !s.Retrievable || len(s.KeyDecisions) == 0 || len(s.CodeChanges) == 0 {
		t.Errorf("summary %+v", s)
	}
}

// TestH5_ReferenceIndex: a file, a function and an error are found with the
// conversations that speak of them.
func TestH5_ReferenceIndex(t *testing.T) {
	t.Parallel()
	c := openStory(t, 9)
	for kind, name := range map[string]string{"file": "internal/part3/reader.go", "function": "TestReader3", "error": "got EOF, want record"} {
		got := call[wire.ReferenceLookupResult](c, wire.MethodReferenceLookup, wire.ReferenceLookupParams{Session: "s", Kind: kind, Name: name})
		if len(got.Entries) == 0 || len(got.Entries[0].Mentions) == 0 {
			t.Errorf("%s %q: %+v", kind, name, got)
			continue
		}
		if m := got.Entries[0].Mentions; !slices.ContainsFunc(m, func(m wire.ReferenceMention) bool { return m.Conversation == "c4" }) {
			t.Errorf("%s %q: mentions %+v", kind, name, m)
		}
	}
}

// TestH6_Archive: any conversation comes back as header, summary or full text
// by its id, and for a query.
func TestH6_Archive(t *testing.T) {
	t.Parallel()
	c := openStory(t, 12)
	before := 0
	for _, format := range []string{"header", "summary", "full"} {
		got := call[wire.ContextRequestResult](c, wire.MethodContextRequest, wire.ContextRequestParams{Session: "s", Requests: wire.ContextRequests{
			RetrieveConversations: []wire.RetrieveConversations{{ConversationIDs: []string{"c2"}, Format: format}},
		}})
		if len(got.Items) != 1 || got.Items[0].Detail != format || got.Items[0].Tokens <= before {
			t.Errorf("%s: %+v", format, got.ContextAnswer)
			continue
		}
		before = got.Items[0].Tokens
	}
	got := call[wire.ContextRequestResult](c, wire.MethodContextRequest, wire.ContextRequestParams{Session: "s", Requests: wire.ContextRequests{
		RetrieveConversations: []wire.RetrieveConversations{{Priority: "relevant", Query: "internal/part4/reader.go TestReader4", Format: "summary", Limit: 1}},
	}})
	if len(got.Items) != 1 || got.Items[0].Conversation != "c5" {
		t.Errorf("relevant: %+v", got.ContextAnswer)
	}
}

// TestH8_ThreeBranches: system prompt, context and input are apart, and together
// they are the outgoing message.
func TestH8_ThreeBranches(t *testing.T) {
	t.Parallel()
	c := openStory(t, 3)
	result := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{
		Session: "s", Budget: wire.Budget{Total: 8000}, Input: &wire.UserInput{Type: "user_query", Content: "Does it lose the first one, too?"},
		System: &wire.SystemPrompt{Tools: "Bash runs commands.", Environment: "Linux.", Guardrails: "Ask first.", Other: "Be brief."},
	})
	var pack wire.Pack
	if err := json.Unmarshal(result.Pack, &pack); err != nil {
		t.Fatal(err)
	}
	b := pack.Branches
	if b.SystemPrompt+b.ContextPrompt+b.UserInput != pack.Text {
		t.Error("the branches are not the text")
	}
	for _, part := range []string{"Bash runs commands.", "Linux.", "Ask first.", "Be brief."} {
		if !strings.Contains(b.SystemPrompt, part) || strings.Contains(b.ContextPrompt+b.UserInput, part) {
			t.Errorf("%q is not in the system branch alone", part)
		}
	}
	if !strings.Contains(b.UserInput, "Does it lose the first one, too?") || !strings.Contains(b.ContextPrompt, "internal/part0/reader.go") {
		t.Errorf("input %q", b.UserInput)
	}
}

// TestH9_StructuredResponse: content, tool uses, housekeeping and context
// requests of one answer each go where they belong; feedback of the user is kept.
func TestH9_StructuredResponse(t *testing.T) {
	t.Parallel()
	c := openStory(t, 3)
	recordAsked(c, "Is Close the right place?")
	got := call[wire.ResponseIngestResult](c, wire.MethodResponseIngest, wire.ResponseIngestParams{Session: "s", Response: &wire.StructuredResponse{
		Content:  "Yes, Close is the right place.",
		ToolUses: []wire.ToolCall{{ID: "t9", Name: "Read", Input: map[string]any{"path": "internal/part1/reader.go"}}},
		Housekeeping: &wire.Housekeeping{
			LLM:  wire.HousekeepingLLM{ResponseHeader: &wire.ResponseHeader{Topic: "Place of the flush"}, ContextSummary: "Close is the right place.", KeyDecisions: []string{"Flush in Close"}},
			User: wire.HousekeepingUser{UnderstoodIntent: "know the place", Satisfaction: "positive"},
		},
		ContextRequests: &wire.ContextRequests{RetrieveConversations: []wire.RetrieveConversations{{ConversationIDs: []string{"c1"}, Format: "summary"}}},
	}})
	if got.Content != "Yes, Close is the right place." || len(got.ToolUses) != 1 || !got.HousekeepingApplied || got.Context == nil || len(got.Context.Items) != 1 || len(got.Flagged)+len(got.Problems) != 0 {
		t.Fatalf("ingest %+v", got)
	}
	kept := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: got.Conversation, Detail: "full"})
	if kept.Header.Topic != "Place of the flush" || kept.Summary == nil || kept.Summary.Content != "Close is the right place." || len(kept.Turns) != 2 || len(kept.Turns[1].ToolCalls) != 1 {
		t.Errorf("kept %+v", kept)
	}
	if _, pack := buildPack(c, 8000, 0, "stable-prefix"); !strings.Contains(pack.Text, "### retrieved c1 summary") {
		t.Error("the answer to the context request is not in the next pack")
	}
}

// TestH10_Budget: the accounting of a pack adds up, and what is reserved is kept
// free.
func TestH10_Budget(t *testing.T) {
	t.Parallel()
	c := openStory(t, 12)
	result := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 3000, Reserved: 1200}})
	var pack wire.Pack
	if err := json.Unmarshal(result.Pack, &pack); err != nil {
		t.Fatal(err)
	}
	k := pack.Tokens
	sum := 0
	for _, s := range pack.Sections {
		sum += s.Tokens
		if s.Tokens > s.Allowance && s.Name != layers.SectionInput && s.Name != layers.SectionActiveMemory {
			t.Errorf("%s takes %d of %d tokens", s.Name, s.Tokens, s.Allowance)
		}
	}
	if k.Total != 3000 || k.Reserved != 1200 || k.Available != 1800 || k.Used > k.Available || k.Used != sum || k.System+k.Context+k.Input != k.Used {
		t.Errorf("tokens %+v, the sections come to %d", k, sum)
	}
	if counted := tokens.NewRegistry().ForModel("").Count(pack.Text); counted != k.Used {
		t.Errorf("the text has %d tokens, used is %d", counted, k.Used)
	}
}

// TestH11_Caps: what a model says at too great a length is trimmed to its cap
// before it is kept, and the reply names it.
func TestH11_Caps(t *testing.T) {
	t.Parallel()
	c := openStory(t, 3)
	long := strings.Repeat("The buffer is flushed at the end of the file. ", 200)
	got := call[wire.HousekeepingApplyResult](c, wire.MethodHousekeepingApply, wire.HousekeepingApplyParams{Session: "s", Housekeeping: wire.Housekeeping{LLM: wire.HousekeepingLLM{
		ResponseHeader: &wire.ResponseHeader{Topic: "Buffer", Summary: long}, ContextSummary: long,
		CurrentContext: &wire.CurrentContext{OverallNarrative: long, CurrentObjective: "Flush", KeyAchievements: []string{}, NextSteps: []string{}, ActiveEntities: wire.ActiveEntities{Files: []string{}, Functions: []string{}, Concepts: []string{}}},
	}}})
	if len(got.Trimmed) < 3 {
		t.Errorf("trimmed %v", got.Trimmed)
	}
	counter := tokens.NewRegistry().ForModel("")
	_, pack := buildPack(c, 8000, 0, "stable-prefix")
	if n := sectionNamed(pack, layers.SectionCurrentContext).Tokens; n > layers.CapCurrentContext {
		t.Errorf("layer 0 has %d tokens", n)
	}
	if n := counter.Count(got.Header.Summary); n > layers.CapHeaderSummary {
		t.Errorf("the header's summary has %d tokens", n)
	}
	if n := counter.Count(got.Summary.Content); n > layers.CapSummary {
		t.Errorf("the summary has %d tokens", n)
	}
}

// TestH12_Deterministic: two packs of the same inputs are the same bytes, and
// the checksum is the SHA-256 of the canonical bytes that were sent.
func TestH12_Deterministic(t *testing.T) {
	t.Parallel()
	c := openStory(t, 12)
	first, pack := buildPack(c, 4000, 0, "stable-prefix")
	second, _ := buildPack(c, 4000, 0, "stable-prefix")
	if string(first.Pack) != string(second.Pack) || first.Checksum != second.Checksum {
		t.Error("two packs of the same inputs differ")
	}
	sum := sha256.Sum256(first.Pack)
	if hex.EncodeToString(sum[:]) != first.Checksum {
		t.Error("the checksum is not that of the bytes")
	}
	if !slices.Equal(pack.DropOrder, []string{"nonRequestedFulls", "summaries", "headers"}) || pack.Seed == "" || pack.SelectionPolicy == "" || len(pack.Guaranteed) == 0 {
		t.Errorf("pack %+v", pack.DropOrder)
	}
}

// TestH14_ToolOutputs: an output is stored once by its content, context has its
// compressed form, and the whole comes back byte for byte.
func TestH14_ToolOutputs(t *testing.T) {
	t.Parallel()
	c := openStory(t, 1)
	log := strings.Repeat("2026-01-12 10:00:00 DEBUG worker 17 idle\n", 3000) + "reader.go:31:2: undefined: flushAll\n"
	record := func() wire.ToolRecordResult {
		return call[wire.ToolRecordResult](c, wire.MethodToolRecord, wire.ToolRecordParams{Session: "s", Tool: "Bash", Input: map[string]any{"command": "go build ./..."}, Content: log, IsError: true})
	}
	first, second := record(), record()
	sum := sha256.Sum256([]byte(log))
	r := first.Compressed
	if first.Duplicate || !second.Duplicate || r.Blob.SHA256 != hex.EncodeToString(sum[:]) || r.Blob.Size != int64(len(log)) {
		t.Errorf("stored as %+v, then duplicate: %v", r, second.Duplicate)
	}
	if n := tokens.NewRegistry().ForModel("").Count(r.Summary); n > layers.CapToolSummary || strings.Contains(r.Summary, "DEBUG") {
		t.Errorf("summary of %d tokens: %q", n, r.Summary)
	}
	if !slices.Contains(r.Pointers, "reader.go:31") && !slices.Contains(r.Pointers, "reader.go:31:2") {
		t.Errorf("pointers %v", r.Pointers)
	}
	var back strings.Builder
	for int64(back.Len()) < r.Blob.Size {
		part := call[wire.BlobReadResult](c, wire.MethodBlobRead, wire.BlobReadParams{Session: "s", SHA256: r.Blob.SHA256, Offset: int64(back.Len())})
		back.WriteString(part.Text)
	}
	if back.String() != log {
		t.Error("the whole output does not come back")
	}
}

// TestH23_Restart: after a restart the same sequence gives the same pack, and a
// session goes on where it was.
func TestH23_Restart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	recordStory(c, 12)
	before, pack := buildPack(c, 4000, 0, "stable-prefix")
	c.stop()
	c = startChild(t, dir)
	t.Cleanup(c.stop)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	after, _ := buildPack(c, 4000, int(pack.Sequence), "stable-prefix")
	if before.Checksum != after.Checksum {
		t.Error("after a restart the same sequence gives another pack")
	}
	if got := recordAsked(c, "Go on."); got.Conversation != "c13" {
		t.Errorf("the next conversation is %s", got.Conversation)
	}
}
