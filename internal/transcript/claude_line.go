package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// claudeLine is the part of a line that is read. Everything else is skipped,
// in particular toolUseResult, which repeats tool outputs in another form.
type claudeLine struct {
	Type       string        `json:"type"`
	Subtype    string        `json:"subtype"`
	UUID       string        `json:"uuid"`
	Parent     string        `json:"parentUuid"`
	Sidechain  bool          `json:"isSidechain"`
	Meta       bool          `json:"isMeta"`
	Summary    bool          `json:"isCompactSummary"`
	APIError   bool          `json:"isApiErrorMessage"`
	Transcript bool          `json:"isVisibleInTranscriptOnly"`
	SessionID  string        `json:"sessionId"`
	Folder     string        `json:"cwd"`
	Version    string        `json:"version"`
	Time       string        `json:"timestamp"`
	Operation  string        `json:"operation"`
	Content    content       `json:"content"`
	Message    claudeMessage `json:"message"`
}

type claudeMessage struct {
	ID      string      `json:"id"`
	Model   string      `json:"model"`
	Content content     `json:"content"`
	Usage   claudeUsage `json:"usage"`
}

type claudeUsage struct {
	Input      *int `json:"input_tokens"`
	CacheWrite int  `json:"cache_creation_input_tokens"`
	CacheRead  int  `json:"cache_read_input_tokens"`
	Output     int  `json:"output_tokens"`
	Creation   struct {
		Hour int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

// usage returns the figures, or nil when the line has none.
func (u claudeUsage) usage() *Usage {
	if u.Input == nil {
		return nil
	}
	// Torn or edited figures must not turn sums negative.
	at := func(n int) int { return min(max(n, 0), 1<<40) }
	return &Usage{
		Input: at(*u.Input), CacheWrite: at(u.CacheWrite), CacheRead: at(u.CacheRead), Output: at(u.Output),
		CacheWriteHour: min(at(u.Creation.Hour), at(u.CacheWrite)),
	}
}

// block is one part of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    struct {
		MediaType string `json:"media_type"`
	} `json:"source"`
}

// content is a text, or blocks. Anything else reads as nothing.
type content struct {
	blocks []block
}

// UnmarshalJSON reads a string as one text block.
func (c *content) UnmarshalJSON(data []byte) error {
	c.blocks = nil
	switch data = bytes.TrimSpace(data); {
	case len(data) > 0 && data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		c.blocks = []block{{Type: "text", Text: text}}
	case len(data) > 0 && data[0] == '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(data, &parts); err != nil {
			return err
		}
		for _, part := range parts {
			var b block
			// A block of an unknown shape keeps what could be read of it.
			if err := json.Unmarshal(part, &b); err != nil && b.Type == "" {
				continue
			}
			c.blocks = append(c.blocks, b)
		}
	}
	return nil
}

// text joins the text of all blocks; a note stands for each image.
func (c content) text() string {
	var parts []string
	for _, b := range c.blocks {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		case "image", "document":
			parts = append(parts, b.note())
		}
	}
	return strings.Join(parts, "\n")
}

// note stands for content that is not text.
func (b block) note() string {
	if b.Source.MediaType != "" {
		return fmt.Sprintf("[%s: %s]", b.Type, b.Source.MediaType)
	}
	return "[" + b.Type + "]"
}

// parseTime reads an RFC 3339 time; zero when it is none.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// maxResumes bounds how often reading begins anew on one damaged line.
const maxResumes = 4

// decodeLine reads the values on a line: mostly one, but a client that was
// killed while it wrote may glue two together, or leave one torn in front of
// the next. It calls yield for each whole object. The error says what could
// not be read.
func decodeLine(line []byte, yield func(*claudeLine)) error {
	var problem error
	for try := 0; len(line) > 0 && try < maxResumes; try++ {
		dec := json.NewDecoder(bytes.NewReader(line))
		rest := line
		for {
			l := new(claudeLine)
			err := dec.Decode(l)
			if errors.Is(err, io.EOF) {
				return problem
			}
			var kind *json.UnmarshalTypeError
			if errors.As(err, &kind) {
				if kind.Field == "" {
					problem = errors.Join(problem, fmt.Errorf("a JSON %s where an object belongs", kind.Value))
				} else {
					problem = errors.Join(problem, fmt.Errorf("%s is a %s", kind.Field, kind.Value))
					yield(l)
				}
				rest = line[dec.InputOffset():]
				continue
			}
			if err != nil {
				problem = errors.Join(problem, fmt.Errorf("%w", tidy(err)))
				break
			}
			yield(l)
			rest = line[dec.InputOffset():]
		}
		line = resume(rest)
	}
	return problem
}

// tidy words an error of encoding/json for people.
func tidy(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the line is torn")
	}
	return fmt.Errorf("no JSON: %w", err)
}

// resume returns the part of a damaged line from where another object of the
// transcript seems to begin, nil when there is none. Inside a string a quote
// is escaped, so that what looks like the beginning of a line is one, or a
// block of the damaged object, which is then found damaged too.
func resume(rest []byte) []byte {
	for at := 1; at < len(rest); {
		i := bytes.Index(rest[at:], []byte(`{"`))
		if i < 0 {
			return nil
		}
		at += i
		for _, begin := range [...]string{`{"parentUuid":`, `{"type":"summary"`, `{"type":"file-history-snapshot"`, `{"type":"queue-operation"`} {
			if bytes.HasPrefix(rest[at:], []byte(begin)) {
				return rest[at:]
			}
		}
		at += 2
	}
	return nil
}
