package storage_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"hexapla/layers"
	"hexapla/storage"
)

// TestY6_EraseMoves: records take other ids, parents, lists and postings, lists of
// the same new name become one, with the first version of each thing alone, blobs other content, and
// a second pass sees what the first made. A rewrite refuses to.
func TestY6_EraseMoves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	large := make([]byte, 100_000)
	staged, err := s.StageBlob(t.Context(), append(large, "old-value"...), "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"old-value", "b", "old-value", "placeholder", "c"} {
		_, err := s.Write(t.Context(), storage.Op{Key: fmt.Sprint(i)}, func(tx *storage.Tx) ([]byte, error) {
			tx.AddBlob(staged)
			tx.Put(storage.Draft{
				Kind: "k", ID: id, Parent: "of " + id, Body: fmt.Appendf(nil, "%d %s", i, id), Lists: []string{"list/" + id, "all"},
				Mentions: []storage.Mention{{Kind: "m", Name: id}, {Kind: "m", Name: "both"}},
			})
			return []byte("reply " + id), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	clean := func(id string) string {
		if id == "old-value" {
			return "placeholder"
		}
		return id
	}
	m := storage.Mapping{
		Record: func(r storage.Record, _ []byte) (storage.Fate, storage.Content) {
			if clean(r.ID) == r.ID {
				return storage.Keep, storage.Content{}
			}
			return storage.Replace, storage.Content{
				Body: []byte("clean"), ID: clean(r.ID), Parent: "of placeholder",
				Mentions: []storage.Mention{{Kind: "m", Name: "placeholder"}, {Kind: "m", Name: "both"}, {Kind: "m", Name: "new"}},
			}
		},
		List: func(name string) string {
			if name == "list/old-value" {
				return "list/placeholder"
			}
			return name
		},
		Reply: func(_ int64, reply []byte) (storage.Fate, []byte) {
			if string(reply) == "reply old-value" {
				return storage.Drop, nil
			}
			return storage.Keep, nil
		},
		Blob: func(ref layers.BlobRef) (storage.Fate, storage.BlobContent) {
			return storage.Replace, storage.BlobContent{Data: append(large, "new"...), MIME: "text/x"}
		},
	}
	if _, err := s.Rewrite(t.Context(), m); err == nil {
		t.Fatal("a rewrite moves ids")
	}
	before := 0
	plans := []func(storage.View) (storage.Mapping, error){
		func(storage.View) (storage.Mapping, error) { return m, nil },
		func(v storage.View) (storage.Mapping, error) {
			record, ok, err := v.Latest("k", "placeholder")
			if err != nil || !ok || record.Seq != 4 {
				return m, fmt.Errorf("the second pass sees %+v, %v, %w", record, ok, err)
			}
			before = v.ListLen("list/placeholder")
			return storage.Mapping{}, nil
		},
	}
	if err := s.EraseIn(t.Context(), plans, nil); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if files := holds(t, dir, "old-value"); len(files) > 0 {
			t.Error("left in ", files)
		}
		viewing(t, s, func(v storage.View) {
			var ids []string
			for _, list := range []string{"list/old-value", "list/placeholder", "all"} {
				entries, err := v.List(list, 0, 10)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					ids = append(ids, fmt.Sprint(list, " ", e.Seq, " ", e.ID))
				}
			}
			if got := fmt.Sprint(ids); got != "[list/placeholder 1 placeholder all 1 placeholder all 2 b all 5 c]" {
				t.Error(got)
			}
			for name, want := range map[string]string{"old-value": "[]", "placeholder": "[4 3 1]", "new": "[3 1]", "both": "[5 4 3 2 1]"} {
				found := []int64{}
				if err := v.Mentions("m", name, false, func(_, _ string, seq int64) bool { found = append(found, seq); return true }); err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(found) != want {
					t.Errorf("%s is mentioned by %v, want %s", name, found, want)
				}
			}
			then, err := v.At(3)
			if err != nil {
				t.Fatal(err)
			}
			if record, ok, err := then.Latest("k", "placeholder"); err != nil || !ok || string(record.Body) != "clean" || record.Parent != "of placeholder" || record.Seq != 3 {
				t.Errorf("%+v, %v, %v", record, ok, err)
			}
		})
		if _, _, err := s.ReadBlob(t.Context(), staged.Ref.SHA256, 0, 1<<20); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("the old blob: %v", err)
		}
		now := storage.RefOf(append(large, "new"...), "text/x")
		if _, ref, err := s.ReadBlob(t.Context(), now.SHA256, 0, 1<<20); err != nil || ref != now {
			t.Errorf("the new blob: %+v, %v", ref, err)
		}
		sound(t, s)
	}
	check()
	if before != 1 {
		t.Errorf("the second pass saw a list of %d", before)
	}
	closeStore(t, s)
	s = openAt(t, dir)
	check()
	ended, end := context.WithCancel(t.Context())
	stop := func(storage.View) (storage.Mapping, error) { end(); return m, nil }
	if err := s.EraseIn(ended, []func(storage.View) (storage.Mapping, error){stop}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an erase whose context ends before its commit: %v", err)
	}
	check()
}
