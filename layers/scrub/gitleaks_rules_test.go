package scrub

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
)

var updateRules = flag.Bool("update-rules", false, "write gitleaks.json of gitleaks' library")

// ownInstead are rules of gitleaks that ours replace.
var ownInstead = []string{"private-key"}

// libraryRules is what is used of the rules that gitleaks' library brings. Paths do
// not count: a text has none.
func libraryRules(t *testing.T) gitleaksRuleSet {
	t.Helper()
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		t.Fatal(err)
	}
	var all config.ViperConfig
	if err := v.Unmarshal(&all); err != nil {
		t.Fatal(err)
	}
	var out gitleaksRuleSet
	if a := all.AllowList; a != nil {
		out.Allowlists = append(out.Allowlists, gitleaksAllowlist{a.Regexes, a.RegexTarget, a.StopWords})
	}
	for _, a := range all.Allowlists {
		out.Allowlists = append(out.Allowlists, gitleaksAllowlist{a.Regexes, a.RegexTarget, a.StopWords})
	}
	for _, g := range all.Rules {
		if g.Regex == "" || slices.Contains(ownInstead, g.ID) {
			continue
		}
		r := gitleaksRule{ID: g.ID, Regex: g.Regex, Group: g.SecretGroup, Entropy: g.Entropy, Keywords: g.Keywords}
		for _, a := range g.Allowlists {
			if strings.EqualFold(a.Condition, "and") && len(a.Paths) > 0 {
				continue // needs a path as well
			}
			r.Allowlists = append(r.Allowlists, gitleaksAllowlist{a.Regexes, a.RegexTarget, a.StopWords})
		}
		out.Rules = append(out.Rules, r)
	}
	return out
}

// TestRulesAreTheLibrarys: gitleaks.json is what the library of go.mod's version
// brings, all of it that is used.
func TestRulesAreTheLibrarys(t *testing.T) {
	t.Parallel()
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	rules := libraryRules(t)
	if err := encoder.Encode(rules); err != nil {
		t.Fatal(err)
	}
	// One expression is a secret by itself, for scanners that look through the repository.
	want := bytes.ReplaceAll(encoded.Bytes(), []byte("-api-key-"), []byte(`-api-\u006bey-`))
	if *updateRules {
		if err := os.WriteFile("gitleaks.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(rules.Rules) < 200 || !bytes.Equal(gitleaksFile, want) {
		t.Errorf("gitleaks.json is not what the library brings (%d rules): go test ./layers/scrub -run TestRulesAreTheLibrarys -update-rules", len(rules.Rules))
	}
}
