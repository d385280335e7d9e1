package answer

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hexapla/layers"
)

// Listed is one message of a request's list of messages, of whatever role.
type Listed struct {
	// System tells that it is a system prompt, or a developer's; Turn.Role is then
	// RoleUser.
	System bool
	// Turn has its texts, calls and results. A message of the user that holds
	// nothing but results is one of RoleTool. Calls of Hexapla's own tools are
	// calls like others; texts are as they are, with no blocks taken out.
	Turn layers.Turn
	// Thoughts are what the model thought, which providers count as input where
	// it is sent back.
	Thoughts string
	// Media is how many images, sounds and documents it holds.
	Media int
	// Rest is the JSON of blocks of other kinds.
	Rest string
	// Leans tells that it may not be parted from the message after it, as an item
	// of reasoning in OpenAI's Responses.
	Leans bool
}

// ReadListed takes one message of a list apart: a message of Anthropic's Messages
// or of Chat Completions, an item of Responses, a content of Gemini. It returns
// the provider whose shape it is, "" where several have it. The error is
// ErrMessage for what is none of these, or has a role that none of them knows.
func ReadListed(message []byte) (Listed, Provider, error) {
	value := jsontext.Value(message)
	if value.Kind() != '{' {
		return Listed{}, "", ErrMessage
	}
	l := &listed{}
	m := messageReader{reader: &reader{}, listed: l}
	role, known := roleOf(value)
	if !known || !m.block(value, 0) && role == "" {
		return Listed{}, "", ErrMessage
	}
	l.Turn.Text, l.Turn.Calls = m.text.String(), m.answer.ToolUses
	l.Thoughts, l.Rest = l.thoughts.String(), l.rest.String()
	l.System = role == "system" || role == "developer"
	switch {
	case len(l.Turn.Calls) > 0, role == "assistant", role == "model", role == "" && l.item:
		l.Turn.Role = layers.RoleAssistant
	case len(l.Turn.Results) > 0 && l.Turn.Text == "":
		l.Turn.Role = layers.RoleTool
	default:
		l.Turn.Role = layers.RoleUser
	}
	return l.Listed, m.provider, nil
}

// listed is what a messageReader gathers of a message of a list beside texts and
// calls.
type listed struct {
	Listed
	thoughts, rest strings.Builder
	item           bool // an item of Responses that the model made
}

// roleOf is the role of a message, "" where it has none as items of Responses.
func roleOf(message jsontext.Value) (role string, known bool) {
	known = true
	eachField(message, func(name string, value jsontext.Value) {
		if name == "role" && value.Kind() != 'n' {
			role, _ = textOf(value)
			switch role {
			case "system", "developer", "user", "assistant", "model", "tool", "function":
			default:
				known = false
			}
		}
	})
	return role, known
}

