package digest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// describeData describes outputs that are data and not text: binary, base64,
// JSON, JSON lines, minified text, web pages. It returns "" for others.
func describeData(o output) string {
	t := strings.TrimSpace(o.text)
	if t == "" {
		return ""
	}
	if binary(t) {
		return "binary data, " + sizeOf(o.size)
	}
	if strings.HasPrefix(t, "data:") {
		mime, _, ok := strings.Cut(t[5:min(len(t), 80)], ";base64,")
		if ok {
			return mime + " as base64, " + sizeOf(o.size)
		}
	}
	if encoded(t) {
		return "base64 data, " + sizeOf(o.size)
	}
	switch t[0] {
	case '{':
		args := readObject(t)
		if !args.whole || len(args.members) == 0 {
			break
		}
		if first, rest, ok := strings.Cut(t, "\n"); ok && strings.HasPrefix(rest, "{") && readObject(first).whole {
			return fmt.Sprintf("JSON lines, %d lines, keys %s", o.lines, keysOf(readObject(first)))
		}
		return "JSON object with keys " + keysOf(args)
	case '[':
		list, n := elements(t, 1)
		if n > 0 && strings.HasSuffix(t, "]") && (list[0][0] == '{' || list[0][0] == '"' || isDigit(list[0][0])) {
			s := fmt.Sprintf("JSON array of %d", n)
			if keys := readObject(list[0]); len(keys.members) > 0 {
				s += ", keys " + keysOf(keys)
			}
			return s
		}
	case '<':
		if head := strings.ToLower(cutAtRune(t, 20)); strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html") {
			s := "HTML page, " + sizeOf(o.size)
			if _, after, ok := strings.Cut(t, "<title>"); ok {
				title, _, _ := strings.Cut(cutAtRune(after, 200), "</title>")
				s += ", title " + quoted(oneLine(title), 80)
			}
			return s
		}
	}
	if o.size > 4000 && o.size/max(o.lines, 1) > 600 {
		return fmt.Sprintf("dense text, %s in %d %s", sizeOf(o.size), o.lines, plural(o.lines, "line"))
	}
	return ""
}

func keysOf(o object) string {
	var names []string
	for _, m := range o.members {
		if len(names) == 8 {
			names = append(names, "…")
			break
		}
		if len(m.name) > 0 && len(m.name) <= 40 {
			names = append(names, oneLine(m.name))
		}
	}
	return strings.Join(names, ", ")
}

// binary tells whether text holds NULs or much that is no UTF-8.
func binary(t string) bool {
	t = t[:min(len(t), 8192)]
	bad, runes := 0, 0
	for i := 0; i < len(t); {
		r, size := utf8.DecodeRuneInString(t[i:])
		if r == 0 || r == utf8.RuneError && size == 1 {
			bad++
		}
		runes++
		i += size
	}
	return bad*20 > runes
}

// encoded tells whether a text is one long run of base64 or hexadecimal.
func encoded(t string) bool {
	if len(t) < 200 {
		return false
	}
	sample := t[:min(len(t), 8192)]
	run, longest, in := 0, 0, 0
	for i := 0; i < len(sample); i++ {
		c := sample[i]
		if isLetter(c) || isDigit(c) || c == '+' || c == '/' || c == '=' {
			run++
			in++
			longest = max(longest, run)
		} else {
			if c != '\n' || run%4 != 0 || run < 60 {
				run = 0
			} else {
				in++
			}
		}
	}
	return longest >= 160 && in*10 >= len(sample)*9
}

func sizeOf(n int) string {
	switch {
	case n < 1024:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", (n+512)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	if strings.HasSuffix(word, "ch") {
		return word + "es"
	}
	return word + "s"
}

// quoted puts s into backticks, cut to n bytes at a word.
func quoted(s string, n int) string {
	return "`" + cutWords(strings.ReplaceAll(s, "`", "'"), n) + "`"
}

// cutWords cuts s to n bytes, at a word if there is one near, and marks it.
func cutWords(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = cutAtRune(s, n)
	if i := strings.LastIndexByte(s, ' '); i > n*2/3 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ,;:") + "…"
}

// shortPath shows a path by its last elements; what is left out is marked.
func shortPath(path string) string {
	const keep = 3
	parts := 0
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '/' || path[i] == '\\' {
			parts++
			if parts == keep {
				return "…" + path[i:]
			}
		}
	}
	return path
}

// baseName is the last element of a path.
func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
