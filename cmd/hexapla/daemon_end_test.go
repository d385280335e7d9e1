//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hexapla/rpc"
	"hexapla/rpc/daemon"
	"hexapla/rpc/wire"
)

func asError(err error, target **rpc.Error) bool { return errors.As(err, target) }

// piped is a forwarder with its three streams in the hands of the test.
func (p *post) piped(args ...string) (cmd *exec.Cmd, in io.WriteCloser, out io.ReadCloser) {
	p.t.Helper()
	cmd = p.command(append([]string{"serve"}, args...)...)
	in, err := cmd.StdinPipe()
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return cmd, in, out
}

// TestE1_InputEnds: a forwarder ends with its input, and leaves nobody behind
// but the daemon.
func TestE1_InputEnds(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	keep := p.open(sharedWorkspace, "s")
	longest := time.Duration(0)
	for n := range rounds(t, "HEXAPLA_E1_ROUNDS", 20) {
		w := p.open(sharedWorkspace, fmt.Sprintf("s%d", n))
		w.mustRecord(item(1, n))
		start := time.Now()
		_ = w.Close() // the other end may have closed it by now
		if code, err := w.Wait(); code != 0 || err != nil {
			t.Fatalf("exit %d, %v", code, err)
		}
		longest = max(longest, time.Since(start))
	}
	t.Logf("the slowest ended after %v", longest)
	if pids := p.processes(); len(pids) != 2 {
		t.Errorf("processes %v run, beside the daemon and forwarder %d", pids, keep.cmd.Process.Pid)
	}
}

// TestE1_DaemonLeavesWhenIdle: without clients the daemon ends, with its socket;
// with one it stays.
func TestE1_DaemonLeavesWhenIdle(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	w := p.open(sharedWorkspace, "s", "--idle=1ms")
	w.mustRecord(item(1, 1))
	status, err := p.client().Status(t.Context())
	if err != nil || status.Clients != 1 || status.Workspaces != 1 {
		t.Errorf("%+v, %v", status, err)
	}
	w.leave()
	p.until("the daemon left", func() bool { return len(p.daemons()) == 0 })
	if _, err := os.Lstat(status.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket: %v", err)
	}
	if _, err := p.client().Status(t.Context()); !errors.Is(err, daemon.ErrNone) {
		t.Errorf("status: %v", err)
	}
}

// TestE2_OutputCloses: a forwarder that cannot write ends with code 1.
func TestE2_OutputCloses(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	cmd, in, out := p.piped()
	defer in.Close()
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`
	if _, err := fmt.Fprintf(in, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the code says it
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit %d: %v", code, cmd.ProcessState)
	}
}

// TestE3_ClientsProcess: a forwarder ends with the process that initialize
// names; one that cannot be seen is not watched.
func TestE3_ClientsProcess(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	editor := exec.Command("cat")
	hold, err := editor.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	if err := editor.Start(); err != nil {
		t.Fatal(err)
	}
	unseen := p.start()
	if _, err := unseen.Initialize(unseen.ctx(), rpc.InitializeParams{ProcessID: 1<<31 - 2}); err != nil {
		t.Fatal(err)
	}
	w := p.start()
	if _, err := w.Initialize(w.ctx(), rpc.InitializeParams{ProcessID: editor.Process.Pid}); err != nil {
		t.Fatal(err)
	}
	if err := editor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = editor.Wait() // it was killed
	if code, err := w.Wait(); code != 0 || err != nil {
		t.Errorf("exit %d, %v", code, err)
	}
	unseen.openSession(sharedWorkspace, "s")
	unseen.mustRecord(item(1, 1))
	unseen.leave()
}

// TestE4_Signals: a signal ends the daemon and the forwarder in order; what was
// acknowledged is there, and what was not is written by the next daemon.
func TestE4_Signals(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		p := newPost(t)
		w := p.open(sharedWorkspace, "s")
		const writers, each = 12, 4
		var want []string
		var done sync.WaitGroup
		acknowledged := make(chan struct{}, writers*each)
		for i := range writers {
			for n := range each {
				want = append(want, item(i, n))
			}
			done.Go(func() {
				for n := range each {
					if _, err := w.record(item(i, n), ""); err != nil {
						t.Errorf("%v: record: %v", signal, err)
					}
					acknowledged <- struct{}{}
				}
			})
		}
		for range writers {
			<-acknowledged
		}
		for _, pid := range p.daemons() {
			if err := syscall.Kill(pid, signal); err != nil {
				t.Fatal(err)
			}
		}
		done.Wait()
		log, err := os.ReadFile(filepath.Join(p.data, "daemon", "daemon.log"))
		if err != nil || !strings.Contains(string(log), "msg=leaving why=signal") {
			t.Errorf("%v: %v, log %q", signal, err, log)
		}
		if err := w.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code, err := w.Wait(); code != 0 || err != nil {
			t.Errorf("%v: exit %d, %v", signal, code, err)
		}
		sameItems(t, p.stored(sharedWorkspace), want)
	}
}

// TestE5_KilledBehindShutdown: what was acknowledged is there when all are killed
// right behind shutdown.
func TestE5_KilledBehindShutdown(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	w := p.open(sharedWorkspace, "s")
	w.mustRecord(item(1, 1))
	if err := w.Call(w.ctx(), "shutdown", nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, pid := range p.processes() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	_, _ = w.Wait() // it was killed
	sameItems(t, p.stored(sharedWorkspace), []string{item(1, 1)})
}

// TestE6_CrashLoop: the third daemon within a minute whose predecessors crashed
// leaves the index off and says so; search goes on.
func TestE6_CrashLoop(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	w := p.open(sharedWorkspace, "s")
	w.mustRecord(item(1, 0) + " zebra")
	for n := range 2 {
		for _, pid := range p.daemons() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		w.mustRecord(item(1, n+1))
	}
	w.until("window/logMessage", "the index is off")
	var found wire.SearchQueryResult
	if err := w.Call(w.ctx(), wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: "zebra"}, &found); err != nil || len(found.Hits) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestE7_HalfAFrame: a frame that is cut by the editor's death is not executed.
func TestE7_HalfAFrame(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	w := p.open(sharedWorkspace, "s")
	w.mustRecord(item(1, 1))
	cmd, in, out := p.piped()
	go func() { _, _ = io.Copy(io.Discard, out) }()
	send := func(body string, cut int) {
		t.Helper()
		frame := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
		if _, err := io.WriteString(in, frame[:len(frame)-cut]); err != nil {
			t.Fatal(err)
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`, 0)
	send(`{"jsonrpc":"2.0","id":2,"method":"hexapla/session/open","params":{"workspace":{"uri":"`+sharedWorkspace+`"},"session":"s"}}`, 0)
	send(`{"jsonrpc":"2.0","id":3,"method":"hexapla/conversation/record","params":{"session":"s","turns":[{"role":"user","text":"item-2-1"}]}}`, 1)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the code says it
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit %d", code)
	}
	sameItems(t, p.stored(sharedWorkspace), []string{item(1, 1)})
}

