package digest

import (
	"strings"
)

// definedIn returns the names that source text declares at line starts, in
// order.
func definedIn(text string, max int) []string {
	g := gathering{max: max}
	for text != "" && !g.full() {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if len(line) > longestErrorLine {
			continue
		}
		t := strings.TrimLeft(line, " \t")
		indent := len(line) - len(t)
		if rest, ok := cutLineNumber(t); ok {
			t = strings.TrimLeft(rest, " \t")
			indent = len(rest) - len(t)
		}
		if indent > 4 || t == "" || !isLetter(t[0]) {
			continue
		}
		g.add(declaredName(t))
	}
	return g.list
}

// declaredName returns the name that a line declares, or "".
func declaredName(t string) string {
	for range 5 {
		word, rest, ok := strings.Cut(t, " ")
		if !ok {
			return ""
		}
		switch word {
		case "export", "default", "pub", "async", "static", "public", "private", "protected", "abstract", "final", "sealed", "override", "unsafe", "pub(crate)", "declare", "open", "data":
			t = strings.TrimLeft(rest, " ")
			continue
		case "func":
			if strings.HasPrefix(rest, "(") { // a method's receiver
				_, after, ok := strings.Cut(rest, ") ")
				if !ok {
					return ""
				}
				rest = after
			}
			return nameBefore(rest, "([")
		case "def", "fn", "function", "function*", "fun":
			return nameBefore(rest, "(<[")
		case "class", "struct", "interface", "enum", "trait", "protocol", "module", "record", "object":
			name := nameBefore(rest, " (<:{[;")
			if name != "" && isUpper(name[0]) {
				return name
			}
			return ""
		case "type":
			name, after, _ := strings.Cut(rest, " ")
			name = nameBefore(name+" ", " [<")
			if name != "" && (isUpper(name[0]) || compound(name)) && after != "" || strings.HasPrefix(after, "struct") || strings.HasPrefix(after, "interface") {
				return name
			}
			return ""
		case "const", "let":
			name, after, _ := strings.Cut(rest, " ")
			if strings.HasPrefix(after, "= (") || strings.HasPrefix(after, "= async") || strings.HasPrefix(after, "= function") {
				return nameBefore(name+" ", " :")
			}
			return ""
		default:
			return ""
		}
	}
	return ""
}

// nameBefore returns the identifier at the start of s if one of the stops
// follows it.
func nameBefore(s, stops string) string {
	n := 0
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '_' || s[n] == '$') {
		n++
	}
	if n < 2 || n > 64 || n < len(s) && strings.IndexByte(stops, s[n]) < 0 {
		return ""
	}
	return s[:n]
}
