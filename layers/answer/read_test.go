package answer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hexapla/layers"
	"hexapla/layers/answer"
)

// mess is an answer as models write them.
type mess struct {
	name     string
	text     string
	content  string
	summary  string   // housekeeping.llm.contextSummary
	said     string   // the rest of housekeeping, as JSON of what is not empty
	asked    string   // context requests, likewise
	tools    string   // names of tool calls
	problems []string // beginnings of "part: message"
}

const house = `{"housekeeping":{"llm":{"contextSummary":"S"}}}`

var messes = []mess{
	// Where blocks stand.
	{name: "no block", text: "plain", content: "plain"},
	{name: "nothing", text: "", content: ""},
	{name: "fence", text: "A\n```hexapla\n" + house + "\n```\n", content: "A", summary: "S"},
	{name: "fence with a space", text: "A\n``` hexapla  \n" + house + "\n```", content: "A", summary: "S"},
	{name: "fence in capitals", text: "A\n```HEXAPLA\n" + house + "\n```", content: "A", summary: "S"},
	{name: "fence with json behind", text: "A\n```hexapla json\n" + house + "\n```", content: "A", summary: "S"},
	{name: "fence in one line", text: "A\n```hexapla " + house + "```", content: "A", summary: "S"},
	{name: "fence closed in the object's line", text: "A\n```hexapla\n" + house + "```\nB", content: "A\n\nB", summary: "S"},
	{name: "fence of JSON", text: "A\n```json\n" + house + "\n```\nB", content: "A\n\nB", summary: "S"},
	{name: "fence of JSON in capitals", text: "A\n```JSON\n" + house + "\n```", content: "A", summary: "S"},
	{name: "fence without a language", text: "A\n```\n" + house + "\n```", content: "A", summary: "S"},
	{name: "fence of tildes", text: "A\n~~~json\n" + house + "\n~~~", content: "A", summary: "S"},
	{name: "tildes of ours", text: "A\n~~~hexapla\n" + house + "\n~~~", content: "A", summary: "S"},
	{name: "CRLF", text: "A\r\n```hexapla\r\n" + house + "\r\n```\r\nB", content: "A\r\n\r\nB", summary: "S"},
	{name: "indented fence", text: "- A\n  ```hexapla\n  " + house + "\n  ```", content: "- A", summary: "S"},
	{name: "longer fence", text: "A\n````hexapla\n" + house + "\n````", content: "A", summary: "S"},
	{name: "fence not closed", text: "A\n```hexapla\n" + house, content: "A", summary: "S"},
	{name: "fence not closed, prose behind", text: "A\n```hexapla\n" + house + "\nB", content: "A\n\nB", summary: "S"},
	{name: "fence not closed, code behind", text: "A\n```hexapla\n" + house + "\nB\n```go\nx := 1\n```\n", content: "A\n\nB\n```go\nx := 1\n```", summary: "S"},
	{name: "fence of JSON not closed", text: "A\n```json\n" + house + "\nB", content: "A\n\nB", summary: "S"},
	{name: "code that is not closed in front", text: "A\n```go\nx := 1\n```hexapla\n" + house + "\n```", content: "A\n```go\nx := 1", summary: "S"},
	{name: "tag", text: "A\n<hexapla>" + house + "</hexapla>\nB", content: "A\n\nB", summary: "S"},
	{name: "tag in capitals", text: "A <HEXAPLA>\n" + house + "\n</Hexapla>", content: "A", summary: "S"},
	{name: "tag with attributes", text: `A <hexapla version="1" kind='x'>` + house + "</hexapla>", content: "A", summary: "S"},
	{name: "tag not closed", text: "A <hexapla>" + house, content: "A", summary: "S"},
	{name: "tag not closed, prose behind", text: "A <hexapla>" + house + "\nB", content: "A \nB", summary: "S"},
	{name: "tag with a fence in it", text: "A\n<hexapla>\n```json\n" + house + "\n```\n</hexapla>", content: "A", summary: "S"},
	{name: "tag in a fence", text: "A\n```xml\n<hexapla>" + house + "</hexapla>\n```\nB", content: "A\n\nB", summary: "S"},
	{name: "tag with CDATA", text: "<hexapla><![CDATA[" + house + "]]></hexapla>", summary: "S"},
	{name: "tags of the parts", text: "A\n<housekeeping>{\"llm\":{\"contextSummary\":\"S\"}}</housekeeping>\n<context_requests>{\"summarizeTopics\":[\"t\"]}</context_requests>", content: "A", summary: "S", asked: `{"topics":["t"]}`},
	{name: "tags inside a tag", text: "A\n<hexapla>\n<housekeeping>{\"contextSummary\":\"S\"}</housekeeping>\n<contextRequests>[{\"id\":\"c1\"}]</contextRequests>\n</hexapla>", content: "A", summary: "S", asked: `{"retrieve":[{"ids":["c1"]}]}`},
	{name: "tag of a part around the whole", text: "<housekeeping>" + house + "</housekeeping>", summary: "S"},
	{name: "bare object at the end", text: "A\n\n" + house, content: "A", summary: "S"},
	{name: "bare object in a line", text: "Housekeeping: " + house, content: "Housekeeping:", summary: "S"},
	{name: "bare object, prose behind", text: "A\n" + house + "\nB", content: "A\n\nB", summary: "S"},
	{name: "two bare objects", text: "A\n" + house + "\n{\"contextRequests\":{\"summarizeTopics\":[\"t\"]}}", content: "A", summary: "S", asked: `{"topics":["t"]}`},
	{name: "prose inside the block", text: "A\n```hexapla\nHere it is:\n" + house + "\nThat was it.\n```", content: "A\nHere it is:\n\nThat was it.", summary: "S"},
	{name: "surplus ends", text: "A\n```hexapla\n" + house + "}}\n```", content: "A", summary: "S"},
	{name: "two objects in a block", text: "```hexapla\n" + house + ",\n{\"contextRequests\":{\"summarizeTopics\":[\"t\"]}}\n```", summary: "S", asked: `{"topics":["t"]}`},
	{name: "list of objects in a block", text: "```hexapla\n[" + house + ",{\"contextRequests\":{\"summarizeTopics\":[\"t\"]}}]\n```", summary: "S", asked: `{"topics":["t"]}`},
	{name: "several blocks", text: "A\n```hexapla\n" + house + "\n```\nB\n```hexapla\n{\"housekeeping\":{\"llm\":{\"contextSummary\":\"T\",\"keyDecisions\":[\"d\"]}}}\n```", content: "A\n\nB", summary: "T", said: `{"keyDecisions":["d"]}`},
	{name: "lists of several blocks", text: "<hexapla>{\"housekeeping\":{\"llm\":{\"keyDecisions\":[\"a\",\"b\"],\"openQuestions\":[\"q\"]}}}</hexapla><hexapla>{\"housekeeping\":{\"llm\":{\"keyDecisions\":[\"b\",\"c\"],\"openQuestions\":[\"r\"]}}}</hexapla>", said: `{"keyDecisions":["a","b","c"],"openQuestions":["q","r"]}`},
	{name: "empty block", text: "A\n```hexapla\n```", content: "A"},
	{name: "empty object", text: "A\n```hexapla\n{}\n```", content: "A"},
	{name: "own call in the text", text: "A\n<tool_call>{\"name\":\"hexapla_context\",\"arguments\":{\"summarizeTopics\":[\"t\"]}}</tool_call>", content: "A", asked: `{"topics":["t"]}`},

	// The answer as a whole.
	{name: "four parts", text: `{"content":"A","toolUses":[{"id":"1","name":"read","input":{"p":1}}],"housekeeping":{"llm":{"contextSummary":"S"}},"contextRequests":{"summarizeTopics":["t"]}}`, content: "A", summary: "S", asked: `{"topics":["t"]}`, tools: "read"},
	{name: "four parts in a fence", text: "```json\n{\"content\":\"A\",\"tool_uses\":[{\"name\":\"read\"}],\"housekeeping\":{\"llm\":{\"context_summary\":\"S\"}}}\n```", content: "A", summary: "S", tools: "read"},
	{name: "content and tools alone", text: `{"content":"A","toolUses":[{"name":"read","arguments":{}}]}`, content: "A", tools: "read"},
	{name: "content with prose around", text: "B\n{\"content\":\"A\",\"housekeeping\":{\"llm\":{\"contextSummary\":\"S\"}}}", content: "B\nA", summary: "S"},
	{name: "four parts cut off", text: `{"content":"A","housekeeping":{"llm":{"contextSummary":"S","keyDecisions":["a","b`, content: "A", summary: "S", said: `{"keyDecisions":["a"]}`, problems: []string{"housekeeping: cut off at housekeeping.llm.keyDecisions[1]"}},

	// Names and kinds.
	{name: "snake case", text: `<hexapla>{"housekeeping":{"llm":{"context_summary":"S","key_decisions":["d"]},"user":{"understood_intent":"i"}},"context_requests":{"retrieve_conversations":[{"conversation_ids":["c1"]}],"archive_conversations":["c2"]}}</hexapla>`, summary: "S", said: `{"keyDecisions":["d"],"understoodIntent":"i"}`, asked: `{"retrieve":[{"ids":["c1"]}],"archive":["c2"]}`},
	{name: "no llm", text: `<hexapla>{"housekeeping":{"contextSummary":"S","responseHeader":{"topic":"t"}}}</hexapla>`, summary: "S", said: `{"topic":"t"}`},
	{name: "no housekeeping", text: `<hexapla>{"llm":{"contextSummary":"S"},"summarizeTopics":["t"]}</hexapla>`, summary: "S", asked: `{"topics":["t"]}`},
	{name: "a string for a list", text: `<hexapla>{"housekeeping":{"llm":{"keyDecisions":"d","openQuestions":"none"}}}</hexapla>`, said: `{"keyDecisions":["d"]}`},
	{name: "a list for a string", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":["S","T"]}}}</hexapla>`, summary: "S\nT"},
	{name: "objects for strings", text: `<hexapla>{"housekeeping":{"llm":{"keyDecisions":[{"decision":"d","reason":"r"}]}}}</hexapla>`, said: `{"keyDecisions":["d: r"]}`},
	{name: "one id for a list", text: `<hexapla>{"contextRequests":{"retrieveConversations":["c1",{"id":"c2","format":"Full"}]}}</hexapla>`, asked: `{"retrieve":[{"ids":["c1"]},{"ids":["c2"],"format":"full"}]}`},
	{name: "one entry for a list", text: `<hexapla>{"contextRequests":{"retrieveConversations":{"query":"q","limit":"3"}}}</hexapla>`, asked: `{"retrieve":[{"query":"q","limit":3}]}`},
	{name: "dots from the instructions", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"...","keyDecisions":["..."],"openQuestions":["q",...]}}}</hexapla>`, said: `{"openQuestions":["q"]}`},
	{name: "null members", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"S","keyDecisions":null,"currentContext":null},"user":null},"contextRequests":null}</hexapla>`, summary: "S"},
	{name: "a number for a list", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":{"a":{}},"keyDecisions":["d"]}}}</hexapla>`, said: `{"keyDecisions":["d"]}`, problems: []string{"housekeeping: contextSummary: must be a string, not an object"}},
	{name: "an unknown outcome", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"S","responseHeader":{"topic":"t","outcome":"great"}}}}</hexapla>`, summary: "S", said: `{"topic":"t"}`, problems: []string{"housekeeping: outcome: must be"}},
	{name: "an unknown format", text: `<hexapla>{"contextRequests":{"retrieveConversations":[{"ids":["c1"],"format":"brief","limit":99}]}}</hexapla>`, asked: `{"retrieve":[{"ids":["c1"],"limit":50}]}`, problems: []string{"contextRequests: retrieveConversations[0].format", "contextRequests: retrieveConversations[0].limit"}},
	{name: "housekeeping that is no object", text: `<hexapla>{"housekeeping":"done","contextRequests":{"summarizeTopics":["t"]}}</hexapla>`, asked: `{"topics":["t"]}`, problems: []string{"housekeeping: housekeeping: must be an object, not a string"}},

	// JSON that is none.
	{name: "trailing commas", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"S","keyDecisions":["d",],},},}</hexapla>`, summary: "S", said: `{"keyDecisions":["d"]}`},
	{name: "comments", text: "<hexapla>{ // mine\n\"housekeeping\":{/* x */\"llm\":{\"contextSummary\":\"S\" # y\n}}}</hexapla>", summary: "S"},
	{name: "a URL is no comment", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"see https://a.b/c // d"}}}</hexapla>`, summary: "see https://a.b/c // d"},
	{name: "single quotes", text: `<hexapla>{'housekeeping':{'llm':{'contextSummary':'it\'s S, isn't it'}}}</hexapla>`, summary: "it's S, isn't it"},
	{name: "names without quotes", text: `<hexapla>{housekeeping:{llm:{contextSummary:"S",responseHeader:{outcome:completed, topic: a b}}}}</hexapla>`, summary: "S", said: `{"topic":"a b","outcome":"completed"}`},
	{name: "smart quotes", text: `<hexapla>{“housekeeping”:{“llm”:{“contextSummary”:“S "x" y”}}}</hexapla>`, summary: `S "x" y`},
	{name: "smart quotes inside", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"the “S”"}}}</hexapla>`, summary: `the “S”`},
	{name: "Python's words", text: `<hexapla>{'housekeeping':{'llm':{'contextSummary':'S','keyDecisions':None,'openQuestions':[True,False,None]}}}</hexapla>`, summary: "S", said: `{"openQuestions":["true","false"]}`},
	{name: "NaN", text: `<hexapla>{"contextRequests":{"retrieveConversations":[{"ids":["c1"],"limit":NaN}]}}</hexapla>`, asked: `{"retrieve":[{"ids":["c1"]}]}`},
	{name: "numbers of JSON5", text: `<hexapla>{"contextRequests":{"retrieveConversations":[{"query":"q","limit":+5.}]}}</hexapla>`, asked: `{"retrieve":[{"query":"q","limit":5}]}`},
	{name: "names that come twice", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"R","contextSummary":"S","keyDecisions":["a"],"keyDecisions":["b"]}}}</hexapla>`, summary: "S", said: `{"keyDecisions":["a","b"]}`},
	{name: "lines in strings", text: "<hexapla>{\"housekeeping\":{\"llm\":{\"contextSummary\":\"S\n\tT\"}}}</hexapla>", summary: "S\n\tT"},
	{name: "a fence in a string", text: "```hexapla\n{\"housekeeping\":{\"llm\":{\"contextSummary\":\"S\n```\nT\n```\n\"}}}\n```\nB", content: "B", summary: "S\n```\nT\n```\n"},
	{name: "quotes in strings", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"he said "hi", then left","keyDecisions":["use "x" here"]}}}</hexapla>`, summary: `he said "hi", then left`, said: `{"keyDecisions":["use \"x\" here"]}`},
	{name: "a path of Windows", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"C:\Users\x"}}}</hexapla>`, summary: `C:\Users\x`},
	{name: "missing commas", text: "<hexapla>{\"housekeeping\":{\"llm\":{\"contextSummary\":\"S\"\n\"keyDecisions\":[\"a\" \"b\"]}}}</hexapla>", summary: "S", said: `{"keyDecisions":["a","b"]}`},
	{name: "missing ends", text: "<hexapla>{\"housekeeping\":{\"llm\":{\"contextSummary\":\"S\",\"keyDecisions\":[\"a\"}</hexapla>", summary: "S", said: `{"keyDecisions":["a"]}`, problems: []string{"housekeeping: cut off at housekeeping"}},
	{name: "a list that an object's end closes", text: `<hexapla>{"housekeeping":{"llm":{"keyDecisions":["a"}},"contextRequests":{"summarizeTopics":["t"}}</hexapla>`, said: `{"keyDecisions":["a"]}`, asked: `{"topics":["t"]}`},
	{name: "a member without a value", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":,"keyDecisions":["a"]}}}</hexapla>`, said: `{"keyDecisions":["a"]}`, problems: []string{"housekeeping: housekeeping.llm.contextSummary: has no value"}},
	{name: "nested too deep", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"S",x:` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}}</hexapla>`, summary: "S", problems: []string{"housekeeping: housekeeping.llm.?"}},
	{name: "cut off in a string", text: "A\n```hexapla\n{\"housekeeping\":{\"llm\":{\"keyDecisions\":[\"a\"],\"contextSummary\":\"S", content: "A", said: `{"keyDecisions":["a"]}`, problems: []string{"housekeeping: cut off at housekeeping.llm.contextSummary"}},
	{name: "cut off in a number", text: `<hexapla>{"contextRequests":{"retrieveConversations":[{"query":"q","limit":1`, asked: `{"retrieve":[{"query":"q"}]}`, problems: []string{"contextRequests: cut off at contextRequests.retrieveConversations[0].limit"}},
	{name: "cut off in a name", text: `<hexapla>{"housekeeping":{"llm":{"contextSummary":"S","keyDec`, summary: "S", problems: []string{"housekeeping: cut off at housekeeping.llm"}},
	{name: "cut off at once", text: "A\n```hexapla\n{\"house", content: "A", problems: []string{"housekeeping: cut off at its beginning"}},
	{name: "an unquoted id", text: `<hexapla>{contextRequests:{retrieveConversations:[{ids:[c12#3]}]}}</hexapla>`, asked: `{"retrieve":[{"ids":["c12#3"]}]}`},

	// What is not for us stays as it is.
	{name: "JSON in the answer", text: "So:\n```json\n{\"name\": \"x\", \"content\": \"y\",}\n```\nand {\"a\": 1}", content: "So:\n```json\n{\"name\": \"x\", \"content\": \"y\",}\n```\nand {\"a\": 1}"},
	{name: "another housekeeping", text: "```json\n{\"housekeeping\": {\"rooms\": [101, 102]}}\n```", content: "```json\n{\"housekeeping\": {\"rooms\": [101, 102]}}\n```"},
	{name: "a tag of somebody else", text: "<housekeeping>{\"rooms\": 4}</housekeeping>", content: "<housekeeping>{\"rooms\": 4}</housekeeping>", problems: []string{"housekeeping: a marked block"}},
	{name: "tags spoken of", text: "Put it into `<hexapla>` … `</hexapla>` or <housekeeping> tags.", content: "Put it into `<hexapla>` … `</hexapla>` or <housekeeping> tags."},
	{name: "a block in code", text: "```go\ns := `<hexapla>" + house + "</hexapla>`\n```", content: "```go\ns := `<hexapla>" + house + "</hexapla>`\n```"},
	{name: "a block in a longer fence", text: "````markdown\n```hexapla\n" + house + "\n```\n````", content: "````markdown\n```hexapla\n" + house + "\n```\n````"},
	{name: "a block of prose", text: "A\n```hexapla\nnothing new\n```", content: "A\n```hexapla\nnothing new\n```", problems: []string{"housekeeping: a marked block"}},
	{name: "an object with more in it", text: "```json\n{\"answer\": \"A\", \"housekeeping\":{\"llm\":{\"contextSummary\":\"S\"}}}\n```", content: "```json\n{\"answer\": \"A\", \"housekeeping\":{\"llm\":{\"contextSummary\":\"S\"}}}\n```", summary: "S"},
	{name: "braces", text: "{{{ }}} {", content: "{{{ }}} {"},
	{name: "a Go struct", text: "type housekeeping struct {\n\tllm int\n}", content: "type housekeeping struct {\n\tllm int\n}"},
}

