package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hexapla/internal/shareddata"
	"hexapla/internal/transcript"
	"hexapla/layers"
	"hexapla/rpc/wire"
)

// TestT7_FourHoursOfWork: an agent works for more than four recorded hours under a
// limit of 12,000 tokens. Nobody helps: every pack is within the limit, and the
// memory is saved by itself whenever a pack is nearly full, so that there are
// checkpoints to go back to.
func TestT7_FourHoursOfWork(t *testing.T) {
	t.Parallel()
	const limit = 12_000
	data := filepath.Join(shareddata.Dir(t), "claude-code")
	c, all := startLimited(t, t.TempDir(), "", `{"context_config":{"default_limit":12000}}`)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s", Agent: "alpha"})
	worked, packs, most := time.Duration(0), 0, 0
	for _, name := range []string{"2026-01-22_dc02739514a5.jsonl", "2026-01-23_33375d080476.jsonl"} {
		in, err := os.Open(filepath.Join(data, name))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		from, err := transcript.Open(name, in)
		if err != nil {
			t.Fatal(err)
		}
		f := feeder{to: &server{c.Client}, id: "s"}
		first, last := int64(0), int64(0)
		for calls := 0; ; {
			m, err := from.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if m.Time != 0 {
				if last = m.Time; first == 0 {
					first = m.Time
				}
			}
			if m.Role == layers.RoleAssistant {
				if calls++; calls%8 == 0 {
					used := packWithin(t, c, limit)
					packs, most = packs+1, max(most, used)
				}
			}
			if err := f.feed(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			remember(c, m)
		}
		if err := f.done(t.Context()); err != nil {
			t.Fatal(err)
		}
		worked += time.Duration(last-first) * time.Millisecond
	}
	if worked < 4*time.Hour {
		t.Fatalf("the recordings are %v long", worked)
	}
	list := call[wire.MemoryCheckpointsResult](c, wire.MethodMemoryCheckpoints, wire.MemoryCheckpointsParams{Session: "s"})
	if list.Total == 0 || list.Total > packs/2 {
		t.Fatalf("%d flash saves in %d packs", list.Total, packs)
	}
	told := 0
	for _, event := range take[wire.MemoryParams](t, all, wire.EventMemory) {
		if event.Reason == "flashSave" {
			told++
		}
	}
	if told != list.Total {
		t.Errorf("%d flash saves were told of %d", told, list.Total)
	}
	back := call[wire.MemoryRestoreResult](c, wire.MethodMemoryRestore, wire.MemoryRestoreParams{Session: "s", Checkpoint: list.Checkpoints[0].ID})
	if back.Memory.Hot == 0 {
		t.Errorf("nothing to go on with: %+v", back)
	}
	t.Logf("%v of work, %d packs of at most %d tokens, %d flash saves", worked.Round(time.Minute), packs, most, list.Total)
	c.stop()
}

// packWithin builds a pack for a client that would take far more, and returns its
// tokens.
func packWithin(t *testing.T, c *child, limit int) int {
	t.Helper()
	built := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 100_000}})
	var pack wire.Pack
	if err := json.Unmarshal(built.Pack, &pack); err != nil {
		t.Fatal(err)
	}
	if pack.Tokens.Used > limit {
		t.Errorf("a pack of %d tokens", pack.Tokens.Used)
	}
	return pack.Tokens.Used
}

// remember saves what an agent would: the task that it is given, and what fails.
func remember(c *child, m transcript.Message) {
	var items []wire.MemoryDraft
	if m.Role == layers.RoleUser && m.Kind == layers.InputUserQuery && strings.TrimSpace(m.Text) != "" {
		items = append(items, wire.MemoryDraft{Type: "TASK", Content: m.Text[:min(len(m.Text), 400)]})
	}
	for _, result := range m.Results {
		if result.IsError {
			items = append(items, wire.MemoryDraft{Type: "ERROR", Content: result.Content[:min(len(result.Content), 400)]})
		}
	}
	if len(items) > 0 {
		for i := range items {
			items[i].Content = strings.ToValidUTF8(items[i].Content, "")
		}
		call[wire.MemorySaveResult](c, wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Items: items})
	}
}
