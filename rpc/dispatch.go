package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"

	"hexapla/rpc/wire"
)

// Handler serves one method. Params is nil when the client sent none. The
// result is encoded by the connection; raw JSON is sent as it is. Only an
// *Error reaches the client as the handler made it.
//
// The context of a read ends when the client cancels or the connection ends.
// The context of a write does not: once it runs, it runs to its end.
type Handler func(ctx context.Context, params json.RawMessage) (any, error)

// entry is a method that is served.
type entry struct {
	method  wire.Method
	handler Handler
	latency histogram
}

// dispatcher runs requests: writes in the lane, reads side by side.
type dispatcher struct {
	limits  Limits
	codec   codec
	log     *slog.Logger
	life    *lifecycle
	stream  *stream
	onPanic func(method string)

	table   map[string]*entry
	entries []*entry // in the order of the method table
	lane    lane
	slots   chan struct{}
	counts  counts
}

// counts are totals since the connection began.
type counts struct {
	unknown, busy, panics, cancelled atomic.Int64
}

// newDispatcher routes the table's methods to handlers. A handler without a
// row is an error; a row without a handler is answered as an unknown method.
func newDispatcher(methods []wire.Method, handlers map[string]Handler) (*dispatcher, error) {
	d := &dispatcher{table: make(map[string]*entry, len(handlers))}
	for _, m := range methods {
		h := handlers[m.Name]
		if h == nil || m.Direction != wire.ClientToServer {
			continue
		}
		e := &entry{method: m, handler: h}
		d.table[m.Name] = e
		d.entries = append(d.entries, e)
	}
	if len(d.entries) != len(handlers) {
		return nil, fmt.Errorf("dispatch: %d handlers, of which %d are in the method table", len(handlers), len(d.entries))
	}
	return d, nil
}

// offered returns the names of what a client may send.
func (d *dispatcher) offered() []string {
	names := make([]string, 0, len(d.entries))
	for _, e := range d.entries {
		names = append(names, e.method.Name)
	}
	return names
}

// latencies returns the distribution of every method that was called, in the
// order of the table: from the arrival of a request to its result.
func (d *dispatcher) latencies() []wire.Latency {
	out := []wire.Latency{}
	for _, e := range d.entries {
		if e.latency.count.Load() > 0 {
			out = append(out, e.latency.summary(e.method.Name))
		}
	}
	return out
}

// request serves a method of the table. It is called on the read loop, where
// it takes a place, and goes on beside it.
func (d *dispatcher) request(ctx context.Context, f *flight, req *jsonrpc2.Request) (any, error) {
	if problem := d.life.admit(); problem != nil {
		return nil, problem
	}
	e := d.table[f.method]
	if e == nil || e.method.Class == wire.ClassEvent {
		return nil, NewError(wire.KindMethodNotFound, "no such request")
	}
	if problem := d.busy(); problem != nil {
		return nil, problem
	}
	f.ticket = d.lane.take(e.method.Class == wire.ClassWrite)
	jsonrpc2.Async(ctx)
	params := json.RawMessage(req.Params())
	result, err := d.run(f, e, params)
	e.latency.add(time.Since(f.received))
	if err != nil {
		return nil, err
	}
	return result, nil
}

// busy refuses what is beyond the limits. The request asked for counts itself.
func (d *dispatcher) busy() *Error {
	requests, held := d.stream.load()
	if requests <= d.limits.InFlight+d.limits.Queued && (held <= d.limits.RequestBytes || requests == 1) {
		return nil
	}
	d.counts.busy.Add(1)
	return NewError(wire.KindBusy, "too many requests wait")
}

// run waits for the request's turn and a slot, and runs it.
func (d *dispatcher) run(f *flight, e *entry, params json.RawMessage) (any, error) {
	defer f.ticket.finish()
	write := e.method.Class == wire.ClassWrite
	if f.ticket.turn(f.ctx) != nil {
		return nil, d.ended(f)
	}
	select {
	case d.slots <- struct{}{}:
	case <-f.ctx.Done():
		return nil, d.ended(f)
	}
	defer func() { <-d.slots }()
	if problem := d.life.serving(); problem != nil {
		return nil, problem
	}
	ctx := f.ctx
	if write {
		// Half a write must not be: from here on it is all or an error.
		ctx = context.WithoutCancel(ctx)
	}
	result, err := d.invoke(ctx, e, params)
	d.counts.unknown.Add(f.unknown.Load())
	if !write && f.ctx.Err() != nil {
		return nil, d.ended(f)
	}
	if err != nil {
		return nil, d.publish(f.method, err, write)
	}
	raw, err := d.encode(result)
	if err != nil {
		problem := d.publish(f.method, err, write)
		if write {
			problem.Data.Committed = wire.CommittedYes
		}
		return nil, problem
	}
	return jsonrpc2.RawMessage(raw), nil
}

