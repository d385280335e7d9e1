package storage_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"hexapla/storage"
	"hexapla/storage/storagetest"
)

// TestSeqAt is the law of commit times: whatever the clock does and however
// often the store is opened, the sequence of a time is the newest whose commit
// was at or before it, where a clock that went back counts as one that stood
// still.
func TestSeqAt(t *testing.T) {
	t.Parallel()
	const start = 1_700_000_000_000
	rapid.Check(t, func(rt *rapid.T) {
		now := int64(start)
		opts := storage.Options{Dir: t.TempDir(), Now: func() int64 { return now }, Logf: t.Logf}
		open := func() *storage.Store {
			s, err := storage.Open(t.Context(), opts)
			if err != nil {
				rt.Fatal(err)
			}
			return s
		}
		s := open()
		defer func() { s.Close() }()
		type commit struct{ time, seq int64 }
		var commits []commit
		last := int64(0)
		for range rapid.IntRange(1, 12).Draw(rt, "commits") {
			now += rapid.Int64Range(-3, 5).Draw(rt, "step")
			puts := rapid.IntRange(0, 2).Draw(rt, "puts")
			receipt, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
				for range puts {
					tx.Put(storage.Draft{Kind: "kind", ID: "id", Body: []byte("body")})
				}
				tx.Add("counter", 1) // a commit without a record is no moment of its own
				return nil, nil
			})
			if err != nil {
				rt.Fatal(err)
			}
			if puts > 0 {
				last = max(last, now)
				commits = append(commits, commit{last, receipt.Seq})
			}
			if rapid.IntRange(0, 5).Draw(rt, "reopen") == 0 {
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				s = open()
			}
		}
		snapshot, err := s.Snapshot()
		if err != nil {
			rt.Fatal(err)
		}
		defer snapshot.Release()
		for at := int64(start - 40); at < start+70; at++ {
			var want int64
			for _, c := range commits {
				if c.time <= at {
					want = c.seq
				}
			}
			got, err := snapshot.SeqAt(at)
			if got != want || (want == 0) != errors.Is(err, storage.ErrNotFound) {
				rt.Fatalf("at %+d: %d, %v; want %d of %v", at-start, got, err, want, commits)
			}
		}
	})
}

// TestSeqAtBounds: the ends of the scale, and a snapshot that is older than the
// newest commit.
func TestSeqAtBounds(t *testing.T) {
	t.Parallel()
	now := int64(1000)
	s := storagetest.Open(t, storage.Options{Dir: t.TempDir(), Now: func() int64 { return now }})
	seqAt := func(snapshot *storage.Snapshot, at, want int64) {
		t.Helper()
		if got, err := snapshot.SeqAt(at); got != want || (want == 0) != errors.Is(err, storage.ErrNotFound) {
			t.Errorf("at %d: %d, %v; want %d", at, got, err, want)
		}
	}
	empty, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	seqAt(empty, math.MaxInt64, 0)
	write(t, s, draft("kind", "a", "1"))
	seqAt(empty, math.MaxInt64, 0)
	empty.Release()
	if _, err := empty.SeqAt(1000); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("after the release: %v", err)
	}

	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	now = 2000
	write(t, s, draft("kind", "a", "2"))
	for at, want := range map[int64]int64{math.MinInt64: 0, -1: 0, 0: 0, 999: 0, 1000: 1, 2000: 1, math.MaxInt64 - 1: 1, math.MaxInt64: 1} {
		seqAt(snapshot, at, want)
	}
}

// TestSeqAtOfOldStore: a store of a program that noted no times opens, and
// notes them from the next write on.
func TestSeqAtOfOldStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := storage.Options{Dir: dir, Now: func() int64 { return 5000 }, Logf: t.Logf}
	s, err := storage.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, draft("kind", "a", "1"))
	closeStore(t, s)
	if err := storage.DropTimes(dataFile(dir)); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{true, false} {
		opts.ReadOnly = readOnly
		if s, err = storage.Open(context.Background(), opts); err != nil {
			t.Fatal(err)
		}
		report, err := s.Verify(t.Context(), true)
		if err != nil || len(report.Problems) > 0 {
			t.Errorf("verify: %v, %v", report.Problems, err)
		}
		expectSeqAt(t, s, 5000, 0)
		if readOnly {
			closeStore(t, s)
		}
	}
	write(t, s, draft("kind", "a", "2"))
	expectSeqAt(t, s, 4999, 0)
	expectSeqAt(t, s, 5000, 2)
	closeStore(t, s)
}

func expectSeqAt(t *testing.T, s *storage.Store, at, want int64) {
	t.Helper()
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	if got, err := snapshot.SeqAt(at); got != want || (want == 0) != errors.Is(err, storage.ErrNotFound) {
		t.Errorf("at %d: %d, %v; want %d", at, got, err, want)
	}
}
