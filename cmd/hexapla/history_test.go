package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// looseHistory is a list of Anthropic's messages that was never recorded.
func looseHistory(exchanges int) (messages []json.RawMessage) {
	for i := range exchanges {
		for _, m := range []string{
			`{"role":"user","content":"Please look at part %[1]d."}`,
			`{"role":"assistant","content":[{"type":"tool_use","id":"t%[1]d","name":"Bash","input":{"command":"go test ./part%[1]d"}}]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%[1]d","content":"ok part%[1]d"}]}`,
			`{"role":"assistant","content":[{"type":"text","text":"Part %[1]d is fine."}]}`,
		} {
			messages = append(messages, json.RawMessage(fmt.Sprintf(m, i)))
		}
	}
	return messages
}

func historyOf(messages []json.RawMessage) wire.HistoryList {
	return wire.HistoryList{Session: "s", Messages: messages, System: json.RawMessage(`"You are careful."`), Model: "gpt-4o"}
}

// TestPrune2_ThroughTheProcess: what stays fits its budget, has the newest message
// and is unchanged to the byte; what goes is archived once, and another process
// gives it back.
func TestPrune2_ThroughTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	recordStory(c, 1)
	messages := looseHistory(25)
	params := wire.HistoryPruneParams{HistoryList: historyOf(messages), Budget: 400, Return: true, Key: "k"}
	got := call[wire.HistoryPruneResult](c, wire.MethodHistoryPrune, params)
	if !got.Changed || got.After.Tokens > 400 || got.Before.Items != 100 || got.After.Items != len(got.Kept) || len(got.Kept)+len(got.Removed) != 100 || got.Kept[len(got.Kept)-1] != 99 || len(got.After.Problems) != 0 {
		t.Fatalf("%d stay, %d go: %+v", len(got.Kept), len(got.Removed), got.After)
	}
	for i, m := range got.Kept {
		if !bytes.Equal(got.Messages[i], messages[m]) {
			t.Errorf("message %d is %s", m, got.Messages[i])
		}
		if m%4 == 1 && !slices.Contains(got.Kept, m+1) || m%4 == 2 && !slices.Contains(got.Kept, m-1) {
			t.Errorf("message %d stays without its other half", m)
		}
	}
	if again := call[wire.HistoryPruneResult](c, wire.MethodHistoryPrune, params); again.Sequence < got.Sequence || !slices.Equal(again.Kept, got.Kept) {
		t.Errorf("repeated: %+v", again.After)
	}
	params.Key = "other"
	if again := call[wire.HistoryPruneResult](c, wire.MethodHistoryPrune, params); !slices.Equal(again.Removed, got.Removed) {
		t.Error("the same list has other names")
	}
	c.stop()
	c = startChild(t, dir)
	t.Cleanup(c.stop)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	ask := wire.HistoryGetParams{Session: "s"}
	for _, r := range got.Removed {
		ask.Archived = append(ask.Archived, r.Archived)
	}
	for i, m := range call[wire.HistoryGetResult](c, wire.MethodHistoryGet, ask).Messages {
		if want := messages[got.Removed[i].Message]; !bytes.Equal(m.Message, want) || m.Archived != ask.Archived[i] {
			t.Errorf("archived %s, want %s", m.Message, want)
		}
	}
	ask.Archived[1] = "m0"
	if err := refused(c, wire.MethodHistoryGet, ask); err.Data.Kind != wire.KindNotFound || err.Data.Path != "archived[1]" {
		t.Errorf("an unknown name: %+v", err.Data)
	}
}

// TestPrune3_Summarize: all but the last messages become one of the user's, in the
// shape of the others, with the numbers and what was done; more stay where a call
// would be parted.
func TestPrune3_Summarize(t *testing.T) {
	t.Parallel()
	c := openStory(t, 1)
	got := call[wire.HistorySummarizeResult](c, wire.MethodHistorySummarize, wire.HistorySummarizeParams{HistoryList: historyOf(looseHistory(25)), Return: true})
	if len(got.Kept) != 11 || got.Kept[0] != 89 || got.SummaryAt != 0 || got.SummaryTokens == 0 || got.SummaryTokens > 340 || len(got.Messages) != 12 || !bytes.Equal(got.Messages[0], got.Summary) {
		t.Fatalf("kept %v, summary %s", got.Kept, got.Summary)
	}
	var summary struct{ Role, Content string }
	if err := json.Unmarshal(got.Summary, &summary); err != nil || summary.Role != "user" {
		t.Fatalf("%s: %v", got.Summary, err)
	}
	if want := "Summary of 89 messages before: 23 of the user, 44 of the model, 22 calls of tools."; !strings.HasPrefix(summary.Content, want) {
		t.Errorf("%q", summary.Content)
	}
	few := call[wire.HistorySummarizeResult](c, wire.MethodHistorySummarize, wire.HistorySummarizeParams{HistoryList: historyOf(looseHistory(2))})
	if few.Changed || few.Summary != nil || len(few.Kept) != 8 {
		t.Errorf("eight messages: %+v", few)
	}
}

