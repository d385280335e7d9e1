package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"hexapla/rpc/wire"
)

// Backend is what the connection serves.
type Backend interface {
	// Handlers returns the handlers by method. It is called once, first.
	Handlers() map[string]Handler
	// Initialize is told who the client is before any handler is called. An
	// error refuses the client, which may try again.
	Initialize(ctx context.Context, info InitializeInfo) error
	// Close releases the workspaces. It is called once, last, also when
	// Initialize was not; it should return when ctx ends.
	Close(ctx context.Context) error
}

// Options are what a server is made of.
type Options struct {
	Backend  Backend       // required
	Methods  []wire.Method // the method table; wire.Methods() when nil
	Version  string        // of the program, for serverInfo
	Log      slog.Handler  // for the log while no client listens; nil discards
	Handover bool          // when ctx ends, leave unanswered what is not done: the client asks the next server
	OnPanic  func(string)  // told the method whose handler panicked; may be nil
	Process  ProcessProbe  // looks at the client's process; the OS when nil
	Limits   Limits
	Timeouts Timeouts
}

// server is one connection.
type server struct {
	options  Options
	timeouts Timeouts
	codec    codec
	gate     *logGate
	log      *slog.Logger
	life     lifecycle
	greeting form // of initialize's parameters
	out      *outbox
	stream   *stream
	conn     jsonrpc2.Conn
	dispatch *dispatcher

	base      context.Context // of all requests
	cancel    context.CancelFunc
	listening context.Context // until the input ends
	deafen    context.CancelFunc

	once   sync.Once
	ending chan ending // has at most one
}

// ending is why a connection ends and how.
type ending struct {
	code  int
	cause error         // logged, if any
	wait  time.Duration // for requests in flight
	quick bool          // exit without shutdown: the client is in a hurry
	mute  bool          // what is not done by then is not answered
}

// Serve speaks to one client until it leaves, ctx ends or the connection
// breaks, closes the backend, and returns the exit code for the process: 0
// after shutdown and exit, at a clean end of input, when the client's process
// is gone and when ctx ended; 1 after exit without shutdown and when the
// connection broke.
//
// It closes in and out, if they can be closed, before it returns; a read that
// this does not wake (a terminal, some pipes) is left behind.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opts Options) (exitCode int) {
	s, err := newServer(in, out, opts)
	if err != nil {
		newLogger(&logGate{}, opts.Log).Error("cannot serve", "error", err)
		return 1
	}
	go s.out.run()
	s.conn.Go(context.Background(), s.handle)
	var end ending
	select {
	case end = <-s.ending:
	case <-ctx.Done():
		s.finish(ending{wait: s.timeouts.Grace, mute: opts.Handover})
		end = <-s.ending
	}
	s.close(end)
	closeStream(in)
	closeStream(out)
	return end.code
}

func newServer(in io.Reader, out io.Writer, opts Options) (*server, error) {
	if opts.Backend == nil {
		return nil, errors.New("serve: no backend")
	}
	if opts.Methods == nil {
		opts.Methods = wire.Methods()
	}
	if opts.Process == nil {
		opts.Process = probeProcess
	}
	limits := opts.Limits.withDefaults()
	s := &server{options: opts, timeouts: opts.Timeouts.withDefaults(), codec: newCodec(), gate: &logGate{}, ending: make(chan ending, 1), greeting: newForm(reflect.TypeFor[initializeParams]())}
	s.log = newLogger(s.gate, opts.Log)
	s.base, s.cancel = context.WithCancel(context.Background())
	s.listening, s.deafen = context.WithCancel(context.Background())
	s.out = newOutbox(out, limits, s.timeouts.Write, func(err error) { s.finish(ending{code: 1, cause: err, wait: s.timeouts.Grace}) })
	s.stream = &stream{
		out: s.out, limits: limits, codec: s.codec, log: s.log, base: s.base,
		ended: s.inputEnded, stop: make(chan struct{}), flights: map[jsonrpc2.ID]*flight{},
	}
	s.stream.timers = frameTimer{limit: s.timeouts.Frame, expire: func() {
		s.finish(ending{code: 1, cause: errors.New("framing: the rest of a frame did not come"), wait: s.timeouts.Grace})
	}}
	s.stream.framer = newFramer(in, limits, s.stream.timers.wait)
	d, err := newDispatcher(opts.Methods, opts.Backend.Handlers())
	if err != nil {
		return nil, err
	}
	d.limits, d.codec, d.log, d.life, d.stream, d.onPanic = limits, s.codec, s.log, &s.life, s.stream, opts.OnPanic
	d.slots = make(chan struct{}, limits.InFlight)
	s.dispatch = d
	s.conn = jsonrpc2.NewConn(s.stream, jsonrpc2.WithCodec(s.codec), jsonrpc2.WithPreempter(s))
	return s, nil
}

