package storage_test

import (
	"testing"

	"hexapla/storage"
	"hexapla/storage/storagetest"
)

// TestWriters: each record says who wrote it, also after records of others and
// after the store was opened again; a store that nobody told has none.
func TestWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := storagetest.Open(t, storage.Options{Dir: dir})
	put := func(by string) int64 {
		t.Helper()
		receipt, err := s.Write(t.Context(), storage.Op{By: by}, func(tx *storage.Tx) ([]byte, error) {
			tx.Put(storage.Draft{Kind: "k", ID: "a"})
			tx.Put(storage.Draft{Kind: "k", ID: "b"})
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Seq
	}
	want := map[int64]string{}
	for _, by := range []string{"", "one", "one", "two", "", "one"} {
		seq := put(by)
		want[seq-1], want[seq] = by, by
	}
	check := func() {
		t.Helper()
		sn, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Release()
		for seq, by := range want {
			if got, err := sn.View().Writer(seq); err != nil || got != by {
				t.Errorf("record %d: %q, %v, want %q", seq, got, err, by)
			}
		}
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = storagetest.Open(t, storage.Options{Dir: dir})
	check()
}
