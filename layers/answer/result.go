package answer

import (
	"hexapla/layers/canonical"
)

// AppendResult appends the result of a call in a provider's shape, as canonical
// JSON: what goes into the next message to the model. With no provider it is a
// string, the text.
func AppendResult(b []byte, p Provider, id, name, text string) []byte {
	switch p {
	case Anthropic:
		b = canonical.AppendString(append(b, `{"content":`...), text)
		b = canonical.AppendString(append(b, `,"tool_use_id":`...), id)
		return append(b, `,"type":"tool_result"}`...)
	case OpenAIChat:
		b = canonical.AppendString(append(b, `{"content":`...), text)
		b = canonical.AppendString(append(b, `,"role":"tool","tool_call_id":`...), id)
		return append(b, '}')
	case OpenAIResponses:
		b = canonical.AppendString(append(b, `{"call_id":`...), id)
		b = canonical.AppendString(append(b, `,"output":`...), text)
		return append(b, `,"type":"function_call_output"}`...)
	case Gemini: // ids are optional there
		b = append(b, `{"functionResponse":{`...)
		if id != "" {
			b = canonical.AppendString(append(b, `"id":`...), id)
			b = append(b, ',')
		}
		b = canonical.AppendString(append(b, `"name":`...), name)
		b = canonical.AppendString(append(b, `,"response":{"output":`...), text)
		return append(b, `}}}`...)
	}
	return canonical.AppendString(b, text)
}
