package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"hexapla/layers"
)

// claude reads Claude Code JSONL.
//
// A model call is spread over several lines with the same message.id, and the
// results of parallel calls may stand between them. So an exchange (an answer,
// its results, and what the user said after it) is gathered until the next
// answer begins, and then handed out as up to three messages.
//
// What the user says between two answers is one message: commands with their
// expansion, marks of interruption, and the prompt. Local commands of the
// client (/exit and its output) are left out.
type claude struct {
	lines   lines
	session *Session
	report  *Report

	ready []Message // to be handed out
	index int       // of the next message
	ended bool

	answer  *Message          // the answer that is being gathered; nil when none
	results *Message          // its results; nil when none
	said    []part            // what the user said since
	follows int               // index that the next prompt follows
	places  map[string]*place // by uuid: the message that a line went into
	here    [3]*place         // of answer, results and said
	tools   map[string]string // name of the tool by id of the call
	queue   []queued          // prompts typed while the model was busy
}

// place is a message's index once it is known, -1 before.
type place struct{ index int }

func newClaude(in *bufio.Reader, session *Session, report *Report) *claude {
	return &claude{
		lines: lines{in: in}, session: session, report: report, follows: -1,
		places: map[string]*place{}, tools: map[string]string{},
	}
}

func (c *claude) next() (Message, error) {
	for len(c.ready) == 0 {
		if c.ended {
			return Message{}, io.EOF
		}
		line, torn, long, err := c.lines.next()
		switch {
		case errors.Is(err, io.EOF):
			c.ended = true
			c.flush()
		case err != nil:
			return Message{}, err
		case long:
			c.report.problem(c.lines.number, "the line is longer than %d MiB and was left out", maxLine>>20)
		default:
			if err := decodeLine(line, c.take); err != nil {
				what := ""
				if torn {
					what = " (the last line of the file)"
				}
				c.report.problem(c.lines.number, "%v%s", err, what)
			}
		}
	}
	m := c.ready[0]
	c.ready = c.ready[1:]
	return m, nil
}

// take takes in one object of the file.
func (c *claude) take(l *claudeLine) {
	if l.UUID != "" && l.Type != "progress" {
		if _, known := c.places[l.UUID]; known {
			c.report.skip("repeated lines")
			return
		}
	}
	c.describe(l)
	switch {
	case l.Sidechain:
		c.report.skip("sidechain lines")
	case l.Type == "assistant":
		c.takeAnswer(l)
	case l.Type == "user" && l.Summary:
		c.flush()
		at := new(place)
		c.emit(&Message{
			Turn:       layers.Turn{Role: layers.RoleUser, Kind: layers.InputUserQuery, Text: l.Message.Content.text(), Time: millis(parseTime(l.Time))},
			Compaction: true, Line: c.lines.number,
		}, at)
		c.mark(l, at)
	case l.Type == "user":
		c.takeUser(l)
	case l.Type == "queue-operation":
		c.takeQueue(l)
	default:
		c.skip(l)
	}
}

// skip leaves a line out and remembers where in the conversation it stands, so
// that what names it as its parent finds its place.
func (c *claude) skip(l *claudeLine) {
	what := l.Type
	if what == "" {
		what = "untyped"
	}
	if l.Type == "system" && l.Subtype != "" {
		what += " " + l.Subtype
	}
	if len(what) > 60 {
		what = "untyped"
	}
	c.report.skip(what + " lines")
	if p := c.places[l.Parent]; p != nil {
		c.mark(l, p)
	}
}

func (c *claude) mark(l *claudeLine, p *place) {
	if l.UUID != "" {
		c.places[l.UUID] = p
	}
}

// describe fills what the session says of itself.
func (c *claude) describe(l *claudeLine) {
	first := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	if l.Type != "summary" { // names another session
		first(&c.session.ID, l.SessionID)
	}
	first(&c.session.Folder, l.Folder)
	first(&c.session.Version, l.Version)
	if at := parseTime(l.Time); c.session.Start.IsZero() {
		c.session.Start = at
	}
}

