package rpc

import (
	"crypto/rand"
	"encoding/hex"
	"errors"

	"go.lsp.dev/jsonrpc2"

	"hexapla/rpc/wire"
)

// Error is the only error that reaches the wire. Handlers return it (wrapped
// or not) for cases the client should tell apart; Client returns it for every
// error response.
type Error struct {
	// Code of JSON-RPC or LSP.
	Code wire.Code
	// Message for people; no paths, no content.
	Message string
	// Data for programs. An empty Committed is filled in by the dispatcher.
	Data wire.ErrorData
}

// Error returns the message with the kind.
func (e *Error) Error() string {
	if e.Data.Kind == "" {
		return e.Message
	}
	return string(e.Data.Kind) + ": " + e.Message
}

// Kind returns the case of the error.
func (e *Error) Kind() wire.Kind { return e.Data.Kind }

// NewError returns an error of a kind with the code and retryability that
// wire.Kinds gives it. An unknown kind counts as internal.
func NewError(kind wire.Kind, message string) *Error {
	e := &Error{Code: wire.CodeInternalError, Message: message, Data: wire.ErrorData{Kind: kind}}
	for _, row := range wire.Kinds() {
		if row.Kind == kind {
			e.Code, e.Data.Retryable = row.Code, row.Retryable
		}
	}
	return e
}

// InvalidParams returns an error that names the parameter at fault by its
// path, such as "turns[2].role".
func InvalidParams(path, message string) *Error {
	e := NewError(wire.KindInvalidParams, message)
	e.Data.Path = path
	return e
}

// IsKind reports whether err is an *Error of the kind.
func IsKind(err error, kind wire.Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Data.Kind == kind
}

// onWire returns the error as the connection sends it.
func (e *Error) onWire(c codec) *jsonrpc2.Error {
	out := &jsonrpc2.Error{Code: jsonrpc2.Code(e.Code), Message: e.Message}
	data := e.Data
	if data.Committed == "" {
		data.Committed = wire.CommittedNo
	}
	raw, err := c.Marshal(data)
	if err == nil {
		out.Data = raw
	}
	return out
}

// fromWire turns an error response into an *Error; other errors pass.
func fromWire(c codec, err error) error {
	var remote *jsonrpc2.Error
	if !errors.As(err, &remote) {
		return err
	}
	e := &Error{Code: wire.Code(remote.Code), Message: remote.Message}
	if len(remote.Data) > 0 {
		// Another server's data may have any form; the code still counts.
		_ = c.Unmarshal(remote.Data, &e.Data)
	}
	return e
}

// newIncident returns an id that ties an internal error to its log line.
func newIncident() string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
