package rpc

import (
	"context"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// flight is a request that was read and is not answered yet.
type flight struct {
	id         jsonrpc2.ID
	method     string
	ctx        context.Context
	cancel     context.CancelFunc
	cancelled  atomic.Bool // by $/cancelRequest
	normalised bool
	unknown    atomic.Int64 // fields that the typed decoder ignored
	received   time.Time
	size       int64
	batch      *batch
	ticket     *ticket // its place among the writes; nil before it has one
	answered   func()  // called when the response is queued; may be nil
}

// flightKey is the context key of a request's flight: metadata of the request,
// never configuration.
type flightKey struct{}

func flightOf(ctx context.Context) *flight {
	f, _ := ctx.Value(flightKey{}).(*flight)
	return f
}

// Normalised reports whether text of the request that ctx belongs to was
// changed to be valid Unicode: invalid UTF-8, lone surrogates and NUL became
// U+FFFD.
func Normalised(ctx context.Context) bool {
	f := flightOf(ctx)
	return f != nil && f.normalised
}

// depart registers a request; false when its id is in flight.
func (s *stream) depart(id jsonrpc2.ID, method string, size int64) bool {
	f := &flight{id: id, method: method, normalised: s.changed, received: time.Now(), size: size, batch: s.batch}
	f.ctx, f.cancel = context.WithCancel(context.WithValue(s.base, flightKey{}, f))
	s.mu.Lock()
	defer s.mu.Unlock()
	_, taken := s.flights[id]
	if s.batch != nil {
		// Until the array is sent, the client has none of its answers.
		_, again := s.batch.ids[id]
		taken = taken || again
		s.batch.ids[id] = struct{}{}
	}
	if taken {
		f.cancel()
		return false
	}
	s.flights[id] = f
	s.open++
	s.held += size
	return true
}

// board registers a notification that is served, so that the end of the input
// waits for it too. It has no id and no answer; settle ends it.
func (s *stream) board(method string) *flight {
	f := &flight{method: method, normalised: s.changed, received: time.Now()}
	f.ctx, f.cancel = context.WithCancel(context.WithValue(s.base, flightKey{}, f))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return f
}

// flight returns a request in flight, nil when there is none.
func (s *stream) flight(id jsonrpc2.ID) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flights[id]
}

// load returns how many requests are not answered and what they hold.
func (s *stream) load() (requests int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.held
}

// land removes a request, whose response is about to be queued: from then on
// the client may use its id again.
func (s *stream) land(id jsonrpc2.ID) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flights[id]
	if f == nil {
		return nil
	}
	f.cancel()
	delete(s.flights, id)
	return f
}

// settle counts a request as answered.
func (s *stream) settle(f *flight) {
	if f.answered != nil {
		f.answered()
	}
	f.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	s.held -= f.size
	if s.idle != nil && s.open == 0 {
		close(s.idle)
		s.idle = nil
	}
}

// whenIdle returns a channel that is closed when nothing is in flight.
func (s *stream) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	if s.open == 0 {
		close(s.idle)
		s.idle = nil
	}
	return idle
}
