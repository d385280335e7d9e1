package main

import (
	"crypto/sha256"
	"encoding/hex"
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

// TestT3_HotItemsInPacksOfTheProcess: through the wire, only HOT items of the
// session's agent are in its packs, in a section of their own.
func TestT3_HotItemsInPacksOfTheProcess(t *testing.T) {
	t.Parallel()
	c := agentChild(t, t.TempDir())
	defer c.stop()
	recordAsked(c, "What now?")
	saveItems(c, "beta", wire.MemoryDraft{Type: "TASK", Content: "beta's task"})
	saveItems(c, "", wire.MemoryDraft{Type: "TASK", Content: "Pause the timers."}, wire.MemoryDraft{Type: "TEST_RESULT", Content: "14 passed"})
	_, pack := buildPack(c, 8000, 0, "stable-prefix")
	section := sectionNamed(pack, "memory")
	if len(section.Items) != 1 || section.Layer != -1 || !strings.Contains(pack.Text, "Pause the timers.") || strings.Contains(pack.Text, "14 passed") || strings.Contains(pack.Text, "beta's task") {
		t.Errorf("%+v in %s", section, pack.Text)
	}
}

// TestT4_FlashSave: it is due at 80 % of the limit and not before; then HOT and WARM
// items are saved, COLD ones archived, and the agent goes on with the HOT ones; the
// checkpoint is listed, restored and compared with, also after a restart.
func TestT4_FlashSave(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := agentChild(t, dir)
	flash := func(p wire.MemoryFlashSaveParams) wire.MemoryFlashSaveResult {
		p.Session = "s"
		return call[wire.MemoryFlashSaveResult](c, wire.MethodMemoryFlashSave, p)
	}
	first := saveItems(c, "", wire.MemoryDraft{Type: "TASK", Content: "Pause the timers."}, wire.MemoryDraft{Type: "TEST_RESULT", Content: "14 passed"})
	early := flash(wire.MemoryFlashSaveParams{Tokens: 79_999, Limit: 100_000})
	if early.Due || early.Percent != 79 || early.Checkpoint != nil || early.Sequence != first.Sequence {
		t.Errorf("at 79 %%: %+v", early)
	}
	due := flash(wire.MemoryFlashSaveParams{Tokens: 80_000, Limit: 100_000, Items: []wire.MemoryDraft{{Type: "ERROR", Content: "got 0s, want 3s"}}, Key: "f"})
	if !due.Due || due.Percent != 80 || len(due.Hot) != 2 || due.Hot[1].Content != "got 0s, want 3s" || due.Checkpoint == nil || due.Checkpoint.Warm != 1 || len(due.Items) != 1 {
		t.Fatalf("at 80 %%: %+v", due)
	}
	if again := flash(wire.MemoryFlashSaveParams{Tokens: 80_000, Limit: 100_000, Items: []wire.MemoryDraft{{Type: "ERROR", Content: "got 0s, want 3s"}}, Key: "f"}); again.Sequence != due.Sequence || again.Checkpoint.ID != due.Checkpoint.ID {
		t.Errorf("sent again: %+v", again)
	}
	before := contentsOf(c, "")
	saveItems(c, "", wire.MemoryDraft{ID: first.Items[0].ID, Type: "TASK", Content: "Something else."}, wire.MemoryDraft{Type: "CODE", Content: "func Pause() {}"})
	call[wire.MemorySaveResult](c, wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Remove: []string{due.Items[0].ID}})
	saveItems(c, "beta", wire.MemoryDraft{Type: "TASK", Content: "beta's task"})
	c.stop()
	c = agentChild(t, dir)
	defer c.stop()
	list := call[wire.MemoryCheckpointsResult](c, wire.MethodMemoryCheckpoints, wire.MemoryCheckpointsParams{Session: "s"})
	if list.Total != 1 || len(list.Checkpoints) != 1 || list.Checkpoints[0] != *due.Checkpoint {
		t.Errorf("%+v, want %+v", list, due.Checkpoint)
	}
	diff := call[wire.MemoryDiffResult](c, wire.MethodMemoryDiff, wire.MemoryDiffParams{Session: "s", Checkpoint: due.Checkpoint.ID})
	if len(diff.Added) != 1 || len(diff.Changed) != 1 || diff.Changed[0].Content != "Something else." || !slices.Equal(diff.Removed, []string{due.Items[0].ID}) {
		t.Errorf("against the checkpoint: %+v", diff)
	}
	back := call[wire.MemoryRestoreResult](c, wire.MethodMemoryRestore, wire.MemoryRestoreParams{Session: "s", Checkpoint: due.Checkpoint.ID})
	if got := contentsOf(c, ""); !slices.Equal(sorted(got), sorted(before)) || back.Removed != 1 || back.Memory.Hot != 2 {
		t.Errorf("restored to %q, was %q; %+v", got, before, back)
	}
	if got := contentsOf(c, "beta"); len(got) != 1 {
		t.Errorf("beta has %q", got)
	}
	for _, bad := range []struct {
		method string
		params any
		path   string
	}{
		{wire.MethodMemoryFlashSave, wire.MemoryFlashSaveParams{Session: "s", Tokens: -1, Limit: 10}, "tokens"},
		{wire.MethodMemoryFlashSave, wire.MemoryFlashSaveParams{Session: "s", Limit: -10}, "limit"},
		{wire.MethodMemoryFlashSave, wire.MemoryFlashSaveParams{Session: "s", Tokens: 10}, "limit"},
		{wire.MethodMemoryFlashSave, wire.MemoryFlashSaveParams{Session: "s", Agent: "nobody"}, "agent"},
		{wire.MethodMemoryCheckpoints, wire.MemoryCheckpointsParams{Session: "s", Limit: -1}, "limit"},
		{wire.MethodMemoryRestore, wire.MemoryRestoreParams{Session: "s", Agent: "beta", Checkpoint: due.Checkpoint.ID}, "checkpoint"},
	} {
		if data := denied(c, bad.method, bad.params); data.Path != bad.path {
			t.Errorf("%s: %+v, want %s", bad.method, data, bad.path)
		}
	}
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// TestT6_Diff: what is added, changed and removed against what a client holds, by
// sha256; what it holds after that is up to date.
func TestT6_Diff(t *testing.T) {
	t.Parallel()
	c := agentChild(t, t.TempDir())
	defer c.stop()
	saved := saveItems(c, "", wire.MemoryDraft{Type: "TASK", Content: "one"}, wire.MemoryDraft{Type: "TASK", Content: "two"}, wire.MemoryDraft{Type: "TASK", Content: "three"}, wire.MemoryDraft{Type: "TEST_RESULT", Content: "warm"})
	held := []wire.MemoryHeld{}
	diff := func() wire.MemoryDiffResult {
		got := call[wire.MemoryDiffResult](c, wire.MethodMemoryDiff, wire.MemoryDiffParams{Session: "s", Held: held})
		held = slices.DeleteFunc(held, func(h wire.MemoryHeld) bool { return slices.Contains(got.Removed, h.ID) })
		for _, item := range append(got.Added, got.Changed...) {
			held = slices.DeleteFunc(held, func(h wire.MemoryHeld) bool { return h.ID == item.ID })
			sum := sha256.Sum256([]byte(item.Content))
			held = append(held, wire.MemoryHeld{ID: item.ID, SHA256: hex.EncodeToString(sum[:])})
		}
		return got
	}
	if got := diff(); len(got.Added) != 3 || len(got.Changed) != 0 || len(got.Removed) != 0 {
		t.Errorf("with nothing: %+v", got)
	}
	if got := diff(); len(got.Added)+len(got.Changed)+len(got.Removed) != 0 || got.Unchanged != 3 {
		t.Errorf("up to date: %+v", got)
	}
	call[wire.MemorySaveResult](c, wire.MethodMemorySave, wire.MemorySaveParams{Session: "s", Remove: []string{saved.Items[1].ID}, Items: []wire.MemoryDraft{
		{ID: saved.Items[0].ID, Type: "TASK", Content: "one and a half"}, {ID: saved.Items[2].ID, Type: "TEST_RESULT", Content: "three"}, {Type: "ERROR", Content: "four"},
	}})
	got := diff()
	if len(got.Added) != 1 || got.Added[0].Content != "four" || len(got.Changed) != 1 || got.Changed[0].Content != "one and a half" || !slices.Equal(sorted(got.Removed), sorted([]string{saved.Items[1].ID, saved.Items[2].ID})) {
		t.Errorf("after changes: %+v", got)
	}
	if got := diff(); got.Unchanged != 2 || len(got.Added)+len(got.Changed)+len(got.Removed) != 0 {
		t.Errorf("up to date again: %+v", got)
	}
	sum := strings.Repeat("0a", 32)
	for _, bad := range []struct {
		params wire.MemoryDiffParams
		path   string
	}{
		{wire.MemoryDiffParams{Held: []wire.MemoryHeld{{ID: "i1", SHA256: "0a"}}}, "held[0].sha256"},
		{wire.MemoryDiffParams{Held: []wire.MemoryHeld{{ID: "i1", SHA256: strings.ToUpper(sum)}}}, "held[0].sha256"},
		{wire.MemoryDiffParams{Held: []wire.MemoryHeld{{ID: "i1", SHA256: sum}, {ID: "i1", SHA256: sum}}}, "held[1].id"},
		{wire.MemoryDiffParams{Held: []wire.MemoryHeld{{ID: "i1", SHA256: sum}}, Checkpoint: "k1"}, "checkpoint"},
		{wire.MemoryDiffParams{Tiers: []string{""}}, "tiers[0]"},
		{wire.MemoryDiffParams{Agent: "nobody"}, "agent"},
	} {
		bad.params.Session = "s"
		if data := denied(c, wire.MethodMemoryDiff, bad.params); data.Path != bad.path {
			t.Errorf("%+v, want %s", data, bad.path)
		}
	}
}
