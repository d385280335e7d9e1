package session

import (
	"crypto/sha256"
	"sync"

	"hexapla/layers"
)

type headKey struct {
	session   string
	seq       int64
	room      int
	base      int
	rollup    bool
	summaries bool
	counter   string
	edited    int64
}

type digestKey struct {
	conversation string
	seq          int64
	counter      string
	edited       int64
}

type rosterKey struct {
	session, piece, counter string
	edited                  int64 // sequence of the newest edit, as in all of these
	room, paths             int
	shown                   [sha256.Size]byte
}

// headCache keeps what stands in front of the stream: it changes only when the
// window or a fold moves. The zero value is ready.
type headCache struct {
	heads   bounded[headKey, []layers.Item]
	digests bounded[digestKey, layers.Form]
	rosters bounded[rosterKey, layers.Form]
}

// maxBounded is how many entries a bounded map holds; a full one is emptied.
const maxBounded = 512

// bounded is a map that several goroutines may use and that does not grow for
// ever. The zero value is ready.
type bounded[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]V
}

func (b *bounded[K, V]) get(key K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok := b.entries[key]
	return value, ok
}

func (b *bounded[K, V]) put(key K, value V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries == nil || len(b.entries) >= maxBounded {
		b.entries = map[K]V{}
	}
	b.entries[key] = value
}
