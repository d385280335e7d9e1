package answer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/answer"
)

// texts are strings that are hard on readers: quotes, ends, fences, escapes.
func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "Fix", " ", "\n", "\t", `"`, `'`, "“", "’", "`", `\`, "{", "}", "[", "]", ",", ":", "//", "/*", "#", "é", "日本", "\u0001",
			"```", "</hexapla", "null", "c12#3", "...", "12",
		}), 1, 8).Draw(t, "parts")
		text := strings.Join(parts, "")
		if plain := strings.TrimSpace(text); plain == "" || plain == "..." || strings.Contains(text, "\n```") || strings.HasPrefix(text, "```") {
			return "x" + strings.ReplaceAll(text, "`", "") + "y" // dots say nothing; a fence may end a block
		}
		return text
	})
}

func lists() *rapid.Generator[[]string] {
	return rapid.SliceOfNDistinct(texts(), 1, 4, func(s string) string { return s })
}

// housekeepings are values as they come back when they are read.
func housekeepings() *rapid.Generator[layers.Housekeeping] {
	return rapid.Custom(func(t *rapid.T) layers.Housekeeping {
		var h layers.Housekeeping
		some := func(name string, set func()) {
			if rapid.Bool().Draw(t, name) {
				set()
			}
		}
		h.LLM.ContextSummary = texts().Draw(t, "summary")
		some("topic", func() { h.LLM.ResponseHeader.Topic = texts().Draw(t, "topic text") })
		some("line", func() { h.LLM.ResponseHeader.Summary = texts().Draw(t, "line text") })
		some("entities", func() { h.LLM.ResponseHeader.KeyEntities = lists().Draw(t, "entity list") })
		some("outcome", func() {
			h.LLM.ResponseHeader.Outcome = rapid.SampledFrom([]layers.Outcome{"ongoing", "completed", "error"}).Draw(t, "end")
		})
		some("decisions", func() { h.LLM.KeyDecisions = lists().Draw(t, "decision list") })
		some("questions", func() { h.LLM.OpenQuestions = lists().Draw(t, "question list") })
		some("changes", func() {
			h.LLM.CodeChanges = []layers.CodeChange{{Files: lists().Draw(t, "files"), ChangeType: "modify", Summary: texts().Draw(t, "change"), Impact: "low"}}
		})
		some("context", func() {
			h.LLM.CurrentContext = &layers.CurrentContext{
				OverallNarrative: texts().Draw(t, "narrative"), NextSteps: lists().Draw(t, "steps"),
				ActiveEntities: layers.ActiveEntities{Files: lists().Draw(t, "active")},
			}
		})
		some("user", func() {
			h.User.UnderstoodIntent, h.User.Corrections = texts().Draw(t, "intent"), lists().Draw(t, "corrections")
		})
		return h
	})
}

// damage is a way of writing a value that is no JSON and loses nothing.
type damage struct {
	snake, bareNames, python, comments, trailing, noCommas, rawLines bool
}

func damages() *rapid.Generator[damage] {
	return rapid.Custom(func(t *rapid.T) damage {
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		return damage{flag("snake"), flag("bare names"), flag("python"), flag("comments"), flag("trailing"), flag("no commas"), flag("raw lines")}
	})
}

// write renders decoded JSON with a damage.
func (d damage) write(b *strings.Builder, v any) {
	gap := func(i int) {
		switch {
		case i == 0:
		case d.noCommas:
			b.WriteString("\n")
		default:
			b.WriteString(",")
		}
		if d.comments {
			b.WriteString(" /* , \" } */ // ' ]\n")
		}
	}
	switch v := v.(type) {
	case map[string]any:
		b.WriteString("{")
		for i, name := range slices.Sorted(maps.Keys(v)) {
			gap(i)
			member := v[name]
			if d.snake {
				name = snake(name)
			}
			if d.bareNames {
				b.WriteString(name)
			} else {
				d.write(b, name)
			}
			b.WriteString(" : ")
			d.write(b, member)
		}
		if d.trailing && len(v) > 0 {
			b.WriteString(", ")
		}
		b.WriteString("}")
	case []any:
		b.WriteString("[")
		for i, item := range v {
			gap(i)
			d.write(b, item)
		}
		if d.trailing {
			b.WriteString(" ,")
		}
		b.WriteString("]")
	case string:
		raw, _ := json.Marshal(v)
		text := string(raw)
		if d.rawLines {
			text = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, `\\`, "\x00"), `\n`, "\n"), "\x00", `\\`)
		}
		if d.python {
			text = text[1 : len(text)-1]
			text = strings.ReplaceAll(strings.ReplaceAll(text, `\"`, `"`), `'`, `\'`)
			text = "'" + text + "'"
		}
		b.WriteString(text)
	case nil:
		b.WriteString(map[bool]string{true: "None", false: "null"}[d.python])
	default:
		fmt.Fprint(b, v)
	}
}

