package retrieval

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"hexapla/layers/terms"
	"hexapla/storage"
)

// tableCache keeps the tables that were used last, and one counting at a time.
type tableCache struct {
	mu     sync.Mutex
	recent []cachedTable // newest first
	making map[int]*making
}

type cachedTable struct {
	number int
	table  *table
}

// making is a table that is being counted; err and table are set before done is
// closed.
type making struct {
	done  chan struct{} // the table is there, or the error
	kept  chan struct{} // and it was stored, or could not be
	table *table
	err   error
}

// keptTables is how many tables stay in memory: the present one, the next, and
// one of the past.
const keptTables = 3

func (c *tableCache) get(number int) *table {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, t := range c.recent {
		if t.number == number {
			copy(c.recent[1:i+1], c.recent[:i])
			c.recent[0] = t
			return t.table
		}
	}
	return nil
}

// put must be called with mu held.
func (c *tableCache) put(number int, t *table) {
	c.recent = append([]cachedTable{{number, t}}, c.recent[:min(len(c.recent), keptTables-1)]...)
}

func (c *tableCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent = nil
}

func tableName(number int) string { return "retrieval/df/" + strconv.Itoa(number) }

// statistics returns the frequencies with which a view is scored.
func (e *Engine) statistics(ctx context.Context, view storage.View) (*table, error) {
	if err := e.ledger.advance(ctx, view, e.heads.note); err != nil {
		return nil, err
	}
	number, seq := e.ledger.boundary(view.Seq())
	if number < 0 {
		return count(ctx, view.Scan, view.Seq())
	}
	return e.table(ctx, number, seq)
}

// table returns the table of a boundary: from memory, from the store, or newly
// counted. Counting goes on when ctx ends, so that the next search has it.
func (e *Engine) table(ctx context.Context, number int, seq int64) (*table, error) {
	if t := e.tables.get(number); t != nil {
		return t, nil
	}
	m := e.startTable(number, seq)
	select {
	case <-m.done:
		return m.table, m.err
	case <-ctx.Done():
		return nil, fmt.Errorf("count frequencies: %w", ctx.Err())
	}
}

// startTable begins to make a table, unless that is going on already.
func (e *Engine) startTable(number int, seq int64) *making {
	c := &e.tables
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, busy := c.making[number]; busy {
		return m
	}
	m := &making{done: make(chan struct{}), kept: make(chan struct{})}
	if c.making == nil {
		c.making = make(map[int]*making)
	}
	c.making[number] = m
	go func() {
		defer close(m.kept)
		var stored bool
		m.table, stored, m.err = e.loadOrCount(number, seq)
		c.mu.Lock()
		if m.err == nil {
			c.put(number, m.table)
		}
		c.mu.Unlock()
		// Whoever searches may be in the midst of a write, for which storing waits.
		close(m.done)
		if m.err == nil && !stored {
			if err := e.putTable(tableName(number), m.table.encode()); err != nil {
				e.options.Logf("retrieval: store frequencies: %v", err) // they can be counted again
			}
		}
		c.mu.Lock()
		delete(c.making, number)
		c.mu.Unlock()
	}()
	return m
}

// settle waits until no table is being made or stored.
func (c *tableCache) settle(ctx context.Context) error {
	c.mu.Lock()
	var busy []*making
	for _, m := range c.making {
		busy = append(busy, m)
	}
	c.mu.Unlock()
	for _, m := range busy {
		select {
		case <-m.kept:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// loadOrCount returns a table from the store, or newly counted.
func (e *Engine) loadOrCount(number int, seq int64) (t *table, stored bool, err error) {
	snapshot, err := e.store.Snapshot()
	if err != nil {
		return nil, false, fmt.Errorf("count frequencies: %w", err)
	}
	data, ok := snapshot.View().Table(tableName(number))
	snapshot.Release()
	if ok {
		if t, ok := decodeTable(data); ok && t.seq == seq {
			return t, true, nil
		}
	}
	// It takes up to a second: not in one snapshot, which would keep the store
	// from using its free pages.
	t, err = count(context.Background(), func(from, to int64, fn func(storage.Record, []byte) error) error {
		return e.store.Scan(context.Background(), from, to, fn)
	}, seq)
	return t, false, err
}

// scanner is View.Scan or the like.
type scanner func(from, to int64, fn func(storage.Record, []byte) error) error

// count makes a table of all documents up to a sequence.
func count(ctx context.Context, scan scanner, seq int64) (*table, error) {
	c := newCounter()
	var names []uint64
	n := 0
	err := scan(0, seq, func(r storage.Record, encoded []byte) error {
		if n++; n%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if len(encoded) == 0 {
			return nil
		}
		names = names[:0]
		length, err := terms.Length(encoded)
		if err == nil {
			err = terms.Names(encoded, func(name []byte, entity bool) { names = append(names, nameHash(name, entity)) })
		}
		if err != nil {
			length, names = 0, names[:0] // a record that cannot be read still has its ordinal
		}
		c.add(r.Kind, length, names)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count frequencies: %w", err)
	}
	return c.finish(seq), nil
}
