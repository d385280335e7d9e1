package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"hexapla/storage"
	"hexapla/storage/storagetest"
)

func TestWriteThenRead(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	receipt, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
		id := tx.NextID("c")
		first := tx.Put(storage.Draft{Kind: "conversation", ID: id, Parent: "s1", Body: []byte("one"), Lists: []string{"all"}})
		second := tx.Put(draft("turn", id+"#1", "two", "all"))
		if first != 1 || second != 2 || id != "c1" {
			t.Errorf("got sequences %d, %d and id %q", first, second, id)
		}
		if _, ok, _ := tx.View().Latest("conversation", id); ok {
			t.Error("a write sees its own put")
		}
		return []byte("reply"), nil
	})
	if err != nil || receipt.Seq != 2 || string(receipt.Reply) != "reply" || receipt.Repeated {
		t.Fatalf("got %+v, %v", receipt, err)
	}
	if s.Seq() != 2 {
		t.Errorf("the store is at %d", s.Seq())
	}
	viewing(t, s, func(v storage.View) {
		record, err := v.Get(1)
		if err != nil || record.Kind != "conversation" || record.ID != "c1" || record.Parent != "s1" || string(record.Body) != "one" {
			t.Errorf("got %+v, %v", record, err)
		}
		if _, err := v.Get(3); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("record 3: %v", err)
		}
		if _, err := v.Get(0); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("record 0: %v", err)
		}
		entries, err := v.List("all", 0, 10)
		if err != nil || len(entries) != 2 || entries[1] != (storage.ListEntry{Seq: 2, ID: "c1#1"}) {
			t.Errorf("got %v, %v", entries, err)
		}
	})
}

func TestFailedBuildsCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	refused := errors.New("refused")
	long := strings.Repeat("x", storage.MaxName+1)
	put := func(d storage.Draft) func(*storage.Tx) ([]byte, error) { return putting(draft("k", "lost", ""), d) }
	rows := []struct {
		name  string
		build func(*storage.Tx) ([]byte, error)
		is    error
	}{
		{"its error", func(tx *storage.Tx) ([]byte, error) {
			tx.Put(draft("k", "lost", ""))
			tx.NextID("c")
			return nil, refused
		}, refused},
		{"panic", func(tx *storage.Tx) ([]byte, error) { tx.Put(draft("k", "lost", "")); panic("boom") }, nil},
		{"goexit", func(tx *storage.Tx) ([]byte, error) {
			tx.Put(draft("k", "lost", ""))
			runtime.Goexit()
			return nil, nil
		}, nil},
		{"no kind", put(draft("", "a", "")), nil},
		{"no id", put(draft("k", "", "")), nil},
		{"long id", put(draft("k", long, "")), storage.ErrTooLarge},
		{"long list", put(draft("k", "a", "", long)), storage.ErrTooLarge},
		{"long mention", put(storage.Draft{Kind: "k", ID: "a", Mentions: []storage.Mention{{Kind: "file", Name: long}}}), storage.ErrTooLarge},
		{"large body", put(storage.Draft{Kind: "k", ID: "a", Body: make([]byte, storage.MaxBody+1)}), storage.ErrTooLarge},
		{"unstaged blob", func(tx *storage.Tx) ([]byte, error) { tx.AddBlob(storage.StagedBlob{}); return nil, nil }, nil},
		{"long counter", func(tx *storage.Tx) ([]byte, error) { tx.Add(long, 1); return nil, nil }, storage.ErrTooLarge},
	}
	for _, row := range rows {
		receipt, err := s.Write(t.Context(), storage.Op{Key: row.name}, row.build)
		if err == nil || row.is != nil && !errors.Is(err, row.is) || receipt.Seq != 0 {
			t.Errorf("%s: got %+v, %v", row.name, receipt, err)
		}
		kept, err := s.Write(t.Context(), storage.Op{Key: row.name}, putting(draft("k", row.name, "")))
		if err != nil || kept.Repeated {
			t.Errorf("%s: the next write: %+v, %v", row.name, kept, err)
		}
	}
	viewing(t, s, func(v storage.View) {
		if v.Seq() != int64(len(rows)) {
			t.Errorf("%d records, expected %d", v.Seq(), len(rows))
		}
		if _, ok, _ := v.Latest("k", "lost"); ok {
			t.Error("a failed write left a record")
		}
	})
	_, err := s.Write(t.Context(), storage.Op{Key: long}, putting())
	if !errors.Is(err, storage.ErrTooLarge) {
		t.Errorf("long key: %v", err)
	}
}

