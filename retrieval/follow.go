package retrieval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hexapla/index"
	"hexapla/layers/terms"
	"hexapla/storage"
)

// How Run feeds the index.
const (
	coalesce    = 5 * time.Millisecond // waits for what is written together with the first change
	batchSpan   = 500                  // sequences of a batch
	maxFailures = 3                    // in a row, after which the index is given up
)

// Run follows the store until ctx ends: it brings every new record into the
// index, in batches of up to 500, and counts frequencies ahead of their use. A
// record can be found through the index some milliseconds after its commit; it
// can be found by scanning at once. When the index cannot be written, Run tries
// again after a pause, and gives it up after three failures: searches then go
// on without it and say that they are degraded. A damaged index is replaced and
// built anew. Run returns ctx's error.
func (e *Engine) Run(ctx context.Context) error {
	defer func() {
		// The caller may close the store next.
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), searchTimeout)
		defer cancel()
		_ = e.tables.settle(wait) // else counting ends with an error of the store
	}()
	failures := 0
	for {
		changed := e.store.Changed()
		ix := e.currentIndex()
		err := e.catchUp(ctx, ix)
		if err != nil && e.currentIndex() != ix {
			continue // it rests, or another took its place
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			failures = 0
		default:
			failures++
			e.failures.Add(1)
			e.options.Logf("retrieval: feed the index: %v", err)
			if failures == maxFailures {
				e.giveUp()
				failures = 0
				continue
			}
			if err := pause(ctx, e.options.Retry<<(failures-1)); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-e.kick:
		case <-changed:
			if err := pause(ctx, coalesce); err != nil {
				return err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (e *Engine) currentIndex() *index.Index {
	e.indexMu.RLock()
	defer e.indexMu.RUnlock()
	return e.index
}

// giveUp closes the index for the session.
func (e *Engine) giveUp() {
	e.indexMu.Lock()
	ix := e.index
	e.index = nil
	e.indexMu.Unlock()
	if ix == nil {
		return
	}
	e.options.Logf("retrieval: the index is given up until the next start; search goes on without it")
	if err := ix.Close(); err != nil {
		e.options.Logf("retrieval: %v", err)
	}
}

// catchUp brings index, ledger and tables up to the store.
func (e *Engine) catchUp(ctx context.Context, ix *index.Index) error {
	if ix != nil {
		if err := ix.Err(); errors.Is(err, index.ErrDamaged) {
			e.failures.Add(1)
			if err := ix.Reset(ctx); err != nil {
				return err
			}
		}
		if ix.Watermark() > e.store.Seq() {
			// The index knows a future that the store does not: an older copy
			// of the store has been put back.
			if err := ix.Reset(ctx); err != nil {
				return err
			}
		}
		for ix.Watermark() < e.store.Seq() {
			// It may have been reset since: then it goes on from where it is.
			if err := e.applyNext(ctx, ix); err != nil && !errors.Is(err, index.ErrBehind) {
				return err
			}
		}
	}
	return e.countAhead(ctx)
}

// applyNext feeds one batch to the index.
func (e *Engine) applyNext(ctx context.Context, ix *index.Index) error {
	snapshot, err := e.store.Snapshot()
	if err != nil {
		return err
	}
	view := snapshot.View()
	from := ix.Watermark()
	to := min(from+batchSpan, view.Seq())
	var docs []index.Doc
	err = view.Scan(from, to, func(r storage.Record, encoded []byte) error {
		if len(encoded) == 0 {
			return nil
		}
		doc := index.Doc{Seq: r.Seq, Kind: r.Kind}
		err := terms.Names(encoded, func(name []byte, entity bool) {
			if entity {
				doc.Terms = append(doc.Terms, entityMark+string(name))
			} else {
				doc.Terms = append(doc.Terms, string(name))
			}
		})
		if err == nil { // one that cannot be read cannot be matched either
			docs = append(docs, doc)
		}
		return nil
	})
	snapshot.Release()
	if err != nil {
		return err
	}
	return ix.Apply(ctx, docs, from, to)
}

// countAhead counts the documents, and the frequencies of a boundary that has
// been reached, before a search wants them.
func (e *Engine) countAhead(ctx context.Context) error {
	snapshot, err := e.store.Snapshot()
	if err != nil {
		return err
	}
	err = e.ledger.advance(ctx, snapshot.View(), e.heads.note)
	snapshot.Release()
	if err != nil {
		return err
	}
	if data, marks := e.ledger.unsaved(); data != nil {
		if err := e.putTable(marksTable, data); err != nil {
			e.options.Logf("retrieval: store marks: %v", err) // they can be counted again
		}
		e.ledger.stored(marks)
	}
	if number, seq := e.ledger.reached(); number >= 0 && e.tables.get(number) == nil {
		e.startTable(number, seq)
	}
	return nil
}

// Rebuild forgets everything that was derived from the records and starts
// anew. It is called after records have been purged: terms of what is gone
// must not stay in the index, and the statistics have changed. Run does the
// building.
func (e *Engine) Rebuild(ctx context.Context) error {
	number, _ := e.ledger.reached()
	if err := e.tables.settle(ctx); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	for ; number >= 0; number-- {
		if err := e.store.PutTable(tableName(number), nil); err != nil {
			return fmt.Errorf("rebuild: %w", err)
		}
	}
	if err := e.store.PutTable(marksTable, nil); err != nil {
		return fmt.Errorf("rebuild: %w", err)
	}
	e.ledger.reset()
	e.tables.clear()
	e.heads.clear()
	e.indexMu.RLock()
	ix := e.index
	e.indexMu.RUnlock()
	if ix != nil {
		if err := ix.Reset(ctx); err != nil {
			return fmt.Errorf("rebuild: %w", err)
		}
	}
	e.wake()
	return nil
}
