package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"

	"hexapla/rpc/wire"
)

// link is a forwarder's connection to one server.
type link struct {
	conn  io.ReadWriteCloser
	out   *outbox
	heard atomic.Int64 // messages
}

// endInput lets the server see the end of its input, behind what is queued: the
// client has gone, and what it asked for may still be answered.
func (l *link) endInput(limit time.Duration) {
	l.out.close(limit)
	if half, ok := l.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // a broken connection has ended anyway
	}
}

// past is what the next server must be told before requests are sent again.
type past struct {
	greeting  json.RawMessage // parameters of the initialize that succeeded
	confirmed bool            // the client sent initialized
	trace     []byte          // frame of the newest $/setTrace
	settings  []byte          // frame of the newest workspace/didChangeConfiguration
	sessions  []reopening     // in the order in which they were opened
	shutdown  bool            // shutdown succeeded
}

// reopening is the session/open that makes a session known to the next server.
type reopening struct {
	session string
	params  json.RawMessage
}

// maxReopened bounds the sessions that are remembered; the oldest is forgotten.
const maxReopened = 1024

// connect sees to it that there is a server. The lock is held.
func (f *forwarder) connect() {
	if f.link != nil || f.connecting || f.closing {
		return
	}
	f.connecting = true
	go func() {
		up, err := f.options.Connect(f.base)
		f.mu.Lock()
		f.connecting = false
		if err == nil && f.closing {
			f.mu.Unlock()
			_ = up.Conn.Close() // nothing was sent on it
			return
		}
		if err == nil {
			f.attach(up)
			f.mu.Unlock()
			return
		}
		var problem *Error
		final := !errors.As(err, &problem)
		if final {
			problem = NewError(wire.KindDaemonUnresponsive, "no server can be had")
			problem.Data.Retryable = false
		}
		lost := f.takeWaiting(func(*waiting) bool { return true })
		f.mu.Unlock()
		f.rejectAll(lost, problem)
		if final && f.base.Err() == nil {
			f.finish(ending{code: 1, cause: err, wait: f.timeouts.Grace})
		}
	}()
}

// attach begins to speak to a server: first what was said to the one before,
// then what is not answered. The lock is held.
func (f *forwarder) attach(up Upstream) {
	l := &link{conn: up.Conn}
	// What is sent is kept as well, and bounded there.
	unbounded := f.limits
	unbounded.OutboxMessages, unbounded.OutboxBytes = math.MaxInt, math.MaxInt64
	l.out = newOutbox(up.Conn, unbounded, f.timeouts.Write, func(error) { f.lost(l) })
	f.link = l
	if up.Notice != "" {
		f.log.Warn(up.Notice)
		if !f.past.confirmed {
			f.notice = up.Notice // again, when the client listens
		}
	}
	initialized := withHeader(jsonrpc2.AppendNotification(make([]byte, headerRoom, 128), "initialized", jsonrpc2.RawMessage("{}")))
	if f.past.greeting != nil {
		f.ask("initialize", f.past.greeting)
		if f.past.confirmed {
			f.send(initialized)
		}
		if f.past.trace != nil {
			f.send(f.past.trace)
		}
		if f.past.settings != nil {
			f.send(f.past.settings)
		}
		for _, s := range f.past.sessions {
			f.ask(wire.MethodSessionOpen, s.params)
		}
	}
	for _, w := range f.inOrder() {
		if w.internal {
			continue
		}
		w.sent++
		f.send(w.frame)
		if w.cancelled {
			f.send(w.cancellation())
		}
	}
	if f.past.greeting == nil && f.past.confirmed {
		f.send(initialized) // the client did not wait for the answer
	}
	go l.out.run()
	go f.readServer(l)
	if f.deaf {
		go l.endInput(f.timeouts.Drain)
	}
	f.guard()
}

// ask sends a request of the forwarder's own. The lock is held.
func (f *forwarder) ask(method string, params []byte) {
	f.newest++
	w := &waiting{number: f.newest, method: method, internal: true, sent: 1}
	f.waiting[w.number] = w
	f.send(requestFrame(w.number, method, params))
}