// finish asks for the end; only the first reason counts.
func (s *server) finish(e ending) { s.once.Do(func() { s.ending <- e }) }

// inputEnded is told by the stream that nothing more will be read.
func (s *server) inputEnded(err error) {
	s.deafen()
	end := ending{cause: err, wait: s.timeouts.Drain}
	if err != nil {
		end.code = 1
	}
	s.finish(end)
}

// close ends the connection in bounded time, whatever the client, the handlers
// and the backend do.
func (s *server) close(end ending) {
	s.gate.close()
	s.deafen()
	if !end.mute {
		s.life.exit() // what comes now is refused, and not just left
	}
	s.stream.quit.Store(true)
	if end.cause != nil {
		s.log.Error("connection ended", "error", end.cause)
	}
	// Writes that run may finish, and what was asked for is answered.
	s.await(s.stream.whenIdle(), end.wait)
	if end.mute {
		s.out.close(s.timeouts.Grace)
	}
	s.cancel()
	if end.wait > s.timeouts.Grace {
		s.await(s.stream.whenIdle(), s.timeouts.Grace)
	}
	_ = s.stream.Close()
	limit := s.timeouts.Close
	if end.quick {
		limit = min(limit, s.timeouts.Grace)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		defer func() {
			if r := recover(); r != nil {
				s.dispatch.panicked("close", r)
			}
		}()
		if err := s.options.Backend.Close(ctx); err != nil {
			s.log.Error("close failed", "error", err)
		}
	}()
	s.out.close(limit)
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

func (s *server) await(done <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// Preempt implements [jsonrpc2.Preempter] on the read loop: what must not wait
// behind anything.
func (s *server) Preempt(_ context.Context, req *jsonrpc2.Request) (any, error) {
	if req.IsCall() {
		return nil, jsonrpc2.ErrNotHandled
	}
	switch req.Method() {
	case "$/cancelRequest":
		s.dispatch.cancel(json.RawMessage(req.Params()))
	case "exit":
		code, orderly := s.life.exit()
		s.stream.quit.Store(true)
		s.finish(ending{code: code, wait: s.timeouts.Grace, quick: !orderly})
	default:
		return nil, jsonrpc2.ErrNotHandled
	}
	return struct{}{}, nil
}

// handle implements [jsonrpc2.Handler]. Errors of requests leave it in their
// wire form, notifications never fail: the library would end the connection.
func (s *server) handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	if !req.IsCall() {
		s.notified(ctx, req)
		return nil, nil
	}
	f := s.stream.flight(req.ID())
	if f == nil {
		return nil, internal().onWire(s.codec) // cannot be: Read registers it
	}
	var result any
	var err error
	switch req.Method() {
	case "initialize":
		result, err = s.initialize(ctx, f, req)
	case "shutdown":
		result, err = s.shutdown(ctx, f)
	default:
		result, err = s.dispatch.request(ctx, f, req)
	}
	if err != nil {
		var problem *Error
		if !errors.As(err, &problem) {
			problem = internal()
		}
		return nil, problem.onWire(s.codec)
	}
	return result, nil
}

// notified serves the notifications of the lifecycle and the table.
func (s *server) notified(ctx context.Context, req *jsonrpc2.Request) {
	switch req.Method() {
	case "initialized":
		if s.life.confirm() {
			s.listen()
		}
	case "$/setTrace":
		var params protocol.SetTraceParams
		if s.codec.Unmarshal(req.Params(), &params) == nil {
			s.gate.verbose.Store(params.Value == protocol.TraceValueVerbose)
		}
	case didChangeConfiguration:
		s.configured(ctx, req)
	default:
		s.dispatch.event(ctx, req)
	}
}

// listen sends the log to the client from now on.
func (s *server) listen() {
	s.gate.open(func(kind protocol.MessageType, text string) {
		// A line that does not fit is dropped and counted.
		_ = s.logMessage(kind, text)
	})
}

// shutdown answers when every write before it is done.
func (s *server) shutdown(ctx context.Context, f *flight) (any, error) {
	if problem := s.life.shutdown(); problem != nil {
		return nil, problem
	}
	f.ticket = s.dispatch.lane.take(true)
	jsonrpc2.Async(ctx)
	defer f.ticket.finish()
	if f.ticket.settled(f.ctx) != nil {
		return nil, s.dispatch.ended(f)
	}
	return nil, nil
}

func closeStream(stream any) {
	if c, ok := stream.(io.Closer); ok {
		_ = c.Close()
	}
}