// ended is the answer to a request whose context ended before it was served.
func (d *dispatcher) ended(f *flight) *Error {
	d.counts.cancelled.Add(1)
	problem := NewError(wire.KindCancelled, "the request was cancelled")
	if !f.cancelled.Load() {
		problem = NewError(wire.KindBusy, "the connection is ending")
	}
	return problem
}

// invoke calls the handler and turns a panic into an error.
func (d *dispatcher) invoke(ctx context.Context, e *entry, params json.RawMessage) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, d.panicked(e.method.Name, r)
		}
	}()
	return e.handler(ctx, params)
}

// encode turns a result into JSON; a panic of an encoder is an error too.
func (d *dispatcher) encode(result any) (raw []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			raw, err = nil, d.panicked("encoding", r)
		}
	}()
	return d.codec.Marshal(result)
}

// panicked logs a panic and returns what the client is told. The text of a
// panic can hold content, so only that of the runtime's own is logged.
func (d *dispatcher) panicked(method string, r any) *Error {
	d.counts.panics.Add(1)
	text := fmt.Sprintf("%T", r)
	if fault, ok := r.(runtime.Error); ok {
		text = fault.Error()
	}
	problem := internal()
	d.log.Error("panic", "incident", problem.Data.Incident, "method", method, "panic", text, "stack", string(debug.Stack()))
	if d.onPanic != nil {
		d.onPanic(method)
	}
	return problem
}

// publish turns a handler's error into what the client is told. An error that
// is no *Error stays in the log.
func (d *dispatcher) publish(method string, err error, write bool) *Error {
	var problem *Error
	if errors.As(err, &problem) {
		copied := *problem
		problem = &copied
	} else {
		problem = internal()
		d.log.Error("request failed", "incident", problem.Data.Incident, "method", method, "error", err)
	}
	if problem.Data.Committed == "" {
		problem.Data.Committed = wire.CommittedNo
		switch problem.Data.Kind {
		case wire.KindInternal, wire.KindStorage:
			if write {
				problem.Data.Committed = wire.CommittedUnknown
			}
		}
	}
	return problem
}

func internal() *Error {
	problem := NewError(wire.KindInternal, "internal error")
	problem.Data.Incident = newIncident()
	return problem
}

// cancel ends a request that runs or waits; an unknown id does nothing. Since
// requests are known from the moment they are read, a cancellation that comes
// right behind its request finds it.
func (d *dispatcher) cancel(params json.RawMessage) {
	s := scanner{text: params, limit: d.limits.Depth}
	if len(params) == 0 || params[0] != '{' {
		return
	}
	env, _, err := s.envelope(0)
	if err != nil {
		return
	}
	if id, ok := parseID(env.id); ok {
		if f := d.stream.flight(id); f != nil {
			f.cancelled.Store(true)
			f.cancel()
		}
	}
}

// event serves a notification of the table in the lane; others are ignored.
// Errors have nowhere to go but the log.
func (d *dispatcher) event(ctx context.Context, req *jsonrpc2.Request) {
	e := d.table[req.Method()]
	if e == nil || e.method.Class != wire.ClassEvent || d.life.admit() != nil {
		d.log.Debug("ignored a notification")
		return
	}
	f := d.stream.board(e.method.Name)
	defer d.stream.settle(f)
	if d.busy() != nil {
		d.log.Warn("dropped a notification", "method", e.method.Name)
		return
	}
	f.ticket = d.lane.take(true)
	jsonrpc2.Async(ctx)
	defer f.ticket.finish()
	if f.ticket.turn(f.ctx) != nil || d.life.serving() != nil {
		return
	}
	if _, err := d.invoke(context.WithoutCancel(f.ctx), e, json.RawMessage(req.Params())); err != nil {
		d.publish(f.method, err, true)
	}
}
