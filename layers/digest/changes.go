package digest

import (
	"fmt"
	"strconv"
	"strings"
)

// Changed is what one text has that another one has not.
type Changed struct {
	// New is the lines that the other one lacks, in order. Before each run of
	// them stands a line "@12" with the number of its first.
	New   string
	Lines int // lines with something in them
	Same  int // of these, those that the other one has
	// Gone is the lines of the other one that are no longer there, in order.
	Gone string
}

// Changes compares the lines of two texts, each as often as it occurs, and
// whatever their order: a line that has moved is not new. White space at a
// line's ends and numbers that a tool put in front of lines do not count.
func Changes(before, now string) Changed {
	old := bareLines(before)
	times := map[string]int{}
	for _, line := range old {
		if line.bare != "" {
			times[line.bare]++
		}
	}
	var c Changed
	var added strings.Builder
	run := false
	for i, line := range bareLines(now) {
		if line.bare == "" {
			continue
		}
		c.Lines++
		if times[line.bare] > 0 {
			times[line.bare]--
			c.Same++
			run = false
			continue
		}
		if !run {
			fmt.Fprintf(&added, "@%d\n", i+1)
			run = true
		}
		added.WriteString(line.text + "\n")
	}
	var gone strings.Builder
	for i := len(old) - 1; i >= 0; i-- { // the last ones are those too many
		if line := &old[i]; line.bare != "" && times[line.bare] > 0 {
			times[line.bare]--
			continue
		}
		old[i].bare = ""
	}
	for _, line := range old {
		if line.bare != "" {
			gone.WriteString(line.text + "\n")
		}
	}
	c.New, c.Gone = added.String(), gone.String()
	return c
}

// numberedLine is a line, and what is left of it without a number in front.
type numberedLine struct {
	text, bare string
	number     int // in front; -1 if there is none
	rest       string
}

// bareLines takes numbers off the front of lines that count up with a
// neighbour: "  12→text", "12\ttext", "12|text", "12: text".
func bareLines(text string) []numberedLine {
	var lines []numberedLine
	for line := range strings.Lines(text) {
		lines = append(lines, readNumber(strings.TrimRight(line, "\r\n")))
	}
	for i := range lines {
		line := &lines[i]
		up := i > 0 && lines[i-1].number == line.number-1
		down := i+1 < len(lines) && lines[i+1].number == line.number+1
		if line.number >= 0 && (up || down) {
			line.bare = strings.TrimSpace(line.rest)
		}
	}
	return lines
}

func readNumber(text string) numberedLine {
	line := numberedLine{text: text, bare: strings.TrimSpace(text), number: -1}
	rest := strings.TrimLeft(line.bare, "0123456789")
	digits := line.bare[:len(line.bare)-len(rest)]
	if digits == "" || len(digits) > 9 {
		return line
	}
	for _, mark := range [...]string{"→", "\t", "|", ":"} {
		if after, ok := strings.CutPrefix(rest, mark); ok {
			line.rest = after
			line.number, _ = strconv.Atoi(digits)
			return line
		}
	}
	return line
}
