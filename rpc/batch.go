package rpc

import (
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// batch gathers the responses to an array of requests.
type batch struct {
	mu      sync.Mutex
	open    int // members that are not answered, and one while members are read
	replies []byte
	ids     map[jsonrpc2.ID]struct{} // of its members; only Read uses it
}

// openBatch scans an array. Members beyond the limit are only counted.
func (s *stream) openBatch(i int) (int, error) {
	text := s.scan.text
	i = s.scan.space(i + 1)
	if i < len(text) && text[i] == ']' {
		return i + 1, nil
	}
	for {
		i = s.scan.space(i)
		if i >= len(text) {
			return i, errCut
		}
		var env envelope
		var err error
		if text[i] == '{' {
			env, i, err = s.scan.envelope(i)
		} else {
			s.scan.reset()
			i, err = s.scan.value(i)
		}
		if err != nil {
			return i, err
		}
		if len(s.members) <= s.limits.BatchMembers {
			s.members = append(s.members, env)
		}
		if i = s.scan.space(i); i >= len(text) {
			return i, errCut
		}
		switch text[i] {
		case ']':
			return i + 1, nil
		case ',':
			i++
		default:
			return i, errSyntax
		}
	}
}

func (s *stream) addMember() {
	if s.batch != nil {
		s.batch.mu.Lock()
		s.batch.open++
		s.batch.mu.Unlock()
	}
}

// closeMember adds the response of a member, nil for the end of the reading,
// and sends the array after the last.
func (s *stream) closeMember(b *batch, reply []byte) {
	b.mu.Lock()
	if reply != nil {
		if b.replies == nil {
			b.replies = append(make([]byte, headerRoom, headerRoom+2*len(reply)), '[')
		} else {
			b.replies = append(b.replies, ',')
		}
		b.replies = append(b.replies, reply...)
	}
	b.open--
	last := b.open == 0 && b.replies != nil
	b.mu.Unlock()
	if last {
		_ = s.out.put(withHeader(append(b.replies, ']')))
	}
}
