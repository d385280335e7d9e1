package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"hexapla/rpc/wire"
)

var (
	// ErrNotSent means that a notification was dropped because the client does
	// not read fast enough.
	ErrNotSent = errors.New("notify: the client does not keep up")
	// ErrClientGone means that a call to the client cannot be answered any
	// more.
	ErrClientGone = errors.New("call: the client is gone")
)

// Peer is the client as the backend sees it. It is safe for concurrent use and
// may be kept as long as the backend lives.
type Peer struct{ s *server }

// Notify sends a notification behind everything that was sent before. It never
// blocks: before the client confirmed initialize, and while too much waits to
// be read, it drops the notification and returns ErrNotSent.
func (p *Peer) Notify(method string, params any) error {
	if p.s.life.current() != StateInitialized {
		return ErrNotSent
	}
	raw, err := p.s.codec.Marshal(params)
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return p.s.notify(method, raw)
}

// Call sends a request to the client and waits for the answer, which is
// decoded into result. It returns an *Error when the client answers with one,
// ErrClientGone when it cannot answer, or the context's error. It must not be
// called by a write's handler: the answer would hold up all writes.
func (p *Peer) Call(ctx context.Context, method string, params, result any) error {
	if p.s.life.current() != StateInitialized {
		return ErrClientGone
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(p.s.listening, cancel)
	defer stop()
	_, err := p.s.conn.Call(ctx, method, params, result)
	switch {
	case err == nil:
		return nil
	case p.s.listening.Err() != nil,
		errors.Is(err, jsonrpc2.ErrClientClosing), errors.Is(err, errOutboxClosed):
		return ErrClientGone
	}
	return fromWire(p.s.codec, err)
}

// Log returns the logger of the connection: to the client once it listens, to
// the handler in Options before. Never log content.
func (p *Peer) Log() *slog.Logger { return p.s.log }

// Latencies returns the distribution of each method's latency on this
// connection, in the order of the method table; methods never called are left
// out.
func (p *Peer) Latencies() []wire.Latency { return p.s.dispatch.latencies() }

// Counts are totals of a connection.
type Counts struct {
	UnknownFields int64 // fields of parameters that no method knows
	Busy          int64 // requests refused with busy
	Panics        int64
	Cancelled     int64
	InFlight      int64 // requests that run or wait, now
}

// Counts returns the connection's totals.
func (p *Peer) Counts() Counts {
	c, s := &p.s.dispatch.counts, p.s
	open, _ := s.stream.load()
	return Counts{
		UnknownFields: c.unknown.Load(),
		Busy:          c.busy.Load(),
		Panics:        c.panics.Load(),
		Cancelled:     c.cancelled.Load(),
		InFlight:      int64(open),
	}
}

// notify queues a notification. What was dropped before is told first.
func (s *server) notify(method string, params []byte) error {
	frame, err := notification(method, params)
	if err != nil {
		return err
	}
	if n := s.out.takeDropped(); n > 0 {
		told := s.logMessage(protocol.MessageTypeWarning, fmt.Sprintf("%d notifications were dropped: the client does not keep up", n))
		if told != nil {
			s.out.addDropped(n - 1) // the message counted itself
		}
	}
	return s.out.offer(frame)
}

// logMessage sends window/logMessage.
func (s *server) logMessage(kind protocol.MessageType, text string) error {
	return offerLog(s.out, s.codec, kind, text)
}

// offerLog queues window/logMessage.
func offerLog(out *outbox, c codec, kind protocol.MessageType, text string) error {
	params, err := c.Marshal(protocol.LogMessageParams{Type: kind, Message: text})
	if err != nil {
		return err
	}
	frame, err := notification("window/logMessage", params)
	if err != nil {
		return err
	}
	return out.offer(frame)
}
