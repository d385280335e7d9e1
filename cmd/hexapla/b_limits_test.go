package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// overheard are the events that a client was told, in order.
type overheard struct {
	mu     sync.Mutex
	events []rpcEvent
}

type rpcEvent struct {
	method string
	params json.RawMessage
}

// take returns the events of a method since the last take of it.
func take[E any](t *testing.T, all *overheard, method string) (out []E) {
	t.Helper()
	all.mu.Lock()
	defer all.mu.Unlock()
	all.events = slices.DeleteFunc(all.events, func(e rpcEvent) bool {
		if e.method != method {
			return false
		}
		var event E
		if err := json.Unmarshal(e.params, &event); err != nil {
			t.Error(err)
		}
		out = append(out, event)
		return true
	})
	return out
}

// startLimited starts a server with settings: of the user, if any, and of the
// client.
func startLimited(t *testing.T, dataDir, userFile, options string) (*child, *overheard) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--fixed-keys", "--data-dir", dataDir)
	cmd.Env = append(os.Environ(), asProgram+"=1", "HEXAPLA_SETTINGS="+userFile)
	all := &overheard{}
	client, err := rpc.StartChild(t.Context(), cmd, rpc.ClientOptions{OnEvent: func(method string, params json.RawMessage) {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.events = append(all.events, rpcEvent{method, slices.Clone(params)})
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t, client}
	if _, err := client.Initialize(t.Context(), rpc.InitializeParams{ClientName: "test", Options: json.RawMessage(options)}); err != nil {
		t.Fatal(err)
	}
	return c, all
}

func (c *child) limitsOf(p wire.LimitTarget) wire.LimitsStatusResult {
	c.t.Helper()
	p.Session = either(p.Session, "s")
	return call[wire.LimitsStatusResult](c, wire.MethodLimitsStatus, wire.LimitsStatusParams{LimitTarget: p})
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// longContext is a context of so many units of about 170 tokens.
func longContext(n int) (units []wire.LimitUnit) {
	things := []string{"parser", "index", "budget", "daemon", "scheduler", "cache", "window", "socket", "ledger", "snapshot"}
	for i := range n {
		var b strings.Builder
		for k := range 12 {
			fmt.Fprintf(&b, "Step %d.%d: the %s reads the %s of file%d.go before the %s is folded. ", i, k, things[(i+k)%10], things[(i*3+k)%10], i, things[(k*7+i)%10])
		}
		u := wire.LimitUnit{ID: fmt.Sprintf("u%d", i), Type: "message", Content: b.String() + "\n"}
		if i%10 == 4 {
			u.Priority, u.Content = 1, fmt.Sprintf("Requirement %d: never lose a record.\n", i)
		}
		units = append(units, u)
	}
	return units
}

func (c *child) breaks(p wire.LimitsBreakParams) wire.LimitsBreakResult {
	c.t.Helper()
	p.Session = either(p.Session, "s")
	return call[wire.LimitsBreakResult](c, wire.MethodLimitsBreak, p)
}

// TestB1_LimitsThroughTheProcess: agents, types of models, the floor and priority 1,
// from the settings of the client.
func TestB1_LimitsThroughTheProcess(t *testing.T) {
	t.Parallel()
	c, _ := startLimited(t, t.TempDir(), "", `{"context_config":{"per_agent":[{"agent":"verification","limit":4000},{"agent":"todo","priority":1}],"per_llm":[{"type":"gpt4","models":["gpt-4o"],"follow_default":false}]}}`)
	t.Cleanup(c.stop)
	c.opens("s", "coder")
	c.opens("v", "verification")
	for _, test := range []struct {
		target         wire.LimitTarget
		limit, warning int
		source         string
	}{
		{wire.LimitTarget{}, 6000, 4800, "llm"},
		{wire.LimitTarget{P1: true}, 7200, 5760, "llm"},
		{wire.LimitTarget{LLM: "local_14b"}, 5000, 4000, "default"},
		{wire.LimitTarget{LLM: "cloud_grok"}, 8000, 6400, "llm"},
		{wire.LimitTarget{Session: "v"}, 4000, 3200, "agent"},
		{wire.LimitTarget{Agent: "verification"}, 4000, 3200, "agent"},
		{wire.LimitTarget{Agent: "todo", LLM: "local_14b"}, 6000, 4800, "default"},
		{wire.LimitTarget{Limit: 2000}, 3500, 2800, "floor"},
		{wire.LimitTarget{Limit: 10_000, P1: true}, 12_000, 9600, "default"},
	} {
		got := c.limitsOf(test.target)
		if got.Limit != test.limit || got.Warning != test.warning || got.Source != test.source || got.Floor != 3500 || !got.Packs {
			t.Errorf("%+v: %+v", test.target, got.LimitInForce)
		}
	}
}

// TestB2_SettingsThroughTheProcess: the user's file, the workspace's and the client's
// settings count in that order; a file is read again when it has changed, one that is
// wrong is told with its place and counts as it was, and one of a workspace can set
// nothing else.
func TestB2_SettingsThroughTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project, user := filepath.Join(dir, "project"), filepath.Join(dir, "user.yaml")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path+".next", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".next", path); err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join(project, ".hexapla.yaml")
	put(user, "context_config:\n  default_limit: 7000\n  min_limit: 3000\n")
	c, all := startLimited(t, filepath.Join(dir, "data"), user, `{"context_config":{"min_limit":2500}}`)
	t.Cleanup(c.stop)
	session := c.openAt(fileURI(project)).Session
	expect := func(when string, limit int, problem *wire.SettingProblem, from ...string) {
		t.Helper()
		got := c.limitsOf(wire.LimitTarget{Session: session})
		if got.Limit != limit || got.Floor != 2500 || !slices.Equal(got.Settings, from) {
			t.Errorf("%s: limit %d, floor %d, from %v", when, got.Limit, got.Floor, got.Settings)
		}
		switch {
		case problem == nil && len(got.Problems) > 0, problem != nil && (len(got.Problems) != 1 || got.Problems[0] != *problem):
			t.Errorf("%s: %+v", when, got.Problems)
		}
	}
	expect("user and client", 7000, nil, "hexapla.yaml", "initializationOptions")
	put(own, "context_config:\n  default_limit: 9000\n")
	expect("and workspace", 9000, nil, "hexapla.yaml", ".hexapla.yaml", "initializationOptions")
	put(own, "context_config:\n  default_limit: -1\n")
	expect("a wrong number", 9000, &wire.SettingProblem{File: ".hexapla.yaml", Line: 2, Column: 18, Key: "context_config.default_limit", Message: "must be 100 to 10000000"},
		"hexapla.yaml", ".hexapla.yaml", "initializationOptions")
	put(own, "context_config:\n  default_limit: 4000\nsecrets:\n  enabled: false\n")
	expect("a bold workspace", 9000, &wire.SettingProblem{File: ".hexapla.yaml", Line: 3, Column: 1, Key: "secrets", Message: "is not known here; known are context_config"},
		"hexapla.yaml", ".hexapla.yaml", "initializationOptions")
	if err := os.Remove(own); err != nil {
		t.Fatal(err)
	}
	put(user, "context_config:\n  default_limit: 8000\n")
	expect("the user's changed", 8000, nil, "hexapla.yaml", "initializationOptions")
	logged := 0
	for _, line := range take[struct{ Message string }](t, all, "window/logMessage") {
		if strings.Contains(line.Message, ".hexapla.yaml:") {
			logged++
		}
		if strings.Contains(line.Message, project) {
			t.Errorf("the log has a path: %s", line.Message)
		}
	}
	if logged != 2 {
		t.Errorf("%d problems are in the log", logged)
	}
	bad, _ := startLimited(t, filepath.Join(dir, "other"), "", "{}")
	var refusal *rpc.Error
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bad.stop()
	cmd := exec.Command(self, "serve", "--data-dir", filepath.Join(dir, "other"))
	cmd.Env = append(os.Environ(), asProgram+"=1")
	client, err := rpc.StartChild(t.Context(), cmd, rpc.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Initialize(t.Context(), rpc.InitializeParams{Options: json.RawMessage(`{"context_config":{"per_llm":[{"type":"a","limit":"much"}]}}`)})
	if !asRemote(err, &refusal) || refusal.Data.Path != "initializationOptions.context_config.per_llm[0].limit" || !strings.Contains(refusal.Message, "must be a whole number") {
		t.Errorf("%v", err)
	}
	if _, err = client.Initialize(t.Context(), rpc.InitializeParams{}); err != nil {
		t.Error(err)
	}
	(&child{t, client}).stop()
}

// TestB4_BreakThroughTheProcess: a context is broken down to its limit; each step is
// reported, each unit accounted for, and what is not there any more can be read again,
// also by another process.
func TestB4_BreakThroughTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, all := startLimited(t, dir, "", "{}")
	c.opens("s", "coder")
	params := wire.LimitsBreakParams{Units: longContext(60), About: "Which step folds the ledger?", Key: "k", PriorityAreas: []string{"To Do List"}}
	got := c.breaks(params)
	if !got.Success || got.Before < 8000 || got.After > 4000 || got.Limit != 5000 || len(got.Fates) != 60 || len(got.Steps) == 0 || got.PriorityPreserved != 1 || got.Coherence < 0.85 {
		t.Fatalf("%d → %d, %d steps, coherence %v", got.Before, got.After, len(got.Steps), got.Coherence)
	}
	if len(got.Errors) != 1 || got.Errors[0] != "TOKEN_LIMIT_EXCEEDED" || got.Pressure.OverHits != 1 || got.Reward <= 1 || got.Reward > 2 {
		t.Errorf("%v %+v %v", got.Errors, got.Pressure, got.Reward)
	}
	phases := take[wire.LimitsParams](t, all, wire.EventLimits)
	if len(phases) < 3 || phases[0].Phase != "detection" || phases[0].Color != "#FF9800" || phases[1].Phase != "summarize_old" || !strings.HasPrefix(phases[1].Message, "Summarizing old context… (est. ") {
		t.Fatalf("%+v", phases)
	}
	last := phases[len(phases)-1]
	if last.Phase != "success" || last.Icon != "check" || last.Progress > 80 || last.Details == nil || last.Details.Before != got.Before || last.Details.After != got.After || last.Details.Summarized == 0 ||
		last.Priority == nil || last.Priority.Label != "P1: To Do List" || last.Priority.Color != "#4CAF50" || last.Color != "#4CAF50" || last.Show.AutoHideSeconds != 3 || !last.Show.HighlightP1 {
		t.Errorf("%+v", last)
	}
	if want := fmt.Sprintf("Context reduced to %d,%03d / 5,000 tokens", got.After/1000, got.After%1000); last.Message != want {
		t.Errorf("%q, want %q", last.Message, want)
	}
	if again := c.breaks(params); !reflect.DeepEqual(again.Units, got.Units) || again.Sequence != got.Sequence || again.Pressure != got.Pressure {
		t.Errorf("repeated under its key: sequence %d, was %d; %+v", again.Sequence, got.Sequence, again.Pressure)
	}
	if err := refused(c, wire.MethodLimitsBreak, wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "s"}, Units: longContext(3), Key: "k"}); err.Data.Kind != wire.KindOpIDReused {
		t.Errorf("%+v", err.Data)
	}
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "claude", Model: "claude-sonnet-4-5"})
	if estimated := c.breaks(wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "claude"}, Units: longContext(2)}); got.Estimate || !estimated.Estimate {
		t.Errorf("estimates: %t, %t", got.Estimate, estimated.Estimate)
	}
	c.stop()
	c, _ = startLimited(t, dir, "", "{}")
	t.Cleanup(c.stop)
	c.opens("s", "coder")
	for i, fate := range got.Fates {
		if (fate.Action == "kept") != (fate.Archived == "") || fate.Action != "discarded" && fate.Unit == nil {
			t.Fatalf("unit %d: %+v", i, fate)
		}
		if fate.Archived == "" {
			if got.Units[*fate.Unit].Content != params.Units[i].Content {
				t.Errorf("unit %d was changed", i)
			}
			continue
		}
		back := call[wire.HistoryGetResult](c, wire.MethodHistoryGet, wire.HistoryGetParams{Session: "s", Archived: []string{fate.Archived}})
		var unit wire.LimitUnit
		if err := json.Unmarshal(back.Messages[0].Message, &unit); err != nil || unit.Content != params.Units[i].Content || unit.ID != params.Units[i].ID {
			t.Errorf("unit %d comes back as %+v", i, unit)
		}
	}
}

