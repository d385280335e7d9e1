package digest

import (
	"fmt"
	"strings"

	"hexapla/layers"
)

// ToolResult compresses a tool output (requirement H14): a summary of at most
// 60 tokens that tells by kind of tool what was found or done, and the
// identifiers, paths, normalised errors and "path:line" references of the
// output. No output is copied beyond a phrase; data is described by its kind
// and size.
//
// The summary of a call that did not work has ": failed" in it. Outputs of more
// than a megabyte are read at both ends only.
func ToolResult(in ToolOutput, c layers.Counter) layers.CompressedToolResult {
	e := examine(in)
	r := layers.CompressedToolResult{Tool: in.Tool}
	r.Summary = oneLiner(e.summary(), layers.CapToolSummary, c) // what matters stands in front
	r.Entities, r.KeyFiles = e.names()
	r.ErrorPatterns = head(e.found.patterns.list, maxResultErrors)
	r.Pointers = e.pointers()
	return r
}

func head(list []string, n int) []string {
	if len(list) > n {
		list = list[:n]
	}
	return list
}

// examination is a tool call with its output, looked at.
type examination struct {
	call  call
	out   output
	found findings
	scan  *scanner
	data  string // what kind of data the output is, or ""
}

func examine(in ToolOutput) *examination {
	e := &examination{call: understand(in.Tool, in.Input, true), out: readOutput(in), scan: newScanner()}
	e.data = describeData(e.out)
	e.found = findings{patterns: gathering{max: 24}, tests: gathering{max: 24}}
	if e.call.kind == kindSearch && e.call.command != "" && e.out.exit == "1" && strings.TrimSpace(e.out.text) == "" {
		e.out.failed = false // grep found nothing
	}
	if !e.out.rejected && (e.data == "" || strings.HasPrefix(e.data, "JSON")) {
		e.scan.text(e.out.text)
	}
	switch e.call.kind {
	case kindShell, kindTest, kindCheck, kindOther:
		if e.data == "" {
			e.found = study(e.out.text)
		}
	case kindGit:
		if e.data == "" && !gitShows(e.call.command) {
			e.found = study(e.out.text)
		}
	}
	if e.out.failed && !e.out.rejected && len(e.found.failures) == 0 {
		if line := firstTelling(e.out.text); line != "" {
			f := failure{message: line}
			e.found.failures = append(e.found.failures, f)
			e.found.patterns.add(f.pattern())
		}
	}
	switch e.call.kind {
	case kindTest, kindCheck:
		if e.found.broken() {
			e.out.failed = true
		}
	}
	return e
}

// gitShows tells whether a git command prints content, whose lines are no
// reports.
func gitShows(command string) bool {
	words := strings.Fields(command + " - -")
	return oneOf(words[1], "diff", "show", "log", "blame", "grep", "stash", "pr", "issue", "api", "-C")
}

// firstTelling returns the first line of an error output that says something.
func firstTelling(text string) string {
	for range 12 {
		line, rest, more := strings.Cut(text, "\n")
		if t := oneLine(cutAtRune(cutLogPrefix(strings.TrimSpace(line)+" "), 300)); len(t) > 3 && hasLetter(t) && !exitStatus(t) {
			return trimLead(strings.TrimSpace(t))
		}
		if !more {
			break
		}
		text = rest
	}
	return ""
}

func (e *examination) names() (entities, files []string) {
	g, f := gathering{max: maxResultNames}, gathering{max: maxResultFiles}
	for _, name := range e.call.files {
		f.add(name)
	}
	if e.call.kind == kindRead {
		for _, name := range definedIn(e.out.text, 24) {
			g.add(name)
		}
	}
	for _, name := range definedIn(e.call.text, 12) {
		g.add(name)
	}
	for _, name := range e.found.tests.list {
		if plainIdentifier(name) {
			g.add(name)
		}
	}
	for _, name := range e.scan.functions.list {
		g.add(name)
	}
	for _, name := range e.scan.files.list {
		f.add(name)
	}
	return g.list, f.list
}

func (e *examination) pointers() []string {
	g := gathering{max: maxResultPlaces}
	for _, f := range e.found.failures {
		g.add(f.location)
	}
	for _, p := range e.scan.pointers.list {
		g.add(p)
	}
	if e.call.kind == kindSearch {
		single := ""
		if isFile(e.call.where, 0, true) {
			single = e.call.where
		}
		for _, m := range matchesIn(e.out.text, single).places {
			g.add(m)
		}
	}
	return g.list
}

