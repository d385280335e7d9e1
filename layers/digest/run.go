package digest

import (
	"fmt"
	"strings"
)

// commandSummary tells how a shell command came out.
func (e *examination) commandSummary() string {
	k := e.call
	s := e.action()
	if e.out.failed {
		s += ": failed"
		if k.kind == kindTest || k.kind == kindCheck {
			if n := e.counts(); n != "" {
				s += " (" + n + ")"
			}
		}
		detail := strings.Join(head(e.found.tests.list, 4), ", ")
		if why := e.failure(); why != "" && (detail == "" || e.saysMore()) {
			if detail != "" {
				detail += ": "
			}
			detail += why
		}
		if detail != "" {
			s += ": " + detail
		}
		return s
	}
	switch {
	case k.kind == kindGit:
		return s + e.gitFindings()
	case k.kind == kindTest || k.kind == kindCheck:
		s += ": passed"
		if n := e.counts(); n != "" {
			s += " (" + n + ")"
		}
		return s
	case e.data != "":
		return s + ": " + e.data
	case strings.TrimSpace(e.out.text) == "":
		return s + ": ok, no output"
	case e.out.lines <= 2 && e.out.size <= 120:
		return s + ": " + oneLine(e.out.text)
	case len(e.found.failures) > 0:
		return s + fmt.Sprintf(": %d %s, reports: ", e.out.lines, plural(e.out.lines, "line")) + e.failure()
	}
	out := s + fmt.Sprintf(": ok, %d %s", e.out.lines, plural(e.out.lines, "line"))
	if n := len(e.scan.files.list); n > 0 {
		out += ", names " + strings.Join(shortPaths(e.scan.files.list, 3), ", ")
	}
	return out
}

func shortPaths(list []string, n int) []string {
	var out []string
	for _, p := range head(list, n) {
		out = append(out, shortPath(p))
	}
	return out
}

// saysMore tells whether a failure says more than which tests failed.
func (e *examination) saysMore() bool {
	for _, f := range e.found.failures {
		if telling(f) > 0 {
			return true
		}
	}
	return false
}

// counts is how many passed and failed.
func (e *examination) counts() string {
	f := &e.found
	switch {
	case f.totals != "":
		return f.totals
	case f.failed > 0:
		return fmt.Sprintf("%d of %d packages", f.failed, f.failed+f.passed)
	case f.passed > 0:
		return fmt.Sprintf("%d %s", f.passed, plural(f.passed, "package"))
	}
	return ""
}
