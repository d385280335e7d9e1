package history

import (
	"fmt"
	"strconv"
	"strings"

	"hexapla/layers"
	"hexapla/layers/answer"
	"hexapla/layers/canonical"
	"hexapla/layers/digest"
)

// DefaultKeep is how many messages stay beside a summary when nothing else is
// asked for (requirement P3).
const DefaultKeep = 10

// maxExchanges is how many exchanges, the newest, a summary is made of; all are
// counted in it.
const maxExchanges = 50

// Split chooses what a summary stands for: all messages but system prompts and
// the last keep. A unit that would be parted stays whole. Nothing is removed
// where a summary would stand for less than two messages.
func (l *List) Split(keep int) Outcome {
	at := max(len(l.Messages)-keep, 0)
	for i := len(l.Units) - 1; i >= 0; i-- { // later units first: earlier ones may reach into them
		if u := l.Units[i].Messages; u[0] < at && u[len(u)-1] >= at {
			at = u[0]
		}
	}
	var out Outcome
	for i := range l.Messages {
		if i < at && l.Messages[i].Role != RoleSystem {
			out.Removed = append(out.Removed, Removal{i, ReasonSummarized})
			continue
		}
		out.Kept = append(out.Kept, i)
		out.Tokens += l.Messages[i].Tokens
	}
	if len(out.Removed) < 2 {
		out = Outcome{Tokens: l.Tokens}
		for i := range l.Messages {
			out.Kept = append(out.Kept, i)
		}
	}
	return out
}

// ReasonSummarized is the reason of messages that a summary stands for.
const ReasonSummarized Reason = "summarized"

// Summarize says in one text what messages were about: how many there were of
// whom, and what was done, as layer 0 tells it, in at most
// layers.CapCurrentContext tokens and room in all. It is "" where not even the
// numbers fit. Messages that cannot be read are counted alone.
func Summarize(messages [][]byte, room int, c layers.Counter) string {
	var exchanges []layers.Conversation
	var users, models, calls int
	for _, raw := range messages {
		l, _, err := answer.ReadListed(raw)
		if err != nil {
			continue
		}
		switch roleOf(&l) {
		case RoleUser:
			users++
			exchanges = append(exchanges, layers.Conversation{Outcome: layers.OutcomeCompleted})
		case RoleModel:
			models++
		}
		calls += len(l.Turn.Calls)
		if len(exchanges) == 0 {
			exchanges = append(exchanges, layers.Conversation{Outcome: layers.OutcomeCompleted})
		}
		last := &exchanges[len(exchanges)-1]
		l.Turn.Number = len(last.Turns) + 1
		last.Turns = append(last.Turns, l.Turn)
	}
	head := fmt.Sprintf("Summary of %s before: %s of the user, %s of the model, %s of tools.\n",
		count(len(messages), "message"), strconv.Itoa(users), strconv.Itoa(models), count(calls, "call"))
	room -= c.Count(head)
	if room < 0 {
		return ""
	}
	if skipped := len(exchanges) - maxExchanges; skipped > 0 {
		exchanges = exchanges[skipped:]
	}
	var story digest.Story
	for i := range exchanges {
		compress(&exchanges[i], c)
		e := digest.Exchange{Conversation: exchanges[i]}
		story.Trios = append(story.Trios, digest.Trio{Header: digest.Header(e, c), Summary: digest.Summary(e, c)})
	}
	told, _ := digest.TrimCurrentContext(digest.CurrentContext(story, c), c)
	body, _ := digest.Trim(strings.TrimSpace(digest.RenderCurrentContext(told)), room-1, c) // a line feed ends it
	if body == "" {
		return head
	}
	return head + body + "\n"
}

// compress gives the results of an exchange their compressed form.
func compress(conv *layers.Conversation, c layers.Counter) {
	made := map[string]layers.ToolCall{}
	for i := range conv.Turns {
		for _, call := range conv.Turns[i].Calls {
			made[key(call.ID, call.Name)] = call
		}
		for k := range conv.Turns[i].Results {
			r := &conv.Turns[i].Results[k]
			call := made[key(r.CallID, r.Tool)]
			if r.Tool == "" {
				r.Tool = call.Name
			}
			r.Compressed = digest.ToolResult(digest.ToolOutput{Tool: r.Tool, Input: call.Input, Output: r.Content, IsError: r.IsError}, c)
		}
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// UserMessage writes a text as a message of the user in a provider's shape; that
// of all but Gemini is the same.
func UserMessage(text string, provider answer.Provider) []byte {
	if provider == answer.Gemini {
		b := canonical.AppendString([]byte(`{"parts":[{"text":`), text)
		return append(b, `}],"role":"user"}`...)
	}
	b := canonical.AppendString([]byte(`{"content":`), text)
	return append(b, `,"role":"user"}`...)
}
