package session

import (
	"fmt"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/storage"
)

// withOutputs opens a session with one long conversation.
func withOutputs(tb testing.TB) *Session {
	tb.Helper()
	service := New(Options{DataDir: tb.TempDir()})
	tb.Cleanup(func() {
		if err := service.Close(); err != nil {
			tb.Error(err)
		}
	})
	if _, err := service.OpenSession(tb.Context(), OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		tb.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		tb.Fatal(err)
	}
	turns := []layers.Turn{{Role: layers.RoleUser, Text: "Read it all."}}
	for i := range 40 {
		id := fmt.Sprint("t", i)
		turns = append(turns,
			layers.Turn{Role: layers.RoleAssistant, Text: strings.Repeat("the reader flushes ", 20), Calls: []layers.ToolCall{{ID: id, Name: "Read", Input: "{}"}}},
			layers.Turn{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: id, Content: strings.Repeat(fmt.Sprintf("line %d of file_%d.go\n", i, i), 300)}}})
	}
	if _, err := s.Record(tb.Context(), RecordRequest{Turns: turns, Done: true}); err != nil {
		tb.Fatal(err)
	}
	return s
}

// BenchmarkFull shows a conversation of forty outputs of 6 KB within 4,000
// tokens: as the first request for it does, and as the next one.
func BenchmarkFull(b *testing.B) {
	ws := withOutputs(b).Workspace
	show := func() {
		err := ws.view(0, func(v storage.View) error {
			_, err := ws.show(v, "c1", layers.DetailFull, question{}, 4000, ws.standard())
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			ws.threads.forget()
			show()
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			show()
		}
	})
}

// TestH13_Prefetch: after a header was served, the full text is prepared, and
// what is then shown is what it would have been.
func TestH13_Prefetch(t *testing.T) {
	t.Parallel()
	s := withOutputs(t)
	ws := s.Workspace
	if _, err := s.RequestContext(t.Context(), ContextRequest{Retrieve: []Retrieve{{IDs: []string{"c1"}, Format: layers.DetailHeader}}}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	ws.prefetch.jobs <- prefetchJob{conversation: "c9", counter: ws.standard(), done: done} // behind the one that is meant
	<-done
	prepared := ws.threads.get(threadKey{conversation: "c1", counter: ws.standard().Name()})
	if prepared.turns != 81 {
		t.Errorf("%d turns are prepared", prepared.turns)
	}
	show := func() (text string) {
		err := ws.view(0, func(v storage.View) error {
			out, err := ws.show(v, "c1", layers.DetailFull, question{}, 4000, ws.standard())
			text = out.text
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	warm := show()
	ws.threads.forget()
	if show() != warm {
		t.Error("what was prepared shows otherwise")
	}
}

// forget empties the cache.
func (c *threadCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = nil
	c.recent.Init()
}