// TestB6_RecoveryThroughTheProcess: a chain that fails, the user, a milestone and a
// third context over its limit in an hour have the context given up.
func TestB6_RecoveryThroughTheProcess(t *testing.T) {
	t.Parallel()
	c, all := startLimited(t, t.TempDir(), "", "{}")
	t.Cleanup(c.stop)
	c.opens("s", "coder")
	stuck := longContext(60)
	for i := range stuck {
		stuck[i].Priority = 1
	}
	got := c.breaks(wire.LimitsBreakParams{Units: stuck, Task: "T-1"})
	if !got.Success || got.Recovery != "fresh_start" || got.Trigger != "chainFailed" || !slices.Equal(got.Errors, []string{"TOKEN_LIMIT_EXCEEDED", "BREAKER_FAILED", "RECOVERY_TRIGGERED"}) {
		t.Errorf("%s %s %v", got.Recovery, got.Trigger, got.Errors)
	}
	head := got.Units[0]
	if head.ID != "handover-fresh" || head.Priority != 1 || head.Tokens > 500 || !strings.HasSuffix(head.Content, "Continue task T-1.\n") || got.Handover == "" {
		t.Errorf("%+v", head)
	}
	phases := take[wire.LimitsParams](t, all, wire.EventLimits)
	var names []string
	for _, p := range phases {
		names = append(names, p.Phase)
	}
	if n := len(names); n < 3 || names[n-2] != "recovery" || names[n-1] != "handover" || phases[n-2].Progress != -1 || phases[n-2].Color != "#F44336" || phases[n-1].Details.Handover == "" {
		t.Errorf("%v", names)
	}
	for _, trigger := range []string{"reset", "milestone"} {
		got := call[wire.LimitsRecoverResult](c, wire.MethodLimitsRecover, wire.LimitsRecoverParams{
			LimitsBreakParams: wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "s"}, Units: longContext(5)}, Trigger: trigger,
		})
		if got.Trigger != trigger || got.Recovery != "fresh_start" || got.Units[0].ID != "handover-fresh" || !slices.Equal(got.Errors, []string{"RECOVERY_TRIGGERED"}) {
			t.Errorf("%s: %+v", trigger, got)
		}
	}
	c.opens("again", "coder")
	for i, want := range []float64{0.333333, 0.666667, 1} {
		got := c.breaks(wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "again"}, Units: longContext(60)})
		if (got.Trigger == "overHits") != (i == 2) || got.Pressure.LoopFactor != want {
			t.Errorf("context %d: %q %+v", i, got.Trigger, got.Pressure)
		}
	}
	// A recovery begins the count anew.
	if got := c.breaks(wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "again"}, Units: longContext(60)}); got.Trigger != "" || got.Pressure.OverHits != 1 {
		t.Errorf("%q %+v", got.Trigger, got.Pressure)
	}
}

