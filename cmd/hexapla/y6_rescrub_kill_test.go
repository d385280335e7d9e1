//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// rescrubKills is an environment variable: at how many of each system call's
// calls a rescrub is killed; 0 for all.
const rescrubKills = "HEXAPLA_RESCRUB_KILLS"

// traced starts a server under strace, which may kill it at a system call, opens
// the session and rescrubs. It returns what strace wrote.
func traced(t *testing.T, strace, dir, name, inject string, rescrubs bool) (trace string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "trace")
	args := []string{"-f", "-o", log, "-e", "trace=" + name}
	if inject != "" {
		args = append(args, "-e", "inject="+name+":"+inject)
	}
	cmd := exec.Command(strace, append(args, self, "serve", "--data-dir", dir)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	client, err := rpc.StartChild(t.Context(), cmd, rpc.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	options, err := json.Marshal(map[string]any{"secrets": map[string]any{"known": []string{nameless()}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Initialize(t.Context(), rpc.InitializeParams{ClientName: "test", Options: options})
	if err == nil {
		err = client.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"}, nil)
	}
	if err == nil && rescrubs {
		err = client.Call(t.Context(), wire.MethodSecretsRescrub, wire.SecretsRescrubParams{Session: "s"}, nil)
	}
	if err != nil && inject == "" {
		t.Fatal(err)
	}
	if err == nil {
		_ = client.Shutdown(t.Context())
	}
	_, _ = client.Wait()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestY6_KilledRescrub kills a rescrub at its system calls. The next start finds
// the store whole, with the value at every place or in no file; a rescrub after it
// ends what there is to do.
func TestY6_KilledRescrub(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err == nil {
		err = exec.Command(strace, "-o", "/dev/null", "true").Run()
	}
	if err != nil {
		t.Skipf("strace cannot be used: %v", err)
	}
	sample := 1
	if text := os.Getenv(rescrubKills); text != "" {
		if sample, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	template, value := t.TempDir(), nameless()
	var log bytes.Buffer
	c := startKnowing(t, template, &log)
	tellOf(c, value)
	c.stop()
	copied := func() string {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	came, had := 0, 0
	names := []string{"fdatasync", "pwrite64", "renameat", "unlinkat", "fsync"}
	without := traced(t, strace, copied(), strings.Join(names, ","), "", false)
	with := traced(t, strace, copied(), strings.Join(names, ","), "", true)
	for _, name := range names {
		before, after := strings.Count(without, " "+name+"("), strings.Count(with, " "+name+"(")
		step := 1
		if sample > 0 {
			step = max(1, (after-before+sample)/(sample+1))
		}
		for when := max(1, before/2); when <= after; when += step {
			dir := copied()
			what := fmt.Sprintf("%s, call %d of %d (%d without it)", name, when, after, before)
			traced(t, strace, dir, name, "signal=SIGKILL:when="+strconv.Itoa(when), true)
			c := startKnowing(t, dir, &log) // its rules do not know the value
			reopen(c)
			shown, _ := json.Marshal(call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: "c5", Detail: "full"}))
			left := filesWith(t, dir, value)
			if has := bytes.Contains(shown, []byte(value)); has != (len(left) > 0) || has == bytes.Contains(shown, []byte("[secret:known:")) {
				t.Errorf("%s: shown %v, left in %v", what, has, left)
			} else if has {
				had++
			} else {
				came++
			}
			buildPack(c, 8000, nil, "")
			c.stop()
			c = startKnowing(t, dir, &log, value)
			reopen(c)
			rescrub(c, false)
			if left := filesWith(t, dir, value); len(left) > 0 {
				t.Errorf("%s: after another: left in %v", what, left)
			}
			c.stop()
		}
	}
	t.Logf("%d came through, %d had not begun", came, had)
	if came == 0 || had == 0 {
		t.Error("the kills met only one side")
	}
}

// tellOf records conversations, of which the fifth and what belongs to it have a
// value in them.
func tellOf(c *child, value string) {
	c.t.Helper()
	recordStory(c, 4)
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Key: "told", Done: true, Turns: []wire.Turn{
		{Role: "user", Text: "What is " + value + " for?"},
		{Role: "assistant", Text: "I look.", ToolCalls: []wire.ToolCall{{ID: "b1", Name: "Bash", Input: map[string]any{"command": "grep " + value}}}},
		{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "b1", Content: strings.Repeat("config.go:7: name = "+value+"\n", 900)}}},
		{Role: "assistant", Text: "It is the name, " + value + "."},
	}})
	call[wire.PinAddResult](c, wire.MethodPinAdd, wire.PinAddParams{Session: "s", Text: "Never say " + value + "."})
	call[wire.ConversationAliasResult](c, wire.MethodConversationAlias, wire.ConversationAliasParams{Session: "s", Alias: value, To: "c5"})
	buildPack(c, 8000, nil, "")
	c.awaitIndex("s")
}
