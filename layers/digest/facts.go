package digest

import "strings"

// FactKind is what a fact is.
type FactKind string

// Kinds of facts.
const (
	FactInstruction FactKind = "instructions" // what the user asks for, demands or forbids: a sentence
	FactError       FactKind = "errors"       // a message of a compiler, a test, a program
	FactCommand     FactKind = "commands"     // a command of a shell
	FactPath        FactKind = "paths"
	FactIdentifier  FactKind = "identifiers"
	FactNumber      FactKind = "numbers" // a value of two digits or more: a size, a time, a share, a port
)

// FactKinds returns the kinds in the order in which facts are listed: first
// what is hardest to find again. The caller owns the slice.
func FactKinds() []FactKind {
	return []FactKind{FactInstruction, FactError, FactCommand, FactPath, FactIdentifier, FactNumber}
}

// Fact is a thing in a text that later work may depend on, letter by letter.
type Fact struct {
	Kind FactKind
	Text string
}

// Longest facts, in bytes.
const (
	maxFactCommand     = 400
	maxFactInstruction = 600
)

// FactsOf returns the facts of a text as a pack shows it, each once, by kind and
// then in order of first appearance. said tells that the user said it, without
// which there are no instructions. Every fact is shown by the text, as Sightings
// finds it. Time is linear in the text.
func FactsOf(text string, said bool) []Fact {
	f := facts{seen: map[Fact]bool{}}
	body := text
	if strings.HasPrefix(body, "#") { // the pack's own heading
		_, body, _ = strings.Cut(body, "\n")
	}
	for line := range strings.Lines(body) {
		f.commandsOf(strings.TrimSuffix(line, "\n"))
	}
	plain := Readable(body)
	for line := range strings.Lines(plain) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := cutGap(line); ok {
			f.names(rest)
			continue
		}
		if failed, ok := failureIn(line); ok {
			f.add(FactError, failed.message)
		}
		if rest, ok := cutLineNumber(strings.TrimLeft(line, " \t")); ok {
			line = rest
		}
		f.numbers(line)
		f.names(line)
	}
	if said {
		f.instructions(plain)
	}
	// What a rule joins or shortens is no fact: it stands nowhere.
	var out []Fact
	texts := make([]string, len(f.list))
	for i := range f.list {
		texts[i] = f.list[i].Text
	}
	at := Sightings(text, texts)
	for _, kind := range FactKinds() {
		for i, fact := range f.list {
			if fact.Kind == kind && at[i] >= 0 {
				out = append(out, fact)
			}
		}
	}
	return out
}

// facts collects facts, each once.
type facts struct {
	list []Fact
	seen map[Fact]bool
}

func (f *facts) add(kind FactKind, text string) {
	fact := Fact{kind, strings.TrimSpace(text)}
	if !strings.ContainsFunc(fact.Text, isWordRune) || f.seen[fact] {
		return
	}
	f.seen[fact] = true
	f.list = append(f.list, fact)
}

func (f *facts) names(line string) {
	names := NamesOf(line)
	for _, name := range names.Paths {
		f.add(FactPath, name)
	}
	for _, name := range names.Identifiers {
		f.add(FactIdentifier, name)
	}
}

// commandsOf takes the commands of a line: of a call that it shows, behind a
// shell's prompt, and in spans of code. The line is as the pack has it.
func (f *facts) commandsOf(line string) {
	if rest, ok := strings.CutPrefix(line, "call "); ok {
		tool, input, _ := strings.Cut(rest, " ")
		args := readObject(input)
		script := ""
		switch {
		case kindOfTool(tool, args) != kindShell:
			return
		case args.raw("command", "cmd", "script", "code", "input", "commands", "keystrokes") != "":
			script = shellCommand(args)
		default: // its end is cut off
			for _, name := range [...]string{`"command":"`, `"cmd":"`, `"script":"`} {
				if _, after, ok := strings.Cut(input, name); ok {
					script = unescape(after)
					break
				}
			}
		}
		f.script(script)
		return
	}
	if script, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
		f.script(script)
		return
	}
	for i, span := range strings.Split(line, "`") {
		if words := commandWords(span); i%2 == 1 && len(words) > 1 && program(words[0]) {
			f.script(span)
		}
	}
}

