package gen

import (
	"bytes"
	"encoding/json"

	"hexapla/rpc/wire"
)

// pair and object are JSON objects whose members keep their order.
type pair struct {
	name  string
	value any
}

type object []pair

// MarshalJSON implements [json.Marshaler].
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(p.name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(p.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal is json.Marshal without escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

const definitions = "#/$defs/"

// schema is testdata/protocol/schema.json: JSON Schema 2020-12 with a
// definition for every type of the wire, and the method table under x-hexapla
// for generators of other languages. Members that are not named are allowed,
// since both sides ignore what they do not know; arrays are never null.
func schema(src *source, methods []wire.Method) ([]byte, error) {
	var defs object
	for _, one := range src.used() {
		defs = append(defs, pair{one.name, object{
			{"description", one.doc}, {"type", "string"}, {"enum", one.values},
		}})
	}
	for _, st := range src.structs {
		required := []string{}
		var properties object
		for _, m := range src.members(st) {
			if !m.optional {
				required = append(required, m.name)
			}
			property := object{{"description", m.doc}}
			if m.values != nil {
				property = append(property, pair{"type", "string"}, pair{"enum", m.values})
			} else {
				property = append(property, schemaShape(m.kind)...)
			}
			properties = append(properties, pair{m.name, property})
		}
		defs = append(defs, pair{st.name, object{
			{"description", st.doc}, {"type", "object"}, {"required", required}, {"properties", properties},
		}})
	}
	var table []any
	for _, m := range methods {
		row := object{
			{"method", m.Name}, {"direction", m.Direction}, {"class", m.Class}, {"since", m.Since},
			{"params", object{{"$ref", definitions + m.Params.Name()}}},
		}
		if m.Result != nil {
			row = append(row, pair{"result", object{{"$ref", definitions + m.Result.Name()}}})
		}
		table = append(table, row)
	}
	raw, err := marshal(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Hexapla protocol"},
		{"$comment", generatedBy},
		{"x-hexapla", object{{"protocolVersion", wire.ProtocolVersion}, {"methods", table}}},
		{"$defs", defs},
	})
	if err != nil {
		return nil, err
	}
	return append(FormatJSON(raw), '\n'), nil
}

func schemaShape(k shape) object {
	switch k.base {
	case "array":
		return object{{"type", "array"}, {"items", schemaShape(*k.of)}}
	case "map":
		return object{{"type", "object"}, {"additionalProperties", schemaShape(*k.of)}}
	case "ref":
		return object{{"$ref", definitions + k.name}}
	case "any":
		return object{}
	case "oneOf":
		var types []string
		for _, base := range k.bases {
			types = append(types, schemaType(base))
		}
		return object{{"type", types}}
	}
	return object{{"type", schemaType(k.base)}}
}

// schemaType is the name of a plain type in JSON Schema.
func schemaType(base string) string {
	if base == "decimal" {
		return "number"
	}
	return base
}
