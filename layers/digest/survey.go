package digest

import (
	"strings"

	"hexapla/layers"
)

// survey is a conversation as the digest sees it.
type survey struct {
	id          string
	query       string // what the user asked, without what clients wrap around it
	follow      []string
	texts       []said
	final       string // the assistant's answer: its last text with no call behind it
	steps       []step
	todos       []todo // the last list
	asked       string // a question by tool that was not answered
	interrupted bool
	first, last int64 // times of turns, 0 when unknown
}

// said is a text of the assistant.
type said struct {
	text string
	turn int // index
}

// step is one tool call with its result.
type step struct {
	call     call
	turn     int // index of the turn that called
	text     string
	answered bool
	failed   bool
	detail   string // why it failed, in a phrase
	result   layers.CompressedToolResult
}

// maxTurnText bounds what is read of one text of the assistant.
const maxTurnText = 16 << 10

func surveyOf(conv layers.Conversation, c layers.Counter) *survey {
	s := &survey{id: conv.ID}
	byID := make(map[string]int)
	open := 0 // first step without a result
	for i := range conv.Turns {
		turn := &conv.Turns[i]
		if turn.Time != 0 {
			if s.first == 0 {
				s.first = turn.Time
			}
			s.last = max(s.last, turn.Time)
		}
		switch turn.Role {
		case layers.RoleUser:
			if turn.Kind != layers.InputToolResponse {
				s.userTurn(turn.Text)
			}
		case layers.RoleAssistant:
			s.final = ""
			if text := strings.TrimSpace(clipEnds(turn.Text)); text != "" {
				s.texts = append(s.texts, said{text, i})
				if len(turn.Calls) == 0 {
					s.final = text
				}
			}
			for _, k := range turn.Calls {
				if k.ID != "" {
					byID[k.ID] = len(s.steps)
				}
				s.steps = append(s.steps, step{call: understand(k.Name, k.Input, false), turn: i, text: turn.Text})
				if todos := s.steps[len(s.steps)-1].call.todos; len(todos) > 0 {
					s.todos = todos
				}
			}
		}
		for _, r := range turn.Results {
			at, ok := byID[r.CallID]
			if !ok {
				for open < len(s.steps) && s.steps[open].answered {
					open++
				}
				at = open
			}
			if at < len(s.steps) {
				s.result(&s.steps[at], r, conv, c)
			}
		}
	}
	return s
}

// clipEnds keeps both ends of a text that is too long to read.
func clipEnds(text string) string {
	if len(text) <= maxTurnText {
		return text
	}
	tail := text[len(text)-maxTurnText/2:]
	if n := strings.IndexByte(tail, '\n'); n >= 0 {
		tail = tail[n+1:]
	}
	return cutAtRune(text, maxTurnText/2) + "\n\n" + strings.ToValidUTF8(tail, "")
}

func (s *survey) userTurn(text string) {
	if strings.HasPrefix(strings.TrimSpace(text), "[Request interrupted by user") {
		s.interrupted = true
		return
	}
	said := spoken(text)
	if said == "" {
		return
	}
	s.interrupted = false
	if s.query == "" {
		s.query = said
		return
	}
	s.follow = append(s.follow, said)
}

func (s *survey) result(at *step, r layers.ToolResult, conv layers.Conversation, c layers.Counter) {
	at.answered = true
	at.result = r.Compressed
	if at.result.Summary == "" && r.Content != "" {
		at.result = ToolResult(ToolOutput{Tool: at.call.tool, Input: inputOf(conv, r.CallID), Output: r.Content, IsError: r.IsError}, c)
	}
	at.failed, at.detail = failedBy(at.result.Summary)
	at.detail = shortPlace(at.detail)
	if r.IsError {
		at.failed = true
	}
	if at.detail == "" && at.failed && len(at.result.ErrorPatterns) > 0 && !strings.Contains(at.result.ErrorPatterns[0], "<") {
		at.detail = at.result.ErrorPatterns[0]
	}
	if at.call.change != "" && len(at.call.files) == 0 {
		at.call.files = head(at.result.KeyFiles, 1) // SWE-agent edits the open file
	}
	if at.call.kind == kindWrite && (at.call.created || strings.HasPrefix(at.result.Summary, "created ")) {
		at.call.change = "create"
	}
}

