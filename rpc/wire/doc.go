// Package wire is Hexapla's protocol as Go types: the parameters and results
// of every method, the error kinds, and the table that names them all.
//
// It is the single source of protocol.md's tables, the JSON Schema and the
// TypeScript and Lua types; rpc/wire/gen writes those. Field comments are the
// text of the specification. Four tags are read: json (without omitempty a
// field is required), enum (the strings that a field may hold), form (the type
// of raw JSON) and tool (the field is in the tools of a model, and what the
// model is told of it).
//
// It knows nothing of connections and nothing of the domain; the meeting of
// wire and domain is rpc/convert.go alone.
package wire

//go:generate go run gen/write.go -root ../..
