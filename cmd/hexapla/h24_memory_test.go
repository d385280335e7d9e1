package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

const (
	testFailed = "--- FAIL: TestFlush (0.01s)\n    reader_test.go:31: last record is missing: got 7 records, want 8\nFAIL\nFAIL\texample.com/w/io\t0.01s\nFAIL\nexit status 1\n"
	testPassed = "ok  \texample.com/w/io\t0.01s\n"
	goTest     = `{"command":"go test ./io"}`
)

func packOf(c *child, p wire.PackBuildParams) (wire.Pack, wire.PackBuildResult) {
	c.t.Helper()
	if p.Budget.Total == 0 {
		p.Budget.Total = 6000
	}
	built := call[wire.PackBuildResult](c, wire.MethodPackBuild, p)
	var pack wire.Pack
	if err := json.Unmarshal(built.Pack, &pack); err != nil {
		c.t.Fatal(err)
	}
	return pack, built
}

// mendsFlush records a conversation in which a test fails, a file is changed and
// the test passes.
func (c *child) mendsFlush(session string) {
	c.t.Helper()
	c.asks(session, "Why does the reader lose its last record?")
	c.did(session, "I run the tests.", "Bash", goTest, testFailed, true)
	c.did(session, "Close returns before the buffer is written. Let me flush in Close.", "Edit", `{"file_path":"io/reader.go","old_string":"return nil","new_string":"return r.flush()"}`, "The file io/reader.go has been updated.", false)
	c.did(session, "", "Bash", goTest, testPassed, false)
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: session, Done: true, Turns: []wire.Turn{
		{Role: "assistant", Text: "The root cause was that Close did not flush the buffer. It is fixed in io/reader.go, and the test passes."},
	}})
}

// TestH24_KnownProblem: an error that was resolved is looked up with what
// resolved it, and where it comes again, the next pack says so behind it: once,
// in few tokens, without moving the prefix, from the same workspace alone.
func TestH24_KnownProblem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	c.opens("one", "coder")
	c.mendsFlush("one")
	lookup := func(session, text string) []wire.KnownProblem {
		return call[wire.ProblemLookupResult](c, wire.MethodProblemLookup, wire.ProblemLookupParams{Session: session, Error: text}).Problems
	}
	for _, text := range []string{"--- FAIL: TestFlush (1.27s)", "--- FAIL: TestFl", "FAIL: TestFlush (<time>)"} {
		known := lookup("one", text)
		if len(known) != 1 || known[0].Total != 1 || known[0].Seen[0].ID != "c1#3" || len(known[0].Resolutions) != 1 {
			t.Fatalf("%s: %+v", text, known)
		}
		r := known[0].Resolutions[0]
		if r.Resolved.ID != "c1#7" || r.Command != "go test ./io" || len(r.Changes) != 1 || r.Changes[0].File != "io/reader.go" || !strings.Contains(r.Finding, "flush") {
			t.Errorf("%s: %+v", text, r)
		}
	}
	if all := lookup("one", testFailed); len(all) < 2 {
		t.Errorf("an output with two errors: %+v", all)
	}
	if none := lookup("one", "undefined: nothing"); len(none) != 0 {
		t.Errorf("never met: %+v", none)
	}
	c.opens("two", "helper")
	c.asks("two", "Is all well?")
	before, _ := packOf(c, wire.PackBuildParams{Session: "two"})
	const hint = " seen in c1#3, resolved in c1#7 by a change of io/reader.go: `go test ./io` passed"
	// As the input that is not recorded yet, and once it is.
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "two", Turns: []wire.Turn{
		{Role: "assistant", Text: "I run the tests.", ToolCalls: []wire.ToolCall{{ID: "t", Name: "Bash", Input: json.RawMessage(goTest)}}},
	}})
	asInput, _ := packOf(c, wire.PackBuildParams{Session: "two", Input: &wire.UserInput{Type: "tool_response", Content: testFailed}})
	if strings.Count(asInput.Text, hint) != 1 {
		t.Errorf("as input: %s", asInput.Text)
	}
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "two", Turns: []wire.Turn{
		{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t", Tool: "Bash", Content: testFailed, IsError: true}}},
	}})
	after, built := packOf(c, wire.PackBuildParams{Session: "two"})
	if strings.Count(after.Text, hint) != 1 {
		t.Fatalf("no hint: %s", after.Text)
	}
	if !strings.HasPrefix(after.Text, before.Text[:before.StablePrefixBytes]) {
		t.Error("the hint moved the prefix")
	}
	for _, s := range after.Sections {
		for _, item := range s.Items {
			if strings.HasPrefix(item.ID, "seen:") && (item.ID != "seen:c2#3" || item.Tokens > 60) {
				t.Errorf("%+v", item)
			}
		}
	}
	// Tried again without a change, it is being worked on: nothing is said twice.
	c.did("two", "Once more.", "Bash", goTest, testFailed, true)
	again, _ := packOf(c, wire.PackBuildParams{Session: "two"})
	if n := strings.Count(again.Text, "seen in "); n != 1 {
		t.Errorf("%d hints: %s", n, again.Text)
	}
	if !strings.HasPrefix(again.Text, after.Text[:after.StablePrefixBytes]) || !strings.Contains(again.Text, hint) {
		t.Error("the hint has moved")
	}
	replayed := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "two", Checksum: built.Checksum})
	if !replayed.Match {
		t.Error("the pack with the hint is not built again")
	}
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: "file:///elsewhere"}, Session: "far"})
	c.asks("far", "Is all well?")
	c.did("far", "I run the tests.", "Bash", goTest, testFailed, true)
	if far, _ := packOf(c, wire.PackBuildParams{Session: "far"}); strings.Contains(far.Text, "resolved in") {
		t.Errorf("another workspace: %s", far.Text)
	}
	c.stop()
	env := map[string]string{"HEXAPLA_DATA_DIR": dir}
	o := hexapla(t, env, "problems", "--workspace", testWorkspace, "--", "--- FAIL: TestFlush")
	if o.code != exitOK || !strings.Contains(o.out, "c1#3 was resolved in c1#7: go test ./io passed") || !strings.Contains(o.out, "io/reader.go") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "problems", "undefined: nothing", "--workspace", testWorkspace); o.code != exitOK || !strings.Contains(o.out, "not met before") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "problems"); o.code != exitUsage {
		t.Errorf("%+v", o)
	}
}

