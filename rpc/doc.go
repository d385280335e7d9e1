// Package rpc is Hexapla's connection: LSP's base protocol over two streams,
// its lifecycle, and the dispatch of the methods in wire's table to a Backend.
//
// It guarantees, whatever bytes arrive:
//   - Every request that is read is answered exactly once, or the connection
//     ends. No input makes it panic or hang, and memory follows the bytes
//     received, not the length announced.
//   - Writes run one after another in wire order. A read sees every write that
//     was sent before it.
//   - Only an *Error reaches the client. Other errors and panics become an
//     internal error with an incident id; their text goes to the log.
//   - Each response is one write, and notifications keep their order. A client
//     that stops reading costs bounded memory and, in the end, the connection.
//
// The JSON-RPC connection itself is go.lsp.dev/jsonrpc2 behind a Stream of our
// own, which sees every frame first and answers the malformed ones.
//
// The package knows the domain only in the files of the methods; convert.go is
// the one place where wire types and domain types meet. It never exits the
// process, reads the environment or logs the content of a message.
package rpc
