package digest

import (
	"fmt"
	"strings"
)

func (e *examination) readSummary() string {
	var b strings.Builder
	b.WriteString("read " + e.target())
	if e.data != "" {
		return b.String() + ", " + e.data
	}
	first, last, numbered := numberedRange(e.out.text)
	switch {
	case e.out.lines == 0:
		b.WriteString(", empty")
	case between(cutAtRune(e.out.text, 400), " (", " lines total)") != "": // SWE-agent
		b.WriteString(", " + between(cutAtRune(e.out.text, 400), " (", " lines total)") + " lines")
	case numbered && (first != "1" || e.call.part):
		fmt.Fprintf(&b, " lines %s–%s", first, last)
	default:
		fmt.Fprintf(&b, ", %d %s", e.out.lines, plural(e.out.lines, "line"))
	}
	if names := definedIn(e.out.text, 40); len(names) > 0 {
		more := ""
		if len(names) > 6 {
			names, more = names[:6], ", …"
		}
		b.WriteString(", defines " + strings.Join(names, ", ") + more)
	}
	return b.String()
}

// numberedRange returns the first and last line number that a reading tool
// printed.
func numberedRange(text string) (first, last string, ok bool) {
	for _, line := range strings.SplitN(cutAtRune(text, 2000), "\n", 4) {
		if t := strings.TrimLeft(line, " "); first == "" {
			if _, ok := cutLineNumber(t); ok {
				first = t[:digits(t)]
			}
		}
	}
	if first == "" {
		return "", "", false
	}
	last = first
	tail := text[max(0, len(text)-4000):]
	for _, line := range strings.Split(tail, "\n") {
		t := strings.TrimLeft(line, " ")
		if _, ok := cutLineNumber(t); ok {
			last = t[:digits(t)]
		}
	}
	return first, last, true
}

func (e *examination) editSummary() string {
	k := e.call
	switch {
	case k.change == "delete" || k.kind == kindDelete:
		return "deleted " + e.target()
	case k.kind == kindWrite:
		verb := "wrote "
		if k.created || saysCreated(e.out.text) {
			verb = "created "
		}
		s := verb + e.target()
		if n := countLines(k.text); n > 0 {
			s += fmt.Sprintf(", %d %s", n, plural(n, "line"))
		}
		return s + defines(k.text)
	}
	s := "edited " + e.target()
	if k.change == "create" {
		s = "created " + e.target()
	}
	before, after := countLines(strings.Trim(k.old, "\n")), countLines(strings.Trim(k.text, "\n"))
	switch {
	case before == 0 && after > 0 && k.change == "create":
		s += fmt.Sprintf(", %d %s", after, plural(after, "line"))
	case before == 0 && after > 0:
		s += fmt.Sprintf(": %d new %s", after, plural(after, "line"))
	case before+after > 0:
		s += fmt.Sprintf(": %d %s → %d %s", before, plural(before, "line"), after, plural(after, "line"))
	}
	if d := defines(k.text); d != "" {
		return s + d
	}
	if names := newNames(k.old, k.text); len(names) > 0 {
		return s + ", brings in " + strings.Join(names, ", ")
	}
	return s
}

func saysCreated(text string) bool {
	return strings.Contains(cutAtRune(text, 200), "created")
}

func defines(text string) string {
	names := definedIn(text, 40)
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > 6 {
		names, more = names[:6], ", …"
	}
	return ", defines " + strings.Join(names, ", ") + more
}

// newNames returns identifiers that stand in the new text and not in the old.
func newNames(old, text string) []string {
	was := EntitiesOf(old)
	g := gathering{max: 1 << 10}
	for _, f := range was.Functions {
		g.add(f)
	}
	var out []string
	for _, f := range EntitiesOf(text).Functions {
		if !g.has(f) && len(out) < 4 {
			out = append(out, f)
		}
	}
	return out
}

func (e *examination) webSummary() string {
	s := e.action()
	if n := strings.Count(e.out.text, `"url":`); n > 0 {
		return s + fmt.Sprintf(": %d %s", n, plural(n, "result")) + titles(e.out.text)
	}
	if e.data != "" {
		return s + ": " + e.data
	}
	return s + ": " + sizeOf(e.out.size) + gist(e.out.text)
}

// titles returns the first titles of a list of search results.
func titles(text string) string {
	var out []string
	for len(out) < 3 {
		_, after, ok := strings.Cut(text, `"title":`)
		if !ok {
			break
		}
		i := skipSpace(after, 0)
		end := endOfValue(after, i)
		if end < 0 {
			break
		}
		out = append(out, cutWords(oneLine(decodeString(after[i:end])), 60))
		text = after[end:]
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, "; ")
}

// gist is the first telling sentence of a prose output.
func gist(text string) string {
	for _, s := range sentences(cutAtRune(text, 4000)) {
		if s.heading || s.lead || announcement(s.text) && len(s.text) < 60 || len(s.text) < 12 {
			continue
		}
		return ": " + cutWords(s.text, 200)
	}
	return ""
}

func (e *examination) talkSummary(what, text string) string {
	s := what
	if e.call.pattern != "" {
		s += " " + quoted(oneLine(cutAtRune(e.call.pattern, 400)), 60)
	}
	if strings.Contains(text, "Async agent launched") {
		return s + " launched"
	}
	if status := between(text, "<status>", "</status>"); status != "" {
		s += " " + status
		if _, body, ok := strings.Cut(text, "<output>"); ok {
			text = body
		} else {
			return s
		}
		if strings.Contains(text, "[Tool: ") {
			return s + fmt.Sprintf(", %d lines of log", countLines(text))
		}
	}
	return s + gist(text)
}

func between(s, open, closing string) string {
	_, after, ok := strings.Cut(s, open)
	if !ok {
		return ""
	}
	body, _, ok := strings.Cut(after, closing)
	if !ok || len(body) > 40 {
		return ""
	}
	return strings.TrimSpace(body)
}

func todoSummary(k call) string {
	if len(k.todos) == 0 {
		return "todo list updated"
	}
	done, now, next := 0, "", ""
	for _, t := range k.todos {
		switch {
		case t.status == "completed":
			done++
		case t.status == "in_progress" && now == "":
			now = t.text
		case t.status == "pending" && next == "":
			next = t.text
		}
	}
	s := fmt.Sprintf("todo list: %d of %d done", done, len(k.todos))
	if now != "" {
		s += "; now: " + cutWords(now, 90)
	}
	if next != "" {
		s += "; next: " + cutWords(next, 90)
	}
	return s
}

func (e *examination) askSummary() string {
	s := "asked the user"
	if e.call.pattern != "" {
		s += " " + quoted(oneLine(cutAtRune(e.call.pattern, 400)), 90)
	}
	if _, after, ok := strings.Cut(e.out.text, `"="`); ok {
		answer, _, _ := strings.Cut(after, `"`)
		return s + ", answer " + quoted(oneLine(answer), 100)
	}
	return s
}

func (e *examination) otherSummary() string {
	s := e.action()
	switch {
	case e.data != "":
		return s + ": " + e.data
	case strings.TrimSpace(e.out.text) == "":
		return s + ": no output"
	case e.out.lines <= 2 && e.out.size <= 120:
		return s + ": " + oneLine(e.out.text)
	}
	return s + fmt.Sprintf(": %d %s", e.out.lines, plural(e.out.lines, "line")) + gist(e.out.text)
}
