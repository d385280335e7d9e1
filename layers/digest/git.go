package digest

import (
	"fmt"
	"strings"
)

// gitFindings tells what a git command showed or did.
func (e *examination) gitFindings() string {
	text := e.out.text
	t := strings.TrimSpace(text)
	if t == "" {
		return ": ok, no output"
	}
	words := strings.Fields(e.call.command + " - -")
	switch words[1] {
	case "commit", "cherry-pick", "merge", "rebase", "push", "pull", "checkout", "switch":
		for _, line := range strings.SplitN(cutAtRune(t, 4000), "\n", 30) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") && strings.Contains(line, "] ") || strings.Contains(line, " -> ") || strings.HasPrefix(line, "Switched to") || strings.HasPrefix(line, "Already") || strings.HasPrefix(line, "Fast-forward") || strings.HasPrefix(line, "Successfully") || strings.HasPrefix(line, "Everything up-to-date") {
				return ": " + cutWords(oneLine(line), 120)
			}
		}
	case "log":
		n, subject := commits(text)
		if n > 0 {
			return fmt.Sprintf(": %d %s, newest %s", n, plural(n, "commit"), quoted(subject, 80))
		}
	case "status":
		var parts []string
		if branch := afterWord(text, "On branch "); branch != "" {
			parts = append(parts, "on "+branch)
		} else if rest, ok := strings.CutPrefix(text, "## "); ok {
			branch, _, _ = strings.Cut(cutAtRune(rest, 120), "\n")
			parts = append(parts, "on "+oneLine(branch))
		}
		if n := strings.Count(text, "modified: ") + strings.Count("\n"+text, "\n M ") + strings.Count("\n"+text, "\nM  "); n > 0 {
			parts = append(parts, fmt.Sprintf("%d modified", n))
		}
		if strings.Contains(text, "working tree clean") {
			parts = append(parts, "clean")
		}
		if names := e.scan.files.list; len(names) > 0 {
			parts = append(parts, strings.Join(shortPaths(names, 4), ", "))
		}
		if len(parts) > 0 {
			return ": " + strings.Join(parts, ", ")
		}
	}
	stat := ""
	for _, line := range strings.Split(t[max(0, len(t)-400):], "\n") {
		if strings.Contains(line, " changed, ") || strings.HasSuffix(line, " changed") {
			stat = oneLine(line)
		}
	}
	names := e.scan.files.list
	switch {
	case stat != "":
		return ": " + stat + listed(names)
	case strings.Contains(text, "diff --git ") || strings.HasPrefix(t, "@@ "):
		added, removed, files := diffCounts(text)
		return fmt.Sprintf(": %d %s, +%d −%d", files, plural(files, "file"), added, removed) + listed(names)
	case e.data != "":
		return ": " + e.data
	case e.out.lines <= 2 && len(t) <= 120:
		return ": " + oneLine(t)
	case len(names) > 0:
		return fmt.Sprintf(": %d lines, names ", e.out.lines) + strings.Join(shortPaths(names, 4), ", ")
	}
	return fmt.Sprintf(": ok, %d lines", e.out.lines)
}

// listed shows up to four paths behind a colon.
func listed(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return ": " + strings.Join(shortPaths(files, 4), ", ")
}

func afterWord(text, cue string) string {
	_, after, ok := strings.Cut(text, cue)
	if !ok {
		return ""
	}
	line, _, _ := strings.Cut(after, "\n")
	word, _, _ := strings.Cut(line, " ")
	return cutAtRune(word, 80)
}

// commits counts the commits of a log and returns the newest subject.
func commits(text string) (n int, subject string) {
	long := strings.HasPrefix(text, "commit ")
	wait := false
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if long {
			switch {
			case strings.HasPrefix(line, "commit "):
				n++
				wait = n == 1
			case wait && strings.HasPrefix(line, "    ") && strings.TrimSpace(line) != "":
				subject, wait = oneLine(line), false
			}
			continue
		}
		hash, rest, ok := strings.Cut(strings.TrimLeft(line, "*|\\/ "), " ")
		if ok && len(hash) >= 7 && len(hash) <= 40 && looksLikeHash(hash+"0") {
			n++
			if n == 1 {
				subject = oneLine(cutAtRune(rest, 200))
			}
		}
	}
	return n, subject
}

func diffCounts(text string) (added, removed, files int) {
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		switch {
		case strings.HasPrefix(line, "diff --git "):
			files++
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return added, removed, max(files, 1)
}
