package rendering_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"hexapla/layers"
	"hexapla/layers/canonical"
	"hexapla/layers/rendering"
)

// message is a message of any provider.
type message struct {
	role    string // "system", "user", "assistant" or "tool"
	texts   []string
	calls   []said
	results []said
}

// said is a call, with its line, or a result.
type said struct{ id, text string }

func line(name string, arguments []byte) string {
	return layers.ToolCall{Name: name, Input: string(arguments)}.Line()
}

// messages reads a body back, provider by provider.
func messages(t testing.TB, r rendering.Rendering) []message {
	t.Helper()
	switch r.Format {
	case rendering.AnthropicMessages:
		return fromAnthropic(t, r.Body)
	case rendering.OpenAIChat:
		return fromChat(t, r.Body)
	case rendering.OpenAIResponses:
		return fromResponses(t, r.Body)
	case rendering.GeminiContents:
		return fromGemini(t, r.Body)
	}
	var text string
	decode(t, r.Body, &text)
	return []message{{role: "user", texts: []string{text}}}
}

func decode(t fatal, body []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v", err)
	}
}

type anthropicBlock struct {
	Type, Text   string
	ID, Name     string
	Input        json.RawMessage
	ToolUseID    string `json:"tool_use_id"`
	Content      []anthropicBlock
	IsError      bool                        `json:"is_error"`
	CacheControl *struct{ Type, TTL string } `json:"cache_control"`
}

type anthropicBody struct {
	System   []anthropicBlock
	Messages []struct {
		Role    string
		Content []anthropicBlock
	}
}

func fromAnthropic(t testing.TB, raw []byte) (out []message) {
	t.Helper()
	var body anthropicBody
	decode(t, raw, &body)
	add := func(role string, blocks []anthropicBlock) {
		m := message{role: role}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				m.texts = append(m.texts, b.Text)
			case "tool_use":
				m.calls = append(m.calls, said{b.ID, line(b.Name, b.Input)})
			case "tool_result":
				if len(m.texts) > 0 {
					t.Fatal("a result stands behind a text")
				}
				m.results = append(m.results, said{b.ToolUseID, b.Content[0].Text})
			}
		}
		out = append(out, m)
	}
	if body.System != nil {
		add("system", body.System)
	}
	for _, m := range body.Messages {
		add(m.Role, m.Content)
	}
	return out
}

