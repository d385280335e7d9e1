package storage_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hexapla/storage"
)

// benchBody is the size of the bodies that benchmarks write, in bytes.
const benchBody = 4 << 10

// bodies returns a function that gives bodies that differ and do not compress.
func bodies() func() []byte {
	random := rand.NewChaCha8([32]byte{1})
	return func() []byte {
		body := make([]byte, benchBody)
		random.Read(body) // never fails
		return body
	}
}

// benchDraft is one record as a turn of a conversation is one.
func benchDraft(i int, body []byte) storage.Draft {
	return storage.Draft{Kind: "turn", ID: fmt.Sprint("t", i), Parent: "c1", Body: body, Lists: []string{"turns"}}
}

// putFrom writes records from <= i < to with several writers side by side.
func putFrom(b *testing.B, s *storage.Store, from, to, writers int) {
	b.Helper()
	var next atomic.Int64
	next.Store(int64(from))
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			body := bodies()
			for i := int(next.Add(1)) - 1; i < to; i = int(next.Add(1)) - 1 {
				d := benchDraft(i, body())
				if _, err := s.Write(context.Background(), storage.Op{}, putting(d)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// quantile of durations, which it sorts, in milliseconds.
func quantile(durations []time.Duration, q float64) float64 {
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	at := min(len(durations)-1, int(q*float64(len(durations))))
	return float64(durations[at].Nanoseconds()) / 1e6
}

// BenchmarkWrite is one writer, one record of 4 KiB a write. In turn with it, two
// bare writes of 4 KiB are synced in the same folder, in place: what a commit of
// bbolt costs at the least on this disk. TMPDIR says which disk that is.
func BenchmarkWrite(b *testing.B) {
	dir := b.TempDir()
	s := openAt(b, filepath.Join(dir, "store"))
	bare := newBare(b, dir)
	body := bodies()
	putFrom(b, s, 0, 200, 1)
	var writes, bares []time.Duration
	i := 200
	for b.Loop() {
		d := benchDraft(i, body())
		i++
		start := time.Now()
		if _, err := s.Write(context.Background(), storage.Op{}, putting(d)); err != nil {
			b.Fatal(err)
		}
		writes = append(writes, time.Since(start))
		b.StopTimer()
		bares = append(bares, bare.twice(b, d.Body))
		b.StartTimer()
	}
	b.ReportMetric(quantile(writes, 0.5), "p50-ms")
	b.ReportMetric(quantile(writes, 0.99), "p99-ms")
	b.ReportMetric(quantile(bares, 0.5), "bare-p50-ms")
	b.ReportMetric(quantile(bares, 0.99), "bare-p99-ms")
}

// bareFile is a file that is written without a store.
type bareFile struct {
	f  *os.File
	at int64
}

const bareSize = 4 << 20

func newBare(b *testing.B, dir string) *bareFile {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	// Written in full, so that syncs have no sizes or extents to note.
	if _, err := f.Write(make([]byte, bareSize)); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	return &bareFile{f: f}
}

// twice writes and syncs two times, as a commit does for data and meta page.
func (b *bareFile) twice(t testing.TB, body []byte) time.Duration {
	start := time.Now()
	for range 2 {
		if _, err := b.f.WriteAt(body, b.at); err != nil {
			t.Fatal(err)
		}
		if err := syncData(b.f); err != nil {
			t.Fatal(err)
		}
		b.at = (b.at + int64(len(body))) % bareSize
	}
	return time.Since(start)
}

// BenchmarkWriters is 64 writers, one record of 4 KiB a write. They share
// commits.
func BenchmarkWriters(b *testing.B) {
	s := openAt(b, b.TempDir())
	putFrom(b, s, 0, 256, 64)
	b.ResetTimer()
	putFrom(b, s, 256, 256+b.N, 64)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

const benchRecords = 10_000

// BenchmarkGet reads records of 4 KiB by their sequence, at random.
func BenchmarkGet(b *testing.B) {
	s := openAt(b, b.TempDir())
	putFrom(b, s, 0, benchRecords, 64)
	random := rand.New(rand.NewPCG(1, 2))
	viewing(b, s, func(v storage.View) {
		for b.Loop() {
			if _, err := v.Get(1 + random.Int64N(benchRecords)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkScan reads 10,000 records of 4 KiB in order.
func BenchmarkScan(b *testing.B) {
	s := openAt(b, b.TempDir())
	putFrom(b, s, 0, benchRecords, 64)
	b.SetBytes(benchRecords * benchBody)
	for b.Loop() {
		n := 0
		err := s.Scan(context.Background(), 0, benchRecords, func(storage.Record, []byte) error {
			n++
			return nil
		})
		if err != nil || n != benchRecords {
			b.Fatalf("%d records, %v", n, err)
		}
	}
}

// BenchmarkGuard is what Open does to a store's file before bbolt reads it, and
// all of Open, with records of 200 bytes.
func BenchmarkGuard(b *testing.B) {
	for _, records := range []int{benchRecords, 100 * benchRecords} {
		var dir string
		fill := func(b *testing.B) {
			if dir != "" {
				return
			}
			dir = filepath.Join(b.TempDir(), "store")
			s := openAt(b, dir)
			body := bodies()
			for i := 0; i < records; {
				var drafts []storage.Draft
				for range 1000 {
					drafts = append(drafts, benchDraft(i, body()[:200]))
					i++
				}
				write(b, s, drafts...)
			}
			closeStore(b, s)
		}
		b.Run(fmt.Sprint(records), func(b *testing.B) {
			fill(b)
			b.Run("guard", func(b *testing.B) {
				info, err := os.Stat(dataFile(dir))
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := storage.Guard(dataFile(dir)); err != nil {
						b.Fatal(err)
					}
				}
				megabytes := float64(info.Size()) / 1e6
				b.ReportMetric(megabytes, "MB")
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N)/megabytes*100, "ms/100MB")
			})
			b.Run("open", func(b *testing.B) {
				for b.Loop() {
					closeStore(b, openAt(b, dir))
				}
			})
		})
	}
}
