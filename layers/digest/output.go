package digest

import (
	"strings"
	"unicode/utf8"
)

// output is what a tool returned, without what the client wrapped around it.
type output struct {
	text     string // sampled when it is larger than a megabyte
	size     int    // bytes of the whole
	lines    int    // of the whole
	exit     string // exit code as written, or ""
	failed   bool
	rejected bool // the user did not allow the call
}

// readOutput unwraps what Claude Code, Codex, Gemini CLI, Cline and SWE-agent
// put around a tool's output. Of more than a megabyte only the first and the
// last 512 KiB are looked at; lines are counted over the whole.
func readOutput(in ToolOutput) output {
	o := output{text: in.Output, failed: in.IsError}
	o.fromJSON()
	o.size = len(o.text)
	if len(o.text) > sampledOutput {
		o.lines = countLines(o.text)
		tail := len(o.text) - sampleOfOutput
		if n := strings.IndexByte(o.text[tail:], '\n'); n >= 0 && n < 4096 {
			tail += n + 1
		} else {
			for tail < len(o.text) && !utf8.RuneStart(o.text[tail]) {
				tail++
			}
		}
		o.text = cutAtRune(o.text, sampleOfOutput) + "\n" + o.text[tail:]
	}
	o.text = stripReminders(o.text)
	if rest, ok := strings.CutPrefix(o.text, "["); ok { // Cline
		if head, body, ok := strings.Cut(rest, "] Result:"); ok && len(head) < 300 && strings.Contains(head, " for ") {
			o.text = strings.TrimLeft(body, " \n")
		}
	}
	o.exitStatus()
	if body, ok := strings.CutPrefix(o.text, "<tool_use_error>"); ok {
		o.failed = true
		o.text = strings.TrimSuffix(strings.TrimSpace(body), "</tool_use_error>")
	}
	if strings.HasPrefix(o.text, "Your proposed edit has introduced new syntax error") { // SWE-agent
		o.failed = true
	}
	if strings.HasPrefix(o.text, "The user doesn't want to") || strings.HasPrefix(o.text, "[Request interrupted") || strings.HasPrefix(o.text, "The user denied") || strings.HasPrefix(o.text, "User rejected") || strings.HasPrefix(o.text, "[Operation Cancelled]") {
		o.rejected, o.failed = true, true
	}
	if o.lines == 0 {
		o.lines = countLines(o.text)
	}
	return o
}

// fromJSON takes the output out of an object such as Codex's
// {"output":"…","metadata":{"exit_code":0}}.
func (o *output) fromJSON() {
	t := strings.TrimLeft(o.text, " \n\t")
	if !strings.HasPrefix(t, "{") {
		return
	}
	args := readObject(t)
	if !args.whole || len(args.members) > 8 {
		return
	}
	exit := args.number("exit_code", "exitCode", "returncode", "status")
	if meta := args.raw("metadata"); meta != "" {
		if code := readObject(meta).number("exit_code", "exitCode"); code != "" {
			exit = code
		}
	}
	body := args.raw("output", "stdout", "aggregated_output")
	if !strings.HasPrefix(body, `"`) || exit == "" && len(args.members) > 2 {
		return
	}
	o.text = decodeString(body)
	if stderr := args.text("stderr", "error"); stderr != "" {
		o.text += "\n" + stderr
	}
	o.setExit(exit)
}

func (o *output) setExit(code string) {
	if code == "" {
		return
	}
	o.exit = code
	if code != "0" {
		o.failed = true
	}
}

// exitStatus finds the exit code that clients write before or behind an output.
func (o *output) exitStatus() {
	head := cutAtRune(o.text, 400)
	if rest, ok := strings.CutPrefix(head, "Exit code "); ok {
		n := digits(rest)
		o.setExit(rest[:n])
		o.text = strings.TrimLeft(o.text[len("Exit code ")+n:], "\n")
		return
	}
	if rest, ok := strings.CutPrefix(head, "Exit code: "); ok { // Codex
		n := digits(rest)
		o.setExit(rest[:n])
		if _, body, ok := strings.Cut(o.text, "Output:\n"); ok && strings.Index(o.text, "Output:\n") < 200 {
			o.text = body
		}
		return
	}
	tail := o.text[max(0, len(o.text)-300):]
	for _, cue := range [...]string{"Exit Code: ", "exited with code ", "exit status ", "Process exited with code "} {
		if i := strings.LastIndex(tail, cue); i >= 0 {
			rest := tail[i+len(cue):]
			if n := digits(rest); n > 0 && n < 4 {
				o.setExit(rest[:n])
			}
			break
		}
	}
	if strings.HasPrefix(head, "Command: ") && strings.Contains(head, "\nDirectory: ") { // Gemini CLI
		if _, body, ok := strings.Cut(o.text, "\nOutput: "); ok {
			body, _, _ = strings.Cut(body, "\nError: (none)")
			if body == "(empty)" {
				body = ""
			}
			o.text = body
		}
	}
}

