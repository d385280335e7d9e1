//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hexapla/layers"
	"hexapla/rpc"
	"hexapla/rpc/wire"
	"hexapla/session"
	"hexapla/storage"
)

// Environment variables of TestS2_FaultsThroughTheProcess: how many faults it
// tries, all with "all", and how many system calls in a row each of them strikes.
const (
	faultCount    = "HEXAPLA_FAULTS"
	faultCompound = "HEXAPLA_FAULTS_COMPOUND"
)

// The workspaces of the test.
const (
	faultHealthy   = "file:///faults/healthy"
	faultYesterday = "file:///faults/yesterday" // last written on a day before
)

// faultCalls are the system calls by which files change, as strace names them.
var faultCalls = []string{"pwrite64", "fdatasync", "fsync", "ftruncate", "renameat", "unlinkat", "openat"}

// faultKinds are what the kernel does instead of a call.
var faultKinds = []string{"signal=SIGKILL", "error=EIO", "error=ENOSPC", "error=EINTR"}

// faultScript is what a process does while faults strike it.
type faultScript struct {
	name string
	// prepare changes the copy of the folder that the process gets; nil for no change.
	prepare func(t *testing.T, dir string)
	args    []string // of the program; an editor's server when nil
	// run speaks with the server; what it was told goes into the tale.
	run func(c *child, tale *faultTale)
	// after looks at the folder through a server that no fault strikes.
	after func(c *child, dir string, tale *faultTale)
}

// faultTale is what the process that faults struck had acknowledged.
type faultTale struct {
	workspace string
	recorded  map[int]bool // by number
	forgotten bool
	found     bool // a search had hits
}

const faultRecords = 3

// record sends the records of a script; with again those that were acknowledged
// are sent as well, and give the same.
func (tale *faultTale) record(c *child, must bool) {
	for n := range faultRecords {
		err := c.Call(c.t.Context(), wire.MethodConversationRecord, wire.ConversationRecordParams{
			Session: "s", Key: fmt.Sprint("fault-", n), Done: true, Turns: []wire.Turn{
				{Role: "user", Text: "The " + item(9, n) + " please."},
				{Role: "assistant", ToolCalls: []wire.ToolCall{{ID: "t", Name: "Bash", Input: map[string]any{"command": "make"}}}},
				{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t", Content: strings.Repeat(fmt.Sprintf("output %d of make\n", n), 3000)}}},
			},
		}, nil)
		if err == nil {
			tale.recorded[n] = true
		} else if must {
			c.t.Errorf("record %d again: %v", n, err)
		}
	}
}

// open opens the script's session.
func (tale *faultTale) open(c *child) (wire.SessionOpenResult, error) {
	var opened wire.SessionOpenResult
	err := c.Call(c.t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: tale.workspace}, Session: "s"}, &opened)
	return opened, err
}

// items counts the script's records in what conversations say.
func (tale *faultTale) items(c *child, conversations int) map[string]int {
	c.t.Helper()
	found := map[string]int{}
	for n := 1; n <= conversations; n++ {
		var r wire.ConversationGetResult
		if err := c.Call(c.t.Context(), wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: fmt.Sprint("c", n), Detail: "full"}, &r); err != nil {
			var remote *rpc.Error
			if asRemote(err, &remote) && remote.Kind() == wire.KindForgotten {
				continue
			}
			c.t.Errorf("c%d: %v", n, err)
		}
		for _, turn := range r.Turns {
			for _, m := range itemMark.FindAllString(turn.Text, -1) {
				found[m]++
			}
		}
	}
	return found
}

// appended sees that what was acknowledged is there once, has the rest written
// again, and sees that all is there once.
func appended(c *child, _ string, tale *faultTale) {
	c.t.Helper()
	opened, err := tale.open(c)
	if err != nil {
		c.t.Errorf("open: %v", err)
		return
	}
	found := tale.items(c, opened.Conversations)
	for n := range faultRecords {
		if got := found[item(9, n)]; got > 1 || tale.recorded[n] && got != 1 {
			c.t.Errorf("record %d is there %d times, acknowledged: %v", n, got, tale.recorded[n])
		}
	}
	tale.record(c, true)
	if opened, err = tale.open(c); err != nil {
		c.t.Errorf("open: %v", err)
	}
	found = tale.items(c, opened.Conversations)
	for n := range faultRecords {
		if got := found[item(9, n)]; got != 1 {
			c.t.Errorf("record %d is there %d times when it was sent again", n, got)
		}
	}
}

