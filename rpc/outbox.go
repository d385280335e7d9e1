package rpc

import (
	"errors"
	"io"
	"sync"
	"time"
)

var (
	errOutboxClosed = errors.New("write: the connection is ending")
	errWriteStalled = errors.New("write: the client does not read")
)

// outbox writes frames in the order in which they came, one write each, from
// one goroutine. It holds a bounded number of them; a frame larger than the
// bound waits until the outbox is empty.
type outbox struct {
	out     io.Writer
	limits  Limits
	stall   time.Duration
	failed  func(error) // called at most once
	written chan struct{}

	mu      sync.Mutex
	more    sync.Cond // something to write, or closing
	room    sync.Cond // something was written, or closing
	queue   [][]byte
	bytes   int64
	closing bool
	broken  bool
	dropped int64 // frames that offer refused
}

func newOutbox(out io.Writer, limits Limits, stall time.Duration, failed func(error)) *outbox {
	o := &outbox{out: out, limits: limits, stall: stall, failed: failed, written: make(chan struct{})}
	o.more.L, o.room.L = &o.mu, &o.mu
	return o
}

// run writes until close is called and the queue is empty, or a write fails.
func (o *outbox) run() {
	defer close(o.written)
	watchdog := time.AfterFunc(time.Hour, func() { o.breakDown(errWriteStalled) })
	defer watchdog.Stop()
	for {
		frame, ok := o.take()
		if !ok {
			return
		}
		watchdog.Reset(o.stall)
		_, err := o.out.Write(frame)
		if !watchdog.Stop() || err != nil {
			if err == nil {
				err = errWriteStalled
			}
			o.breakDown(err)
			return
		}
		o.mu.Lock()
		o.bytes -= int64(len(frame))
		o.mu.Unlock()
		o.room.Broadcast()
	}
}

// take removes the first frame; its bytes count until they are written.
func (o *outbox) take() ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.closing && !o.broken {
		o.more.Wait()
	}
	if len(o.queue) == 0 || o.broken {
		return nil, false
	}
	frame := o.queue[0]
	o.queue[0] = nil
	o.queue = o.queue[1:]
	return frame, true
}

// breakDown gives up on the client: what waits is dropped.
func (o *outbox) breakDown(err error) {
	o.mu.Lock()
	first := !o.broken
	o.broken, o.queue = true, nil
	o.mu.Unlock()
	o.more.Broadcast()
	o.room.Broadcast()
	if first {
		o.failed(err)
	}
}

// put queues a frame and waits for room.
func (o *outbox) put(frame []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.fits(frame) && !o.closing && !o.broken {
		o.room.Wait()
	}
	if o.closing || o.broken {
		return errOutboxClosed
	}
	o.push(frame)
	return nil
}

// offer queues a frame if there is room, and counts it as dropped if not.
func (o *outbox) offer(frame []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closing || o.broken:
		return errOutboxClosed
	case !o.fits(frame):
		o.dropped++
		return ErrNotSent
	}
	o.push(frame)
	return nil
}

func (o *outbox) push(frame []byte) {
	o.queue = append(o.queue, frame)
	o.bytes += int64(len(frame))
	o.more.Signal()
}

func (o *outbox) fits(frame []byte) bool {
	if o.bytes == 0 {
		return true
	}
	return len(o.queue) < o.limits.OutboxMessages && o.bytes+int64(len(frame)) <= o.limits.OutboxBytes
}

// takeDropped returns how many frames were dropped since the last call.
func (o *outbox) takeDropped() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.dropped
	o.dropped = 0
	return n
}

// addDropped counts frames that could not be reported yet.
func (o *outbox) addDropped(n int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped += n
}

// close lets what is queued be written and refuses more. It waits no longer
// than the timeout.
func (o *outbox) close(timeout time.Duration) {
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	o.more.Broadcast()
	o.room.Broadcast()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-o.written:
	case <-timer.C:
	}
}
