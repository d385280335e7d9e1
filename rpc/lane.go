package rpc

import (
	"context"
	"sync"
)

// lane keeps writes in wire order. A write takes its ticket on the read loop
// and starts when every earlier one holds its place; a read waits until every
// write before it is done.
type lane struct {
	mu     sync.Mutex
	issued int64
	placed prefix
	done   prefix
}

// ticket is a request's place in the lane.
type ticket struct {
	lane  *lane
	after int64 // how many writes came before it
	write bool
}

// prefix follows a set of numbers from 1 as far as it has no gap.
type prefix struct {
	low   int64
	ahead map[int64]struct{}
	wait  []waiter // by number, since tickets are taken in wire order
}

type waiter struct {
	number int64
	ready  chan struct{}
}

// reach returns a channel that is closed when all numbers up to n are in, nil
// when they are.
func (p *prefix) reach(n int64) <-chan struct{} {
	if n <= p.low {
		return nil
	}
	w := waiter{n, make(chan struct{})}
	// Goroutines may come here out of order by a little.
	at := len(p.wait)
	for at > 0 && p.wait[at-1].number > n {
		at--
	}
	p.wait = append(p.wait, waiter{})
	copy(p.wait[at+1:], p.wait[at:])
	p.wait[at] = w
	return w.ready
}

// add puts a number in; a second time does nothing.
func (p *prefix) add(n int64) {
	if n <= p.low {
		return
	}
	if p.ahead == nil {
		p.ahead = map[int64]struct{}{}
	}
	p.ahead[n] = struct{}{}
	for {
		if _, ok := p.ahead[p.low+1]; !ok {
			break
		}
		p.low++
		delete(p.ahead, p.low)
	}
	for len(p.wait) > 0 && p.wait[0].number <= p.low {
		close(p.wait[0].ready)
		p.wait = p.wait[1:]
	}
}

// take gives a ticket; it must be called in wire order.
func (l *lane) take(write bool) *ticket {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &ticket{lane: l, after: l.issued, write: write}
	if write {
		l.issued++
	}
	return t
}

// turn waits until the request may run; it returns early when ctx ends.
func (t *ticket) turn(ctx context.Context) error {
	if t.write {
		return t.reach(ctx, &t.lane.placed)
	}
	return t.reach(ctx, &t.lane.done)
}

// settled waits until all writes before the request are done.
func (t *ticket) settled(ctx context.Context) error {
	return t.reach(ctx, &t.lane.done)
}

func (t *ticket) reach(ctx context.Context, p *prefix) error {
	t.lane.mu.Lock()
	ready := p.reach(t.after)
	t.lane.mu.Unlock()
	if ready == nil {
		return ctx.Err()
	}
	select {
	case <-ready:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// place lets the next write start.
func (t *ticket) place() {
	if t.write {
		t.lane.mu.Lock()
		defer t.lane.mu.Unlock()
		t.lane.placed.add(t.after + 1)
	}
}

// finish gives the ticket back, whether or not its turn came.
func (t *ticket) finish() {
	if t.write {
		t.lane.mu.Lock()
		defer t.lane.mu.Unlock()
		t.lane.placed.add(t.after + 1)
		t.lane.done.add(t.after + 1)
	}
}

// Placed tells the dispatcher that the write which ctx belongs to now holds
// its place in a queue that keeps order, such as the store's: the next write
// may start before this one is done. Reads still wait for the end of it. A
// handler that never calls it keeps the next write waiting until it returns.
func Placed(ctx context.Context) {
	if f := flightOf(ctx); f != nil && f.ticket != nil {
		f.ticket.place()
	}
}