func faultScripts() []faultScript {
	append3 := func(workspace string) func(*child, *faultTale) {
		return func(c *child, tale *faultTale) {
			tale.workspace = workspace
			if _, err := tale.open(c); err == nil {
				tale.record(c, false)
			}
		}
	}
	return []faultScript{
		{name: "append", run: append3(testWorkspace), after: appended},
		{name: "snapshot", run: append3(faultYesterday), after: appended},
		{name: "forget",
			run: func(c *child, tale *faultTale) {
				tale.workspace = testWorkspace
				if _, err := tale.open(c); err == nil {
					tale.forgotten = c.Call(c.t.Context(), wire.MethodConversationForget, wire.ConversationForgetParams{Session: "s", Conversation: "c5"}, nil) == nil
				}
			},
			after: func(c *child, dir string, tale *faultTale) {
				if _, err := tale.open(c); err != nil {
					c.t.Errorf("open: %v", err)
				}
				var remote *rpc.Error
				err := c.Call(c.t.Context(), wire.MethodConversationForget, wire.ConversationForgetParams{Session: "s", Conversation: "c5"}, nil)
				if err != nil && !(asRemote(err, &remote) && remote.Kind() == wire.KindForgotten) || tale.forgotten && err == nil {
					c.t.Errorf("forget again: %v, acknowledged before: %v", err, tale.forgotten)
				}
				if files := filesWith(c.t, dir, bird); len(files) > 0 {
					c.t.Errorf("the word is in %v", files)
				}
			}},
		{name: "rebuild",
			prepare: func(t *testing.T, dir string) {
				if err := os.RemoveAll(filepath.Join(dir, "workspaces", session.WorkspaceID(testWorkspace), "index")); err != nil {
					t.Fatal(err)
				}
			},
			run: func(c *child, tale *faultTale) {
				append3(testWorkspace)(c, tale)
				var hits wire.SearchQueryResult
				err := c.Call(c.t.Context(), wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: "reader loses the last record"}, &hits)
				tale.found = err == nil && len(hits.Hits) > 0
			},
			after: func(c *child, dir string, tale *faultTale) {
				appended(c, dir, tale)
				c.awaitIndex("s")
				hits := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: "reader loses the last record"})
				if len(hits.Hits) == 0 || hits.Degraded {
					c.t.Errorf("search: %+v", hits)
				}
			}},
		{name: "compact", args: []string{"compact", "--all"}, after: func(c *child, dir string, tale *faultTale) {
			tale.workspace = testWorkspace
			appended(c, dir, tale)
		}},
	}
}

// TestS2_FaultsThroughTheProcess has the kernel kill the program, or fail, at its
// system calls, one after another, while it appends, forgets, makes an index
// anew, takes the day's snapshot and compacts. Whatever struck it: the next
// process opens the stores, what was acknowledged is there once, what was not can
// be sent again, of what was forgotten no file holds a byte, and the workspace
// beside is served.
func TestS2_FaultsThroughTheProcess(t *testing.T) {
	t.Parallel()
	needStrace(t)
	template := faultTemplate(t)
	type trial struct {
		script faultScript
		call   string
		fault  string
		n      int
	}
	var trials []trial
	for _, script := range faultScripts() {
		// Which thread makes a call differs with the way it is traced.
		failed := strike(t, template, script, "", "", 0)
		killed := failed // for a few faults it is near enough
		if os.Getenv(faultCount) != "" {
			killed = strike(t, template, script, "", faultKinds[0], 0)
		}
		for _, call := range faultCalls {
			for n := range max(killed[call], failed[call]) {
				for _, fault := range faultKinds {
					if calls := map[bool]map[string]int{true: killed, false: failed}[fault == faultKinds[0]]; n >= calls[call] {
						continue
					}
					// Being killed at an open is being killed behind the call before it.
					if fault != faultKinds[0] || call != "openat" {
						trials = append(trials, trial{script, call, fault, n + 1})
					}
				}
			}
		}
	}
	if len(trials) < 200 {
		t.Fatalf("%d faults can be tried: the traces are not understood", len(trials))
	}
	tries := len(trials)
	if os.Getenv(faultCount) != "all" {
		tries = min(tries, rounds(t, faultCount, 10))
	}
	var mu sync.Mutex
	tally := map[string]int{} // guarded by mu
	t.Run("at", func(t *testing.T) {
		for i := range tries {
			tr := trials[(2*i+1)*len(trials)/(2*tries)]
			t.Run(fmt.Sprintf("%s, %s at %s %d", tr.script.name, tr.fault, tr.call, tr.n), func(t *testing.T) {
				t.Parallel()
				struck := strike(t, template, tr.script, tr.call, tr.fault, tr.n) != nil
				mu.Lock()
				defer mu.Unlock()
				if struck {
					tally[tr.fault]++
				} else {
					tally["not reached"]++
				}
			})
		}
	})
	t.Logf("%d of %d: %v", tries, len(trials), tally)
	if tally["not reached"] > tries/2 {
		t.Error("most faults struck nothing")
	}
}

// faultTemplate makes the data folder of which each process gets a copy.
func faultTemplate(t *testing.T) string {
	dir := t.TempDir()
	before := session.New(session.Options{DataDir: dir, Now: func() int64 { return time.Now().Add(-48 * time.Hour).UnixMilli() }})
	if _, err := before.OpenSession(t.Context(), session.OpenRequest{URI: faultYesterday, Session: "s"}); err != nil {
		t.Fatal(err)
	}
	s, err := before.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Record(t.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{{Role: layers.RoleUser, Text: "Two days ago."}}}); err != nil {
		t.Fatal(err)
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, dir)
	tellOfBird(c, dir)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: faultHealthy}, Session: "h"})
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "h", Done: true, Turns: []wire.Turn{{Role: "user", Text: "All well?"}}})
	c.stop()
	return dir
}

