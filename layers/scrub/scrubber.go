package scrub

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Rules are settings made ready. They may be used by several goroutines.
type Rules struct {
	settings Settings
	rules    []*rule
	keywords []string
	uses     [][]keywordUse // by keyword
	words    *automaton
	secrets  bool // there are rules
	pii      piiRules
	allow    []*regexp.Regexp
	labels   map[string]bool // that placeholders can have
	finders  sync.Pool

	pem, url, password, token, authorization, bearer, basic, cookie *rule
}

// Compile makes rules of settings. A setting that cannot be used gives a
// *SettingError.
func Compile(settings Settings) (*Rules, error) {
	if err := settings.check(); err != nil {
		return nil, err
	}
	r := &Rules{settings: settings, pii: newPII(settings.PII), labels: map[string]bool{labelCredential: true, "known": true}}
	built, err := gitleaksRules()
	if err != nil {
		return nil, err
	}
	built = append(ownRules(), built...)
	for _, one := range built {
		// Of what is turned off the placeholders stay known.
		r.labels[one.label] = true
	}
	for _, one := range []*rule{r.pii.card, r.pii.iban, r.pii.mail, r.pii.phone, r.pii.ip} {
		r.labels[one.label] = true
	}
	if settings.Secrets {
		r.rules = built
	}
	for _, own := range settings.Rules {
		one := &rule{id: own.ID, label: own.ID, source: own.Regex, mode: wide, reach: 512}
		for _, word := range own.Keywords {
			one.keywords = append(one.keywords, strings.ToLower(word))
		}
		r.labels[one.label] = true
		r.rules = append(r.rules, one)
	}
	for _, value := range settings.Known {
		r.rules = append(r.rules, knownRule(value))
	}
	for _, source := range settings.Allow {
		r.allow = append(r.allow, regexp.MustCompile(source))
	}
	for _, named := range []struct {
		id string
		to **rule
	}{
		{"private-key", &r.pem}, {"url-password", &r.url}, {"password", &r.password}, {"token", &r.token},
		{"authorization", &r.authorization}, {"bearer", &r.bearer}, {"basic", &r.basic}, {"cookie", &r.cookie},
	} {
		*named.to = built[slices.IndexFunc(built, func(one *rule) bool { return one.id == named.id })]
	}
	return r, r.index()
}

// index makes the automaton of all keywords.
func (r *Rules) index() error {
	at := map[string]int{}
	for n, one := range r.rules {
		for _, word := range one.keywords {
			k, known := at[word]
			if !known {
				k = len(r.keywords)
				at[word] = k
				r.keywords = append(r.keywords, word)
				r.uses = append(r.uses, nil)
			}
			use := keywordUse{rule: uint16(n)}
			if one.mode == inside {
				use.exact, use.bounded = exactKeywords[word], slices.Contains(boundedKeywords, word)
			}
			r.uses[k] = append(r.uses[k], use)
		}
	}
	if len(r.rules) > 1<<16-1 || len(r.keywords) > 1<<16-1 {
		return fmt.Errorf("scrub: %d rules with %d keywords are too many", len(r.rules), len(r.keywords))
	}
	r.secrets = len(r.rules) > 0
	r.words = newAutomaton(r.keywords)
	r.finders.New = func() any { return &finder{rules: r, windows: make([]window, len(r.rules))} }
	return nil
}

