package session_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// BenchmarkMemory measures look-ups, flash saves and diffs of an agent with many
// items of 500 bytes, a tenth of them HOT, on a store on disk.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		service := session.New(session.Options{DataDir: b.TempDir()})
		if _, err := service.OpenSession(b.Context(), session.OpenRequest{URI: "file:///work", Session: "s", Agent: "coder"}); err != nil {
			b.Fatal(err)
		}
		s, err := service.Session("s")
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < n; i += 1000 {
			var drafts []session.ItemDraft
			for k := range 1000 {
				d := session.ItemDraft{Type: layers.ItemTestResult, Content: fmt.Sprintf("item %d %s", i+k, strings.Repeat("of some words ", 36))}
				if k%10 == 0 {
					d.Type = layers.ItemTask
				}
				drafts = append(drafts, d)
			}
			if _, err := s.SaveMemory(b.Context(), session.MemorySave{Items: drafts}); err != nil {
				b.Fatal(err)
			}
		}
		all, err := s.LoadMemory(b.Context(), session.MemoryLoad{Tiers: layers.Tiers(), Peek: true})
		if err != nil || len(all.Items) != n {
			b.Fatal(len(all.Items), err)
		}
		var held []session.HeldItem
		for _, item := range all.Items {
			sum := sha256.Sum256([]byte(item.Content))
			held = append(held, session.HeldItem{ID: item.ID, SHA256: hex.EncodeToString(sum[:])})
		}
		bench := func(name string, run func() error) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		bench("LookUpHot", func() error {
			_, err := s.LoadMemory(b.Context(), session.MemoryLoad{Peek: true})
			return err
		})
		bench("LookUpAll", func() error {
			_, err := s.LoadMemory(b.Context(), session.MemoryLoad{Peek: true, Tiers: layers.Tiers()})
			return err
		})
		bench("LoadHot", func() error { // durable: its use is counted
			_, err := s.LoadMemory(b.Context(), session.MemoryLoad{})
			return err
		})
		bench("Diff", func() error {
			_, err := s.DiffMemory(session.MemoryDiff{Held: held, Tiers: layers.Tiers()})
			return err
		})
		bench("FlashSave", func() error {
			_, err := s.FlashSaveMemory(b.Context(), session.FlashSave{})
			return err
		})
		if err := service.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