// TestH24_EntityGraph: what is connected to a file, with the conversations that
// show it, in the same order each time and as of any sequence.
func TestH24_EntityGraph(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	c.opens("one", "coder")
	c.mendsFlush("one")
	c.asks("one", "And writeAll in io/writer.go?")
	c.did("one", "", "Edit", `{"file_path":"io/writer.go","old_string":"a","new_string":"b"}`, "The file io/writer.go has been updated.", false)
	c.did("one", "", "Edit", `{"file_path":"io/reader.go","old_string":"a","new_string":"b"}`, "The file io/reader.go has been updated.", false)
	ask := func(p wire.EntityNeighborsParams) wire.EntityNeighborsResult {
		p.Session = "one"
		return call[wire.EntityNeighborsResult](c, wire.MethodEntityNeighbors, p)
	}
	of := func(r wire.EntityNeighborsResult, kind, name string) *wire.Neighbor {
		for i := range r.Neighbors {
			if n := &r.Neighbors[i]; n.Kind == kind && n.Name == name {
				return n
			}
		}
		return &wire.Neighbor{}
	}
	near := ask(wire.EntityNeighborsParams{Entity: "reader.go", Limit: 200})
	if near.Entity == nil || near.Entity.Kind != "file" {
		t.Fatalf("%+v", near)
	}
	writer := of(near, "file", "io/writer.go")
	if writer.ChangedTogether != 1 || writer.Shared != 1 || !reflect.DeepEqual(writer.Conversations, []string{"c2"}) || writer.Weight != writer.Shared+2*writer.Near+4 {
		t.Errorf("%+v", writer)
	}
	if failure := of(near, "error", "FAIL: TestFlush (<time>)"); failure.Weight == 0 || !reflect.DeepEqual(failure.Conversations, []string{"c1"}) {
		t.Errorf("%+v", near)
	}
	for i := range near.Neighbors[1:] {
		if near.Neighbors[i].Weight < near.Neighbors[i+1].Weight {
			t.Errorf("%d is out of order", i)
		}
	}
	// From the error to the writer it is two steps, over the reader.
	far := ask(wire.EntityNeighborsParams{Entity: "--- FAIL: TestFlush (3.1s)", Kind: "error", Depth: 2, Limit: 200})
	if n := of(far, "file", "io/writer.go"); n.Distance != 2 || n.Via == nil || n.Weight == 0 {
		t.Errorf("%+v in %+v", n, far)
	}
	if none := ask(wire.EntityNeighborsParams{Entity: "io/nothing.go"}); none.Entity != nil || len(none.Neighbors) != 0 {
		t.Errorf("%+v", none)
	}
	c.did("one", "", "Read", `{"file_path":"io/other.go"}`, "package io\n", false)
	if then := ask(wire.EntityNeighborsParams{Entity: "reader.go", Limit: 200, AsOf: near.Sequence}); !reflect.DeepEqual(then, near) {
		t.Errorf("as of then: %+v", then)
	}
	now := ask(wire.EntityNeighborsParams{Entity: "reader.go", Limit: 200, Depth: 2})
	c.stop()
	c = startChild(t, dir)
	defer c.stop()
	c.opens("one", "coder")
	if again := ask(wire.EntityNeighborsParams{Entity: "reader.go", Limit: 200, Depth: 2}); !reflect.DeepEqual(again, now) {
		t.Errorf("after a restart: %+v", again)
	}
}

