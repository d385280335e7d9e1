package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"hexapla/index"

	"pgregory.net/rapid"
)

const uuid = "5f0c"

func options(dir string, t testing.TB) index.Options {
	return index.Options{Dir: dir, StoreUUID: uuid, Timeout: 100 * time.Millisecond, Logf: t.Logf}
}

func open(t testing.TB, opts index.Options) *index.Index {
	t.Helper()
	ix, err := index.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ix.Close() })
	return ix
}

func apply(t testing.TB, ix *index.Index, watermark int64, docs ...index.Doc) {
	t.Helper()
	if err := ix.Apply(context.Background(), docs, 0, watermark); err != nil {
		t.Fatal(err)
	}
}

func candidates(t testing.TB, ix *index.Index, maxSeq int64, limit int, terms ...string) []int64 {
	t.Helper()
	got, err := ix.Candidates(context.Background(), terms, maxSeq, limit)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// numbered makes documents 1 to n: each holds "all", "even" or "odd", and its
// own number.
func numbered(n int) []index.Doc {
	docs := make([]index.Doc, n)
	for i := range docs {
		parity := [...]string{"odd", "even"}[i%2]
		docs[i] = index.Doc{Seq: int64(i + 1), Kind: "turn", Terms: []string{"all", parity, fmt.Sprintf("n%d", i+1)}}
	}
	return docs
}

func TestCandidates(t *testing.T) {
	t.Parallel()
	ix := open(t, options(t.TempDir(), t))
	if w := ix.Watermark(); w != 0 {
		t.Fatalf("a fresh index has watermark %d", w)
	}
	apply(t, ix, 6, numbered(6)...)
	apply(t, ix, 20, index.Doc{Seq: 15, Kind: "trio", Terms: []string{"all", "\x01file:é.go"}})
	for _, c := range []struct {
		name   string
		maxSeq int64
		limit  int
		terms  []string
		want   []int64
	}{
		{"newest first", 20, 10, []string{"all"}, []int64{15, 6, 5, 4, 3, 2, 1}},
		{"the newest when there are more", 20, 3, []string{"all"}, []int64{15, 6, 5}},
		{"as of a sequence", 5, 2, []string{"all"}, []int64{5, 4}},
		{"any of the terms, each once", 20, 10, []string{"even", "n3", "n4"}, []int64{6, 4, 3, 2}},
		{"several terms and a limit", 20, 2, []string{"even", "n3", "n4"}, []int64{6, 4}},
		{"no such term", 20, 10, []string{"none"}, nil},
		{"bytes of any kind", 20, 10, []string{"\x01file:é.go"}, []int64{15}},
		{"no terms", 20, 10, nil, nil},
		{"no room", 20, 0, []string{"all"}, nil},
	} {
		if got := candidates(t, ix, c.maxSeq, c.limit, c.terms...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if _, err := ix.Candidates(context.Background(), []string{"all"}, 21, 10); !errors.Is(err, index.ErrBehind) {
		t.Errorf("above the watermark: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ix.Candidates(ctx, []string{"all"}, 20, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := ix.Err(); err != nil {
		t.Errorf("a cancelled search is no damage: %v", err)
	}
}

// TestAgainstModel applies batches of random sizes, reopens now and then, and
// compares with a map.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	outer := t
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(outer.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		ix, err := index.Open(context.Background(), options(dir, outer))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { ix.Close() }()
		model := make(map[string][]int64)
		seq := int64(0)
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			var docs []index.Doc
			for range rapid.IntRange(0, 20).Draw(t, "documents") {
				seq += rapid.Int64Range(1, 3).Draw(t, "gap")
				terms := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "ab"}), 0, 3, rapid.ID).Draw(t, "terms")
				docs = append(docs, index.Doc{Seq: seq, Kind: "turn", Terms: terms})
				for _, term := range terms {
					model[term] = append(model[term], seq)
				}
			}
			if err := ix.Apply(context.Background(), docs, 0, seq); err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 4).Draw(t, "reopen") == 0 {
				if err := ix.Close(); err != nil {
					t.Fatal(err)
				}
				if ix, err = index.Open(context.Background(), options(dir, outer)); err != nil {
					t.Fatal(err)
				}
				if ix.Watermark() != seq {
					t.Fatalf("watermark %d after a clean close at %d", ix.Watermark(), seq)
				}
			}
			terms := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "ab"}), 1, 3, rapid.ID).Draw(t, "query")
			maxSeq := rapid.Int64Range(0, seq).Draw(t, "as of")
			limit := rapid.IntRange(1, 30).Draw(t, "limit")
			var want []int64
			for _, term := range terms {
				for _, s := range model[term] {
					if s <= maxSeq {
						want = append(want, s)
					}
				}
			}
			slices.Sort(want)
			want = slices.Compact(want)
			slices.Reverse(want)
			want = want[:min(limit, len(want))]
			got, err := ix.Candidates(context.Background(), terms, maxSeq, limit)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v up to %d: got %v, want %v", terms, maxSeq, got, want)
			}
		}
	})
}

