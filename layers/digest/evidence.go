package digest

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Evidence is what was said and printed, to check claims against. Texts are
// looked at in order; More gives further ones, which may be costly to read,
// until it returns false. An Evidence is for one goroutine.
type Evidence struct {
	User  []string // what the user said
	Other []string // what the model said before, its calls, and what tools printed
	IDs   func(id string) bool
	More  func() (string, bool)
	// Partial tells that More left texts out; then what is not found may be true.
	Partial bool

	numbers []number // of the texts up to read
	read    int
	folded  []string // the texts in small letters, white space made one
}

// Holds tells whether a claim is borne out. The test is one of letters: a false
// paraphrase in true names is not noticed.
func (e *Evidence) Holds(c Claim) bool {
	switch c.Kind {
	case ClaimID:
		return e.IDs == nil || e.IDs(c.Text)
	case ClaimAttribution:
		return e.saidByUser(c.Text)
	case ClaimInstruction:
		return e.orderedByUser(c.Text)
	case ClaimPath:
		// Words with slashes between them may be a path or an enumeration.
		if parts := strings.Split(strings.Trim(c.Text, "/"), "/"); !strings.ContainsAny(c.Text, "._~") && !e.anyBears(c) {
			return !slices.ContainsFunc(parts, func(part string) bool { return !e.anyBears(Claim{ClaimIdentifier, part}) })
		}
	}
	return e.anyBears(c)
}

func (e *Evidence) anyBears(c Claim) bool {
	for i := 0; ; i++ {
		text, ok := e.text(i)
		if !ok {
			return e.Partial
		}
		if e.bears(i, text, c) {
			return true
		}
	}
}

// text returns the text of an index.
func (e *Evidence) text(i int) (string, bool) {
	if i < len(e.User) {
		return e.User[i], true
	}
	i -= len(e.User)
	for i >= len(e.Other) {
		if e.More == nil {
			return "", false
		}
		text, ok := e.More()
		if !ok {
			e.More = nil
			return "", false
		}
		e.Other = append(e.Other, text)
	}
	return e.Other[i], true
}

func (e *Evidence) bears(i int, text string, c Claim) bool {
	switch c.Kind {
	case ClaimPath:
		return holdsPath(text, c.Text)
	case ClaimIdentifier:
		return holdsWord(text, c.Text, isHash(c.Text)) || isCamel(c.Text) && strings.Contains(e.fold(i), camelWords(c.Text))
	case ClaimNumber:
		return e.holdsNumber(i, text, c.Text)
	case ClaimQuote:
		return holdsQuote(e.fold(i), fold(c.Text))
	}
	return true
}

// fold returns a text for comparison with quotations.
func (e *Evidence) fold(i int) string {
	for len(e.folded) <= i {
		next, _ := e.text(len(e.folded))
		e.folded = append(e.folded, fold(next))
	}
	return e.folded[i]
}

// isCamel tells a name of capitalised words: "ClaudeCode".
func isCamel(name string) bool {
	return isUpper(name[0]) && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsLetter(r) }) < 0 && len(strings.Fields(camelWords(name))) > 1
}

// camelWords is a name as the words it is made of.
func camelWords(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if i > 0 && isUpper(name[i]) && isLower(name[i-1]) {
			b.WriteByte(' ')
		}
		b.WriteByte(name[i] | 0x20)
	}
	return b.String()
}

// fold makes quotes comparable.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '’', '‘':
			return '\''
		case '“', '”':
			return '"'
		case '`', '*':
			return -1
		}
		return unicode.ToLower(r)
	}, oneLine(text))
}

