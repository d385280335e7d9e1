package rendering

import (
	"hexapla/layers"
	"hexapla/layers/canonical"
)

// anthropicMessages writes a request to Anthropic's Messages: system prompt and
// messages as text blocks, with cache_control behind at most four of them.
// Results stand in front of what else the user says, as is asked there.
func anthropicMessages(o outline) []byte {
	b := []byte(`{"messages":[`)
	if o.exchange == nil {
		if len(o.context)+len(o.input) > 0 {
			b = append(b, `{"content":[`...)
			b = appendAnthropicTexts(b, o.context)
			b = appendAnthropicTexts(b, o.input)
			b = append(b, `],"role":"user"}`...)
		}
	} else {
		b = append(b, `{"content":[`...)
		b = appendAnthropicTexts(b, o.context)
		b = append(b, `],"role":"user"},{"content":[`...)
		b = appendAnthropicTexts(b, []block{{text: o.exchange.text}})
		for _, c := range o.exchange.calls {
			b = append(b, `,{"id":`...)
			b = canonical.AppendString(b, c.id)
			b = append(b, `,"input":`...)
			b = append(b, c.arguments...)
			b = append(b, `,"name":`...)
			b = canonical.AppendString(b, c.name)
			b = append(b, `,"type":"tool_use"}`...)
		}
		b = append(b, `],"role":"assistant"},{"content":[`...)
		for _, c := range o.exchange.calls {
			b = canonical.AppendNext(b)
			b = append(b, `{"content":[`...)
			b = appendAnthropicTexts(b, []block{{text: c.result}})
			b = append(b, ']')
			if c.failed {
				b = append(b, `,"is_error":true`...)
			}
			b = append(b, `,"tool_use_id":`...)
			b = canonical.AppendString(b, c.id)
			b = append(b, `,"type":"tool_result"}`...)
		}
		b = appendAnthropicTexts(b, o.input)
		b = append(b, `],"role":"user"}`...)
	}
	b = append(b, ']')
	if len(o.system) > 0 {
		b = append(b, `,"system":[`...)
		b = appendAnthropicTexts(b, o.system)
		b = append(b, ']')
	}
	return append(b, '}')
}

// appendAnthropicTexts appends text blocks to an array. Five minutes is the
// provider's default and goes without saying.
func appendAnthropicTexts(b []byte, blocks []block) []byte {
	for _, one := range blocks {
		b = append(canonical.AppendNext(b), '{')
		switch one.ttl {
		case "":
		case layers.TTLStream:
			b = append(b, `"cache_control":{"type":"ephemeral"},`...)
		default:
			b = append(b, `"cache_control":{"ttl":`...)
			b = canonical.AppendString(b, one.ttl)
			b = append(b, `,"type":"ephemeral"},`...)
		}
		b = append(b, `"text":`...)
		b = canonical.AppendString(b, one.text)
		b = append(b, `,"type":"text"}`...)
	}
	return b
}
