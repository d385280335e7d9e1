package storage

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Store is an open store. It is safe for concurrent use.
type Store struct {
	opts Options
	root *os.Root
	lock *os.File
	uuid string

	rootKey []byte // see Key

	seq    atomic.Int64   // newest sequence that is on disk and was told
	writer sync.WaitGroup // the goroutine of writeLoop

	queue  queue
	audit  auditQueue
	staged stagedBlobs

	copies  sync.WaitGroup // snapshots that are being written
	rolling sync.Mutex     // held while one is

	// Only the writer's goroutine uses these.
	day   int64 // since 1970, of the newest commit, by Options.Now
	state state
	known manifest

	mu       sync.Mutex
	released *sync.Cond // on mu: readers fell, or settling ended
	handle   *handle
	readers  int
	settling bool          // no new readers until it is known what a commit did
	readOnly error         // why there are no writes; nil if there are
	broken   error         // why there are no reads; nil if there are
	closed   bool          // Close was called
	left     bool          // Close gave up waiting for snapshots
	gone     bool          // files are closed and the lock is free
	changed  chan struct{} // closed and replaced at each new sequence
}

// closePatience is how long Close waits for snapshots that are still held.
const closePatience = 5 * time.Second

func newStore(opts Options, root *os.Root) *Store {
	s := &Store{opts: opts, root: root, changed: make(chan struct{})}
	s.released = sync.NewCond(&s.mu)
	s.queue.ready = sync.NewCond(&s.queue.mu)
	return s
}

// UUID names the store for ever; a copy has the same.
func (s *Store) UUID() string { return s.uuid }

// Seq returns the newest sequence; 0 for an empty store.
func (s *Store) Seq() int64 { return s.seq.Load() }

// ReadOnly tells why the store takes no writes, nil if it does. The reason is
// ErrReadOnly, wrapped with what led to it.
func (s *Store) ReadOnly() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readOnly
}

// Changed returns a channel that is closed when there is a newer sequence than
// at the time of the call. Whoever follows the store takes the channel first,
// reads up to Seq, and then waits. Closing the store does not close it.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// publish makes a commit visible.
func (s *Store) publish(st state) {
	before := s.state
	grown := st.seq > before.seq
	s.state = st
	if !grown {
		return
	}
	s.seq.Store(st.seq)
	s.mu.Lock()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.rollOver(before)
}

// Close does the writes that wait, flushes the audit log and closes the store.
// It waits some seconds for snapshots that are held; if there are still some, it
// returns an error, and the store stays locked until they are released. A second
// Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()

	s.queue.close()
	s.writer.Wait()
	s.copies.Wait()
	err := s.noteLast()

	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.waitReaders(closePatience) {
		s.left = true
		return fmt.Errorf("close store: %d snapshots are still held", s.readers)
	}
	if closed := s.letGo(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// noteLast writes the newest sequence into the manifest, so that a store that
// later ends before it is noticed.
func (s *Store) noteLast() error {
	if s.opts.ReadOnly || s.ReadOnly() != nil || s.known.LastSeq == s.seq.Load() {
		return nil
	}
	s.mu.Lock()
	h := s.handle
	s.mu.Unlock()
	if err := h.there(s.dataPath()); err != nil {
		return err
	}
	return writeManifest(s.root, s.manifest())
}

// waitReaders waits until no snapshot is held, or patience ends. The caller
// holds s.mu.
func (s *Store) waitReaders(patience time.Duration) bool {
	late := false
	timer := time.AfterFunc(patience, func() {
		s.mu.Lock()
		late = true
		s.mu.Unlock()
		s.released.Broadcast()
	})
	defer timer.Stop()
	for s.readers > 0 && !late {
		s.released.Wait()
	}
	return s.readers == 0
}

// letGo closes the files; the lock last. The caller holds s.mu or is the only
// one who knows the store.
func (s *Store) letGo() (err error) {
	if s.gone {
		return nil
	}
	s.gone = true
	if s.handle != nil {
		err = s.handle.close()
		s.handle = nil
	}
	if s.lock != nil {
		if closed := s.lock.Close(); err == nil {
			err = closed
		}
	}
	if closed := s.root.Close(); err == nil {
		err = closed
	}
	return err
}

// release ends a snapshot's hold on the handle.
func (s *Store) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
	if s.readers > 0 {
		return
	}
	s.released.Broadcast()
	if s.left {
		if err := s.letGo(); err != nil {
			s.opts.Logf("storage: close after the last snapshot: %v", err)
		}
	}
}
