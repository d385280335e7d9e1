package scrub

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
)

// gitleaksFile is what is used of the rules that gitleaks' library brings. The
// library itself is not in the program: with what it needs to read its own file it
// takes 2.6 MB. TestRulesAreTheLibrarys writes the file, and compares.
//
//go:embed gitleaks.json
var gitleaksFile []byte

// gitleaksRuleSet is the form of the file.
type gitleaksRuleSet struct {
	Allowlists []gitleaksAllowlist `json:"allowlists,omitempty"` // of all rules
	Rules      []gitleaksRule      `json:"rules"`
}

type gitleaksRule struct {
	ID         string              `json:"id"`
	Regex      string              `json:"regex"`
	Group      int                 `json:"group,omitempty"`
	Entropy    float64             `json:"entropy,omitempty"`
	Keywords   []string            `json:"keywords,omitempty"`
	Allowlists []gitleaksAllowlist `json:"allowlists,omitempty"`
}

type gitleaksAllowlist struct {
	Regexes   []string `json:"regexes,omitempty"`
	Target    string   `json:"target,omitempty"`
	StopWords []string `json:"stopWords,omitempty"`
}

// identifier is how the expressions of gitleaks' rules for assignments begin:
// with what stands before the keyword in an identifier.
const identifier = `(?i)[\w.-]{0,50}?(?:`

// What gitleaks has end a secret. In JSON that is in a string an escaped quote does
// as well, and in prose what ends a sentence or a bracket; the form of the secret
// says enough there.
const (
	terminator        = `(?:[\x60'"\s;]|\\[nr]|$)`
	terminatorInJSON  = `(?:[\x60'"\s;]|\\[nr"']|$)`
	terminatorInProse = `(?:[\x60'"\s;,:!?)\[\]{}<>|&\\]|\.(?:\s|$)|$)`
)

// apart are rules of gitleaks whose keyword does not stand in the secret's own
// run of characters, and that are no plain assignments. Their expression is tried
// on a window of so many bytes around the keyword.
var apart = map[string]int{
	"airtable-personnal-access-token": 300, "cisco-meraki-api-key": 300, "cloudflare-origin-ca-key": 400,
	"cohere-api-token": 300, "curl-auth-header": 1500, "curl-auth-user": 1500, "facebook-access-token": 300,
	"freemius-secret-key": 200, "intra42-client-secret": 300, "kubernetes-secret-yaml": 1000,
	"nuget-config-password": 400, "okta-access-token": 300, "privateai-api-token": 300,
	"sourcegraph-access-token": 300, "sumologic-access-id": 300, "microsoft-teams-webhook": 400,
	"atlassian-api-token": 400, "jwt-base64": 4000,
}

// besides are rules of gitleaks that are no assignments and still go by what stands
// beside the value.
var besides = []string{
	"curl-auth-header", "curl-auth-user", "facebook-access-token", "freemius-secret-key", "kubernetes-secret-yaml", "nuget-config-password",
	"sourcegraph-access-token", "sidekiq-sensitive-url", "gitlab-session-cookie",
}

// ownKeywords are used in place of gitleaks' where those are met too often and
// the expression needs more.
var ownKeywords = map[string][]string{
	"kubernetes-secret-yaml": {"kind: secret", "kind:secret", "kind:  secret", "kind: \"secret", "kind: 'secret", "kind:\tsecret", "kind\": \"secret", "kind:\"secret", "kind:'secret"},
}

// exactKeywords are keywords of few letters that the expression takes in one case
// only.
var exactKeywords = map[string]string{"sk": "SK", "s.": "s.", "ey": "ey", "q~": "Q~", "a3-": "A3-", "pat.": "pat.", "sat.": "sat."}

// boundedKeywords are begun by a word's beginning in the expression.
var boundedKeywords = []string{"s.", "ey", "a3-"}

// gitleaksRules reads the rules of gitleaks.
func gitleaksRules() ([]*rule, error) {
	var all gitleaksRuleSet
	if err := json.Unmarshal(gitleaksFile, &all); err != nil {
		return nil, fmt.Errorf("read gitleaks' rules: %w", err)
	}
	var global []*allowlist
	for _, a := range all.Allowlists {
		global = append(global, newAllowlist(a.Regexes, a.Target, a.StopWords))
	}
	var out []*rule
	for _, g := range all.Rules {
		r := &rule{id: g.ID, label: g.ID, source: g.Regex, group: g.Group, entropy: g.Entropy, keywords: g.Keywords}
		if own := ownKeywords[g.ID]; own != nil {
			r.keywords = own
		}
		r.allow = append(r.allow, global...)
		for _, a := range g.Allowlists {
			r.allow = append(r.allow, newAllowlist(a.Regexes, a.Target, a.StopWords))
		}
		if err := r.place(); err != nil {
			return nil, fmt.Errorf("gitleaks' rule %s: %w", g.ID, err)
		}
		out = append(out, r)
	}
	return out, nil
}