// target names the file of a call, shortened.
func (e *examination) target() string {
	switch n := len(e.call.files); {
	case n == 0 && len(e.scan.files.list) > 0 && e.call.kind != kindShell:
		return shortPath(e.scan.files.list[0])
	case n == 0:
		return "a file"
	case n == 1:
		return shortPath(e.call.files[0])
	case n <= 3:
		names := make([]string, n)
		for i, f := range e.call.files {
			names[i] = shortPath(f)
		}
		return strings.Join(names, ", ")
	default:
		return fmt.Sprintf("%s and %d more files", shortPath(e.call.files[0]), n-1)
	}
}

// failure tells in a phrase why the call did not work.
func (e *examination) failure() string {
	if len(e.found.failures) == 0 {
		if e.out.exit != "" && e.out.exit != "0" {
			return "exit code " + e.out.exit
		}
		return ""
	}
	best := e.found.failures[0]
	for _, f := range e.found.failures {
		if telling(f) > telling(best) {
			best = f
		}
	}
	s := cutWords(oneLine(best.message), 140)
	if best.location != "" {
		s = shortPath(best.location) + ": " + s
	}
	return s
}

// telling ranks failures: a message with a place says more than "task failed".
func telling(f failure) int {
	w := 0
	if f.location != "" {
		w += 2
	}
	m := f.message
	if strings.Contains(m, "task failed") || strings.HasPrefix(m, "FAIL") || strings.HasPrefix(m, "✕") || strings.HasPrefix(m, "✗") || strings.HasPrefix(m, "×") || strings.HasPrefix(m, "● ") || strings.HasSuffix(m, " FAILED") || strings.HasPrefix(m, "test failed") || exitStatus(m) {
		w -= 2
	}
	if strings.Contains(m, ": ") || systemFailure(m) {
		w += 2
	} else if !strings.Contains(m, " ") {
		w--
	}
	return w
}

func (e *examination) summary() string {
	k := e.call
	if e.out.rejected {
		return fmt.Sprintf("%s: failed: rejected by the user", e.action())
	}
	switch k.kind {
	case kindTest, kindCheck, kindShell, kindGit:
		return e.commandSummary()
	}
	if e.out.failed {
		s := e.action() + ": failed"
		if why := e.failure(); why != "" {
			s += ": " + why
		}
		return s
	}
	switch k.kind {
	case kindRead:
		return e.readSummary()
	case kindSearch:
		return e.searchSummary()
	case kindList:
		return e.listSummary()
	case kindEdit, kindWrite, kindDelete:
		return e.editSummary()
	case kindWeb:
		return e.webSummary()
	case kindTask:
		return e.talkSummary("sub-agent", e.out.text)
	case kindTodo:
		return todoSummary(k)
	case kindAsk:
		return e.askSummary()
	}
	return e.otherSummary()
}

// action names the call in a few words.
func (e *examination) action() string {
	k := e.call
	switch k.kind {
	case kindRead:
		return "read " + e.target()
	case kindSearch:
		return "search " + quoted(oneLine(k.pattern), 60)
	case kindList:
		return "list " + quoted(oneLine(k.pattern), 60)
	case kindEdit:
		return "edit " + e.target()
	case kindWrite:
		return "write " + e.target()
	case kindDelete:
		return "delete " + e.target()
	case kindWeb:
		if k.url != "" {
			return "fetch " + cutWords(k.url, 80)
		}
		return "web search " + quoted(oneLine(k.pattern), 80)
	case kindTask:
		return "sub-agent " + quoted(oneLine(cutAtRune(k.pattern, 400)), 60)
	case kindTodo:
		return "todo list"
	case kindAsk:
		return "question to the user"
	case kindShell, kindTest, kindCheck, kindGit:
		if k.command != "" {
			return quoted(k.command, maxCommandBytes+4)
		}
	}
	if k.pattern != "" {
		return toolName(k.tool) + " " + quoted(oneLine(cutAtRune(k.pattern, 400)), 60)
	}
	return toolName(k.tool)
}

// toolName shows "mcp__linear-server__get_issue" as "linear-server get_issue".
func toolName(tool string) string {
	tool = oneLine(cutAtRune(tool, 120))
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		tool = strings.ReplaceAll(rest, "__", " ")
	}
	if tool == "" {
		return "tool"
	}
	return tool
}
