package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"hexapla/session"
)

// Host is what the connections of one process share: the open workspaces, and
// who is to be told of what happens in them.
type Host struct {
	workspaces *session.Workspaces

	mu      sync.Mutex
	clients []*backend // in the order in which they were initialized
}

// NewHost returns a host without clients.
func NewHost(opts BackendOptions) *Host {
	log := opts.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Host{workspaces: session.NewWorkspaces(session.Options{
		DataDir: opts.DataDir, Now: opts.Now, NoIndex: opts.NoIndex, Random: opts.Random, Settings: opts.Settings, ModelCaches: opts.ModelCaches,
		Logf: func(format string, args ...any) { log.Warn(fmt.Sprintf(format, args...)) },
	})}
}

// Backend returns the backend of one more client. Closing it lets go of what the
// client has open and leaves the rest.
func (h *Host) Backend() Backend { return &backend{host: h} }

// Close closes all workspaces. It returns when ctx ends.
func (h *Host) Close(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- h.workspaces.Close() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Workspaces returns how many workspaces are open.
func (h *Host) Workspaces() int { return h.workspaces.Len() }

func (h *Host) join(b *backend) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients = append(h.clients, b)
}

func (h *Host) leave(b *backend) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at := slices.Index(h.clients, b); at >= 0 {
		h.clients = slices.Delete(h.clients, at, at+1)
	}
}

// publish tells every client that has the workspace open.
func (h *Host) publish(workspace, method string, params any) {
	h.mu.Lock()
	clients := slices.Clone(h.clients)
	h.mu.Unlock()
	for _, b := range clients {
		if b.service.Has(workspace) {
			b.tell(method, params)
		}
	}
}
