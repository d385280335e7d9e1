package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"hexapla/rpc/wire"
)

// providerMessages are whole responses, each with a text, a call of a client's
// tool, housekeeping and a context request.
var providerMessages = map[string]string{
	"anthropic": `{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[
		{"type":"thinking","thinking":"hm"},
		{"type":"text","text":"I look at it."},
		{"type":"tool_use","id":"toolu_1","name":"read_file","input":{"path":"a.go"}},
		{"type":"tool_use","id":"toolu_2","name":"hexapla_housekeeping","input":{"llm":{"contextSummary":"The kettle boils."}}},
		{"type":"tool_use","id":"toolu_3","name":"hexapla_context","input":{"retrieveConversations":[{"conversationIds":["c1","c99"],"format":"summary"}]}}
	],"stop_reason":"tool_use"}`,
	"openai-chat": `{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"I look at it.","tool_calls":[
		{"id":"toolu_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.go\"}"}},
		{"id":"toolu_2","type":"function","function":{"name":"hexapla_housekeeping","arguments":"{\"llm\":{\"contextSummary\":\"The kettle boils.\",\"keyDecisions\":null},\"user\":null}"}},
		{"id":"toolu_3","type":"function","function":{"name":"hexapla_context","arguments":"{\"retrieveConversations\":[{\"conversationIds\":[\"c1\",\"c99\"],\"format\":\"summary\",}]}"}}
	]}}]}`,
	"openai-responses": `{"object":"response","output":[
		{"type":"reasoning","id":"rs_1","summary":[]},
		{"type":"message","id":"m_1","role":"assistant","content":[{"type":"output_text","text":"I look at it.","annotations":[]}]},
		{"type":"function_call","id":"fc_1","call_id":"toolu_1","name":"read_file","arguments":"{\"path\":\"a.go\"}"},
		{"type":"function_call","id":"fc_2","call_id":"toolu_2","name":"hexapla_housekeeping","arguments":"{\"llm\":{\"contextSummary\":\"The kettle boils.\"}}"},
		{"type":"function_call","id":"fc_3","call_id":"toolu_3","name":"hexapla_context","arguments":"{\"retrieveConversations\":[{\"conversationIds\":[\"c1\",\"c99\"],\"format\":\"summary\"}]}"}
	]}`,
	"gemini": `{"candidates":[{"finishReason":"STOP","content":{"role":"model","parts":[
		{"text":"hm","thought":true},
		{"text":"I look "},{"text":"at it."},
		{"functionCall":{"id":"toolu_1","name":"read_file","args":{"path":"a.go"}}},
		{"functionCall":{"id":"toolu_2","name":"hexapla_housekeeping","args":{"llm":{"contextSummary":"The kettle boils."}}}},
		{"functionCall":{"id":"toolu_3","name":"hexapla_context","args":{"retrieveConversations":[{"conversationIds":["c1","c99"],"format":"summary"}]}}}
	]}}]}`,
}

// resultBlocks are the beginnings of a result in each provider's shape.
var resultBlocks = map[string]string{
	"anthropic":        `{"content":"noted\n","tool_use_id":"toolu_2","type":"tool_result"}`,
	"openai-chat":      `{"content":"noted\n","role":"tool","tool_call_id":"toolu_2"}`,
	"openai-responses": `{"call_id":"toolu_2","output":"noted\n","type":"function_call_output"}`,
	"gemini":           `{"functionResponse":{"id":"toolu_2","name":"hexapla_housekeeping","response":{"output":"noted\n"}}}`,
}

