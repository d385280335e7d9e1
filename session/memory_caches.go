package session

import (
	"errors"
	"fmt"
	"sync"

	"hexapla/storage"
)

// What is kept of agents' memories in the process. All of it follows from records,
// which do not change; forgetting and rescrubbing begin with a Workspace without
// caches. What a write sees of writes that are not on disk yet is never kept: if
// those fail, other records take their sequences.

// tiersKey names what is kept of an agent's tiers: those of now, and those of when
// the window moved.
type tiersKey struct {
	agent string
	then  bool
}

// tiersAt is tiersOf for readers of what is on disk, and keeps what it reads: what
// it returns must not change.
func (ws *Workspace) tiersAt(v storage.View, agent string, then bool) (*tiers, error) {
	key, t, err := tiersKey{agent, then}, (*tiers)(nil), error(nil)
	switch known, ok := ws.agents.get(key); {
	case ok && known.length == v.ListLen(listOfTiers(agent)):
		return known, v.Err()
	case ok && known.length < v.ListLen(listOfTiers(agent)):
		t, err = tiersFrom(v, known.clone())
	default:
		t, err = tiersOf(v, agent)
	}
	if err == nil {
		ws.agents.put(key, t)
	}
	return t, err
}

// tiersIn is tiersOf for a write, which may change what it returns.
func (ws *Workspace) tiersIn(v storage.View, agent string) (*tiers, error) {
	if known, ok := ws.agents.get(tiersKey{agent: agent}); ok && known.length <= v.ListLen(listOfTiers(agent)) {
		return tiersFrom(v, known.clone())
	}
	return tiersOf(v, agent)
}

// keepTiers keeps what a write made of an agent's tiers, once it is on disk.
func (ws *Workspace) keepTiers(t *tiers, receipt storage.Receipt, err error) {
	if err == nil && !receipt.Repeated && t != nil && t.length > 0 {
		ws.agents.put(tiersKey{agent: t.agent}, t)
	}
}

// itemOf reads the content of an item as a view's tiers name it; false if it was
// forgotten.
func itemOf(v storage.View, e *tierEntry) (body itemRecord, ok bool, err error) {
	record, err := v.Get(e.Seq)
	if errors.Is(err, storage.ErrErased) || errors.Is(err, storage.ErrNotFound) {
		return body, false, nil
	}
	if err == nil {
		body, err = read[itemRecord](record)
	}
	if err != nil {
		return body, false, fmt.Errorf("item: %w", err)
	}
	return body, record.Kind == kindItem && record.ID == e.ID && !body.Removed, nil
}

// readItem is itemOf, itemAt or itemIn.
type readItem func(storage.View, *tierEntry) (itemRecord, bool, error)

// itemAt is itemOf for readers of what is on disk, and keeps what it reads.
func (ws *Workspace) itemAt(v storage.View, e *tierEntry) (itemRecord, bool, error) {
	if body, ok := ws.items.get(e); ok {
		return body, true, nil
	}
	body, ok, err := itemOf(v, e)
	if err == nil && ok {
		ws.items.put(e, body)
	}
	return body, ok, err
}

// itemIn is itemOf for a write.
func (ws *Workspace) itemIn(v storage.View, e *tierEntry) (itemRecord, bool, error) {
	if body, ok := ws.items.get(e); ok {
		return body, true, nil
	}
	return itemOf(v, e)
}

// maxItemCache bounds the bytes of contents that a workspace keeps of items: of ten
// thousand items of 500 bytes, all.
const maxItemCache = 8 << 20

// itemCache keeps items by the sequence of their records. The zero value is ready.
type itemCache struct {
	mu    sync.RWMutex
	items map[int64]keptItem
	bytes int
}

type keptItem struct {
	id   string
	body itemRecord
}

func (c *itemCache) get(e *tierEntry) (itemRecord, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	kept, ok := c.items[e.Seq]
	return kept.body, ok && kept.id == e.ID
}

// put keeps an item. A full cache is emptied.
func (c *itemCache) put(e *tierEntry, body itemRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	const beside = 200 // of an item, about
	size := len(body.Content) + beside
	if c.items == nil || c.bytes+size > maxItemCache {
		c.items, c.bytes = map[int64]keptItem{}, 0
	}
	c.items[e.Seq] = keptItem{e.ID, body}
	c.bytes += size
}
