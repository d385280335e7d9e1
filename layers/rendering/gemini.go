package rendering

import "hexapla/layers/canonical"

// geminiContents writes a request to Gemini's generateContent. Responses stand
// in the order of their calls, in front of what else the user says.
func geminiContents(o outline) []byte {
	b := []byte(`{"contents":[`)
	if o.exchange == nil {
		if len(o.context)+len(o.input) > 0 {
			b = append(b, `{"parts":[`...)
			b = appendGeminiTexts(b, o.context)
			b = appendGeminiTexts(b, o.input)
			b = append(b, `],"role":"user"}`...)
		}
	} else {
		b = append(b, `{"parts":[`...)
		b = appendGeminiTexts(b, o.context)
		b = append(b, `],"role":"user"},{"parts":[`...)
		b = appendGeminiTexts(b, []block{{text: o.exchange.text}})
		for _, c := range o.exchange.calls {
			b = append(b, `,{"functionCall":{"args":`...)
			b = append(b, c.arguments...)
			b = append(b, `,"id":`...)
			b = canonical.AppendString(b, c.id)
			b = append(b, `,"name":`...)
			b = canonical.AppendString(b, c.name)
			b = append(b, `}}`...)
		}
		b = append(b, `],"role":"model"},{"parts":[`...)
		for _, c := range o.exchange.calls {
			b = append(canonical.AppendNext(b), `{"functionResponse":{"id":`...)
			b = canonical.AppendString(b, c.id)
			b = append(b, `,"name":`...)
			b = canonical.AppendString(b, c.name)
			b = append(b, `,"response":{"`+responseKey(c)+`":`...)
			b = canonical.AppendString(b, c.result)
			b = append(b, `}}}`...)
		}
		b = appendGeminiTexts(b, o.input)
		b = append(b, `],"role":"user"}`...)
	}
	b = append(b, ']')
	if len(o.system) > 0 {
		b = append(b, `,"systemInstruction":{"parts":[`...)
		b = appendGeminiTexts(b, o.system)
		b = append(b, `]}`...)
	}
	return append(b, '}')
}

// responseKey is the member of a function's response that Gemini reads its
// output or its error from.
func responseKey(c call) string {
	if c.failed {
		return "error"
	}
	return "output"
}

func appendGeminiTexts(b []byte, blocks []block) []byte {
	for _, one := range blocks {
		b = append(canonical.AppendNext(b), `{"text":`...)
		b = canonical.AppendString(b, one.text)
		b = append(b, '}')
	}
	return b
}
