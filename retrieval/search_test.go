package retrieval_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"hexapla/index"
	"hexapla/layers"
	"hexapla/retrieval"
	"hexapla/storage"
)

// corpus makes conversations of made-up words whose frequencies fall as those
// of a language do, with tool outputs, files, errors, edits and trios that are
// replaced.
func corpus(seed uint64, records int) []entry {
	r := rand.New(rand.NewPCG(seed, 7))
	zipf := rand.NewZipf(r, 1.1, 4, 3000)
	words := func(n int) string {
		var b strings.Builder
		for range n {
			v := zipf.Uint64()
			b.WriteString("w")
			for range 3 {
				b.WriteByte("bcdfghjklmnprtvz"[v%16])
				b.WriteByte("aeiou"[v%5])
				v /= 16
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	file := func() string { return fmt.Sprintf("pkg%d/file%d.go", r.IntN(5), r.IntN(9)) }
	var out []entry
	for c := 1; len(out) < records; c++ {
		id := fmt.Sprintf("c%d", c)
		whole := ""
		for n := 1; n <= 2+r.IntN(7); n++ {
			e := turn(id, n, words(4+r.IntN(30)))
			if r.IntN(3) == 0 {
				e.entities.Files = []string{file()}
			}
			whole += e.text
			out = append(out, e)
			if r.IntN(3) == 0 {
				o := entry{kind: "output", id: e.id + "/call", parent: id, text: words(60)}
				if r.IntN(4) == 0 {
					o.entities.Errors = []string{fmt.Sprintf("no such thing %d", r.IntN(6))}
				}
				out = append(out, o)
			}
			if r.IntN(4) == 0 {
				out = append(out, trio(id, words(20)))
			}
			if r.IntN(12) == 0 {
				e.text = words(12) // an edit
				out = append(out, e)
			}
			if r.IntN(5) == 0 {
				out = append(out, entry{kind: "served", id: fmt.Sprintf("s%d", len(out))}) // nothing to find
			}
		}
		out = append(out, trio(id, whole))
	}
	return out[:records]
}

// queries are about the records of a corpus.
func queries(entries []entry, seed uint64, n int) []retrieval.Query {
	r := rand.New(rand.NewPCG(seed, 8))
	var out []retrieval.Query
	for range n {
		e := entries[r.IntN(len(entries))]
		words := strings.Fields(e.text)
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		q := retrieval.Query{Text: strings.Join(words[:min(len(words), 1+r.IntN(6))], " "), Limit: 15, Offset: r.IntN(3)}
		switch r.IntN(3) {
		case 0:
			q.Kinds = []string{"turn", "output"}
		case 1:
			q.Entities = layers.Entities{Files: []string{"pkg1/file1.go", "pkg2/file2.go"}, Errors: []string{"no such thing 3"}}
		}
		if r.IntN(4) == 0 {
			q.Exclude = func(id string) bool { return strings.HasSuffix(id, "1") }
			q.Visits = func(id string) int { return len(id) }
		}
		out = append(out, q)
	}
	return out
}

// hits asks every query as of a sequence.
func (w *workspace) hits(e *retrieval.Engine, seq int64, all []retrieval.Query) [][]retrieval.Hit {
	w.t.Helper()
	var out [][]retrieval.Hit
	for _, q := range all {
		out = append(out, w.search(e, seq, q).Hits)
	}
	return out
}

func (w *workspace) same(name string, got, want [][]retrieval.Hit, all []retrieval.Query) {
	w.t.Helper()
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			w.t.Fatalf("%s: query %d %q %q:\n got %+v\nwant %+v", name, i, all[i].Text, all[i].Kinds, got[i], want[i])
		}
	}
}

// bounded makes an engine that ranks so few candidates that the bound decides.
func (w *workspace) bounded(ix *index.Index) *retrieval.Engine {
	return retrieval.New(retrieval.Options{Store: w.store, Index: ix, Logf: w.t.Logf, Candidates: 60})
}

// TestX2_HitsDoNotDependOnTheIndex is the promise of the package: the same hits,
// scores and parts without an index, with an empty one, a half and a full one,
// after a rebuild, after records went in by other batches, and after restarts.
func TestX2_HitsDoNotDependOnTheIndex(t *testing.T) {
	t.Parallel()
	entries := corpus(1, 1500)
	all := queries(entries, 2, 60)

	w := newWorkspace(t)
	half := len(entries) / 2
	w.write(100, entries[:half]...)
	ix := w.openIndex()
	ctx, cancel := context.WithCancel(context.Background())
	fed := w.bounded(ix)
	done := make(chan struct{})
	go func() { defer close(done); fed.Run(ctx) }()
	w.indexed(fed)
	early := w.hits(fed, 0, all)
	cancel()
	<-done
	w.write(100, entries[half:]...)

	want := w.hits(w.bounded(nil), 0, all)
	found := 0
	for _, h := range want {
		found += len(h)
	}
	if found < 10*len(all) {
		t.Fatalf("only %d hits for %d queries: the test says little", found, len(all))
	}
	if ix.Watermark() != int64(half) {
		t.Fatalf("the index stands at %d, not at half", ix.Watermark())
	}
	w.same("half an index", w.hits(w.bounded(ix), 0, all), want, all)

	full := w.bounded(ix)
	w.run(full)
	w.indexed(full)
	w.same("a full index", w.hits(full, 0, all), want, all)
	w.same("a full index, as of the middle", w.hits(full, int64(half), all), early, all)
	w.same("no index, as of the middle", w.hits(w.bounded(nil), int64(half), all), early, all)

	if err := full.Rebuild(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.same("while it is rebuilt", w.hits(full, 0, all), want, all)
	w.indexed(full)
	w.same("after the rebuild", w.hits(full, 0, all), want, all)
	w.same("after the rebuild, as of the middle", w.hits(full, int64(half), all), early, all)

	other := newWorkspace(t)
	other.write(1, entries[:40]...)
	other.write(333, entries[40:]...)
	otherIndex := other.openIndex()
	e := other.bounded(otherIndex)
	other.run(e)
	other.indexed(e)
	w.same("other batches", other.hits(e, 0, all), want, all)
	if err := otherIndex.Close(); err != nil {
		t.Fatal(err)
	}
	w.same("an index that was closed", other.hits(e, 0, all), want, all)
	if err := os.RemoveAll(other.indexDir()); err != nil {
		t.Fatal(err)
	}
	w.same("an empty index", other.hits(other.bounded(other.openIndex()), 0, all), want, all)
}

// TestHitsWhileTheIndexIsReplaced searches while the index is thrown away again
// and again.
func TestHitsWhileTheIndexIsReplaced(t *testing.T) {
	t.Parallel()
	entries := corpus(3, 600)
	all := queries(entries, 4, 20)
	w := newWorkspace(t)
	w.write(200, entries...)
	want := w.hits(w.bounded(nil), 0, all)
	ix := w.openIndex()
	e := w.bounded(ix)
	w.run(e)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 5 {
			if err := e.Rebuild(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		w.same("while the index is replaced", w.hits(e, 0, all), want, all)
	}
}

func TestNewestVersionCounts(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(1,
		turn("c1", 1, "the zebra sleeps"), trio("c1", "about a zebra"),
		turn("c1", 1, "the giraffe sleeps"), trio("c1", "about a giraffe"),
	)
	e := w.engine(nil)
	for _, c := range []struct {
		seq  int64
		text string
		want int64 // sequence of the only hit; 0 if there is none
		kind string
	}{
		{0, "zebra", 0, "turn"}, {0, "giraffe", 3, "turn"}, {0, "zebra", 0, "trio"}, {0, "giraffe", 4, "trio"},
		{2, "zebra", 1, "turn"}, {2, "giraffe", 0, "turn"}, {2, "zebra", 2, "trio"},
		{3, "zebra", 2, "trio"}, {3, "zebra", 0, "turn"}, {3, "sleeps", 3, "turn"},
	} {
		r := w.search(e, c.seq, retrieval.Query{Text: c.text, Kinds: []string{c.kind}})
		got := int64(0)
		if len(r.Hits) == 1 {
			got = r.Hits[0].Seq
		}
		if got != c.want || len(r.Hits) > 1 || r.Total != len(r.Hits) {
			t.Errorf("%s %q as of %d: %+v, want sequence %d", c.kind, c.text, c.seq, r.Hits, c.want)
		}
	}
}

// TestWhatWasKnownBeforeAWrite searches between writes with one engine, now and
// as of earlier sequences, and compares with engines that know nothing yet.
func TestWhatWasKnownBeforeAWrite(t *testing.T) {
	t.Parallel()
	entries := corpus(15, 400)
	all := queries(entries, 16, 12)
	w := newWorkspace(t)
	e := w.engine(nil)
	for at := 0; at < len(entries); at += 20 {
		w.write(20, entries[at:at+20]...)
		w.same("now", w.hits(e, 0, all), w.hits(w.engine(nil), 0, all), all)
		if past := int64(at/2 + 1); at%60 == 0 {
			w.same("in the past", w.hits(e, past, all), w.hits(w.engine(nil), past, all), all)
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	entries := corpus(5, 400)
	w := newWorkspace(t)
	w.write(400, entries...)
	e := w.engine(nil)
	q := queries(entries, 6, 1)[0]
	q.Kinds, q.Exclude, q.Offset, q.Limit = nil, nil, 0, 1000
	whole := w.search(e, 0, q)
	if whole.Total != len(whole.Hits) || whole.Total < 10 {
		t.Fatalf("%d of %d hits", len(whole.Hits), whole.Total)
	}
	seen := make(map[string]bool)
	for i, h := range whole.Hits {
		if seen[h.Conversation] {
			t.Errorf("conversation %s comes twice", h.Conversation)
		}
		seen[h.Conversation] = true
		if i > 0 && h.Score > whole.Hits[i-1].Score {
			t.Errorf("hit %d scores more than the one before", i)
		}
		if h.Score < 0 || h.Score > 1 || h.Coverage < 0 || h.Coverage > 1 {
			t.Errorf("hit %d: score %v, coverage %v", i, h.Score, h.Coverage)
		}
	}
	q.Limit = 3
	var paged []retrieval.Hit
	for q.Offset = 0; ; q.Offset += 3 {
		r := w.search(e, 0, q)
		if r.Total != whole.Total {
			t.Fatalf("total %d at offset %d, %d before", r.Total, q.Offset, whole.Total)
		}
		if len(r.Hits) == 0 {
			break
		}
		paged = append(paged, r.Hits...)
	}
	if !reflect.DeepEqual(paged, whole.Hits) {
		t.Error("the pages are not the whole")
	}
	for _, kind := range []string{"turn", "output", "trio"} {
		for _, h := range w.search(e, 0, retrieval.Query{Text: q.Text, Kinds: []string{kind}}).Hits {
			if h.Kind != kind {
				t.Errorf("a %s among the %ss", h.Kind, kind)
			}
		}
	}
	gone := whole.Hits[0].Conversation
	q.Offset, q.Exclude = 0, func(id string) bool { return id == gone }
	if first := w.search(e, 0, q).Hits[0].Conversation; first != whole.Hits[1].Conversation {
		t.Errorf("without %s, %s comes first, not %s", gone, first, whole.Hits[1].Conversation)
	}
}

// TestH16_PartsOfAScore lets records differ in one thing each.
func TestH16_PartsOfAScore(t *testing.T) {
	t.Parallel()
	with := func(e entry, entities layers.Entities) entry { e.entities = entities; return e }
	w := newWorkspace(t)
	w.write(10,
		turn("c1", 1, "parser walrus"),
		with(turn("c2", 1, "parser walrus"), layers.Entities{Files: []string{"a/b.go"}}),
		with(turn("c3", 1, "parser walrus"), layers.Entities{Errors: []string{"boom at line"}}),
		turn("c4", 1, "parser walrus"),
		with(turn("c5", 1, "unrelated words"), layers.Entities{Files: []string{"A/b.go"}}),
	)
	e := w.engine(nil)
	order := func(q retrieval.Query) string {
		q.Kinds = []string{"turn"}
		var ids []string
		for _, h := range w.search(e, 0, q).Hits {
			ids = append(ids, h.Conversation)
		}
		return strings.Join(ids, " ")
	}
	for _, c := range []struct {
		name  string
		query retrieval.Query
		want  string
	}{
		{"the newest first", retrieval.Query{Text: "walrus"}, "c4 c3 c2 c1"},
		{"a shared file", retrieval.Query{Text: "walrus", Entities: layers.Entities{Files: []string{"./a/b.go"}}}, "c2 c4 c3 c1 c5"},
		{"a shared error", retrieval.Query{Text: "walrus", Entities: layers.Entities{Errors: []string{"Boom at line"}}}, "c3 c4 c2 c1"},
		{"a file alone", retrieval.Query{Entities: layers.Entities{Files: []string{"a/b.go"}}}, "c5 c2"},
		{"visits", retrieval.Query{Text: "walrus", Visits: func(id string) int { return map[string]int{"c1": 9}[id] }}, "c1 c4 c3 c2"},
	} {
		if got := order(c.query); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAgeFromNow(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(10, turn("c1", 1, "walrus one"), turn("c2", 1, "walrus two"))
	times := map[string]int64{"c1": 2_000_000_000, "c2": 1_000_000_000}
	e := retrieval.New(retrieval.Options{Store: w.store, Time: func(r record) (int64, bool) { return times[r.Parent], true }})
	if h := w.search(e, 0, retrieval.Query{Text: "walrus", Now: 2_000_000_000}).Hits; h[0].Conversation != "c1" || h[0].Parts.Temporal != 1 {
		t.Errorf("by time: %+v", h)
	}
	if h := w.search(e, 0, retrieval.Query{Text: "walrus"}).Hits; h[0].Conversation != "c2" {
		t.Errorf("by sequence: %+v", h)
	}
}

func TestX8_Limits(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(10, turn("c1", 1, "walrus w1 w2"))
	e := w.engine(nil)
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "x%dy ", i)
	}
	for _, text := range []string{strings.Repeat("walrus ", 1200), many.String()} {
		if _, err := w.trySearch(e, 0, retrieval.Query{Text: text}); !errors.Is(err, retrieval.ErrQueryTooComplex) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
		if _, err := w.trySearch(e, 0, retrieval.Query{Text: "walrus " + text, Clip: true}); err != nil {
			t.Errorf("%d bytes, clipped: %v", len(text), err)
		}
	}
	if r := w.search(e, 0, retrieval.Query{Text: "walrus " + many.String(), Clip: true}); len(r.Hits) != 1 {
		t.Errorf("clipped: %+v", r)
	}
	for _, q := range []retrieval.Query{{}, {Text: "the of and"}, {Text: "nowhere"}, {Text: "walrus", Limit: -1, Offset: -5}} {
		r := w.search(e, 0, q)
		if want := q.Limit == -1; (len(r.Hits) > 0) != want {
			t.Errorf("%q: %d hits", q.Text, len(r.Hits))
		}
	}
	snapshot, err := w.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w.write(500, corpus(9, 600)...)
	later, err := w.store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer later.Release()
	if _, err := e.Search(ctx, later.View(), retrieval.Query{Text: "walrus"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestSearchWithinAWrite: what a search has to count first it can store only when
// the write that it is part of has ended; it does not wait for that.
func TestSearchWithinAWrite(t *testing.T) {
	w := newWorkspace(t)
	entries := corpus(11, 1500)
	w.write(100, entries...)
	e := w.engine(w.openIndex()) // has counted nothing yet
	q := queries(entries, 11, 1)[0]
	_, err := w.store.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
		_, err := e.Search(t.Context(), tx.View(), q)
		return nil, err
	})
	if err != nil {
		t.Error(err)
	}
}
