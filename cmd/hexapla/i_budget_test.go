package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// hold, after a restart too.
func TestI3_Budgets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const options = `{"budget":{"sessionTokens":1000000,"sessionMicroUSD":20000000,"monthlyTokens":2000000,"monthlyMicroUSD":60000000}}`
	_, uri := workFolder(t, nil)
	c := startWith(t, dir, options)
	openTierSession(c, uri, "s")
	openTierSession(c, uri, "other")
	status := func(session, user string) wire.BudgetStatusResult {
		return call[wire.BudgetStatusResult](c, wire.MethodBudgetStatus, wire.BudgetStatusParams{Session: session, User: user})
	}
	if got := status("s", ""); got.BudgetPercent != 100 || len(got.Limits) != 4 || got.Range != ">=80%" || got.Used.Tokens != 0 {
		t.Errorf("%+v", got)
	}
	report := wire.BudgetReportParams{Session: "s", Model: "claude-opus-4-5", PromptTokens: 100_000, CacheWriteTokens: 20_000, CacheReadTokens: 70_000, OutputTokens: 4_000, User: "ann", Key: "1"}
	// 10,000 × 5 + 20,000 × 6.25 + 70,000 × 0.5 + 4,000 × 25 millionths of a dollar.
	got := call[wire.BudgetReportResult](c, wire.MethodBudgetReport, report)
	if got.MicroUSD != 310_000 || !got.Priced || got.BudgetPercent != 89.6 || got.Binding == nil || got.Binding.Scope != "session" || got.Binding.Unit != "tokens" {
		t.Errorf("%+v %+v", got, got.Binding)
	}
	if again := call[wire.BudgetReportResult](c, wire.MethodBudgetReport, report); again.MicroUSD != got.MicroUSD || again.BudgetPercent != got.BudgetPercent {
		t.Errorf("repeated: %+v", again)
	}
	report.Session, report.Key, report.Model, report.PromptTokens, report.CacheWriteTokens, report.CacheReadTokens, report.OutputTokens = "other", "2", "no-such-model", 500_000, 0, 0, 10_000
	if got := call[wire.BudgetReportResult](c, wire.MethodBudgetReport, report); got.Priced || got.MicroUSD != 1_650_000 {
		t.Errorf("%+v", got)
	}
	check := func() {
		t.Helper()
		got := status("s", "ann")
		if got.Used.Tokens != 104_000 || got.Used.Reports != 1 || got.MonthUsed.Tokens != 614_000 || got.MonthUsed.MicroUSD != 1_960_000 || got.MonthUsed.Unpriced != 1 {
			t.Errorf("%+v", got)
		}
		if got.Binding == nil || got.Binding.Scope != "month" || got.Binding.Unit != "tokens" || got.BudgetPercent != 69.3 || got.Range != "60-80%" || got.Exceeded {
			t.Errorf("%+v %+v", got, got.Binding)
		}
		if bob := status("s", "bob"); bob.MonthUsed.Tokens != 0 || bob.BudgetPercent != 89.6 {
			t.Errorf("bob: %+v", bob)
		}
		if past := call[wire.BudgetStatusResult](c, wire.MethodBudgetStatus, wire.BudgetStatusParams{Session: "s", User: "ann", Month: "2020-01"}); past.MonthUsed.Tokens != 0 || past.Month != "2020-01" {
			t.Errorf("2020: %+v", past)
		}
		p := tiersOf(append(looseHistory(10), asking("Now?")), 0)
		p.BudgetPercent, p.User = nil, "ann"
		if built := buildTiers(c, p); built.Strategy.Range != "60-80%" || built.Strategy.Given || built.Strategy.Binding.Scope != "month" || built.Strategy.BudgetPercent != 69.3 {
			t.Errorf("%+v", built.Strategy)
		}
	}
	check()
	c.stop()
	c = startWith(t, dir, options)
	defer c.stop()
	openTierSession(c, uri, "s")
	check()
	openTierSession(c, uri, "other")
	report.PromptTokens, report.Key = 1_500_000, "3"
	if got := call[wire.BudgetReportResult](c, wire.MethodBudgetReport, report); got.BudgetPercent != 0 {
		t.Errorf("%+v", got)
	}
	p := tiersOf(append(looseHistory(10), asking("Now?")), 0)
	p.BudgetPercent, p.User = nil, "ann"
	if built := buildTiers(c, p); !built.Built || built.Strategy.Range != "<40%" || built.Warnings[0].Kind != "exceeded" || built.Tiers[3].Items != 0 {
		t.Errorf("%+v", built.TierBuild)
	}
	for path, bad := range map[string]any{
		"cacheReadTokens": wire.BudgetReportParams{Session: "s", PromptTokens: 10, CacheReadTokens: 8, CacheWriteTokens: 3},
		"outputTokens":    wire.BudgetReportParams{Session: "s", PromptTokens: 10, OutputTokens: -1},
		"promptTokens":    wire.BudgetReportParams{Session: "s", PromptTokens: -10},
		"user":            wire.BudgetReportParams{Session: "s", PromptTokens: 10, User: strings.Repeat("u", 257)},
	} {
		if data := denied(c, wire.MethodBudgetReport, bad); data.Path != path || data.Kind != wire.KindInvalidParams {
			t.Errorf("%s: %+v", path, data)
		}
	}
	if data := denied(c, wire.MethodBudgetStatus, wire.BudgetStatusParams{Session: "s", Month: "soon"}); data.Path != "month" {
		t.Errorf("%+v", data)
	}
}