// TestB6_Modes: truncation keeps the newest; an error keeps nothing, is told as one,
// and is in the log.
func TestB6_Modes(t *testing.T) {
	t.Parallel()
	stuck := longContext(60)
	for i := range stuck {
		stuck[i].Priority = 1
	}
	c, _ := startLimited(t, t.TempDir(), "", `{"context_config":{"recovery_mode":"truncate"}}`)
	t.Cleanup(c.stop)
	c.opens("s", "coder")
	got := c.breaks(wire.LimitsBreakParams{Units: stuck})
	if !got.Success || got.Recovery != "truncate" || got.Fates[59].Action != "kept" || got.Fates[0].Action != "discarded" || got.Fates[0].Archived == "" {
		t.Errorf("%s %+v", got.Recovery, got.Fates[0])
	}
	e, all := startLimited(t, t.TempDir(), "", `{"context_config":{"recovery_mode":"error"}}`)
	t.Cleanup(e.stop)
	e.opens("s", "coder")
	params := wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "s"}, Units: stuck}
	if err := refused(e, wire.MethodLimitsBreak, params); err.Data.Kind != wire.KindBreakerFailed || err.Data.Limit != 5000 || err.Data.Committed != wire.CommittedYes {
		t.Errorf("%+v", err.Data)
	}
	phases := take[wire.LimitsParams](t, all, wire.EventLimits)
	if len(phases) == 0 || phases[len(phases)-1].Phase != "failed" {
		t.Errorf("%+v", phases)
	}
	log := call[wire.LimitsErrorsResult](e, wire.MethodLimitsErrors, wire.LimitsErrorsParams{Session: "s", Code: "BREAKER_FAILED"})
	if len(log.Errors) != 1 || len(log.Patterns) != 1 || log.Patterns[0].Code != "BREAKER_FAILED" || log.Errors[0].Before < 8000 {
		t.Errorf("%+v", log)
	}
}

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

