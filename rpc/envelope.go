package rpc

import (
	"bytes"
	"strconv"

	"go.lsp.dev/jsonrpc2"

	"hexapla/rpc/wire"
)

// envelope is one message as raw spans of its frame; nil when absent.
type envelope struct {
	version, id, method, params, result, fault []byte

	repeated  bool   // one of those members comes twice
	tooDeep   bool   // params are nested too deep
	duplicate string // name that comes twice in one object of params; empty if none
}

// envelope scans the object at i and returns it with where it ends.
func (s *scanner) envelope(i int) (envelope, int, error) {
	var env envelope
	for i = s.space(i + 1); ; i = s.space(i + 1) {
		if i >= len(s.text) {
			return env, i, errCut
		}
		if s.text[i] == '}' && env.empty() {
			return env, i + 1, nil
		}
		if s.text[i] != '"' {
			return env, i, errSyntax
		}
		end, err := s.str(i)
		if err != nil {
			return env, end, err
		}
		name := unquote(s.text[i:end])
		if end = s.space(end); end >= len(s.text) {
			return env, end, errCut
		}
		if s.text[end] != ':' {
			return env, end, errSyntax
		}
		s.reset()
		i = s.space(end + 1)
		if end, err = s.value(i); err != nil {
			return env, end, err
		}
		value := s.text[i:end]
		if i = s.space(end); i >= len(s.text) {
			return env, i, errCut // also the end of a number that may go on
		}
		env.set(string(name), value, s)
		switch s.text[i] {
		case ',':
		case '}':
			return env, i + 1, nil
		default:
			return env, i, errSyntax
		}
		// "{"a":1,}" must not pass: after a comma only a name may come.
		if next := s.space(i + 1); next < len(s.text) && s.text[next] == '}' {
			return env, next, errSyntax
		}
	}
}

// empty reports whether no member was seen; it is only asked before the first.
func (e *envelope) empty() bool {
	return e.version == nil && e.id == nil && e.method == nil && e.params == nil && e.result == nil && e.fault == nil
}

func (e *envelope) set(name string, value []byte, s *scanner) {
	var slot *[]byte
	switch name {
	case "jsonrpc":
		slot = &e.version
	case "id":
		slot = &e.id
	case "method":
		slot = &e.method
	case "params":
		slot = &e.params
		e.tooDeep, e.duplicate = s.tooDeep, s.duplicate
	case "result":
		slot = &e.result
	case "error":
		slot = &e.fault
	default:
		return
	}
	e.repeated = e.repeated || *slot != nil
	*slot = value
}

// isResponse reports whether the message answers a call of ours, or tries to.
func (e *envelope) isResponse() bool {
	return e.method == nil && (e.result != nil || e.fault != nil)
}

// check returns the id of a request and what is wrong with it. The id is unset
// for a notification, and where it cannot be trusted.
func (e *envelope) check() (id jsonrpc2.ID, call bool, problem *Error) {
	if e.id != nil {
		var ok bool
		if id, ok = parseID(e.id); !ok {
			return id, true, NewError(wire.KindInvalidID, "the id must be a string or a whole number below 2^63")
		}
		call = true
	}
	switch {
	case e.repeated:
		problem = NewError(wire.KindInvalidRequest, "a member of the message comes twice")
	case string(e.version) != `"2.0"`:
		problem = NewError(wire.KindInvalidRequest, `jsonrpc must be "2.0"`)
	case len(e.method) == 0 || e.method[0] != '"':
		problem = NewError(wire.KindInvalidRequest, "the method must be a string")
	case e.tooDeep:
		problem = NewError(wire.KindTooDeep, "the parameters are nested too deep")
	case e.duplicate != "":
		problem = NewError(wire.KindDuplicateKey, "an object has the same member twice")
		problem.Data.Path = shorten(e.duplicate)
	}
	return id, call, problem
}

// shorten keeps a name that a client chose within bounds.
func shorten(name string) string {
	const most = 64
	if len(name) > most {
		return name[:most]
	}
	return name
}

// parseID reads a string or an integer of 64 bits.
func parseID(raw []byte) (jsonrpc2.ID, bool) {
	if len(raw) == 0 {
		return jsonrpc2.ID{}, false
	}
	if raw[0] == '"' {
		return jsonrpc2.NewStringID(string(unquote(raw))), true
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return jsonrpc2.ID{}, false
	}
	return jsonrpc2.NewNumberID(n), true
}

// peekID finds the id in the first bytes of a request that is not read whole.
func peekID(prefix []byte) (jsonrpc2.ID, bool) {
	s := scanner{text: bytes.TrimPrefix(prefix, []byte(byteOrderMark))}
	i := s.space(0)
	if i >= len(s.text) || s.text[i] != '{' {
		return jsonrpc2.ID{}, false
	}
	env, _, _ := s.envelope(i)
	return parseID(env.id)
}

// responseID finds the id in the encoding of a response, in which the library
// writes it right behind the version; false for other messages.
func responseID(body []byte) (jsonrpc2.ID, bool) {
	rest, ok := bytes.CutPrefix(body, []byte(`{"jsonrpc":"2.0","id":`))
	if !ok {
		return jsonrpc2.ID{}, false
	}
	s := scanner{text: rest}
	end, err := s.scalar(0)
	if err != nil {
		return jsonrpc2.ID{}, false
	}
	return parseID(rest[:end])
}
