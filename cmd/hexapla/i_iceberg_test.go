package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// workFolder is a workspace's folder with files, and its URI.
func workFolder(t *testing.T, files map[string]string) (dir, uri string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, "file://" + filepath.ToSlash(dir)
}

// tierSession starts a server with a session s of the agent alpha in a folder.
func tierSession(t *testing.T, uri, options string) *child {
	t.Helper()
	c := startWith(t, t.TempDir(), options)
	t.Cleanup(c.stop)
	openTierSession(c, uri, "s")
	return c
}

func openTierSession(c *child, uri, name string) {
	c.t.Helper()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: uri}, Session: name, Agent: "alpha", Model: "gpt-4o"})
}

func tiersOf(messages []json.RawMessage, percent float64) wire.TiersBuildParams {
	return wire.TiersBuildParams{
		TierMessages: wire.TierMessages{Session: "s", Messages: messages, System: json.RawMessage(`"You are careful."`)},
		TierStrategy: wire.TierStrategy{BudgetPercent: &percent},
	}
}

func buildTiers(c *child, p wire.TiersBuildParams) wire.TiersBuildResult {
	c.t.Helper()
	return call[wire.TiersBuildResult](c, wire.MethodTiersBuild, p)
}

// contextOf is the text of the message with items and files.
func contextOf(t *testing.T, r *wire.TiersBuildResult) string {
	t.Helper()
	if r.ContextAt == nil {
		return ""
	}
	var m struct{ Role, Content string }
	if err := json.Unmarshal(r.Messages[*r.ContextAt], &m); err != nil || m.Role != "user" {
		t.Fatalf("%s: %v", r.Messages[*r.ContextAt], err)
	}
	return m.Content
}

func asking(text string) json.RawMessage {
	raw, err := json.Marshal(map[string]string{"role": "user", "content": text})
	if err != nil {
		panic(err)
	}
	return raw
}

func partsOf(tier wire.TierContent) map[string]string {
	out := map[string]string{}
	for _, part := range tier.Parts {
		out[part.ID] = strings.TrimSuffix(part.Detail+" "+part.Reason, " ")
	}
	return out
}

const clockSource = "package clock\n\n// Clock ticks.\ntype Clock struct{ at int }\n\n// Tick goes on.\nfunc (c *Clock) Tick() int {\n\tc.at++ // one more\n\treturn c.at\n}\n"

// TestI1_FourTiers: tier 1 is always there, memory items and files that are referred
// to come with it, the history is cut whole unit by whole unit, what goes can be
// had again, and the tokens add up.
func TestI1_FourTiers(t *testing.T) {
	t.Parallel()
	_, uri := workFolder(t, map[string]string{"clock.go": clockSource, "docs/plan.md": "# Plan\n\nwords\n\n## Later\n"})
	c := tierSession(t, uri, `{}`)
	recordAsked(c, "Build a clock.", wire.Turn{Role: "assistant", Text: "It ticks."})
	saveItems(c, "", wire.MemoryDraft{Type: "TASK", Content: "Make the clock pause."}, wire.MemoryDraft{Type: "TEST_RESULT", Content: "14 passed"})
	messages := append(looseHistory(10), asking("Does Tick in clock.go match @docs/plan.md?"))
	for _, want := range []struct {
		percent      float64
		items, files int
		detail       string
		most         int
	}{{10, 1, 0, "", 0}, {50, 2, 2, "outline", 2}, {70, 2, 2, "full", 5}, {90, 2, 2, "full", 10}} {
		got := buildTiers(c, tiersOf(messages, want.percent))
		if !got.Built || len(got.Warnings) > 0 || got.Tiers[1].Items != want.items || got.Tiers[2].Items != want.files || got.Tiers[3].Items > want.most || want.most > 3 && got.Tiers[3].Items < want.most-3 {
			t.Fatalf("%v %%: %+v", want.percent, got.TierBuild)
		}
		sum := 0
		for i, tier := range got.Tiers {
			if tier.Tier != i+1 {
				t.Errorf("tier %d is %d", i+1, tier.Tier)
			}
			sum += tier.Tokens
			shown := 0
			for _, part := range tier.Parts {
				if part.Detail != "none" {
					shown += part.Tokens
				}
			}
			if shown != tier.Tokens {
				t.Errorf("tier %d has %d tokens, its parts %d", tier.Tier, tier.Tokens, shown)
			}
		}
		after := call[wire.HistoryStatsResult](c, wire.MethodHistoryStats, wire.HistoryStatsParams{HistoryList: wire.HistoryList{Session: "s", Messages: got.Messages, System: json.RawMessage(`"You are careful."`)}})
		if sum != got.Tokens || after.Tokens != got.Tokens || len(after.Problems) > 0 {
			t.Errorf("%v %%: tiers have %d tokens, the build %d, the list %d, problems %v", want.percent, sum, got.Tokens, after.Tokens, after.Problems)
		}
		if last := len(got.Messages) - 1; !bytes.Equal(got.Messages[last], messages[40]) || got.Kept[len(got.Kept)-1] != 40 {
			t.Errorf("the question is not at the end: %s", got.Messages[last])
		}
		text := contextOf(t, &got)
		for _, say := range []struct {
			text string
			in   bool
		}{
			{"Make the clock pause.", true}, {"Build a clock", true}, {"func (c *Clock) Tick() int", want.files > 0}, {"one more", want.detail == "full"},
			{"## Later", want.files > 0}, {"words", want.detail == "full"}, {"earlier messages", true},
		} {
			if strings.Contains(text, say.text) != say.in {
				t.Errorf("%v %%: %q is in: %v\n%s", want.percent, say.text, !say.in, text)
			}
		}
		if parts := partsOf(got.Tiers[2]); want.files > 0 && !strings.HasPrefix(parts["clock.go"], want.detail) {
			t.Errorf("%v %%: %v", want.percent, parts)
		}
		if len(got.Kept)+len(got.Removed) != len(messages) {
			t.Fatalf("%d stay, %d go", len(got.Kept), len(got.Removed))
		}
		for _, r := range got.Removed[:1] {
			back := call[wire.HistoryGetResult](c, wire.MethodHistoryGet, wire.HistoryGetParams{Session: "s", Archived: []string{r.Archived}})
			if !bytes.Equal(back.Messages[0].Message, messages[r.Message]) {
				t.Errorf("archived %s", back.Messages[0].Message)
			}
		}
		if again := buildTiers(c, tiersOf(messages, want.percent)); again.Checksum != got.Checksum {
			t.Error("the same messages give others")
		}
	}
	forced := tiersOf(messages, 10)
	forced.Force = []int{3, 4}
	got := buildTiers(c, forced)
	if got.Tiers[1].Items != 1 || got.Tiers[2].Items != 2 || got.Tiers[3].Items < 7 || got.Strategy.Range != "<40%" || !slices.Equal(got.Strategy.Forced, []int{3, 4}) {
		t.Errorf("forced: %+v", got.TierBuild)
	}
	few := tiersOf([]json.RawMessage{asking("Hello")}, 10)
	few.Agent = "nobody"
	if got := buildTiers(c, few); len(got.Warnings) != 1 || got.Warnings[0].Kind != "unknownAgent" || !got.Built || got.Tiers[1].Items != 0 {
		t.Errorf("an unknown agent: %+v", got.TierBuild)
	}
}

