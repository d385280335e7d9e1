package digest

import (
	"strings"

	"hexapla/layers"
)

// Attempt is a tool call with how it went, as far as a later one can show that
// what failed works now. The zero value is no attempt.
type Attempt struct {
	command string // the significant part of a shell command
	file    string // that an edit changes, where there is no command
	kind    callKind
	Failed  bool
	Told    string // the result in a sentence, what failed in it
}

// AttemptOf understands a call and its result. It returns false for a call
// whose failure is no open problem: one that only looks, or that the user
// rejected.
func AttemptOf(made layers.ToolCall, result *layers.ToolResult) (Attempt, bool) {
	k := understand(made.Name, made.Input, false)
	a := Attempt{command: k.command, kind: k.kind, Told: result.Compressed.Summary}
	a.Failed, _ = failedBy(a.Told)
	a.Failed = a.Failed || result.IsError
	switch {
	case strings.HasSuffix(a.Told, "rejected by the user"):
		return Attempt{}, false
	case k.command != "":
		check := k.kind == kindTest || k.kind == kindCheck
		return a, check || !a.Failed || len(result.Compressed.ErrorPatterns) > 0
	case k.change != "" && len(k.files) > 0:
		a.file = k.files[0]
		return a, true
	}
	return Attempt{}, false
}

// Resolves tells whether an attempt shows that an earlier one, which failed,
// would work now. An attempt at the same that fails again takes the earlier
// one's place.
func (a Attempt) Resolves(earlier Attempt) bool {
	same := a.command == earlier.command && a.file == earlier.file
	if a.Failed || same || a.command == "" || earlier.command == "" {
		return same
	}
	return covers(command{text: a.command, kind: a.kind}, command{text: earlier.command, kind: earlier.kind})
}

// Subject is what a call's output shows.
type Subject struct {
	// Name is the same for two outputs of the same thing: of a file, or of what
	// a command or a search printed. It is empty where there is no telling.
	Name string
	// Whole tells that nothing was left out on request.
	Whole bool
}

// About names what a call's output shows.
func About(made layers.ToolCall) Subject {
	k := understand(made.Name, made.Input, false)
	switch {
	case k.command != "":
		return Subject{"command " + k.command, true}
	case k.pattern != "" && (k.kind == kindSearch || k.kind == kindList):
		return Subject{"search " + k.pattern + " in " + k.where, true}
	case len(k.files) == 1:
		return Subject{"file " + k.files[0], k.kind == kindRead && !k.part}
	}
	return Subject{}
}

// CallFiles returns the files that a call reads, searches or changes, in the
// order in which it names them.
func CallFiles(made layers.ToolCall) []string {
	k := understand(made.Name, made.Input, false)
	files := k.files
	if len(files) == 0 && (k.kind == kindSearch || k.kind == kindList) && isFile(k.where, 0, true) {
		files = []string{k.where}
	}
	return files
}
