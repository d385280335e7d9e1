package canonical_test

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/gowebpki/jcs"

	"hexapla/layers/canonical"
)

// BenchmarkAppend encodes about 1 MB and hashes it; "xsha256" is the time of
// both against that of hashing alone (design.md §8: ≤ 3).
func BenchmarkAppend(b *testing.B) {
	list := items()
	buf := appendItems(nil, list)
	b.SetBytes(int64(len(buf)))
	var both, alone []time.Duration
	for b.Loop() {
		start := time.Now()
		buf = appendItems(buf[:0], list)
		sha256.Sum256(buf)
		middle := time.Now()
		sha256.Sum256(buf)
		both, alone = append(both, middle.Sub(start)), append(alone, time.Since(middle))
	}
	slices.Sort(both)
	slices.Sort(alone)
	b.ReportMetric(float64(both[len(both)/2])/float64(alone[len(alone)/2]), "xsha256")
}

func BenchmarkMarshal(b *testing.B) {
	list := items()
	b.SetBytes(int64(len(appendItems(nil, list))))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canonical.Marshal(list); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOracle is encoding/json and jcs, for comparison with BenchmarkMarshal.
func BenchmarkOracle(b *testing.B) {
	list := items()
	b.SetBytes(int64(len(appendItems(nil, list))))
	for b.Loop() {
		plain, err := json.Marshal(list)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := jcs.Transform(plain); err != nil {
			b.Fatal(err)
		}
	}
}