// event tells when another rule is in force.
func TestI8_WhatADashboardNeeds(t *testing.T) {
	t.Parallel()
	s := startRaw(t)
	s.call(1, "initialize", json.RawMessage(`{"capabilities":{},"initializationOptions":{"budget":{"sessionTokens":1000}}}`))
	s.notify("initialized", json.RawMessage("{}"))
	s.call(2, wire.MethodSessionOpen, json.RawMessage(`{"workspace":{"uri":"file:///w"},"session":"s"}`))
	events := map[float64]wire.BudgetParams{}
	id := 3
	ask := func(method, params string, into any) {
		t.Helper()
		reply := s.call(id, method, json.RawMessage(params))
		id++
		if reply.Error != nil || json.Unmarshal(reply.Result, into) != nil {
			t.Fatalf("%s: %+v", method, reply.Error)
		}
	}
	for _, tokens := range []int{100, 50, 300, 600} {
		var report wire.BudgetReportResult
		ask(wire.MethodBudgetReport, fmt.Sprintf(`{"session":"s","promptTokens":%d}`, tokens), &report)
		if tokens < 300 { // no other rule is in force
			continue
		}
		var p wire.BudgetParams
		if err := json.Unmarshal(s.event(wire.EventBudget), &p); err != nil {
			t.Fatal(err)
		}
		events[p.BudgetPercent] = p
	}
	var status wire.BudgetStatusResult
	ask(wire.MethodBudgetStatus, `{"session":"s"}`, &status)
	if status.BudgetPercent != 0 || !status.Exceeded || status.Range != "<40%" || status.Rule.Files != "none" || status.Binding.Used != 1050 || status.Binding.Limit != 1000 {
		t.Errorf("%+v", status)
	}
	if e := events[55]; e.Range != "40-60%" || e.Exceeded {
		t.Errorf("%+v", events)
	}
	if e := events[0]; e.Range != "<40%" || !e.Exceeded || e.Binding == nil {
		t.Errorf("%+v", events)
	}
	var built wire.TiersBuildResult
	ask(wire.MethodTiersBuild, `{"session":"s","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}],"force":[4]}`, &built)
	var list wire.TiersSnapshotsResult
	ask(wire.MethodTiersSnapshots, `{"session":"s","onlySession":true,"limit":1}`, &list)
	if n := list.Snapshots; len(n) != 1 || len(n[0].Tiers) != 4 || n[0].Tiers[3].Tokens != built.Tiers[3].Tokens || n[0].Tiers[3].Items != 2 || n[0].Strategy.BudgetPercent != 0 || !slices.Equal(n[0].Strategy.Forced, []int{4}) || !slices.Equal(n[0].Warnings, []string{"exceeded"}) {
		t.Errorf("%+v", list)
	}
}
