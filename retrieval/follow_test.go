package retrieval_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"hexapla/index"
	"hexapla/retrieval"
	"hexapla/storage"
)

type record = storage.Record

// TestWhatIsWrittenIsFound waits for the index to follow each write, and finds
// the record at once in any case.
func TestWhatIsWrittenIsFound(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	ix := w.openIndex()
	e := w.engine(ix)
	w.run(e)
	for i, word := range []string{"aardvark", "buffalo", "cheetah", "dolphin"} {
		w.write(1, turn("c1", i+1, word))
		if r := w.search(e, 0, retrieval.Query{Text: word}); len(r.Hits) != 1 || r.Degraded {
			t.Fatalf("%s: %+v", word, r)
		}
		await(t, word, func() bool { return ix.Watermark() == w.store.Seq() })
		got, err := ix.Candidates(context.Background(), []string{word}, w.store.Seq(), 5)
		if err != nil || len(got) != 1 || got[0] != w.store.Seq() {
			t.Fatalf("%s: the index has %v, %v", word, got, err)
		}
	}
}

// TestX4_IndexThatFailsIsGivenUp closes the index behind the engine's back: every
// batch fails. Writes go on, searches are complete and say that they are
// degraded.
func TestX4_IndexThatFailsIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(10, turn("c1", 1, "walrus"))
	ix := w.openIndex()
	e := retrieval.New(retrieval.Options{Store: w.store, Index: ix, Logf: t.Logf, Retry: time.Millisecond})
	w.run(e)
	w.indexed(e)
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	w.write(1, turn("c2", 1, "walrus again"))
	await(t, "the index to be given up", func() bool { return e.State().Failures >= 3 })
	w.write(1, turn("c3", 1, "walrus for ever"))
	r := w.search(e, 0, retrieval.Query{Text: "walrus"})
	if len(r.Hits) != 3 || !r.Degraded || !e.State().Degraded {
		t.Errorf("%+v, %+v", r, e.State())
	}
}

// TestR7_NoEndlessHealing: an index that cannot be fed is tried three times, with
// pauses, and then left alone however much is written.
func TestR7_NoEndlessHealing(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	ix := w.openIndex()
	e := retrieval.New(retrieval.Options{Store: w.store, Index: ix, Logf: t.Logf, Retry: time.Millisecond})
	w.run(e)
	w.indexed(e)
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	w.write(1, turn("c0", 1, "walrus"))
	await(t, "the index to be given up", func() bool { return e.State().Failures >= 3 })
	for n := range 20 {
		w.write(1, turn("c1", n+1, "walrus for ever"))
		if r := w.search(e, 0, retrieval.Query{Text: "walrus"}); len(r.Hits) != min(n+2, 2) || !r.Degraded {
			t.Errorf("%+v", r)
		}
	}
	if failures := e.State().Failures; failures != 3 {
		t.Errorf("%d tries", failures)
	}
}

// TestScanIsBounded has more records than may be scanned and no index.
func TestScanIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(10, turn("c1", 1, "walrus"), turn("c2", 1, "zebra"), turn("c3", 1, "walrus"))
	e := retrieval.New(retrieval.Options{Store: w.store, ScanLimit: 2})
	r := w.search(e, 0, retrieval.Query{Text: "walrus"})
	if len(r.Hits) != 1 || r.Hits[0].Conversation != "c3" || !r.Degraded {
		t.Errorf("%+v", r)
	}
	if r := w.search(e, 0, retrieval.Query{Text: "walrus", Complete: true}); len(r.Hits) != 2 {
		t.Errorf("a complete search: %+v", r)
	}
	// With an index that is behind, only what is between counts.
	ix := w.openIndex()
	e = retrieval.New(retrieval.Options{Store: w.store, Index: ix, ScanLimit: 2})
	if r := w.search(e, 0, retrieval.Query{Text: "walrus"}); len(r.Hits) != 1 || !r.Degraded {
		t.Errorf("an empty index: %+v", r)
	}
	w.run(e)
	w.indexed(e)
	if r := w.search(e, 0, retrieval.Query{Text: "walrus"}); len(r.Hits) != 2 || r.Degraded {
		t.Errorf("a full index: %+v", r)
	}
}

