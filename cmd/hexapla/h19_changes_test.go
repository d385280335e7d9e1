package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// did records a call of a tool with its result in the conversation in progress.
func (c *child) did(session, said, tool, input, output string, failed bool) {
	c.t.Helper()
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: session, Turns: []wire.Turn{
		{Role: "assistant", Text: said, ToolCalls: []wire.ToolCall{{ID: "t", Name: tool, Input: json.RawMessage(input)}}, Time: "2026-03-02T09:15:00Z"},
		{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t", Tool: tool, Content: output, IsError: failed}}, Time: "2026-03-02T09:15:01Z"},
	}})
}

func (c *child) asks(session, text string) {
	c.t.Helper()
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: session, Turns: []wire.Turn{{Role: "user", Text: text}}})
}

func (c *child) opens(session, agent string) {
	c.t.Helper()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{
		Workspace: wire.Workspace{URI: testWorkspace}, Session: session, Agent: agent, Model: "gpt-4o",
	})
}

// told is a change in short: its turn, kind, file and lines.
func told(changes []wire.FileChange) []string {
	var out []string
	for i := range changes {
		c := &changes[i]
		text := fmt.Sprintf("%s %s %s", c.Turn, c.ChangeType, c.File)
		if c.From != "" {
			text += " from " + c.From
		}
		if c.Added != nil {
			text += fmt.Sprintf(" +%d -%d", *c.Added, *c.Removed)
		}
		if c.Source != "call" {
			text += " " + c.Source
		}
		out = append(out, text)
	}
	return out
}

func sameList(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// TestH19_ChangesOfFiles: calls of common assistants that worked are changes of
// files, with who, when and where; what failed is none; housekeeping adds to
// them. The list is the same after a restart and as of any sequence.
func TestH19_ChangesOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	c.opens("one", "coder")
	list := func(p wire.ChangeListParams) wire.ChangeListResult {
		if p.Session == "" {
			p.Session = "one"
		}
		return call[wire.ChangeListResult](c, wire.MethodChangeList, p)
	}
	if empty := list(wire.ChangeListParams{}); len(empty.Changes) != 0 || empty.Cursor != "" {
		t.Errorf("nothing was changed: %+v", empty)
	}
	c.asks("one", "Make the reader flush.")
	c.did("one", "Let me create the reader.", "Write", `{"file_path":"/w/io/reader.go","content":"package io\n\nfunc Read() {}\n"}`, "File created successfully at: /w/io/reader.go", false)
	c.did("one", "", "Edit", `{"file_path":"/w/io/reader.go","old_string":"func Read() {}","new_string":"func Read() {\n\tflush()\n}"}`, "The file /w/io/reader.go has been updated.", false)
	c.did("one", "", "Edit", `{"file_path":"/w/io/reader.go","old_string":"nowhere","new_string":"x"}`, "String to replace not found in file.", true)
	c.did("one", "", "apply_patch", `{"input":"*** Begin Patch\n*** Add File: io/a.go\n+package io\n*** Update File: io/b.go\n-old line\n+new line\n+another\n*** Delete File: io/c.go\n*** Update File: io/d.go\n*** Move to: io/e.go\n-x := 1\n+x := 2\n*** End Patch"}`, "Done!", false)
	c.did("one", "", "bash", `{"command":"git mv io/old.go io/new.go && rm io/gone.go && sed -i s/a/b/ io/seen.go && echo done > /tmp/x.txt"}`, "", false)
	c.did("one", "", "bash", `{"command":"rm io/kept.go"}`, "rm: io/kept.go: Permission denied (see docs/io.md)\nExit code 1", true)
	call[wire.HousekeepingApplyResult](c, wire.MethodHousekeepingApply, wire.HousekeepingApplyParams{Session: "one", Housekeeping: wire.Housekeeping{LLM: wire.HousekeepingLLM{
		CodeChanges: []wire.CodeChange{
			{Files: []string{"io/reader.go"}, ChangeType: "refactor", Summary: "Read flushes", Impact: "high"},
			{Files: []string{"docs/io.md"}, ChangeType: "create", Summary: "how reading works", Impact: "low"},
		},
	}}})
	all := []string{
		"c1#13 create docs/io.md housekeeping",
		"c1#11 modify io/seen.go", "c1#11 delete io/gone.go", "c1#11 rename io/new.go from io/old.go",
		"c1#9 rename io/e.go from io/d.go +1 -1", "c1#9 delete io/c.go", "c1#9 modify io/b.go +2 -1", "c1#9 create io/a.go +1 -0",
		"c1#5 refactor /w/io/reader.go +3 -1", "c1#3 create /w/io/reader.go +2 -0",
	}
	got := list(wire.ChangeListParams{})
	sameList(t, "changes", told(got.Changes), all)
	reader := list(wire.ChangeListParams{File: "io/reader.go"})
	sameList(t, "of a file", told(reader.Changes), all[8:])
	if r := reader.Changes[0]; r.Summary != "Read flushes" || r.Impact != "high" || r.Conversation != "c1" || r.Time != "2026-03-02T09:15:01Z" ||
		r.By != (wire.ChangeAuthor{Session: "one", Agent: "coder", Model: "gpt-4o"}) {
		t.Errorf("%+v", r)
	}
	if r := reader.Changes[1]; r.Summary != "create the reader" {
		t.Errorf("%+v", r)
	}
	sameList(t, "of the name before", told(list(wire.ChangeListParams{File: "old.go"}).Changes), all[3:4])
	sameList(t, "of no file", told(list(wire.ChangeListParams{File: "ader.go"}).Changes), nil)
	c.opens("two", "helper")
	c.asks("two", "Give it another name.")
	c.did("two", "", "Edit", `{"file_path":"/w/io/reader.go","old_string":"a := 1","new_string":"b := 1","replace_all":true}`, "The file /w/io/reader.go has been updated.", false)
	sameList(t, "of two sessions", told(list(wire.ChangeListParams{File: "reader.go"}).Changes), append([]string{"c2#3 modify /w/io/reader.go"}, all[8:]...))
	sameList(t, "of a conversation", told(list(wire.ChangeListParams{Conversation: "c1"}).Changes), all)
	sameList(t, "of then", told(list(wire.ChangeListParams{AsOf: got.Sequence}).Changes), all)
	sameList(t, "of tomorrow", told(list(wire.ChangeListParams{Since: "2026-03-03T00:00:00Z"}).Changes), nil)
	pages := func() (out []string) {
		p := wire.ChangeListParams{Session: "two", Limit: 3}
		for {
			page := list(p)
			out = append(out, told(page.Changes)...)
			if p.Cursor = page.Cursor; p.Cursor == "" {
				return out
			}
		}
	}
	want := append([]string{"c2#3 modify /w/io/reader.go"}, all...)
	sameList(t, "page by page", pages(), want)
	// Housekeeping that says the same again changes nothing.
	call[wire.HousekeepingApplyResult](c, wire.MethodHousekeepingApply, wire.HousekeepingApplyParams{Session: "one", Conversation: "c1", Housekeeping: wire.Housekeeping{LLM: wire.HousekeepingLLM{
		CodeChanges: []wire.CodeChange{{Files: []string{"docs/io.md"}, ChangeType: "create", Summary: "how reading works", Impact: "low"}},
	}}})
	c.stop()
	c = startChild(t, dir)
	c.opens("two", "helper")
	sameList(t, "after a restart", pages(), want)
	c.stop()
	env := map[string]string{"HEXAPLA_DATA_DIR": dir}
	o := hexapla(t, env, "changes", "reader.go", "--workspace", testWorkspace)
	if o.code != exitOK || strings.Count(o.out, "reader.go") != 3 || !strings.Contains(o.out, "one (coder gpt-4o)") || !strings.Contains(o.out, "Read flushes") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "changes", "--json", "--limit", "2", "--workspace", testWorkspace); o.code != exitOK || strings.Count(o.out, `"changeType"`) != 2 {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "changes", "--since", "then", "--workspace", testWorkspace); o.code != exitUsage {
		t.Errorf("%+v", o)
	}
}

