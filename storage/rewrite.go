package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// rewriteBytes bounds what one transaction of a rewrite holds in memory.
const rewriteBytes = 8 << 20

// Rewritten tells what a rewrite did.
type Rewritten struct {
	Before, After int64 // bytes of store.db
	Damaged       int   // values that are not what was written
}

// Rewrite writes the whole store anew through a mapping and puts the new file in
// the place of the old one. UUID, sequences, ids, receipts and times stay. What
// is dropped or replaced is in no file of the folder afterwards, but for blobs
// that lie beside store.db, which Erase removes as well.
//
// It takes the place of a write: others wait, reading goes on, until the files
// are exchanged, for which it waits some seconds for snapshots that are held
// (ErrBusy). A crash at any moment leaves the old store or the new one, complete,
// and what was half written is removed at the next start. Memory is bounded; the
// disk must have room for the new file beside the old one (ErrFull).
func (s *Store) Rewrite(ctx context.Context, m Mapping) (Rewritten, error) {
	var done Rewritten
	req := newRequest(ctx)
	req.alone = func() (err error) {
		done, err = s.rewrite(ctx, m)
		return err
	}
	if err := s.submit(req); err != nil {
		return done, fmt.Errorf("rewrite: %w", fromDisk(err))
	}
	return done, nil
}

// Compact gives back the room that what was replaced has left in store.db, and
// removes blobs that nothing refers to and that are a day old. It is Rewrite
// without a mapping.
func (s *Store) Compact(ctx context.Context) (Rewritten, error) {
	var done Rewritten
	req := newRequest(ctx)
	req.alone = func() (err error) {
		if done, err = s.rewrite(ctx, Mapping{}); err == nil {
			_, err = s.sweepBlobs(orphanGrace)
		}
		return err
	}
	if err := s.submit(req); err != nil {
		return done, fmt.Errorf("compact: %w", fromDisk(err))
	}
	return done, nil
}

// rewrite runs in the writer's goroutine, or before it is started.
func (s *Store) rewrite(ctx context.Context, m Mapping) (done Rewritten, err error) {
	s.runBatch(nil) // the audit entries that wait
	if err := s.handle.there(s.dataPath()); err != nil {
		return done, err
	}
	temp := dataFile + tempSuffix
	if err := s.root.Remove(temp); err != nil && !isMissing(err) {
		return done, err
	}
	done, err = s.copyData(ctx, temp, m)
	if err == nil {
		err = s.exchange(temp)
	}
	if err != nil {
		_ = s.root.Remove(temp) // the first error counts
		return done, err
	}
	return done, nil
}

// copyData writes the store's newest state into a new file, through a mapping,
// and reads it back.
func (s *Store) copyData(ctx context.Context, name string, m Mapping) (done Rewritten, err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	from, err := s.handle.db.Begin(false)
	if err != nil {
		return done, err
	}
	defer func() { _ = from.Rollback() }()
	r := &reader{tx: from, logf: s.opts.Logf}
	to, err := openHandle(s.root, name, boltOptions{maxBytes: s.opts.MaxBytes})
	if err != nil {
		return done, err
	}
	w := &copying{s: s, ctx: ctx, to: to, measure: m.Audit != nil}
	to.db.NoSync = true // all of it is synced at the end
	mapper := newMapper(r, m, s.state.seq, w.put)
	if err = w.begin(); err == nil {
		err = mapper.run()
	}
	if err == nil {
		err = w.commit()
	} else if w.tx != nil {
		_ = w.tx.Rollback()
	}
	if err == nil {
		err = w.check()
	}
	if err == nil {
		err = to.db.Sync()
	}
	after, statErr := to.file.Stat()
	if closed := to.close(); err == nil {
		err = errors.Join(statErr, closed)
	}
	if err != nil {
		return done, err
	}
	if err := s.guardNamed(name); err != nil {
		return done, err
	}
	return Rewritten{Before: from.Size(), After: after.Size(), Damaged: mapper.damaged}, nil
}

// copying is a file that is being written, a bounded transaction at a time.
type copying struct {
	s     *Store
	ctx   context.Context
	to    *handle
	tx    *bolt.Tx
	into  [buckets]*bolt.Bucket
	sums  [buckets]hash.Hash // of what went into each bucket
	size  int
	blobs []change // to be entered last: their keys are out of order
	// measure leaves out how much the audit log takes, which the next commit
	// measures again.
	measure bool
}

