package history_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/answer"
	"hexapla/layers/history"
	"hexapla/layers/tokens"
)

func counter() layers.Counter { return tokens.NewRegistry().ForModel("gpt-4o") }

func read(t interface{ Fatalf(string, ...any) }, c layers.Counter, raws ...string) *history.List {
	var messages []history.Message
	for _, raw := range raws {
		m, err := history.Read([]byte(raw), c)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		messages = append(messages, m)
	}
	return history.New(messages)
}

// forms are one exchange in each provider's shape: a question, a call, its
// result, an answer.
var forms = map[answer.Provider][]string{
	answer.Anthropic: {
		`{"role":"user","content":"Why does it fail?"}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"I look."},{"type":"tool_use","id":"a","name":"Bash","input":{"command":"go test"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"ok"}]}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"It passes."}]}`,
	},
	answer.OpenAIChat: {
		`{"role":"user","content":"Why does it fail?"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"go test\"}"}}]}`,
		`{"role":"tool","tool_call_id":"a","content":"ok"}`,
		`{"role":"assistant","content":"It passes."}`,
	},
	answer.OpenAIResponses: {
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"Why does it fail?"}]}`,
		`{"type":"function_call","id":"fc_1","call_id":"a","name":"Bash","arguments":"{\"command\":\"go test\"}"}`,
		`{"type":"function_call_output","call_id":"a","output":"ok"}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"It passes."}]}`,
	},
	answer.Gemini: {
		`{"role":"user","parts":[{"text":"Why does it fail?"}]}`,
		`{"role":"model","parts":[{"functionCall":{"name":"Bash","args":{"command":"go test"}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"name":"Bash","response":{"output":"ok"}}}]}`,
		`{"role":"model","parts":[{"text":"It passes."}]}`,
	},
}

// TestPrune1_OneExchangeInFourForms: in each provider's shape a call and its
// result are one unit, and roles and scores are the same.
func TestPrune1_OneExchangeInFourForms(t *testing.T) {
	for provider, raws := range forms {
		l := read(t, counter(), raws...)
		if len(l.Units) != 3 || !slices.Equal(l.Units[1].Messages, []int{1, 2}) || len(l.Problems) != 0 || !l.Units[0].Opens || l.Units[1].Opens {
			t.Errorf("%s: units %+v, problems %v", provider, l.Units, l.Problems)
		}
		for i, want := range []history.Role{history.RoleUser, history.RoleModel, history.RoleTool, history.RoleModel} {
			if got := l.Messages[i].Role; got != want {
				t.Errorf("%s: message %d is of %s, want %s", provider, i, got, want)
			}
		}
		if s := l.Score(1); s.Keywords != 15 || s.Role != 10 || s.Recency != 13.333333 {
			t.Errorf("%s: score of the call %+v", provider, s)
		}
	}
}

// TestPrune1_Scores: the parts are those of the formula and add to 100 at most.
func TestPrune1_Scores(t *testing.T) {
	if sum := history.WeightRecency + history.WeightSystem + history.WeightKeywords + history.WeightLength; sum != 100 {
		t.Errorf("the parts add to %d", sum)
	}
	l := read(t, counter(), `{"role":"system","content":"Be brief."}`, `{"role":"user","content":"Hello there"}`, `{"role":"assistant","content":"Hello."}`,
		`{"role":"user","content":"panic: runtime error: index out of range [5] with length 3"}`, `{"role":"assistant","content":"`+strings.Repeat("word ", 3000)+`"}`)
	for i, want := range []history.Score{{Recency: 0, Role: 30}, {Recency: 10, Role: 20}, {Recency: 20, Role: 10}, {Recency: 30, Role: 20, Keywords: 10}, {Recency: 40, Role: 10, Length: 5}} {
		got := l.Score(i)
		if got.Recency != want.Recency || got.Role != want.Role || got.Keywords != want.Keywords || want.Length == 5 && got.Length != 5 {
			t.Errorf("message %d: %+v, want %+v", i, got, want)
		}
	}
}

func TestPrune2_BadInput(t *testing.T) {
	for _, raw := range []string{``, `{}`, `[]`, `"x"`, `null`, `{"role":"boss","content":"x"}`, `{"speaker":"me"}`, `{"role":7}`} {
		if _, err := history.Read([]byte(raw), counter()); !errors.Is(err, answer.ErrMessage) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	l := read(t, counter(), `{"role":"tool","tool_call_id":"gone","content":"ok"}`, forms[answer.OpenAIChat][0], forms[answer.OpenAIChat][1], `{"role":"user","content":"Go on"}`)
	if want := []history.Problem{{Message: 0, Kind: history.ProblemOrphan}, {Message: 2, Kind: history.ProblemUnanswered}}; !slices.Equal(l.Problems, want) {
		t.Errorf("problems %v", l.Problems)
	}
	out, err := l.Prune(100000)
	if err != nil || !slices.Equal(out.Kept, []int{1, 3}) || out.Removed[0].Reason != history.ReasonBroken {
		t.Errorf("kept %v, removed %v: %v", out.Kept, out.Removed, err)
	}
	var small *history.TooSmallError
	if _, err := l.Prune(1); !errors.As(err, &small) {
		t.Errorf("budget of 1: %v", err)
	} else if _, err := l.Prune(small.Needed); err != nil {
		t.Errorf("the budget that works: %v", err)
	}
	if out, err := history.New(nil).Prune(0); err != nil || len(out.Kept)+len(out.Removed) != 0 {
		t.Errorf("an empty list: %+v, %v", out, err)
	}
}

// drawList draws a list of messages in one shape, also with results that have no
// call and calls without results.
func drawList(t *rapid.T) []string {
	var raws []string
	n := rapid.IntRange(0, 40).Draw(t, "n")
	for i := range n {
		text, _ := json.Marshal(strings.Repeat(rapid.SampledFrom([]string{"word ", "error: it failed ", "ok\n"}).Draw(t, "text"), rapid.IntRange(1, 60).Draw(t, "times")))
		id := rapid.IntRange(0, 6).Draw(t, "id")
		switch rapid.SampledFrom([]string{"system", "user", "assistant", "call", "result", "both"}).Draw(t, "kind") {
		case "system":
			raws = append(raws, fmt.Sprintf(`{"role":"system","content":%s}`, text))
		case "user":
			raws = append(raws, fmt.Sprintf(`{"role":"user","content":%s}`, text))
		case "assistant":
			raws = append(raws, fmt.Sprintf(`{"role":"assistant","content":%s}`, text))
		case "call":
			raws = append(raws, fmt.Sprintf(`{"role":"assistant","content":%s,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"Bash","arguments":"{}"}}]}`, text, id))
		case "result":
			raws = append(raws, fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":%s}`, id, text))
		case "both":
			raws = append(raws, fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":"d%d","type":"function","function":{"name":"Bash","arguments":"{}"}}]}`, i),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"d%d","content":%s}`, i, text))
		}
	}
	return raws
}

