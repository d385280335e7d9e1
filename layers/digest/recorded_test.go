package digest_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hexapla/internal/shareddata"
	"hexapla/layers"
	"hexapla/layers/digest"
)

// recorded reads the conversations of a Claude Code session, with tool results
// in full. It is as much of a parser as these tests need.
func recorded(t testing.TB, path string) []layers.Conversation {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []layers.Conversation
	tools := map[string]string{}
	lastMessage := ""
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var line struct {
			Type        string
			IsMeta      bool
			IsSidechain bool
			Timestamp   time.Time
			Message     struct {
				ID      string
				Content json.RawMessage
			}
		}
		if decoder.Decode(&line) != nil {
			return out
		}
		if line.IsSidechain || line.IsMeta || line.Type != "user" && line.Type != "assistant" {
			continue
		}
		type block struct {
			Type, Text, ID, Name string
			Input, Content       json.RawMessage
			ToolUseID            string `json:"tool_use_id"`
			IsError              bool   `json:"is_error"`
		}
		var blocks []block
		var text string
		if json.Unmarshal(line.Message.Content, &text) == nil {
			blocks = []block{{Type: "text", Text: text}}
		} else if json.Unmarshal(line.Message.Content, &blocks) != nil {
			continue
		}
		turn := layers.Turn{Role: layers.Role(line.Type), Time: line.Timestamp.UnixMilli()}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				turn.Text += b.Text
			case "tool_use":
				tools[b.ID] = b.Name
				turn.Calls = append(turn.Calls, layers.ToolCall{ID: b.ID, Name: b.Name, Input: string(b.Input)})
			case "tool_result":
				content := ""
				var parts []block
				if json.Unmarshal(b.Content, &content) != nil && json.Unmarshal(b.Content, &parts) == nil {
					for _, p := range parts {
						content += p.Text
					}
				}
				turn.Role = layers.RoleTool
				turn.Results = append(turn.Results, layers.ToolResult{CallID: b.ToolUseID, Tool: tools[b.ToolUseID], Content: content, IsError: b.IsError})
			}
		}
		if turn.Text == "" && turn.Calls == nil && turn.Results == nil {
			continue
		}
		if turn.Role == layers.RoleUser && turn.Text != "" || len(out) == 0 {
			out = append(out, layers.Conversation{ID: "c" + strconv.Itoa(len(out)+1)})
			lastMessage = ""
		}
		conv := &out[len(out)-1]
		if n := len(conv.Turns); line.Type == "assistant" && line.Message.ID == lastMessage && n > 0 && conv.Turns[n-1].Role == layers.RoleAssistant {
			last := &conv.Turns[n-1] // one message over several lines
			last.Text += turn.Text
			last.Calls = append(last.Calls, turn.Calls...)
			continue
		}
		lastMessage = line.Message.ID
		turn.Number = len(conv.Turns) + 1
		conv.Turns = append(conv.Turns, turn)
	}
}

// compressed returns the conversation as the store keeps it: outputs gone,
// their compressed forms left.
func compressed(conv layers.Conversation, c layers.Counter) layers.Conversation {
	inputs := map[string]string{}
	turns := append([]layers.Turn(nil), conv.Turns...)
	for i := range turns {
		for _, k := range turns[i].Calls {
			inputs[k.ID] = k.Input
		}
		results := append([]layers.ToolResult(nil), turns[i].Results...)
		for k := range results {
			r := &results[k]
			r.Compressed = digest.ToolResult(digest.ToolOutput{Tool: r.Tool, Input: inputs[r.CallID], Output: r.Content, IsError: r.IsError}, c)
			r.Content = ""
		}
		turns[i].Results = results
	}
	conv.Turns = turns
	return conv
}

// sessions returns the paths of recorded Claude Code sessions.
func sessions(t testing.TB) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(shareddata.Dir(t), "claude-code", "*.jsonl"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	return list
}

// source is everything that a digest of a conversation may copy from.
func source(conv layers.Conversation) string {
	var b strings.Builder
	for _, turn := range conv.Turns {
		b.WriteString(turn.Text + "\n")
		for _, k := range turn.Calls {
			b.WriteString(k.Name + " " + k.Input + "\n")
			var decoded any
			if json.Unmarshal([]byte(k.Input), &decoded) == nil {
				flatten(&b, decoded)
			}
		}
		for _, r := range turn.Results {
			b.WriteString(r.Content + "\n" + r.Compressed.Summary + "\n")
		}
	}
	return b.String()
}

func flatten(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, x := range v {
			flatten(b, x)
		}
	case map[string]any:
		for _, x := range v {
			flatten(b, x)
		}
	}
}
