package rpc

import (
	"math"
	"sync/atomic"
	"time"

	"hexapla/rpc/wire"
)

// Four buckets to a doubling, from 1 µs to about an hour: a percentile is at
// most 19 % above the true one.
const (
	latencyBuckets = 128
	perDoubling    = 4
)

// histogram counts durations; safe for concurrent use, of fixed size.
type histogram struct {
	count   atomic.Int64
	buckets [latencyBuckets]atomic.Int64
}

func (h *histogram) add(d time.Duration) {
	bucket := 0
	if us := float64(d) / float64(time.Microsecond); us > 1 {
		bucket = min(int(math.Ceil(perDoubling*math.Log2(us))), latencyBuckets-1)
	}
	h.buckets[bucket].Add(1)
	h.count.Add(1)
}

// percentile returns the upper bound in milliseconds of the bucket that holds
// the share q of all durations.
func (h *histogram) percentile(q float64) float64 {
	var total int64
	var counts [latencyBuckets]int64
	for i := range h.buckets {
		counts[i] = h.buckets[i].Load()
		total += counts[i]
	}
	rank, seen := int64(math.Ceil(q*float64(total))), int64(0)
	for i, n := range counts {
		if seen += n; n > 0 && seen >= rank {
			us := math.Exp2(float64(i) / perDoubling)
			return math.Round(us) / 1000
		}
	}
	return 0
}

func (h *histogram) summary(method string) wire.Latency {
	return wire.Latency{
		Method: method,
		Count:  h.count.Load(),
		P50Ms:  h.percentile(0.50),
		P95Ms:  h.percentile(0.95),
		P99Ms:  h.percentile(0.99),
	}
}