func (c *claude) takeAnswer(l *claudeLine) {
	if l.APIError || l.Message.Model == "<synthetic>" {
		c.skip(&claudeLine{Type: "client-made answer", UUID: l.UUID, Parent: l.Parent})
		return
	}
	id := l.Message.ID
	if id == "" {
		id = l.UUID
	}
	if id == "" {
		id = "line-" + strconv.Itoa(c.lines.number)
	}
	if c.answer == nil || c.answer.CallID != id {
		c.flush()
		c.answer = &Message{
			Turn:   layers.Turn{Role: layers.RoleAssistant, Time: millis(parseTime(l.Time))},
			CallID: id, Model: l.Message.Model, Line: c.lines.number,
		}
		c.here[0] = &place{-1}
	}
	c.mark(l, c.here[0])
	if u := l.Message.Usage.usage(); u != nil {
		c.answer.Usage = u // repeated on each line of the message: the last counts
	}
	for _, b := range l.Message.Content.blocks {
		switch b.Type {
		case "text":
			c.answer.Text = join(c.answer.Text, b.Text)
		case "thinking":
			c.answer.Thinking = join(c.answer.Thinking, b.Thinking)
		case "tool_use":
			c.tools[b.ID] = b.Name
			c.answer.Calls = append(c.answer.Calls, layers.ToolCall{ID: b.ID, Name: b.Name, Input: compactJSON(b.Input)})
		}
	}
}

func (c *claude) takeUser(l *claudeLine) {
	at := parseTime(l.Time)
	var text []string
	for _, b := range l.Message.Content.blocks {
		switch b.Type {
		case "tool_result":
			c.takeResult(b, at)
			c.mark(l, c.here[1])
		case "text":
			text = append(text, b.Text)
		case "image", "document":
			text = append(text, b.note())
		}
	}
	if len(text) == 0 {
		if _, known := c.places[l.UUID]; !known {
			c.skip(&claudeLine{Type: "empty user", UUID: l.UUID, Parent: l.Parent})
		}
		return
	}
	p := part{text: strings.Join(text, "\n"), line: c.lines.number, at: at}
	_, withResult := c.places[l.UUID]
	p.kind, p.extra = classify(p.text, l.Meta || withResult)
	if !p.extra && p.kind == plain || p.kind == command {
		c.rewind(l.Parent)
	}
	c.say(p)
	if !withResult {
		c.mark(l, c.here[2])
	}
}

func (c *claude) takeResult(b block, at time.Time) {
	if c.answer == nil && len(c.said) > 0 {
		c.flush() // a late result, after the next prompt
	}
	if c.results == nil {
		c.results = &Message{
			Turn: layers.Turn{Role: layers.RoleTool, Kind: layers.InputToolResponse, Time: millis(at)},
			Line: c.lines.number,
		}
		c.here[1] = &place{-1}
	}
	c.results.Results = append(c.results.Results, layers.ToolResult{
		CallID: b.ToolUseID, Content: b.Content.text(), IsError: b.IsError,
	})
}

// rewind notices that the user went back: a prompt whose parent is not the end
// of the conversation.
func (c *claude) rewind(parent string) {
	p := c.places[parent]
	if p == nil || p == c.here[0] || p == c.here[1] || p == c.here[2] {
		return
	}
	if p.index >= c.index-1 && c.answer == nil && c.results == nil {
		return
	}
	c.flush()
	if p.index < c.index-1 {
		c.follows = p.index
	}
}

// flush hands out what was gathered.
func (c *claude) flush() {
	if m := c.answer; m != nil {
		c.emit(m, c.here[0])
	}
	if m := c.results; m != nil {
		c.matchResults()
		c.emit(m, c.here[1])
	}
	if m := c.input(); m != nil {
		c.emit(m, c.here[2])
	} else if c.here[2] != nil {
		c.here[2].index = c.index - 1
	}
	c.answer, c.results, c.said, c.here = nil, nil, nil, [3]*place{}
}

func (c *claude) emit(m *Message, p *place) {
	m.Index, m.Follows = c.index, c.follows
	p.index = c.index
	c.follows = c.index
	c.index++
	c.ready = append(c.ready, *m)
}

// matchResults puts the results of parallel calls in the order of the calls
// and names the tools; a result may come before the line of its call.
func (c *claude) matchResults() {
	order := map[string]int{}
	if c.answer != nil {
		for i, call := range c.answer.Calls {
			order[call.ID] = i
		}
	}
	results := c.results.Results
	for i := range results {
		results[i].Tool = c.tools[results[i].CallID]
	}
	slices.SortStableFunc(results, func(a, b layers.ToolResult) int {
		i, known := order[a.CallID]
		if !known {
			i = len(order)
		}
		j, known := order[b.CallID]
		if !known {
			j = len(order)
		}
		return i - j
	})
}

// join appends a block of text.
func join(text, more string) string {
	switch {
	case text == "":
		return more
	case more == "":
		return text
	}
	return text + "\n\n" + more
}

// compactJSON returns JSON without insignificant space; "{}" for none.
func compactJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return "{}"
	}
	return b.String()
}

// millis returns Unix milliseconds, 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
