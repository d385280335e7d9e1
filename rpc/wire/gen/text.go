package gen

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// wrap breaks a text into lines of at most width characters. Words are never
// broken; paragraphs are kept apart by an empty line.
func wrap(text string, width int) []string {
	var lines []string
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			lines = append(lines, "")
		}
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				lines = append(lines, line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		lines = append(lines, line)
	}
	return lines
}

// FormatJSON lays JSON out for people: what fits on a line of 100 characters
// is on one line, the rest has one member a line. The order of members is
// kept. Text that is not JSON comes back as it is.
func FormatJSON(raw []byte) []byte {
	const width = 100
	var tight bytes.Buffer
	if json.Compact(&tight, raw) != nil {
		return raw
	}
	f := formatter{width: width}
	f.value(spaced(tight.Bytes()), 0, 0)
	return f.out
}

// spaced puts a space behind every comma and colon outside of strings.
func spaced(tight []byte) []byte {
	out := make([]byte, 0, len(tight)+len(tight)/8)
	inString := false
	for i := 0; i < len(tight); i++ {
		c := tight[i]
		out = append(out, c)
		switch {
		case inString && c == '\\':
			i++
			out = append(out, tight[i])
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == ':'):
			out = append(out, ' ')
		}
	}
	return out
}

type formatter struct {
	out   []byte
	width int
}

// value writes a value that begins at a column, within an indentation.
func (f *formatter) value(v []byte, indent, column int) {
	if len(v) < 3 || v[0] != '{' && v[0] != '[' || column+utf8.RuneCount(v) <= f.width {
		f.out = append(f.out, v...)
		return
	}
	f.out = append(f.out, v[0], '\n')
	inner := strings.Repeat(" ", indent+2)
	parts := split(v[1 : len(v)-1])
	for i, part := range parts {
		f.out = append(f.out, inner...)
		at := indent + 2
		if v[0] == '{' {
			n := keyEnd(part)
			f.out = append(f.out, part[:n]...)
			at += utf8.RuneCount(part[:n])
			part = part[n:]
		}
		f.value(part, indent+2, at+1)
		if i < len(parts)-1 {
			f.out = append(f.out, ',')
		}
		f.out = append(f.out, '\n')
	}
	f.out = append(f.out, strings.Repeat(" ", indent)...)
	f.out = append(f.out, v[len(v)-1])
}

// split splits the inside of an object or array at its commas.
func split(inside []byte) [][]byte {
	var parts [][]byte
	depth, start, inString := 0, 0, false
	for i := 0; i < len(inside); i++ {
		switch c := inside[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, inside[start:i])
			start = i + 2 // the space behind it
		}
	}
	return append(parts, inside[start:])
}

// keyEnd returns where the value of a member begins.
func keyEnd(part []byte) int {
	for i := 1; i < len(part); i++ {
		switch part[i] {
		case '\\':
			i++
		case '"':
			return i + 3 // behind `": `
		}
	}
	return len(part)
}