func TestNamesOfAnyBytes(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	names := []string{"a", "a\x00", "a\x00\x01", "a\x00\xff", "\x00", "\xff\xff", "ab", "a/b", strings.Repeat("\x00", storage.MaxName-8), "é\n"}
	for _, name := range names {
		write(t, s, storage.Draft{Kind: "k", ID: name, Parent: name, Lists: []string{name}, Mentions: []storage.Mention{{Kind: "file", Name: name}}})
	}
	viewing(t, s, func(v storage.View) {
		for i, name := range names {
			record, ok, err := v.Latest("k", name)
			if err != nil || !ok || record.Seq != int64(i+1) || record.ID != name || record.Parent != name {
				t.Errorf("%.20q: got %d, %v, %v", name, record.Seq, ok, err)
			}
			if n := v.ListLen(name); n != 1 {
				t.Errorf("%.20q: list of %d", name, n)
			}
			var seqs []int64
			err = v.Mentions("file", name, false, func(_, got string, seq int64) bool {
				seqs = append(seqs, seq)
				return got == name
			})
			if err != nil || len(seqs) != 1 || seqs[0] != int64(i+1) {
				t.Errorf("%.20q: mentioned at %v, %v", name, seqs, err)
			}
		}
	})
}

func TestKeysMakeWritesIdempotent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	op := storage.Op{Key: "k1", Digest: [32]byte{1}}
	runs := 0
	build := func(tx *storage.Tx) ([]byte, error) {
		runs++
		tx.Put(draft("k", "a", ""))
		return []byte(fmt.Sprint("run ", runs)), nil
	}
	for round := range 3 {
		receipt, err := s.Write(t.Context(), op, build)
		if err != nil || receipt.Seq != 1 || string(receipt.Reply) != "run 1" || receipt.Repeated != (round > 0) {
			t.Fatalf("round %d: %+v, %v", round, receipt, err)
		}
		if round == 1 { // the key outlives the process
			closeStore(t, s)
			s = openAt(t, dir)
		}
	}
	other := op
	other.Digest[0] = 2
	if _, err := s.Write(t.Context(), other, build); !errors.Is(err, storage.ErrKeyReused) {
		t.Errorf("another digest: %v", err)
	}
	if runs != 1 {
		t.Errorf("build ran %d times", runs)
	}
	sound(t, s)
}

// TestOrder: writes that wait run in the order in which they were called, each
// sees all before it, and repeated keys of one batch are repeated.
func TestOrder(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	const writers, each = 16, 20
	var order []int64 // only builds touch it, one after another
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			last := int64(0)
			for i := range each {
				op := storage.Op{Key: fmt.Sprint(w, i/2)} // each key twice in a row
				receipt, err := s.Write(context.Background(), op, func(tx *storage.Tx) ([]byte, error) {
					v := tx.View()
					if v.ListLen("all") != len(order) || v.Seq() != int64(len(order)) {
						return nil, fmt.Errorf("sees %d places of %d at %d", v.ListLen("all"), len(order), v.Seq())
					}
					order = append(order, tx.Put(draft("k", tx.NextID("r"), "", "all")))
					return nil, nil
				})
				if err != nil || receipt.Seq < last || receipt.Repeated != (i%2 == 1) {
					t.Errorf("writer %d, write %d: %+v, %v", w, i, receipt, err)
					return
				}
				last = receipt.Seq
			}
		})
	}
	all.Wait()
	if len(order) != writers*each/2 {
		t.Fatalf("%d builds ran", len(order))
	}
	for i, seq := range order {
		if seq != int64(i+1) {
			t.Fatalf("build %d got sequence %d", i, seq)
		}
	}
}

