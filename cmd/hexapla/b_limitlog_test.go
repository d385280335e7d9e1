package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// TestB10_RewardsAsJSONL: the command prints a line for each breaking with state,
// action and reward; they survive the process, and have no content.
func TestB10_RewardsAsJSONL(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HEXAPLA_DATA_DIR": t.TempDir()}
	c, _ := startLimited(t, env["HEXAPLA_DATA_DIR"], "", "{}")
	c.opens("s", "coder")
	first := c.breaks(wire.LimitsBreakParams{Units: longContext(60)})
	stuck := longContext(60)
	for i := range stuck {
		stuck[i].Priority = 1
	}
	second := c.breaks(wire.LimitsBreakParams{Units: stuck})
	c.stop()
	o := hexapla(t, env, "limits", "--rewards", "--workspace", testWorkspace)
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	if o.code != exitOK || len(lines) != 2 || strings.Contains(o.out, "Requirement") {
		t.Fatalf("%+v", o)
	}
	for i, want := range []wire.LimitsBreakResult{first, second} {
		var got wire.LimitReward
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if got.Reward != want.Reward || got.StateBefore.Tokens != want.Before || got.StateAfter.Tokens != want.After || got.StateBefore.Units != 60 || got.StateAfter.Coherence != want.Coherence || len(got.Action) == 0 {
			t.Errorf("%s", lines[i])
		}
		if recovered := slices.Contains(got.Action, "recovery:fresh_start"); recovered != (i == 1) {
			t.Errorf("%v", got.Action)
		}
	}
	if first.Reward <= second.Reward {
		t.Errorf("%v is worth no more than %v", first.Reward, second.Reward)
	}
}

