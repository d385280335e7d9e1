package digest

import (
	"strings"
	"time"

	"hexapla/layers"
)

// roomyHeader is the estimate of tokens up to which a rendered header shows key
// entities. It is an estimate because rendering has no counter; TrimHeader
// counts.
const roomyHeader = layers.CapHeader - 1

// RenderHeader writes a header as one line:
//
//	c12 2026-01-12 10:04 completed · topic · summary · file.go, name
//
// Time is UTC. Key entities are shown by their last path element, and only
// those that the text does not name already.
func RenderHeader(h layers.Header) string {
	var b strings.Builder
	b.WriteString(idText(h.ID))
	if t := timeText(h.Timestamp); t != "" {
		b.WriteString(" " + t)
	}
	if h.Outcome != "" {
		b.WriteString(" " + oneLine(string(h.Outcome)))
	}
	topic, summary := oneLine(h.Topic), oneLine(h.Summary)
	if topic != "" {
		b.WriteString(" · " + topic)
	}
	if summary != "" && summary != topic {
		b.WriteString(" · " + summary)
	}
	said := b.String()
	sep := " · "
	for _, e := range h.KeyEntities {
		name := oneLine(e)
		if isFile(name, 0, true) {
			name = baseName(name)
		}
		if name == "" || strings.Contains(said, name) {
			continue
		}
		if estimate(b.String()+sep+name) > roomyHeader {
			break
		}
		b.WriteString(sep + name)
		sep = ", "
	}
	return finished(b.String())
}

// RenderSummary writes a summary as a first line with the id and up to three
// lines that begin with a space and a label:
//
//	c12: content
//	 decided: one; another
//	 changed: create a.go; modify b.go, c.go: why
//	 open: question
//
// An empty id stands for the summary's own.
func RenderSummary(s layers.Summary, id string) string {
	if id == "" {
		id = s.ConversationID
	}
	var b strings.Builder
	b.WriteString(idText(id))
	if content := oneLine(s.Content); content != "" {
		b.WriteString(": " + content)
	}
	label(&b, "\n decided: ", s.KeyDecisions)
	changes := make([]string, 0, len(s.CodeChanges))
	for _, ch := range s.CodeChanges {
		text := oneLine(ch.ChangeType)
		if len(ch.Files) > 0 {
			text += " " + strings.Join(shownPaths(ch.Files), ", ")
		}
		if sum := oneLine(ch.Summary); sum != "" {
			text += ": " + sum
		}
		changes = append(changes, strings.TrimSpace(text))
	}
	label(&b, "\n changed: ", changes)
	label(&b, "\n open: ", s.OpenQuestions)
	return finished(b.String())
}

// RenderCurrentContext writes layer 0 as labelled lines: Objective, Story,
// Done, State, Next, Files, Functions, Concepts. Empty ones are left out; when
// all are empty one line says that nothing is recorded.
func RenderCurrentContext(cc layers.CurrentContext) string {
	var b strings.Builder
	line := func(label, text string) {
		if text = oneLine(text); text != "" {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(label + text)
		}
	}
	line("Objective: ", cc.CurrentObjective)
	line("Story: ", cc.OverallNarrative)
	line("Done: ", joined(cc.KeyAchievements, "; "))
	line("State: ", cc.ContextualState)
	line("Next: ", joined(cc.NextSteps, "; "))
	line("Files: ", strings.Join(shownPaths(cc.ActiveEntities.Files), ", "))
	line("Functions: ", joined(cc.ActiveEntities.Functions, ", "))
	line("Concepts: ", joined(cc.ActiveEntities.Concepts, ", "))
	if b.Len() == 0 {
		return "Objective: none recorded yet\n"
	}
	return finished(b.String())
}

// estimate guesses the tokens of a text, rather too many than too few: a token
// for every five letters of a word, every hump in it, every three digits and
// every other character.
func estimate(s string) int {
	n, run := 0, 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := isLetter(c)
		if letter && (run == 0 || isUpper(c) && isLower(s[i-1])) {
			n++
			run = 1
			continue
		}
		switch {
		case letter:
			run++
			if run%5 == 1 {
				n++
			}
			continue
		case isDigit(c):
			if i < 1 || !isDigit(s[i-1]) || i > 2 && isDigit(s[i-1]) && isDigit(s[i-2]) && isDigit(s[i-3]) {
				n++
			}
		case c == ' ':
		case c < 0x80 || c >= 0xc0:
			n++
		}
		run = 0
	}
	return n
}

func label(b *strings.Builder, label string, list []string) {
	if text := joined(list, "; "); text != "" {
		b.WriteString(label + text)
	}
}

func joined(list []string, sep string) string {
	var out []string
	for _, s := range list {
		if s = strings.TrimRight(oneLine(s), " ;"); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, sep)
}

// shownPaths shows paths by their last two elements.
func shownPaths(files []string) []string {
	var out []string
	for _, f := range files {
		f = oneLine(f)
		if i := strings.LastIndexAny(f, `/\`); i > 0 {
			if k := strings.LastIndexAny(f[:i], `/\`); k >= 0 {
				f = f[k+1:]
			}
		}
		if f != "" {
			out = append(out, f)
		}
	}
	return out
}

// idText is an id as it may begin a rendered text.
func idText(id string) string {
	id = strings.TrimLeft(oneLine(id), " /#")
	if id == "" {
		return "conversation"
	}
	return id
}

func timeText(ms int64) string {
	if ms <= 0 || ms > 253402300799999 { // the end of year 9999
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04")
}

func finished(s string) string {
	return strings.TrimRight(s, " \n") + "\n"
}
