package rendering

import "hexapla/layers/canonical"

// What OpenAI's cookbook ("How to count tokens with tiktoken") says that chat
// models add to the texts: three tokens a message and one for its role, and
// three that begin the reply. What they add for tool calls is not published.
const (
	chatMessageTokens = 4
	chatReplyTokens   = 3
)

// openAIChat writes a request to OpenAI's Chat Completions and returns how many
// messages it has. Contents are strings, which every server that speaks the
// interface takes; the cache there goes by tokens and needs no breakpoints.
func openAIChat(o outline) (body []byte, messages int) {
	b := []byte(`{"messages":[`)
	say := func(role, text string) {
		if text == "" {
			return
		}
		messages++
		b = append(canonical.AppendNext(b), `{"content":`...)
		b = canonical.AppendString(b, text)
		b = append(b, `,"role":"`+role+`"}`...)
	}
	say("system", texts(o.system))
	say("user", texts(o.context))
	if o.exchange != nil {
		messages++
		b = append(canonical.AppendNext(b), `{"content":`...)
		b = canonical.AppendString(b, o.exchange.text)
		b = append(b, `,"role":"assistant","tool_calls":[`...)
		for _, c := range o.exchange.calls {
			b = append(canonical.AppendNext(b), `{"function":{"arguments":`...)
			b = canonical.AppendString(b, string(c.arguments))
			b = append(b, `,"name":`...)
			b = canonical.AppendString(b, c.name)
			b = append(b, `},"id":`...)
			b = canonical.AppendString(b, c.id)
			b = append(b, `,"type":"function"}`...)
		}
		b = append(b, `]}`...)
		for _, c := range o.exchange.calls {
			messages++
			b = append(b, `,{"content":`...)
			b = canonical.AppendString(b, c.result)
			b = append(b, `,"role":"tool","tool_call_id":`...)
			b = canonical.AppendString(b, c.id)
			b = append(b, '}')
		}
	}
	say("user", texts(o.input))
	return append(b, `]}`...), messages
}