// TestCancel: a write whose context ends while it waits is not done; one whose
// build has begun is.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	begun, goOn := make(chan bool), make(chan bool)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := s.Write(ctx, storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
			close(begun)
			<-goOn
			tx.Put(draft("k", "first", ""))
			return nil, nil
		})
		first <- err
	}()
	<-begun
	waiting, cancelWaiting := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() {
		_, err := s.Write(waiting, storage.Op{}, putting(draft("k", "second", "")))
		second <- err
	}()
	cancelWaiting()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: %v", err)
	}
	cancel()
	close(goOn)
	if err := <-first; err != nil {
		t.Errorf("cancelled after its build began: %v", err)
	}
	if _, err := s.Write(ctx, storage.Op{}, putting(draft("k", "third", ""))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	write(t, s, draft("k", "fourth", ""))
	viewing(t, s, func(v storage.View) {
		for id, expected := range map[string]bool{"first": true, "second": false, "third": false, "fourth": true} {
			if _, ok, err := v.Latest("k", id); ok != expected || err != nil {
				t.Errorf("%s: %v, %v", id, ok, err)
			}
		}
	})
}

func TestCounters(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	for range 2 {
		_, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
			tx.Add("bytes", 10)
			tx.Add("bytes", -3)
			tx.Add("x", 1)
			return []byte(tx.NextID("x") + tx.NextID("x") + tx.NextID("")), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	viewing(t, s, func(v storage.View) {
		if v.Counter("bytes") != 14 || v.Counter("x") != 2 || v.Counter("none") != 0 || v.Err() != nil {
			t.Errorf("got %d, %d, %d, %v", v.Counter("bytes"), v.Counter("x"), v.Counter("none"), v.Err())
		}
	})
	receipt, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) { return []byte(tx.NextID("x")), nil })
	if err != nil || string(receipt.Reply) != "x5" || receipt.Seq != 0 {
		t.Errorf("got %q at %d, %v", receipt.Reply, receipt.Seq, err)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	put := func(name string, data []byte) {
		t.Helper()
		if err := s.PutTable(name, data); err != nil {
			t.Fatal(err)
		}
	}
	put("a", []byte("one"))
	put("a", []byte("two"))
	put("b", bytes.Repeat([]byte("b"), 100_000))
	put("c", []byte{})
	put("d", []byte("gone"))
	put("d", nil)
	put("never", nil)
	if s.Seq() != 0 {
		t.Errorf("a table raised the sequence to %d", s.Seq())
	}
	viewing(t, s, func(v storage.View) {
		for name, expected := range map[string]int{"a": 3, "b": 100_000, "c": 0, "d": -1, "never": -1, "": -1} {
			data, ok := v.Table(name)
			if ok != (expected >= 0) || ok && len(data) != expected {
				t.Errorf("%q: %d bytes, %v", name, len(data), ok)
			}
		}
		if data, _ := v.Table("a"); string(data) != "two" {
			t.Errorf("a is %q", data)
		}
	})
	if err := s.PutTable("", []byte("x")); err == nil {
		t.Error("a table without a name was taken")
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	changed := s.Changed()
	if err := s.PutTable("a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
		t.Error("a table is no change")
	default:
	}
	write(t, s, draft("k", "a", ""))
	<-changed // or the test hangs
	select {
	case <-s.Changed():
		t.Error("told again of what was told")
	default:
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	begun, goOn := make(chan bool), make(chan bool)
	results := make(chan error, 2)
	go func() {
		_, err := s.Write(context.Background(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
			close(begun)
			<-goOn
			return nil, nil
		})
		results <- err
	}()
	<-begun
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	close(goOn)
	if err := <-results; err != nil {
		t.Errorf("a write that had begun: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if _, err := s.Write(t.Context(), storage.Op{}, putting()); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if _, err := s.Snapshot(); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("snapshot: %v", err)
	}
	if err := s.PutTable("a", nil); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("table: %v", err)
	}
	if _, err := s.StageBlob(t.Context(), make([]byte, 10_000), ""); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("stage: %v", err)
	}
	if _, _, err := s.ReadBlob(t.Context(), strings.Repeat("a", 64), 0, 1); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("read blob: %v", err)
	}
	s.AppendAudit("sum", []byte("body")) // must not hang or panic
}

// TestTxAfterBuild: a transaction that is kept does nothing.
func TestTxAfterBuild(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	var kept *storage.Tx
	var view storage.View
	_, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
		kept, view = tx, tx.View()
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if kept.Put(draft("k", "a", "")) != 0 || kept.NextID("c") != "c0" {
		t.Error("it still works")
	}
	if _, err := view.Get(1); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if _, err := kept.View().Get(1); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if s.Seq() != 0 {
		t.Errorf("the store is at %d", s.Seq())
	}
}