// strike runs a script under a fault and looks at what is left. It returns how
// many of each call the busiest thread made, nil if the fault struck nothing.
// Calls are counted by thread, so one fault may strike several threads.
func strike(t *testing.T, template string, script faultScript, call, fault string, n int) map[string]int {
	t.Helper()
	root, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	dir, log := filepath.Join(root, "data"), filepath.Join(root, "trace")
	if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
		t.Fatal(err)
	}
	if script.prepare != nil {
		script.prepare(t, dir)
	}
	args := []string{"-f", "-o", log, "-e", "trace=" + strings.Join(faultCalls, ",") + ",renameat2"}
	if fault != faultKinds[0] {
		// The kernel stops the process at these calls alone, with which strace
		// cannot send signals.
		args = append(args, "--seccomp-bpf")
	}
	if call != "" {
		when := fmt.Sprintf("when=%d..%d", n, n+rounds(t, faultCompound, 1)-1)
		args = append(args, "-e", fmt.Sprintf("inject=%s:%s:%s", strings.ReplaceAll(call, "renameat", "renameat,renameat2"), fault, when))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tale := &faultTale{workspace: testWorkspace, recorded: map[int]bool{}}
	program := script.args
	if program == nil {
		program = []string{"serve", "--daemon=off"}
	}
	cmd := exec.Command("strace", append(append(append(args, self), program...), "--data-dir", dir)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if script.run == nil {
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || call == "") {
			t.Fatal(err)
		}
	} else {
		converse(t, cmd, script, tale, dir, fault)
	}
	c := startChild(t, dir)
	script.after(c, dir, tale)
	served(c)
	c.stop()
	soundStores(t, dir)
	return callsOf(t, log, call)
}

// converse runs a script against a server that may be struck at any moment.
func converse(t *testing.T, cmd *exec.Cmd, script faultScript, tale *faultTale, dir, fault string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	said := &sharedBuffer{}
	cmd.Stderr = said
	client, err := rpc.StartChild(ctx, cmd, rpc.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hangs := time.AfterFunc(2*patience, func() {
		t.Error("the process hangs")
		// Its stacks; strace goes with it.
		for _, pid := range children(t, cmd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGQUIT)
		}
	})
	defer func() {
		hangs.Stop()
		if t.Failed() {
			t.Log(said)
		}
	}()
	c := &child{t, client}
	if _, err := client.Initialize(ctx, rpc.InitializeParams{ClientName: "test"}); err == nil {
		script.run(c, tale)
		if tale.forgotten {
			if files := filesWith(t, dir, bird); len(files) > 0 {
				t.Errorf("the word is in %v when forgetting was answered", files)
			}
		}
		if fault != faultKinds[0] {
			served(c)
		}
		_ = client.Shutdown(ctx) // a process that was killed cannot
	}
	if _, err := client.Wait(); err != nil && ctx.Err() != nil {
		t.Fatalf("the process hangs: %v", err)
	}
}

// served sees that the workspace beside is served; a fault may have struck it
// once as well.
func served(c *child) {
	c.t.Helper()
	var err error
	for range 4 {
		err = c.Call(c.t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: faultHealthy}, Session: "h"}, nil)
		if err == nil {
			break
		}
	}
	var got wire.ConversationGetResult
	if err == nil {
		err = c.Call(c.t.Context(), wire.MethodConversationGet, wire.ConversationGetParams{Session: "h", Conversation: "c1", Detail: "full"}, &got)
	}
	if err != nil || !strings.Contains(got.Text, "All well?") {
		c.t.Errorf("the workspace beside: %q, %v", got.Text, err)
	}
}

// soundStores verifies every store of a data folder.
func soundStores(t *testing.T, dir string) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(dir, "workspaces", "*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("stores: %v, %v", folders, err)
	}
	for _, folder := range folders {
		s, err := storage.Open(t.Context(), storage.Options{Dir: folder})
		if err != nil {
			t.Error(err)
			continue
		}
		if report, err := s.Verify(t.Context(), true); err != nil || len(report.Problems) > 0 {
			t.Errorf("verify: %+v, %v", report, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// callsOf reads a trace.
func callsOf(t *testing.T, log, call string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if call != "" && !strings.Contains(string(text), "INJECTED") && !strings.Contains(string(text), "killed by SIGKILL") {
		return nil
	}
	most, threads := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(text)) {
		thread, rest, _ := strings.Cut(line, " ")
		name, _, ok := strings.Cut(strings.TrimSpace(rest), "(")
		if !ok || strings.HasPrefix(name, "<") {
			continue
		}
		name = strings.TrimSuffix(name, "2")
		threads[thread+name]++
		most[name] = max(most[name], threads[thread+name])
	}
	return most
}

// needStrace skips where the kernel's calls cannot be made to fail; in CI it must
// be possible.
func needStrace(t *testing.T) {
	t.Helper()
	if err := exec.Command("strace", "-o", "/dev/null", "true").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("strace is needed: %v", err)
		}
		t.Skipf("strace cannot be used: %v", err)
	}
}