func inputOf(conv layers.Conversation, id string) string {
	for i := range conv.Turns {
		for _, k := range conv.Turns[i].Calls {
			if k.ID == id {
				return k.Input
			}
		}
	}
	return ""
}

// failedBy reads from a compressed result's summary whether the call failed,
// and why.
func failedBy(summary string) (failed bool, detail string) {
	from := 0
	if i := strings.IndexByte(summary, '`'); i >= 0 && i < 40 {
		if n := strings.IndexByte(summary[i+1:], '`'); n >= 0 {
			from = i + 1 + n
		}
	}
	_, after, ok := strings.Cut(summary[from:], ": failed")
	if !ok {
		return false, ""
	}
	if rest, ok := strings.CutPrefix(after, " ("); ok {
		if _, tail, ok := strings.Cut(rest, ")"); ok {
			after = tail
		}
	}
	return true, strings.TrimSpace(strings.TrimPrefix(after, ":"))
}

// shortPlace cuts the folders off a "path:line: message".
func shortPlace(detail string) string {
	place, rest, ok := strings.Cut(detail, ":")
	if !ok || !isFile(strings.TrimPrefix(place, "…"), 0, true) {
		return detail
	}
	return baseName(place) + ":" + rest
}

// command is a check with how it went over the conversation.
type command struct {
	text      string
	kind      callKind
	failed    bool   // the last time
	wasFailed bool   // some time before
	detail    string // of the last failure
	turn      int
}

// commands returns the tests and checks that were run, and other commands that
// failed, in order of their last run.
func (s *survey) commands() []command {
	var list []command
	for _, st := range s.steps {
		k := st.call
		if !st.answered || k.command == "" || len(st.result.Summary) == 0 {
			continue
		}
		check := k.kind == kindTest || k.kind == kindCheck
		at := -1
		for i := range list {
			if list[i].text == k.command {
				at = i
			}
		}
		if at < 0 {
			if !check && !st.failed {
				continue
			}
			list = append(list, command{text: k.command, kind: k.kind})
			at = len(list) - 1
		}
		c := list[at]
		c.wasFailed = c.wasFailed || c.failed
		c.failed, c.turn = st.failed, st.turn
		if st.failed {
			c.detail = st.detail
		}
		list = append(append(list[:at:at], list[at+1:]...), c)
		if len(list) > 40 {
			list = list[1:]
		}
	}
	for i := range list {
		for _, later := range list[i+1:] {
			if list[i].failed && !later.failed && covers(later, list[i]) {
				list[i].failed, list[i].wasFailed = false, true
			}
		}
	}
	return list
}

// covers tells whether a command that passed shows that an earlier one would
// pass, too: it contains it, or it is a test run after a failed build.
func covers(later, c command) bool {
	return strings.Contains(later.text, c.text) || strings.Contains(c.text, later.text) && later.kind == c.kind ||
		later.kind == kindTest && strings.Contains(c.text, "build")
}

// edits returns the steps that changed files and worked.
func (s *survey) edits() []step {
	var out []step
	unanswered := !s.anyAnswered() // results were not recorded: believe the calls
	for _, st := range s.steps {
		if st.call.change != "" && len(st.call.files) > 0 && !st.failed && (st.answered || unanswered) {
			out = append(out, st)
		}
	}
	return out
}

func (s *survey) anyAnswered() bool {
	for i := range s.steps {
		if s.steps[i].answered {
			return true
		}
	}
	return false
}

// answer is the text that tells the result: the final one, or the last one
// that there is.
func (s *survey) answer() string {
	if s.final != "" || len(s.texts) == 0 {
		return s.final
	}
	return s.texts[len(s.texts)-1].text
}
