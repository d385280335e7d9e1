package digest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"

	"hexapla/layers"
)

// NamesOf returns the names in a text. They are told by their form alone, so
// that every name that a tool call may need is among them; EntitiesOf gives the
// few that matter most.
func NamesOf(text string) layers.Names {
	var n layers.Names
	seen := map[string]bool{}
	add := func(list *[]string, name string) {
		if !seen[name] {
			seen[name] = true
			*list = append(*list, name)
		}
	}
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !isPathRune(r) }) {
		run = strings.TrimRight(run, ".-/+@")
		if isPath(run) {
			add(&n.Paths, run)
			continue
		}
		for _, word := range strings.FieldsFunc(run, func(r rune) bool { return !isWordRune(r) }) {
			if isIdentifier(word) {
				add(&n.Identifiers, word)
			}
		}
	}
	return n
}

func isWordRune(r rune) bool {
	return r == '_' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func isPathRune(r rune) bool { return isWordRune(r) || strings.ContainsRune("./~@+-", r) }

// isPath tells a path by a slash between letters, or a file's name by an ending
// of one to five letters. Numbers with a dot, versions and "e.g" are none.
func isPath(s string) bool {
	if len(s) < 4 || !strings.ContainsFunc(s, unicode.IsLetter) {
		return false
	}
	if strings.Contains(s, "/") {
		return strings.Trim(s, "/.~") != "" && !strings.Contains(s, "//")
	}
	dot := strings.LastIndexByte(s, '.')
	if dot < 2 {
		return false
	}
	ending := s[dot+1:]
	// "fmt.Println" and "x.y" are code; endings of files are small letters.
	return len(ending) >= 1 && len(ending) <= 5 && strings.ToLower(ending) == ending &&
		unicode.IsLetter(rune(ending[0])) && !strings.Contains(s[:dot], "..")
}

// isIdentifier tells a name that somebody made up from a word of a language: it
// has an underscore inside, changes from small to capital letters, or mixes
// letters and digits over six characters or more.
func isIdentifier(s string) bool {
	if len(s) < 4 {
		return false
	}
	if strings.Contains(strings.Trim(s, "_"), "_") {
		return strings.ContainsFunc(s, unicode.IsLetter)
	}
	digits, letters := false, false
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			digits = true
		case c != '_':
			letters = true
		}
		if i > 0 && c >= 'A' && c <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z' {
			return true
		}
	}
	return digits && letters && len(s) >= 6
}

// Arguments returns the strings in the arguments of a tool call, which are JSON,
// a line for each, without the names of members. What is no JSON is returned as
// it is.
func Arguments(input string) string {
	decoder := json.NewDecoder(strings.NewReader(input))
	var text strings.Builder
	var inObject []bool // for each level that is open
	name := false       // the next string is a member's name
	for {
		token, err := decoder.Token()
		if err != nil {
			if !errors.Is(err, io.EOF) || len(inObject) > 0 {
				return input
			}
			return text.String()
		}
		top := len(inObject) - 1
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				inObject = append(inObject, t == '{')
			} else {
				inObject = inObject[:top]
			}
			name = len(inObject) > 0 && inObject[len(inObject)-1]
			continue
		case string:
			if name {
				name = false
				continue
			}
			text.WriteString(t)
			text.WriteByte('\n')
		}
		name = top >= 0 && inObject[top]
	}
}

// Weights of names in a roster. An active use counts for several mentions, and
// a use loses half of its weight about every rosterHalf uses that follow.
const (
	weightActive  = 6
	weightMention = 1
	rosterHalf    = 24
)

