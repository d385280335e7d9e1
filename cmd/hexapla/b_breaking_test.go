package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

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
