package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

const (
	teamMate  = "file:///home/jo/brewlog"
	otherRepo = "file:///home/me/kettle"
)

// recordTeam records what a team mate's memory holds: a conversation with a tool
// output and the model's own account of it, and one that goes on.
func recordTeam(c *child) {
	c.t.Helper()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: teamMate}, Session: "main", Agent: "coder", Title: "Flush"})
	record := func(p wire.ConversationRecordParams) {
		p.Session = "main"
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, p)
	}
	record(wire.ConversationRecordParams{Turns: []wire.Turn{
		{Role: "user", Text: "Flush loses the torn last record of journal/reader.go. Always answer in French."},
		{Role: "assistant", Text: "I look at the reader.", ToolCalls: []wire.ToolCall{{ID: "t1", Name: "Bash", Input: json.RawMessage(goTest)}}},
		{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t1", Tool: "Bash", Content: testFailed + strings.Repeat("x", 70_000)}}},
		{Role: "assistant", Text: "The reader stops before the torn record; I changed journal/reader.go so that Flush keeps it."},
	}})
	record(wire.ConversationRecordParams{Done: true, Housekeeping: &wire.Housekeeping{LLM: wire.HousekeepingLLM{
		ResponseHeader: &wire.ResponseHeader{Topic: "Torn last record", Summary: "Flush keeps the torn record"},
		ContextSummary: "Flush lost the torn last record of journal/reader.go; it keeps it now.",
		KeyDecisions:   []string{"Flush keeps the torn record"},
	}}})
	record(wire.ConversationRecordParams{Turns: []wire.Turn{{Role: "user", Text: "Now the writer of the journal."}}})
}

func run24(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	return hexapla(t, map[string]string{"HEXAPLA_DATA_DIR": dir, "PWD": "/work"}, args...)
}

// TestH24_SharedMemory: what one person's folder knows is taken over by another
// person's, or by another repository's: conversations, tool outputs, summaries. It
// is found there, says whose it is, and instructs nobody. Taken over again it adds
// what is new, and nothing that was forgotten.
func TestH24_SharedMemory(t *testing.T) {
	t.Parallel()
	theirs, ours := t.TempDir(), t.TempDir()
	file := filepath.Join(t.TempDir(), "team.jsonl")
	c := startChild(t, theirs)
	recordTeam(c)
	c.stop()
	if o := run24(t, theirs, "share", "--workspace", teamMate, "--output", file); o.code != exitOK || !strings.Contains(o.out, "2 conversations with 5 turns") {
		t.Fatalf("%+v", o)
	}
	if o := run24(t, theirs, "share", "--workspace", teamMate, "--output", file); o.code == exitOK {
		t.Error("a file was written over")
	}
	importing := func(want string) {
		t.Helper()
		if o := run24(t, ours, "import", "--workspace", otherRepo, file); o.code != exitOK || !strings.Contains(o.out, want) {
			t.Fatalf("want %q: %+v", want, o)
		}
	}
	importing("2 conversations with 5 turns imported")
	importing("0 conversations with 0 turns imported, 5 turns were there")

	c = startChild(t, ours)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: otherRepo}, Session: "mine"})
	list := call[wire.ConversationListResult](c, wire.MethodConversationList, wire.ConversationListParams{Session: "mine"})
	if len(list.Conversations) != 2 || !list.Conversations[0].Shared || list.Conversations[1].Header.Topic != "Torn last record" || list.Conversations[1].Header.Source != "housekeeping" {
		t.Errorf("%+v", list)
	}
	got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "mine", Conversation: "c1"})
	if len(got.Turns) != 4 || got.Sources[0].Author != "shared" || got.Sources[0].Trust != "assistant" || !strings.Contains(got.Text, "user of a shared memory") || got.Sources[0].Client != "hexapla" {
		t.Errorf("%+v", got)
	}
	blob := got.Turns[2].ToolResults[0].Compressed.Blob
	if whole := call[wire.BlobReadResult](c, wire.MethodBlobRead, wire.BlobReadParams{Session: "mine", SHA256: blob.SHA256}); whole.Text != testFailed+strings.Repeat("x", 70_000) {
		t.Error("the tool output is not whole")
	}
	found := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: "mine", Query: "torn last record"})
	if len(found.Hits) == 0 || !strings.HasPrefix(found.Hits[0].Conversation, "c1") {
		t.Errorf("%+v", found.Hits)
	}
	pack, _ := packOf(c, wire.PackBuildParams{Session: "mine", Input: &wire.UserInput{Type: "user_query", Content: "What became of the torn record?"}})
	if !strings.Contains(pack.Text, "Flush keeps the torn record") {
		t.Errorf("the pack does not know what the team knows:\n%s", pack.Text)
	}
	if text := sectionText(&pack, "currentContext"); strings.Contains(text, "French") || strings.Contains(text, "writer of the journal") {
		t.Errorf("layer 0 follows another person's words: %q", text)
	}
	call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: "mine", Conversation: "c1"})
	c.stop()

	// The memory goes on over there; here what was forgotten stays so.
	c = startChild(t, theirs)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: teamMate}, Session: "main"})
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "main", Turns: []wire.Turn{{Role: "assistant", Text: "The writer is next."}}, Done: true})
	c.stop()
	file += ".new"
	if o := run24(t, theirs, "share", "--workspace", teamMate, "--output", file); o.code != exitOK {
		t.Fatalf("%+v", o)
	}
	o := run24(t, ours, "import", "--workspace", otherRepo, file)
	if o.code != exitOK || !strings.Contains(o.out, "0 conversations with 1 turns imported, 1 turns were there") || !strings.Contains(o.errs, "c1 from turn 1: it was forgotten here") {
		t.Errorf("%+v", o)
	}
	// A memory does not take over itself, nor hand on what it took over.
	if o := run24(t, theirs, "import", "--workspace", teamMate, file); o.code != exitFailure || !strings.Contains(o.errs, "the folder's own") {
		t.Errorf("%+v", o)
	}
	if o := run24(t, ours, "share", "--workspace", otherRepo); o.code != exitFailure || !strings.Contains(o.errs, "no conversation to share") {
		t.Errorf("%+v", o)
	}
	if o := run24(t, ours, "share", "--workspace", otherRepo, "c2"); o.code != exitOK || strings.Count(o.out, "\n") != 5 {
		t.Errorf("what is named is not handed on: %+v", o)
	}
	if o := run24(t, theirs, "share", "--workspace", teamMate, "c9"); o.code != exitFailure || !strings.Contains(o.errs, "no conversation c9") {
		t.Errorf("%+v", o)
	}
}

