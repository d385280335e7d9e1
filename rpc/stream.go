package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"

	"hexapla/rpc/wire"
)

// stream is the jsonrpc2.Stream under a server's connection. Read answers what
// is no request itself and hands on the rest; Write finds the batch that a
// response belongs to. It knows every request from the moment it was read
// until its response is queued.
type stream struct {
	framer *framer
	out    *outbox
	limits Limits
	codec  codec
	log    *slog.Logger
	timers frameTimer

	verbatim bool // hand text on as it came: another server normalises it

	base  context.Context // of all requests
	ended func(error)     // called when the input ends; nil error is a clean end
	stop  chan struct{}   // closed by Close
	quit  atomic.Bool     // read no more

	// Of the frame being handed out; only Read uses them.
	scan    scanner
	members []envelope
	member  int // the next of them
	batch   *batch
	changed bool // text of the frame was normalised

	mu      sync.Mutex
	closed  bool
	flights map[jsonrpc2.ID]*flight
	open    int           // requests whose response is not queued yet
	held    int64         // bytes of their parameters
	idle    chan struct{} // closed when open is 0; nil when nobody waits
}

var _ jsonrpc2.Stream = (*stream)(nil)

// Read implements [jsonrpc2.Stream]. At the end of the input it waits for the
// requests in flight to be answered, since the library writes nothing after it.
func (s *stream) Read(context.Context) (jsonrpc2.Message, int64, error) {
	for {
		if message := s.nextMember(); message != nil {
			return message, 0, nil
		}
		if s.quit.Load() || s.stopped() {
			s.end(io.EOF)
			return nil, 0, io.EOF
		}
		s.letGo()
		body, refused, err := s.framer.next()
		s.timers.disarm()
		if refused != nil {
			s.log.Debug("refused a frame", "kind", refused.err.Kind())
			s.refuse(refused.id, refused.err, nil)
		}
		if err == nil && refused == nil {
			s.unpack(body)
		}
		if err != nil {
			s.end(err)
			return nil, 0, io.EOF
		}
	}
}

// letGo drops what refers to the last frame, which may be large, before the
// wait for the next.
func (s *stream) letGo() {
	clear(s.members[:cap(s.members)])
	clear(s.scan.names[:cap(s.scan.names)])
	clear(s.scan.scopes[:cap(s.scan.scopes)])
	s.scan.text, s.members, s.member = nil, s.members[:0], 0
	if cap(s.members) > s.limits.BatchMembers+1 || cap(s.scan.names) > 4096 {
		s.members, s.scan.names = nil, nil
	}
}

// end reports the end of the input and waits until nothing is in flight.
func (s *stream) end(err error) {
	if err == io.EOF || s.stopped() {
		err = nil
	}
	s.ended(err)
	select {
	case <-s.whenIdle():
	case <-s.stop:
	}
}

// unpack makes a frame's messages the members to hand out.
func (s *stream) unpack(body []byte) {
	if s.verbatim {
		body = bytes.TrimPrefix(body, []byte(byteOrderMark))
	} else {
		body, s.changed = normalise(body)
	}
	s.scan.text, s.scan.limit = body, s.limits.Depth
	s.members, s.member, s.batch = s.members[:0], 0, nil
	i := s.scan.space(0)
	end, array, err := i, false, errSyntax
	switch {
	case i < len(body) && body[i] == '{':
		var env envelope
		env, end, err = s.scan.envelope(i)
		s.members = append(s.members, env)
	case i < len(body) && body[i] == '[':
		array = true
		end, err = s.openBatch(i)
	default:
		s.scan.reset()
		if end, err = s.scan.value(i); err == nil {
			s.members = append(s.members, envelope{}) // JSON, but no message
		}
	}
	if err == nil {
		if end = s.scan.space(end); end < len(body) {
			err = errSyntax
		}
	} else {
		end = len(body)
	}
	if err != nil {
		s.members = s.members[:0]
		s.log.Debug("refused a frame", "kind", wire.KindParse)
		s.framer.malformed(body[end:])
		s.refuse(jsonrpc2.ID{}, NewError(wire.KindParse, "the message is not JSON"), nil)
		return
	}
	s.framer.inStep()
	switch {
	case !array:
	case len(s.members) == 0:
		s.refuse(jsonrpc2.ID{}, NewError(wire.KindInvalidRequest, "the batch is empty"), nil)
	case len(s.members) > s.limits.BatchMembers:
		problem := NewError(wire.KindInvalidRequest, "the batch has too many members")
		problem.Data.Limit = int64(s.limits.BatchMembers)
		s.refuse(jsonrpc2.ID{}, problem, nil)
		s.members = s.members[:0]
	default:
		s.batch = &batch{open: 1, ids: map[jsonrpc2.ID]struct{}{}}
	}
}

