package rpc

import (
	stdjson "encoding/json"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"go.lsp.dev/jsonrpc2"
)

// codec encodes results and parameters: keys of maps sorted, invalid UTF-8 as
// U+FFFD, nil slices as [], omitempty as encoding/json means it, and raw JSON
// as it is. The same value always gives the same bytes.
type codec struct{ options json.Options }

var _ jsonrpc2.Codec = codec{}

func newCodec() codec {
	return codec{json.JoinOptions(
		json.Deterministic(true),
		jsontext.AllowInvalidUTF8(true),
		jsontext.EscapeForHTML(false),
		jsonv1.OmitEmptyWithLegacySemantics(true),
	)}
}

// Marshal implements [jsonrpc2.Codec].
func (c codec) Marshal(v any) ([]byte, error) {
	switch raw := v.(type) {
	case jsonrpc2.RawMessage:
		return orNull(raw), nil
	case stdjson.RawMessage:
		return orNull(raw), nil
	}
	return json.Marshal(v, c.options)
}

// Unmarshal implements [jsonrpc2.Codec].
func (c codec) Unmarshal(data []byte, v any) error {
	switch raw := v.(type) {
	case *jsonrpc2.RawMessage:
		*raw = append(jsonrpc2.RawMessage(nil), data...)
		return nil
	case *stdjson.RawMessage:
		*raw = append(stdjson.RawMessage(nil), data...)
		return nil
	}
	return json.Unmarshal(data, v, c.options)
}

func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}
