package transcript

import (
	"strings"
	"time"

	"hexapla/layers"
)

// part is one text of the user.
type part struct {
	text  string
	kind  partKind
	line  int
	at    time.Time
	extra bool // not a prompt: said on the way, or put in by the client
}

type partKind int

const (
	plain   partKind = iota
	command          // a slash command: local, if its output follows
	stdout           // output of a local command
	caveat           // the client's remark on local commands
)

type queued struct {
	text string
	line int
	at   time.Time
}

// classify says what kind of text a user line has, and whether it is something
// other than a prompt.
func classify(text string, meta bool) (kind partKind, extra bool) {
	trimmed := strings.TrimSpace(text)
	has := func(prefix string) bool { return strings.HasPrefix(trimmed, prefix) }
	switch {
	case has("<local-command-caveat>"), meta && has("Caveat: The messages below were generated"):
		return caveat, true
	case has("<local-command-std"):
		return stdout, true
	case has("<command-name>"):
		return command, false
	case has("[Request interrupted by user"), has("<bash-input>"), has("<bash-stdout>"), has("<agent-notification>"), has("<task-notification>"):
		return plain, true
	}
	return plain, meta
}

func (c *claude) say(p part) {
	if c.here[2] == nil {
		c.here[2] = &place{-1}
	}
	c.said = append(c.said, p)
}

// takeQueue follows the queue of prompts that are typed while the model is
// busy. One that is dequeued comes as a user line; one that is removed was
// handed to the model together with the next tool result.
func (c *claude) takeQueue(l *claudeLine) {
	switch l.Operation {
	case "enqueue":
		if text := l.Content.text(); text != "" {
			c.queue = append(c.queue, queued{text, c.lines.number, parseTime(l.Time)})
		}
	case "dequeue":
		if len(c.queue) > 0 {
			c.queue = c.queue[1:]
		}
	case "remove":
		if len(c.queue) > 0 {
			q := c.queue[0]
			c.queue = c.queue[1:]
			if strings.HasPrefix(q.text, "/") && !strings.ContainsAny(q.text, " \n") {
				c.report.skip("queued local commands")
				return
			}
			c.say(part{text: q.text, line: q.line, at: q.at, extra: true})
		}
	default:
		c.report.skip("queue-operation lines")
	}
}

// input makes one message of what the user said; nil when nothing is left.
func (c *claude) input() *Message {
	var texts []string
	m := &Message{Turn: layers.Turn{Role: layers.RoleUser, Kind: layers.InputUserFeedback}}
	for i, p := range c.said {
		local := p.kind == caveat || p.kind == stdout ||
			p.kind == command && i+1 < len(c.said) && c.said[i+1].kind == stdout
		if local {
			c.report.skip("local commands of the client")
			continue
		}
		if strings.TrimSpace(p.text) == "" {
			continue
		}
		if len(texts) == 0 {
			m.Line, m.Time = p.line, millis(p.at)
		}
		if !p.extra {
			m.Kind = layers.InputUserQuery
		}
		texts = append(texts, p.text)
	}
	if len(texts) == 0 {
		return nil
	}
	m.Text = strings.Join(texts, "\n\n")
	return m
}