// TestI1_LoopAndShapes: in a loop of tool calls the user's words and the newest call
// with its result are tier 1, in every provider's shape; system prompts among the
// messages stay in front of all.
func TestI1_LoopAndShapes(t *testing.T) {
	t.Parallel()
	_, uri := workFolder(t, nil)
	c := tierSession(t, uri, `{}`)
	for name, shape := range map[string][4]string{
		"chat":      {`{"role":"user","content":"do %d"}`, `{"role":"assistant","tool_calls":[{"id":"t%d","type":"function","function":{"name":"Bash","arguments":"{}"}}]}`, `{"role":"tool","tool_call_id":"t%d","content":"ok %[1]d"}`, `{"role":"system","content":"Be careful."}`},
		"anthropic": {`{"role":"user","content":"do %d"}`, `{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"ok %[1]d"}]}`, ""},
		"responses": {`{"role":"user","content":"do %d"}`, `{"type":"function_call","call_id":"t%d","name":"Bash","arguments":"{}"}`, `{"type":"function_call_output","call_id":"t%d","output":"ok %[1]d"}`, `{"role":"developer","content":"Be careful."}`},
		"gemini":    {`{"role":"user","parts":[{"text":"do %d"}]}`, `{"role":"model","parts":[{"functionCall":{"id":"t%d","name":"Bash","args":{}}}]}`, `{"role":"user","parts":[{"functionResponse":{"id":"t%d","name":"Bash","response":{"output":"ok %[1]d"}}}]}`, ""},
	} {
		var messages []json.RawMessage
		if shape[3] != "" {
			messages = append(messages, json.RawMessage(shape[3]))
		}
		first := len(messages)
		messages = append(messages, json.RawMessage(fmt.Sprintf(shape[0], 0)))
		for i := range 20 {
			messages = append(messages, json.RawMessage(fmt.Sprintf(shape[1], i)), json.RawMessage(fmt.Sprintf(shape[2], i)))
		}
		n := len(messages)
		for percent, most := range map[float64]int{0: 0, 45: 2, 65: 5, 100: 10} {
			got := buildTiers(c, tiersOf(messages, percent))
			if !slices.Contains(got.Kept, first) || !slices.Contains(got.Kept, n-1) || !slices.Contains(got.Kept, n-2) || len(got.Kept) != first+3+most/2*2 {
				t.Errorf("%s, %v %%: kept %v", name, percent, got.Kept)
			}
			if first == 1 && (!bytes.Equal(got.Messages[0], messages[0]) || *got.ContextAt != 1) {
				t.Errorf("%s: the list begins with %s", name, got.Messages[0])
			}
		}
	}
	orphan := tiersOf([]json.RawMessage{
		json.RawMessage(`{"role":"tool","tool_call_id":"gone","content":"nobody asked"}`), asking("one"), json.RawMessage(`{"role":"assistant","content":"two"}`), asking("three"),
	}, 100)
	got := buildTiers(c, orphan)
	if !got.Built || !slices.Equal(got.Kept, []int{1, 2, 3}) || len(got.Warnings) != 1 || got.Warnings[0].Kind != "problems" || got.Warnings[0].Path != "messages[0]" || got.Removed[0].Reason != "broken" {
		t.Errorf("an orphaned result: %+v", got.TierBuild)
	}
}

