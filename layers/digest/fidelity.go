package digest

import (
	"sort"
	"strings"
	"unicode"

	"hexapla/layers"
)

// Fidelity tells how much of a conversation's full text its header and summary
// keep, by kind.
type Fidelity struct {
	Identifiers, Decisions, Errors, Commands Kept
}

// Kept counts things of one kind: those of note, and all.
type Kept struct {
	Noted, NotedKept int
	All, AllKept     int
}

// Add returns the sum of two counts.
func (k Kept) Add(o Kept) Kept {
	return Kept{k.Noted + o.Noted, k.NotedKept + o.NotedKept, k.All + o.All, k.AllKept + o.AllKept}
}

// Add returns the sum of two conversations' counts.
func (f Fidelity) Add(o Fidelity) Fidelity {
	return Fidelity{f.Identifiers.Add(o.Identifiers), f.Decisions.Add(o.Decisions), f.Errors.Add(o.Errors), f.Commands.Add(o.Commands)}
}

// How many things of a kind are of note at most: as many as a summary of 120
// tokens has room for.
const (
	notedIdentifiers = 8
	notedDecisions   = 3
	notedErrors      = 2
	notedCommands    = 3
)

// firstWords is how many words of a sentence or an error are looked for: a
// summary may shorten the rest.
const firstWords = 12

// FidelityOf measures what of a conversation stands in short, its header and
// summary as rendered. outputs are the names and errors that occur in its tool
// outputs, whose texts a conversation does not carry.
//
//   - Identifiers are files and functions as of EntitiesOf, in what was said, in
//     the arguments of calls and in outputs. Of note are the eight that the most
//     messages of the user and the model name, at least two of them. One is kept
//     if it stands in short as a whole word; of a path the last part will do.
//   - Decisions are the sentences of the user and the model with a cue for a
//     decision. Of note are the three with the strongest cues. One is kept if half of
//     its first twelve words, those that say nothing left out, stand in short.
//   - Errors are normalised messages in outputs. Of note are those of the last two
//     calls that failed. One is kept by the rule for decisions.
//   - Commands are those that were run in a shell, shortened to their significant
//     part. Of note are the last three tests, checks and failures. One is kept if
//     its first word and more than half of its words stand in short.
//
// The result is the same for the same arguments. Time is linear in the texts.
func FidelityOf(conv Exchange, outputs []layers.Entities, short string, c layers.Counter) Fidelity {
	s := surveyOf(conv.Conversation, c)
	t := shortForm{text: strings.ToLower(short), words: map[string]bool{}}
	for _, w := range words(t.text) {
		t.words[w] = true
	}
	return Fidelity{
		Identifiers: t.identifiers(conv.Conversation.Turns, outputs),
		Decisions:   t.decisions(s),
		Errors:      t.errors(s, outputs),
		Commands:    t.commands(s),
	}
}

// shortForm is a header and a summary to look things up in.
type shortForm struct {
	text  string // in lower case
	words map[string]bool
}

// words returns the words of a text in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// count adds a thing to the counts.
func (k *Kept) count(noted, kept bool) {
	k.All++
	if kept {
		k.AllKept++
	}
	if noted {
		k.Noted++
		if kept {
			k.NotedKept++
		}
	}
}

func (t *shortForm) identifiers(turns []layers.Turn, outputs []layers.Entities) (k Kept) {
	type name struct {
		text     string
		messages int
	}
	var names []name
	known := map[string]int{}
	add := func(list []string, said int) {
		for _, text := range list {
			text = strings.ToLower(text)
			i, ok := known[text]
			if !ok {
				i = len(names)
				known[text] = i
				names = append(names, name{text: text})
			}
			names[i].messages += said
		}
	}
	for i := range turns {
		if turns[i].Role == layers.RoleTool {
			continue
		}
		var b strings.Builder
		b.WriteString(turns[i].Text)
		for _, call := range turns[i].Calls {
			b.WriteString("\n" + Arguments(call.Input))
		}
		e := EntitiesOf(b.String())
		add(e.Files, 1)
		add(e.Functions, 1)
	}
	for i := range outputs {
		add(outputs[i].Files, 0)
		add(outputs[i].Functions, 0)
	}
	sort.SliceStable(names, func(a, b int) bool { return names[a].messages > names[b].messages })
	for i, n := range names {
		k.count(i < notedIdentifiers && n.messages > 1, t.names(n.text))
	}
	return k
}