func fromChat(t testing.TB, raw []byte) (out []message) {
	t.Helper()
	var body struct {
		Messages []struct {
			Role, Content string
			ToolCallID    string `json:"tool_call_id"`
			ToolCalls     []struct {
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
	}
	decode(t, raw, &body)
	for _, m := range body.Messages {
		one := message{role: m.Role}
		if m.Role == "tool" {
			one.results = []said{{m.ToolCallID, m.Content}}
		} else {
			one.texts = []string{m.Content}
		}
		for _, c := range m.ToolCalls {
			one.calls = append(one.calls, said{c.ID, line(c.Function.Name, []byte(c.Function.Arguments))})
		}
		out = append(out, one)
	}
	return out
}

func fromResponses(t testing.TB, raw []byte) (out []message) {
	t.Helper()
	var body struct {
		Instructions string
		Input        []struct {
			Type, Role, Content     string
			CallID                  string `json:"call_id"`
			Name, Arguments, Output string
		}
	}
	decode(t, raw, &body)
	if body.Instructions != "" {
		out = append(out, message{role: "system", texts: []string{body.Instructions}})
	}
	for _, item := range body.Input {
		switch item.Type {
		case "message":
			out = append(out, message{role: item.Role, texts: []string{item.Content}})
		case "function_call":
			last := &out[len(out)-1]
			last.calls = append(last.calls, said{item.CallID, line(item.Name, []byte(item.Arguments))})
		default:
			out = append(out, message{role: "tool", results: []said{{item.CallID, item.Output}}})
		}
	}
	return out
}

func fromGemini(t testing.TB, raw []byte) (out []message) {
	t.Helper()
	type part struct {
		Text         string
		FunctionCall *struct {
			ID, Name string
			Args     json.RawMessage
		}
		FunctionResponse *struct {
			ID, Name string
			Response struct{ Output, Error string }
		}
	}
	var body struct {
		SystemInstruction struct{ Parts []part }
		Contents          []struct {
			Role  string
			Parts []part
		}
	}
	decode(t, raw, &body)
	add := func(role string, parts []part) {
		m := message{role: role}
		for _, p := range parts {
			switch {
			case p.FunctionCall != nil:
				m.calls = append(m.calls, said{p.FunctionCall.ID, line(p.FunctionCall.Name, p.FunctionCall.Args)})
			case p.FunctionResponse != nil:
				m.results = append(m.results, said{p.FunctionResponse.ID, p.FunctionResponse.Response.Output + p.FunctionResponse.Response.Error})
			default:
				m.texts = append(m.texts, p.Text)
			}
		}
		out = append(out, m)
	}
	if body.SystemInstruction.Parts != nil {
		add("system", body.SystemInstruction.Parts)
	}
	for _, c := range body.Contents {
		role := c.Role
		if role == "model" {
			role = "assistant"
		}
		add(role, c.Parts)
	}
	return out
}

// schemas reads the hand-written schemas of the providers' shapes.
func schemas(t testing.TB) map[rendering.Format]*jsonschema.Resolved {
	t.Helper()
	out := map[rendering.Format]*jsonschema.Resolved{}
	for _, format := range rendering.Formats() {
		data, err := os.ReadFile(filepath.Join("testdata", string(format)+".schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if out[format], err = schema.Resolve(nil); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
	}
	return out
}

// fatal is what a test and a property test have in common.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkBody checks a body against the schema of its format and its canonical
// form.
func checkBody(t fatal, schema *jsonschema.Resolved, r rendering.Rendering) {
	t.Helper()
	if err := canonical.Check(r.Body); err != nil {
		t.Fatalf("%s: %v", r.Format, err)
	}
	var body any
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatalf("%s: %v", r.Format, err)
	}
	if err := schema.Validate(body); err != nil {
		t.Fatalf("%s: %v\n%s", r.Format, err, r.Body)
	}
}

// checkRoles checks the order of roles, and that calls and results are paired:
// each call is answered before anything else is said, and nothing else is
// answered.
func checkRoles(t fatal, format rendering.Format, all []message) {
	t.Helper()
	var open []string
	before := "system"
	for i, m := range all {
		switch {
		case m.role == "system" && i > 0:
			t.Fatalf("%s: system is message %d", format, i)
		case before == "system" && m.role != "user" && m.role != "system":
			t.Fatalf("%s: %s speaks first", format, m.role)
		case i > 0 && m.role == before && (format == rendering.AnthropicMessages || format == rendering.GeminiContents):
			t.Fatalf("%s: %s speaks twice in a row", format, m.role)
		case len(open) > 0 && len(m.results) == 0:
			t.Fatalf("%s: %s speaks before the calls %q are answered", format, m.role, open)
		case len(m.calls) > 0 && m.role != "assistant":
			t.Fatalf("%s: %s calls", format, m.role)
		}
		for k, r := range m.results {
			at := slices.Index(open, r.id)
			if at < 0 {
				t.Fatalf("%s: result %q has no call", format, r.id)
			}
			if format == rendering.GeminiContents && k > 0 && at != 0 {
				t.Fatalf("%s: result %q is out of order", format, r.id)
			}
			open = slices.Delete(open, at, at+1)
		}
		for _, c := range m.calls {
			if slices.Contains(open, c.id) {
				t.Fatalf("%s: the id %q is given twice", format, c.id)
			}
			open = append(open, c.id)
		}
		before = m.role
	}
	if len(open) > 0 {
		t.Fatalf("%s: the calls %q have no result", format, open)
	}
	if before != "user" && before != "tool" {
		t.Fatalf("%s: %s speaks last", format, before)
	}
}

// everyText returns all texts of messages, calls as their lines.
func everyText(all []message) (out []string) {
	for _, m := range all {
		out = append(out, m.texts...)
		for _, c := range m.calls {
			out = append(out, c.text)
		}
		for _, r := range m.results {
			out = append(out, r.text)
		}
	}
	return out
}
