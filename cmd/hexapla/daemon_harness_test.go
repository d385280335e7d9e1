//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hexapla/rpc"
	"hexapla/rpc/daemon"
	"hexapla/rpc/wire"
)

// post is a data folder with a runtime folder of its own, and thus a daemon of
// its own, which ends with the test.
type post struct {
	t         testing.TB
	data, run string
	env       []string // beside that of the test
	binary    string   // the program; the test's own when empty
}

func newPost(t testing.TB) *post {
	t.Helper()
	// A socket's path must be short, which t.TempDir is not.
	base := os.TempDir()
	if len(base) > len("/dev/shm") {
		base = "/tmp"
	}
	run, err := os.MkdirTemp(base, "hexapla-test-")
	if err != nil {
		t.Fatal(err)
	}
	p := &post{t: t, data: filepath.Join(run, "data"), run: run, env: []string{"XDG_RUNTIME_DIR=" + run}}
	t.Cleanup(func() {
		p.end()
		if err := os.RemoveAll(run); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *post) client() daemon.Client {
	return daemon.Client{Place: p.place(), Release: program{}.release(), Patience: patience}
}

func (p *post) place() daemon.Place {
	return daemon.Place{Data: p.data, Sockets: []string{filepath.Join(p.run, "hexapla")}}
}

// end stops the daemon and sees that nothing of this place runs on.
func (p *post) end() {
	if _, err := p.client().Stop(context.Background()); err != nil && !errors.Is(err, daemon.ErrNone) {
		p.t.Errorf("stop: %v", err)
	}
	p.until("no process of the test runs", func() bool { return len(p.processes()) == 0 })
}

// processes are the living ones that name the test's folder in their command
// line.
func (p *post) processes() (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil // only Linux shows them
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err == nil && strings.Contains(string(line), p.data) && alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// daemons are the processes that are daemons proper.
func (p *post) daemons() (pids []int) {
	for _, pid := range p.processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(line), "\x00daemon\x00--tell\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive reports whether a process runs; one that ended and was not waited for
// does not.
func alive(pid int) bool {
	state := state(pid)
	return state != "" && state != "Z" && state != "X"
}

// state is the letter that /proc gives a process; "" when there is none.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return strings.Fields(rest)[0]
}

// until waits for something that another process does.
func (p *post) until(what string, done func() bool) {
	p.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			p.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// command is a command line of the program in this place.
func (p *post) command(args ...string) *exec.Cmd {
	binary := p.binary
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			p.t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, append(args, "--data-dir", p.data)...)
	cmd.Env = append(append(os.Environ(), asProgram+"=1", "HEXAPLA_DAEMON=on"), p.env...)
	return cmd
}

// window is an editor with its forwarder.
type window struct {
	*rpc.Client
	t       testing.TB
	cmd     *exec.Cmd
	log     *sharedBuffer
	session string

	mu     sync.Mutex
	events []string
	seen   chan struct{} // gets one for each event, if there is room
}

// open starts a forwarder, initializes it and opens a session.
func (p *post) open(workspace, session string, args ...string) *window {
	p.t.Helper()
	w := p.start(args...)
	w.initialize()
	w.openSession(workspace, session)
	return w
}

// start starts a forwarder.
func (p *post) start(args ...string) *window {
	p.t.Helper()
	w := &window{t: p.t, cmd: p.command(append([]string{"serve"}, args...)...), log: &sharedBuffer{}, seen: make(chan struct{}, 10000)}
	w.cmd.Stderr = w.log
	client, err := rpc.StartChild(context.Background(), w.cmd, rpc.ClientOptions{OnEvent: func(method string, params json.RawMessage) {
		w.mu.Lock()
		w.events = append(w.events, method+" "+string(params))
		w.mu.Unlock()
		select {
		case w.seen <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		p.t.Fatal(err)
	}
	w.Client = client
	p.t.Cleanup(func() {
		_ = w.cmd.Process.Kill()
		_, _ = w.Wait()
		if p.t.Failed() && w.log.String() != "" {
			p.t.Logf("forwarder %d: %s", w.cmd.Process.Pid, w.log.String())
		}
	})
	return w
}

func (w *window) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

func (w *window) initialize() {
	w.t.Helper()
	if _, err := w.Initialize(w.ctx(), rpc.InitializeParams{ProcessID: os.Getpid(), ClientName: "test"}); err != nil {
		w.t.Fatalf("initialize: %v", err)
	}
}

func (w *window) openSession(workspace, session string) {
	w.t.Helper()
	var r wire.SessionOpenResult
	if err := w.Call(w.ctx(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: workspace}, Session: session}, &r); err != nil {
		w.t.Fatalf("open session: %v", err)
	}
	w.session = r.Session
}

// record records one exchange and returns its conversation.
func (w *window) record(text, key string) (string, error) {
	var r wire.ConversationRecordResult
	err := w.Call(w.ctx(), wire.MethodConversationRecord, map[string]any{
		"session": w.session, "done": true, "key": key,
		"turns": []any{map[string]any{"role": "user", "text": text}, map[string]any{"role": "assistant", "text": "Done."}},
	}, &r)
	return r.Conversation, err
}

func (w *window) mustRecord(text string) string {
	w.t.Helper()
	id, err := w.record(text, "")
	if err != nil {
		w.t.Fatalf("record %q: %v", text, err)
	}
	return id
}

// leave ends the forwarder as the protocol has it.
func (w *window) leave() {
	w.t.Helper()
	if err := w.Shutdown(w.ctx()); err != nil {
		w.t.Fatalf("shutdown: %v", err)
	}
	if code, err := w.Wait(); code != 0 || err != nil {
		w.t.Fatalf("exit %d, %v", code, err)
	}
}

// itemMark finds what the texts of these tests hold, so that each can be found again.
var itemMark = regexp.MustCompile(`item-[0-9]+-[0-9]+\b`)

func item(writer, n int) string { return fmt.Sprintf("item-%d-%d", writer, n) }

// stored returns how often each itemMark is in the conversations of a workspace, as
// a new window sees them.
func (p *post) stored(workspace string) map[string]int {
	p.t.Helper()
	w := p.start()
	w.initialize()
	var opened wire.SessionOpenResult
	if err := w.Call(w.ctx(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: workspace}, Session: "reader"}, &opened); err != nil {
		p.t.Fatalf("open: %v", err)
	}
	found := map[string]int{}
	for n := 1; n <= opened.Conversations; n++ {
		var r wire.ConversationGetResult
		if err := w.Call(w.ctx(), wire.MethodConversationGet, wire.ConversationGetParams{Session: "reader", Conversation: fmt.Sprintf("c%d", n)}, &r); err != nil {
			p.t.Fatalf("get c%d: %v", n, err)
		}
		for _, turn := range r.Turns {
			for _, m := range itemMark.FindAllString(turn.Text, -1) {
				found[m]++
			}
		}
	}
	w.leave()
	return found
}

// sameItems compares what is stored with what was acknowledged.
func sameItems(t *testing.T, found map[string]int, want []string) {
	t.Helper()
	for _, m := range want {
		if found[m] != 1 {
			t.Errorf("%s is there %d times", m, found[m])
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d items are there, %d were acknowledged", len(found), len(want))
	}
}
