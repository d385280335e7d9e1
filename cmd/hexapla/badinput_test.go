package main

import (
	"encoding/json"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// TestV7_BadPackInput asks the process for packs that cannot be: each answer names
// the field and the limit, nothing that was recorded is lost, and the server goes
// on.
func TestV7_BadPackInput(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	recordStory(c, 3)
	before, _ := buildPack(c, 6000, nil, "")
	const largest, safe = 100_000_000, 1<<53 - 1
	for _, bad := range []struct {
		params string // with the session
		path   string
		limit  int64
	}{
		{`"budget":{"total":0}`, "budget.total", 0},
		{`"budget":{"total":-1}`, "budget.total", 0},
		{`"budget":{"total":-9223372036854775808}`, "budget.total", 0},
		{`"budget":{"total":100000001}`, "budget.total", largest},
		{`"budget":{"total":1000000000000000000}`, "budget.total", largest},
		{`"budget":{"total":1e18}`, "budget.total", safe},
		{`"budget":{"total":1e400}`, "budget.total", safe},
		{`"budget":{"total":-1e400}`, "budget.total", safe},
		{`"budget":{"total":9223372036854775808}`, "budget.total", safe},
		{`"budget":{"total":` + strings.Repeat("9", 400) + `}`, "budget.total", safe},
		{`"budget":{"total":4000.5}`, "budget.total", 0},
		{`"budget":{"total":1e-400}`, "budget.total", 0},
		{`"budget":{"total":"NaN"}`, "budget.total", 0},
		{`"budget":{"total":"Infinity"}`, "budget.total", 0},
		{`"budget":{"total":"8000"}`, "budget.total", 0},
		{`"budget":{"total":null}`, "budget.total", 0},
		{`"budget":{"total":[8000]}`, "budget.total", 0},
		{`"budget":{}`, "budget.total", 0},
		{`"budget":8000`, "budget", 0},
		{`"budget":null`, "budget", 0},
		{`"task":"none"`, "budget", 0},
		{`"budget":{"total":4000,"reserved":-1}`, "budget.reserved", 0},
		{`"budget":{"total":4000,"reserved":100000001}`, "budget.reserved", largest},
		{`"budget":{"total":4000,"reserved":1e400}`, "budget.reserved", safe},
		{`"budget":{"total":4000},"budgetUnit":"words"`, "budgetUnit", 0},
		{`"budget":{"total":4000},"layout":"diagonal"`, "layout", 0},
		{`"budget":{"total":4000},"layout":"STABLE-PREFIX"`, "layout", 0},
		{`"budget":{"total":4000},"layout":7`, "layout", 0},
		{`"budget":{"total":4000},"model":7`, "model", 0},
		{`"budget":{"total":4000},"input":{"type":"shout","content":"x"}`, "input.type", 0},
	} {
		for _, method := range []string{wire.MethodPackBuild, wire.MethodPackExplain} {
			expectError(c, method, json.RawMessage(`{"session":"s",`+bad.params+`}`), wire.KindInvalidParams, bad.path, bad.limit, bad.params)
		}
	}
	for _, bad := range []struct {
		params, path string
		limit        int64
	}{
		{`"budgets":[]`, "budgets", 0},
		{`"budgets":[4000,0]`, "budgets[1]", 0},
		{`"budgets":[4000,-5]`, "budgets[1]", 0},
		{`"budgets":[100000001]`, "budgets[0]", largest},
		{`"budgets":[4000,1e400]`, "budgets[1]", safe},
		{`"budgets":["NaN"]`, "budgets[0]", 0},
		{`"budgets":[` + strings.Repeat("4000,", 32) + `4000]`, "budgets", 32},
		{`"budgets":[4000],"layout":"diagonal"`, "layout", 0},
		{`"budgets":[4000],"reserved":-1`, "reserved", 0},
	} {
		expectError(c, wire.MethodPackWhatIf, json.RawMessage(`{"session":"s",`+bad.params+`}`), wire.KindInvalidParams, bad.path, bad.limit, bad.params)
	}
	// A model that is not known is counted by estimate, which the pack says.
	var pack wire.Pack
	result := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 6000}, Model: "no-such-model-9000"})
	if err := json.Unmarshal(result.Pack, &pack); err != nil || !pack.Estimate || pack.Tokens.Used > 6000 {
		t.Errorf("an unknown model: estimate %v, %d tokens, %v", pack.Estimate, pack.Tokens.Used, err)
	}
	if after, _ := buildPack(c, 6000, nil, ""); after.Checksum != before.Checksum {
		t.Error("the pack is another one after all that")
	}
}

