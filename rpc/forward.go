package rpc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"hexapla/rpc/wire"
)

// Upstream is a connection to a server that a forwarder speaks to.
type Upstream struct {
	Conn   io.ReadWriteCloser // closing it wakes its readers and writers
	Notice string             // what people should know of it, for the log; "" for nothing
}

// ForwardOptions are what a forwarder is made of.
type ForwardOptions struct {
	// Connect finds or starts a server. It is called at the start, and when the
	// connection was lost and the client wants something. An *Error answers the
	// requests that wait, and the next one has it called again; after any other
	// error the forwarder ends.
	Connect func(ctx context.Context) (Upstream, error)
	// Log takes what people should know while no client listens; nil discards.
	Log slog.Handler
	// Silence is how long a server that owes an answer may be silent, to a
	// question after its health too, before it counts as unresponsive; 10 s.
	Silence  time.Duration
	Process  ProcessProbe // looks at the client's process; the OS when nil
	Limits   Limits
	Timeouts Timeouts
}

// maxSends is how often a request is sent: one that so many servers in a row did
// not survive is answered with an error, lest it ends all that follow.
const maxSends = 5

// Forward passes messages between a client and a server that it can lose: it
// keeps what is not answered and sends it again to the next one, behind
// initialize and the sessions that were open. A read is sent as it was. So is a
// write, which has an idempotency key; where the client gave none, Forward makes
// one, so that nothing takes effect twice.
//
// Of a message it reads the envelope, the key of a write, and what initialize
// and session/open say; what is malformed is answered here as Serve would.
// Forward ends as Serve does, with the same exit codes.
func Forward(ctx context.Context, in io.Reader, out io.Writer, opts ForwardOptions) (exitCode int) {
	f := newForwarder(in, out, opts)
	go f.out.run()
	go f.readClient()
	f.mu.Lock()
	f.connect()
	f.mu.Unlock()
	var end ending
	select {
	case end = <-f.ending:
	case <-ctx.Done():
		f.finish(ending{wait: f.timeouts.Grace})
		end = <-f.ending
	}
	f.close(end)
	closeStream(in)
	closeStream(out)
	return end.code
}

type forwarder struct {
	options  ForwardOptions
	limits   Limits
	timeouts Timeouts
	codec    codec
	gate     *logGate
	log      *slog.Logger
	out      *outbox // to the client
	stream   *stream // from the client
	classes  map[string]wire.Class
	nonce    string // in the keys made here
	base     context.Context
	cancel   context.CancelFunc

	once   sync.Once
	ending chan ending // has at most one

	mu         sync.Mutex // guards what follows
	link       *link      // nil while there is no server
	connecting bool
	deaf       bool // the client's input ended
	closing    bool
	newest     int64              // number of the newest request
	waiting    map[int64]*waiting // requests without an answer, by number
	past       past
	notice     string
	watchdog   watchdog
}

// waiting is a request that is not answered.
type waiting struct {
	number    int64
	id        jsonrpc2.ID // the client's
	method    string
	write     bool
	params    json.RawMessage // of initialize and session/open alone
	frame     []byte
	sent      int
	cancelled bool
	internal  bool // asked by the forwarder: the answer is not passed on
}

