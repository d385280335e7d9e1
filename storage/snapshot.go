package storage

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// Snapshot is a consistent state of the store. It must be short, must be
// released, and must not be held by a goroutine that waits for a Write.
type Snapshot struct {
	store *Store
	r     *reader
	seq   int64
}

// Snapshot takes the state as of the newest sequence. It waits while it is being
// found out what a failed commit did. Errors: ErrClosed, ErrCorrupt.
func (s *Store) Snapshot() (*Snapshot, error) {
	h, err := s.hold()
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	// What is published is on disk; the transaction may see more, which views
	// do not show.
	sn := &Snapshot{store: s, seq: s.seq.Load(), r: &reader{logf: s.opts.Logf}}
	sn.r.pending, sn.r.lastAudit = s.audit.peek()
	if sn.r.tx, err = beginRead(h); err != nil {
		s.release()
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return sn, nil
}

// hold keeps the store's files open until release.
func (s *Store) hold() (*handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.settling {
		s.released.Wait()
	}
	if s.closed {
		return nil, ErrClosed
	}
	if s.broken != nil {
		return nil, s.broken
	}
	s.readers++
	return s.handle, nil
}

func beginRead(h *handle) (tx *bolt.Tx, err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	return h.db.Begin(false)
}

// View returns the newest state of the snapshot.
func (sn *Snapshot) View() View { return View{r: sn.r, seq: sn.seq} }

// At returns the state as of a sequence, 0 being the empty store. The error is
// ErrNotFound when the snapshot does not have the sequence.
func (sn *Snapshot) At(seq int64) (View, error) {
	if seq < 0 || seq > sn.seq {
		return View{}, fmt.Errorf("sequence %d of %d: %w", seq, sn.seq, ErrNotFound)
	}
	return View{r: sn.r, seq: seq}, nil
}

// Release ends the snapshot and all its views. No view may be in use at that
// moment; used later they say ErrClosed. A second Release does nothing.
func (sn *Snapshot) Release() {
	if sn.r.done.Swap(true) {
		return
	}
	if err := endRead(sn.r.tx); err != nil {
		sn.store.opts.Logf("storage: release: %v", err)
	}
	sn.store.release()
}

func endRead(tx *bolt.Tx) (err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	return tx.Rollback()
}

// reader reads in a transaction of bbolt, which may be a write transaction. In
// a read transaction it may be used by several goroutines.
type reader struct {
	tx        *bolt.Tx
	opened    [buckets]atomic.Pointer[bolt.Bucket]
	done      atomic.Bool
	fault     atomic.Pointer[error] // first thing that could not be told to a caller
	pending   []auditEntry          // audit entries that are not in the file yet
	lastAudit int64                 // newest audit entry, pending ones included
	logf      func(string, ...any)
}

// enter must stand at the beginning of every exported method of a view.
func (r *reader) enter() error {
	if r == nil || r.done.Load() {
		return ErrClosed
	}
	return nil
}

// exit ends what enter began, like caught. A damaged page fails the view.
func (r *reader) exit(old bool, err *error) {
	debug.SetPanicOnFault(old)
	if p := recover(); p != nil {
		*err = corrupt("%v", p)
		r.fail(*err)
	}
}

// fail keeps an error for View.Err, and for the write whose view this is.
func (r *reader) fail(err error) {
	if r.fault.CompareAndSwap(nil, &err) {
		r.logf("storage: read: %v", err)
	}
}

func (r *reader) failed() error {
	if p := r.fault.Load(); p != nil {
		return *p
	}
	return nil
}

func (r *reader) bucket(b bucket) *bolt.Bucket {
	if opened := r.opened[b].Load(); opened != nil {
		return opened
	}
	opened := r.tx.Bucket([]byte(b.String()))
	if opened == nil {
		panic("no bucket " + b.String()) // becomes ErrCorrupt
	}
	r.opened[b].Store(opened)
	return opened
}
