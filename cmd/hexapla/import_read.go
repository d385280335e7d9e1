package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"hexapla/internal/transcript"
	"hexapla/layers"
	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// all takes a file of either kind.
func (t *taking) all(name string, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	head, err := r.Peek(len(sharedMark))
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if string(head) == sharedMark {
		t.report.Format = sharedFormat
		return t.shared(name, r)
	}
	return t.transcript(name, r)
}

// transcript takes a session that another client recorded.
func (t *taking) transcript(name string, in io.Reader) error {
	from, err := transcript.Open(name, in)
	if err != nil {
		return err
	}
	session, n := "", 0
	for {
		m, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		said := from.Session()
		if session == "" {
			t.report.Format = string(said.Format)
			id := said.ID
			if id == "" {
				id = t.report.File
			}
			session = shortID(string(said.Format), id)
			if err := t.open(wire.SessionOpenParams{Session: session, Agent: string(said.Format), Model: said.Model, Title: t.report.File}); err != nil {
				return err
			}
		}
		if m.Compaction && n > 0 {
			continue // what it sums up is there
		}
		if err := t.message(session, m, n == 0); err != nil {
			return fmt.Errorf("%s:%d: %w", name, m.Line, err)
		}
		n = m.Index + 1
	}
	report := from.Report()
	if left := report.LeftOut(); left != "" {
		t.report.LeftOut = append(t.report.LeftOut, left)
	}
	for _, problem := range report.Problems {
		t.report.LeftOut = append(t.report.LeftOut, problem.String())
	}
	if n == 0 {
		return fmt.Errorf("%s: no message is in it", name)
	}
	// The key is of this length, so that a file that has grown can go on.
	_, err = t.record(wire.ConversationRecordParams{Session: session, Done: true, Key: "done:" + strconv.Itoa(n)})
	if path := invalidPath(err); path == "turns" || rpc.IsKind(err, wire.KindNotFound) {
		err = nil // it is done already
	}
	return err
}

// message records a message of a transcript, the first of the file or another.
func (t *taking) message(session string, m transcript.Message, first bool) error {
	turn := toWire(m)
	if first && m.Role == layers.RoleUser {
		turn.Kind = string(layers.InputUserQuery)
	}
	if first && m.Role != layers.RoleUser {
		if err := t.goOn(session, "first", "[the recording begins here]"); err != nil {
			return err
		}
	}
	params := wire.ConversationRecordParams{Session: session, Turns: []wire.Turn{turn}, Key: "message:" + strconv.Itoa(m.Index)}
	err := t.goingOn(params)
	if rpc.IsKind(err, wire.KindOpIDReused) {
		// The file was read when the message was not whole yet: it follows once more.
		text, marshalErr := json.Marshal(turn)
		if marshalErr != nil {
			return marshalErr
		}
		sum := sha256.Sum256(text)
		params.Key += ":" + hex.EncodeToString(sum[:8])
		err = t.goingOn(params)
	}
	if why, ok := forgottenOrChanged(err); ok {
		t.report.LeftOut = append(t.report.LeftOut, fmt.Sprintf("%s:%d: %s", t.report.File, m.Line, why))
		return nil
	}
	return err
}

// goingOn records a message, also where an import of the file when it was shorter
// ended the conversation.
func (t *taking) goingOn(params wire.ConversationRecordParams) error {
	_, err := t.record(params)
	if invalidPath(err) == "turns[0]" && params.Turns[0].Kind != string(layers.InputUserQuery) {
		if err = t.goOn(params.Session, params.Key, "[the recording goes on]"); err == nil {
			_, err = t.record(params)
		}
	}
	return err
}

// goOn opens a conversation for turns that are not a query, once for a key.
func (t *taking) goOn(session, key, why string) error {
	turn := wire.Turn{Role: string(layers.RoleUser), Kind: string(layers.InputUserQuery), Text: why}
	_, err := t.record(wire.ConversationRecordParams{Session: session, Turns: []wire.Turn{turn}, Key: "opening:" + key})
	return err
}

// invalidPath is the member that an error says is invalid, "" for other errors.
func invalidPath(err error) string {
	var remote *rpc.Error
	if errors.As(err, &remote) && remote.Code == wire.CodeInvalidParams {
		return remote.Data.Path
	}
	return ""
}

// sharedMark is how a shared memory begins.
const sharedMark = `{"format":"` + sharedFormat + `",`

