package rendering

import (
	"errors"
	"fmt"

	"hexapla/layers"
	"hexapla/layers/canonical"
)

// Format names the shape of a request.
type Format string

// Formats of a rendering.
const (
	AnthropicMessages Format = "anthropic-messages" // {system?, messages}
	OpenAIChat        Format = "openai-chat"        // {messages}
	OpenAIResponses   Format = "openai-responses"   // {instructions?, input}
	GeminiContents    Format = "gemini-contents"    // {systemInstruction?, contents}
	Text              Format = "text"               // a string
)

// ErrFormat says that a format is not known.
var ErrFormat = errors.New("unknown format")

// Formats returns all formats. The caller owns the slice.
func Formats() []Format {
	return []Format{AnthropicMessages, OpenAIChat, OpenAIResponses, GeminiContents, Text}
}

// Valid tells that a format is known.
func (f Format) Valid() bool {
	for _, known := range Formats() {
		if f == known {
			return true
		}
	}
	return false
}

// Framing says what is known of the tokens that a provider puts around texts.
type Framing string

// Kinds of framing.
const (
	FramingNone      Framing = "none"      // the format has none
	FramingPublished Framing = "published" // by a rule that the provider published
	FramingUnknown   Framing = "unknown"   // nothing is published; counted as 0
)

// Rendering is a pack in a provider's shape.
type Rendering struct {
	Format Format
	Body   []byte // canonical JSON
	// Tokens of all texts in the body, a call counting as the line of
	// layers.ToolCall.Line. It is what the pack uses.
	Tokens int
	// FramingTokens is an estimate of what the provider adds to Tokens for
	// messages and roles.
	FramingTokens int
	Framing       Framing
}

// Render writes a pack in a format. The error is ErrFormat for a format that is
// not known.
func Render(p *layers.Pack, format Format) (Rendering, error) {
	r := Rendering{Format: format, Tokens: p.Used(), Framing: FramingUnknown}
	o := outlineOf(p)
	switch format {
	case AnthropicMessages:
		r.Body = anthropicMessages(o)
	case OpenAIChat:
		var messages int
		r.Body, messages = openAIChat(o)
		r.Framing, r.FramingTokens = FramingPublished, messages*chatMessageTokens+chatReplyTokens
	case OpenAIResponses:
		r.Body = openAIResponses(o)
	case GeminiContents:
		r.Body = geminiContents(o)
	case Text:
		r.Body, r.Framing = canonical.AppendString(nil, p.Text), FramingNone
	default:
		return Rendering{}, fmt.Errorf("format %q: %w", format, ErrFormat)
	}
	return r, nil
}
