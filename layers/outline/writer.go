package outline

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// writer gathers the lines of an outline.
type writer struct {
	b     strings.Builder
	lines int // also those that were left out
}

// line adds a line at a depth. Runs of white space in it become one space.
func (w *writer) line(depth int, text string) {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return
	}
	if w.lines++; w.lines > MaxLines {
		return
	}
	text = strings.Repeat("  ", min(depth, 8)) + text
	if len(text) > MaxLine {
		cut := MaxLine - len("…")
		for cut > MaxLine-8 && !utf8.RuneStart(text[cut]) { // what is no UTF-8 has no start
			cut--
		}
		text = text[:cut] + "…"
	}
	w.b.WriteString(text)
	w.b.WriteByte('\n')
}

func (w *writer) text() string {
	if more := w.lines - MaxLines; more > 0 {
		fmt.Fprintf(&w.b, "… and %d more\n", more)
	}
	return w.b.String()
}

// markdown writes the headings outside of code blocks, with their marks.
func (w *writer) markdown(source string) {
	fence, before := "", ""
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, "\r\n")
		bare := strings.TrimLeft(line, " ")
		indent := len(line) - len(bare)
		mark := ""
		if indent < 4 {
			for _, c := range [...]string{"`", "~"} {
				if n := len(bare) - len(strings.TrimLeft(bare, c)); n >= 3 {
					mark = bare[:n]
				}
			}
		}
		switch {
		case fence != "":
			if mark != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(bare[len(mark):]) == "" {
				fence = ""
			}
			before = ""
			continue
		case mark != "":
			fence, before = mark, ""
			continue
		}
		if level := len(bare) - len(strings.TrimLeft(bare, "#")); indent < 4 && level >= 1 && level <= 6 && strings.HasPrefix(bare[level:]+" ", " ") {
			w.line(0, bare)
			before = ""
			continue
		}
		if before != "" && bare != "" && indent < 4 {
			switch rest := strings.TrimRight(bare, " "); {
			case strings.Trim(rest, "=") == "":
				w.line(0, "# "+before)
			case strings.Trim(rest, "-") == "":
				w.line(0, "## "+before)
			}
		}
		if before = bare; indent >= 4 || strings.Trim(bare, "=-") == "" || strings.ContainsAny(bare[:1], "-*+>|0123456789") {
			before = ""
		}
	}
}