func TestMesses(t *testing.T) {
	t.Parallel()
	if len(messes) < 60 {
		t.Errorf("%d cases", len(messes))
	}
	for _, m := range messes {
		a := answer.Read(m.text)
		if a.Content != m.content {
			t.Errorf("%s: content %q, want %q", m.name, a.Content, m.content)
		}
		h := a.Housekeeping
		if h == nil {
			h = &layers.Housekeeping{}
		}
		if h.LLM.ContextSummary != m.summary {
			t.Errorf("%s: summary %q, want %q", m.name, h.LLM.ContextSummary, m.summary)
		}
		compare(t, m.name+": said", said(h), m.said)
		asked := map[string]any{}
		if a.Requests != nil {
			flatten(t, a.Requests, asked)
		}
		compare(t, m.name+": asked", asked, m.asked)
		var tools []string
		for _, call := range a.ToolUses {
			tools = append(tools, call.Name)
		}
		if strings.Join(tools, " ") != m.tools {
			t.Errorf("%s: tools %q, want %q", m.name, tools, m.tools)
		}
		ok := len(a.Problems) == len(m.problems)
		for i := range m.problems {
			ok = ok && strings.HasPrefix(a.Problems[i].Part+": "+a.Problems[i].Message, m.problems[i])
		}
		if !ok {
			t.Errorf("%s: problems %q, want %q", m.name, a.Problems, m.problems)
		}
	}
}