// TestPrune4_Stats and the default budget: 80 percent of the model's window, or of
// the limit that is given.
func TestPrune4_Stats(t *testing.T) {
	t.Parallel()
	c := openStory(t, 1)
	list := historyOf(looseHistory(25))
	got := call[wire.HistoryStatsResult](c, wire.MethodHistoryStats, wire.HistoryStatsParams{HistoryList: list})
	if got.Items != 100 || got.Limit != 128_000 || got.NeedsPruning || got.Threshold != 80 || !got.ModelKnown || got.Estimate || got.SystemTokens == 0 || got.UtilizationPercent <= 0 {
		t.Errorf("%+v", got)
	}
	list.Limit = got.Tokens
	if got := call[wire.HistoryStatsResult](c, wire.MethodHistoryStats, wire.HistoryStatsParams{HistoryList: list}); !got.NeedsPruning || got.UtilizationPercent != 100 {
		t.Errorf("full: %+v", got)
	}
	list.Limit, list.Model = 0, "no-such-model"
	if got := call[wire.HistoryStatsResult](c, wire.MethodHistoryStats, wire.HistoryStatsParams{HistoryList: list}); got.ModelKnown || got.Limit != 100_000 {
		t.Errorf("an unknown model: %+v", got)
	}
}

// TestPrune5_Manage: a list up to its threshold stays as it is, one above it comes
// below.
func TestPrune5_Manage(t *testing.T) {
	t.Parallel()
	c := openStory(t, 1)
	list := historyOf(looseHistory(25))
	tokens := call[wire.HistoryStatsResult](c, wire.MethodHistoryStats, wire.HistoryStatsParams{HistoryList: list}).Tokens
	manage := func(limit int) wire.HistoryManageResult {
		list.Limit = limit
		return call[wire.HistoryManageResult](c, wire.MethodHistoryManage, wire.HistoryManageParams{HistoryPruneParams: wire.HistoryPruneParams{HistoryList: list}})
	}
	if got := manage(tokens*5/4 + 1); got.Changed || len(got.Kept) != 100 {
		t.Errorf("below: %+v", got.After)
	}
	if got := manage(tokens); !got.Changed || got.After.NeedsPruning || got.After.Tokens > tokens*4/5 {
		t.Errorf("above: %+v", got.After)
	}
}

// TestPrune2_Refused: what cannot be done is refused with its place and its limit,
// and removes nothing.
func TestPrune2_Refused(t *testing.T) {
	t.Parallel()
	c := openStory(t, 1)
	before := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, wire.MetricsGetParams{Session: "s"}).Sequence
	list := historyOf(looseHistory(2))
	for _, bad := range []struct {
		path   string
		kind   wire.Kind
		params wire.HistoryPruneParams
	}{
		{"budget", wire.KindInvalidParams, wire.HistoryPruneParams{HistoryList: list, Budget: -1}},
		{"budget", wire.KindBudgetTooSmall, wire.HistoryPruneParams{HistoryList: list, Budget: 3}},
		{"limit", wire.KindInvalidParams, wire.HistoryPruneParams{HistoryList: wire.HistoryList{Session: "s", Messages: list.Messages, Limit: -5}}},
		{"threshold", wire.KindInvalidParams, wire.HistoryPruneParams{HistoryList: wire.HistoryList{Session: "s", Messages: list.Messages, Threshold: 101}}},
		{"messages[1]", wire.KindInvalidParams, wire.HistoryPruneParams{HistoryList: historyOf([]json.RawMessage{list.Messages[0], json.RawMessage(`{"who":"me"}`)})}},
		{"messages[0]", wire.KindInvalidParams, wire.HistoryPruneParams{HistoryList: historyOf([]json.RawMessage{json.RawMessage(`"text"`)})}},
		{"messages", wire.KindInvalidParams, wire.HistoryPruneParams{HistoryList: historyOf(slices.Repeat(list.Messages[:1], 100_001))}},
	} {
		if err := refused(c, wire.MethodHistoryPrune, bad.params); err.Data.Path != bad.path || err.Data.Kind != bad.kind {
			t.Errorf("%s: %v %+v", bad.path, err, err.Data)
		}
	}
	if after := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, wire.MetricsGetParams{Session: "s"}).Sequence; after != before {
		t.Errorf("sequence %d, was %d", after, before)
	}
}

var pruneMessages = flag.Int("prune-messages", 20_000, "messages in the long lists of TestPrune6_LongList and TestI6_LongList, up to 100000")

