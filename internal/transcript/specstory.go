package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hexapla/layers"
)

// maxMarkdown is how much of a SpecStory file is read, bytes.
const maxMarkdown = 256 << 20

// specStory reads SpecStory Markdown.
//
// A file is a run of blocks, each opened by a marker line such as
//
//	_**User (2026-01-12 15:08:38Z)**_
//	_**Agent (claude-opus-4-5 2026-01-12 15:08:42Z)**_
//
// The format does not say which blocks were one model call. A call is taken to
// be the agent's blocks up to and with the next tool use, so that tools called
// in parallel count as one call each. There is no usage.
//
// Transcripts of transcripts occur: inside a tool use nothing is a marker, and
// outside a marker needs an empty line before it.
type specStory struct {
	in      io.Reader
	session *Session
	report  *Report

	lines []string // nil until the file was read
	at    int      // next line
	index int
	ready []Message
	agent *Message // the call that is being gathered
	calls int      // tool uses so far, for ids
	ended bool
}

func newSpecStory(in *bufio.Reader, session *Session, report *Report) *specStory {
	return &specStory{in: in, session: session, report: report}
}

// marker is a line that opens a block.
type marker struct {
	user, sidechain bool
	model           string
	at              time.Time
}

// times are the ways in which SpecStory has written times.
const (
	stampSpace = "2006-01-02 15:04:05Z"
	stampT     = "2006-01-02T15:04:05.999Z"
)

// parseMarker reads a marker line.
func parseMarker(line string) (marker, bool) {
	inner, ok := strings.CutPrefix(line, "_**")
	if !ok {
		return marker{}, false
	}
	if inner, ok = strings.CutSuffix(strings.TrimRight(inner, " \r"), "**_"); !ok {
		return marker{}, false
	}
	who, detail, _ := strings.Cut(inner, " (")
	detail = strings.TrimSuffix(detail, ")")
	var m marker
	switch who {
	case "User":
		m.user = true
	case "User - sidechain":
		m.user, m.sidechain = true, true
	case "Agent", "Assistant":
	case "Agent - sidechain", "Assistant - sidechain":
		m.sidechain = true
	default:
		return marker{}, false
	}
	fields := strings.Fields(detail)
	for take := 1; take <= 2 && take <= len(fields); take++ {
		stamp := strings.Join(fields[len(fields)-take:], " ")
		for _, layout := range [...]string{stampSpace, stampT} {
			if at, err := time.Parse(layout, stamp); err == nil {
				m.at = at
				m.model = strings.Join(fields[:len(fields)-take], " ")
				return m, true
			}
		}
	}
	m.model = detail
	return m, true
}

func (s *specStory) next() (Message, error) {
	if s.lines == nil {
		if err := s.load(); err != nil {
			return Message{}, err
		}
	}
	for len(s.ready) == 0 {
		if s.at >= len(s.lines) {
			if s.ended {
				return Message{}, io.EOF
			}
			s.ended = true
			s.flush()
			continue
		}
		s.block()
	}
	m := s.ready[0]
	s.ready = s.ready[1:]
	return m, nil
}

var sessionComment = regexp.MustCompile(`^<!-- (.{1,40}) Session (\S{1,100}) \((.{1,40})\) -->`)

