package rpc

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"go.lsp.dev/protocol"
)

// logGate decides where log records go: to the handler that cmd gave until the
// client listens, then to the client, and back again when the connection ends.
type logGate struct {
	send    atomic.Pointer[func(protocol.MessageType, string)]
	verbose atomic.Bool // the client set $/setTrace to verbose
	mu      sync.Mutex
}

func (g *logGate) open(send func(protocol.MessageType, string)) { g.send.Store(&send) }

func (g *logGate) close() { g.send.Store(nil) }

// logRelay is the slog.Handler over a logGate.
type logRelay struct {
	gate   *logGate
	direct slog.Handler
	steps  []func(slog.Handler) slog.Handler // WithAttrs and WithGroup so far
}

var _ slog.Handler = (*logRelay)(nil)

func newLogger(gate *logGate, direct slog.Handler) *slog.Logger {
	if direct == nil {
		direct = slog.DiscardHandler
	}
	return slog.New(&logRelay{gate: gate, direct: direct})
}

// Enabled implements [slog.Handler]. Debug records reach a client only when it
// asked for a verbose trace.
func (r *logRelay) Enabled(ctx context.Context, level slog.Level) bool {
	if r.gate.send.Load() == nil {
		return r.direct.Enabled(ctx, level)
	}
	return level >= slog.LevelInfo || r.gate.verbose.Load()
}

// Handle implements [slog.Handler].
func (r *logRelay) Handle(ctx context.Context, record slog.Record) error {
	send := r.gate.send.Load()
	if send == nil {
		r.gate.mu.Lock()
		defer r.gate.mu.Unlock()
		return r.direct.Handle(ctx, record)
	}
	var text bytes.Buffer
	var line slog.Handler = slog.NewTextHandler(&text, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
				return slog.Attr{}
			}
			return a
		},
	})
	for _, step := range r.steps {
		line = step(line)
	}
	if err := line.Handle(ctx, record); err != nil {
		return err
	}
	(*send)(messageType(record.Level), strings.TrimSpace(record.Message+" "+text.String()))
	return nil
}

// WithAttrs implements [slog.Handler].
func (r *logRelay) WithAttrs(attrs []slog.Attr) slog.Handler {
	return r.with(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup implements [slog.Handler].
func (r *logRelay) WithGroup(name string) slog.Handler {
	return r.with(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (r *logRelay) with(step func(slog.Handler) slog.Handler) slog.Handler {
	steps := append(r.steps[:len(r.steps):len(r.steps)], step)
	return &logRelay{gate: r.gate, direct: step(r.direct), steps: steps}
}

func messageType(level slog.Level) protocol.MessageType {
	switch {
	case level >= slog.LevelError:
		return protocol.MessageTypeError
	case level >= slog.LevelWarn:
		return protocol.MessageTypeWarning
	case level >= slog.LevelInfo:
		return protocol.MessageTypeInfo
	}
	return protocol.MessageTypeLog
}