func newAllowlist(regexes []string, target string, stopWords []string) *allowlist {
	a := &allowlist{regexes: regexes, target: target}
	if len(stopWords) > 0 {
		a.stop = newAutomaton(stopWords)
	}
	return a
}

// place finds out where the rule's expression has to be tried.
func (r *rule) place() error {
	parsed, err := syntax.Parse(r.source, syntax.Perl)
	if err != nil {
		return err
	}
	// "(?:=|>|" is in each assignment of gitleaks' template.
	assignment := strings.Contains(r.source, `(?:=|>|:{1,3}=`)
	if assignment {
		r.label = labelCredential
	}
	if slices.Contains(besides, r.id) {
		r.label = labelCredential
	}
	if assignment {
		r.source = strings.ReplaceAll(r.source, terminator, terminatorInJSON)
	} else {
		r.source = strings.ReplaceAll(r.source, terminator, terminatorInProse)
	}
	if reach := apart[r.id]; reach > 0 {
		r.mode, r.reach = wide, reach
		return nil
	}
	if names, ok := r.names(); ok && assignment {
		r.mode, r.assigns, r.reach = anchored, true, 512
		r.keywords = names
		r.source = `^(?i)(?:` + strings.TrimPrefix(r.source, identifier)
		return nil
	}
	r.mode, r.assigns = inside, assignment
	r.minRun = minLength(secretOf(parsed))
	return nil
}

// names returns the keywords with which the names of an assignment begin, and
// whether each name begins with one.
func (r *rule) names() ([]string, bool) {
	rest, ok := strings.CutPrefix(r.source, identifier)
	if !ok {
		return nil, false
	}
	depth, end := 1, 0
	for ; end < len(rest) && depth > 0; end++ {
		switch rest[end] {
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	parsed, err := syntax.Parse(`(?i)(?:`+rest[:end], syntax.Perl)
	if err != nil {
		return nil, false
	}
	begins := beginnings(parsed)
	for _, b := range begins {
		if !slices.ContainsFunc(r.keywords, func(k string) bool { return strings.HasPrefix(b, k) }) {
			return nil, false
		}
	}
	return r.keywords, len(begins) > 0
}

// beginnings lists in lower case what the matches of a small expression begin
// with. An expression without fixed beginnings gives "".
func beginnings(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture:
		return beginnings(re.Sub[0])
	case syntax.OpCharClass:
		var out []string
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
				if c > 127 || len(out) > 8 {
					return []string{""}
				}
				if s := strings.ToLower(string(c)); !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
		return out
	case syntax.OpAlternate:
		var out []string
		for _, sub := range re.Sub {
			out = append(out, beginnings(sub)...)
		}
		return out
	case syntax.OpConcat:
		out := []string{""}
		for _, sub := range re.Sub {
			if sub.Op == syntax.OpQuest {
				var longer []string
				for _, b := range beginnings(sub.Sub[0]) {
					if b == "" {
						return out
					}
					for _, a := range out {
						longer = append(longer, a+b)
					}
				}
				out = append(out, longer...)
				continue
			}
			next := beginnings(sub)
			if len(next) == 0 || slices.Contains(next, "") || len(out)*len(next) > 64 {
				return out
			}
			var longer []string
			for _, a := range out {
				for _, b := range next {
					longer = append(longer, a+b)
				}
			}
			out = longer
		}
		return out
	}
	return []string{""}
}

// secretOf returns the first group of an expression, or all of it.
func secretOf(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpCapture {
		return re
	}
	for _, sub := range re.Sub {
		if found := secretOf(sub); found.Op == syntax.OpCapture {
			return found
		}
	}
	return re
}

// minLength returns the least number of bytes that an expression matches.
func minLength(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return minLength(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * minLength(re.Sub[0])
	case syntax.OpConcat:
		sum := 0
		for _, sub := range re.Sub {
			sum += minLength(sub)
		}
		return sum
	case syntax.OpAlternate:
		least := minLength(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			least = min(least, minLength(sub))
		}
		return least
	}
	return 0
}