// load reads the file and goes to the first marker.
func (s *specStory) load() error {
	data, err := io.ReadAll(io.LimitReader(s.in, maxMarkdown))
	if err != nil {
		return err
	}
	s.lines = strings.Split(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\n")
	if len(data) == maxMarkdown {
		s.report.problem(len(s.lines), "the file is longer than %d MiB; the rest was left out", maxMarkdown>>20)
	}
	for i, line := range s.lines {
		s.lines[i] = strings.TrimSuffix(line, "\r")
	}
	for s.at < len(s.lines) && !s.opens(s.at) {
		if m := sessionComment.FindStringSubmatch(s.lines[s.at]); m != nil && s.session.ID == "" {
			s.session.ID = m[2]
			if at, err := time.Parse(stampSpace, m[3]); err == nil {
				s.session.Start = at
			}
		}
		s.at++
	}
	return nil
}

// opens tells whether line i opens a block.
func (s *specStory) opens(i int) bool {
	if !strings.HasPrefix(s.lines[i], "_**") || i > 0 && strings.TrimSpace(s.lines[i-1]) != "" {
		return false
	}
	_, ok := parseMarker(s.lines[i])
	return ok
}

// block reads one block.
func (s *specStory) block() {
	line := s.at + 1
	m, _ := parseMarker(s.lines[s.at])
	s.at++
	if s.session.Start.IsZero() {
		s.session.Start = m.at
	}
	begin := s.at
	var tools [][2]int // line ranges of tool uses in the block
	for s.at < len(s.lines) && !s.opens(s.at) {
		if !m.user && strings.HasPrefix(s.lines[s.at], "<tool-use ") {
			end := s.toolEnd(s.at)
			tools = append(tools, [2]int{s.at, end})
			s.at = end
			continue
		}
		s.at++
	}
	end := s.at
	if m.sidechain {
		s.report.skip("sidechain blocks")
		return
	}
	if m.user {
		s.flush()
		text := unescape(trimBlock(s.lines[begin:end]))
		if kind, _ := classify(text, false); kind == caveat || kind == stdout || text == "" {
			s.report.skip("local commands of the client")
			return
		}
		s.emit(Message{
			Turn: layers.Turn{Role: layers.RoleUser, Kind: layers.InputUserQuery, Text: text, Time: millis(m.at)},
			Line: line,
		})
		return
	}
	if m.model == "<synthetic>" {
		s.report.skip("client-made answers")
		return
	}
	for _, tool := range tools {
		s.say(m, line, s.lines[begin:tool[0]])
		s.use(m, line, tool[0], tool[1])
		begin = tool[1]
	}
	s.say(m, line, s.lines[begin:end])
}

// say adds text and thinking to the call that is being gathered.
func (s *specStory) say(m marker, line int, text []string) {
	said := trimBlock(text)
	if said == "" {
		return
	}
	s.open(m, line)
	const think, done = "<think>", "</think>"
	for strings.HasPrefix(said, think) {
		thought, rest, ok := strings.Cut(said[len(think):], done)
		if !ok {
			thought, rest = said[len(think):], ""
		}
		thought = strings.TrimPrefix(thought, "<details><summary>Thought Process</summary>")
		thought = strings.TrimSuffix(strings.TrimSpace(thought), "</details>")
		s.agent.Thinking = join(s.agent.Thinking, unescape(strings.TrimSpace(thought)))
		said = strings.TrimSpace(rest)
	}
	s.agent.Text = join(s.agent.Text, unescape(said))
}

// open begins a model call, if none is being gathered.
func (s *specStory) open(m marker, line int) {
	if s.agent == nil {
		s.agent = &Message{
			Turn:  layers.Turn{Role: layers.RoleAssistant, Time: millis(m.at)},
			Model: m.model, Line: line,
			CallID: "line-" + strconv.Itoa(line),
		}
	}
}

var toolName = regexp.MustCompile(`^<tool-use [^>]*data-tool-name="([^"]{1,200})"`)

// use adds a tool use: the call ends the model call, and what it returned is a
// message of its own.
func (s *specStory) use(m marker, line, begin, end int) {
	name := "tool"
	if match := toolName.FindStringSubmatch(s.lines[begin]); match != nil {
		name = match[1]
	}
	s.calls++
	id := fmt.Sprintf("tool-%d", s.calls)
	input, output, answered := splitTool(s.lines[begin+1 : end])
	s.open(m, line)
	s.agent.Calls = append(s.agent.Calls, layers.ToolCall{ID: id, Name: name, Input: input})
	s.flush()
	if !answered {
		return
	}
	s.emit(Message{
		Turn: layers.Turn{
			Role: layers.RoleTool, Kind: layers.InputToolResponse, Time: millis(m.at),
			Results: []layers.ToolResult{{CallID: id, Tool: name, Content: output, IsError: strings.HasPrefix(output, "<tool_use_error>") || strings.HasPrefix(output, "Exit code ")}},
		},
		Line: begin + 1,
	})
}

func (s *specStory) flush() {
	if s.agent != nil {
		s.emit(*s.agent)
		s.agent = nil
	}
}

func (s *specStory) emit(m Message) {
	m.Index, m.Follows = s.index, s.index-1
	s.index++
	s.ready = append(s.ready, m)
}

const toolClose = "</details></tool-use>"

// toolEnd returns the line after the end of the tool use that begins at line
// begin. The end inside a fenced block is that of a nested transcript; where
// fences do not close, the first end counts.
func (s *specStory) toolEnd(begin int) int {
	first, fenced := -1, false
	for i := begin + 1; i < len(s.lines); i++ {
		line := s.lines[i]
		switch {
		case strings.HasPrefix(line, "```"):
			if !fenced || line == "```" {
				fenced = !fenced
			}
		case strings.HasPrefix(line, toolClose):
			if first < 0 {
				first = i + 1
			}
			if !fenced {
				return i + 1
			}
		}
	}
	if first < 0 {
		s.report.problem(begin+1, "the tool use does not end; it was read to the end of the file")
		return len(s.lines)
	}
	return first
}

// splitTool takes the lines of a tool use apart: what it was called with, as a
// JSON object, and what it returned.
//
// The output is the last fenced block, if that is marked as text or not at
// all; where the tool writes no file, it begins at the first such fence.
func splitTool(lines []string) (input, output string, answered bool) {
	body := lines
	if n := len(body); n > 0 && strings.HasPrefix(body[n-1], toolClose) {
		body = body[:n-1]
	}
	if len(body) > 0 && strings.HasPrefix(body[0], "<summary>") {
		body = body[1:]
	}
	for len(body) > 0 && strings.TrimSpace(body[len(body)-1]) == "" {
		body = body[:len(body)-1]
	}
	opens := func(line string) bool { return line == "```text" || line == "```" }
	from, to := -1, len(body)
	if n := len(body); n > 0 && body[n-1] == "```" {
		to = n - 1
	}
	content := false // a fence of another kind came before: contents of a file
	for i := 0; i < to; i++ {
		switch {
		case body[i] == "```text" && (from < 0 || content):
			from = i
		case from < 0 && opens(body[i]) && !content:
			from = i
		case from < 0 && strings.HasPrefix(body[i], "```"):
			content = true
		}
	}
	called := body
	if from >= 0 {
		called = body[:from]
		output, answered = unescape(strings.Trim(strings.Join(body[from+1:max(to, from+1)], "\n"), "\n")), true
	}
	return toolInput(called), output, answered
}

// toolInput makes a JSON object of the lines before the output: the words, and
// what stands in backticks by itself.
func toolInput(lines []string) string {
	var words, codes []string
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		if n := len(trimmed); n > 2 && trimmed[0] == '`' && trimmed[n-1] == '`' && strings.Count(trimmed, "`") == 2 {
			codes = append(codes, unescape(trimmed[1:n-1]))
			continue
		}
		words = append(words, line)
	}
	object := struct {
		Code string `json:"input,omitempty"`
		Text string `json:"text,omitempty"`
	}{strings.Join(codes, "\n"), unescape(trimBlock(words))}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(object) != nil {
		return "{}"
	}
	return strings.TrimSpace(b.String())
}

// trimBlock joins lines without the rule that separates speakers and without
// empty lines around.
func trimBlock(lines []string) string {
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if text == "---" {
		return ""
	}
	return strings.TrimSpace(strings.TrimSuffix(text, "\n---"))
}

// unescape undoes SpecStory's escape of backticks.
func unescape(s string) string { return strings.ReplaceAll(s, "&#96;", "`") }
