package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
	"hexapla/session"
)

// nameless is a value that no rule finds.
func nameless() string { return "Bluebird" + "-" + "Quartz" + "_77" }

// startKnowing is startLogged for a client that names values.
func startKnowing(t *testing.T, dataDir string, log *bytes.Buffer, known ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--fixed-keys", "--data-dir", dataDir)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = log
	client, err := rpc.StartChild(t.Context(), cmd, rpc.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	options, err := json.Marshal(map[string]any{"secrets": map[string]any{"known": known}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Initialize(t.Context(), rpc.InitializeParams{ClientName: "test", Options: options}); err != nil {
		t.Fatal(err)
	}
	return &child{t, client}
}

func rescrub(c *child, dry bool) wire.SecretsRescrubResult {
	c.t.Helper()
	return call[wire.SecretsRescrubResult](c, wire.MethodSecretsRescrub, wire.SecretsRescrubParams{Session: "s", DryRun: dry})
}

func reopen(c *child) {
	c.t.Helper()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
}

// TestY6_RescrubReachesEveryField plants a value that no rule knows in every string
// of the parameters of every method, alone and in a sentence, and takes it out
// afterwards, with rules that know it.
func TestY6_RescrubReachesEveryField(t *testing.T) {
	t.Parallel()
	dir, value := t.TempDir(), nameless()
	var log bytes.Buffer
	c := startKnowing(t, dir, &log)
	recordStory(c, 4)
	opened := call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Turns: []wire.Turn{
		{Role: "user", Text: "Why?"}, {Role: "assistant", ToolCalls: []wire.ToolCall{{ID: "t1", Name: "Bash"}}},
		{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t1", Content: "ok"}}},
	}})
	fields := 0
	for _, m := range wire.Methods() {
		if m.Direction != wire.ClientToServer || m.Name == wire.MethodSessionClose {
			continue
		}
		for _, path := range textPaths(m.Params, nil, map[reflect.Type]bool{}) {
			for i, text := range []string{value, "It is called " + value + ", as " + value + "_test.go says in internal/" + value + "/run.go."} {
				fields++
				params := reflect.New(m.Params)
				if base := bases[m.Name]; base != nil {
					params = reflect.ValueOf(base(named(path)))
				} else if f := params.Elem().FieldByName("Session"); f.IsValid() {
					f.SetString("s")
				}
				if m.Name == wire.MethodConversationEdit {
					params.Elem().FieldByName("Conversation").SetString(opened.Conversation)
				}
				if f := params.Elem().FieldByName("Key"); f.IsValid() && f.Kind() == reflect.String {
					f.SetString(fmt.Sprint(named(path), i))
				}
				put(params.Elem(), path, text)
				var result json.RawMessage
				_ = c.Call(t.Context(), m.Name, params.Interface(), &result) // some are refused
			}
		}
	}
	call[wire.ToolRecordResult](c, wire.MethodToolRecord, wire.ToolRecordParams{Session: "s", Tool: "Bash", Content: strings.Repeat("beside: "+value+"\n", 700)})
	// A session of that name, and a model.
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "agent-" + value, Model: value})
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "agent-" + value, Done: true, Turns: []wire.Turn{{Role: "user", Text: "And this?"}, {Role: "assistant", Text: "That too."}}})
	old, _ := buildPack(c, 8000, nil, "")
	c.awaitIndex("s")
	c.stop()
	if len(filesWith(t, dir, value)) < 2 {
		t.Fatal("the value is not in the files")
	}
	// What is left of earlier times has it too.
	for _, name := range []string{"snapshots/2026-01-01.db", "quarantine/1/store.db"} {
		path := filepath.Join(dir, "workspaces", session.WorkspaceID(testWorkspace), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	c = startKnowing(t, dir, &log, value)
	reopen(c)
	dry := rescrub(c, true)
	if dry.Changed || dry.Families["known"] == 0 || len(filesWith(t, dir, value)) < 2 {
		t.Errorf("a dry run: %+v", dry)
	}
	done := rescrub(c, false)
	if !done.Changed || done.Families["known"] != dry.Families["known"] || done.Records == 0 || done.Blobs == 0 || done.AuditEntries == 0 || done.Renamed < 2 || done.Redacted == 0 {
		t.Errorf("%+v\ndry: %+v", done, dry)
	}
	places := map[string]bool{}
	for _, place := range done.Places {
		places[place.Kind] = true
	}
	for _, kind := range []string{"turn", "output", "trio", "context", "housekeeping", "pin", "session", "audit", "system", "reply", "id", "alias", "version", "change"} {
		if !places[kind] {
			t.Errorf("nothing was found in %s: %+v", kind, done.Places)
		}
	}
	if told, _ := json.Marshal(done); bytes.Contains(told, []byte(value)) {
		t.Error("the receipt has the value")
	}
	check := func() {
		t.Helper()
		if files := filesWith(t, dir, value); len(files) > 0 {
			t.Fatal("left in ", files)
		}
		again := rescrub(c, false)
		if again.Changed || len(again.Families) > 0 || again.Records+again.Blobs+again.AuditEntries+again.Replies+again.Redacted != 0 || again.Sequence != done.Sequence {
			t.Errorf("a second rescrub: %+v", again)
		}
		replay := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: old.Checksum})
		if !replay.Redacted || bytes.Contains(replay.Pack, []byte(value)) {
			t.Errorf("the replay: %+v", replay.Redacted)
		}
		shown := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: opened.Conversation, Detail: "full"})
		if all, _ := json.Marshal(shown); bytes.Contains(all, []byte(value)) || !bytes.Contains(all, []byte("[secret:known:")) {
			t.Errorf("%s", all)
		}
		c.awaitIndex("s")
		found := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: "called " + value})
		if all, _ := json.Marshal(found); len(found.Hits) == 0 || bytes.Contains(all, []byte(value)) {
			t.Errorf("search: %s", all)
		}
		for _, finding := range call[wire.SecretsScanResult](c, wire.MethodSecretsScan, wire.SecretsScanParams{Session: "s"}).Findings {
			t.Errorf("the scan finds %+v", finding)
		}
	}
	check()
	if _, pack := buildPack(c, 8000, nil, ""); !strings.Contains(pack.Text, "[secret:known:") || strings.Contains(pack.Text, value) {
		t.Error("the next pack is not of the clean texts")
	}
	sessions, _ := json.Marshal(call[wire.SessionListResult](c, wire.MethodSessionList, wire.SessionListParams{Session: "s"}))
	if !bytes.Contains(sessions, []byte("agent-[secret:known:")) {
		t.Errorf("%s", sessions)
	}
	c.stop()
	c = startKnowing(t, dir, &log, value)
	reopen(c)
	check()
	c.stop()
	if o := hexapla(t, map[string]string{"HEXAPLA_DATA_DIR": dir}, "verify", "--workspace", testWorkspace); o.code != exitOK {
		t.Errorf("the store is not sound: %+v", o)
	}
	if strings.Contains(log.String(), value) {
		t.Error("the log has the value")
	}
	t.Logf("%d fields; %+v", fields, done)
}