// send queues a frame for the server, if there is one. The lock is held; the
// queue has no bound, so this does not wait.
func (f *forwarder) send(frame []byte) {
	if f.link != nil {
		_ = f.link.out.put(frame) // a broken link is noticed by who reads or writes it
	}
}

// inOrder returns the requests without an answer, oldest first.
func (f *forwarder) inOrder() []*waiting {
	list := make([]*waiting, 0, len(f.waiting))
	for _, w := range f.waiting {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b *waiting) int { return int(a.number - b.number) })
	return list
}

// takeWaiting removes requests and returns those of the client, oldest first.
func (f *forwarder) takeWaiting(which func(*waiting) bool) []*waiting {
	var taken []*waiting
	for _, w := range f.inOrder() {
		if which(w) {
			delete(f.waiting, w.number)
			if !w.internal {
				taken = append(taken, w)
			}
		}
	}
	return taken
}

// rejectAll answers requests with an error. Whether a write that was sent took
// effect is not known.
func (f *forwarder) rejectAll(requests []*waiting, problem *Error) {
	for _, w := range requests {
		own := *problem
		if w.write && w.sent > 0 {
			own.Data.Committed = wire.CommittedUnknown
		}
		f.reject(w.id, &own)
	}
}

// lost is told that a link is broken. What waits is sent to the next server;
// without anything that waits, the client's next message finds one.
func (f *forwarder) lost(l *link) {
	f.mu.Lock()
	if f.link != l {
		f.mu.Unlock()
		return
	}
	f.link = nil
	f.takeWaiting(func(w *waiting) bool { return w.internal })
	spent := f.takeWaiting(func(w *waiting) bool { return w.sent >= maxSends })
	var orphaned []*waiting
	if f.deaf {
		orphaned = f.takeWaiting(func(*waiting) bool { return true })
	} else if len(f.waiting) > 0 {
		f.connect()
	}
	f.mu.Unlock()
	f.rejectAll(orphaned, NewError(wire.KindBusy, "the connection is ending"))
	_ = l.conn.Close() // it is broken already
	l.out.breakDown(io.ErrClosedPipe)
	if len(spent) > 0 {
		problem := internal()
		f.log.Error("servers ended with a request", "incident", problem.Data.Incident, "servers", maxSends, "method", spent[0].method)
		f.rejectAll(spent, problem)
	}
}

// readServer takes a server's messages until the connection ends.
func (f *forwarder) readServer(l *link) {
	defer f.lost(l)
	limits := f.limits
	limits.SoftFrame, limits.HardFrame = math.MaxInt64, math.MaxInt64
	frames := newFramer(l.conn, limits, func(bool) {})
	for {
		body, refused, err := frames.next()
		if err != nil || refused != nil {
			return
		}
		l.heard.Add(1)
		frames.inStep()
		number, rest, ok := splitResponse(body)
		if !ok {
			_ = f.out.put(withHeader(append(make([]byte, headerRoom, headerRoom+len(body)), body...)))
			continue
		}
		f.answered(number, rest)
	}
}

// splitResponse takes the number off a response, as our servers write it: rest
// begins with the comma behind it. Other messages are not ok.
func splitResponse(body []byte) (number int64, rest []byte, ok bool) {
	rest, ok = bytes.CutPrefix(body, []byte(`{"jsonrpc":"2.0","id":`))
	if !ok {
		return 0, nil, false
	}
	comma := bytes.IndexByte(rest, ',')
	if comma < 0 {
		return 0, nil, false
	}
	number, err := strconv.ParseInt(string(rest[:comma]), 10, 64)
	rest = rest[comma:]
	return number, rest, err == nil && !bytes.HasPrefix(rest, []byte(`,"method":`))
}

// answered passes a response on under the client's id.
func (f *forwarder) answered(number int64, rest []byte) {
	f.mu.Lock()
	w := f.waiting[number]
	delete(f.waiting, number)
	if w != nil {
		f.remember(w, rest)
	}
	f.mu.Unlock()
	if w == nil || w.internal {
		return
	}
	const nothing = `,"result":0}`
	frame := jsonrpc2.AppendResponse(make([]byte, headerRoom, headerRoom+64+len(rest)), w.id, jsonrpc2.RawMessage("0"), nil)
	frame = append(frame[:len(frame)-len(nothing)], rest...)
	_ = f.stream.answer(w.id, frame) // when the outbox is closed, there is nobody to tell
}

