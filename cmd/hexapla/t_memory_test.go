package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// agentChild starts a server with a session s of the agent alpha.
func agentChild(t *testing.T, dir string) *child {
	t.Helper()
	c := startChild(t, dir)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s", Agent: "alpha"})
	return c
}

func saveItems(c *child, agent string, items ...wire.MemoryDraft) wire.MemorySaveResult {
	c.t.Helper()
	return call[wire.MemorySaveResult](c, wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Agent: agent, Items: items})
}

func contentsOf(c *child, agent string) (out []string) {
	c.t.Helper()
	for _, item := range call[wire.MemoryLoadResult](c, wire.MethodMemoryLoad, wire.MemoryLoadParams{Session: "s", Agent: agent, Tiers: []string{"HOT", "WARM", "COLD"}, Peek: true}).Items {
		out = append(out, item.ID+" "+item.Type+" "+item.Content)
	}
	return out
}

// denied calls a method that is to fail, and returns what the error says.
func denied(c *child, method string, params any) wire.ErrorData {
	c.t.Helper()
	var remote *rpc.Error
	err := c.Call(c.t.Context(), method, params, new(struct{}))
	if !errors.As(err, &remote) {
		c.t.Fatalf("%s: %v", method, err)
	}
	return remote.Data
}

// TestT1_ItemsAreTheAgentsOwn: items of an agent are its own, survive a restart,
// can be changed and removed, and have no secret in them.
func TestT1_ItemsAreTheAgentsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := agentChild(t, dir)
	secret := "ghp_" + strings.Repeat("aB3dE6gH9k", 4)[:36]
	first := saveItems(c, "", wire.MemoryDraft{Type: "TASK", Content: "Pause the timers."}, wire.MemoryDraft{Type: "CODE", Content: "token = " + secret})
	if len(first.Scrubbed) == 0 {
		t.Error("nothing was scrubbed")
	}
	other := saveItems(c, "beta", wire.MemoryDraft{Type: "ERROR", Content: "beta's error"})
	for _, bad := range []any{
		wire.MemorySaveParams{Session: "s", Agent: "beta", Items: []wire.MemoryDraft{{ID: first.Items[0].ID, Type: "TASK", Content: "mine now"}}},
		wire.MemorySaveParams{Session: "s", Agent: "beta", Remove: []string{first.Items[0].ID}},
	} {
		if data := denied(c, wire.MethodMemorySave, bad); data.Kind != wire.KindNotFound {
			t.Errorf("another agent's item: %+v", data)
		}
	}
	if data := denied(c, wire.MethodMemoryLoad, wire.MemoryLoadParams{Session: "s", Agent: "beta", IDs: []string{first.Items[0].ID}}); data.Kind != wire.KindNotFound {
		t.Errorf("another agent's item: %+v", data)
	}
	saveItems(c, "", wire.MemoryDraft{ID: first.Items[0].ID, Type: "TASK", Content: "Pause the timers, then resume them."})
	if got := contentsOf(c, "beta"); !slices.Equal(got, []string{other.Items[0].ID + " ERROR beta's error"}) {
		t.Errorf("beta has %q", got)
	}
	before := contentsOf(c, "")
	if len(before) != 2 || before[0] != first.Items[0].ID+" TASK Pause the timers, then resume them." || strings.Contains(before[1], secret) {
		t.Errorf("alpha has %q", before)
	}
	c.stop()
	c = agentChild(t, dir)
	defer c.stop()
	if after := contentsOf(c, ""); !slices.Equal(after, before) {
		t.Errorf("after a restart alpha has %q, before %q", after, before)
	}
	gone := call[wire.MemorySaveResult](c, wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Remove: []string{first.Items[1].ID}, Key: "r"})
	again := call[wire.MemorySaveResult](c, wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Remove: []string{first.Items[1].ID}, Key: "r"})
	if gone.Removed != 1 || again.Sequence != gone.Sequence || len(contentsOf(c, "")) != 1 {
		t.Errorf("removed: %+v, %+v", gone, again)
	}
}

