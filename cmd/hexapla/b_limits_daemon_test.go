//go:build linux

package main

import (
	"encoding/json"
	"syscall"
	"testing"

	"hexapla/rpc/wire"
)

// TestB2_SettingsOutliveTheDaemon: what a client set while it was connected counts
// with the next daemon, too.
func TestB2_SettingsOutliveTheDaemon(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	w := p.open(testWorkspace, "s")
	limit := func() int {
		t.Helper()
		var status wire.LimitsStatusResult
		if err := w.Call(w.ctx(), wire.MethodLimitsStatus, wire.LimitsStatusParams{LimitTarget: wire.LimitTarget{Session: "s"}}, &status); err != nil {
			t.Fatal(err)
		}
		return status.Limit
	}
	if err := w.Notify(w.ctx(), "workspace/didChangeConfiguration", json.RawMessage(`{"settings":{"hexapla":{"context_config":{"default_limit":7000}}}}`)); err != nil {
		t.Fatal(err)
	}
	if got := limit(); got != 7000 {
		t.Errorf("limit %d", got)
	}
	for _, pid := range p.daemons() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if got := limit(); got != 7000 {
		t.Errorf("limit %d after another daemon took over", got)
	}
	w.leave()
}
