package outline

import (
	"strings"

	"hexapla/layers/minify"
)

// python writes classes and functions, with decorators; not functions in
// functions.
func (w *writer) python(tokens []minify.Token) {
	type level struct {
		indent   int
		function bool
	}
	var open []level
	for at := 0; at < len(tokens); {
		indent := 0
		for at < len(tokens) && tokens[at].Kind == minify.TokenBlank {
			indent += len(tokens[at].Text)
			at++
		}
		line, next := logicalLine(tokens, at)
		first, second := words(tokens[at:next])
		at = next
		if first == "" {
			continue
		}
		for len(open) > 0 && indent <= open[len(open)-1].indent {
			open = open[:len(open)-1]
		}
		hidden := false
		for _, l := range open {
			hidden = hidden || l.function
		}
		function := first == "def" || first == "async" && second == "def"
		switch {
		case hidden:
		case function || first == "class":
			w.line(len(open), line)
			open = append(open, level{indent, function})
		case first == "@":
			w.line(len(open), line)
		}
	}
}

// logicalLine is what stands in one line of Python, brackets closed, to the colon
// of its block, and where the next line begins.
func logicalLine(tokens []minify.Token, at int) (line string, next int) {
	var b strings.Builder
	opened, done := 0, false
	for ; at < len(tokens); at++ {
		t := tokens[at]
		switch {
		case t.Kind == minify.TokenNewline && opened == 0:
			return b.String(), at + 1
		case t.Kind != minify.TokenCode:
			t.Text = " "
		case t.Text == "(" || t.Text == "[" || t.Text == "{":
			opened++
		case t.Text == ")" || t.Text == "]" || t.Text == "}":
			opened--
		case t.Text == ":" && opened == 0:
			done = true
		}
		if !done {
			b.WriteString(t.Text)
		}
	}
	return b.String(), at
}

// words are the first two tokens of code.
func words(tokens []minify.Token) (first, second string) {
	for _, t := range tokens {
		if t.Kind == minify.TokenCode {
			if first != "" {
				return first, t.Text
			}
			first = t.Text
		}
	}
	return first, ""
}

// lua writes the functions of the file's own block.
func (w *writer) lua(tokens []minify.Token) {
	depth, begin := 0, 0 // begin of the line
	for at := 0; at < len(tokens); at++ {
		t := tokens[at]
		if t.Kind == minify.TokenNewline {
			begin = at + 1
		}
		if t.Kind != minify.TokenCode {
			continue
		}
		switch t.Text {
		case "function":
			if depth == 0 {
				end := at
				for end < len(tokens) && tokens[end].Text != ")" {
					end++
				}
				var b strings.Builder
				for _, part := range tokens[begin:min(end+1, len(tokens))] {
					if part.Kind == minify.TokenCode {
						b.WriteString(part.Text)
					} else {
						b.WriteByte(' ')
					}
				}
				w.line(0, b.String())
			}
			depth++
		case "do", "if", "repeat":
			depth++
		case "end", "until":
			depth = max(depth-1, 0)
		}
	}
}