// TestIngestProviders: a provider's response is recorded with its text and the
// client's calls; Hexapla's own calls are applied and answered.
func TestIngestProviders(t *testing.T) {
	t.Parallel()
	for provider, message := range providerMessages {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			c := startChild(t, t.TempDir())
			defer c.stop()
			call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Session: "s", Workspace: wire.Workspace{URI: "file:///tmp/kettle"}})
			call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
				Session: "s", Done: true, Turns: []wire.Turn{{Role: "user", Text: "Fill the kettle."}, {Role: "assistant", Text: "It is full."}},
			})
			call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
				Session: "s", Turns: []wire.Turn{{Role: "user", Text: "Does it boil?"}},
			})
			got := call[wire.ResponseIngestResult](c, wire.MethodResponseIngest, wire.ResponseIngestParams{Session: "s", Message: json.RawMessage(message)})
			if got.Content != "I look at it." || len(got.ToolUses) != 1 || got.ToolUses[0].ID != "toolu_1" || got.ToolUses[0].Name != "read_file" {
				t.Errorf("content %q, calls %+v", got.Content, got.ToolUses)
			}
			if input, _ := json.Marshal(got.ToolUses[0].Input); string(input) != `{"path":"a.go"}` {
				t.Errorf("input %s", input)
			}
			if !got.HousekeepingApplied || got.SummarySource != "housekeeping" || len(got.Problems) > 0 {
				t.Errorf("applied %v, from %q, problems %v", got.HousekeepingApplied, got.SummarySource, got.Problems)
			}
			if got.Context == nil || len(got.Context.Items) != 1 || len(got.Context.Deferred) != 1 {
				t.Fatalf("context %+v", got.Context)
			}
			if len(got.ToolResults) != 2 || got.ToolResults[0].CallID != "toolu_2" || string(got.ToolResults[0].Message) != resultBlocks[provider] {
				t.Fatalf("results %+v", got.ToolResults)
			}
			if text := got.ToolResults[1].Text; !strings.Contains(text, got.Context.Items[0].Text) || !strings.Contains(text, "not served: c99: not_found\n") {
				t.Errorf("result %q", text)
			}
			stored := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: got.Conversation, Detail: "full"})
			turns, _ := json.Marshal(stored)
			if !strings.Contains(string(turns), "I look at it.") || !strings.Contains(string(turns), "read_file") || strings.Contains(string(turns), "hexapla_") {
				t.Errorf("stored %s", turns)
			}
		})
	}
}

// TestIngestNeverHurts: without housekeeping, or with housekeeping that nobody
// can read, the answer is recorded, the rule's summary stands in and says so.
func TestIngestNeverHurts(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Session: "s", Workspace: wire.Workspace{URI: "file:///tmp/kettle"}})
	for i, text := range []string{
		"The kettle boils at 100 °C.",
		"The kettle boils at 100 °C.\n```hexapla\n{\"housekeeping\": {\"llm\": [1, 2",
		"The kettle boils at 100 °C.\n<hexapla>nothing</hexapla>",
	} {
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
			Session: "s", Turns: []wire.Turn{{Role: "user", Text: "When does it boil?"}},
		})
		got := call[wire.ResponseIngestResult](c, wire.MethodResponseIngest, wire.ResponseIngestParams{Session: "s", Text: text, Done: true})
		if got.HousekeepingApplied || got.SummarySource != "rule" || (len(got.Problems) > 0) != (i > 0) || !strings.Contains(got.Content, "100 °C") {
			t.Errorf("%q: %+v", text, got)
		}
		shown := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: "s", Conversation: got.Conversation, Detail: "summary"})
		if shown.Summary == nil || shown.Summary.Source != "rule" || !strings.Contains(shown.Summary.Content, "100 °C") {
			t.Errorf("%q: summary %+v", text, shown.Summary)
		}
	}
}

// TestIngestSizes: large and hostile answers are recorded whole, with what is
// over a limit counted.
func TestIngestSizes(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Session: "s", Workspace: wire.Workspace{URI: "file:///tmp/kettle"}})
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: "s", Turns: []wire.Turn{{Role: "user", Text: "Write it all down."}},
	})
	prose := strings.Repeat("All work and no play makes Jack a dull boy. ", 10<<20/44)
	got := call[wire.ResponseIngestResult](c, wire.MethodResponseIngest, wire.ResponseIngestParams{
		Session: "s", Text: prose + "\n```hexapla\n{\"housekeeping\":{\"llm\":{\"contextSummary\":\"Jack.\"}}}\n```",
	})
	if got.Content != strings.TrimSpace(prose) || !got.HousekeepingApplied || len(got.Problems) > 0 {
		t.Errorf("10 MB: %d bytes, applied %v, problems %v", len(got.Content), got.HousekeepingApplied, got.Problems)
	}
	got = call[wire.ResponseIngestResult](c, wire.MethodResponseIngest, wire.ResponseIngestParams{
		Session: "s", Text: "Deep.\n<hexapla>{\"housekeeping\":{\"llm\":{\"contextSummary\":\"Jack.\",\"keyDecisions\":" + strings.Repeat("[", 100_000),
	})
	if got.Content != "Deep." || !got.HousekeepingApplied || len(got.Problems) == 0 {
		t.Errorf("deep: %q, applied %v, problems %v", got.Content, got.HousekeepingApplied, got.Problems)
	}
	var ids strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&ids, `{"conversationIds":["c%d"]},`, i+1)
	}
	got = call[wire.ResponseIngestResult](c, wire.MethodResponseIngest, wire.ResponseIngestParams{
		Session: "s", Text: "Many.\n<hexapla>{\"contextRequests\":{\"retrieveConversations\":[" + ids.String() + "]}}</hexapla>",
	})
	if got.Content != "Many." || len(got.Problems) > 0 || got.Context == nil || len(got.Context.Items)+len(got.Context.Deferred) != 10_000 {
		t.Fatalf("many: %q, problems %v", got.Content, got.Problems)
	}
	if last := got.Context.Deferred[len(got.Context.Deferred)-1]; last.Conversation != "c10000" || last.Reason != "limit" {
		t.Errorf("the last of many: %+v", last)
	}
}

