package rendering

import "hexapla/layers/canonical"

// openAIResponses writes a request to OpenAI's Responses. Items carry no ids
// but those of calls, so that they refer to nothing that the provider keeps.
func openAIResponses(o outline) []byte {
	b := []byte(`{"input":[`)
	say := func(role, text string) {
		if text == "" {
			return
		}
		b = append(canonical.AppendNext(b), `{"content":`...)
		b = canonical.AppendString(b, text)
		b = append(b, `,"role":"`+role+`","type":"message"}`...)
	}
	say("user", texts(o.context))
	if o.exchange != nil {
		say("assistant", o.exchange.text)
		for _, c := range o.exchange.calls {
			b = append(b, `,{"arguments":`...)
			b = canonical.AppendString(b, string(c.arguments))
			b = append(b, `,"call_id":`...)
			b = canonical.AppendString(b, c.id)
			b = append(b, `,"name":`...)
			b = canonical.AppendString(b, c.name)
			b = append(b, `,"type":"function_call"}`...)
		}
		for _, c := range o.exchange.calls {
			b = append(b, `,{"call_id":`...)
			b = canonical.AppendString(b, c.id)
			b = append(b, `,"output":`...)
			b = canonical.AppendString(b, c.result)
			b = append(b, `,"type":"function_call_output"}`...)
		}
	}
	say("user", texts(o.input))
	b = append(b, ']')
	if system := texts(o.system); system != "" {
		b = append(b, `,"instructions":`...)
		b = canonical.AppendString(b, system)
	}
	return append(b, '}')
}
