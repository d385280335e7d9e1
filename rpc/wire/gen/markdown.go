package gen

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hexapla/rpc/wire"
)

// Marks of a region of protocol.md. What stands between them is generated.
const (
	beginMark = "<!-- begin generated: "
	endMark   = "<!-- end generated -->"
	markTail  = " -->"
)

// document is protocol.md being filled.
type document struct {
	src      *source
	methods  []wire.Method
	examples []Example
	shown    map[string]int // how often each type, message and example is shown
}

// fill replaces the regions of a document.
func (d *document) fill(text string) (string, error) {
	d.shown = map[string]int{}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, beginMark)
		out.WriteString(before)
		if !found {
			break
		}
		command, rest, ok := strings.Cut(rest, markTail)
		_, after, closed := strings.Cut(rest, endMark)
		if !ok || !closed {
			return "", fmt.Errorf("protocol.md: the region %q has no end", command)
		}
		body, err := d.region(strings.Fields(command))
		if err != nil {
			return "", fmt.Errorf("protocol.md: region %q: %w", command, err)
		}
		out.WriteString(beginMark + command + markTail + "\n\n" + strings.TrimSpace(body) + "\n\n" + endMark)
		text = after
	}
	return out.String(), d.complete()
}

// region writes one region:
//
//	methods, events, errors    tables
//	types NAME...              the types as TypeScript
//	message METHOD NAME...     a message with its types and those it alone uses
//	example NAME...            examples
func (d *document) region(words []string) (string, error) {
	if len(words) == 0 {
		return "", fmt.Errorf("has no name")
	}
	switch words[0] {
	case "methods", "events", "errors":
		d.shown["the table of "+words[0]]++
	}
	switch words[0] {
	case "methods":
		return d.table(wire.ClientToServer), nil
	case "events":
		return d.table(wire.ServerToClient), nil
	case "errors":
		return d.errors(), nil
	case "types":
		return d.types(words[1:])
	case "message":
		if len(words) > 1 {
			return d.message(words[1], words[2:])
		}
	case "example":
		var b strings.Builder
		for _, name := range words[1:] {
			if err := d.example(&b, name); err != nil {
				return "", err
			}
		}
		return b.String(), nil
	}
	return "", fmt.Errorf("is not known")
}

// complete checks that everything is shown once.
func (d *document) complete() error {
	want := []string{"the table of methods", "the table of events", "the table of errors"}
	for _, st := range d.src.structs {
		want = append(want, st.name)
	}
	for _, one := range d.src.used() {
		want = append(want, one.name)
	}
	for _, m := range d.methods {
		want = append(want, m.Name)
	}
	for _, ex := range d.examples {
		want = append(want, ex.Name())
	}
	for _, name := range want {
		if n := d.shown[name]; n != 1 {
			return fmt.Errorf("protocol.md: %s is shown %d times instead of once", name, n)
		}
	}
	return nil
}

func (d *document) table(direction wire.Direction) string {
	var b strings.Builder
	b.WriteString("| method | class | since | what it does |\n|---|---|---|---|\n")
	for _, m := range d.methods {
		if m.Direction == direction {
			fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", m.Name, Anchor(m.Name), m.Class, m.Since, m.Doc)
		}
	}
	return b.String()
}

func (d *document) errors() string {
	var b strings.Builder
	b.WriteString("| kind | code | retry | when |\n|---|---|---|---|\n")
	for _, row := range wire.Kinds() {
		retry := "no"
		if row.Retryable {
			retry = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", row.Kind, row.Code, retry, row.When)
	}
	return b.String()
}

func (d *document) types(names []string) (string, error) {
	var b strings.Builder
	b.WriteString("```typescript\n")
	for i, name := range names {
		if i > 0 {
			b.WriteString("\n")
		}
		d.shown[name]++
		if st, ok := d.src.structure(name); ok {
			tsInterface(&b, st)
		} else if one, ok := d.src.set(name); ok {
			tsSet(&b, one)
		} else {
			return "", fmt.Errorf("no type %s", name)
		}
	}
	b.WriteString("```\n")
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "export interface", "interface"), "export type", "type"), nil
}

// message writes the head of a message's chapter.
func (d *document) message(name string, extra []string) (string, error) {
	at := slices.IndexFunc(d.methods, func(m wire.Method) bool { return m.Name == name })
	if at < 0 {
		return "", fmt.Errorf("no such message")
	}
	m := d.methods[at]
	d.shown[name]++
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s\n\n", m.Name, m.Doc)
	fmt.Fprintf(&b, "- method: `%s`\n- direction: %s\n- class: %s\n- since: %s\n", m.Name, arrow(m.Direction), m.Class, m.Since)
	params := m.Params.Name()
	types := []string{params}
	if m.Result == nil {
		fmt.Fprintf(&b, "- params: `%s`\n", params)
	} else {
		types = append(types, m.Result.Name())
		fmt.Fprintf(&b, "- params: `%s`\n- result: `%s`\n- errors: %s\n", params, m.Result.Name(), kindsText(m.Errors))
	}
	block, err := d.types(append(types, extra...))
	b.WriteString("\n" + block)
	return b.String(), err
}

func arrow(direction wire.Direction) string {
	if direction == wire.ServerToClient {
		return "server → client"
	}
	return "client → server"
}

func kindsText(kinds []wire.Kind) string {
	if len(kinds) == 0 {
		return "only those of any request"
	}
	var names []string
	for _, k := range kinds {
		names = append(names, "`"+string(k)+"`")
	}
	return strings.Join(names, ", ") + ", and those of any request"
}

// longExample is how many lines of an example are shown without a click.
const longExample = 60

func (d *document) example(b *strings.Builder, name string) error {
	at := slices.IndexFunc(d.examples, func(ex Example) bool { return ex.Name() == name })
	if at < 0 {
		return fmt.Errorf("no such example")
	}
	d.shown[name]++
	ex := d.examples[at]
	put := func(label string, json []byte) {
		json = FormatJSON(json)
		// A fence that the text cannot end.
		fence := "```"
		for strings.Contains(string(json), fence) {
			fence += "`"
		}
		text := fence + "json\n" + string(json) + "\n" + fence
		if lines := strings.Count(text, "\n"); lines > longExample {
			fmt.Fprintf(b, "<details><summary>%s (%d lines)</summary>\n\n%s\n\n</details>\n\n", label, lines-1, text)
			return
		}
		fmt.Fprintf(b, "%s:\n\n%s\n\n", label, text)
	}
	fmt.Fprintf(b, "*%s* ([`%s`](%s))\n\n", ex.Title, strings.TrimPrefix(ex.Path, ExamplesFolder+"/"), ex.Path)
	if ex.Params != nil {
		put("params", ex.Params)
	}
	if ex.Result != nil {
		put("result", ex.Result)
	}
	if ex.Error != nil {
		raw, err := marshal(ex.Error)
		if err != nil {
			return err
		}
		put("error", raw)
	}
	return nil
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9_ -]`)

// Anchor is the id that Markdown renderers give a heading.
func Anchor(heading string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