// TestInstructionTools: the tools are in each provider's dialect of JSON Schema,
// and what they take is what is read.
func TestInstructionTools(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Session: "s", Model: "gpt-4o", Workspace: wire.Workspace{URI: "file:///tmp/kettle"}})
	text := call[wire.InstructionsGetResult](c, wire.MethodInstructionsGet, wire.InstructionsGetParams{Session: "s"})
	if len(text.Tools) > 0 || text.Tokens < 200 || text.Tokens > 500 || text.Estimate {
		t.Errorf("text: %d tokens, tools %v", text.Tokens, text.Tools)
	}
	named := func(v any, name string) map[string]any {
		object, _ := v.(map[string]any)
		inner, _ := object[name].(map[string]any)
		return inner
	}
	for _, provider := range []string{"anthropic", "openai-chat", "openai-responses", "gemini"} {
		got := call[wire.InstructionsGetResult](c, wire.MethodInstructionsGet, wire.InstructionsGetParams{Session: "s", Provider: provider})
		if got.Tokens < 200 || got.Tokens > 500 || len(got.ToolTokens) != 2 || got.ToolTokens[0].Tokens < 100 || got.ToolTokens[0].Tokens > 900 {
			t.Errorf("%s: %d tokens, tools %+v", provider, got.Tokens, got.ToolTokens)
		}
		t.Logf("%s: text %d, tools %+v", provider, got.Tokens, got.ToolTokens)
		tools := got.Tools
		if provider == "gemini" {
			tools = tools[0].(map[string]any)["functionDeclarations"].([]any)
		}
		for i, tool := range tools {
			schema := named(tool, "parameters")
			switch provider {
			case "anthropic":
				schema = named(tool, "input_schema")
			case "openai-chat":
				schema = named(named(tool, "function"), "parameters")
			}
			checkDialect(t, provider, schema)
			if provider == "gemini" {
				continue // its types have other names
			}
			raw, _ := json.Marshal(schema)
			var parsed jsonschema.Schema
			if err := json.Unmarshal(raw, &parsed); err != nil {
				t.Fatal(err)
			}
			resolved, err := parsed.Resolve(nil)
			if err != nil {
				t.Fatalf("%s: %v", provider, err)
			}
			instance := []string{
				`{"llm":{"responseHeader":{"topic":"t","summary":"s","keyEntities":["a"],"outcome":"completed"},"contextSummary":"S","keyDecisions":["d"],"codeChanges":[{"files":["a.go"],"changeType":"modify","summary":"x","impact":"low"}],"openQuestions":["q"],"currentContext":{"overallNarrative":"n","currentObjective":"o","keyAchievements":["k"],"activeEntities":{"files":["a"],"functions":["f"],"concepts":["c"]},"contextualState":"s","nextSteps":["n"]}},"user":{"queryHeader":"h","understoodIntent":"i","contextUsed":["c1"],"satisfaction":"positive","corrections":["c"]}}`,
				`{"retrieveConversations":[{"conversationIds":["c1"],"format":"summary","priority":"specific","query":"q","limit":3,"cursor":"2@7"}],"summarizeTopics":["t"],"archiveConversations":["c1"]}`,
			}[i]
			var value any
			_ = json.Unmarshal([]byte(instance), &value)
			if err := resolved.Validate(value); err != nil {
				t.Errorf("%s: %v", provider, err)
			}
		}
	}
}

// checkDialect checks a schema and those in it against what a provider takes.
func checkDialect(t *testing.T, provider string, schema map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	for name := range schema {
		if name == "$ref" || name == "$defs" || provider == "gemini" && name == "additionalProperties" {
			t.Errorf("%s: %s", provider, name)
		}
	}
	if provider == "gemini" {
		if kind, _ := schema["type"].(string); kind == "" || kind != strings.ToUpper(kind) {
			t.Errorf("gemini: type %v", schema["type"])
		}
	}
	if strings.HasPrefix(provider, "openai") && properties != nil {
		required, _ := schema["required"].([]any)
		if len(required) != len(properties) || schema["additionalProperties"] != false {
			t.Errorf("%s: required %v of %d, additionalProperties %v", provider, required, len(properties), schema["additionalProperties"])
		}
	}
	for _, property := range properties {
		checkDialect(t, provider, property.(map[string]any))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		checkDialect(t, provider, items)
	}
}