// TestT1_BadInput: what cannot be saved or asked for is refused with the field and
// the limit, and nothing that is there is lost.
func TestT1_BadInput(t *testing.T) {
	t.Parallel()
	c := agentChild(t, t.TempDir())
	defer c.stop()
	many := make([]wire.MemoryDraft, 1001)
	for i := range many {
		many[i] = wire.MemoryDraft{Type: "CODE", Content: fmt.Sprint("item ", i)}
	}
	for _, bad := range []struct {
		method string
		params any
		kind   wire.Kind
		path   string
		limit  int64
	}{
		{wire.MethodMemorySave, wire.MemorySaveParams{Session: "s"}, wire.KindInvalidParams, "items", 0},
		{wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Items: many}, wire.KindInvalidParams, "items", 1000},
		{wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Items: []wire.MemoryDraft{{Type: "hot", Content: "x"}}}, wire.KindInvalidParams, "items[0].type", 0},
		{wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Items: []wire.MemoryDraft{{Type: "TASK"}}}, wire.KindInvalidParams, "items[0].content", 0},
		{wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Items: []wire.MemoryDraft{{Type: "TASK", Content: strings.Repeat("x ", 40<<10)}}}, wire.KindTooLarge, "items[0].content", 64 << 10},
		{wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Agent: strings.Repeat("a", 257), Items: many[:1]}, wire.KindInvalidParams, "agent", 256},
		{wire.MethodMemoryLoad, wire.MemoryLoadParams{Session: "s", Limit: -1}, wire.KindInvalidParams, "limit", 0},
		{wire.MethodMemoryLoad, wire.MemoryLoadParams{Session: "s", Tiers: []string{"HOT", "LUKEWARM"}}, wire.KindInvalidParams, "tiers[1]", 0},
		{wire.MethodMemoryLoad, wire.MemoryLoadParams{Session: "s", Agent: "nobody"}, wire.KindNotFound, "agent", 0},
		{wire.MethodMemoryRetier, wire.MemoryRetierParams{Session: "s", Agent: "nobody"}, wire.KindNotFound, "agent", 0},
		{wire.MethodMemoryStats, wire.MemoryStatsParams{Session: "s", Agent: "nobody"}, wire.KindNotFound, "agent", 0},
	} {
		if data := denied(c, bad.method, bad.params); data.Kind != bad.kind || data.Path != bad.path || data.Limit != bad.limit {
			t.Errorf("%s: %+v, want %s %s %d", bad.method, data, bad.kind, bad.path, bad.limit)
		}
	}
	for range 10 {
		saveItems(c, "", many[:1000]...)
	}
	for range 3 { // of the 90,000 that follow
		if data := denied(c, wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Items: many[:1000]}); data.Path != "items" || data.Limit != 10_000 {
			t.Errorf("one too many: %+v", data)
		}
	}
	stats := call[wire.MemoryStatsResult](c, wire.MethodMemoryStats, wire.MemoryStatsParams{Session: "s"})
	if len(stats.Agents) != 1 || stats.Agents[0].Items != 10_000 {
		t.Errorf("%+v", stats)
	}
}

// TestT5_Stats: counts and tokens per tier and agent, the list by tier, and an event
// for each change.
func TestT5_Stats(t *testing.T) {
	t.Parallel()
	c := agentChild(t, t.TempDir())
	defer c.stop()
	saved := saveItems(c, "", wire.MemoryDraft{Type: "TASK", Content: "one two three"}, wire.MemoryDraft{Type: "TEST_RESULT", Content: "four"}, wire.MemoryDraft{Type: "PRD_SECTION", Content: "five six"})
	saveItems(c, "beta", wire.MemoryDraft{Type: "TEST_RESULT", Content: "seven"})
	stats := call[wire.MemoryStatsResult](c, wire.MethodMemoryStats, wire.MemoryStatsParams{Session: "s"})
	hot := int64(saved.Items[0].Tokens + saved.Items[2].Tokens)
	if len(stats.Agents) != 2 || stats.Agents[0].Agent != "alpha" || stats.Agents[1].Agent != "beta" || stats.Agents[1].Items != 1 {
		t.Fatalf("%+v", stats)
	}
	if got := stats.Agents[0].Tiers; got[0] != (wire.MemoryTierStats{Tier: "HOT", Items: 2, Tokens: hot}) || got[1].Items != 1 || got[2].Items != 0 {
		t.Errorf("%+v", got)
	}
	warm := call[wire.MemoryLoadResult](c, wire.MethodMemoryLoad, wire.MemoryLoadParams{Session: "s", Tiers: []string{"WARM"}, Peek: true})
	if len(warm.Items) != 1 || warm.Items[0].Content != "four" || warm.Items[0].AccessCount != 0 {
		t.Errorf("%+v", warm)
	}
}