// TestI1_FilesStayInside: nothing outside of the folder is read, by no name and no
// link, nothing that is no text, and nothing that is too large; what is read has
// TestI2_Rules: the settings' rules take the table's place, and the request's theirs;
// what is wrong with them is named.
func TestI2_Rules(t *testing.T) {
	t.Parallel()
	_, uri := workFolder(t, nil)
	c := tierSession(t, uri, `{"tiers":{"rules":[{"below":50,"items":0,"files":"none","messages":4},{"files":"full"}]}}`)
	messages := append(looseHistory(10), asking("Now?"))
	if got := buildTiers(c, tiersOf(messages, 49.9)); got.Strategy.Rules != "settings" || got.Strategy.Range != "<50%" || got.Tiers[3].Items != 4 {
		t.Errorf("%+v", got.Strategy)
	}
	if got := buildTiers(c, tiersOf(messages, 50)); got.Strategy.Range != ">=50%" || len(got.Removed) != 0 || got.ContextAt != nil || len(got.Messages) != len(messages) || got.Tokens != got.OriginalTokens {
		t.Errorf("%+v", got.TierBuild)
	}
	one, minus := 1, -1
	custom := tiersOf(messages, 0)
	custom.Rules = []wire.TierRule{{Files: "none", Items: &one, Messages: &one}}
	if got := buildTiers(c, custom); got.Strategy.Rules != "request" || got.Strategy.Range != "all" || got.Tiers[3].Items != 1 {
		t.Errorf("%+v", got.TierBuild)
	}
	over, nan := 100.5, -0.1
	for path, strategy := range map[string]wire.TierStrategy{
		"rules[0].below":    {Rules: []wire.TierRule{{Below: 40, Files: "none"}}},
		"rules[1].below":    {Rules: []wire.TierRule{{Below: 40, Files: "none"}, {Below: 40, Files: "none"}, {Files: "none"}}},
		"rules[0].messages": {Rules: []wire.TierRule{{Files: "none", Messages: &minus}}},
		"rules[0].items":    {Rules: []wire.TierRule{{Files: "none", Items: &minus}}},
		"rules[0].files":    {Rules: []wire.TierRule{{Files: "most"}}},
		"force[1]":          {Force: []int{4, 5}},
		"force[0]":          {Force: []int{0}},
		"budgetPercent":     {BudgetPercent: &over},
	} {
		p := tiersOf(messages, 0)
		p.TierStrategy = strategy
		if data := denied(c, wire.MethodTiersBuild, p); data.Kind != wire.KindInvalidParams || data.Path != path {
			t.Errorf("%s: %+v", path, data)
		}
	}
	p := tiersOf(messages, nan)
	if data := denied(c, wire.MethodTiersBuild, p); data.Path != "budgetPercent" {
		t.Errorf("%+v", data)
	}
	s := startRaw(t)
	for options, path := range map[string]string{
		`{"tiers":{"rules":[{"below":40,"files":"none"}]}}`: "initializationOptions.tiers.rules[0].below",
		`{"tiers":{"rule":[]}}`:                             "initializationOptions.tiers",
		`{"budget":{"sessionTokens":-1}}`:                   "initializationOptions.budget.sessionTokens",
		`{"trace":{"file":"../x"}}`:                         "initializationOptions.trace.file",
	} {
		s = startRaw(t)
		reply := s.call(1, "initialize", json.RawMessage(`{"capabilities":{},"initializationOptions":`+options+`}`))
		var data wire.ErrorData
		if reply.Error == nil || json.Unmarshal(reply.Error.Data, &data) != nil || data.Path != path {
			t.Errorf("%s: %+v %+v", options, reply.Error, data)
		}
	}
}

// TestI3_Budgets: tokens and money are counted per session, and per user and month,
// once for each key; the limit with the least left binds and decides what tiers
// TestI4_Snapshots: every build is noted with its numbers, found by session, user
// TestI5_Traces: nothing is written unless asked for; then builds and reports are
// TestI6_FallsBack: what cannot be built comes back to the byte, with why; nothing
// TestI6_LongList: a long list of messages is put into tiers, and all that goes is
// TestI8_WhatADashboardNeeds: the bar of the budget, the tokens of each tier, the
// strategy, the builds before and a choice by hand come from three calls, and an