// nextMember returns the next member that the connection should see.
func (s *stream) nextMember() jsonrpc2.Message {
	for s.member < len(s.members) {
		env := &s.members[s.member]
		s.member++
		if message := s.message(env); message != nil {
			return message
		}
	}
	if s.batch != nil {
		s.closeMember(s.batch, nil)
		s.batch = nil
	}
	return nil
}

// message turns an envelope into a message, or answers it.
func (s *stream) message(env *envelope) jsonrpc2.Message {
	if env.isResponse() {
		return s.response(env)
	}
	if s.verbatim && env.id != nil {
		env.id, _ = normalise(bytes.Clone(env.id)) // it is sent back
	}
	id, call, problem := env.check()
	if problem != nil {
		s.log.Debug("refused a message", "kind", problem.Kind())
		if call || problem.Kind() == wire.KindInvalidRequest {
			s.addMember()
			s.refuse(id, problem, s.batch)
		}
		return nil
	}
	method, params := string(unquote(env.method)), jsonrpc2.RawMessage(env.params)
	if string(params) == "null" {
		params = nil
	}
	if !call {
		return jsonrpc2.NewNotification(method, params)
	}
	s.addMember()
	if !s.depart(id, method, int64(len(params))) {
		s.refuse(id, NewError(wire.KindDuplicateID, "a request with this id is in flight"), s.batch)
		return nil
	}
	return jsonrpc2.NewCall(id, method, params)
}

// response hands on the response to a call of ours; others are dropped.
func (s *stream) response(env *envelope) jsonrpc2.Message {
	id, ok := parseID(env.id)
	if !ok || !id.IsNumber() || env.repeated || string(env.version) != `"2.0"` {
		s.log.Debug("dropped a response")
		return nil
	}
	if env.fault == nil {
		return jsonrpc2.NewResponse(id, append(jsonrpc2.RawMessage(nil), env.result...), nil)
	}
	var remote struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := s.codec.Unmarshal(env.fault, &remote); err != nil {
		remote.Code, remote.Message = int64(wire.CodeInternalError), "the error is malformed"
	}
	return jsonrpc2.NewResponse(id, nil, &jsonrpc2.Error{
		Code: jsonrpc2.Code(remote.Code), Message: remote.Message, Data: jsonrpc2.RawMessage(remote.Data),
	})
}

// Room for the header before a body.
const headerRoom = 48

// Write implements [jsonrpc2.Stream]: a response, or a call of ours.
func (s *stream) Write(_ context.Context, message jsonrpc2.Message) (int64, error) {
	frame := jsonrpc2.AppendMessage(make([]byte, headerRoom, 512), message)
	size := int64(len(frame) - headerRoom)
	if id, ok := responseID(frame[headerRoom:]); ok {
		return size, s.answer(id, frame)
	}
	return size, s.out.put(withHeader(frame))
}

// answer sends the response to a request: the body behind room for its header.
func (s *stream) answer(id jsonrpc2.ID, frame []byte) error {
	if f := s.land(id); f != nil {
		defer s.settle(f)
		if f.batch != nil {
			s.closeMember(f.batch, frame[headerRoom:])
			return nil
		}
	}
	return s.out.put(withHeader(frame))
}

// refuse answers what never became a request.
func (s *stream) refuse(id jsonrpc2.ID, problem *Error, b *batch) {
	frame := jsonrpc2.AppendResponse(make([]byte, headerRoom, 512), id, nil, problem.onWire(s.codec))
	if b != nil {
		s.closeMember(b, frame[headerRoom:])
		return
	}
	// When the outbox is closed the connection ends; there is nobody to tell.
	_ = s.out.put(withHeader(frame))
}

// withHeader writes the header into the room before the body and returns the
// frame.
func withHeader(frame []byte) []byte {
	var digits [20]byte
	length := strconv.AppendInt(digits[:0], int64(len(frame)-headerRoom), 10)
	const before, after = "Content-Length: ", "\r\n\r\n"
	start := headerRoom - len(before) - len(length) - len(after)
	header := append(frame[start:start], before...)
	header = append(header, length...)
	_ = append(header, after...)
	return frame[start:]
}

// notification returns the frame of a notification.
func notification(method string, params []byte) ([]byte, error) {
	if !jsontext.Value(params).IsValid() {
		return nil, errors.New("notify: parameters are not JSON")
	}
	return withHeader(jsonrpc2.AppendNotification(make([]byte, headerRoom, 256+len(params)), method, params)), nil
}

// Close implements [jsonrpc2.Stream]: Read ends as soon as it can. The streams
// below are not the connection's to close.
func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.stop)
	}
	return nil
}

func (s *stream) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}