// names tells that a file or a function stands in the text as a whole word.
func (t *shortForm) names(name string) bool {
	name = strings.TrimRight(strings.ReplaceAll(name, `\`, "/"), "/")
	name = name[strings.LastIndexByte(name, '/')+1:]
	if name == "" {
		return false
	}
	partOfName := func(r byte) bool { return r == '_' || isLetter(r) || isDigit(r) }
	for from := 0; ; {
		at := strings.Index(t.text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(name)
		if (at == 0 || !partOfName(t.text[at-1])) && (end == len(t.text) || !partOfName(t.text[end])) {
			return true
		}
		from = at + 1
	}
}

func (t *shortForm) decisions(s *survey) (k Kept) {
	all := s.decided(nil)
	sort.SliceStable(all, func(a, b int) bool { return all[a].score > all[b].score })
	for i, d := range all {
		k.count(i < notedDecisions, t.says(d.text))
	}
	return k
}

// says tells that half of the first words of a sentence stand in the text.
func (t *shortForm) says(sentence string) bool {
	seen, found := 0, 0
	for _, w := range words(sentence) {
		if stopWord(w) || len(w) < 2 {
			continue
		}
		if seen++; t.words[w] {
			found++
		}
		if seen == firstWords {
			break
		}
	}
	return seen > 0 && 2*found >= seen
}

func (t *shortForm) errors(s *survey, outputs []layers.Entities) (k Kept) {
	known := map[string]bool{}
	count := func(message string, noted bool) {
		key := strings.ToLower(cutAtRune(message, 80)) // search keeps long ones cut
		if known[key] || strings.TrimSpace(key) == "" {
			return
		}
		known[key] = true
		k.count(noted, t.says(withoutPlaceholders(message)))
	}
	noted := 0
	for i := len(s.steps) - 1; i >= 0 && noted < notedErrors; i-- {
		st := &s.steps[i]
		if !st.failed {
			continue
		}
		if len(st.result.ErrorPatterns) > 0 {
			count(st.result.ErrorPatterns[0], true)
			noted++
		} else if st.detail != "" {
			count(st.detail, true)
			noted++
		}
	}
	for i := range s.steps {
		for _, message := range s.steps[i].result.ErrorPatterns {
			count(message, false)
		}
	}
	for i := range outputs {
		for _, message := range outputs[i].Errors {
			count(message, false)
		}
	}
	return k
}

// withoutPlaceholders takes out what stands for numbers, paths and times.
func withoutPlaceholders(pattern string) string {
	return strings.NewReplacer("<n>", " ", "<hex>", " ", "<time>", " ", "<path>", " ").Replace(pattern)
}

func (t *shortForm) commands(s *survey) (k Kept) {
	checks := s.commands()
	noted := map[string]bool{}
	for i := max(0, len(checks)-notedCommands); i < len(checks); i++ {
		noted[checks[i].text] = true
	}
	known := map[string]bool{}
	for i := range s.steps {
		command := s.steps[i].call.command
		if command == "" || known[command] {
			continue
		}
		known[command] = true
		k.count(noted[command], t.runs(command))
	}
	return k
}

// runs tells that a command stands in the text.
func (t *shortForm) runs(command string) bool {
	list := words(command)
	found := 0
	for _, w := range list {
		if t.words[w] {
			found++
		}
	}
	return len(list) > 0 && t.words[list[0]] && 2*found > len(list)
}
