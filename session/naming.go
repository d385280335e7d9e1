package session

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/scrub"
)

// What stands in headers, summaries and layer 0 for a path or a domain that may
// not be named there.
const (
	hiddenPath   = "[path]"
	hiddenDomain = "[domain]"
)

// naming says which file paths and domains headers, summaries and layer 0 may name
// (H15). The full text keeps all of them.
type naming struct {
	paths     []*regexp.Regexp
	domains   []string
	byPath    bool // there is a list of paths
	byDomain  bool // there is a list of domains
	hostnames *regexp.Regexp
}

// topLevel are the endings by which a name in running text is taken for a domain.
const topLevel = "com|org|net|io|dev|ai|app|co|edu|gov|info|biz|cloud|internal|corp|local|lan|me|us|uk|eu|de|fr|nl|ch|at|it|es|se|no|fi|pl|jp|cn|in|br|ca|au"

func newNaming(settings scrub.Settings) *naming {
	s := &naming{byPath: settings.PathAllowlist != nil, byDomain: settings.DomainAllowlist != nil}
	for _, glob := range settings.PathAllowlist {
		s.paths = append(s.paths, globExpression(glob))
	}
	for _, domain := range settings.DomainAllowlist {
		s.domains = append(s.domains, strings.ToLower(strings.Trim(domain, ".")))
	}
	if s.byDomain {
		s.hostnames = regexp.MustCompile(`(?i)://[^\s/:@"'<>]*@?[a-z0-9.-]+|\b(?:[a-z0-9-]+\.)+(?:` + topLevel + `)\b`)
	}
	return s
}

// globExpression makes an expression of a glob: * and ? stay in a part of a path,
// ** does not. One that does not begin at the root holds for any tail of a path.
func globExpression(glob string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^`)
	if !strings.HasPrefix(glob, "/") {
		b.WriteString(`(?:.*/)?`)
	}
	for i := 0; i < len(glob); i++ {
		switch {
		case strings.HasPrefix(glob[i:], "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(`.*`)
			i++
		case glob[i] == '*':
			b.WriteString(`[^/]*`)
		case glob[i] == '?':
			b.WriteString(`[^/]`)
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	b.WriteString(`$`)
	return regexp.MustCompile(b.String())
}

func (s *naming) path(path string) bool {
	path = strings.TrimPrefix(strings.ReplaceAll(path, `\`, "/"), "./")
	return slices.ContainsFunc(s.paths, func(re *regexp.Regexp) bool { return re.MatchString(path) })
}

func (s *naming) domain(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(s.domains, func(d string) bool { return name == d || strings.HasSuffix(name, "."+d) })
}

// text hides what may not be named.
func (s *naming) text(text string) string {
	if s.byDomain {
		text = s.hostnames.ReplaceAllStringFunc(text, func(found string) string {
			before, host := "", found
			if rest, ok := strings.CutPrefix(found, "://"); ok {
				before, host = "://", rest
				if at := strings.LastIndexByte(rest, '@'); at >= 0 {
					before, host = "://"+rest[:at+1], rest[at+1:]
				}
			}
			if host == "" || s.domain(host) {
				return found
			}
			return before + hiddenDomain
		})
	}
	if s.byPath {
		files := digest.EntitiesOf(text).Files
		// Longer ones first: one can be the end of another.
		slices.SortStableFunc(files, func(a, b string) int { return len(b) - len(a) })
		for _, file := range files {
			if !s.path(file) {
				text = strings.ReplaceAll(text, file, hiddenPath)
			}
		}
	}
	return text
}

// hide maps the texts of a value, and takes out the entries of its lists that are
// nothing but hidden.
func (s *naming) hide(value any, lists ...*[]string) {
	if !s.byPath && !s.byDomain {
		return
	}
	walkTexts(reflect.ValueOf(value).Elem(), s.text, func(v any) any { return v })
	for _, list := range lists {
		*list = slices.DeleteFunc(*list, func(entry string) bool { return entry == hiddenPath || entry == hiddenDomain })
	}
}

func (s *naming) trio(t *trioRecord) {
	t.Header.KeyEntities = slices.Clone(t.Header.KeyEntities)
	s.own(&t.Summary)
	s.hide(&t.Header, &t.Header.KeyEntities)
	s.hide(&t.Summary)
	for i := range t.Summary.CodeChanges {
		files := &t.Summary.CodeChanges[i].Files
		*files = slices.DeleteFunc(*files, func(f string) bool { return f == hiddenPath })
	}
}

// own copies the lists of a summary, which the housekeeping that it came from
// keeps as they are.
func (s *naming) own(sum *layers.Summary) {
	sum.KeyDecisions, sum.OpenQuestions = slices.Clone(sum.KeyDecisions), slices.Clone(sum.OpenQuestions)
	sum.CodeChanges = slices.Clone(sum.CodeChanges)
	for i := range sum.CodeChanges {
		sum.CodeChanges[i].Files = slices.Clone(sum.CodeChanges[i].Files)
	}
}

func (s *naming) context(cc *layers.CurrentContext) {
	e := &cc.ActiveEntities
	cc.KeyAchievements, cc.NextSteps = slices.Clone(cc.KeyAchievements), slices.Clone(cc.NextSteps)
	e.Files, e.Functions, e.Concepts = slices.Clone(e.Files), slices.Clone(e.Functions), slices.Clone(e.Concepts)
	s.hide(cc, &e.Files, &e.Functions, &e.Concepts)
}