// expectError checks an answer's kind, path and limit.
func expectError(c *child, method string, params any, kind wire.Kind, path string, limit int64, what string) {
	c.t.Helper()
	if len(what) > 100 {
		what = what[:100] + "…"
	}
	var remote *rpc.Error
	err := c.Call(c.t.Context(), method, params, nil)
	if !asRemote(err, &remote) {
		c.t.Errorf("%s with %s: %v, want an error of kind %s", method, what, err, kind)
		return
	}
	if remote.Kind() != kind || remote.Data.Path != path || remote.Data.Limit != limit || !strings.Contains(remote.Message, path) {
		c.t.Errorf("%s with %s: %s, path %q, limit %d; want %s, %q, %d", method, what, remote, remote.Data.Path, remote.Data.Limit, kind, path, limit)
	}
}

// TestFirstMessageTooLarge: a session whose first message alone is over the
// budget keeps it, and tells the smallest total that works; one that is over the
// limit of texts leaves the session as it was.
func TestFirstMessageTooLarge(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	opened := call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	say := func(text string) wire.ConversationRecordParams {
		return wire.ConversationRecordParams{Session: "s", Turns: []wire.Turn{{Role: "user", Text: text}}}
	}
	const limit = 16 << 20
	expectError(c, wire.MethodConversationRecord, say(strings.Repeat("a", limit+1)), wire.KindTooLarge, "turns[0].text", limit, "a text over the limit")
	if m := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, wire.MetricsGetParams{Session: "s"}); m.Sequence != opened.Sequence || m.Conversations != 0 {
		t.Errorf("something was recorded: %+v", m)
	}

	text := strings.Repeat("The reader in internal/reader.go loses its last record. ", 4000)
	receipt := call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, say(text))
	for _, ask := range []struct {
		method string
		params any
	}{
		{wire.MethodPackBuild, packParams(8000, nil, "")},
		{wire.MethodPackBuild, packParams(8000, nil, "narrative-first")},
		{wire.MethodPackExplain, wire.PackExplainParams{PackBuildParams: packParams(8000, nil, "")}},
	} {
		var remote *rpc.Error
		if err := c.Call(t.Context(), ask.method, ask.params, nil); !asRemote(err, &remote) || remote.Kind() != wire.KindBudgetTooSmall ||
			remote.Data.Path != "budget.total" || remote.Data.SmallestTotal <= 40_000 {
			t.Fatalf("%s of 8000: %v, %+v", ask.method, err, remote)
		} else if result, pack := buildPack(c, int(remote.Data.SmallestTotal), nil, ""); result.Checksum == "" || !strings.Contains(pack.Text, text) {
			t.Error("the smallest total that works does not show the message")
		}
	}
	// The input that is not recorded yet is bound by the same limit.
	params := packParams(8000, nil, "")
	params.Input = &wire.UserInput{Type: "user_query", Content: strings.Repeat("a", limit+1)}
	expectError(c, wire.MethodPackBuild, params, wire.KindTooLarge, "input.content", limit, "an input over the limit")
	got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: receipt.Conversation, Detail: "full"})
	if len(got.Turns) != 1 || got.Turns[0].Text != text {
		t.Error("the message is not what was recorded")
	}
	// Told in a few words, the next conversation goes on within the budget.
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Done: true})
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, say("Only the end of it, please."))
	if _, pack := buildPack(c, 8000, nil, ""); !strings.Contains(pack.Text, "Only the end of it") {
		t.Error("the session does not go on")
	}
}
