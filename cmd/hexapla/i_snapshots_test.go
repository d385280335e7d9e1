package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// and time, newest first, after a restart too; packs and metrics do not see them.
func TestI4_Snapshots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, uri := workFolder(t, nil)
	c := startChild(t, dir)
	openTierSession(c, uri, "s")
	openTierSession(c, uri, "other")
	messages := append(looseHistory(10), asking("Now?"))
	var last wire.TiersBuildResult
	for i := range 7 {
		p := tiersOf(messages, float64(i*15))
		p.User = []string{"ann", "bob"}[i%2]
		if i >= 5 {
			p.Session = "other"
		}
		last = buildTiers(c, p)
	}
	call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 8_000}})
	ann := "ann"
	list := func(p wire.TiersSnapshotsParams) (out []string) {
		p.Session = "s"
		for {
			got := call[wire.TiersSnapshotsResult](c, wire.MethodTiersSnapshots, p)
			for _, s := range got.Snapshots {
				out = append(out, fmt.Sprintf("%s %s %g", s.Session, s.User, s.Strategy.BudgetPercent))
			}
			if p.Cursor = got.Cursor; p.Cursor == "" || p.Limit == 1 {
				return out
			}
		}
	}
	check := func() {
		t.Helper()
		for _, want := range []struct {
			p   wire.TiersSnapshotsParams
			all string
		}{
			{wire.TiersSnapshotsParams{Limit: 2}, "other ann 90, other bob 75, s ann 60, s bob 45, s ann 30, s bob 15, s ann 0"},
			{wire.TiersSnapshotsParams{OnlySession: true, Limit: 1}, "s ann 60"},
			{wire.TiersSnapshotsParams{OnlySession: true, User: &ann}, "s ann 60, s ann 30, s ann 0"},
			{wire.TiersSnapshotsParams{Until: "2020-01-01T00:00:00Z"}, ""},
			{wire.TiersSnapshotsParams{Since: "2020-01-01T00:00:00Z", User: &ann, Limit: 1}, "other ann 90"},
		} {
			if got := strings.Join(list(want.p), ", "); got != want.all {
				t.Errorf("%+v: %s", want.p, got)
			}
		}
	}
	check()
	newest := call[wire.TiersSnapshotsResult](c, wire.MethodTiersSnapshots, wire.TiersSnapshotsParams{Session: "s", Limit: 1}).Snapshots[0]
	if newest.Checksum != last.Checksum || newest.Tokens != last.Tokens || newest.Removed != len(last.Removed) || newest.Kept != len(last.Kept) || newest.Tiers[3].Tokens != last.Tiers[3].Tokens || newest.Time == "" || !newest.Built {
		t.Errorf("%+v", newest)
	}
	if entries := call[wire.AuditQueryResult](c, wire.MethodAuditQuery, wire.AuditQueryParams{Session: "s"}).Entries; len(entries) != 1 {
		t.Errorf("%d packs in the audit log", len(entries))
	}
	if packs := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, wire.MetricsGetParams{Session: "s"}).Packs; packs != 1 {
		t.Errorf("%d packs", packs)
	}
	if data := denied(c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: newest.Checksum}); data.Kind != wire.KindNotFound {
		t.Errorf("%+v", data)
	}
	for path, p := range map[string]wire.TiersSnapshotsParams{"limit": {Session: "s", Limit: 201}, "since": {Session: "s", Since: "soon"}, "cursor": {Session: "s", Cursor: "x"}} {
		if data := denied(c, wire.MethodTiersSnapshots, p); data.Path != path {
			t.Errorf("%s: %+v", path, data)
		}
	}
	c.stop()
	c = startChild(t, dir)
	openTierSession(c, uri, "s")
	check()
	c.stop()
	env := map[string]string{"HEXAPLA_DATA_DIR": dir}
	o := hexapla(t, env, "tiers", "--workspace", strings.TrimPrefix(uri, "file://"), "--user", "ann")
	if lines := strings.Split(o.out, "\n"); o.code != exitOK || len(lines) != 8 || !strings.Contains(lines[1], "90!") || !strings.Contains(lines[4], "<40%") || !strings.HasPrefix(lines[5], "session: 0 reports") {
		t.Errorf("%+v", o)
	}
	if o := hexapla(t, env, "tiers", "--limit", "0"); o.code != exitUsage {
		t.Errorf("%+v", o)
	}
}

// spans of one trace in OpenTelemetry's JSON, without a word of the messages.
func TestI5_Traces(t *testing.T) {
	t.Parallel()
	_, uri := workFolder(t, nil)
	messages := append(looseHistory(10), asking("Where does the "+bird+" nest?"))
	run := func(dir, options string) {
		c := startWith(t, dir, options)
		defer c.stop()
		openTierSession(c, uri, "s")
		buildTiers(c, tiersOf(messages, 50))
		call[wire.BudgetReportResult](c, wire.MethodBudgetReport, wire.BudgetReportParams{Session: "s", PromptTokens: 1000, OutputTokens: 50, User: "ann"})
		buildTiers(c, tiersOf([]json.RawMessage{json.RawMessage(`"no message"`)}, 50))
	}
	quiet := t.TempDir()
	run(quiet, `{}`)
	if _, err := os.Stat(filepath.Join(quiet, "traces")); !os.IsNotExist(err) {
		t.Errorf("traces are there: %v", err)
	}
	dir := t.TempDir()
	run(dir, `{"trace":{"file":"hexapla.jsonl"}}`)
	data, err := os.ReadFile(filepath.Join(dir, "traces", "hexapla.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte(bird)) {
		t.Error("a trace holds a word of the messages")
	}
	type value struct{ StringValue, IntValue string }
	type span struct {
		TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string
		Attributes                                                              []struct {
			Key   string
			Value value
		}
		Events []struct{ Name string }
		Status struct{ Code int }
	}
	var spans []span
	for line := range bytes.Lines(data) {
		var request struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.Unmarshal(line, &request); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		spans = append(spans, request.ResourceSpans[0].ScopeSpans[0].Spans...)
	}
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	build, report, failed := spans[0], spans[1], spans[2]
	if build.Name != "hexapla.tiers.build" || len(build.TraceID) != 32 || len(build.SpanID) != 16 || len(build.Events) != 4 || build.Status.Code != 1 || len(build.StartTimeUnixNano) != 19 || build.EndTimeUnixNano < build.StartTimeUnixNano {
		t.Errorf("%+v", build)
	}
	if report.Name != "hexapla.budget.report" || report.TraceID != build.TraceID || report.ParentSpanID != build.SpanID || report.SpanID == build.SpanID {
		t.Errorf("%+v", report)
	}
	if failed.Status.Code != 2 || failed.TraceID == build.TraceID {
		t.Errorf("%+v", failed)
	}
	if info, err := os.Stat(filepath.Join(dir, "traces", "hexapla.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}