// script takes the commands of a shell script that do something.
func (f *facts) script(script string) {
	for _, segment := range segments(script) {
		segment, _, _ = strings.Cut(segment, "\n")
		if segmentWeight(segment) > 0 {
			f.add(FactCommand, cutAtSpace(segment, maxFactCommand))
		}
	}
}

// numbers takes the values of a line. Numbers that are part of a name are
// none, and neither are single digits.
func (f *facts) numbers(line string) {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r <= ' ' || strings.ContainsRune("()[]{}<>\"'`=;|", r) }) {
		word = strings.Trim(word, ".,:!?$~±+-*/%#")
		if isFigure(word) && (!isIdentifier(word) || strings.ContainsAny(word, ".,:-") || duration(word)) {
			f.add(FactNumber, word)
		}
	}
}

// isFigure tells digits with points, commas or colons among them and a unit of at
// most three letters behind them.
func isFigure(word string) bool {
	digits, i := 0, 0
	for ; i < len(word) && (isDigit(word[i]) || strings.IndexByte(".,:-", word[i]) >= 0); i++ {
		if isDigit(word[i]) {
			digits++
		}
	}
	if digits < 2 || !isDigit(word[0]) || len(word)-i > 3 || len(word) > 32 {
		return false
	}
	for ; i < len(word); i++ {
		if !isLetter(word[i]) && word[i] != '%' {
			return false
		}
	}
	return true
}

// instructions takes the sentences by which a user asks for something, demands
// it or forbids it.
func (f *facts) instructions(text string) {
	for line := range strings.Lines(spoken(text)) {
		line = strings.TrimSpace(line)
		if item, ok := listItem(line); ok {
			line = item
		}
		for line != "" {
			sentence := line
			for i := 0; i+1 < len(line); i++ {
				if strings.IndexByte(".!?", line[i]) >= 0 && line[i+1] == ' ' && !abbreviation(line[:i]) {
					sentence = line[:i+1]
					break
				}
			}
			line = strings.TrimSpace(line[len(sentence):])
			if instructs(sentence) {
				f.add(FactInstruction, cutAtSpace(sentence, maxFactInstruction))
			}
		}
	}
}

// instructs tells that a sentence asks, demands or forbids.
func instructs(sentence string) bool {
	words := strings.FieldsFunc(strings.ToLower(sentence), func(r rune) bool { return strings.ContainsRune(" ,.!?:;()\"*`", r) })
	if len(words) < 2 {
		return false
	}
	if strings.HasSuffix(sentence, "?") {
		return true
	}
	first, _, _ := strings.Cut(strings.ToLower(withoutLeadIn(sentence, false)), " ")
	if requestVerb(strings.Trim(first, ",.:?!")) {
		return true
	}
	for _, w := range words {
		if oneOf(w, "must", "never", "always", "only", "don't", "not", "no", "should", "shouldn't", "need", "needs", "want", "please", "instead", "ensure", "prefer", "avoid", "keep", "without", "cannot", "can't", "mustn't") {
			return true
		}
	}
	return false
}

// cutAtSpace returns at most n bytes of s, cut before a space if there is one.
func cutAtSpace(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = cutAtRune(s, n)
	if i := strings.LastIndexByte(s, ' '); i > 0 {
		s = s[:i]
	}
	return s
}

// cutGap takes the names out of the line by which a pack says what a cut left
// out of an output; the counts in it are the pack's own.
func cutGap(line string) (names string, ok bool) {
	if !strings.HasPrefix(line, "[") || !strings.Contains(line, " lines left out") {
		return "", false
	}
	_, names, _ = strings.Cut(strings.TrimSuffix(line, "]"), " lines left out, with")
	return names, true
}
