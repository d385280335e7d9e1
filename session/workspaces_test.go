package session_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// clientLog is what a client is told.
type clientLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *clientLog) logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// TestWorkspacesAreShared: clients of one process share a workspace, each with
// sessions of its own; the options of the first hold until the last has gone,
// and the store is free then.
func TestWorkspacesAreShared(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shared := session.NewWorkspaces(session.Options{DataDir: dir})
	own := layers.DefaultPolicy()
	own.Summaries++
	var logs [3]clientLog
	client := func(i int, policy layers.Policy) *session.Service {
		return shared.Client(session.ClientOptions{Policy: policy, Logf: logs[i].logf})
	}
	open := func(s *session.Service, uri string) session.OpenReply {
		t.Helper()
		reply, err := s.OpenSession(t.Context(), session.OpenRequest{URI: uri, Session: "same"})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	first, second := client(0, layers.Policy{}), client(1, own)
	a, b := open(first, "file:///a"), open(second, "file:///a")
	if a.Workspace != b.Workspace || a.Resumed || !b.Resumed || shared.Len() != 1 {
		t.Errorf("%+v, %+v, %d open", a, b, shared.Len())
	}
	if len(logs[0].lines) != 0 || len(logs[1].lines) != 1 || !strings.Contains(logs[1].lines[0], "other options") {
		t.Errorf("told: %q, %q", logs[0].lines, logs[1].lines)
	}
	// An id of a session is the client's own: here it names another workspace.
	third := client(2, own)
	c := open(third, "file:///c")
	if c.Workspace == a.Workspace || first.Has(c.Workspace) || !third.Has(c.Workspace) || third.Has(a.Workspace) {
		t.Errorf("%+v", c)
	}
	for _, s := range []*session.Service{first, third} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if shared.Len() != 1 {
		t.Errorf("%d open, one client is left", shared.Len())
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if shared.Len() != 0 {
		t.Errorf("%d open without clients", shared.Len())
	}
	alone := newService(session.Options{DataDir: dir})
	open(alone, "file:///a")
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	fourth := client(2, own)
	open(fourth, "file:///a")
	if slices.ContainsFunc(logs[2].lines, func(line string) bool { return strings.Contains(line, "other options") }) {
		t.Errorf("told: %q", logs[2].lines)
	}
	if err := shared.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := client(0, own).WorkspaceByURI(t.Context(), "file:///a"); err == nil {
		t.Error("open after the end")
	}
}

// TestWorkspacesComeAndGo: clients that open and leave at once never get a
// workspace that is closed.
func TestWorkspacesComeAndGo(t *testing.T) {
	t.Parallel()
	shared := session.NewWorkspaces(session.Options{DataDir: t.TempDir()})
	var done sync.WaitGroup
	for i := range 6 {
		done.Go(func() {
			for n := range 4 {
				s := shared.Client(session.ClientOptions{})
				uri := fmt.Sprintf("file:///w%d", (i+n)%2)
				opened, err := s.OpenSession(t.Context(), session.OpenRequest{URI: uri, Session: fmt.Sprintf("s%d", i)})
				if err != nil {
					t.Errorf("open: %v", err)
				} else if task, err := s.Session(opened.Session); err != nil {
					t.Errorf("session: %v", err)
				} else if _, err := task.Record(t.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{{Role: layers.RoleUser, Text: "x"}}}); err != nil {
					t.Errorf("record: %v", err)
				}
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		})
	}
	done.Wait()
	if shared.Len() != 0 {
		t.Errorf("%d open", shared.Len())
	}
}
