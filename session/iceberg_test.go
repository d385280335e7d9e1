package session_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"hexapla/layers"
	"hexapla/layers/iceberg"
	"hexapla/session"
)

// TestI1_ItemsByImportance: tier 2 has the items of most importance, in the order in
// which they were saved; COLD ones never, and of two agents' items the agent's own.
func TestI1_ItemsByImportance(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	service := session.New(session.Options{DataDir: t.TempDir(), NoIndex: true, Now: func() int64 { return now.UnixMilli() }})
	defer service.Close()
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s", Agent: "a"}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	save := func(agent string, types ...layers.ItemType) {
		t.Helper()
		req := session.MemorySave{Agent: agent}
		for _, kind := range types {
			req.Items = append(req.Items, session.ItemDraft{Type: kind, Content: agent + " remembers " + string(kind)})
		}
		if _, err := s.SaveMemory(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	tokens := 0 // of the build before
	shown := func(items, budget int) (ids []string) {
		t.Helper()
		reply, err := s.BuildTiers(t.Context(), session.TiersRequest{
			HistoryRequest: session.HistoryRequest{Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"Now?"}`)}, Budget: budget, Limit: 100_000},
			Strategy:       session.Strategy{Rules: iceberg.Rules{{Below: iceberg.Top, Items: items, Files: iceberg.FilesNone}}},
		})
		if err != nil || !reply.Built {
			t.Fatalf("%v %+v", err, reply.Warnings)
		}
		tokens = reply.Tokens
		for _, part := range reply.Tiers[1].Parts {
			if part.Detail != layers.FormNone {
				ids = append(ids, part.ID)
			}
		}
		return ids
	}
	save("a", layers.ItemTask, layers.ItemCode) // i1, i2
	now = now.Add(12 * 24 * time.Hour)
	if _, err := s.RetierMemory(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	save("b", layers.ItemTask)                                          // i3
	save("a", layers.ItemTestResult, layers.ItemError, layers.ItemTask) // i4 to i6
	for items, want := range map[int][]string{0: nil, 1: {"i6"}, 2: {"i5", "i6"}, iceberg.Unbounded: {"i4", "i5", "i6"}} {
		if got := shown(items, 0); !slices.Equal(got, want) {
			t.Errorf("%d items: %v, want %v", items, got, want)
		}
	}
	shown(iceberg.Unbounded, 0)
	if got := shown(iceberg.Unbounded, tokens-1); !slices.Equal(got, []string{"i5", "i6"}) {
		t.Errorf("in a token less: %v", got)
	}
}
