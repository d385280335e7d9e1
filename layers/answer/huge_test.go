package answer_test

import (
	"fmt"
	"strings"
	"testing"

	"hexapla/layers/answer"
)

// hostile are texts that make readers slow or deep, by how often a part of them
// repeats.
var hostile = []struct {
	name string
	text func(n int) string
}{
	{"prose", func(n int) string { return strings.Repeat("All work and no play. ", n) }},
	{"braces", func(n int) string { return strings.Repeat("{", n) }},
	{"brackets in a block", func(n int) string { return "```hexapla\n" + strings.Repeat("[", n) }},
	{"objects in a block", func(n int) string { return "<hexapla>" + strings.Repeat(`{"a":`, n) }},
	{"objects without ends", func(n int) string { return strings.Repeat("{\"housekeeping\":{\n", n) }},
	{"bare objects", func(n int) string { return strings.Repeat("{\"housekeeping\":{}}\n", n) }},
	{"foreign objects", func(n int) string { return strings.Repeat("{\"content\":1}\n", n) }},
	{"quotes", func(n int) string {
		return `<hexapla>{"housekeeping":{"llm":{"contextSummary":` + strings.Repeat(`"x" y`, n)
	}},
	{"quotes and commas", func(n int) string { return `<hexapla>{"housekeeping":{"keyDecisions":[` + strings.Repeat(`"x", y`, n) }},
	{"open tags", func(n int) string { return strings.Repeat("<hexapla>", n) }},
	{"open tags with objects", func(n int) string { return strings.Repeat("<hexapla>{", n) }},
	{"open tags with words, one end", func(n int) string { return strings.Repeat("<hexapla>x", n) + "</hexapla>" }},
	{"open tags with whole objects", func(n int) string { return strings.Repeat("<hexapla>{}", n) }},
	{"ends of other tags", func(n int) string { return strings.Repeat("<hexapla>x</housekeeping>", n) }},
	{"fences of ours", func(n int) string { return strings.Repeat("```hexapla\n", n) }},
	{"fences of ours in one line", func(n int) string { return strings.Repeat("```hexapla {}", n) }},
	{"whole objects in fences without ends", func(n int) string { return strings.Repeat("```hexapla {}\nx\n", n) + "```" }},
	{"JSON in fences without ends", func(n int) string { return strings.Repeat("```json\n{\"housekeeping\":{}}\n", n) }},
	{"cut objects in fences", func(n int) string { return strings.Repeat("```hexapla\n{\"housekeeping\":{\"x\n```\n", n) }},
	{"fences of many sizes", func(n int) string {
		var b strings.Builder
		for size := 3; b.Len() < 10*n; size++ {
			b.WriteString(strings.Repeat("`", size) + "json\n{}\n")
		}
		return b.String()
	}},
	{"comments", func(n int) string { return "<hexapla>{" + strings.Repeat("/*", n) + strings.Repeat("//\n", n) }},
	{"escapes", func(n int) string { return `<hexapla>{"a":"` + strings.Repeat(`\u12\`, n) }},
	{"list of numbers", func(n int) string {
		return `<hexapla>{"housekeeping":{"keyDecisions":[` + strings.Repeat("0,", n) + "]}}</hexapla>"
	}},
	{"list of changes", func(n int) string {
		return `<hexapla>{"housekeeping":{"codeChanges":[` + strings.Repeat(`{"summary":"x"},`, n) + "]}}"
	}},
	{"members", func(n int) string {
		return `<hexapla>{"housekeeping":{` + strings.Repeat(`"contextSummary":"x",`, n) + "}}</hexapla>"
	}},
	{"names without values", func(n int) string { return `<hexapla>{"housekeeping":{` + strings.Repeat(`a b,`, n) + "}}</hexapla>" }},
	{"spaces", func(n int) string {
		return `<hexapla>{"housekeeping":` + strings.Repeat(" ", n) + strings.Repeat("\n", n)
	}},
	{"objects in a line of a block", func(n int) string { return "```hexapla\n" + strings.Repeat(`{"llm":{}} x `, n) + "\n```" }},
	{"ids", func(n int) string {
		return `<hexapla>{"contextRequests":{"archiveConversations":[` + strings.Repeat(`"c1",`, n) + "]}}"
	}},
	{"retrieves", func(n int) string {
		return `{"contextRequests":{"retrieveConversations":[` + strings.Repeat(`{"ids":["c1"]},`, n) + "]}}"
	}},
}

// TestHostileAnswers: whatever a model writes is read to its end, with few
// problems and bounded lists.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	for _, h := range hostile {
		a := answer.Read(h.text(100_000))
		if len(a.Problems) > 20 {
			t.Errorf("%s: %d problems", h.name, len(a.Problems))
		}
		if a.Housekeeping != nil && (len(a.Housekeeping.LLM.KeyDecisions) > 200 || len(a.Housekeeping.LLM.CodeChanges) > 200) {
			t.Errorf("%s: more than the limits", h.name)
		}
		if r := a.Requests; r != nil && len(r.Archive)+len(r.Retrieve) > 10_000 {
			t.Errorf("%s: %d and %d are asked for", h.name, len(r.Archive), len(r.Retrieve))
		}
	}
}

// BenchmarkHostile shows that the time grows as the text does: ns/op of the
// second size is twice that of the first.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		for _, n := range []int{100_000, 200_000} {
			text := h.text(n)
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(h.name, " ", "-"), n), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					answer.Read(text)
				}
			})
		}
	}
}

// TestLimitsAreReported: what is beyond a limit is counted, not dropped in
// silence.
func TestLimitsAreReported(t *testing.T) {
	t.Parallel()
	list := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+",", i)
		}
		return b.String()
	}
	for _, test := range []struct{ text, want string }{
		{`<hexapla>{"housekeeping":{"keyDecisions":[` + list(201, `"d%d"`) + `]}}</hexapla>`, "keyDecisions: only the first 200 of 201 are used"},
		{`<hexapla>{"housekeeping":{"contextSummary":"` + strings.Repeat("x", 20<<10) + `"}}</hexapla>`, "contextSummary: only the first 16384 bytes are used"},
		{`<hexapla>{"contextRequests":{"summarizeTopics":[` + list(10_001, `"t%d"`) + `]}}</hexapla>`, "summarizeTopics: 1 beyond the first 10000 of an answer are not used"},
		{`<hexapla>{"contextRequests":{"retrieveConversations":[` + list(10_002, `{"query":"q%d"}`) + `]}}</hexapla>`, "retrieveConversations: 2 beyond the first 10000 of an answer are not used"},
		{`<hexapla>{"contextRequests":{"archiveConversations":["` + strings.Repeat("c", 300) + `","c1"]}}</hexapla>`, "archiveConversations: 1 longer than 256 bytes are not used"},
		{`<hexapla>{"housekeeping":{"keyDecisions":[` + list(30, `[%d]`) + `]}}</hexapla>`, "11 more problems are not listed"},
		{`<hexapla>{"housekeeping":{"contextSummary":"S","x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}</hexapla>`, "housekeeping.?"},
	} {
		a := answer.Read(test.text)
		if n := len(a.Problems); n == 0 || !strings.Contains(a.Problems[n-1].Message, test.want) {
			t.Errorf("%.60s: problems %v, want %q", test.text, a.Problems, test.want)
		}
	}
}