func TestApplyTwiceAndOutOfOrder(t *testing.T) {
	t.Parallel()
	ix := open(t, options(t.TempDir(), t))
	docs := numbered(10)
	apply(t, ix, 10, docs...)
	apply(t, ix, 10, docs...)
	apply(t, ix, 12, append(docs[5:], index.Doc{Seq: 11, Terms: []string{"all"}})...)
	if got := ix.Docs(); got != 11 {
		t.Errorf("%d documents", got)
	}
	if got := len(candidates(t, ix, 12, 100, "all")); got != 11 {
		t.Errorf("%d candidates", got)
	}
	if err := ix.Apply(context.Background(), nil, 11, 11); err == nil {
		t.Error("the watermark went back")
	}
	if err := ix.Apply(context.Background(), []index.Doc{{Seq: 14}}, 12, 13); err == nil {
		t.Error("a document above the watermark was taken")
	}
	if err := ix.Apply(context.Background(), nil, 13, 14); !errors.Is(err, index.ErrBehind) {
		t.Errorf("a batch after a gap: %v", err)
	}
	if err := ix.Err(); err != nil {
		t.Errorf("refused batches are no failure: %v", err)
	}
}

func TestX5_LockedIsNotDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ix := open(t, options(dir, t))
	apply(t, ix, 3, numbered(3)...)
	if _, err := index.Open(context.Background(), options(dir, t)); !errors.Is(err, index.ErrLocked) {
		t.Fatalf("second open: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "quarantine")); !errors.Is(err, os.ErrNotExist) {
		t.Error("something was put into quarantine")
	}
	if got := candidates(t, ix, 3, 10, "all"); len(got) != 3 {
		t.Errorf("the first holder sees %v", got)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	ix := open(t, options(t.TempDir(), t))
	for range 2 {
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, searchErr := ix.Candidates(context.Background(), []string{"a"}, 0, 1)
	for _, err := range []error{searchErr, ix.Apply(context.Background(), nil, 0, 1), ix.Reset(context.Background()), ix.Err()} {
		if !errors.Is(err, index.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ix := open(t, options(dir, t))
	apply(t, ix, 3, numbered(3)...)
	if err := ix.Reset(context.Background()); err != nil {
		t.Fatal(err)
	}
	if ix.Watermark() != 0 || ix.Docs() != 0 {
		t.Fatalf("watermark %d, %d documents after Reset", ix.Watermark(), ix.Docs())
	}
	apply(t, ix, 2, numbered(2)...)
	if got := candidates(t, ix, 2, 10, "all"); !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("got %v", got)
	}
}

func TestSearchesBesideBatches(t *testing.T) {
	t.Parallel()
	ix := open(t, options(t.TempDir(), t))
	const total, batch = 2000, 40
	docs := numbered(total)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				at := ix.Watermark()
				got, err := ix.Candidates(context.Background(), []string{"even"}, at, total)
				if err != nil || int64(len(got)) != at/2 {
					t.Errorf("%d of %d at watermark %d: %v", len(got), at/2, at, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := 0; i < total; i += batch {
		apply(t, ix, int64(i+batch), docs[i:i+batch]...)
	}
	close(done)
	readers.Wait()
}

// BenchmarkApply indexes documents of 120 terms each, whose frequencies fall as
// those of a language do.
func BenchmarkApply(b *testing.B) {
	ix := open(b, options(b.TempDir(), b))
	words := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 10, 50_000)
	docs := make([]index.Doc, 500)
	for i := range docs {
		seen := make(map[uint64]bool)
		for len(seen) < 120 {
			if w := words.Uint64(); !seen[w] {
				seen[w] = true
				docs[i].Terms = append(docs[i].Terms, fmt.Sprintf("w%d", w))
			}
		}
	}
	seq := int64(0)
	for b.Loop() {
		for i := range docs {
			seq++
			docs[i].Seq = seq
		}
		apply(b, ix, seq, docs...)
	}
	b.ReportMetric(float64(seq)/b.Elapsed().Seconds(), "docs/s")
}
