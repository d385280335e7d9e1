//go:build linux

package main

import (
	"encoding/json"
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

	"hexapla/rpc"
	"hexapla/rpc/daemon"
	"hexapla/rpc/wire"
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
	each := max(12, 3*(kills+1)) // some for each client between two kills
	p := newPost(t)
	windows := make([]*window, clients)
	for i := range windows {
		windows[i] = p.open(fmt.Sprintf("file:///projects/w%d", i%workspaces), fmt.Sprintf("s%d", i))
	}
	var acknowledged atomic.Int64
	progress := make(chan int64, clients*each)
	var done sync.WaitGroup
	for i, w := range windows {
		done.Go(func() {
			for n := range each {
				if _, err := w.record(item(i, n), ""); err != nil {
					t.Errorf("record: %v", err)
				}
				progress <- acknowledged.Add(1)
			}
		})
	}
	killed := []int{}
	for k := range kills {
		until := int64(clients * each * (k + 1) / (kills + 1))
		for n := range progress {
			if n >= until {
				break
			}
		}
		pids := p.daemons()
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		killed = append(killed, pids...)
	}
	done.Wait()
	if len(killed) != kills {
		t.Errorf("killed %v, not %d", killed, kills)
	}
	for k := range workspaces {
		var want []string
		for i := range clients {
			for n := range each {
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

// as lets the programs of a place say that they are another release.
func (p *post) as(r daemon.Release) {
	text, err := json.Marshal(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.env = append(p.env[:1:1], claim+"="+string(text))
}

// TestC5_TwoVersions: a newer program takes the older daemon's place, one that
// the daemon does not understand is turned away, and there is one daemon at any
// time.
func TestC5_TwoVersions(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	old := p.open(sharedWorkspace, "old")
	old.mustRecord(item(1, 1))
	first := p.daemons()
	// The same wire version: who is older is served by the newer daemon.
	p.as(daemon.Release{Wire: daemon.Wire, Version: "9.0.0"})
	newer := p.open(sharedWorkspace, "newer")
	newer.mustRecord(item(2, 1))
	second := p.daemons()
	old.mustRecord(item(1, 2))
	if len(first) != 1 || len(second) != 1 || first[0] == second[0] || !slices.Equal(second, p.daemons()) {
		t.Errorf("daemons: %v, %v, %v", first, second, p.daemons())
	}
	// Another wire version: who is older must be started anew.
	p.as(daemon.Release{Wire: daemon.Wire + 1, Version: "10.0.0"})
	newest := p.open(sharedWorkspace, "newest")
	newest.mustRecord(item(3, 1))
	third := p.daemons()
	if _, err := old.record(item(1, 3), ""); !rpc.IsKind(err, wire.KindDaemonUnresponsive) {
		t.Errorf("an outdated forwarder: %v", err)
	}
	if code, err := old.Wait(); code != 1 || err != nil || !strings.Contains(old.log.String(), "newer hexapla") {
		t.Errorf("an outdated forwarder: exit %d, %v, %q", code, err, old.log.String())
	}
	if len(third) != 1 || !slices.Equal(third, p.daemons()) {
		t.Errorf("daemons: %v, then %v", third, p.daemons())
	}
	sameItems(t, p.stored(sharedWorkspace), []string{item(1, 1), item(1, 2), item(2, 1), item(3, 1)})
}

// TestC6_DaemonStopped: a daemon that does not run is not waited for without
// end, and gets no second one beside it.
func TestC6_DaemonStopped(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	w := p.open(sharedWorkspace, "s", "--silence=400ms")
	w.mustRecord(item(1, 1))
	pids := p.daemons()
	if len(pids) != 1 {
		t.Fatalf("daemons: %v", pids)
	}
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(pids[0], s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	defer signal(syscall.SIGCONT)
	p.until("the daemon is stopped", func() bool { return state(pids[0]) == "T" })
	_, err := w.record(item(1, 2), "mine")
	var told *rpc.Error
	if !rpc.IsKind(err, wire.KindDaemonUnresponsive) || !asError(err, &told) || told.Data.Committed != wire.CommittedUnknown || !told.Data.Retryable {
		t.Errorf("a write: %v, %+v", err, told)
	}
	late := p.start("--silence=400ms")
	if _, err := late.Initialize(late.ctx(), rpc.InitializeParams{}); !rpc.IsKind(err, wire.KindDaemonUnresponsive) {
		t.Errorf("initialize: %v", err)
	}
	if now := p.daemons(); !slices.Equal(now, pids) {
		t.Errorf("daemons: %v, then %v", pids, now)
	}
	signal(syscall.SIGCONT)
	// With the key of the first time it is not there twice.
	if _, err := w.record(item(1, 2), "mine"); err != nil {
		t.Errorf("after the daemon went on: %v", err)
	}
	sameItems(t, p.stored(sharedWorkspace), []string{item(1, 1), item(1, 2)})
}

// TestC7_OneConversation: two windows that write to one conversation get one
// order, and each is told of the other's writes.
func TestC7_OneConversation(t *testing.T) {
	t.Parallel()
	const each = 15
	p := newPost(t)
	windows := []*window{p.open(sharedWorkspace, "task"), p.open(sharedWorkspace, "task")}
	var begun wire.ConversationRecordResult
	if err := windows[0].Call(windows[0].ctx(), wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: "task", Turns: []wire.Turn{{Role: "user", Text: "Begin."}},
	}, &begun); err != nil {
		t.Fatal(err)
	}
	numbers := make([][]int, len(windows))
	var done sync.WaitGroup
	for i, w := range windows {
		done.Go(func() {
			for n := range each {
				var r wire.ConversationRecordResult
				if err := w.Call(w.ctx(), wire.MethodConversationRecord, wire.ConversationRecordParams{
					Session: "task", Conversation: begun.Conversation, Turns: []wire.Turn{{Role: "assistant", Text: item(i, n)}},
				}, &r); err != nil {
					t.Errorf("record: %v", err)
				}
				numbers[i] = append(numbers[i], r.TurnNumbers...)
			}
		})
	}
	done.Wait()
	all := slices.Concat(numbers...)
	for i := range windows {
		if !slices.IsSorted(numbers[i]) {
			t.Errorf("window %d got %v", i, numbers[i])
		}
	}
	slices.Sort(all)
	for i, n := range all {
		if n != begun.TurnNumbers[0]+1+i {
			t.Fatalf("turns %v have no total order", all)
		}
	}
	for _, w := range windows {
		for range 2*each + 1 {
			select {
			case <-w.seen:
			case <-w.ctx().Done():
				t.Fatalf("a window was told of %d writes", len(w.events))
			}
		}
	}
	var want []string
	for i := range windows {
		for n := range each {
			want = append(want, item(i, n))
		}
	}
	sameItems(t, p.stored(sharedWorkspace), want)
}

// TestC8_Locked: a store that another process has open is refused, with that
// process's id, and the command line says what to do; other workspaces of the
// daemon are served.
func TestC8_Locked(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	stranger := p.open(sharedWorkspace, "s", "--daemon=off")
	stranger.mustRecord(item(1, 1))
	w := p.open("file:///projects/free", "s")
	err := w.Call(w.ctx(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: sharedWorkspace}, Session: "t"}, nil)
	var told *rpc.Error
	if !rpc.IsKind(err, wire.KindLocked) || !asError(err, &told) || told.Data.PID != stranger.cmd.Process.Pid || !told.Data.Retryable {
		t.Errorf("%v, %+v; want locked by %d", err, told, stranger.cmd.Process.Pid)
	}
	w.mustRecord(item(2, 1))
	stranger.leave()
	w.openSession(sharedWorkspace, "t")
	w.mustRecord(item(1, 2))
	sameItems(t, p.stored(sharedWorkspace), []string{item(1, 1), item(1, 2)})
}

// TestC9_OtherFolders: processes that would put the socket elsewhere find the
// daemon all the same, and a name that is too long is not used.
func TestC9_OtherFolders(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	first := p.open(sharedWorkspace, "first")
	first.mustRecord(item(1, 1))
	one := p.daemons()
	long := filepath.Join(p.run, strings.Repeat("long", 40))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, env := range [][]string{
		{"XDG_RUNTIME_DIR=", "TMPDIR=" + p.run}, {"XDG_RUNTIME_DIR=relative"}, {"XDG_RUNTIME_DIR=" + long},
	} {
		p.env = env
		w := p.open(sharedWorkspace, "first")
		w.mustRecord(item(2, i))
		w.leave()
	}
	if now := p.daemons(); len(one) != 1 || !slices.Equal(now, one) {
		t.Errorf("daemons: %v, then %v", one, now)
	}
	first.leave()
	p.end()
	w := p.open(sharedWorkspace, "first") // with the long name
	status, err := p.client().Status(t.Context())
	if err != nil || strings.HasPrefix(status.Socket, long) || len(status.Socket) >= 100 {
		t.Errorf("socket %q, %v", status.Socket, err)
	}
	w.leave()
}