// TestPrune6_LongList: a long list of messages is pruned, and all that goes is
// archived.
func TestPrune6_LongList(t *testing.T) {
	t.Parallel()
	c := openStory(t, 1)
	messages := looseHistory(*pruneMessages / 4)
	list := historyOf(messages)
	list.Limit = 2_000_000
	got := call[wire.HistoryPruneResult](c, wire.MethodHistoryPrune, wire.HistoryPruneParams{HistoryList: list, Budget: 4 * *pruneMessages})
	if len(got.Kept)+len(got.Removed) != len(messages) || len(got.Removed) < 1000 {
		t.Fatalf("%d stay, %d go", len(got.Kept), len(got.Removed))
	}
	last := got.Removed[len(got.Removed)-1]
	back := call[wire.HistoryGetResult](c, wire.MethodHistoryGet, wire.HistoryGetParams{Session: "s", Archived: []string{got.Removed[0].Archived, last.Archived}})
	if !bytes.Equal(back.Messages[1].Message, messages[last.Message]) {
		t.Errorf("%s", back.Messages[1].Message)
	}
}

// TestPrune6_Forgotten: forgetting a conversation takes what was archived of its
// words, too, and leaves the rest.
func TestPrune6_Forgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	t.Cleanup(c.stop)
	recordStory(c, 2)
	query := "Where does the " + bird + " nest, and in which tree of the park?"
	told := recordAsked(c, query, wire.Turn{Role: "assistant", Text: "In the oak."})
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Conversation: told.Conversation, Turns: []wire.Turn{{Role: "assistant", Text: "Done."}}, Done: true})
	quoted, err := json.Marshal(map[string]string{"role": "user", "content": "As I said: " + query})
	if err != nil {
		t.Fatal(err)
	}
	messages := append([]json.RawMessage{quoted}, looseHistory(4)...)
	got := call[wire.HistorySummarizeResult](c, wire.MethodHistorySummarize, wire.HistorySummarizeParams{HistoryList: historyOf(messages), Keep: 2})
	if len(got.Removed) < 3 || got.Removed[0].Message != 0 {
		t.Fatalf("removed %+v", got.Removed)
	}
	if again := call[wire.HistorySummarizeResult](c, wire.MethodHistorySummarize, wire.HistorySummarizeParams{HistoryList: historyOf(messages), Keep: 2}); again.Sequence != got.Sequence || again.Removed[0].Archived != got.Removed[0].Archived {
		t.Errorf("once more: %+v", again)
	}
	call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: "s", Conversation: told.Conversation})
	if err := refused(c, wire.MethodHistoryGet, wire.HistoryGetParams{Session: "s", Archived: []string{got.Removed[0].Archived}}); err.Data.Kind != wire.KindNotFound {
		t.Errorf("%+v", err.Data)
	}
	call[wire.HistoryGetResult](c, wire.MethodHistoryGet, wire.HistoryGetParams{Session: "s", Archived: []string{got.Removed[2].Archived}})
	if found := filesWith(t, dir, bird); len(found) > 0 {
		t.Errorf("it is still in %v", found)
	}
	call[wire.HistorySummarizeResult](c, wire.MethodHistorySummarize, wire.HistorySummarizeParams{HistoryList: historyOf(messages), Keep: 2})
	call[wire.HistoryGetResult](c, wire.MethodHistoryGet, wire.HistoryGetParams{Session: "s", Archived: []string{got.Removed[0].Archived}})
}

// TestPrune7_ModelsThroughTheProcess: settings add a model with its window and its
// tokenizer, and what they get wrong is told with its place.
func TestPrune7_ModelsThroughTheProcess(t *testing.T) {
	t.Parallel()
	c, _ := startLimited(t, t.TempDir(), "", `{"models":[{"name":"brew-1","contextWindow":32000,"tokenizer":"cl100k_base","input":2}]}`)
	defer c.stop()
	recordStory(c, 1)
	list := historyOf(looseHistory(25))
	list.Model = "acme/brew-1"
	got := call[wire.HistoryStatsResult](c, wire.MethodHistoryStats, wire.HistoryStatsParams{HistoryList: list})
	if got.Limit != 32_000 || !got.ModelKnown || got.Estimate {
		t.Errorf("%+v", got)
	}
	built := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Model: "brew-1", Budget: wire.Budget{Total: 4000}})
	var pack wire.Pack
	if err := json.Unmarshal(built.Pack, &pack); err != nil || pack.Encoding != "cl100k_base" || pack.Estimate {
		t.Errorf("%v: counted with %s, estimate %v", err, pack.Encoding, pack.Estimate)
	}
	m := startRaw(t).call(1, "initialize", json.RawMessage(`{"capabilities":{},"initializationOptions":{"models":[{"name":"a"},{"name":"b","contextWindow":-1}]}}`))
	if text, _ := json.Marshal(m); !strings.Contains(string(text), "initializationOptions.models[1]: b: context window -1 is not positive") {
		t.Errorf("%s", text)
	}
}