// said is what housekeeping says, without the summary, in one level.
func said(h *layers.Housekeeping) map[string]any {
	out := map[string]any{}
	for name, text := range map[string]string{
		"topic": h.LLM.ResponseHeader.Topic, "outcome": string(h.LLM.ResponseHeader.Outcome), "understoodIntent": h.User.UnderstoodIntent,
	} {
		if text != "" {
			out[name] = text
		}
	}
	for name, list := range map[string][]string{"keyDecisions": h.LLM.KeyDecisions, "openQuestions": h.LLM.OpenQuestions} {
		if len(list) > 0 {
			var items []any
			for _, item := range list {
				items = append(items, item)
			}
			out[name] = items
		}
	}
	return out
}

// flatten is a value as JSON without what is empty.
func flatten(t *testing.T, v any, into map[string]any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &into); err != nil {
		t.Fatal(err)
	}
	prune(into)
}

func prune(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if prune(member); member == nil || member == "" || member == 0.0 {
				delete(v, name)
			}
		}
	case []any:
		for _, item := range v {
			prune(item)
		}
	}
}

func compare(t *testing.T, what string, got map[string]any, want string) {
	t.Helper()
	expected := map[string]any{}
	if want != "" {
		if err := json.Unmarshal([]byte(want), &expected); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}
