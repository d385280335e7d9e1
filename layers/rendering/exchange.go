package rendering

import (
	"strings"

	"hexapla/layers"
	"hexapla/layers/canonical"
)

// exchange is the newest answer with its calls and a result for each.
type exchange struct {
	text  string // of the answer, without the lines of its calls
	calls []call
}

// call is a tool call and its result.
type call struct {
	id, name  string
	arguments []byte // an object in canonical JSON
	result    string
	failed    bool
}

// splitAtAnswer splits items at the newest answer, if it made calls; answer is
// nil and between empty if there is none.
func splitAtAnswer(items []placed) (before []placed, answer *placed, between []placed) {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Answer {
			if len(items[i].Calls) == 0 {
				break
			}
			return items[:i:i], &items[i], items[i+1:]
		}
	}
	return items, nil, nil
}

// newExchange pairs the calls of an answer with their results in the input, and
// returns what is left of the input. It is nil if a call has no result, or if a
// provider would not take a call: then all of it stays text.
func newExchange(answer placed, input []placed) (*exchange, []placed) {
	var lines strings.Builder
	for _, c := range answer.Calls {
		lines.WriteString(c.Line())
	}
	text, ok := strings.CutSuffix(answer.Form.Text, lines.String())
	if !ok || text == "" {
		return nil, nil
	}
	results, rest := pair(answer, input)
	if results == nil {
		return nil, nil
	}
	e := &exchange{text: text}
	own := usableIDs(answer.Calls)
	for i, c := range answer.Calls {
		arguments, ok := objectOf(c.Input)
		if !ok || !usableName(c.Name) {
			return nil, nil
		}
		id := c.ID
		if !own {
			id = idOf(answer.ID, i)
		}
		e.calls = append(e.calls, call{
			id: id, name: c.Name, arguments: arguments, result: results[i].Form.Text, failed: results[i].Result.Failed,
		})
	}
	return e, rest
}

// pair returns the results of an answer's calls in the order of the calls, nil
// if one has none, and the items of the input that are no such results. A
// result without a call's id belongs to the one call that no other result
// answers.
func pair(answer placed, input []placed) (results []*placed, rest []placed) {
	calls := answer.Calls
	results = make([]*placed, len(calls))
	taken := make([]bool, len(input))
	missing := len(calls)
	for i := range input {
		item := &input[i]
		if item.Result == nil || item.Result.CallID == "" || !sameConversation(item.ID, answer.ID) {
			continue
		}
		for k := range calls {
			if results[k] == nil && calls[k].ID == item.Result.CallID {
				results[k], taken[i] = item, true
				missing--
				break
			}
		}
	}
	if missing == 1 {
		nameless := -1
		for i := range input {
			if input[i].Result != nil && input[i].Result.CallID == "" && sameConversation(input[i].ID, answer.ID) {
				if nameless >= 0 {
					return nil, nil
				}
				nameless = i
			}
		}
		for k := range results {
			if results[k] == nil && nameless >= 0 {
				results[k], taken[nameless] = &input[nameless], true
				missing--
			}
		}
	}
	if missing > 0 {
		return nil, nil
	}
	for i := range input {
		if !taken[i] {
			rest = append(rest, input[i])
		}
	}
	return results, rest
}

// sameConversation tells whether two ids of pieces, such as "c12#3" and
// "c12#4/1", are of one conversation.
func sameConversation(a, b string) bool {
	a, _, okA := strings.Cut(a, "#")
	b, _, okB := strings.Cut(b, "#")
	return okA && okB && a == b
}

// objectOf returns a call's arguments as an object in canonical JSON; none are
// an empty one. Integers beyond 2^53 would change, so they are refused with
// what is no object.
func objectOf(input string) ([]byte, bool) {
	if input == "" {
		return []byte("{}"), true
	}
	if longNumber(input) {
		return nil, false
	}
	object, err := canonical.Transform(nil, []byte(input))
	return object, err == nil && object[0] == '{'
}

// longNumber tells that JSON text has, outside its strings, so many digits in a
// row that a double may not hold them.
func longNumber(text string) bool {
	const most = 15
	digits, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c >= '0' && c <= '9':
			if digits++; digits > most {
				return true
			}
			continue
		case c == '.' && digits > 0:
			continue
		}
		digits = 0
	}
	return false
}

// Most characters in an identifier that every provider takes.
const (
	maxID   = 40 // OpenAI's chat interface
	maxName = 64 // OpenAI and Gemini
)

// usableIDs tells that the client's ids of calls can go to any provider: ASCII
// letters, digits, '_' and '-', and no two the same.
func usableIDs(calls []layers.ToolCall) bool {
	for i, c := range calls {
		if !plainWord(c.ID) || len(c.ID) > maxID {
			return false
		}
		for _, other := range calls[:i] {
			if other.ID == c.ID {
				return false
			}
		}
	}
	return true
}

// idOf makes the id of the n-th call of an answer out of the answer's own.
func idOf(answer string, n int) string {
	id := []byte("call_")
	for _, c := range []byte(answer) {
		if !wordByte(c) {
			c = '_'
		}
		id = append(id, c)
	}
	return string(canonical.AppendInt(append(id, '_'), int64(n+1)))
}

// usableName tells that every provider takes the name of a tool: ASCII letters,
// digits, '_' and '-', the first no digit and no '-'.
func usableName(name string) bool {
	return plainWord(name) && len(name) <= maxName && name[0] != '-' && (name[0] < '0' || name[0] > '9')
}

func plainWord(s string) bool {
	for i := range len(s) {
		if !wordByte(s[i]) {
			return false
		}
	}
	return s != ""
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
