package retrieval

import (
	"strings"
	"sync"

	"hexapla/storage"
)

// head is what ranking needs of a record besides its terms.
type head struct {
	kind, id, parent string
	time             int64 // Unix milliseconds; 0 if unknown
}

// headCache keeps heads, which never change, so that ranking 2,000 candidates
// does not read 2,000 bodies. It holds at most two generations.
type headCache struct {
	mu       sync.Mutex
	young    map[int64]head
	old      map[int64]head
	interned map[string]string // kinds
}

// headGeneration is how many heads a generation holds; one takes about 100
// bytes.
const headGeneration = 1 << 16

func (c *headCache) get(seq int64) (head, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h, ok := c.young[seq]; ok {
		return h, true
	}
	h, ok := c.old[seq]
	if ok {
		c.put(seq, h)
	}
	return h, ok
}

// put must be called with mu held.
func (c *headCache) put(seq int64, h head) {
	if c.young == nil || len(c.young) >= headGeneration {
		c.old, c.young = c.young, make(map[int64]head)
	}
	c.young[seq] = h
}

// clear forgets everything.
func (c *headCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = nil, nil
}

// add makes a head of a record and keeps it.
func (c *headCache) add(r storage.Record, clock func(storage.Record) (int64, bool)) head {
	h := head{kind: r.Kind, id: r.ID, parent: r.Parent}
	if strings.HasPrefix(r.ID, r.Parent) {
		h.parent = h.id[:len(r.Parent)] // shares the bytes
	}
	if clock != nil {
		if t, ok := clock(r); ok {
			h.time = t
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.interned == nil {
		c.interned = make(map[string]string)
	}
	if kind, ok := c.interned[h.kind]; ok {
		h.kind = kind
	} else if len(c.interned) < 64 {
		c.interned[h.kind] = h.kind
	}
	c.put(r.Seq, h)
	return h
}

// head returns the head of the record with the given sequence.
func (e *Engine) head(view storage.View, seq int64) (head, error) {
	if h, ok := e.heads.get(seq); ok {
		return h, nil
	}
	r, err := view.Get(seq)
	if err != nil {
		return head{}, err
	}
	return e.heads.add(r, e.options.Time), nil
}