func newForwarder(in io.Reader, out io.Writer, opts ForwardOptions) *forwarder {
	if opts.Process == nil {
		opts.Process = probeProcess
	}
	if opts.Silence == 0 {
		opts.Silence = 10 * time.Second
	}
	var nonce [8]byte
	rand.Read(nonce[:]) // never fails
	f := &forwarder{
		options: opts, limits: opts.Limits.withDefaults(), timeouts: opts.Timeouts.withDefaults(), codec: newCodec(), gate: &logGate{},
		classes: map[string]wire.Class{}, nonce: hex.EncodeToString(nonce[:]),
		ending: make(chan ending, 1), waiting: map[int64]*waiting{},
	}
	for _, m := range wire.Methods() {
		f.classes[m.Name] = m.Class
	}
	f.log = newLogger(f.gate, opts.Log)
	f.base, f.cancel = context.WithCancel(context.Background())
	f.out = newOutbox(out, f.limits, f.timeouts.Write, func(err error) { f.finish(ending{code: 1, cause: err, wait: f.timeouts.Grace}) })
	f.stream = &stream{
		out: f.out, limits: f.limits, codec: f.codec, log: f.log, base: f.base, verbatim: true, scan: scanner{raw: true},
		ended: f.inputEnded, stop: make(chan struct{}), flights: map[jsonrpc2.ID]*flight{},
	}
	f.stream.timers = frameTimer{limit: f.timeouts.Frame, expire: func() {
		f.finish(ending{code: 1, cause: errors.New("framing: the rest of a frame did not come"), wait: f.timeouts.Grace})
	}}
	f.stream.framer = newFramer(in, f.limits, f.stream.timers.wait)
	f.watchdog.timer = time.AfterFunc(time.Hour, f.look)
	f.watchdog.timer.Stop()
	return f
}

func (f *forwarder) finish(e ending) { f.once.Do(func() { f.ending <- e }) }

func (f *forwarder) inputEnded(err error) {
	end := ending{cause: err, wait: f.timeouts.Drain}
	if err != nil {
		end.code = 1
	}
	f.mu.Lock()
	f.deaf = true
	l := f.link
	f.mu.Unlock()
	if l != nil {
		go l.endInput(f.timeouts.Drain)
	}
	f.finish(end)
}

// close ends in bounded time: what was asked for is answered, if that is soon.
func (f *forwarder) close(end ending) {
	f.gate.close()
	f.stream.quit.Store(true)
	if end.cause != nil {
		f.log.Error("connection ended", "error", end.cause)
	}
	timer := time.NewTimer(end.wait)
	defer timer.Stop()
	select {
	case <-f.stream.whenIdle():
	case <-timer.C:
	}
	f.mu.Lock()
	f.closing = true
	l := f.link
	f.link = nil
	f.watchdog.timer.Stop()
	f.mu.Unlock()
	f.cancel()
	_ = f.stream.Close() // never fails
	if l != nil {
		l.out.close(f.timeouts.Grace)
		_ = l.conn.Close() // the server sees its end, whatever this says
	}
	f.out.close(f.timeouts.Close)
}

// readClient takes the client's messages until its input ends.
func (f *forwarder) readClient() {
	for {
		message, _, err := f.stream.Read(f.base)
		if err != nil {
			return
		}
		switch m := message.(type) {
		case *jsonrpc2.Call:
			f.request(m)
		case *jsonrpc2.Notification:
			f.notification(m)
		case *jsonrpc2.Response:
			frame := withHeader(jsonrpc2.AppendMessage(make([]byte, headerRoom, 512), m))
			f.mu.Lock()
			f.send(frame)
			f.mu.Unlock()
		}
	}
}

