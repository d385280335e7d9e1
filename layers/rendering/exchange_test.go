package rendering_test

import (
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/rendering"
)

// story makes a pack of an answer and an input, with layer 0 in front.
func story(answer layers.Item, between, input []layers.Item) *layers.Pack {
	section := func(name string, items ...layers.Item) layers.Section {
		s := layers.Section{Name: name, Items: items}
		for _, item := range items {
			s.Text += item.Form.Text
			s.Tokens += item.Form.Tokens
		}
		return s
	}
	p := &layers.Pack{Sections: []layers.Section{
		section(layers.SectionCurrentContext, layers.Item{ID: "currentContext", Form: form(layers.FormFull, "# Current context\n")}),
		section(layers.SectionActiveMemory, layers.Item{ID: "c7#1", Form: form(layers.FormFull, "### c7#1 user\nplease\n")}, answer),
	}}
	if between != nil {
		p.Sections = append(p.Sections, section(layers.SectionRetrieved, between...))
	}
	p.Sections = append(p.Sections, section(layers.SectionInput, input...))
	for i, s := range p.Sections {
		p.Text += s.Text
		if s.Name == layers.SectionInput {
			p.Input += s.Tokens
			continue
		}
		p.Context += s.Tokens
		if i == len(p.Sections)-2 {
			p.Breakpoints = []layers.Breakpoint{{Bytes: len(p.Sections[0].Text), TTL: layers.TTLWindow}, {Bytes: len(p.Text), TTL: layers.TTLStream}}
		}
	}
	return p
}

func answerOf(calls ...layers.ToolCall) layers.Item {
	text := "### c7#2 assistant\nI look.\n"
	for _, c := range calls {
		text += c.Line()
	}
	return layers.Item{ID: "c7#2", Form: form(layers.FormFull, text), Answer: true, Calls: calls}
}

func resultOf(id, call string) layers.Item {
	return layers.Item{ID: id, Form: form(layers.FormFull, "### "+id+" tool\nit says "+call+"\n"), Result: &layers.CallResult{CallID: call}}
}

func plainItem(id string) layers.Item {
	return layers.Item{ID: id, Form: form(layers.FormFull, "### "+id+"\n")}
}