// holdsQuote tells whether the parts of a quotation, which may leave something
// out, stand in a text in order.
func holdsQuote(text, quote string) bool {
	for _, part := range strings.Split(strings.ReplaceAll(quote, "…", "..."), "...") {
		part = strings.Trim(part, " .,;:?!")
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// holdsWord tells whether a word stands in a text with no letter or digit
// beside it; a hash may be cut short.
func holdsWord(text, word string, cut bool) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		before := at == 0 || !isWordRune(rune(text[at-1])) || text[at-1] == 'n' && at > 1 && text[at-2] == '\\' || text[at-1] == 't' && at > 1 && text[at-2] == '\\'
		if before && (cut || end == len(text) || !isWordRune(rune(text[end]))) {
			return true
		}
		from = at + 1
	}
}

func isHash(s string) bool {
	return len(s) >= 7 && strings.Trim(s, "0123456789abcdef") == "" && strings.ContainsAny(s, "0123456789")
}

// holdsPath tells whether a path stands in a text, alone or as the end of a
// longer one. Of a path that is longer than what the text has, at least two
// parts must stand there.
func holdsPath(text, path string) bool {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "./"), "~/")
	path = strings.TrimSuffix(path, "/...")
	for {
		if holdsWord(text, path, strings.HasSuffix(path, "/")) {
			return true
		}
		_, rest, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if !ok || !strings.Contains(rest, "/") {
			return false
		}
		path = rest
	}
}

// holdsNumber tells whether a text up to and with the given one has a number,
// or one that rounds to it, in thousands, thousandths or percent, too.
func (e *Evidence) holdsNumber(i int, text, claim string) bool {
	n := number{text: claim}
	if !n.read() {
		return true
	}
	from := 0
	if e.read <= i {
		from = len(e.numbers)
		e.numbers = append(e.numbers, numbersOf(text)...)
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
			other := number{text: word} // parts of names, dates and times are evidence as well
			if other.read() {
				e.numbers = append(e.numbers, other)
			}
		}
		e.read = i + 1
	}
	half := math.Pow(10, -float64(n.decimals)) / 2
	return slices.ContainsFunc(e.numbers[from:], func(o number) bool {
		for _, scale := range [...]float64{1, 1000, 0.001, 100, 0.01} {
			if math.Abs(o.value*scale-n.value) <= half*1.0001 && (scale == 1 || o.value != 0) {
				return true
			}
		}
		return false
	})
}

// saidByUser tells whether the user said something that a sentence about it can
// mean: a good part of its words is theirs.
func (e *Evidence) saidByUser(sentence string) bool {
	if len(e.User) == 0 {
		return false
	}
	said := map[string]bool{}
	for _, text := range e.User {
		for _, word := range stemsOf(text) {
			said[word] = true
		}
	}
	if agrees(sentence) {
		return true // a word of the user's is enough: "yes"
	}
	known, all := 0, 0
	for _, word := range stemsOf(sentence) {
		all++
		if said[word] {
			known++
		}
	}
	return all == 0 || 4*known >= all
}

// orderedByUser tells that most words of an instruction are in one text of the
// user's.
func (e *Evidence) orderedByUser(sentence string) bool {
	words := stemsOf(sentence)
	for _, text := range e.User {
		said := map[string]bool{}
		for _, word := range stemsOf(text) {
			said[word] = true
		}
		known := 0
		for _, word := range words {
			if said[word] {
				known++
			}
		}
		if 3*known >= 2*len(words) {
			return true
		}
	}
	return false
}

// agrees tells that a sentence says no more than that the user agreed.
func agrees(sentence string) bool {
	l := strings.ToLower(sentence)
	for _, verb := range [...]string{"user confirmed", "user confirms", "user approved", "user approves", "user agreed", "user agrees", "user accepted"} {
		if strings.Contains(l, verb) {
			return true
		}
	}
	return false
}

// stemsOf returns the beginnings of a text's longer words, but for those that
// sentences about users are made of.
func stemsOf(text string) []string {
	var out []string
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) < 4 || strings.Contains(" user users said says asked asks wants wanted want that this with from have been should would could their they them when then into also about requested request prefers insists confirmed approved told instructed agreed rejected decided reported mentioned ", " "+word+" ") {
			continue
		}
		out = append(out, word[:min(len(word), 5)])
	}
	return out
}
