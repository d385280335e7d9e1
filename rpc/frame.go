package rpc

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.lsp.dev/jsonrpc2"

	"hexapla/rpc/wire"
)

var errLost = errors.New("framing: frames are out of step and no header follows")

// framer takes frames off a source.
//
// Out of step, it looks for the next Content-Length within Limits.Resync. That
// cannot be led astray by text inside JSON, where line ends are escaped.
type framer struct {
	*source
	limits Limits
	header []byte // of the line being read
	reuse  []byte // for small bodies

	lost     bool // out of step: find a header before the next frame
	reported bool // the client was told so
	skipped  int  // bytes thrown away since the last good frame
}

func newFramer(in io.Reader, limits Limits, wait func(inFrame bool)) *framer {
	return &framer{source: newSource(in, wait), limits: limits}
}

// refusal is an answer to a frame that never became a message.
type refusal struct {
	id  jsonrpc2.ID
	err *Error
}

// next returns the body of the next frame, valid until the call after it, or a
// refusal to be sent, or the error that ends the connection; a refusal and an
// error may come together. io.EOF means that the input ended between frames.
func (f *framer) next() ([]byte, *refusal, error) {
	for {
		f.inFrame = false
		if _, err := f.peek(); err != nil {
			return nil, nil, err
		}
		if f.lost {
			skipped, found, err := f.seek(f.limits.Resync - f.skipped)
			f.skipped += skipped
			if err != nil {
				return nil, nil, unexpected(err)
			}
			if !found {
				return nil, nil, errLost
			}
			f.lost = false
		}
		f.inFrame = true
		head, problem, err := f.readHeader()
		if err != nil && problem == nil {
			return nil, nil, err
		}
		if problem != nil {
			f.lost = true
			if f.reported && err == nil {
				// The client knows; go on looking behind this header.
				f.skipped += head.size
				continue
			}
			f.reported = true
			return nil, &refusal{err: problem}, err
		}
		return f.readBody(head)
	}
}

// inStep tells the framer that the last body was a message.
func (f *framer) inStep() { f.reported, f.skipped = false, 0 }

// malformed tells the framer that the last body was not JSON, with what
// followed the value in it. A header right behind a value means that the
// length was too large: the rest is read again.
func (f *framer) malformed(rest []byte) {
	f.reported = true
	const field = "content-"
	n := min(len(rest), len(field))
	if n > 0 && strings.EqualFold(string(rest[:n]), field[:n]) {
		f.giveBack(rest)
	}
}

// head is what a header block says.
type head struct {
	length  int64
	charset string
	size    int // bytes of the block
}

// readHeader reads one header block. A problem without an error means that
// frames are out of step.
func (f *framer) readHeader() (head, *Error, error) {
	var h head
	given, total, lines := false, 0, 0
	bad := func(message string) *Error { return NewError(wire.KindBadHeader, message) }
	for {
		line, n, err := f.line(f.header[:0], f.limits.HeaderBytes-total)
		f.header = line[:0]
		if err == errLineTooLong {
			return h, bad("the header is too long"), err
		}
		if err == io.EOF && lines == 0 && n == 0 {
			return h, nil, io.EOF
		}
		if err != nil {
			return h, nil, unexpected(err)
		}
		total += n
		h.size = total
		line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		if len(line) == 0 {
			if lines == 0 {
				continue // an empty line between frames does no harm
			}
			break
		}
		if lines++; lines > f.limits.HeaderLines {
			return h, bad("the header has too many lines"), errLineTooLong
		}
		name, value, ok := splitField(line)
		if !ok {
			// This may be a message's rest, and the next header in it.
			f.giveBack(append(bytes.Clone(line), '\n'))
			return h, bad("a header line is not a field"), nil
		}
		switch name {
		case "content-length":
			length, problem := parseLength(value)
			if problem != nil {
				f.giveBack(append([]byte(value), '\n'))
				return h, problem, nil
			}
			if given && length != h.length {
				return h, bad("Content-Length is given twice with different values"), errors.New("header: two lengths")
			}
			h.length, given = length, true
		case "content-type":
			h.charset = charsetOf(value)
		}
	}
	switch {
	case !given:
		return h, bad("Content-Length is missing"), nil
	case h.length > f.limits.HardFrame:
		problem := NewError(wire.KindTooLarge, "the frame is too large to be skipped")
		problem.Code = wire.CodeInvalidRequest
		problem.Data.Limit = f.limits.SoftFrame
		return h, problem, errors.New("header: length over the hard limit")
	}
	return h, nil, nil
}

// readBody reads the body, or reads past one that will not be served.
func (f *framer) readBody(h head) ([]byte, *refusal, error) {
	const idWithin = 4 << 10
	var problem *Error
	switch {
	case h.length > f.limits.SoftFrame:
		problem = NewError(wire.KindTooLarge, "the frame is too large")
		problem.Data.Limit = f.limits.SoftFrame
	case h.charset != "" && h.charset != "utf-8" && h.charset != "utf8":
		problem = NewError(wire.KindUnsupportedCharset, "the charset must be utf-8")
	}
	if problem != nil {
		first, err := f.discard(h.length, idWithin)
		if err != nil {
			return nil, nil, unexpected(err)
		}
		id, _ := peekID(first)
		f.inStep()
		return nil, &refusal{id: id, err: problem}, nil
	}
	body, err := f.body(f.reuse, int(h.length))
	if err != nil {
		return nil, nil, unexpected(err)
	}
	if cap(body) <= sourceBuffer {
		f.reuse = body
	}
	return body, nil, nil
}

// unexpected marks an end of input inside a frame.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// splitField splits a header line; the name comes back in lower case.
func splitField(line []byte) (name, value string, ok bool) {
	before, after, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(before) == 0 {
		return "", "", false
	}
	for _, c := range before {
		if c = lowerASCII(c); (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return "", "", false
		}
	}
	return strings.ToLower(string(before)), strings.Trim(string(after), " \t"), true
}

// parseLength reads a positive decimal number. Numbers beyond 64 bits come
// back as the largest one.
func parseLength(value string) (int64, *Error) {
	for _, c := range []byte(value) {
		if c < '0' || c > '9' {
			return 0, NewError(wire.KindBadHeader, "Content-Length is not a number")
		}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return n, nil
	case err != nil || n == 0:
		return 0, NewError(wire.KindBadHeader, "Content-Length must be a positive number")
	}
	return n, nil
}

// charsetOf returns the charset parameter in lower case; "" when absent.
func charsetOf(contentType string) string {
	for _, parameter := range strings.Split(contentType, ";")[1:] {
		name, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(name), "charset") {
			return strings.ToLower(strings.Trim(strings.TrimSpace(value), `"`))
		}
	}
	return ""
}