// TestH19_ClientsWithoutResults: where no result is recorded, calls of a completed
// conversation are believed.
func TestH19_ClientsWithoutResults(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	c.opens("one", "")
	record := func(done bool, turns ...wire.Turn) {
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "one", Turns: turns, Done: done})
	}
	edit := wire.Turn{Role: "assistant", ToolCalls: []wire.ToolCall{{ID: "t", Name: "Edit", Input: json.RawMessage(`{"file_path":"a.go","old_string":"x","new_string":"y"}`)}}}
	record(false, wire.Turn{Role: "user", Text: "Mend a.go."}, edit)
	list := func() []string {
		return told(call[wire.ChangeListResult](c, wire.MethodChangeList, wire.ChangeListParams{Session: "one"}).Changes)
	}
	sameList(t, "in progress", list(), nil)
	record(true, wire.Turn{Role: "assistant", Text: "It is mended."})
	sameList(t, "completed", list(), []string{"c1#2 modify a.go +1 -1"})
}

// TestH19_OlderStores: changes that a program recorded that kept none are read
// out of the turns, and stay in their place when newer ones come.
func TestH19_OlderStores(t *testing.T) {
	t.Parallel()
	dir := unpackFolder(t, filepath.Join(root(t), "testdata", "stores", "v1.zip"))
	c := startChild(t, dir)
	defer c.stop()
	c.opens(oldMain, "")
	list := func() wire.ChangeListResult {
		return call[wire.ChangeListResult](c, wire.MethodChangeList, wire.ChangeListParams{Session: oldMain})
	}
	before := list()
	if !before.Derived || len(before.Changes) == 0 {
		t.Fatalf("%+v", before)
	}
	c.asks(oldMain, "Change a file, please.")
	c.did(oldMain, "", "Edit", `{"file_path":"new.go","old_string":"x","new_string":"y"}`, "The file new.go has been updated.", false)
	after := list()
	if got, want := told(after.Changes), told(before.Changes); len(got) != len(want)+1 || !reflect.DeepEqual(got[1:], want) || after.Changes[0].File != "new.go" {
		t.Errorf("%q, before %q", got, want)
	}
}
