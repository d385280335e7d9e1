package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"hexapla/layers"
)

// Format is a format of recorded sessions.
type Format string

// Formats that can be read.
const (
	ClaudeCode Format = "claude-code" // JSONL, one line or more a message
	SpecStory  Format = "specstory"   // Markdown
)

// Session is what a transcript says of itself. Before the first call of Next
// it is empty; fields fill as reading goes on, and the first value found stays.
type Session struct {
	ID      string
	Format  Format
	Start   time.Time // zero when the transcript gives none
	Model   string    // of the first model call
	Folder  string    // working directory of the recorded client
	Version string    // of the recorded client
}

// Message is one message of a session: a prompt of the user, an answer of the
// model with its tool calls, or the results of those calls.
type Message struct {
	// Turn has role, kind, text, calls and results; Number is unset. Images
	// are not kept: a note in brackets stands for each.
	layers.Turn
	// Index is the message's place in the transcript, from 0.
	Index int
	// Follows is the index of the message that this one follows in what the
	// client sends: Index-1, or less where the user went back and took another
	// way. -1 when it follows nothing.
	Follows int
	// Thinking of an assistant message, which is not sent again.
	Thinking string
	// CallID is the provider's id of the model call that made an assistant
	// message. Each assistant message of a transcript is one model call.
	CallID string
	// Model that was called; "" when unknown.
	Model string
	// Usage that the provider reported for the call; nil when it did not.
	Usage *Usage
	// Compaction marks the summary with which the client replaced everything
	// before it. It is part of what the client sent, not of what was said.
	Compaction bool
	// Line is where the message begins in the file, from 1.
	Line int
}

// Usage is the tokens of one model call as the provider billed them.
type Usage struct {
	Input          int // neither written to nor read from the cache
	CacheWrite     int // written to the cache, all lifetimes together
	CacheWriteHour int // the part of CacheWrite that was written for an hour
	CacheRead      int
	Output         int
}

// Prompt returns all input tokens of the call.
func (u Usage) Prompt() int { return u.Input + u.CacheWrite + u.CacheRead }

// ErrForeign is wrapped by Open's error when the input is in no format that
// can be read.
var ErrForeign = errors.New("only Claude Code JSONL and SpecStory Markdown can be read")

// source is a format's reader.
type source interface {
	// next returns the next message, or io.EOF, or an error of the input.
	next() (Message, error)
}

// Transcript reads one recorded session. It is not safe for concurrent use.
type Transcript struct {
	source  source
	session *Session
	report  *Report
}

// Open recognises the format of r and returns a reader of its messages. name
// is the file's name, for the report. An input of another format gives an
// error that wraps ErrForeign and names file, line and, where it is known, the
// format.
func Open(name string, r io.Reader) (*Transcript, error) {
	in := bufio.NewReaderSize(r, sniffSize)
	head, err := in.Peek(sniffSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("open transcript: %s: %w", name, err)
	}
	format, foreign := recognise(head, err != nil)
	t := &Transcript{session: &Session{Format: format}, report: &Report{File: name}}
	switch format {
	case ClaudeCode:
		t.source = newClaude(in, t.session, t.report)
	case SpecStory:
		t.source = newSpecStory(in, t.session, t.report)
	default:
		return nil, fmt.Errorf("%s:1: %s; %w", name, foreign, ErrForeign)
	}
	return t, nil
}

// Next returns the next message. At the end the error is io.EOF; any other
// error is one of the input and ends the reading.
func (t *Transcript) Next() (Message, error) {
	m, err := t.source.next()
	if err != nil {
		return Message{}, err
	}
	t.report.Messages++
	switch {
	case m.Role == layers.RoleAssistant:
		t.report.Calls++
		if t.session.Model == "" {
			t.session.Model = m.Model
		}
	case m.Role == layers.RoleUser && m.Kind == layers.InputUserQuery && !m.Compaction:
		t.report.Prompts++
	}
	if m.Compaction {
		t.report.Compactions++
	}
	if m.Follows != m.Index-1 {
		t.report.Rewinds++
	}
	return m, nil
}

// Session returns what is known of the session so far.
func (t *Transcript) Session() Session { return *t.session }

// Report returns what was read and left out so far.
func (t *Transcript) Report() Report { return t.report.copy() }

// ReadAll reads a whole transcript into memory.
func ReadAll(name string, r io.Reader) (Session, []Message, Report, error) {
	t, err := Open(name, r)
	if err != nil {
		return Session{}, nil, Report{}, err
	}
	var all []Message
	for {
		m, err := t.Next()
		if errors.Is(err, io.EOF) {
			return t.Session(), all, t.Report(), nil
		}
		if err != nil {
			return t.Session(), all, t.Report(), err
		}
		all = append(all, m)
	}
}