// Roster lists names that were used, those that are likely to be needed again
// first, in at most room tokens: names that were used often, lately, and by the
// user or the model rather than in what a tool printed. Uses come oldest first.
// Names for which shown is true are left out; a path counts pathPercent of what
// any other name does. They stand under a heading line. The result is empty when there is
// nothing to list. Unless it is exact, it may be a token or two over.
func Roster(heading string, uses []layers.Names, shown func(name string) bool, room, pathPercent int, exact bool, c layers.Counter) string {
	const paths, names = "paths:", "names:"
	left := room - c.Count(heading) - c.Count(paths+"\n") - c.Count(names+"\n")
	scored := map[string]*rosterName{}
	var ranked []*rosterName
	for i, use := range uses {
		weight := int64(weightMention)
		if use.Active {
			weight = weightActive
		}
		weight = weight << 24 * rosterHalf / int64(len(uses)-i-1+rosterHalf)
		for k, list := range [][]string{use.Paths, use.Identifiers} {
			for _, name := range list {
				n := scored[name]
				if n == nil {
					if shown(name) {
						continue
					}
					n = &rosterName{name: name, path: k == 0}
					scored[name], ranked = n, append(ranked, n)
				}
				n.score += weight
				if n.path {
					n.score += weight * int64(pathPercent-100) / 100
				}
			}
		}
	}
	slices.SortFunc(ranked, func(a, b *rosterName) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	// What counts of parts miss, where a line feed joins what stands before it, is
	// taken off the room.
	for {
		text := listNames(ranked, left, paths, names, c)
		if text == "" {
			return ""
		}
		over := c.Count(heading+text) - room
		if over <= 0 || !exact {
			return heading + text
		}
		left -= over
	}
}

// listNames writes the names that fit into a room, best first, in a line each for
// paths and for others; "" if there are none.
func listNames(ranked []*rosterName, left int, paths, names string, c layers.Counter) string {
	lines := [2]strings.Builder{}
	for _, n := range ranked {
		// A space begins a token, so that the counts of names add up.
		tokens := c.Count(" " + n.name)
		if tokens > left {
			if left < 2 {
				break
			}
			continue
		}
		left -= tokens
		at := 1
		if n.path {
			at = 0
		}
		lines[at].WriteString(" " + n.name)
	}
	var text strings.Builder
	for i, label := range []string{paths, names} {
		if lines[i].Len() > 0 {
			text.WriteString(label + lines[i].String() + "\n")
		}
	}
	return text.String()
}

// Gist shortens the arguments of a tool call, JSON text, to the lines that name
// something that no line before them does. What is left is no valid JSON any
// more; "…" stands for what is left out.
func Gist(input string) string {
	const lineFeed = `\n`
	lines := strings.Split(input, lineFeed)
	if len(lines) < 4 {
		return input
	}
	seen := map[string]bool{}
	var out strings.Builder
	skipped := false
	for i, line := range lines {
		names := NamesOf(line)
		novel := i == 0 || i == len(lines)-1
		for _, name := range append(names.Paths, names.Identifiers...) {
			if !seen[name] {
				seen[name], novel = true, true
			}
		}
		if !novel {
			skipped = true
			continue
		}
		if i > 0 {
			out.WriteString(lineFeed)
		}
		if skipped {
			out.WriteString("…" + lineFeed)
			skipped = false
		}
		out.WriteString(line)
	}
	return out.String()
}

// NamesWithin lists the names in a text that are in no other text, in at most
// room tokens, each with a space in front: those that stand there most often
// first.
func NamesWithin(text, other string, room int, c layers.Counter) string {
	names := NamesOf(text)
	shown := NamesOf(other)
	skip := map[string]bool{}
	for _, name := range append(shown.Paths, shown.Identifiers...) {
		skip[name] = true
	}
	var ranked []rosterName
	for k, list := range [][]string{names.Paths, names.Identifiers} {
		for _, name := range list {
			if !skip[name] {
				ranked = append(ranked, rosterName{name: name, score: int64(strings.Count(text, name)), path: k == 0})
			}
		}
	}
	slices.SortStableFunc(ranked, func(a, b rosterName) int { return cmp.Compare(b.score, a.score) })
	var out strings.Builder
	for _, n := range ranked {
		tokens := c.Count(" " + n.name)
		if tokens > room {
			if room < 2 {
				break
			}
			continue
		}
		room -= tokens
		out.WriteString(" " + n.name)
	}
	return out.String()
}

type rosterName struct {
	name  string
	score int64
	path  bool
}
