package index

import (
	"context"
	"fmt"
	"maps"
	"time"

	bindex "github.com/blevesearch/bleve_index_api"
)

// applyWait bounds a batch: a batch of 500 documents takes about 50 ms.
const applyWait = 30 * time.Second

// Apply indexes the documents of the sequences above "after", up to and with
// the new watermark, all in one batch: what is found after a crash is either
// both or neither. It returns ErrBehind when the watermark is below "after", so
// that no gap can arise when the index was reset in between. Documents at or
// below the present watermark are there already and are passed over; none may
// lie above the new one, and no sequence may come twice. The documents are
// visible when Apply returns. After ErrFailed the index cannot be used any more.
func (ix *Index) Apply(ctx context.Context, docs []Doc, after, watermark int64) error {
	ix.writing.Lock()
	defer ix.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("apply to index: %w", err)
	}
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	if err := ix.usable(); err != nil {
		return fmt.Errorf("apply to index: %w", err)
	}
	old := ix.watermark.Load()
	if old < after {
		return fmt.Errorf("apply to index: %d of %d: %w", old, after, ErrBehind)
	}
	if watermark < old {
		return fmt.Errorf("apply to index: watermark %d is below %d", watermark, old)
	}
	batch := bindex.NewBatch()
	for _, d := range docs {
		if d.Seq > watermark {
			return fmt.Errorf("apply to index: document %d is above the watermark %d", d.Seq, watermark)
		}
		if d.Seq > old {
			batch.Update(newDocument(d))
		}
	}
	count := ix.docs + int64(len(batch.IndexOps))
	batch.SetInternal([]byte(keyMapping), []byte(mappingVersion))
	batch.SetInternal([]byte(keyStore), []byte(ix.options.StoreUUID))
	batch.SetInternal([]byte(keyWatermark), appendInt(watermark))
	batch.SetInternal([]byte(keyDocs), appendInt(count))

	if watermarkApart {
		ahead := bindex.NewBatch()
		maps.Copy(ahead.InternalOps, batch.InternalOps)
		if err := ix.engine.Batch(ahead); err != nil {
			return fmt.Errorf("apply to index: %w: %w", ErrFailed, err)
		}
	}
	written, flushed := &ix.written, ix.flushed
	batch.SetPersistedCallback(func(err error) {
		if err == nil {
			written.Store(watermark)
			select {
			case flushed <- struct{}{}:
			default:
			}
		}
	})

	// A dead goroutine inside scorch would block the batch for ever.
	engine, done := ix.engine, make(chan error, 1)
	go func() { done <- guarded("batch", func() error { return engine.Batch(batch) }) }()
	timer := time.NewTimer(applyWait)
	defer timer.Stop()
	var err error
	select {
	case err = <-done:
	case <-timer.C:
		err = fmt.Errorf("no end after %v", applyWait)
	}
	if err != nil {
		// A batch that failed may be visible and yet not be written.
		err = fmt.Errorf("apply to index: %w: %w", ErrFailed, err)
		ix.suspect.Store(&err)
		return err
	}
	ix.docs = count
	ix.watermark.Store(watermark)
	return nil
}