// TestX3_IndexOfTheFuture opens an index that is ahead of its store, as after an
// old copy of the store was put back.
func TestX3_IndexOfTheFuture(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(10, turn("c1", 1, "walrus"), turn("c2", 1, "zebra"))
	ix := w.openIndex()
	if err := ix.Apply(context.Background(), []index.Doc{{Seq: 1, Terms: []string{"zebra"}}, {Seq: 9, Terms: []string{"walru"}}}, 0, 9); err != nil {
		t.Fatal(err)
	}
	e := w.engine(ix)
	w.run(e)
	await(t, "the index to be built anew", func() bool { return ix.Watermark() == 2 })
	for i, word := range []string{"walrus", "zebra"} {
		if r := w.search(e, 0, retrieval.Query{Text: word}); len(r.Hits) != 1 || r.Hits[0].Seq != int64(i+1) {
			t.Errorf("%s: %+v", word, r)
		}
	}
}

// TestWrongIndex has an index that lies: hits are read from the store, so it can
// hide a record, but never show one that does not fit.
func TestWrongIndex(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(10, turn("c1", 1, "walrus"), turn("c2", 1, "zebra"), entry{kind: "served", id: "s1"})
	ix := w.openIndex()
	lie := []index.Doc{{Seq: 1, Terms: []string{"zebra"}}, {Seq: 2, Terms: []string{"zebra"}}, {Seq: 3, Terms: []string{"zebra"}}}
	if err := ix.Apply(context.Background(), lie, 0, 3); err != nil {
		t.Fatal(err)
	}
	if r := w.search(w.engine(ix), 0, retrieval.Query{Text: "zebra"}); len(r.Hits) != 1 || r.Hits[0].Seq != 2 {
		t.Errorf("%+v", r)
	}
}

// TestRestart stops everything between writes and goes on with what is on disk.
func TestRestart(t *testing.T) {
	t.Parallel()
	entries := corpus(11, 700)
	all := queries(entries, 12, 15)
	w := newWorkspace(t)
	for part := range 7 {
		w.write(50, entries[part*100:part*100+100]...)
		func() {
			ix, err := index.Open(context.Background(), index.Options{Dir: filepath.Join(w.dir, "index"), StoreUUID: w.store.UUID()})
			if err != nil {
				t.Fatal(err)
			}
			defer ix.Close()
			if part > 0 && ix.Watermark() == 0 {
				t.Errorf("part %d: the index was lost", part)
			}
			e := w.bounded(ix)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); e.Run(ctx) }()
			w.indexed(e)
			w.same("after a restart", w.hits(e, 0, all), w.hits(w.bounded(nil), 0, all), all)
			cancel()
			<-done
		}()
	}
}

// TestDamagedTables puts nonsense in place of what was counted.
func TestDamagedTables(t *testing.T) {
	t.Parallel()
	entries := corpus(13, 500)
	all := queries(entries, 14, 20)
	w := newWorkspace(t)
	w.write(100, entries...)
	e := w.engine(w.openIndex())
	w.run(e)
	w.indexed(e)
	want := w.hits(e, 0, all)
	stored := 0
	for _, name := range []string{"marks", "df/0", "df/1", "df/2", "df/3", "df/4"} {
		snapshot, err := w.store.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		data, ok := snapshot.View().Table("retrieval/" + name)
		snapshot.Release()
		if !ok || len(data) == 0 {
			continue
		}
		stored++
		for _, change := range []func([]byte) []byte{
			func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
			func(b []byte) []byte { return b[:len(b)-1] },
			func(b []byte) []byte { return []byte{} },
		} {
			if err := w.store.PutTable("retrieval/"+name, change(append([]byte{}, data...))); err != nil {
				t.Fatal(err)
			}
			w.same(name+" damaged", w.hits(w.engine(nil), 0, all), want, all)
		}
	}
	if stored < 2 {
		t.Errorf("only %d tables were stored: the test says little", stored)
	}
}
