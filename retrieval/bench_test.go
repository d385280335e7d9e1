package retrieval_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"hexapla/retrieval"
)

// BenchmarkSearch measures searches over 1,000, 10,000 and 100,000 records with
// a full index, after how long the index was full, and the median and the 99th
// percentile of a search.
func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			entries := corpus(20, n)
			w := newWorkspace(b)
			w.write(1000, entries...)
			e := w.engine(w.openIndex())
			begin := time.Now()
			w.run(e)
			w.indexed(e)
			rate := float64(n) / time.Since(begin).Seconds()
			all := queries(entries, 21, 500)
			snapshot, err := w.store.Snapshot()
			if err != nil {
				b.Fatal(err)
			}
			defer snapshot.Release()
			var took []time.Duration
			i := 0
			for b.Loop() {
				at := time.Now()
				if _, err := e.Search(context.Background(), snapshot.View(), all[i%len(all)]); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(at))
				i++
			}
			slices.Sort(took)
			ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
			b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
			b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
			b.ReportMetric(rate, "indexed/s")
		})
	}
}

// BenchmarkSearchWithoutIndex scans 20,000 records.
func BenchmarkSearchWithoutIndex(b *testing.B) {
	entries := corpus(20, 20_000)
	w := newWorkspace(b)
	w.write(1000, entries...)
	e := w.engine(nil)
	all := queries(entries, 21, 50)
	i := 0
	for b.Loop() {
		w.search(e, 0, all[i%len(all)])
		i++
	}
}

// BenchmarkVisible measures the time from a commit until the index has the
// record.
func BenchmarkVisible(b *testing.B) {
	w := newWorkspace(b)
	w.write(1000, corpus(20, 5_000)...)
	ix := w.openIndex()
	e := retrieval.New(retrieval.Options{Store: w.store, Index: ix})
	w.run(e)
	w.indexed(e)
	n := 0
	for b.Loop() {
		n++
		w.write(1, turn("c999999", n, "something new"))
		for ix.Watermark() < w.store.Seq() {
			time.Sleep(100 * time.Microsecond)
		}
	}
}