func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' && name != "LLM" {
			b.WriteString("_" + strings.ToLower(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// decoded is a value as JSON, decoded, without what is empty.
func decoded(t interface{ Fatal(...any) }, h layers.Housekeeping) map[string]any {
	raw, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

var carriers = []func(block string) string{
	func(b string) string { return "The answer.\n```hexapla\n" + b + "\n```" },
	func(b string) string { return "The answer.\r\n``` Hexapla \r\n" + b + "\r\n```\r\n" },
	func(b string) string { return "The answer.\n~~~~JSON\n" + b + "\n~~~~" },
	func(b string) string { return "The answer.\n```\n" + b + "\n```" },
	func(b string) string { return "The answer.\n<hexapla v=\"1\">" + b + "</HEXAPLA>" },
	func(b string) string { return "The answer.\n" + b },
	func(b string) string { return "The answer.\n```hexapla\n" + b },
}

// TestHousekeepingComesBack: what a model says is read back whole from every
// carrier and with every damage that loses nothing, and the content is what
// stands around it.
func TestHousekeepingComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := housekeepings().Draw(t, "housekeeping")
		var block strings.Builder
		damages().Draw(t, "damage").write(&block, map[string]any{"housekeeping": decoded(t, h)})
		text := rapid.SampledFrom(carriers).Draw(t, "carrier")(block.String())
		a := answer.Read(text)
		if a.Content != "The answer." || len(a.Problems) > 0 || a.Housekeeping == nil {
			t.Fatalf("%s\ncontent %q, problems %v", text, a.Content, a.Problems)
		}
		if diff := cmp.Diff(h, *a.Housekeeping, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", text, diff)
		}
		for _, p := range answer.Providers() {
			called, provider, err := answer.ReadMessage(callMessage(p, answer.HousekeepingTool, decoded(t, h)))
			if err != nil || provider != p || len(called.Calls) != 1 || called.Housekeeping == nil {
				t.Fatalf("%s: %+v %v", p, called, err)
			}
			if diff := cmp.Diff(h, *called.Housekeeping, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s\n%s", p, diff)
			}
		}
	})
}

// callMessage is a message with one call, in a provider's shape.
func callMessage(p answer.Provider, name string, input any) []byte {
	arguments, _ := json.Marshal(input)
	var message any
	switch p {
	case answer.Anthropic:
		message = map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_use", "id": "1", "name": name, "input": input}}}
	case answer.OpenAIChat:
		message = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{
			map[string]any{"id": "1", "type": "function", "function": map[string]any{"name": name, "arguments": string(arguments)}},
		}}
	case answer.OpenAIResponses:
		message = []any{map[string]any{"type": "function_call", "call_id": "1", "name": name, "arguments": string(arguments)}}
	case answer.Gemini:
		message = map[string]any{"role": "model", "parts": []any{map[string]any{"functionCall": map[string]any{"name": name, "args": input}}}}
	}
	raw, _ := json.Marshal(message)
	return raw
}

// TestCutAnywhere: an answer that breaks off at any byte gives what was complete
// and nothing else, and says that it is cut.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	leaves := []string{"topic-1", "decided-2", "decided-3", "asked-4", "summary-5", "id-6", "id-7", "thema-8"}
	block := "{\n \"housekeeping\": {\"llm\": {\"responseHeader\": {\"topic\": \"topic-1\"}, \"keyDecisions\": [\"decided-2\", \"decided-3\"],\n" +
		"  \"openQuestions\": [\"asked-4\"], \"contextSummary\": \"summary-5\"}},\n" +
		" \"contextRequests\": {\"retrieveConversations\": [{\"conversationIds\": [\"id-6\", \"id-7\"], \"limit\": 12}], \"summarizeTopics\": [\"thema-8\"]}}"
	for _, carrier := range []string{"The answer.\n```hexapla\n", "The answer.\n<hexapla>", "The answer.\n```json\n", "The answer.\n"} {
		whole := carrier + block
		for cut := len(carrier); cut <= len(whole); cut++ {
			a := answer.Read(whole[:cut])
			raw, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			marked := strings.Contains(carrier, "hexapla") || cut > len(carrier)+40 // from there it tells whose it is
			for _, leaf := range leaves {
				complete := strings.Contains(whole[:cut], leaf+`"`)
				if marked && complete != strings.Contains(string(raw), `"`+leaf+`"`) {
					t.Fatalf("%q: %s is complete: %v, in %s", whole[:cut], leaf, complete, raw)
				}
			}
			if limit := strings.Contains(whole[:cut], "12}"); marked && limit != strings.Contains(string(raw), `"limit":12`) {
				t.Fatalf("%q: limit in %s", whole[:cut], raw)
			}
			if strings.Contains(string(raw), `"limit":1,`) {
				t.Fatalf("%q: half a number", whole[:cut])
			}
			if cut > len(carrier) && cut < len(whole) && marked && len(a.Problems) == 0 {
				t.Fatalf("%q: nothing is reported", whole[:cut])
			}
			if marked && cut > len(carrier) && a.Content != "The answer." {
				t.Fatalf("%q: content %q", whole[:cut], a.Content)
			}
		}
	}
}

// FuzzRead: any text is taken apart without a panic, twice the same; valid text
// stays valid; text without a mark of ours and without our names stays whole.
func FuzzRead(f *testing.F) {
	for _, m := range messes {
		f.Add(m.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, second := answer.Read(text), answer.Read(text)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Error(diff)
		}
		if utf8.ValidString(text) && !utf8.ValidString(first.Content) {
			t.Errorf("content %q", first.Content)
		}
		lower := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(text))
		foreign := true
		for _, ours := range []string{"hexapla", "housekeeping", "contextrequest", "content", `\u`} {
			foreign = foreign && !strings.Contains(lower, ours)
		}
		if foreign && (first.Content != strings.TrimSpace(text) || first.Housekeeping != nil || first.Requests != nil) {
			t.Errorf("%q became %+v", text, first)
		}
	})
}

// FuzzReadMessage: any JSON is read or refused.
func FuzzReadMessage(f *testing.F) {
	for _, p := range answer.Providers() {
		f.Add(callMessage(p, answer.ContextTool, map[string]any{"summarizeTopics": []any{"t"}}))
	}
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`))
	f.Add([]byte(`{"output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		if !json.Valid(message) {
			t.Skip()
		}
		first, provider, err := answer.ReadMessage(message)
		second, again, errAgain := answer.ReadMessage(message)
		if diff := cmp.Diff(first, second); diff != "" || provider != again || err != errAgain {
			t.Error(diff)
		}
	})
}