// TestH24_Prediction: the files of a failing test and those that were changed
// together are predicted, each with why.
func TestH24_Prediction(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	c.opens("one", "coder")
	predict := func() wire.ContextPredictResult {
		return call[wire.ContextPredictResult](c, wire.MethodContextPredict, wire.ContextPredictParams{Session: "one"})
	}
	if empty := predict(); len(empty.Predictions) != 0 {
		t.Errorf("%+v", empty)
	}
	c.asks("one", "Change both sides.")
	c.did("one", "", "Edit", `{"file_path":"io/writer.go","old_string":"a","new_string":"b"}`, "The file io/writer.go has been updated.", false)
	c.did("one", "", "Edit", `{"file_path":"io/reader.go","old_string":"a","new_string":"b"}`, "The file io/reader.go has been updated.", false)
	c.asks("one", "Now openFile in io/open.go, please.")
	c.did("one", "", "Read", `{"file_path":"io/writer.go"}`, "package io\n", false)
	c.did("one", "", "Bash", goTest, testFailed, true)
	got := predict()
	reasons := map[string][]string{}
	for _, p := range got.Predictions {
		sum := 0.0
		for _, r := range p.Reasons {
			reasons[p.Kind+" "+p.Name] = append(reasons[p.Kind+" "+p.Name], r.Reason)
			sum += r.Score
		}
		if len(p.Reasons) < 6 && (sum-p.Score > 0.001 || p.Score-sum > 0.001) {
			t.Errorf("%+v sums up to %v", p, sum)
		}
	}
	for name, want := range map[string]string{
		"file io/reader.go": "changedTogether", "file io/open.go": "asked", "file reader_test.go": "failing", "file io/writer.go": "used", "function openFile": "asked",
		"conversation c1": "changedFile",
	} {
		if !strings.Contains(strings.Join(reasons[name], " "), want) {
			t.Errorf("%s: %v, want %s, in %+v", name, reasons[name], want, got)
		}
	}
	if again := predict(); !reflect.DeepEqual(again, got) {
		t.Errorf("asked again: %+v", again)
	}
	c.did("one", "", "Read", `{"file_path":"io/other.go"}`, "package io\n", false)
	then := call[wire.ContextPredictResult](c, wire.MethodContextPredict, wire.ContextPredictParams{Session: "one", AsOf: got.Sequence})
	if !reflect.DeepEqual(then, got) {
		t.Errorf("as of then: %+v", then)
	}
}
