package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

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