// TestB11_RetryPolicies: clients are given the policies, tool by tool.
func TestB11_RetryPolicies(t *testing.T) {
	t.Parallel()
	c, _ := startLimited(t, t.TempDir(), "", `{"context_config":{"retry_policies":{"default":{"max_attempts":2},"per_tool":{"runTests":{"max_attempts":6,"max_delay_seconds":90}}}}}`)
	t.Cleanup(c.stop)
	c.opens("s", "coder")
	want := []wire.RetryPolicy{
		{MaxAttempts: 2, BackoffBaseSeconds: 5, MaxDelaySeconds: 60},
		{Tool: "askQuestion", MaxAttempts: 4, BackoffBaseSeconds: 10, MaxDelaySeconds: 60},
		{Tool: "runTests", MaxAttempts: 6, BackoffBaseSeconds: 5, MaxDelaySeconds: 90},
	}
	if got := c.limitsOf(wire.LimitTarget{}).Retry; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestB11_OwnCalls: when a client's settings change, it sends them, or is asked for
// them, by its own retry policy where it is busy; settings that are wrong change
// nothing.
func TestB11_OwnCalls(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	cmd := exec.Command(self, "serve", "--data-dir", t.TempDir())
	cmd.Env = append(os.Environ(), asProgram+"=1")
	client, err := rpc.StartChild(t.Context(), cmd, rpc.ClientOptions{OnRequest: func(_ context.Context, method string, params json.RawMessage) (any, error) {
		if method != "workspace/configuration" || !strings.Contains(string(params), "hexapla.context_config") {
			t.Errorf("%s %s", method, params)
		}
		if asked.Add(1) < 4 {
			return nil, rpc.NewError(wire.KindBusy, "not now")
		}
		return []any{map[string]any{"default_limit": 9000}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	_, err = client.Initialize(t.Context(), rpc.InitializeParams{
		Capabilities: protocol.ClientCapabilities{Workspace: &protocol.WorkspaceClientCapabilities{Configuration: &yes}},
		Options:      json.RawMessage(`{"context_config":{"retry_policies":{"per_tool":{"workspace/configuration":{"max_attempts":4,"backoff_base_seconds":0}}}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t, client}
	t.Cleanup(c.stop)
	c.opens("s", "coder")
	changed := func(settings string) {
		t.Helper()
		if err := client.Notify(t.Context(), "workspace/didChangeConfiguration", json.RawMessage(`{"settings":`+settings+`}`)); err != nil {
			t.Fatal(err)
		}
	}
	changed("null")
	for end := time.Now().Add(patience); c.limitsOf(wire.LimitTarget{}).Limit != 9000; {
		if time.Now().After(end) {
			t.Fatalf("asked %d times, limit %d", asked.Load(), c.limitsOf(wire.LimitTarget{}).Limit)
		}
	}
	if asked.Load() != 4 {
		t.Errorf("asked %d times", asked.Load())
	}
	changed(`{"hexapla":{"context_config":{"default_limit":7000}}}`)
	if got := c.limitsOf(wire.LimitTarget{}); got.Limit != 7000 {
		t.Errorf("limit %d", got.Limit)
	}
	changed(`{"hexapla":{"context_config":{"default_limit":1}}}`)
	if got := c.limitsOf(wire.LimitTarget{}); got.Limit != 7000 {
		t.Errorf("limit %d", got.Limit)
	}
	changed(`{"hexapla":{}}`)
	if got := c.limitsOf(wire.LimitTarget{}); got.Limit != 5000 || got.Packs {
		t.Errorf("%+v", got)
	}
}

// TestB12_ErrorLog: what went wrong can be asked for by code, agent, session and
// time, page by page, with the patterns in it.
func TestB12_ErrorLog(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HEXAPLA_DATA_DIR": t.TempDir()}
	c, _ := startLimited(t, env["HEXAPLA_DATA_DIR"], "", "{}")
	stuck := longContext(60)
	for i := range stuck {
		stuck[i].Priority = 1
	}
	for _, agent := range []string{"coder", "reviewer"} {
		c.opens(agent, agent)
		for range 2 {
			c.breaks(wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: agent}, Units: longContext(60)})
		}
		c.breaks(wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: agent}, Units: longContext(4)}) // nothing is wrong with it
	}
	c.breaks(wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "coder"}, Units: stuck})
	query := func(p wire.LimitsErrorsParams) wire.LimitsErrorsResult {
		p.Session = "coder"
		return call[wire.LimitsErrorsResult](c, wire.MethodLimitsErrors, p)
	}
	all := query(wire.LimitsErrorsParams{})
	if len(all.Errors) != 5 || all.Cursor != "" || all.Errors[0].Trigger != "overHits" || all.Patterns[0] != (wire.LimitPattern{Code: "TOKEN_LIMIT_EXCEEDED", Agent: "coder", Count: 3, First: all.Patterns[0].First, Last: all.Patterns[0].Last}) {
		t.Errorf("%+v", all)
	}
	for _, test := range []struct {
		params wire.LimitsErrorsParams
		want   int
	}{
		{wire.LimitsErrorsParams{OnlySession: true}, 3},
		{wire.LimitsErrorsParams{Agent: "reviewer"}, 2},
		{wire.LimitsErrorsParams{Agent: "nobody"}, 0},
		{wire.LimitsErrorsParams{Code: "RECOVERY_TRIGGERED"}, 1},
		{wire.LimitsErrorsParams{Since: "2100-01-01T00:00:00Z"}, 0},
		{wire.LimitsErrorsParams{Until: "2100-01-01T00:00:00Z"}, 5},
	} {
		if got := query(test.params); len(got.Errors) != test.want {
			t.Errorf("%+v: %d", test.params, len(got.Errors))
		}
	}
	var paged []wire.LimitError
	for p := (wire.LimitsErrorsParams{Limit: 2}); ; {
		got := query(p)
		if !slices.Equal(got.Patterns, all.Patterns) {
			t.Errorf("a page has other patterns: %+v", got.Patterns)
		}
		paged = append(paged, got.Errors...)
		if p.Cursor = got.Cursor; p.Cursor == "" {
			break
		}
	}
	if !reflect.DeepEqual(paged, all.Errors) {
		t.Errorf("page by page: %+v", paged)
	}
	c.stop()
	if o := hexapla(t, env, "limits", "--errors", "--workspace", testWorkspace); o.code != exitOK || !strings.Contains(o.out, "3 times TOKEN_LIMIT_EXCEEDED coder") || strings.Count(o.out, "TOKEN_LIMIT_EXCEEDED") < 5 {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "limits", "--workspace", testWorkspace); o.code != exitOK || !strings.Contains(o.out, "5000 tokens (the default)") || !strings.Contains(o.out, "none; packs keep to the budget") {
		t.Errorf("%+v", o)
	}
}