// shape tells who says what, in short.
func shape(all []message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(m.role + ":")
		for _, r := range m.results {
			b.WriteString(" =" + r.id)
		}
		for range m.texts {
			b.WriteString(" .")
		}
		for _, c := range m.calls {
			b.WriteString(" " + c.id)
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// TestExchange shows when calls and results are given in the provider's shape.
func TestExchange(t *testing.T) {
	t.Parallel()
	read := layers.ToolCall{ID: "a", Name: "Read", Input: `{"file": "a.go"}`}
	list := layers.ToolCall{ID: "b", Name: "List"}
	with := func(c layers.ToolCall, change func(*layers.ToolCall)) layers.ToolCall { change(&c); return c }
	cut := answerOf(read)
	cut.Form = form(layers.FormFull, "### c7#2 assistant\ncall Read {\"fi..\n")
	failed := resultOf("c7#3", "a")
	failed.Result.Failed = true
	all := []layers.Item{resultOf("c7#3/1", "b"), resultOf("c7#3/2", "a")}
	const text = "user: . . . ."
	for _, test := range []struct {
		name           string
		answer         layers.Item
		between, input []layers.Item
		want           string
	}{
		{"one call", answerOf(read), nil, []layers.Item{failed}, "user: . .; assistant: . a; user: =a"},
		{"two calls, results in another order", answerOf(read, list), nil, all, "user: . .; assistant: . a b; user: =a =b"},
		{"more behind it", answerOf(read), nil, []layers.Item{failed, plainItem("c7#4")}, "user: . .; assistant: . a; user: =a ."},
		{"something between", answerOf(read), []layers.Item{plainItem("served:9")}, []layers.Item{failed}, "user: . . .; assistant: . a; user: =a"},
		{"a result without id", answerOf(read, list), nil, []layers.Item{resultOf("c7#3", "b"), resultOf("c7#4", "")}, "user: . .; assistant: . a b; user: =a =b"},
		{"two without id", answerOf(read), nil, []layers.Item{resultOf("c7#3", ""), resultOf("c7#4", "")}, text + " ."},
		{"one of two results", answerOf(read, list), nil, []layers.Item{failed}, text},
		{"a result of another call", answerOf(read), nil, []layers.Item{resultOf("c7#3", "z")}, text},
		{"another conversation", answerOf(read), nil, []layers.Item{resultOf("c8#1", "a")}, text},
		{"another conversation, without id", answerOf(read), nil, []layers.Item{resultOf("c8#1", "")}, text},
		{"no result", answerOf(read), nil, []layers.Item{plainItem("c7#3")}, text},
		{"no calls", answerOf(), nil, []layers.Item{failed}, text},
		{"a call that is cut", cut, nil, []layers.Item{failed}, text},
		{"arguments that are no object", answerOf(with(read, func(c *layers.ToolCall) { c.Input = "[1]" })), nil, []layers.Item{failed}, text},
		{"a number that a double cannot hold", answerOf(with(read, func(c *layers.ToolCall) { c.Input = `{"n":12345678901234567890}` })), nil, []layers.Item{failed}, text},
		{"a long number in a string", answerOf(with(read, func(c *layers.ToolCall) { c.Input = `{"n":"\"12345678901234567890"}` })), nil, []layers.Item{failed}, "user: . .; assistant: . a; user: =a"},
		{"a name that providers refuse", answerOf(with(read, func(c *layers.ToolCall) { c.Name = "Read file" })), nil, []layers.Item{failed}, text},
		{"ids that providers refuse", answerOf(with(read, func(c *layers.ToolCall) { c.ID = "a b" })), nil, []layers.Item{resultOf("c7#3", "a b")}, "user: . .; assistant: . call_c7_2_1; user: =call_c7_2_1"},
		{"one id twice", answerOf(read, with(list, func(c *layers.ToolCall) { c.ID = "a" })), nil, []layers.Item{failed, resultOf("c7#4", "a")}, "user: . .; assistant: . call_c7_2_1 call_c7_2_2; user: =call_c7_2_1 =call_c7_2_2"},
	} {
		p := story(test.answer, test.between, test.input)
		for _, format := range []rendering.Format{rendering.AnthropicMessages, rendering.GeminiContents} {
			r, err := rendering.Render(p, format)
			if err != nil {
				t.Fatal(err)
			}
			got := messages(t, r)
			checkRoles(t, format, got)
			if s := shape(got); s != test.want {
				t.Errorf("%s, %s: %s, want %s", test.name, format, s, test.want)
			}
			kept := strings.Count(string(r.Body), `"cache_control":{`)
			if want := 2; format == rendering.AnthropicMessages && kept != want {
				t.Errorf("%s: %d cache breakpoints, want %d", test.name, kept, want)
			}
		}
	}
}

// TestFramingTokens counts the messages of OpenAI's chat, the one provider that
// has published a rule.
func TestFramingTokens(t *testing.T) {
	t.Parallel()
	p := story(answerOf(layers.ToolCall{ID: "a", Name: "Read"}), nil, []layers.Item{resultOf("c7#3", "a"), plainItem("c7#4")})
	for _, format := range rendering.Formats() {
		r, err := rendering.Render(p, format)
		if err != nil {
			t.Fatal(err)
		}
		want, framing := 0, rendering.FramingUnknown
		switch format {
		case rendering.OpenAIChat: // user, assistant, tool, user
			want, framing = 4*4+3, rendering.FramingPublished
		case rendering.Text:
			framing = rendering.FramingNone
		}
		if r.FramingTokens != want || r.Framing != framing {
			t.Errorf("%s: %d framing tokens, %s; want %d, %s", format, r.FramingTokens, r.Framing, want, framing)
		}
	}
}