// TestY6_RescrubCommand: the command tells what it would do, does it when told to,
// and takes values from standard input, which it never prints.
func TestY6_RescrubCommand(t *testing.T) {
	t.Parallel()
	dir, value := t.TempDir(), nameless()
	var log bytes.Buffer
	c := startKnowing(t, dir, &log)
	recordStory(c, 3)
	call[wire.PinAddResult](c, wire.MethodPinAdd, wire.PinAddParams{Session: "s", Text: "Never say " + value + "."})
	c.stop()
	command := func(in string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		var errs sharedBuffer
		code := run(t.Context(), append([]string{"secrets", "rescrub", "--data-dir", dir, "--workspace", testWorkspace}, args...), program{
			in: strings.NewReader(in), out: &out, errs: &errs, getenv: os.Getenv, home: os.UserHomeDir,
			getwd: func() (string, error) { return "/work", nil }, self: os.Executable,
		})
		if code != exitOK || strings.Contains(out.String()+errs.String(), value) {
			t.Errorf("%v: code %d: %s%s", args, code, out.String(), errs.String())
		}
		return out.String()
	}
	if out := command(""); !strings.Contains(out, "nothing to replace") {
		t.Error(out)
	}
	if out := command(value+"\n", "--known", "-"); !strings.Contains(out, "would replace") || len(filesWith(t, dir, value)) == 0 {
		t.Error(out)
	}
	if out := command(value+"\n", "--known", "-", "--yes"); !strings.Contains(out, "replaced ") || !strings.Contains(out, "pin") || len(filesWith(t, dir, value)) > 0 {
		t.Error(out)
	}
	if out := command(value+"\n", "--known", "-", "--yes", "--json"); !strings.Contains(out, `"changed": false`) {
		t.Error(out)
	}
}