func (w *copying) begin() (err error) {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.tx, err = w.to.begin(); err != nil {
		return err
	}
	w.size = 0
	for b := range buckets {
		if w.into[b], err = w.tx.CreateBucketIfNotExists([]byte(b.String())); err != nil {
			return err
		}
		w.into[b].FillPercent = 0.95 // keys come in order
		if w.sums[b] == nil {
			w.sums[b] = sha256.New()
		}
	}
	return nil
}

// commit enters what was kept back and commits the last transaction.
func (w *copying) commit() error {
	for _, c := range w.blobs {
		key, _ := blobKey(c.blob.Ref.SHA256)
		if err := w.into[bucketBlobs].Put(key, sealBlob(key, c.blob)); err != nil {
			return err
		}
	}
	tx := w.tx
	w.tx = nil
	return tx.Commit()
}

func (w *copying) put(c change) error {
	if c.elsewhere {
		return errors.New("rewrite: only an erase changes ids, names of lists and postings")
	}
	if c.blob != nil {
		if err := w.s.stageMapped(w.ctx, c.blob); err != nil {
			return err
		}
		w.blobs = append(w.blobs, c)
	}
	if c.to == nil || w.measure && c.bucket == bucketCounters && string(c.key) == auditSizeKey {
		return nil
	}
	if err := w.into[c.bucket].Put(c.to, c.content); err != nil {
		return err
	}
	sumEntry(w.sums[c.bucket], c.to, c.content)
	if w.size += len(c.to) + len(c.content); w.size < rewriteBytes {
		return nil
	}
	tx := w.tx
	w.tx = nil
	if err := tx.Commit(); err != nil {
		return err
	}
	return w.begin()
}

// check reads the new file and compares it with what was put.
func (w *copying) check() error {
	return w.to.db.View(func(tx *bolt.Tx) error {
		for b := range buckets {
			if b == bucketBlobs && len(w.blobs) > 0 {
				continue // others came between
			}
			sum := sha256.New()
			if err := tx.Bucket([]byte(b.String())).ForEach(func(key, value []byte) error {
				sumEntry(sum, key, value)
				return nil
			}); err != nil {
				return err
			}
			if [sha256.Size]byte(sum.Sum(nil)) != [sha256.Size]byte(w.sums[b].Sum(nil)) {
				return fmt.Errorf("%s: the disk does not give back what was written", b)
			}
		}
		return nil
	})
}

func sumEntry(sum io.Writer, key, value []byte) {
	_, _ = sum.Write(number(int64(len(key))))
	_, _ = sum.Write(key)
	_, _ = sum.Write(number(int64(len(value))))
	_, _ = sum.Write(value)
}

// stageMapped puts the content of a blob that replaces another on disk.
func (s *Store) stageMapped(ctx context.Context, blob *StagedBlob) error {
	if blob.Ref.Size <= inlineBlob || sameContent(s.root, blobPath(blob.Ref.SHA256), blob.data) {
		return nil
	}
	return s.writeBlob(ctx, blobPath(blob.Ref.SHA256), blob.data)
}

// exchange puts a finished file in the place of store.db and opens it. Readers
// wait meanwhile.
func (s *Store) exchange(name string) error {
	s.mu.Lock()
	s.settling = true
	alone := s.waitReaders(settlePatience)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.settling = false
		s.mu.Unlock()
		s.released.Broadcast()
	}()
	if !alone {
		return fmt.Errorf("%w: snapshots are held", ErrBusy)
	}
	// Closed first: an open file cannot be replaced on every system.
	if err := s.handle.close(); err != nil {
		s.opts.Logf("storage: close before the exchange: %v", err)
	}
	s.setHandle(nil)
	err := s.root.Rename(name, dataFile)
	if err == nil {
		err = syncDir(s.root, ".")
	}
	h, id, opened := s.load(false, time.Second)
	if opened == nil && (id.uuid != s.uuid || id.state != s.state) {
		opened = errors.Join(ErrGone, h.close())
	}
	if opened != nil {
		s.deny(fmt.Errorf("%w: the new file cannot be opened: %w", ErrReadOnly, opened))
		s.readAlone()
		return opened
	}
	s.setHandle(h)
	return err
}

// guardNamed is guard for a file that is not store.db yet.
func (s *Store) guardNamed(name string) error {
	f, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return guardFile(f, info.Size())
}