// TestPrune2_Laws: every message is kept or removed, once; order and units hold;
// what stays fits, has the system prompts and the newest message, begins with
// the user's words, and stays when it is pruned again.
func TestPrune2_Laws(t *testing.T) {
	c := counter()
	rapid.Check(t, func(t *rapid.T) {
		raws := drawList(t)
		l := read(t, c, raws...)
		budget := rapid.IntRange(0, l.Tokens+10).Draw(t, "budget")
		out, err := l.Prune(budget)
		var small *history.TooSmallError
		if errors.As(err, &small) {
			if small.Needed <= budget {
				t.Fatalf("%d are needed of %d", small.Needed, budget)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		checkOutcome(t, l, out)
		if out.Tokens > budget {
			t.Fatalf("%d tokens of %d", out.Tokens, budget)
		}
		kept := map[int]bool{}
		for _, m := range out.Kept {
			kept[m] = true
		}
		if n := len(raws); n > 0 && !kept[n-1] {
			t.Fatal("the newest message is gone")
		}
		opened := false
		for i := range l.Units {
			u := &l.Units[i]
			stays := kept[u.Messages[0]]
			for _, m := range u.Messages {
				if kept[m] != stays {
					t.Fatalf("unit %v is parted", u.Messages)
				}
			}
			last := slices.Contains(u.Messages, len(raws)-1)
			switch {
			case u.System && !stays:
				t.Fatal("a system prompt is gone")
			case u.Broken && stays && !last:
				t.Fatal("a broken unit stays")
			case stays && u.Opens:
				opened = true
			case stays && !u.System && !opened && !last && slices.ContainsFunc(l.Units, func(u history.Unit) bool { return u.Opens && kept[u.Messages[0]] }):
				t.Fatalf("what stays begins with unit %v", u.Messages)
			}
		}
		var again []string
		for _, m := range out.Kept {
			again = append(again, raws[m])
		}
		if second, err := read(t, c, again...).Prune(budget); err != nil || len(second.Kept) != len(out.Kept) {
			t.Fatalf("pruned again: %d of %d stay: %v", len(second.Kept), len(out.Kept), err)
		}
	})
}

func checkOutcome(t *rapid.T, l *history.List, out history.Outcome) {
	seen := make([]int, len(l.Messages))
	tokens := 0
	for _, m := range out.Kept {
		seen[m]++
		tokens += l.Messages[m].Tokens
	}
	for _, r := range out.Removed {
		seen[r.Message]++
		if r.Reason == "" {
			t.Fatal("a removal has no reason")
		}
	}
	for m, n := range seen {
		if n != 1 {
			t.Fatalf("message %d is named %d times", m, n)
		}
	}
	if tokens != out.Tokens || !slices.IsSorted(out.Kept) || !slices.IsSortedFunc(out.Removed, func(a, b history.Removal) int { return a.Message - b.Message }) {
		t.Fatalf("%d tokens, want %d; kept %v", out.Tokens, tokens, out.Kept)
	}
}

// TestPrune3_SplitLaws: a split keeps the last messages and the system prompts and
// parts no unit.
func TestPrune3_SplitLaws(t *testing.T) {
	c := counter()
	rapid.Check(t, func(t *rapid.T) {
		raws := drawList(t)
		l := read(t, c, raws...)
		keep := rapid.IntRange(0, 20).Draw(t, "keep")
		out := l.Split(keep)
		checkOutcome(t, l, out)
		gone := map[int]bool{}
		for _, r := range out.Removed {
			gone[r.Message] = true
			if r.Message >= len(raws)-keep || l.Messages[r.Message].Role == history.RoleSystem {
				t.Fatalf("message %d of %d is gone", r.Message, len(raws))
			}
		}
		for i := range l.Units {
			for _, m := range l.Units[i].Messages {
				if gone[m] != gone[l.Units[i].Messages[0]] {
					t.Fatalf("unit %v is parted", l.Units[i].Messages)
				}
			}
		}
		var old [][]byte
		for _, raw := range raws {
			old = append(old, []byte(raw))
		}
		room := rapid.IntRange(0, 500).Draw(t, "room")
		text := history.Summarize(old, room, c)
		if n := c.Count(text); n > room && text != "" {
			t.Fatalf("summary of %d tokens in %d", n, room)
		}
		for _, provider := range answer.Providers() {
			if m, err := history.Read(history.UserMessage(text, provider), c); err != nil || m.Role != history.RoleUser {
				t.Fatalf("%s: %v", provider, err)
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, raws := range forms {
		for _, raw := range raws {
			f.Add([]byte(raw))
		}
	}
	c := counter()
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := history.Read(raw, c)
		if err == nil && (m.Tokens < 0 || m.Role == "") {
			t.Errorf("%+v", m)
		}
	})
}

// BenchmarkPrune100 prunes 100 messages that were read before to half of their
// tokens (requirement P9).
func BenchmarkPrune100(b *testing.B) {
	l := benchmarkList(b, 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := history.New(l.Messages).Prune(l.Tokens / 2); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrune100000 is the same with 100,000.
func BenchmarkPrune100000(b *testing.B) {
	l := benchmarkList(b, 100_000)
	for b.Loop() {
		if _, err := history.New(l.Messages).Prune(l.Tokens / 2); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkList(b *testing.B, n int) *history.List {
	var raws []string
	for i := range n / 4 {
		raws = append(raws, fmt.Sprintf(`{"role":"user","content":"Look at part %d, please. %s"}`, i, strings.Repeat("It matters. ", i%17)),
			fmt.Sprintf(`{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"go test ./part%d\"}"}}]}`, i, i),
			fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"ok %s"}`, i, strings.Repeat("part is fine\\n", i%50)),
			fmt.Sprintf(`{"role":"assistant","content":"Part %d is fine."}`, i))
	}
	return read(b, counter(), raws...)
}

// TestI1_RecentLaws: what always stays stays; of the rest only whole units, the
// newest, within both bounds; with more room or more messages nothing goes that
// stayed.
func TestI1_RecentLaws(t *testing.T) {
	c := counter()
	rapid.Check(t, func(t *rapid.T) {
		l := read(t, c, drawList(t)...)
		messages, room := rapid.IntRange(-1, len(l.Messages)).Draw(t, "messages"), rapid.IntRange(0, l.Tokens+1).Draw(t, "room")
		always, out := l.Always(), l.Recent(messages, room)
		checkOutcome(t, l, out)
		kept := map[int]bool{}
		for _, m := range out.Kept {
			kept[m] = true
		}
		opens := false
		for _, m := range always.Kept {
			if !kept[m] {
				t.Fatalf("message %d goes", m)
			}
			opens = opens || l.Messages[m].Role == history.RoleUser
		}
		for i := range l.Units {
			u := &l.Units[i]
			if u.System && !kept[u.Messages[0]] || u.Opens && !u.Broken && !opens {
				t.Fatalf("unit %d: %+v", i, u)
			}
		}
		if n := len(l.Messages); n > 0 && !kept[n-1] {
			t.Fatal("the newest goes")
		}
		if more := len(out.Kept) - len(always.Kept); messages >= 0 && more > messages || out.Tokens-always.Tokens > room {
			t.Fatalf("%d messages of %d, %d tokens of %d", more, messages, out.Tokens-always.Tokens, room)
		}
		first := map[int]bool{}
		for _, m := range always.Kept {
			first[m] = true
		}
		ended := false // something was left out that is newer
		for i := len(l.Units) - 1; i >= 0; i-- {
			if u := &l.Units[i]; !u.Broken && !first[u.Messages[0]] {
				if ended && kept[u.Messages[0]] {
					t.Fatalf("unit %d stays, a newer one goes", i)
				}
				ended = ended || !kept[u.Messages[0]]
			}
		}
		wider := l.Recent(-1, l.Tokens)
		for _, m := range out.Kept {
			if !slices.Contains(wider.Kept, m) {
				t.Fatalf("message %d goes with more room", m)
			}
		}
	})
}
