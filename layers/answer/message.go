package answer

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"hexapla/layers"
)

// Provider names the shape of a message.
type Provider string

// Providers.
const (
	Anthropic       Provider = "anthropic"        // Messages: content blocks
	OpenAIChat      Provider = "openai-chat"      // Chat Completions: content and tool_calls
	OpenAIResponses Provider = "openai-responses" // Responses: output items
	Gemini          Provider = "gemini"           // generateContent: parts
)

// Providers returns all providers. The caller owns the slice.
func Providers() []Provider {
	return []Provider{Anthropic, OpenAIChat, OpenAIResponses, Gemini}
}

// ErrMessage says that a value is no message of a provider that is known.
var ErrMessage = errors.New("not an answer in the shape of a known provider")

// ReadMessage takes a provider's answer apart: the whole response, the message
// in it, or its list of blocks, items or parts. Texts are read as by [Read];
// calls of Hexapla's tools are read and listed in Calls, other calls in
// ToolUses. It returns the provider whose shape it is, "" where all have it. The
// error is ErrMessage.
func ReadMessage(message []byte) (Answer, Provider, error) {
	m := messageReader{reader: &reader{}}
	if !m.message(message, 0) {
		return Answer{}, "", ErrMessage
	}
	m.answer.Content = strings.TrimSpace(m.read(m.text.String()))
	return m.finish(), m.provider, nil
}

// messageReader walks a message.
type messageReader struct {
	*reader
	provider Provider
	text     strings.Builder
	apart    bool    // something stood between the last text and what comes
	listed   *listed // of ReadListed; nil for an answer
}

func (m *messageReader) is(p Provider) {
	if m.provider == "" {
		m.provider = p
	}
}

// maxEnvelopes is how deep a message may lie in a response: candidates, content,
// parts.
const maxEnvelopes = 6

// message reads a value of any level. It tells whether it was known.
func (m *messageReader) message(value jsontext.Value, level int) bool {
	switch {
	case level > maxEnvelopes:
		return false
	case value.Kind() == '[':
		found, any := false, false
		eachItem(value, func(item jsontext.Value) {
			any = true
			found = m.block(item, level+1) || found
		})
		return found || !any
	case value.Kind() == '"' && level == 0:
		m.say(value)
		return true
	}
	return value.Kind() == '{' && m.block(value, level)
}

// block reads an object: an envelope, a message, or one block of it.
func (m *messageReader) block(value jsontext.Value, level int) bool {
	if value.Kind() != '{' {
		if m.listed != nil && value.Kind() == '"' {
			m.say(value)
			return true
		}
		m.problem(PartContent, "a block is "+kindName(value)+", not an object")
		return false
	}
	if m.listed != nil && m.listedBlock(value) {
		m.apart = true
		return true
	}
	var kind string
	call := layers.ToolCall{}
	var text, arguments, input, nested, function jsontext.Value
	found, thought := false, false
	eachField(value, func(name string, value jsontext.Value) {
		switch name {
		case "type":
			kind, _ = textOf(value)
		case "thought":
			thought = value.Kind() == 't'
		case "text", "refusal":
			if value.Kind() == '"' {
				text = value.Clone()
			}
		case "id":
			if call.ID == "" {
				call.ID, _ = textOf(value)
			}
		case "call_id":
			call.ID, _ = textOf(value)
		case "name":
			call.Name, _ = textOf(value)
		case "input":
			input = value.Clone()
		case "arguments", "args":
			arguments = value.Clone()
		case "function", "functionCall", "function_call":
			if value.Kind() == '{' {
				function = value.Clone()
				if name == "functionCall" {
					m.is(Gemini)
				}
			}
		case "message", "content", "parts", "output":
			if value.Kind() != 'n' && kind != "reasoning" {
				nested = value.Clone()
			}
			if name == "parts" {
				m.is(Gemini)
			}
		case "tool_calls":
			m.is(OpenAIChat)
			found = true
			eachItem(value, func(call jsontext.Value) { m.block(call, level+1) })
		case "choices", "candidates":
			if name == "choices" {
				m.is(OpenAIChat)
			} else {
				m.is(Gemini)
			}
			n := 0
			eachItem(value, func(choice jsontext.Value) {
				if n++; n == 1 {
					found = m.message(choice, level+1) || found
				}
			})
			if n > 1 {
				m.problem(PartContent, "only the first of "+strconv.Itoa(n)+" "+name+" is used")
			}
		}
	})
	switch {
	case thought, kind == "thinking", kind == "redacted_thinking", kind == "reasoning":
		m.apart = true // what the model thought is not its answer
		return true
	case kind == "tool_use":
		m.is(Anthropic)
		call.Input = string(input)
		m.use(call)
	case kind == "function_call" && function == nil:
		m.is(OpenAIResponses)
		call.Input = argumentsOf(arguments)
		m.use(call)
	case function != nil: // of Chat Completions, or a part of Gemini's
		eachField(function, func(name string, value jsontext.Value) {
			switch name {
			case "name":
				call.Name, _ = textOf(value)
			case "id":
				call.ID, _ = textOf(value)
			case "arguments", "args":
				call.Input = argumentsOf(value)
			}
		})
		m.use(call)
		if nested != nil {
			m.inner(nested, level)
		}
	case text != nil:
		if kind == "output_text" {
			m.is(OpenAIResponses)
		}
		m.say(text)
		if nested != nil { // Chat Completions gives both a refusal and content
			m.inner(nested, level)
		}
	case nested != nil && (kind == "" || kind == "message"):
		if kind == "message" && level > 0 {
			m.is(OpenAIResponses)
		}
		return m.inner(nested, level) || found
	case found:
	case kind == "":
		return false
	default:
		m.apart = true
		m.problem(PartContent, "a block that is neither text nor a call of a tool is not recorded")
	}
	return true
}

// inner reads what a message holds: a text, or blocks.
func (m *messageReader) inner(value jsontext.Value, level int) bool {
	if value.Kind() == '"' {
		m.say(value)
		return true
	}
	return m.message(value, level+1)
}

// say adds a text. Texts that follow each other are one.
func (m *messageReader) say(value jsontext.Value) {
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil && len(text) == 0 || len(text) == 0 {
		return
	}
	if m.apart && m.text.Len() > 0 {
		m.text.WriteString("\n\n")
	}
	m.apart = false
	m.text.Write(text)
}

// argumentsOf is the arguments of a call: JSON, or JSON in a string.
func argumentsOf(value jsontext.Value) string {
	if value.Kind() == '"' {
		text, _ := jsontext.AppendUnquote(nil, value)
		return string(text)
	}
	return string(value)
}

// use adds a call.
func (m *messageReader) use(call layers.ToolCall) {
	m.apart = true
	if OwnTool(call.Name) != "" && m.listed == nil {
		m.ownCall(call)
		return
	}
	m.call(call)
}
