package rpc

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"hexapla/layers/answer"
	"hexapla/rpc/wire"
)

func (b *backend) instructionsGet(_ context.Context, p *wire.InstructionsGetParams) (*wire.InstructionsGetResult, error) {
	provider, model := answer.Provider(p.Provider), p.Model
	if provider != "" && !slices.Contains(answer.Providers(), provider) {
		return nil, InvalidParams("provider", `provider: must be "anthropic", "openai-chat", "openai-responses" or "gemini"`)
	}
	if p.Session != "" {
		s, err := b.service.Session(p.Session)
		if err != nil {
			return nil, domainError(err)
		}
		if model == "" {
			model = s.Model()
		}
	}
	counter := b.service.Counter(model)
	result := &wire.InstructionsGetResult{
		Text: answer.Instructions(provider != ""), Tools: []any{}, ToolTokens: []wire.ToolTokens{}, Estimate: counter.Estimate(),
	}
	result.Tokens = counter.Count(result.Text)
	if provider == "" {
		return result, nil
	}
	for _, tool := range ownTools() {
		definition := tool.definition(provider)
		text, err := inputText(definition)
		if err != nil {
			return nil, err
		}
		result.Tools = append(result.Tools, definition)
		result.ToolTokens = append(result.ToolTokens, wire.ToolTokens{Name: tool.name, Tokens: counter.Count(text)})
	}
	if provider == answer.Gemini {
		result.Tools = []any{map[string]any{"functionDeclarations": result.Tools}}
	}
	return result, nil
}

// ownTool is a tool of ours. Its parameters are the wire's type.
type ownTool struct {
	name, about string
	params      reflect.Type
}

func ownTools() []ownTool {
	return []ownTool{
		{answer.HousekeepingTool, "Keep the memory up to date: what this turn was about, what was decided and changed, and the story so far. Give only what is new.",
			reflect.TypeFor[wire.Housekeeping]()},
		{answer.ContextTool, "Ask for past conversations by id or by relevance, for summaries of topics, or let conversations go.",
			reflect.TypeFor[wire.ContextRequests]()},
	}
}

// definition is the tool in a provider's form.
func (t ownTool) definition(p answer.Provider) map[string]any {
	schema := dialect(p).object(t.params, "", false)
	switch p {
	case answer.Anthropic:
		return map[string]any{"name": t.name, "description": t.about, "input_schema": schema}
	case answer.OpenAIChat:
		return map[string]any{"type": "function", "function": map[string]any{
			"name": t.name, "description": t.about, "parameters": schema, "strict": true,
		}}
	case answer.OpenAIResponses:
		return map[string]any{"type": "function", "name": t.name, "description": t.about, "parameters": schema, "strict": true}
	}
	return map[string]any{"name": t.name, "description": t.about, "parameters": schema}
}

// dialect is what of JSON Schema a provider takes.
//
// OpenAI's strict mode wants every property to be required, so what is optional
// may be null there, and additionalProperties to be false. Gemini takes a subset
// of OpenAPI with its own names of types and no additionalProperties.
type dialect answer.Provider

func (d dialect) strict() bool {
	return answer.Provider(d) == answer.OpenAIChat || answer.Provider(d) == answer.OpenAIResponses
}

func (d dialect) typed(kind, about string, optional bool) map[string]any {
	schema := map[string]any{"type": kind}
	switch {
	case answer.Provider(d) == answer.Gemini:
		schema["type"] = strings.ToUpper(kind)
	case d.strict() && optional:
		schema["type"] = []any{kind, "null"}
	}
	if about != "" {
		schema["description"] = about
	}
	return schema
}

func (d dialect) object(t reflect.Type, about string, optional bool) map[string]any {
	schema := d.typed("object", about, optional)
	properties, names := map[string]any{}, []any{}
	for i := range t.NumField() {
		field := t.Field(i)
		told, ok := field.Tag.Lookup("tool")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		properties[name] = d.value(field.Type, told, field.Tag.Get("enum"))
		names = append(names, name)
	}
	schema["properties"] = properties
	if d.strict() {
		schema["required"], schema["additionalProperties"] = names, false
	}
	return schema
}

func (d dialect) value(t reflect.Type, about, enum string) map[string]any {
	switch t.Kind() {
	case reflect.Pointer:
		return d.value(t.Elem(), about, enum)
	case reflect.Struct:
		return d.object(t, about, true)
	case reflect.Slice:
		schema := d.typed("array", about, true)
		if t.Elem().Kind() == reflect.Struct {
			schema["items"] = d.object(t.Elem(), "", false)
		} else {
			schema["items"] = d.typed("string", "", false)
		}
		return schema
	case reflect.Int:
		return d.typed("integer", about, true)
	}
	schema := d.typed("string", about, true)
	if enum != "" {
		values := []any{}
		for _, value := range strings.Split(enum, ",") {
			values = append(values, value)
		}
		if d.strict() { // null is a value of its own there
			values = append(values, nil)
		}
		schema["enum"] = values
	}
	return schema
}