// TestB13_CleanupTask: a third context near its limit within an hour raises one task,
// and contexts over their limit count toward the loop factor.
func TestB13_CleanupTask(t *testing.T) {
	t.Parallel()
	c, all := startLimited(t, t.TempDir(), "", "{}")
	t.Cleanup(c.stop)
	c.opens("s", "coder")
	near := longContext(22) // over the warning mark of 4,000, below the limit of 5,000
	for i := range 5 {
		got := c.breaks(wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Limit: 5200}, Units: near})
		if got.Before <= got.Warning || got.Before > got.Limit {
			t.Fatalf("%d tokens are not between %d and %d", got.Before, got.Warning, got.Limit)
		}
		if (got.Task != nil) != (i == 2) || got.Pressure.Warnings != i+1 || got.Pressure.LoopFactor != 0 || len(got.Errors) > 0 {
			t.Errorf("context %d: %+v %+v", i, got.Task, got.Pressure)
		}
	}
	tasks := take[wire.TaskParams](t, all, wire.EventTask)
	if len(tasks) != 1 || tasks[0].Kind != "contextCleanup" || tasks[0].Agent != "coder" || tasks[0].Warnings != 3 || tasks[0].Title != "Context Cleanup" {
		t.Errorf("%+v", tasks)
	}
	if got := c.limitsOf(wire.LimitTarget{}); got.Pressure.Warnings != 5 {
		t.Errorf("%+v", got.Pressure)
	}
}

