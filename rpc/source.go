package rpc

import (
	"bytes"
	"errors"
	"io"
	"time"
)

const sourceBuffer = 64 << 10

var errLineTooLong = errors.New("header: too long")

// source is a buffered reader that can take bytes back. It holds 64 KiB,
// except while it holds a larger piece that was taken back.
type source struct {
	in       io.Reader
	buf      []byte
	from, to int // unread is buf[from:to]

	// wait is called before a read that may block, with whether a frame has
	// begun.
	wait    func(inFrame bool)
	inFrame bool
}

func newSource(in io.Reader, wait func(inFrame bool)) *source {
	return &source{in: in, wait: wait}
}

// peek returns what is buffered; it reads when that is nothing.
func (s *source) peek() ([]byte, error) {
	if s.from == s.to {
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	return s.buf[s.from:s.to], nil
}

// fill reads once into an empty buffer.
func (s *source) fill() error {
	if len(s.buf) != sourceBuffer {
		s.buf = make([]byte, sourceBuffer)
	}
	s.from, s.to = 0, 0
	for range 100 {
		s.wait(s.inFrame)
		n, err := s.in.Read(s.buf)
		if n > 0 {
			s.to = n
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

func (s *source) skip(n int) { s.from += n }

// giveBack puts bytes in front of the unread ones.
func (s *source) giveBack(text []byte) {
	if len(text) <= s.from {
		s.from -= len(text)
		copy(s.buf[s.from:], text)
		return
	}
	joined := make([]byte, 0, len(text)+s.to-s.from)
	joined = append(append(joined, text...), s.buf[s.from:s.to]...)
	s.buf, s.from, s.to = joined, 0, len(joined)
}

// line appends a line without its end to dst; most is the longest allowed,
// its end included.
func (s *source) line(dst []byte, most int) ([]byte, int, error) {
	size := 0
	for {
		have, err := s.peek()
		if err != nil {
			return dst, size, err
		}
		end := bytes.IndexByte(have, '\n')
		take := end + 1
		if end < 0 {
			take = len(have)
		}
		if size+take > most {
			return dst, size, errLineTooLong
		}
		dst = append(dst, have[:take]...)
		s.skip(take)
		size += take
		if end >= 0 {
			return bytes.TrimSuffix(dst[:len(dst)-1], []byte("\r")), size, nil
		}
	}
}

// body reads length bytes. Memory grows with what arrives; reuse serves where
// it is large enough.
func (s *source) body(reuse []byte, length int) ([]byte, error) {
	body := reuse[:0]
	for len(body) < length {
		have, err := s.peek()
		if err != nil {
			return nil, err
		}
		have = have[:min(len(have), length-len(body))]
		if need := len(body) + len(have); need > cap(body) {
			larger := make([]byte, len(body), min(length, max(2*cap(body), need)))
			copy(larger, body)
			body = larger
		}
		body = append(body, have...)
		s.skip(len(have))
	}
	return body, nil
}

// discard throws length bytes away and returns the first of them.
func (s *source) discard(length int64, keep int) ([]byte, error) {
	var first []byte
	for length > 0 {
		have, err := s.peek()
		if err != nil {
			return first, err
		}
		have = have[:min(int64(len(have)), length)]
		if room := keep - len(first); room > 0 {
			first = append(first, have[:min(room, len(have))]...)
		}
		s.skip(len(have))
		length -= int64(len(have))
	}
	return first, nil
}

// seek throws bytes away until the next are lengthField in any case; at most
// budget. It returns how many it threw away.
func (s *source) seek(budget int) (skipped int, found bool, err error) {
	matched := 0
	for {
		have, err := s.peek()
		if err != nil {
			return skipped, false, err
		}
		for i, c := range have {
			switch lower := lowerASCII(c); {
			case lower == lengthField[matched]:
				matched++
			case lower == lengthField[0]:
				skipped, matched = skipped+matched, 1
			default:
				skipped, matched = skipped+matched+1, 0
			}
			if skipped > budget {
				s.skip(i + 1)
				return skipped, false, nil
			}
			if matched == len(lengthField) {
				s.skip(i + 1)
				s.giveBack([]byte(lengthField))
				return skipped, true, nil
			}
		}
		s.skip(len(have))
	}
}

// lengthField begins a frame. Its first letter comes once in it, so seek need
// not look back.
const lengthField = "content-length:"

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// frameTimer ends the connection when a frame takes too long. It runs only
// while Read waits for the rest of one.
type frameTimer struct {
	limit  time.Duration
	expire func()
	timer  *time.Timer
	armed  bool
}

func (t *frameTimer) wait(inFrame bool) {
	if !inFrame || t.armed {
		return
	}
	t.armed = true
	if t.timer == nil {
		t.timer = time.AfterFunc(t.limit, t.expire)
		return
	}
	t.timer.Reset(t.limit)
}

func (t *frameTimer) disarm() {
	if t.armed {
		t.timer.Stop()
		t.armed = false
	}
}