// request keeps a request and sends it.
func (f *forwarder) request(call *jsonrpc2.Call) {
	requests, held := f.stream.load()
	if requests > f.limits.InFlight+f.limits.Queued || held > f.limits.RequestBytes && requests > 1 {
		f.reject(call.ID(), NewError(wire.KindBusy, "too many requests wait"))
		return
	}
	w := &waiting{id: call.ID(), method: call.Method(), write: f.classes[call.Method()] == wire.ClassWrite}
	params := json.RawMessage(call.Params())
	switch w.method {
	case "initialize":
		w.params = slices.Clone(params)
		f.watchClient(params)
	case wire.MethodSessionOpen:
		w.params = slices.Clone(params)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.method == "shutdown" && f.idle() {
		// All that was asked is answered; no server is started for this.
		f.past.shutdown = true
		_ = f.stream.answer(w.id, jsonrpc2.AppendResponse(make([]byte, headerRoom, 128), w.id, jsonrpc2.RawMessage("null"), nil))
		return
	}
	f.newest++
	w.number = f.newest
	if w.write && !dropKeys {
		params = withKey(params, "forwarded-"+f.nonce+"-", w.number)
	}
	w.frame = requestFrame(w.number, w.method, params)
	f.waiting[w.number] = w
	if f.link != nil {
		w.sent++
		f.send(w.frame)
		f.guard()
		return
	}
	f.connect()
}

// idle reports whether the client was greeted, the server is gone, and nothing
// waits for the next. The lock is held.
func (f *forwarder) idle() bool {
	return f.past.greeting != nil && f.link == nil && !f.connecting && len(f.waiting) == 0
}

// shuttingDown reports whether a shutdown waits for its answer: clients may send
// exit right behind it. The lock is held.
func (f *forwarder) shuttingDown() bool {
	for _, w := range f.waiting {
		if w.method == "shutdown" {
			return true
		}
	}
	return false
}

func requestFrame(number int64, method string, params []byte) []byte {
	return withHeader(jsonrpc2.AppendCall(make([]byte, headerRoom, headerRoom+96+len(method)+len(params)), jsonrpc2.NewNumberID(number), method, params))
}

// reject answers a request that the server will not answer.
func (f *forwarder) reject(id jsonrpc2.ID, problem *Error) {
	// When the outbox is closed, there is nobody to tell.
	_ = f.stream.answer(id, jsonrpc2.AppendResponse(make([]byte, headerRoom, 512), id, nil, problem.onWire(f.codec)))
}

// watchClient looks after the process that initialize names.
func (f *forwarder) watchClient(params json.RawMessage) {
	var p struct {
		ProcessID json.RawMessage `json:"processId"`
	}
	var pid int
	if json.Unmarshal(params, &p) != nil || json.Unmarshal(p.ProcessID, &pid) != nil || pid <= 0 || pid == os.Getpid() {
		return // the server says what is wrong with it
	}
	if !watchProcess(f.options.Process, pid, f.timeouts.Process, f.base.Done(), func() { f.finish(ending{wait: f.timeouts.Grace}) }) {
		f.log.Debug("the client's process is not visible; not watching it")
	}
}

// notification passes on a notification and remembers what a next server must
// know.
func (f *forwarder) notification(n *jsonrpc2.Notification) {
	frame := withHeader(jsonrpc2.AppendMessage(make([]byte, headerRoom, 256), n))
	f.mu.Lock()
	defer f.mu.Unlock()
	switch n.Method() {
	case "exit":
		f.send(frame)
		f.stream.quit.Store(true)
		end := ending{code: 1, wait: f.timeouts.Grace, quick: true}
		switch {
		case f.past.shutdown:
			end.code, end.quick = 0, false
		case f.shuttingDown(): // the answer may need a daemon to be started first
			end = ending{wait: f.options.Silence}
		}
		f.finish(end)
		return
	case "$/cancelRequest":
		f.cancelRequest(json.RawMessage(n.Params()))
		return
	case "initialized":
		f.past.confirmed = true
		f.gate.open(func(kind protocol.MessageType, text string) { _ = offerLog(f.out, f.codec, kind, text) })
		if f.notice != "" {
			_ = offerLog(f.out, f.codec, protocol.MessageTypeWarning, f.notice)
			f.notice = ""
		}
	case "$/setTrace":
		f.past.trace = slices.Clone(frame)
	case didChangeConfiguration:
		f.past.settings = slices.Clone(frame)
	}
	f.send(frame)
}

// cancelRequest passes a cancellation on under the number of its request.
func (f *forwarder) cancelRequest(params json.RawMessage) {
	s := scanner{text: params, limit: f.limits.Depth, raw: true}
	if len(params) == 0 || params[0] != '{' {
		return
	}
	env, _, err := s.envelope(0)
	if err != nil {
		return
	}
	id, ok := parseID(env.id)
	if !ok {
		return
	}
	for _, w := range f.waiting {
		if w.id == id && !w.internal {
			w.cancelled = true
			f.send(w.cancellation())
			return
		}
	}
}

func (w *waiting) cancellation() []byte {
	params := append(strconv.AppendInt([]byte(`{"id":`), w.number, 10), '}')
	return withHeader(jsonrpc2.AppendNotification(make([]byte, headerRoom, 128), "$/cancelRequest", params))
}