// TestB9_ProgressCanBeHidden: no phases are sent to who does not want them.
func TestB9_ProgressCanBeHidden(t *testing.T) {
	t.Parallel()
	c, all := startLimited(t, t.TempDir(), "", `{"context_config":{"progress":{"show":false,"detail_level":"detailed","auto_hide_seconds":10,"highlight_p1":false}}}`)
	t.Cleanup(c.stop)
	c.opens("s", "coder")
	c.breaks(wire.LimitsBreakParams{Units: longContext(60)})
	if phases := take[wire.LimitsParams](t, all, wire.EventLimits); len(phases) > 0 {
		t.Errorf("%+v", phases)
	}
	if got := c.limitsOf(wire.LimitTarget{}).Progress; got != (wire.LimitProgress{DetailLevel: "detailed", AutoHideSeconds: 10}) {
		t.Errorf("%+v", got)
	}
}

// TestB1_BadInput: what cannot be done is refused with its place and limit, and
// leaves nothing behind.
func TestB1_BadInput(t *testing.T) {
	t.Parallel()
	c, _ := startLimited(t, t.TempDir(), "", "{}")
	t.Cleanup(c.stop)
	c.opens("s", "coder")
	before := c.limitsOf(wire.LimitTarget{}).Sequence
	target := wire.LimitTarget{Session: "s"}
	with := func(change func(u *wire.LimitUnit)) wire.LimitsBreakParams {
		units := longContext(3)
		change(&units[1])
		return wire.LimitsBreakParams{LimitTarget: target, Units: units}
	}
	for _, test := range []struct {
		params any
		path   string
		limit  int64
		kind   wire.Kind
	}{
		{wire.LimitsBreakParams{LimitTarget: target}, "units", 0, wire.KindInvalidParams},
		{wire.LimitsBreakParams{LimitTarget: target, Units: slices.Repeat([]wire.LimitUnit{{Type: "text", Content: "x"}}, 100_000)}, "units", 10_000, wire.KindInvalidParams},
		{with(func(u *wire.LimitUnit) { u.Type = "thought" }), "units[1].type", 0, wire.KindInvalidParams},
		{with(func(u *wire.LimitUnit) { u.Priority = 4 }), "units[1].priority", 3, wire.KindInvalidParams},
		{with(func(u *wire.LimitUnit) { u.ID = "u0" }), "units[1].id", 0, wire.KindInvalidParams},
		{with(func(u *wire.LimitUnit) { u.Content = strings.Repeat("x ", 9<<20) }), "units[1].content", 16 << 20, wire.KindTooLarge},
		{wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "s", Limit: -1}, Units: longContext(1)}, "limit", 0, wire.KindInvalidParams},
		{wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "s", LLM: "gpt9"}, Units: longContext(1)}, "llm", 0, wire.KindInvalidParams},
		{wire.LimitsBreakParams{LimitTarget: wire.LimitTarget{Session: "s", Agent: "nobody"}, Units: longContext(1)}, "agent", 0, wire.KindNotFound},
		{wire.LimitsBreakParams{LimitTarget: target, Units: longContext(1), PriorityAreas: []string{"a", "b", "c", "d"}}, "priorityAreas", 3, wire.KindInvalidParams},
	} {
		err := refused(c, wire.MethodLimitsBreak, test.params)
		if err.Data.Path != test.path || err.Data.Limit != test.limit || err.Data.Kind != test.kind || err.Data.Committed != wire.CommittedNo {
			t.Errorf("%s: %v %+v", test.path, err, err.Data)
		}
	}
	if err := refused(c, wire.MethodLimitsRecover, wire.LimitsRecoverParams{LimitsBreakParams: with(func(*wire.LimitUnit) {}), Trigger: "boredom"}); err.Data.Path != "trigger" {
		t.Errorf("%+v", err.Data)
	}
	if err := refused(c, wire.MethodLimitsErrors, wire.LimitsErrorsParams{Session: "s", Code: "OOPS"}); err.Data.Path != "code" {
		t.Errorf("%+v", err.Data)
	}
	if after := c.limitsOf(wire.LimitTarget{}).Sequence; after != before {
		t.Errorf("sequence %d, was %d", after, before)
	}
}

