package scrub

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dumpCases takes the place of the file in which gitleaks checks its rules
// against their cases, when its generator is built: it prints them.
const dumpCases = `package utils

import (
	"encoding/json"
	"os"

	"github.com/zricethezav/gitleaks/v8/config"
)

func put(rule config.Rule, secret bool, text string) {
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"rule": rule.RuleID, "secret": secret, "text": text})
}

func Validate(rule config.Rule, truePositives []string, falsePositives []string) *config.Rule {
	for _, text := range truePositives {
		put(rule, true, text)
	}
	for _, text := range falsePositives {
		put(rule, false, text)
	}
	return &rule
}

func ValidateWithPaths(rule config.Rule, truePositives map[string]string, falsePositives map[string]string) *config.Rule {
	for _, text := range truePositives {
		put(rule, true, text)
	}
	return &rule
}
`

type gitleaksCase struct {
	Rule   string
	Secret bool
	Text   string
}

// gitleaksCases runs gitleaks' own generator of rules, from the module cache, so
// that it prints the cases that its rules are checked against.
func gitleaksCases(t *testing.T) []gitleaksCase {
	t.Helper()
	if os.Getenv("HEXAPLA_GITLEAKS_CASES") == "" {
		t.Skip("gitleaks' own cases are built from its module: set HEXAPLA_GITLEAKS_CASES=1")
	}
	where, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/zricethezav/gitleaks/v8").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, part := range []string{"cmd", "config", "detect", "logging", "regexp", "report", "sources", "version"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(strings.TrimSpace(string(where)), part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(where)), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "cmd", "generate", "config", "utils", "validate.go")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(dumpCases), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "./cmd/generate/config", filepath.Join(dir, "out.toml"))
	cmd.Dir = dir
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil && out.Len() == 0 {
		t.Fatalf("gitleaks' generator: %v\n%s", err, stderr.Bytes())
	}
	var cases []gitleaksCase
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c gitleaksCase
		if json.Unmarshal(lines.Bytes(), &c) == nil && c.Rule != "" {
			cases = append(cases, c)
		}
	}
	return cases
}

// TestY6_GitleaksCases: what gitleaks' rules are said to find is found, by
// whichever rule, and what its rules are said to leave is left by them.
func TestY6_GitleaksCases(t *testing.T) {
	t.Parallel()
	cases := gitleaksCases(t)
	if len(cases) < 5000 {
		t.Fatalf("%d cases, want 5000 or more", len(cases))
	}
	rules, err := Compile(DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	s := rules.With([]byte("key"))
	secrets, found, clean, flagged := 0, 0, 0, 0
	for _, c := range cases {
		got := s.Find(c.Text)
		if c.Rule == "pkcs12-file" { // goes by the path alone
			continue
		}
		if c.Secret {
			secrets++
			if len(got) > 0 {
				found++
			} else {
				t.Logf("missed by %s: %.300q", c.Rule, c.Text)
			}
			continue
		}
		clean++
		for _, f := range got {
			if f.Family == c.Rule {
				flagged++
				t.Logf("flagged by %s: %.300q", c.Rule, c.Text)
				break
			}
		}
	}
	t.Logf("%d of %d found, %d of %d flagged by the rule itself", found, secrets, flagged, clean)
	if found*1000 < secrets*995 {
		t.Errorf("found %d of %d", found, secrets)
	}
	if flagged*100 > clean*5 {
		t.Errorf("flagged %d of %d", flagged, clean)
	}
}
