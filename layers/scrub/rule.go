package scrub

import (
	"regexp"
	"strings"
	"sync"
)

// mode says where a rule's expression is tried.
type mode int

const (
	// anchored: at the keyword, which the match begins with but for the rest of an
	// identifier before it.
	anchored mode = iota
	// inside: around the run of characters that has the keyword in it, if the run
	// is long enough.
	inside
	// wide: on a window around the keyword.
	wide
	// coded: find does it.
	coded
)

// rule finds one family of secrets.
type rule struct {
	id       string
	label    string // in placeholders
	pii      bool
	keywords []string // in lower case
	mode     mode
	source   string // the expression; with mode anchored it begins with ^
	group    int    // that has the secret; the first that is not empty when 0
	entropy  float64
	minRun   int // of mode inside: least length of the run
	assigns  bool
	reach    int // of modes anchored and wide: bytes that are looked at
	allow    []*allowlist
	accept   func(value string) bool // nil accepts all
	find     func(f *finder, at, end int)

	once sync.Once
	re   *regexp.Regexp
}

// regexp compiles at the first use: most rules are never met.
func (r *rule) regexp() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.source) })
	return r.re
}

// context tells whether the rule goes by what stands beside the value.
func (r *rule) context() bool { return r.label == labelCredential }

// allowlist says what is no secret, as gitleaks defines it.
type allowlist struct {
	regexes []string
	target  string // "match", "line" or "" for the secret
	words   []string

	once sync.Once // few are ever needed
	res  []*regexp.Regexp
	stop *automaton // of the words; nil if there are none
}

func (a *allowlist) allows(secret, match, line string) bool {
	a.once.Do(func() {
		for _, source := range a.regexes {
			a.res = append(a.res, regexp.MustCompile(source))
		}
		if len(a.words) > 0 {
			a.stop = newAutomaton(a.words)
		}
	})
	target := secret
	switch a.target {
	case "match":
		target = match
	case "line":
		target = line
	}
	for _, re := range a.res {
		if re.MatchString(target) {
			return true
		}
	}
	found := false
	if a.stop != nil {
		a.stop.each(secret, func(int, endList) { found = true })
	}
	return found
}

// assignsAt tells whether what follows a keyword can be what the assignments of
// gitleaks' rules match: the rest of an identifier, an operator, and ten
// characters of a value of which one is no letter. It is a necessary condition,
// and cheap.
func assignsAt(text string, end int) bool {
	i := end
	for n := 0; ; i++ {
		if i >= len(text) || n > 26 {
			return false
		}
		c := text[i]
		if isWord(c) || c == '.' || c == '-' || isSpace(c) || c == '\'' || c == '"' {
			n++
			continue
		}
		break
	}
	if strings.IndexByte("=>|:?,", text[i]) < 0 {
		return false
	}
	for n := 0; i < len(text) && n < 9 && strings.IndexByte("=>|:?,`'\" \t\r\n\f", text[i]) >= 0; n++ {
		i++
	}
	length, mixed := 0, false
	for ; i < len(text) && length < 160; i++ {
		c := text[i]
		if !isToken(c) && c != ':' && c != '|' {
			break
		}
		length++
		mixed = mixed || isDigit(c) || c == '=' || c == '+' || c == '/'
		if length >= 10 && mixed {
			return true
		}
	}
	return false
}
