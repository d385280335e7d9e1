package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"hexapla/rpc/wire"
)

// TestH20_Metrics: figures of a small session are what its answers said,
// and another process finds the same.
func TestH20_Metrics(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	open := func() {
		call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{
			Workspace: wire.Workspace{URI: testWorkspace}, Session: "main", Model: "claude-opus-4-5",
		})
	}
	get := func(params wire.MetricsGetParams) wire.MetricsGetResult {
		params.Session = "main"
		m := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, params)
		m.Latencies, m.Indexed = nil, 0 // of the process, and on its way
		return m
	}
	open()
	if m := get(wire.MetricsGetParams{}); m.Packs != 0 || m.Tokens != nil || m.Reduction != nil || m.Retrieval != nil || m.Fidelity != nil || m.Drift != nil {
		t.Errorf("an empty store: %+v", m)
	}
	var used, full, bytesAll, same int64
	start := time.Now().Add(-time.Second)
	turns := 0
	for _, query := range []string{"Why does parseTimer in timer/timer.go fail?", "Which units does parseTimer know?", "Add days to parseTimer."} {
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "main", Turns: []wire.Turn{{Role: "user", Text: query}}})
		built := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: "main", Budget: wire.Budget{Total: 4000}})
		var pack wire.Pack
		if err := json.Unmarshal(built.Pack, &pack); err != nil {
			t.Fatal(err)
		}
		used, full = used+int64(pack.Tokens.Used), full+pack.Tokens.FullHistory
		bytesAll, same = bytesAll+int64(len(pack.Text)), same+int64(built.Stability.CommonPrefixBytes)
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "main", Done: true, Turns: []wire.Turn{
			{Role: "assistant", Text: "The root cause was in parseTimer: it kept the last part only. It is mended in timer/timer.go."},
		}})
		turns += 2
	}
	ask := wire.ContextRequestParams{Session: "main", Requests: wire.ContextRequests{RetrieveConversations: []wire.RetrieveConversations{
		{ConversationIDs: []string{"c3", "c99"}, Format: "full"},
	}}}
	for range 2 { // the second time it was served already
		call[wire.ContextRequestResult](c, wire.MethodContextRequest, ask)
	}
	m := get(wire.MetricsGetParams{})
	if m.Packs != 3 || m.PackTokens != used || m.Window.Conversations != 3 || m.Window.Turns != turns || m.BudgetViolations != 0 || m.Unmeasured != 0 {
		t.Errorf("%+v", m)
	}
	near := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || *got-want > 1e-4 || want-*got > 1e-4 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("tokens of a pack", &m.Tokens.PerPack, float64(used)/3)
	near("tokens of a turn", m.Tokens.PerTurn, float64(used)/float64(turns))
	near("reduction", m.Reduction, 1-float64(used)/float64(full))
	near("cached share", m.CachedShare, float64(same)/float64(bytesAll))
	near("share of the bill", m.Billed.Share, m.Billed.Equivalents/m.Billed.FullHistoryEquivalents)
	if want := (wire.MetricsRetrieval{Requests: 2, Asked: 4, Served: 2, NotFound: 2, HitRate: 0.5}); m.Retrieval == nil || *m.Retrieval != want {
		t.Errorf("%+v, want %+v", m.Retrieval, want)
	}
	if want := (wire.ReAsks{Count: 1, Rate: 0.25}); m.ReAsks == nil || *m.ReAsks != want {
		t.Errorf("%+v, want %+v", m.ReAsks, want)
	}
	if f := m.Fidelity; f == nil || f.Conversations != 3 || f.Identifiers == nil || f.Identifiers.Noted != 4 || f.Errors != nil {
		t.Errorf("%+v", f)
	}
	if m.Drift == nil || m.Latency == nil || m.Latency.Count != 3 || m.Latency.P50Ms <= 0 {
		t.Errorf("%+v, %+v", m.Drift, m.Latency)
	}
	later := get(wire.MetricsGetParams{Since: time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	if later.Packs != 0 || later.Tokens != nil || later.Fidelity != nil {
		t.Errorf("of the future: %+v", later)
	}
	windows := []wire.MetricsGetParams{{}, {OnlySession: true}, {Since: start.UTC().Format(time.RFC3339Nano)}, {SinceSequence: 5, UntilSequence: 12}}
	var before []wire.MetricsGetResult
	for _, w := range windows {
		before = append(before, get(w))
	}
	if before[2].Packs != 3 || before[3].Packs == 0 || before[3].Packs == 3 {
		t.Errorf("%d packs by time and %d by sequence", before[2].Packs, before[3].Packs)
	}
	c.stop()
	c = startChild(t, dir)
	defer c.stop()
	open()
	for i, w := range windows {
		if got := get(w); !reflect.DeepEqual(got, before[i]) {
			t.Errorf("%+v after a restart:\n%+v, before\n%+v", w, got, before[i])
		}
	}
}

func TestStatsOfAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"HEXAPLA_DATA_DIR": dir}
	args := []string{"stats", "--workspace", testWorkspace}
	if o := hexapla(t, env, args...); o.code != exitFailure || !strings.Contains(o.errs, "nothing is recorded") {
		t.Errorf("no memory: %+v", o)
	}
	c := startChild(t, dir)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "main"})
	c.stop()
	if o := hexapla(t, env, args...); o.code != exitOK || !strings.Contains(o.out, "no packs yet") {
		t.Errorf("no packs: %+v", o)
	}
	if o := hexapla(t, env, append(args, "--since", "1d", "--session", "main")...); o.code != exitOK || !strings.Contains(o.out, "no packs in this window") {
		t.Errorf("no packs in a window: %+v", o)
	}
	for _, wrong := range [][]string{{"--since", "yesterday"}, {"--since", "-3h"}, {"--until", "3"}, {"--since", "2026-02-02", "--until", "2026-02-01"}} {
		if o := hexapla(t, env, append(args, wrong...)...); o.code != exitUsage || !strings.Contains(o.errs, wrong[0]) {
			t.Errorf("%v: %+v", wrong, o)
		}
	}
}

