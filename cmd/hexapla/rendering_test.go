package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"hexapla/layers"
	"hexapla/layers/canonical"
	"hexapla/layers/rendering"
	"hexapla/layers/tokens"
	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// recordToolLoop brings a session to where a tool's results wait for the model.
func recordToolLoop(c *child) {
	c.t.Helper()
	recordStory(c, 9)
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Turns: []wire.Turn{
		{Role: "user", Text: "Where else is the last record lost?"},
		{Role: "assistant", Text: "I look at both ends.", ToolCalls: []wire.ToolCall{
			{ID: "toolu_01", Name: "Read", Input: map[string]any{"file_path": "internal/part1/reader.go", "limit": 20}},
			{ID: "toolu_02", Name: "Bash", Input: map[string]any{"command": "go test ./internal/..."}},
		}},
		{Role: "tool", ToolResults: []wire.ToolResult{
			{CallID: "toolu_01", Content: "func (r *Reader) Next() error {\n\t\"é\" // EOF before the last line feed\n}\n"},
			{CallID: "toolu_02", Content: "--- FAIL: TestLast\nFAIL\n", IsError: true},
		}},
	}})
}

func renderPack(c *child, format string) (wire.PackBuildResult, wire.Pack) {
	c.t.Helper()
	result := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{
		Session: "s", Budget: wire.Budget{Total: 2600}, Render: format,
		System: &wire.SystemPrompt{Environment: "Go 1.26, Linux.", Guardrails: "Ask before you delete files."},
	})
	var pack wire.Pack
	if err := json.Unmarshal(result.Pack, &pack); err != nil {
		c.t.Fatal(err)
	}
	return result, pack
}

// TestRenderings goes through the process: each rendering of a real pack is as
// its golden says, fits the provider's schema, counts what the pack counts, and
// comes again when the pack is replayed.
func TestRenderings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := startChild(t, dir)
	recordToolLoop(c)
	counter := tokens.NewRegistry().ForModel("")
	plain, _ := renderPack(c, "")
	if plain.Rendering != nil {
		t.Error("a rendering that nobody asked for")
	}
	checkBreakpoints(t, counter, plain)
	for _, format := range rendering.Formats() {
		result, pack := renderPack(c, string(format))
		if result.Checksum != plain.Checksum {
			t.Errorf("%s: the checksum of the pack is another", format)
		}
		r := result.Rendering
		if err := canonical.Check(r.Body); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		checkSchema(t, format, r.Body)
		if format == rendering.Text {
			var text string
			if err := json.Unmarshal(r.Body, &text); err != nil || text != pack.Text {
				t.Errorf("text: not the pack's (%v)", err)
			}
		} else {
			var body any
			if err := json.Unmarshal(r.Body, &body); err != nil {
				t.Fatal(err)
			}
			if n := countTexts(counter, body); n != r.Tokens || n != pack.Tokens.Used {
				t.Errorf("%s: %d tokens in the texts, %d in the rendering, %d in the pack", format, n, r.Tokens, pack.Tokens.Used)
			}
		}
		golden(t, "rendering/"+string(format)+".json", string(r.Body)+"\n")
		again := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: result.Checksum, Render: string(format)})
		if !again.Match || string(again.Rendering.Body) != string(r.Body) {
			t.Errorf("%s: replayed, the rendering is another", format)
		}
	}
	var remote *rpc.Error
	err := c.Call(t.Context(), wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 2600}, Render: "morse"}, nil)
	if !asRemote(err, &remote) || remote.Data.Path != "render" {
		t.Errorf("render morse: %v", err)
	}
	// A result that is not recorded yet belongs to the one call that waits.
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Turns: []wire.Turn{
		{Role: "assistant", ToolCalls: []wire.ToolCall{{ID: "toolu_03", Name: "Bash", Input: map[string]any{"command": "ls"}}}},
	}})
	pending := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{
		Session: "s", Budget: wire.Budget{Total: 2600}, Render: string(rendering.OpenAIChat), Input: &wire.UserInput{Type: "tool_response", Content: "go.mod"},
	})
	if body := string(pending.Rendering.Body); !strings.Contains(body, `"role":"tool","tool_call_id":"toolu_03"`) {
		t.Errorf("a result in the input is not paired: %s", body)
	}
	c.stop()

	cli := func(args ...string) outcome {
		return hexapla(t, nil, append([]string{"pack", "--data-dir", dir, "--workspace", "/home/dev/project", "--budget", "2600"}, args...)...)
	}
	chat := cli("--render", "openai-chat")
	if chat.code != 0 || !strings.HasPrefix(chat.out, `{"messages":[`) || !strings.HasSuffix(chat.out, "}\n") {
		t.Errorf("pack --render openai-chat: exit %d, %s %.200s", chat.code, chat.errs, chat.out)
	}
	if text := cli("--render", "text"); text.code != 0 || text.out != cli().out {
		t.Errorf("pack --render text: exit %d, %s, not the text alone", text.code, text.errs)
	}
}

func checkBreakpoints(t *testing.T, counter layers.Counter, result wire.PackBuildResult) {
	t.Helper()
	var pack wire.Pack
	if err := json.Unmarshal(result.Pack, &pack); err != nil {
		t.Fatal(err)
	}
	s := result.Stability
	if s.StablePrefixBytes != pack.StablePrefixBytes || s.Epoch != pack.Epoch || s.EpochReason != pack.EpochReason {
		t.Errorf("stability %+v is not that of the pack", s)
	}
	var sections []string
	for _, b := range s.Breakpoints {
		sections = append(sections, b.Section+" "+b.TTL)
		if n := counter.Count(pack.Text[:b.Bytes]); n != b.Tokens {
			t.Errorf("%d tokens up to byte %d, the breakpoint says %d", n, b.Bytes, b.Tokens)
		}
	}
	if got := strings.Join(sections, ", "); got != "system 1h, errors 1h, activeMemory 5m, input 5m" {
		t.Errorf("breakpoints behind %s", got)
	}
}

func checkSchema(t *testing.T, format rendering.Format, data []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "layers", "rendering", "testdata", string(format)+".schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var body any
	if err := json.Unmarshal(data, &body); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(body); err != nil {
		t.Errorf("%s: %v", format, err)
	}
}

// countTexts counts all texts of a body, calls as their lines in the pack.
func countTexts(counter layers.Counter, v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			n += countTexts(counter, one)
		}
	case map[string]any:
		name, _ := v["name"].(string)
		for _, key := range []string{"input", "args", "arguments"} {
			if arguments, ok := v[key]; ok && name != "" {
				text, ok := arguments.(string)
				if !ok {
					raw, err := canonical.Marshal(arguments)
					if err != nil {
						return -1
					}
					text = string(raw)
				}
				return counter.Count(layers.ToolCall{Name: name, Input: text}.Line())
			}
		}
		for key, one := range v {
			text, ok := one.(string)
			switch {
			case !ok:
				n += countTexts(counter, one)
			case key == "text" || key == "content" || key == "output" || key == "error" || key == "instructions":
				n += counter.Count(text)
			}
		}
	}
	return n
}
