package session_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"hexapla/layers"
	"hexapla/session"
)

// TestT7_KeptIsWhatIsStored: whatever an agent does, and however often it fails,
// what the process keeps of its memory is what another process reads of the store,
// and a write that is sent twice gives the same and counts once.
func TestT7_KeptIsWhatIsStored(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		dir, r := t.TempDir(), rand.New(rand.NewPCG(seed, 7))
		var now atomic.Int64
		now.Store(1_700_000_000_000)
		known, checkpoints, all := []string{}, 0, session.MemoryLoad{Tiers: layers.Tiers(), Peek: true}
		var before []session.MemoryItem
		for phase := range 3 {
			service := session.New(session.Options{DataDir: dir, Now: now.Load})
			if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s", Agent: "coder"}); err != nil {
				t.Fatal(err)
			}
			s, err := service.Session("s")
			if err != nil {
				t.Fatal(err)
			}
			if phase > 0 {
				if after := loads(t, s, all).Items; !reflect.DeepEqual(before, after) {
					t.Fatalf("seed %d, phase %d: kept\n%+v\nstored\n%+v", seed, phase, before, after)
				}
			}
			for i := range 60 {
				now.Add(r.Int64N(int64(12 * time.Hour / time.Millisecond)))
				draft := session.ItemDraft{Type: layers.ItemTypes()[r.IntN(5)], Content: fmt.Sprint("content ", phase, i)}
				switch what := r.IntN(20); {
				case what < 3 || len(known) == 0:
					known = append(known, saves(t, s, "", draft).Items[0].ID)
				case what < 5:
					draft.ID = known[r.IntN(len(known))]
					_, _ = s.SaveMemory(t.Context(), session.MemorySave{Items: []session.ItemDraft{draft}}) // it may be removed
				case what < 6:
					_, _ = s.SaveMemory(t.Context(), session.MemorySave{Items: []session.ItemDraft{draft}, Remove: []string{known[r.IntN(len(known))], "i999"}})
				case what < 7:
					_, _ = s.SaveMemory(t.Context(), session.MemorySave{Remove: []string{known[r.IntN(len(known))]}})
				case what < 8:
					_, _ = s.RetierMemory(t.Context(), "", "")
				case what < 9:
					if flash, err := s.FlashSaveMemory(t.Context(), session.FlashSave{Items: []session.ItemDraft{draft}}); err == nil {
						checkpoints++
						known = append(known, flash.Items[0].ID)
					}
				case what < 10 && checkpoints > 0:
					_, _ = s.RestoreMemory(t.Context(), "", fmt.Sprint("k", 1+r.IntN(checkpoints)), "")
				case what < 12:
					_, _ = s.Record(t.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{{Role: layers.RoleUser, Text: "on"}, {Role: layers.RoleAssistant, Text: "done"}}})
				default:
					req := session.MemoryLoad{Key: fmt.Sprint(phase, i), Tiers: layers.Tiers()[:1+r.IntN(3)], Limit: r.IntN(4)}
					once := loads(t, s, req)
					if r.IntN(2) == 0 {
						now.Add(1000)
						saves(t, s, "other", draft)
					}
					stored := loads(t, s, all)
					if again := loads(t, s, req); !reflect.DeepEqual(once, again) {
						t.Fatalf("seed %d: a load that is sent twice gives\n%+v\nand\n%+v", seed, once, again)
					}
					if after := loads(t, s, all); !reflect.DeepEqual(stored.Items, after.Items) {
						t.Fatalf("seed %d: a load that is sent twice counts twice", seed)
					}
				}
			}
			before = loads(t, s, all).Items
			if err := service.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if len(before) == 0 {
			t.Errorf("seed %d leaves no items", seed)
		}
	}
}
