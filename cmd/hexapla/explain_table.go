package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hexapla/rpc/wire"
)

// Columns of the table that explain prints; all of it fits into 100.
const (
	explainWidth = 100
	barWidth     = 12
	idWidth      = 22
)

// explainedLayers are the parts of the table in order, by what is in them.
var explainedLayers = [...]struct {
	title   string
	layer   int
	section string // "" is any
}{
	{"System", -1, "system"},
	{"Pins", -1, "pins"},
	{"Memory", -1, "memory"},
	{"Open errors", -1, "errors"},
	{"Layer 0 · current context", 0, ""},
	{"Layer 1 · active memory", 1, ""},
	{"Layer 2 · headers", 2, ""},
	{"Layer 3 · summaries", 3, ""},
	{"Layer 4 · names used before", 4, ""},
	{"Layer 5 · retrieved", 5, ""},
	{"Input", -1, "input"},
}

// explained is a line of the table: a candidate, or several that fared alike.
type explained struct {
	wire.PackCandidate
	last  string // id of the last of several
	n     int
	until int // the largest budget at which one of them comes in
}

// writeExplained prints a pack by its layers.
func writeExplained(w io.Writer, session string, r *wire.PackExplainResult, all bool) {
	counted := r.Encoding
	if r.Estimate {
		counted += ", an estimate"
	}
	t := r.Tokens
	fmt.Fprintf(w, "%s of %s tokens, session %s at sequence %s\n", thousands(int64(t.Used)), thousands(int64(t.Available)), session, thousands(r.Sequence))
	fmt.Fprintf(w, "%s %s in use · counted by %s · checksum %s\n", bar(t.Used, t.Available, t.Available), percent(ratio(float64(t.Used), float64(t.Available))), counted, short(r.Checksum))
	if line := profileLine(r.Profile); line != "" {
		fmt.Fprintln(w, cut(line, explainWidth))
	}
	fmt.Fprintf(w, "\n%s\n", row(" ", strings.Repeat(" ", barWidth), "tokens", "full", "detail", "what", "budget", "why"))
	lines := make([]explained, 0, len(r.Candidates))
	for _, c := range r.Candidates {
		if c.Reason == "unneeded" && !all {
			continue
		}
		lines = append(lines, explained{PackCandidate: c, last: c.ID, n: 1, until: c.EntersAt})
	}
	for _, part := range explainedLayers {
		var mine []explained
		in, tokens, full := 0, 0, 0
		for _, line := range lines {
			if line.Layer != part.layer || part.section != "" && line.Section != part.section {
				continue
			}
			mine = append(mine, line)
			tokens += line.Tokens
			if line.Reason != "unneeded" {
				full += line.FullTokens
			}
			if line.Detail != "none" {
				in++
			}
		}
		if len(mine) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s: %s of %s tokens, %d of %d in\n", part.title, thousands(int64(tokens)), thousands(int64(full)), in, len(mine))
		if !all {
			mine = together(mine)
		}
		most := 1
		for _, line := range mine {
			most = max(most, line.FullTokens)
		}
		for _, line := range mine {
			fmt.Fprintln(w, line.text(most))
		}
	}
}

// profileLine tells the profile that a pack was built under and why.
func profileLine(p wire.ProfileState) string {
	if p.Profile == "" {
		return "" // of a server that knows none
	}
	line := "profile " + p.Profile
	if p.LaidOut != "" && p.LaidOut != p.Profile {
		line += ", laid out by " + p.LaidOut + " until the next fold"
	}
	return line + " (" + p.Mode + "): " + p.Reason
}

// together makes one line of neighbours that fared alike, from three on.
func together(lines []explained) []explained {
	var out []explained
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && alike(lines[i], lines[end]) {
			end++
		}
		if end-i < 3 {
			out = append(out, lines[i:end]...)
			i = end
			continue
		}
		run := lines[i]
		for _, line := range lines[i+1 : end] {
			run.Tokens += line.Tokens
			run.FullTokens += line.FullTokens
			run.last = line.ID
			run.n++
			run.until = max(run.until, line.EntersAt)
			if run.EntersAt == 0 || line.EntersAt != 0 && line.EntersAt < run.EntersAt {
				run.EntersAt = line.EntersAt
			}
		}
		out = append(out, run)
		i = end
	}
	return out
}

// alike tells that two lines can be told as one.
func alike(a, b explained) bool {
	return a.Detail == b.Detail && a.FullDetail == b.FullDetail && a.Reason == b.Reason && a.ReplacedBy == b.ReplacedBy &&
		a.Section == b.Section && len(a.Scores) == 0 && len(b.Scores) == 0
}

// text is the line of at most explainWidth columns; most is the tokens of a
// full bar.
func (e explained) text(most int) string {
	id := cut(e.ID, idWidth)
	if e.n > 1 {
		n := fmt.Sprintf(" ×%d", e.n)
		id = cut(e.ID+" … "+e.last, idWidth-utf8.RuneCountInString(n)) + n
	}
	full, detail := e.FullTokens, e.Detail
	if e.Reason == "unneeded" {
		full = 0
	}
	if detail == "none" {
		detail = e.FullDetail
	}
	enters := ""
	if e.EntersAt > 0 {
		enters = thousands(int64(e.EntersAt))
	}
	if e.until > e.EntersAt {
		enters += "+"
	}
	return row(e.mark(), bar(e.Tokens, full, most), thousands(int64(e.Tokens)), thousands(int64(full)), detail, id, enters, e.why())
}

// row puts the columns of a line together.
func row(mark, bar, tokens, full, detail, id, enters, why string) string {
	line := fmt.Sprintf("%s %s %7s of %-7s %-7s %-*s %11s %s", mark, bar, tokens, full, detail, idWidth, id, enters, why)
	return cut(strings.TrimRight(line, " "), explainWidth)
}

// mark tells at a glance whether a thing is in.
func (e explained) mark() string {
	switch {
	case e.Reason == "included":
		return "●"
	case e.Reason == "unneeded":
		return "─"
	case e.Detail != "none":
		return "◐"
	}
	return "○"
}

// why tells the reason and the place-taker.
func (e explained) why() string {
	var parts []string
	if e.Reason != "included" {
		parts = append(parts, e.Reason)
	}
	if e.Repeats != "" {
		parts = append(parts, "of "+e.Repeats)
	}
	if e.ReplacedBy != "" {
		parts = append(parts, "→ "+e.ReplacedBy)
	}
	if len(e.Scores) > 0 {
		parts = append(parts, fmt.Sprintf("score %.2f", e.Scores[0].Score))
	}
	return strings.Join(parts, " ")
}

// bar draws tokens, dark, and what is missing of full, light, to the scale of
// most. What is not nothing has at least one cell.
func bar(tokens, full, most int) string {
	cells := func(n int) int {
		if n <= 0 || most <= 0 {
			return 0
		}
		return min(barWidth, max(1, n*barWidth/most))
	}
	dark := cells(tokens)
	light := max(cells(full), dark) - dark
	return strings.Repeat("█", dark) + strings.Repeat("░", light) + strings.Repeat(" ", barWidth-dark-light)
}

// cut shortens text to at most n columns.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