// remember keeps of a response what a next server must know. The lock is held.
func (f *forwarder) remember(w *waiting, rest []byte) {
	result, ok := bytes.CutPrefix(rest, []byte(`,"result":`))
	switch {
	case !ok && w.internal && w.method == "initialize":
		// The next server does not take what the one before took.
		f.finish(ending{code: 1, cause: errors.New("the new server refused the client"), wait: f.timeouts.Grace})
	case !ok || w.internal:
	case w.method == "initialize":
		if f.past.greeting = w.params; f.past.greeting == nil {
			f.past.greeting = json.RawMessage("{}")
		}
	case w.method == "shutdown":
		f.past.shutdown = true
	case w.method == wire.MethodSessionOpen:
		f.opened(w.params, bytes.TrimSuffix(result, []byte("}")))
	}
}

// opened keeps what opens a session again, as it is.
func (f *forwarder) opened(asked, result json.RawMessage) {
	var p struct {
		Workspace json.RawMessage `json:"workspace"`
		Session   string          `json:"session"`
		Model     string          `json:"model,omitempty"`
	}
	var r wire.SessionOpenResult
	if json.Unmarshal(asked, &p) != nil || json.Unmarshal(result, &r) != nil {
		return
	}
	p.Session = r.Session
	params, err := json.Marshal(p)
	if err != nil {
		return
	}
	f.past.sessions = slices.DeleteFunc(f.past.sessions, func(s reopening) bool { return s.session == r.Session })
	if len(f.past.sessions) == maxReopened {
		f.past.sessions = slices.Delete(f.past.sessions, 0, 1)
	}
	f.past.sessions = append(f.past.sessions, reopening{r.Session, params})
}

// watchdog notices a server that owes an answer and says nothing.
type watchdog struct {
	timer *time.Timer
	armed bool
	asked bool  // the server was asked after its health
	mark  int64 // what was heard when the timer was set
}

// guard sets the watchdog on the link. The lock is held.
func (f *forwarder) guard() {
	d := &f.watchdog
	if d.armed || f.link == nil || len(f.waiting) == 0 {
		return
	}
	d.armed, d.asked, d.mark = true, false, f.link.heard.Load()
	d.timer.Reset(f.options.Silence / 2)
}

// look is called after half the time of silence: the server is asked for a sign
// of life, which any answer is, and given up if there is none by the second time.
func (f *forwarder) look() {
	f.mu.Lock()
	d, l := &f.watchdog, f.link
	d.armed = false
	if l == nil || f.closing {
		f.mu.Unlock()
		return
	}
	if l.heard.Load() != d.mark || !d.asked {
		asked := l.heard.Load() == d.mark
		f.guard()
		if d.asked = asked && d.armed; d.asked {
			f.ask("$/alive", nil) // unknown to the server, which says so at once
		}
		f.mu.Unlock()
		return
	}
	f.link = nil
	lost := f.takeWaiting(func(*waiting) bool { return true })
	f.mu.Unlock()
	_ = l.conn.Close() // what is owed is answered here
	l.out.breakDown(io.ErrClosedPipe)
	f.rejectAll(lost, NewError(wire.KindDaemonUnresponsive, "the daemon does not answer"))
}

// withKey returns a write's parameters with an idempotency key: the client's,
// or one made of prefix and number.
func withKey(params json.RawMessage, prefix string, number int64) json.RawMessage {
	key := append(strconv.AppendInt(append([]byte{'"'}, prefix...), number, 10), '"')
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	s := scanner{text: params, raw: true, limit: math.MaxInt}
	from, to, empty, ok := s.member("key")
	switch {
	case !ok:
		return params // no object; the server refuses it
	case to > 0 && string(params[from:to]) != "null" && string(params[from:to]) != `""`:
		return params
	case to > 0:
		return slices.Concat(params[:from], key, params[to:])
	case empty:
		return slices.Concat([]byte(`{"key":`), key, []byte(`}`))
	}
	open := bytes.IndexByte(params, '{') + 1
	return slices.Concat(params[:open], []byte(`"key":`), key, []byte(`,`), params[open:])
}
