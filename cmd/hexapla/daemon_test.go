//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

const sharedWorkspace = "file:///projects/shared"

// TestC1_FirstStart: processes that start at once on a fresh data folder get one
// daemon, and all that they record is there.
func TestC1_FirstStart(t *testing.T) {
	t.Parallel()
	const processes, each = 16, 2
	for range rounds(t, "HEXAPLA_C1_ROUNDS", 1) {
		p := newPost(t)
		var done sync.WaitGroup
		windows := make([]*window, processes)
		for i := range windows {
			windows[i] = p.start()
		}
		for i, w := range windows {
			done.Go(func() {
				w.initialize()
				w.openSession(sharedWorkspace, fmt.Sprintf("s%d", i))
				for n := range each {
					w.mustRecord(item(i, n))
				}
			})
		}
		done.Wait()
		if pids := p.daemons(); len(pids) != 1 {
			t.Errorf("daemons: %v", pids)
		}
		var want []string
		for i := range windows {
			for n := range each {
				want = append(want, item(i, n))
			}
		}
		sameItems(t, p.stored(sharedWorkspace), want)
		log, err := os.ReadFile(filepath.Join(p.data, "daemon", "daemon.log"))
		if n := strings.Count(string(log), "msg=ready"); err != nil || n != 1 {
			t.Errorf("%d daemons became ready, %v:\n%s", n, err, log)
		}
		out, err := p.command("daemon").CombinedOutput() // a second one by hand
		if err == nil || !strings.Contains(string(out), "a daemon has the data folder") {
			t.Errorf("a second daemon: %v, %s", err, out)
		}
		for _, w := range windows {
			w.leave()
		}
		p.end()
	}
}

// TestC2_DaemonKilled: a daemon that is killed again and again while clients
// write loses nothing, and nothing is there twice: forwarders send what was not
// answered to the next one.
func TestC2_DaemonKilled(t *testing.T) {
	t.Parallel()
	clients, workspaces := rounds(t, "HEXAPLA_C2_CLIENTS", 8), rounds(t, "HEXAPLA_C2_WORKSPACES", 2)
	kills := rounds(t, "HEXAPLA_C2_KILLS", 2)
	p := newPost(t)
	windows := make([]*window, clients)
	for i := range windows {
		windows[i] = p.open(fmt.Sprintf("file:///projects/w%d", i%workspaces), fmt.Sprintf("s%d", i))
	}
	var acknowledged atomic.Int64
	wrote := make([]int, clients)
	stop := make(chan struct{})
	var done sync.WaitGroup
	for i, w := range windows {
		done.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := w.record(item(i, wrote[i]), ""); err != nil {
					t.Errorf("record: %v", err)
				}
				wrote[i]++
				acknowledged.Add(1)
			}
		})
	}
	killed := 0
	for killed < kills && !t.Failed() {
		// Some for each client between two kills.
		from := acknowledged.Load()
		p.until("writes are answered", func() bool { return acknowledged.Load() >= from+int64(3*clients) })
		// The next daemon may just be starting, or two of which one is about to give way.
		var pids []int
		p.until("a daemon runs", func() bool {
			pids = p.daemons()
			return len(pids) > 0
		})
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Error(err)
			}
		}
		killed++
	}
	close(stop)
	done.Wait()
	for k := range workspaces {
		var want []string
		for i := range clients {
			for n := range wrote[i] {
				if i%workspaces == k {
					want = append(want, item(i, n))
				}
			}
		}
		sameItems(t, p.stored(fmt.Sprintf("file:///projects/w%d", k)), want)
	}
	for _, w := range windows {
		w.leave()
	}
}

// children are the processes whose parent is pid, as `pgrep -P` finds them.
func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	out, err := exec.Command("pgrep", "-P", fmt.Sprint(pid)).Output()
	if err != nil && len(out) > 0 {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(out)) {
		var child int
		if _, err := fmt.Sscan(field, &child); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, child)
	}
	return pids
}

// killTree ends a process the way an editor does: all that descends from it,
// children first, by SIGKILL.
func killTree(t *testing.T, pid int) {
	t.Helper()
	for _, child := range children(t, pid) {
		killTree(t, child)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// TestC3_TreeKilled: the daemon survives the death of the process tree that
// started it, and other windows notice nothing.
func TestC3_TreeKilled(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	first := p.open(sharedWorkspace, "first") // starts the daemon
	second := p.open(sharedWorkspace, "second")
	first.mustRecord(item(1, 1))
	before := p.daemons()
	killTree(t, first.cmd.Process.Pid)
	if _, err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	second.mustRecord(item(2, 1))
	if after := p.daemons(); len(before) != 1 || !slices.Equal(before, after) {
		t.Errorf("daemons were %v, are %v", before, after)
	}
	if err := syscall.Kill(-before[0], 0); err != nil {
		t.Errorf("the daemon leads no process group of its own: %v", err)
	}
	sameItems(t, p.stored(sharedWorkspace), []string{item(1, 1), item(2, 1)})
}

// TestC4_SocketsPlace: a dead daemon's socket is replaced; what is no socket of
// the user is refused and left as it is.
func TestC4_SocketsPlace(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	w := p.open(sharedWorkspace, "s")
	status, err := p.client().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(status.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.mustRecord(item(1, 1)) // past the dead daemon's socket
	w.leave()
	stop := func() {
		t.Helper()
		if _, err := p.client().Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: status.Socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil {
		t.Fatal(err)
	}
	w = p.open(sharedWorkspace, "s")
	w.mustRecord(item(1, 2))
	w.leave()
	stop()
	// A regular file, and a link to a socket.
	elsewhere := filepath.Join(p.run, "elsewhere.sock")
	target, err := net.ListenUnix("unix", &net.UnixAddr{Name: elsewhere, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for name, put := range map[string]func() error{
		"file": func() error { return os.WriteFile(status.Socket, []byte("mine"), 0o600) },
		"link": func() error { return os.Symlink(elsewhere, status.Socket) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(status.Socket)
		if err != nil {
			t.Fatal(err)
		}
		refused := p.start()
		code, err := refused.Wait()
		if code != 1 || err != nil || !strings.Contains(refused.log.String(), "not this user's own: no socket") {
			t.Errorf("%s: exit %d, %v, %q", name, code, err, refused.log.String())
		}
		auto := p.open(sharedWorkspace, "s", "--daemon=auto")
		auto.mustRecord(item(2, len(name)*10+int(name[0])))
		auto.until("window/logMessage", "no daemon can be had")
		auto.leave()
		after, err := os.Lstat(status.Socket)
		if err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) {
			t.Errorf("%s: changed, %v", name, err)
		}
		if err := os.Remove(status.Socket); err != nil {
			t.Fatal(err)
		}
	}
}

// until waits for an event.
func (w *window) until(method, text string) {
	w.t.Helper()
	for {
		w.mu.Lock()
		for _, e := range w.events {
			if strings.HasPrefix(e, method+" ") && strings.Contains(e, text) {
				w.mu.Unlock()
				return
			}
		}
		w.mu.Unlock()
		select {
		case <-w.seen:
		case <-w.ctx().Done():
			w.t.Fatalf("no %s with %q: %q", method, text, w.events)
		}
	}
}
