// Package gen derives from rpc/wire everything that must say the same: the
// marked regions of protocol.md, the JSON Schema, and the types of the
// editors.
//
// Names, types and closed sets come from the source of rpc/wire, texts from
// its doc comments, the tables from [wire.Methods] and [wire.Kinds], and the
// examples from testdata/protocol/examples. [Generate] is a function of those
// files alone and gives the same bytes on every machine. It writes nothing;
// write.go does, by `go generate ./rpc/wire`, and a test of this package fails
// when a file is not what Generate gives.
//
// Three tags tell what a Go type cannot: json as in encoding/json (a field
// without omitempty is required), enum with the strings that a field may hold,
// and form with the type of raw JSON.
package gen
