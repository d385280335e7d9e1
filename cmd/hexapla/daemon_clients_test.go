//go:build linux

package main

import (
	"encoding/json"
	"hexapla/rpc"
	"hexapla/rpc/daemon"
	"hexapla/rpc/wire"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

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
	w := p.open(sharedWorkspace, "s", "--silence=1s")
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
	late := p.start("--silence=1s")
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