func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func countLines(s string) int {
	if s == "" {
		return 0
	}
	n := strings.Count(s, "\n")
	if s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// stripReminders takes out what the client tells the model behind an output.
func stripReminders(s string) string {
	const open, closing = "<system-reminder>", "</system-reminder>"
	if !strings.Contains(s, open) {
		return s
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, open)
		b.WriteString(before)
		if !ok {
			break
		}
		_, rest, ok := strings.Cut(after, closing)
		if !ok {
			break
		}
		s = rest
	}
	return strings.TrimRight(b.String(), "\n")
}

// findings is what one pass over an output's lines gathers.
type findings struct {
	failures []failure
	patterns gathering // of the failures
	tests    gathering // names of failed tests
	passed   int       // packages or files of a test run
	failed   int
	totals   string // the runner's own count, as written
	clean    bool   // the tool says that it found nothing
}

// study looks at every line of a command's output.
func study(text string) findings {
	f := findings{patterns: gathering{max: 24}, tests: gathering{max: 24}}
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if len(line) < 4 {
			continue
		}
		f.testLine(line)
		if failure, ok := failureIn(line); ok && !f.patterns.full() {
			if p := failure.pattern(); !f.patterns.has(p) {
				f.patterns.add(p)
				f.failures = append(f.failures, failure)
			}
		}
	}
	return f
}

// testLine reads the lines by which test runners and linters report.
func (f *findings) testLine(line string) {
	if len(line) > longestErrorLine {
		return
	}
	switch line[0] {
	case 'o':
		if strings.HasPrefix(line, "ok  \t") {
			f.passed++
		}
	case 'F':
		if strings.HasPrefix(line, "FAIL\t") {
			f.failed++
		} else if rest, ok := strings.CutPrefix(line, "FAILED "); ok { // pytest
			name, _, _ := strings.Cut(rest, " - ")
			f.tests.add(name[strings.LastIndexByte(name, ':')+1:])
		}
	case 't':
		if strings.HasPrefix(line, "test result: ") { // cargo
			_, totals, _ := strings.Cut(strings.TrimPrefix(line, "test result: "), ". ")
			totals, _, _ = strings.Cut(totals, "; 0 ignored")
			f.total(totals)
		} else if name, ok := strings.CutPrefix(line, "test "); ok && strings.HasSuffix(line, " ... FAILED") {
			f.tests.add(strings.TrimSuffix(name, " ... FAILED"))
		}
	}
	t := strings.TrimSpace(line)
	if t == "" {
		return
	}
	switch {
	case strings.HasPrefix(t, "--- FAIL: "):
		name, _, _ := strings.Cut(t[len("--- FAIL: "):], " ")
		f.tests.add(name)
	case strings.HasPrefix(t, "✕ "), strings.HasPrefix(t, "✗ "), strings.HasPrefix(t, "× "):
		_, name, _ := strings.Cut(t, " ")
		if i := strings.LastIndexByte(name, '('); i > 0 {
			name = strings.TrimSpace(name[:i])
		}
		f.tests.add(name)
	case strings.HasPrefix(t, "Tests: "), strings.HasPrefix(t, "Tests  "): // jest, vitest
		totals, _, _ := strings.Cut(strings.TrimSpace(t[6:]), " (")
		f.total(totals)
	case t[0] == '=' && strings.HasSuffix(t, "=") && (strings.Contains(t, " passed") || strings.Contains(t, " failed") || strings.Contains(t, " error")): // pytest
		t = strings.Trim(t, "= ")
		t, _, _ = strings.Cut(t, " in ")
		f.total(t)
	case isDigit(t[0]) && len(t) < 60:
		switch {
		case t == "0 issues.", t == "0 errors", strings.HasPrefix(t, "0 problems"):
			f.clean = true
			f.totals = strings.TrimSuffix(t, ".")
		case strings.HasSuffix(t, " issues:"), strings.HasSuffix(t, " passing"), strings.HasSuffix(t, " failing"), strings.HasSuffix(t, " failures"), strings.HasSuffix(t, " pending"), strings.Contains(t, " passing ("):
			f.total(strings.TrimSuffix(t, ":"))
		}
	case strings.HasPrefix(t, "✖ ") && strings.Contains(t, "problem"), strings.HasPrefix(t, "Found ") && strings.Contains(t, " error") && len(t) < 60, strings.HasPrefix(t, "Tests run: ") && len(t) < 80:
		f.total(strings.TrimPrefix(t, "✖ "))
	case strings.HasPrefix(t, "All checks passed"), strings.HasPrefix(t, "no issues found"):
		f.clean = true
	}
}

func (f *findings) total(s string) {
	s = oneLine(s)
	if f.totals != "" && f.totals != s && len(f.totals) < 60 {
		f.totals += ", " + s
		return
	}
	f.totals = cutAtRune(s, 80)
}

// broken tells whether the lines say that a test or check failed.
func (f *findings) broken() bool {
	if f.failed > 0 || len(f.tests.list) > 0 {
		return true
	}
	for i := 0; i < len(f.totals); i++ {
		rest := f.totals[i:]
		if (strings.HasPrefix(rest, " failed") || strings.HasPrefix(rest, " failing") || strings.HasPrefix(rest, " error") || strings.HasPrefix(rest, " issues") || strings.HasPrefix(rest, " failures")) && i > 0 && f.totals[i-1] != '0' {
			return true
		}
	}
	return !f.clean && len(f.failures) > 0
}
