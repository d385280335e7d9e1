package tokens

import (
	"crypto/sha256"
	"sync"

	"hexapla/layers"
)

const (
	// cacheFrom is the shortest text, in bytes, whose count is remembered: below
	// it counting costs no more than hashing.
	cacheFrom = 128
	// cacheTexts bounds the number of remembered counts of a Registry, at about
	// 100 bytes each.
	cacheTexts = 16384
)

// Cached returns c with the counts of texts of 128 bytes and more remembered by
// the sha256 of the text, the least recently used of 16,384 being forgotten.
// All counters of one encoding, exact or estimated, share what is remembered.
// A counter that is not from this package is returned as it is: its name says
// too little to keep its counts apart from another's.
func (r *Registry) Cached(c layers.Counter) layers.Counter {
	if _, ok := c.(*cachedCount); ok {
		return c
	}
	e := encodingOf(c)
	if e == nil {
		return c
	}
	return &cachedCount{base: c, encoding200k: e.name == O200k, cache: &r.cache}
}

type cachedCount struct {
	base         layers.Counter
	encoding200k bool
	cache        *countCache
}

func (c *cachedCount) Name() string           { return c.base.Name() }
func (c *cachedCount) Estimate() bool         { return c.base.Estimate() }
func (c *cachedCount) Factor() (num, den int) { return Factor(c.base) }

func (c *cachedCount) Count(s string) int {
	if len(s) < cacheFrom {
		return c.base.Count(s)
	}
	key := countKey{sum: sha256.Sum256([]byte(s)), o200k: c.encoding200k}
	if n, ok := c.cache.get(key); ok {
		return n
	}
	n := c.base.Count(s)
	c.cache.put(key, n)
	return n
}

type countKey struct {
	sum   [sha256.Size]byte
	o200k bool
}

// countCache is a bounded map that forgets the least recently used. The zero
// value is empty and ready. Entries lie in one slice, linked by their indices in
// the order of use; index 0 is the ring's head and no entry.
type countCache struct {
	mu      sync.Mutex
	at      map[countKey]int32
	entries []countEntry
}

type countEntry struct {
	key          countKey
	count        int
	newer, older int32
}

func (c *countCache) get(key countKey) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.at[key]
	if !ok {
		return 0, false
	}
	c.unlink(i)
	c.link(i)
	return c.entries[i].count, true
}

func (c *countCache) put(key countKey, count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil {
		c.at = make(map[countKey]int32)
		c.entries = make([]countEntry, 1, 64)
	}
	i, ok := c.at[key]
	switch {
	case ok:
		c.unlink(i)
	case len(c.entries) <= cacheTexts:
		i = int32(len(c.entries))
		c.entries = append(c.entries, countEntry{})
	default:
		i = c.entries[0].newer // the ring's oldest, see link
		c.unlink(i)
		delete(c.at, c.entries[i].key)
	}
	c.entries[i].key, c.entries[i].count = key, count
	c.at[key] = i
	c.link(i)
}

// link makes entry i the newest: the ring runs from the head (0) over older to
// the newest entry first, and over newer to the oldest first.
func (c *countCache) link(i int32) {
	first := c.entries[0].older
	c.entries[i].newer, c.entries[i].older = 0, first
	c.entries[first].newer = i
	c.entries[0].older = i
}

func (c *countCache) unlink(i int32) {
	e := &c.entries[i]
	c.entries[e.newer].older = e.older
	c.entries[e.older].newer = e.newer
}