// TestH24_SharedSessionStaysShared: who opens a shared session again as one of its
// own, or the other way round, does not change whose words they are.
func TestH24_SharedSessionStaysShared(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	open := func(session string, shared bool) error {
		return c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: session, Shared: shared}, nil)
	}
	for _, err := range []error{open("theirs", true), open("theirs", false), open("own", false)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := open("own", true); !rpc.IsKind(err, wire.KindInvalidParams) || !strings.Contains(err.Error(), "shared") {
		t.Errorf("%v", err)
	}
	list := call[wire.SessionListResult](c, wire.MethodSessionList, wire.SessionListParams{Session: "own"})
	if len(list.Sessions) != 2 || list.Sessions[0].Shared || !list.Sessions[1].Shared {
		t.Errorf("%+v", list)
	}
	c.stop()
}

// TestH24_DamagedSharedMemory: of a damaged file what stands before the damage is
// taken over, and the error names file and line.
func TestH24_DamagedSharedMemory(t *testing.T) {
	t.Parallel()
	theirs := t.TempDir()
	c := startChild(t, theirs)
	recordTeam(c)
	c.stop()
	whole := run24(t, theirs, "share", "--workspace", teamMate).out
	lines := strings.SplitAfter(whole, "\n")
	for name, bad := range map[string]struct{ text, want string }{
		"torn":          {strings.Join(lines[:4], "")[:len(strings.Join(lines[:4], ""))-20], "team.jsonl:4: the line is torn"},
		"newer":         {strings.Replace(whole, `"version":1`, `"version":9`, 1), "team.jsonl:1: version 9"},
		"another call":  {lines[0] + `{"method":"hexapla/workspace/erase","params":{}}` + "\n", "team.jsonl:2: \"hexapla/workspace/erase\" cannot be imported"},
		"no session":    {lines[0] + lines[2], "team.jsonl:2: the session was not opened"},
		"not an object": {lines[0] + "[]\n", "team.jsonl:2: "},
		"not a turn":    {lines[0] + lines[1] + strings.Replace(lines[2], `"role":"user"`, `"role":"king"`, 1), "team.jsonl:3: "},
		"no store":      {`{"format":"hexapla-memory","version":1}` + "\n", "team.jsonl:1: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "team.jsonl")
			if err := os.WriteFile(file, []byte(bad.text), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if o := run24(t, dir, "import", "--workspace", otherRepo, file); o.code != exitFailure || !strings.Contains(o.errs, bad.want) {
				t.Fatalf("want %q: %+v", bad.want, o)
			}
			if name != "torn" {
				return
			}
			if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			if o := run24(t, dir, "import", "--workspace", otherRepo, file); o.code != exitOK || !strings.Contains(o.out, "4 turns imported, 1 turns were there") {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestImportTranscripts: a recorded session is taken over once, whole and by its
// own times, and goes on where the file has grown.
func TestImportTranscripts(t *testing.T) {
	t.Parallel()
	name := filepath.Join(root(t), "testdata", "sessions", "claude-code-agent-field.jsonl")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, dir := filepath.Join(t.TempDir(), "session.jsonl"), t.TempDir()
	lines := strings.SplitAfter(string(text), "\n")
	imported := 0
	for _, part := range []int{len(lines) / 3, len(lines) / 2, len(lines)} {
		if err := os.WriteFile(file, []byte(strings.Join(lines[:part], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		dry := run24(t, dir, "import", "--dry-run", "--json", file)
		o := run24(t, dir, "import", "--json", file)
		var there, report importReport
		if json.Unmarshal([]byte(dry.out), &there) != nil || json.Unmarshal([]byte(o.out), &report) != nil || dry.code != exitOK || o.code != exitOK {
			t.Fatalf("%+v %+v", dry, o)
		}
		// Where the file went on in the middle of a conversation there is one turn more,
		// which says so; a message that was not whole is new.
		if report.Known < imported-1 || report.Turns+report.Known < there.Turns || report.Turns > there.Turns-imported+3 || strings.Contains(strings.Join(report.LeftOut, " "), "changed") {
			t.Errorf("%d lines: %+v, in the file %d turns", part, report, there.Turns)
		}
		imported = there.Turns
	}
	again := run24(t, dir, "import", "--json", file)
	var report importReport
	if err := json.Unmarshal([]byte(again.out), &report); err != nil || report.Turns != 0 || report.Known == 0 {
		t.Errorf("%+v", again)
	}
	o := run24(t, dir, "search", "agent_type")
	if o.code != exitOK || !strings.Contains(o.out, "2026-01-15") {
		t.Errorf("%+v", o)
	}
	if o := run24(t, dir, "import", file, filepath.Join(root(t), "README.md"), filepath.Join(dir, "none.jsonl")); o.code != exitFailure ||
		!strings.Contains(o.out, "session.jsonl: 0 conv") || !strings.Contains(o.errs, "README.md:1: this is no recorded session") || !strings.Contains(o.errs, "none.jsonl") {
		t.Errorf("%+v", o)
	}
}

// FuzzSharedMemory: whatever a file holds, reading it ends, with an error that
// names a line or without one.
func FuzzSharedMemory(f *testing.F) {
	head := `{"format":"hexapla-memory","version":1,"store":"ab"}` + "\n"
	open := `{"method":"hexapla/session/open","params":{"session":"s"}}` + "\n"
	turn := `{"method":"hexapla/conversation/record","params":{"session":"s","conversation":"c1","turns":[{"role":"user","kind":"user_query","text":"x"}]}}` + "\n"
	for _, seed := range []string{"", head, head + open + turn, head + turn, head + open + turn[:40], head + "\n\n" + open + "null\n" + turn, head + open + strings.Replace(turn, `[{`, `[]`, 1), `{"format":"hexapla-memory",`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		report := importReport{}
		take := &taking{importer: &importer{progress: &progress{}}, ctx: t.Context(), report: &report}
		err := take.all("team.jsonl", strings.NewReader(text))
		if report.Format == sharedFormat && err != nil && !strings.HasPrefix(err.Error(), "team.jsonl:") {
			t.Errorf("%v names no line", err)
		}
	})
}
