package digest

import (
	"strings"

	"hexapla/layers"
)

// ErrorPatterns returns the normalised error messages in a text. A text in which
// none is recognised is taken as one itself, by its first line.
func ErrorPatterns(text string) []string {
	if found := EntitiesOf(text).Errors; len(found) > 0 {
		return found
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if pattern := normalise(trimLead(strings.TrimSpace(cutAtRune(line, longestErrorLine)))); pattern != "" {
		return []string{pattern}
	}
	return nil
}

// Telling tells whether an error pattern says what is wrong, so that two outputs
// that show it show the same problem. Patterns that say only that something
// failed, or where, are not.
func Telling(pattern string) bool {
	for _, vague := range [...]string{"exit ", "exited ", "process exited", "command failed", "fail ", "failed ", "make: ", "make[", "script ", "build failed", "tests failed", "test failed", "errors occurred", "lifecycle script", "found "} {
		if hasPrefixFold(pattern, vague) {
			return false
		}
	}
	if strings.Contains(pattern, "exit code") || strings.Contains(pattern, "exit status") {
		return false
	}
	for _, mark := range [...]string{"<n>", "<hex>", "<time>", "<path>"} {
		pattern = strings.ReplaceAll(pattern, mark, " ")
	}
	words := 0
	for _, word := range strings.FieldsFunc(pattern, func(r rune) bool { return !isWordRune(r) && r < 0x80 }) {
		if isIdentifier(word) || len(word) > 16 {
			words++
		}
		if len(word) >= 3 && strings.Trim(word, "0123456789") != "" {
			words++
		}
	}
	return words >= 2
}

// Finding returns the sentence of a text that tells best what was found out or
// done, in at most most tokens; "" if none does.
func Finding(text string, most int, c layers.Counter) string {
	best, score := "", 2
	list := sentences(clipEnds(text))
	for i, x := range list[:min(len(list), 200)] {
		if x.heading || x.lead || strings.Count(x.text, " ") < 3 || strings.HasSuffix(x.text, "?") || announcement(x.text) {
			continue
		}
		n := resultScore(x, i)
		if tellsCause(x.text) {
			n += 5
		}
		if n >= score { // later sentences know more
			best, score = x.text, n
		}
	}
	if best == "" {
		return ""
	}
	return oneLiner(capital(withoutPlaces(strings.TrimSpace(withoutLeadIn(best, false)))), most, c)
}

// tellsCause tells whether a sentence says why something was wrong.
func tellsCause(text string) bool {
	l := strings.ToLower(cutAtRune(text, 400))
	for _, cue := range [...]string{"root cause", "the cause ", "the bug ", "the problem ", "the issue ", "was missing", "were missing", "is missing", "because ", "turned out", "turns out", "caused by"} {
		if strings.Contains(l, cue) {
			return true
		}
	}
	return false
}

// Command is the significant part of the shell command that was tried; "" if it
// was none.
func (a Attempt) Command() string { return a.command }