// TestY4_OtherUser: a process of another user is told nothing, even where it can
// reach the socket.
func TestY4_OtherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("another user needs root; TestPermitted has the table")
	}
	p := newPost(t)
	w := p.open(sharedWorkspace, "s")
	status, err := p.client().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(p.run, "knock")
	if err := os.WriteFile(copied, program, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{p.run, filepath.Dir(status.Socket)} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(status.Socket, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, user := range []struct {
		uid  uint32
		want string
	}{{65534, "said: "}, {0, `said: {"refused":"hello"`}} {
		cmd := exec.Command(copied)
		cmd.Env = []string{knock + "=" + status.Socket}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user.uid, Gid: user.uid}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), user.want) || user.uid != 0 && string(out) != user.want {
			t.Errorf("user %d: %q, %v", user.uid, out, err)
		}
	}
	// And a folder that others can enter is not used for a socket.
	w.mustRecord(item(1, 1))
	w.leave()
	p.end()
	p.env = []string{"XDG_RUNTIME_DIR=" + p.run}
	w = p.open(sharedWorkspace, "s")
	if now, err := p.client().Status(t.Context()); err != nil || filepath.Dir(now.Socket) == filepath.Dir(status.Socket) {
		t.Errorf("%+v, %v", now, err)
	}
	w.leave()
}

// TestCommandsShareTheDaemon: commands speak to the daemon that has the stores,
// start none where none runs, and say what becomes of it.
func TestCommandsShareTheDaemon(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	run := func(args ...string) (string, int) {
		cmd := p.command(args...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := run("daemon", "status"); code != 1 || !strings.Contains(out, "no daemon runs") {
		t.Errorf("status without one: exit %d, %q", code, out)
	}
	w := p.open(sharedWorkspace, "s")
	w.mustRecord("Where do zebras live? " + item(1, 1))
	before := p.daemons()
	if out, code := run("search", "--workspace", sharedWorkspace, "zebras"); code != 0 || !strings.Contains(out, "c1") {
		t.Errorf("search beside an editor: exit %d, %q", code, out)
	}
	p.until("the command's connection is gone", func() bool {
		status, err := p.client().Status(t.Context())
		return err == nil && status.Clients == 1
	})
	if out, code := run("daemon", "status", "--json"); code != 0 || !strings.Contains(out, `"clients": 1`) || !slices.Equal(before, p.daemons()) {
		t.Errorf("status: exit %d, %q; daemons %v, then %v", code, out, before, p.daemons())
	}
	w.leave()
	if out, code := run("daemon", "stop"); code != 0 || !strings.Contains(out, "has left") || len(p.daemons()) != 0 {
		t.Errorf("stop: exit %d, %q, daemons %v", code, out, p.daemons())
	}
	if out, code := run("search", "--workspace", sharedWorkspace, "zebras"); code != 0 || !strings.Contains(out, "c1") || len(p.daemons()) != 0 {
		t.Errorf("search alone: exit %d, %q, daemons %v", code, out, p.daemons())
	}
}