// knownRule finds a value as it is.
func knownRule(value string) *rule {
	one := &rule{id: "known", label: "known", mode: coded}
	one.keywords = []string{strings.Map(func(c rune) rune {
		if 'A' <= c && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, value[:min(len(value), 32)])}
	one.find = func(f *finder, at, _ int) {
		f.work += min(len(value), len(f.text)-at)
		if strings.HasPrefix(f.text[at:], value) {
			f.found(one, span{at, at + len(value)}, span{at, at + len(value)})
		}
	}
	return one
}

func (r *Rules) allowed(value string) bool {
	for _, re := range r.allow {
		if re.MatchString(value) {
			return true
		}
	}
	return false
}

// Settings returns what the rules were made of, without the known values.
func (r *Rules) Settings() Settings {
	s := r.settings
	s.Known = nil
	return s
}

// With returns a scrubber whose placeholders are made with a key.
func (r *Rules) With(key []byte) *Scrubber {
	return &Scrubber{rules: r, key: slices.Clone(key)}
}

// Scrubber puts placeholders in the place of secrets. It may be used by several
// goroutines.
type Scrubber struct {
	rules *Rules
	key   []byte
}

// Finding is a secret that was found, without its value.
type Finding struct {
	// Family is the rule that found it, such as "github-pat".
	Family string
	// Placeholder is what stands, or would stand, in its place.
	Placeholder string
	// Offset is where it stands in the text, in bytes; of what only shows once
	// other findings are replaced, in the text in which they are.
	Offset int
}

// maxPasses bounds how often a text is looked at anew after a replacement. Each
// pass leaves less, and the second finds nothing as a rule.
const maxPasses = 8

// Scrub returns the text with placeholders in place of what was found. A text in
// which nothing is found is returned as it is.
func (s *Scrubber) Scrub(text string) (string, []Finding) {
	clean, findings, _ := s.scrub(text)
	return clean, findings
}

func (s *Scrubber) scrub(text string) (clean string, findings []Finding, work int) {
	for range maxPasses {
		next, found, n := s.pass(text)
		work += n
		if len(found) == 0 {
			break
		}
		text, findings = next, append(findings, found...)
	}
	return text, findings, work
}

// Find returns what Scrub would replace first, by place.
func (s *Scrubber) Find(text string) []Finding {
	_, findings, _ := s.pass(text)
	return findings
}

func (s *Scrubber) pass(text string) (clean string, findings []Finding, work int) {
	if len(text) < 4 {
		return text, nil, 0
	}
	f := s.rules.finders.Get().(*finder)
	defer func() {
		f.reset("")
		s.rules.finders.Put(f)
	}()
	f.reset(text)
	f.run()
	work = f.work + len(text)
	if len(f.hits) == 0 {
		return text, nil, work
	}
	f.repeat()
	var b strings.Builder
	at := 0
	for _, h := range f.settle() {
		stands := placeholder(s.key, h.rule.pii, h.rule.label, text[h.start:h.end])
		b.WriteString(text[at:h.start])
		b.WriteString(stands)
		at = h.end
		findings = append(findings, Finding{Family: h.rule.id, Placeholder: stands, Offset: h.start})
	}
	b.WriteString(text[at:])
	return b.String(), findings, work
}

const (
	maxRepeated = 64 // values that are looked for elsewhere in their text
	minRepeated = 8  // bytes: shorter ones are words, as a rule
)

// repeat finds the values that were found at other places of the same text too,
// where nothing but the value shows what it is.
func (f *finder) repeat() {
	var values []string
	for _, h := range f.hits {
		value := f.text[h.start:h.end]
		long := h.end-h.start >= minRepeated && h.end-h.start <= maxSecret
		if long && !h.rule.pii && (!h.rule.context() || shapeOf(value).changes >= 3) && !slices.Contains(values, value) {
			if values = append(values, value); len(values) == maxRepeated {
				break
			}
		}
	}
	first := f.hits
	for _, value := range values {
		by := first[slices.IndexFunc(first, func(h hit) bool { return f.text[h.start:h.end] == value })].rule
		for at := 0; ; {
			i := strings.Index(f.text[at:], value)
			if i < 0 {
				break
			}
			s := span{at + i, at + i + len(value)}
			at = s.end
			if s.start > 0 && isWord(f.text[s.start-1]) && isWord(value[0]) || s.end < len(f.text) && isWord(f.text[s.end]) && isWord(value[len(value)-1]) || f.holds(s) {
				continue
			}
			f.hits = append(f.hits, hit{s, by})
		}
		f.work += len(f.text)
	}
}

// Families counts findings by family, in order of their names.
func Families(findings []Finding) []FamilyCount {
	var out []FamilyCount
	for _, f := range findings {
		i := sort.Search(len(out), func(i int) bool { return out[i].Family >= f.Family })
		if i == len(out) || out[i].Family != f.Family {
			out = slices.Insert(out, i, FamilyCount{Family: f.Family})
		}
		out[i].Count++
	}
	return out
}

// FamilyCount is how often a family was found.
type FamilyCount struct {
	Family string
	Count  int
}
