package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// was archived.
func TestI6_FallsBack(t *testing.T) {
	t.Parallel()
	_, uri := workFolder(t, nil)
	c := tierSession(t, uri, `{}`)
	messages := append(looseHistory(3), asking("Now?"))
	for _, bad := range []struct {
		path     string
		params   func(*wire.TiersBuildParams)
		smallest bool
	}{
		{"messages[2]", func(p *wire.TiersBuildParams) {
			p.Messages = slices.Clone(messages)
			p.Messages[2] = json.RawMessage(`{"who":"me","n":1.50,"s":"é<"}`)
		}, false},
		{"messages[0]", func(p *wire.TiersBuildParams) { p.Messages = []json.RawMessage{json.RawMessage(`[1,"two"]`)} }, false},
		{"messages", func(p *wire.TiersBuildParams) { p.Messages = slices.Repeat(messages[:1], 100_001) }, false},
		{"budget", func(p *wire.TiersBuildParams) { p.Budget = 3 }, true},
	} {
		p := tiersOf(messages, 10)
		bad.params(&p)
		got := buildTiers(c, p)
		if got.Built || len(got.Warnings) != 1 || got.Warnings[0].Kind != "notBuilt" || got.Warnings[0].Path != bad.path || (got.Warnings[0].SmallestTotal > 0) != bad.smallest || len(got.Removed) > 0 {
			t.Fatalf("%s: %+v", bad.path, got.Warnings)
		}
		if !slices.EqualFunc(got.Messages, p.Messages, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) || len(got.Kept) != len(p.Messages) {
			t.Errorf("%s: other messages came back", bad.path)
		}
		if bad.smallest {
			p.Budget = got.Warnings[0].SmallestTotal
			if got := buildTiers(c, p); !got.Built || got.Tokens > p.Budget {
				t.Errorf("%d tokens do not do: %+v", p.Budget, got.TierBuild)
			}
		}
	}
	if got := buildTiers(c, tiersOf([]json.RawMessage{}, 50)); !got.Built || len(got.Messages) != 0 {
		t.Errorf("no messages: %+v", got.TierBuild)
	}
	for path, change := range map[string]func(*wire.TiersBuildParams){
		"budget": func(p *wire.TiersBuildParams) { p.Budget = -1 }, "limit": func(p *wire.TiersBuildParams) { p.Limit = -1 },
		"agent": func(p *wire.TiersBuildParams) { p.Agent = strings.Repeat("a", 257) },
	} {
		p := tiersOf(messages, 50)
		change(&p)
		if data := denied(c, wire.MethodTiersBuild, p); data.Path != path || data.Kind != wire.KindInvalidParams {
			t.Errorf("%s: %+v", path, data)
		}
	}
	p := tiersOf(messages, 50)
	p.Model = "no-such-model"
	if got := buildTiers(c, p); !got.Built || len(got.Warnings) != 1 || got.Warnings[0].Kind != "unknownModel" {
		t.Errorf("an unknown model: %+v", got.Warnings)
	}
}

// archived.
func TestI6_LongList(t *testing.T) {
	t.Parallel()
	_, uri := workFolder(t, nil)
	c := tierSession(t, uri, `{}`)
	messages := append(looseHistory(*pruneMessages/4-1), asking("Now?"))
	got := buildTiers(c, tiersOf(messages, 70))
	if !got.Built || len(got.Kept)+len(got.Removed) != len(messages) || got.Tiers[3].Items < 1 || got.Tiers[3].Items > 5 {
		t.Fatalf("%d stay, %d go: %+v", len(got.Kept), len(got.Removed), got.Warnings)
	}
	last := got.Removed[len(got.Removed)-1]
	back := call[wire.HistoryGetResult](c, wire.MethodHistoryGet, wire.HistoryGetParams{Session: "s", Archived: []string{got.Removed[0].Archived, last.Archived}})
	if !bytes.Equal(back.Messages[0].Message, messages[0]) || !bytes.Equal(back.Messages[1].Message, messages[last.Message]) {
		t.Errorf("%s", back.Messages)
	}
}

// TestI7_Compare: two strategies on the same messages, without a trace.
func TestI7_Compare(t *testing.T) {
	t.Parallel()
	_, uri := workFolder(t, nil)
	c := tierSession(t, uri, `{}`)
	messages := append(looseHistory(25), asking("Now?"))
	before := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, wire.MetricsGetParams{Session: "s"}).Sequence
	low, high := 10.0, 90.0
	p := wire.TiersCompareParams{TierMessages: tiersOf(messages, 0).TierMessages, A: wire.TierStrategy{BudgetPercent: &high}, B: wire.TierStrategy{BudgetPercent: &low}}
	got := call[wire.TiersCompareResult](c, wire.MethodTiersCompare, p)
	if got.A.Tiers[3].Items != 9 || got.B.Tiers[3].Items != 0 || len(got.OnlyA) != 9 || len(got.OnlyB) != 0 || got.MoreTokens != got.B.Tokens-got.A.Tokens || got.MoreTokens >= 0 || got.B.ReductionPercent < 30 {
		t.Errorf("%+v", got)
	}
	built := buildTiers(c, tiersOf(messages, low))
	if built.Checksum != got.B.Checksum || built.Tokens != got.B.Tokens {
		t.Error("a build gives something else")
	}
	if after := call[wire.TiersSnapshotsResult](c, wire.MethodTiersSnapshots, wire.TiersSnapshotsParams{Session: "s"}); len(after.Snapshots) != 1 {
		t.Errorf("%d snapshots", len(after.Snapshots))
	}
	if built.Sequence <= before {
		t.Errorf("nothing was archived by the build")
	}
	p.B.Force = []int{9}
	if data := denied(c, wire.MethodTiersCompare, p); data.Path != "b.force[0]" {
		t.Errorf("%+v", data)
	}
	none := map[string]any{"session": "s", "messages": messages, "a": map[string]any{}, "b": map[string]any{"rules": []any{}}}
	if data := denied(c, wire.MethodTiersCompare, none); data.Path != "b.rules[0].below" {
		t.Errorf("%+v", data)
	}
}
