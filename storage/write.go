package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Op makes a write idempotent.
type Op struct {
	// Key is chosen by the client; "" means that the write is done each time. It
	// is at most MaxName bytes long.
	Key string
	// Digest is of what the key stands for. The same key with another digest is
	// ErrKeyReused.
	Digest [32]byte
	// By says who writes, for View.Writer: at most MaxName bytes of it.
	By string
}

// Receipt tells what a write did.
type Receipt struct {
	Seq      int64  // newest sequence after the write
	Reply    []byte // what build returned
	Repeated bool   // the key was used before; Seq and Reply are of that time
}

// Write runs build and commits what it puts. Writes run in the order in which
// Write is called; build sees all earlier ones through tx.View and runs at most
// once, in a goroutine of the store. What it puts takes effect if it returns no
// error, together with the key of op and the reply. Write returns after all of
// that is on disk. Several writes may share a commit.
//
// build must not call Write, PutTable, Verify or Close, and must not keep tx.
// It may be slow only at the price of all other writers. A panic in it is
// returned as an error.
//
// When ctx ends before build has begun, the write is not done and ctx's error is
// returned; after that ctx is not looked at. Errors: build's own, ErrKeyReused,
// ErrTooLarge, ErrFull, ErrReadOnly, ErrGone, ErrCorrupt, ErrClosed, ErrUnknown,
// or what the disk says. After any of them but ErrUnknown nothing was done.
func (s *Store) Write(ctx context.Context, op Op, build func(tx *Tx) (reply []byte, err error)) (Receipt, error) {
	if len(op.Key) > MaxName {
		return Receipt{}, fmt.Errorf("write: key of %d bytes: %w", len(op.Key), ErrTooLarge)
	}
	req := newRequest(ctx)
	req.run = func(b *batch) error { return b.write(req, op, build) }
	if err := s.submit(req); err != nil {
		return Receipt{}, fmt.Errorf("write: %w", err)
	}
	return req.receipt, nil
}

// PutTable stores a derived table under a name and waits until it is on disk;
// nil data removes it. It does not raise the sequence. Errors as Write.
func (s *Store) PutTable(name string, data []byte) error {
	if len(name) > MaxName || len(data) > MaxBody {
		return fmt.Errorf("put table: %w", ErrTooLarge)
	}
	if name == "" {
		return errors.New("put table: name is empty")
	}
	req := newRequest(context.Background())
	req.run = func(b *batch) error { return b.putTable(name, data) }
	if err := s.submit(req); err != nil {
		return fmt.Errorf("put table: %w", err)
	}
	return nil
}

// request is something that the writer's goroutine does for a caller.
type request struct {
	ctx     context.Context
	run     func(*batch) error // what to do in a batch
	alone   func() error       // what to do between batches, instead of run
	phase   atomic.Int32
	receipt Receipt
	err     error
	done    chan struct{}
}

// Phases of a request.
const (
	phaseWaiting int32 = iota
	phaseStarted
	phaseCancelled
)

func newRequest(ctx context.Context) *request {
	return &request{ctx: ctx, done: make(chan struct{})}
}

// start tells whether the request is still wanted; from then on it cannot be
// cancelled.
func (r *request) start() bool {
	if err := r.ctx.Err(); err != nil {
		if r.phase.CompareAndSwap(phaseWaiting, phaseCancelled) {
			r.answer(err)
		}
		return false
	}
	return r.phase.CompareAndSwap(phaseWaiting, phaseStarted)
}

func (r *request) answer(err error) {
	r.err = err
	close(r.done)
}

// submit queues a request and waits for its end.
func (s *Store) submit(req *request) error {
	if err := req.ctx.Err(); err != nil {
		return err
	}
	if err := s.ReadOnly(); err != nil {
		return err
	}
	if !s.queue.add(req) {
		return ErrClosed
	}
	select {
	case <-req.done:
		return req.err
	case <-req.ctx.Done():
	}
	if req.phase.CompareAndSwap(phaseWaiting, phaseCancelled) {
		return req.ctx.Err()
	}
	<-req.done
	return req.err
}

// queue is what waits for the writer. What gathers while one commit runs goes
// into the next: a lone writer waits for nobody, many share their syncs.
type queue struct {
	mu      sync.Mutex
	ready   *sync.Cond
	waiting []*request
	flush   bool // the audit log wants to be written
	closing bool
}

func (q *queue) add(req *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing {
		return false
	}
	q.waiting = append(q.waiting, req)
	q.ready.Signal()
	return true
}

// wake has the audit log written without a request.
func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flush = true
	q.ready.Signal()
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closing = true
	q.ready.Signal()
}

// take waits for something to do. It returns false when the queue is closed and
// empty.
func (q *queue) take() ([]*request, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && !q.flush && !q.closing {
		q.ready.Wait()
	}
	reqs := q.waiting
	q.waiting, q.flush = nil, false
	return reqs, len(reqs) > 0 || !q.closing
}

// putBack returns requests that did not fit into a batch to the front.
func (q *queue) putBack(reqs []*request) {
	if len(reqs) == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(reqs, q.waiting...)
}

// writeLoop is the writer's goroutine, the only one that changes the store.
func (s *Store) writeLoop() {
	ended := false
	defer func() {
		if !ended { // a build ended the goroutine with runtime.Goexit
			s.writer.Go(s.writeLoop)
		}
	}()
	for {
		reqs, ok := s.queue.take()
		if !ok {
			s.flushAudit()
			ended = true
			return
		}
		s.serve(reqs)
	}
}

// serve does what can be done in one commit and puts the rest back.
func (s *Store) serve(reqs []*request) {
	for i, req := range reqs {
		if req.alone == nil {
			continue
		}
		if i > 0 { // what came before comes first
			s.queue.putBack(reqs[i:])
			reqs = reqs[:i]
			break
		}
		s.queue.putBack(reqs[1:])
		if req.start() {
			req.answer(req.alone())
		}
		return
	}
	s.runBatch(reqs)
}