// maxSharedLine bounds a line, in bytes: it is a request, which a server takes up
// to this size.
const maxSharedLine = 64 << 20

// shared takes a shared memory.
func (t *taking) shared(name string, in *bufio.Reader) error {
	var head sharedHead
	lines := sharedLines{in: in}
	text, err := lines.next()
	if err == nil {
		err = json.Unmarshal(text, &head)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s:1: %w", name, err)
	case head.Version > sharedVersion:
		return fmt.Errorf("%s:1: version %d of the format is newer than this program's, %d", name, head.Version, sharedVersion)
	case head.Version < 1 || len(head.Store) > 64 || !plainID(head.Store):
		return fmt.Errorf("%s:1: version or store is missing or damaged", name)
	}
	if head.Store == t.store {
		return fmt.Errorf("%s: this memory was taken from the folder's own", name)
	}
	memory := sharing{taking: t, from: head.Store, sessions: map[string]string{}, conversations: map[[2]string]string{}, left: map[[2]string]bool{}}
	for {
		text, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = memory.line(text)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, lines.number, err)
		}
	}
}

// sharing is a shared memory on its way into a workspace.
type sharing struct {
	*taking
	from          string               // identity of the store that it was taken from
	sessions      map[string]string    // of the file, with what they are here
	conversations map[[2]string]string // by session and id, with the id here
	left          map[[2]string]bool   // that are not taken any further
	turns         int                  // of the conversation at hand
	last          [2]string
}

func (s *sharing) line(text []byte) error {
	var l sharedLine
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	switch l.Method {
	case wire.MethodSessionOpen:
		var params wire.SessionOpenParams
		if err := json.Unmarshal(l.Params, &params); err != nil {
			return err
		}
		id := shortID("shared", s.from+":"+params.Session)
		s.sessions[params.Session] = id
		return s.open(wire.SessionOpenParams{Session: id, Agent: params.Agent, Model: params.Model, Title: params.Title, Shared: true})
	case wire.MethodConversationRecord:
		var params wire.ConversationRecordParams
		if err := json.Unmarshal(l.Params, &params); err != nil {
			return err
		}
		return s.take(params)
	}
	return fmt.Errorf("%q cannot be imported; only %s and %s can", l.Method, wire.MethodSessionOpen, wire.MethodConversationRecord)
}

// take records one line's part of a conversation.
func (s *sharing) take(params wire.ConversationRecordParams) error {
	at := [2]string{params.Session, params.Conversation}
	session, ok := s.sessions[params.Session]
	if !ok || params.Conversation == "" {
		return errors.New("the session was not opened, or the conversation has no id")
	}
	if at != s.last {
		s.last, s.turns = at, 0
	}
	if s.left[at] {
		return nil
	}
	part := "done"
	if len(params.Turns) > 0 {
		s.turns += len(params.Turns)
		part = strconv.Itoa(s.turns)
	}
	params.Session, params.Key = session, "shared:"+shortID("c", params.Conversation)+":"+part
	params.Conversation = s.conversations[at]
	id, err := s.record(params)
	if why, ok := forgottenOrChanged(err); ok {
		s.left[at] = true
		s.report.LeftOut = append(s.report.LeftOut, fmt.Sprintf("%s from turn %d: %s", at[1], max(1, s.turns), why))
		return nil
	}
	if err != nil {
		return err
	}
	s.conversations[at] = id
	return nil
}

// sharedLines reads lines of a bounded length.
type sharedLines struct {
	in     *bufio.Reader
	number int
	line   []byte
}

// next returns the next line that is not empty, valid until the next call.
func (l *sharedLines) next() ([]byte, error) {
	for {
		l.number++
		l.line = l.line[:0]
		for {
			part, err := l.in.ReadSlice('\n')
			if len(l.line)+len(part) > maxSharedLine {
				return nil, fmt.Errorf("the line is longer than %d bytes", maxSharedLine)
			}
			l.line = append(l.line, part...)
			if err == nil {
				break
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if errors.Is(err, io.EOF) && len(l.line) > 0 {
				if json.Valid(l.line) {
					return l.line, nil
				}
				return nil, errors.New("the line is torn; what stands before it was imported")
			}
			return nil, err
		}
		if line := bytes.TrimSpace(l.line); len(line) > 0 {
			return line, nil
		}
	}
}
