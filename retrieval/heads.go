package retrieval

import (
	"strings"
	"sync"

	"hexapla/storage"
)

// head is what ranking needs of a record besides its terms. It never changes.
type head struct {
	kind, id, parent string
	time             int64 // Unix milliseconds; 0 if unknown
}

// known is what has been found out about a record so far.
type known struct {
	head  head
	alone int64 // it is the newest version of itself in views up to this sequence
	after int64 // there is a newer version in views from this sequence on; 0 if none is known
}

// headCache keeps what is known of records, so that ranking 2,000 candidates
// does not read 2,000 bodies. It holds at most two generations.
type headCache struct {
	mu       sync.Mutex
	young    map[int64]known
	old      map[int64]known
	interned map[string]string // kinds
	recent   versions
}

// headGeneration is how many heads a generation holds; one takes about 120
// bytes.
const headGeneration = 1 << 16

// versions remembers which versions were written between two sequences, so that
// what was known at one sequence can be carried on to a later one.
type versions struct {
	from, to int64
	newest   map[version]int64 // sequences of those written above from, up to to
}

type version struct{ kind, id string }

// maxVersions bounds the memory of versions; when there are more, it begins
// anew.
const maxVersions = 1 << 15

// note takes in a record; they come in the order of their sequences, without
// gaps but possibly again.
func (c *headCache) note(r storage.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &c.recent
	if r.Damaged {
		*v = versions{} // what it is a version of cannot be told
		return
	}
	if v.newest == nil || r.Seq != v.to+1 || len(v.newest) >= maxVersions {
		if r.Seq <= v.to {
			return
		}
		*v = versions{from: r.Seq - 1, newest: make(map[version]int64)}
	}
	v.to = r.Seq
	v.newest[version{r.Kind, r.ID}] = r.Seq
}

// clear forgets everything.
func (c *headCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.recent = nil, nil, versions{}
}

// get returns what is known of a record, and whether it is the newest version
// of itself as of a sequence, if that is known too.
func (c *headCache) get(seq, asOf int64) (h head, newest, certain, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.young[seq]
	if !ok {
		if k, ok = c.old[seq]; !ok {
			return head{}, false, false, false
		}
		c.put(seq, k)
	}
	switch {
	case k.after > 0 && asOf >= k.after:
		return k.head, false, true, true
	case asOf <= k.alone:
		return k.head, true, true, true
	case k.alone >= c.recent.from && asOf <= c.recent.to:
		// What came between then and now is known.
		if c.recent.newest[version{k.head.kind, k.head.id}] <= k.alone {
			k.alone = c.recent.to
			c.put(seq, k)
			return k.head, true, true, true
		}
	}
	return k.head, false, false, true
}

// put must be called with mu held.
func (c *headCache) put(seq int64, k known) {
	if _, ok := c.young[seq]; !ok && (c.young == nil || len(c.young) >= headGeneration) {
		c.old, c.young = c.young, make(map[int64]known)
	}
	c.young[seq] = k
}

// learn keeps a head, and which version is the newest as of a sequence.
func (c *headCache) learn(seq int64, h head, asOf, newest int64) {
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
	k, ok := c.young[seq]
	if !ok {
		k = c.old[seq]
	}
	k.head = h
	if newest == seq {
		k.alone = max(k.alone, asOf)
	} else if k.after == 0 || newest < k.after {
		k.after = newest
	}
	c.put(seq, k)
}

// head returns the head of a record, and whether it is the newest version of
// itself in the view.
func (e *Engine) head(view storage.View, seq int64) (h head, newest bool, err error) {
	h, newest, certain, ok := e.heads.get(seq, view.Seq())
	if certain {
		return h, newest, nil
	}
	if !ok {
		r, err := view.Get(seq)
		if err != nil {
			return head{}, false, err
		}
		h = e.newHead(r)
	}
	latest, ok, err := view.Latest(h.kind, h.id)
	if err != nil || !ok {
		return h, false, err
	}
	e.heads.learn(seq, h, view.Seq(), latest.Seq)
	return h, latest.Seq == seq, nil
}

func (e *Engine) newHead(r storage.Record) head {
	h := head{kind: r.Kind, id: r.ID, parent: r.Parent}
	if strings.HasPrefix(r.ID, r.Parent) {
		h.parent = h.id[:len(r.Parent)] // shares the bytes
	}
	if e.options.Time != nil {
		if t, ok := e.options.Time(r); ok {
			h.time = t
		}
	}
	return h
}