// listedBlock reads what is only in messages of a list, or counts differently
// there. It tells whether the object was such a block.
func (m *messageReader) listedBlock(value jsontext.Value) bool {
	l := m.listed
	var kind, role, name, id, thought string
	var content, result jsontext.Value
	failed, said, media := false, false, false
	eachField(value, func(field string, value jsontext.Value) {
		switch field {
		case "type":
			kind, _ = textOf(value)
		case "role":
			role, _ = textOf(value)
		case "name":
			name, _ = textOf(value)
		case "tool_use_id", "tool_call_id", "call_id":
			id, _ = textOf(value)
		case "is_error":
			failed = value.Kind() == 't'
		case "content", "output":
			content = value.Clone()
		case "thinking", "summary":
			thought = string(value)
		case "text":
			said = value.Kind() == '"'
		case "thought":
			if value.Kind() == 't' {
				kind = "thinking"
			}
		case "functionResponse":
			result = value.Clone()
		case "inlineData", "fileData":
			media = true
			m.is(Gemini)
		}
	})
	switch {
	case result.Kind() == '{':
		m.is(Gemini)
		r := layers.ToolResult{}
		eachField(result, func(field string, value jsontext.Value) {
			switch field {
			case "id":
				r.CallID, _ = textOf(value)
			case "name":
				r.Tool, _ = textOf(value)
			case "response":
				r.Content = plain(value)
				r.IsError = value.Kind() == '{' && strings.HasPrefix(strings.TrimLeft(string(value[1:]), " \t\r\n"), `"error"`)
			}
		})
		l.Turn.Results = append(l.Turn.Results, r)
	case kind == "tool_result":
		m.is(Anthropic)
		m.result(layers.ToolResult{CallID: id, Content: plain(content), IsError: failed})
	case strings.HasSuffix(kind, "_call_output"):
		m.is(OpenAIResponses)
		m.result(layers.ToolResult{CallID: id, Content: plain(content)})
	case role == "tool" || role == "function":
		m.is(OpenAIChat)
		m.result(layers.ToolResult{CallID: id, Tool: name, Content: plain(content)})
	case kind == "thinking", kind == "redacted_thinking", kind == "reasoning":
		if kind == "reasoning" {
			m.is(OpenAIResponses)
			l.item, l.Leans = true, true
		}
		if said {
			eachField(value, func(field string, value jsontext.Value) {
				if field == "text" {
					thought = string(value)
				}
			})
		}
		if thought == "" {
			thought = string(value)
		}
		l.thoughts.WriteString(thought)
	case media, kind == "image", kind == "document", kind == "image_url", kind == "input_image", kind == "input_file", kind == "input_audio", kind == "file":
		l.Media++
	case strings.HasSuffix(kind, "_call") && kind != "function_call":
		m.is(OpenAIResponses)
		l.item = true
		m.call(layers.ToolCall{ID: id, Name: firstOf(name, kind), Input: string(value)})
	case kind == "", kind == "message", kind == "text", kind == "input_text", kind == "output_text", kind == "tool_use", kind == "function_call",
		kind == "function", kind == "refusal":
		l.item = l.item || kind == "function_call"
		return false
	default:
		l.rest.Write(value)
	}
	return true
}

func (m *messageReader) result(r layers.ToolResult) {
	m.listed.Turn.Results = append(m.listed.Turn.Results, r)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// plain is the text of a result: a string, the texts of its blocks, or else its
// JSON. Images in it are named, not counted as text.
func plain(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		text, _ := jsontext.AppendUnquote(nil, value)
		return string(text)
	case '[':
		var b strings.Builder
		eachItem(value, func(item jsontext.Value) {
			kind, text, has := "", jsontext.Value(nil), false
			eachField(item, func(name string, value jsontext.Value) {
				switch name {
				case "type":
					kind, _ = textOf(value)
				case "text":
					text, has = value.Clone(), true
				}
			})
			switch {
			case has:
				b.WriteString(plain(text))
			case kind == "image" || kind == "document" || kind == "input_image" || kind == "input_file":
				b.WriteString("[" + kind + "]")
			default:
				b.Write(item)
			}
		})
		return b.String()
	case 'n', 0:
		return ""
	}
	return string(value)
}

// maxTextDepth is how deep TextIn looks.
const maxTextDepth = 8

// TextIn is all text of a system prompt in whatever shape: a text, blocks, or a
// content with parts. What is no text counts as its JSON.
func TextIn(system []byte) string {
	var b strings.Builder
	var walk func(value jsontext.Value, depth int)
	walk = func(value jsontext.Value, depth int) {
		known := false
		switch {
		case depth > maxTextDepth:
		case value.Kind() == '"':
			b.WriteString(plain(value))
			known = true
		case value.Kind() == '[':
			known = true
			eachItem(value, func(item jsontext.Value) { walk(item, depth+1) })
		case value.Kind() == '{':
			eachField(value, func(name string, value jsontext.Value) {
				switch name {
				case "text", "content", "parts":
					known = true
					walk(value, depth+1)
				}
			})
		}
		if !known {
			b.Write(value)
		}
	}
	walk(system, 0)
	return b.String()
}