// TestB1_PacksKeepTheLimit: where a limit is set, packs are folded at its warning
// mark, whatever the client's budget; what must be there may take more, up to what
// the client asked for, and is told and noted; without settings nothing is limited.
func TestB1_PacksKeepTheLimit(t *testing.T) {
	t.Parallel()
	free, _ := startLimited(t, t.TempDir(), "", "{}")
	t.Cleanup(free.stop)
	c, all := startLimited(t, t.TempDir(), "", `{"context_config":{"default_limit":4000}}`)
	t.Cleanup(c.stop)
	build := func(c *child) (wire.PackBuildResult, wire.Pack) {
		t.Helper()
		r := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 30_000}})
		var pack wire.Pack
		if err := json.Unmarshal(r.Pack, &pack); err != nil {
			t.Fatal(err)
		}
		return r, pack
	}
	free.opens("s", "coder")
	c.opens("s", "coder")
	folds, largest := 0, 0
	for i, unit := range longContext(60) {
		for _, c := range []*child{free, c} {
			call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Done: true, Turns: []wire.Turn{
				{Role: "user", Text: fmt.Sprintf("Go on with step %d.", i)}, {Role: "assistant", Text: unit.Content},
			}})
		}
		r, pack := build(c)
		largest = max(largest, pack.Tokens.Used)
		if r.Limit == nil || r.Limit.Limit != 4000 || r.Limit.Warning != 3200 || r.Limit.Used != pack.Tokens.Used || r.Limit.Warned || r.Limit.Over || pack.Tokens.Used > 3200 {
			t.Fatalf("pack %d: %d tokens, %+v", i, pack.Tokens.Used, r.Limit)
		}
		if phases := take[wire.LimitsParams](t, all, wire.EventLimits); r.Limit.Broken {
			folds++
			if len(phases) != 2 || phases[0].Phase != "detection" || phases[1].Phase != "success" || !phases[1].Pack || phases[1].Details.After != pack.Tokens.Used || phases[1].Details.Before < phases[1].Details.After {
				t.Errorf("pack %d: %+v", i, phases)
			}
		} else if len(phases) > 0 {
			t.Errorf("pack %d: %+v", i, phases)
		}
		if i == 50 {
			back := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: r.Checksum})
			explained := call[wire.PackExplainResult](c, wire.MethodPackExplain, wire.PackExplainParams{PackBuildParams: wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 30_000}}})
			if !back.Match || explained.Checksum != r.Checksum {
				t.Errorf("replayed: %t; explained: %s, built: %s", back.Match, explained.Checksum, r.Checksum)
			}
		}
	}
	if r, pack := build(free); r.Limit != nil || pack.Tokens.Used <= 3200 || largest < 2000 || folds == 0 {
		t.Errorf("free: %d tokens, %+v; limited: %d at most, %d folds", pack.Tokens.Used, r.Limit, largest, folds)
	}
	for i := range 20 {
		call[wire.PinAddResult](c, wire.MethodPinAdd, wire.PinAddParams{Session: "s", Text: fmt.Sprintf("Rule %d. ", i) + strings.Repeat("Never lose a record. ", 50)})
	}
	r, pack := build(c)
	if !r.Limit.Over || !r.Limit.Warned || pack.Tokens.Used <= 4000 {
		t.Errorf("%d tokens, %+v", pack.Tokens.Used, r.Limit)
	}
	if phases := take[wire.LimitsParams](t, all, wire.EventLimits); len(phases) != 2 || phases[1].Phase != "failed" || phases[1].Details.Errors[0] != "TOKEN_LIMIT_EXCEEDED" {
		t.Errorf("%+v", phases)
	}
	log := call[wire.LimitsErrorsResult](c, wire.MethodLimitsErrors, wire.LimitsErrorsParams{Session: "s"})
	if len(log.Errors) != 1 || !log.Errors[0].Pack || log.Errors[0].Before != pack.Tokens.Used || log.Errors[0].Agent != "coder" {
		t.Errorf("%+v", log.Errors)
	}
}