func TestMoments(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"24h": "2026-03-09T15:00:00Z", "7d": "2026-03-03T15:00:00Z", "2w": "2026-02-24T15:00:00Z", "1h30m": "2026-03-10T13:30:00Z",
		"2026-01-31": "2026-01-31T00:00:00Z", "2026-01-31T12:00:00+02:00": "2026-01-31T10:00:00Z",
	} {
		if params, err := statsWindow(text, "", now); err != nil || params.Since != want {
			t.Errorf("%s: %s, %v; want %s", text, params.Since, err, want)
		}
	}
	if params, err := statsWindow("2026-01-31", "2026-01-31", now); err != nil || params.Until != "2026-02-01T00:00:00Z" {
		t.Errorf("a day: %+v, %v", params, err)
	}
}

func TestStatsTable(t *testing.T) {
	t.Parallel()
	f := func(x float64) *float64 { return &x }
	kept := func(kept, noted, allKept, all int) *wire.FidelityShare {
		k := &wire.FidelityShare{Noted: noted, Kept: kept, All: all, AllKept: allKept, AllShare: float64(allKept) / float64(all)}
		if noted > 0 {
			k.Share = f(float64(kept) / float64(noted))
		}
		return k
	}
	whole := &wire.MetricsGetResult{
		Window: wire.MetricsWindow{FromSequence: 1, ToSequence: 4711, From: "2026-01-12T10:04:05.123Z", To: "2026-01-13T09:00:00Z", Conversations: 612, Turns: 12_340},
		Packs:  5678, ForcedDrops: 45, Unmeasured: 12,
		Tokens:    &wire.MetricsTokens{PerPack: 7812.4, PerTurn: f(2941), FullHistoryPerPack: 1_041_230.25},
		Reduction: f(0.8112), CachedShare: f(0.9134),
		Billed: &wire.MetricsBilled{
			Equivalents: 3_456_789.5, FullHistoryEquivalents: 9_812_345, Share: f(0.3523), PricedPacks: 5000, Dollars: f(17.284), FullHistoryDollars: f(49.06),
		},
		Latency:   &wire.Percentiles{Count: 5666, P50Ms: 3.125, P95Ms: 8, P99Ms: 112.4},
		Retrieval: &wire.MetricsRetrieval{Requests: 5, Asked: 12, Served: 10, Deferred: 1, NotFound: 1, HitRate: 0.8333},
		ReAsks:    &wire.ReAsks{Count: 2, Rate: 0.1667},
		Fidelity: &wire.Fidelity{
			Conversations: 500, Limited: true, Identifiers: kept(40, 50, 60, 500), Decisions: kept(9, 10, 9, 30), Errors: kept(0, 0, 0, 3), Overall: kept(49, 60, 69, 533),
		},
		Drift: &wire.Drift{Versions: 500, Limited: true, Mean: 0.2346, Max: 0.7143},
	}
	var b bytes.Buffer
	writeStats(&b, wire.MetricsGetParams{}, whole)
	b.WriteString("\n")
	writeStats(&b, wire.MetricsGetParams{OnlySession: true, Session: "main"}, &wire.MetricsGetResult{})
	b.WriteString("\n")
	larger := &wire.MetricsGetResult{
		Packs: 1, BudgetViolations: 1, Window: wire.MetricsWindow{From: "2026-01-12T10:04:05Z", To: "2026-01-12T10:04:05Z", Conversations: 1},
		Tokens: &wire.MetricsTokens{PerPack: 100, FullHistoryPerPack: 50}, Reduction: f(-1), CachedShare: f(0),
		Billed: &wire.MetricsBilled{Equivalents: 125, FullHistoryEquivalents: 62.5, Share: f(2)}, Fidelity: &wire.Fidelity{Conversations: 1},
	}
	writeStats(&b, wire.MetricsGetParams{Since: "2026-01-12T00:00:00Z"}, larger)
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	golden(t, "stats/table.txt", b.String())
}
