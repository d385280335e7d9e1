package contextconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hexapla/layers/limits"
)

const seed = `context_config:
  min_limit: 3500  # Global floor (user-configurable)
  default_limit: 5000  # Default per-agent
  warning_threshold: 0.8  # 80% triggers breaking

  # Per-LLM Type Configuration
  per_llm:
    - type: "local_14b"  # e.g., Qwen3-14B, Phi-4
      limit: 3500
      follow_default: true  # Checkbox toggle in UI
    - type: "cloud_grok"
      limit: 8000
      follow_default: false
    - type: "gpt4"
      limit: 6000
      follow_default: true
  # Breaking Strategy Chain
  breaking_strategy:
    chain_order:
      - "summarize_old"
      - "prioritize_recent"
      - "content_type_chunking"
      - "discard_low_rel"
      - "hybrid"
    summarize_old:
      old_threshold: 0.6  # First 60% considered "old"
      summary_length: 300  # Target token count
    prioritize_recent:
      rel_threshold: 0.5  # Min relevance score to keep
      recent_bias: 0.2  # Auto-keep last 20%
      priority_boost: 1.5  # Multiplier for P1 units
    content_type_chunking:
      compress_ratios:
        code: 0.7
        text: 0.5
        plan_ref: 1.0  # Keep verbatim
        log: 0.4
    discard_low_rel:
      discard_percent: 0.3  # Discard bottom 30%
      placeholder_detail: "brief"  # brief | linked
    hybrid:
      max_iterations: 3
  recovery_mode: "fresh_start"  # fresh_start | truncate | error
  retry_policies:
    default:
      max_attempts: 3
      backoff_base_seconds: 5
      max_delay_seconds: 60
    per_tool:
      askQuestion:
        max_attempts: 4
        backoff_base_seconds: 10
`

// TestB2_Seed: the document that the keys come from says what is the default, and
// each of its keys counts.
func TestB2_Seed(t *testing.T) {
	t.Parallel()
	got, err := Read("x.yaml", []byte(seed), limits.Default())
	if err != nil {
		t.Fatal(err)
	}
	if want := limits.Default(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	lines := strings.Split(seed, "\n")
	for i, line := range lines {
		code, _, _ := strings.Cut(line, "  #")
		key, value, _ := strings.Cut(code, ":")
		var other string
		switch value = strings.TrimSpace(value); value {
		case "", `"local_14b"`, `"cloud_grok"`, `"gpt4"`:
			continue
		case "true":
			other = "false"
		case "false":
			other = "true"
		case "1.0":
			other = "0.9"
		case `"brief"`:
			other = "linked"
		case `"fresh_start"`:
			other = "truncate"
		default:
			if strings.HasPrefix(value, "0.") {
				other = "0.95"
			} else if value == "1.5" {
				other = "2"
			} else {
				other = value[:1] + value
			}
			if strings.Contains(key, "max_attempts") || strings.Contains(key, "max_iterations") {
				other = "5"
			}
		}
		changed := append([]string(nil), lines...)
		changed[i] = key + ": " + other
		got, err := Read("x.yaml", []byte(strings.Join(changed, "\n")), limits.Default())
		if err != nil {
			t.Errorf("%s: %v", changed[i], err)
		} else if reflect.DeepEqual(got, limits.Default()) {
			t.Errorf("%q changes nothing", changed[i])
		}
	}
	// What a client sends is the same in JSON.
	got, err = Read(NameClient, []byte(`{"context_config":{"default_limit":6000,"per_llm":[{"type":"gpt4","limit":7000,"follow_default":false,"models":["gpt-4o"]}]}}`), limits.Default())
	if err != nil || got.Limit("", got.TypeOf("gpt-4o-2024"), false).Tokens != 7000 || len(got.PerLLM) != 3 {
		t.Errorf("%+v %v", got, err)
	}
}

// TestB2_Errors: each names file, line, column and key, and what is wrong.
func TestB2_Errors(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 30_000)
	for _, test := range []struct {
		name, text, want string
	}{
		{"type", "context_config:\n  default_limit: much\n", "x.yaml:2:18: context_config.default_limit: must be a whole number, is a text"},
		{"fraction", "context_config:\n  min_limit: 3500.5\n", "x.yaml:2:14: context_config.min_limit: must be a whole number, is a number"},
		{"negative", "context_config:\n  default_limit: -5\n", "x.yaml:2:18: context_config.default_limit: must be 100 to 10000000"},
		{"huge", "context_config:\n  default_limit: 99999999999999999999999\n", "context_config.default_limit"},
		{"share", "context_config:\n  warning_threshold: 1.5\n", "x.yaml:2:22: context_config.warning_threshold: must be 0.1 to 1"},
		{"nan", "context_config:\n  warning_threshold: .nan\n", "x.yaml:2:22: context_config.warning_threshold: must be a number, is no finite number"},
		{"unknown", "context_config:\n  default_limits: 5\n", "x.yaml:2:3: context_config.default_limits: is not known here; known are min_limit, default_limit"},
		{"privacy", "secrets:\n  enabled: false\n", "x.yaml:1:1: secrets: is not known here; known are context_config"},
		{"data folder", "dataDir: /tmp/x\n", "x.yaml:1:1: dataDir: is not known here"},
		{"twice", "context_config:\n  min_limit: 3500\n  min_limit: 3600\n", "x.yaml:3"},
		{"strategy", "context_config:\n  breaking_strategy:\n    chain_order: [summarize_old, guess]\n", "x.yaml:3:34: context_config.breaking_strategy.chain_order[1]: must be summarize_old, prioritize_recent"},
		{"strategy twice", "context_config:\n  breaking_strategy:\n    chain_order: [hybrid, hybrid]\n", "stands there twice"},
		{"mode", "context_config: {recovery_mode: retry}\n", "x.yaml:1:33: context_config.recovery_mode: must be fresh_start, truncate, error"},
		{"no list", "context_config:\n  per_llm: {type: a}\n", "x.yaml:2"},
		{"no type", "context_config:\n  per_llm:\n    - limit: 4000\n", "context_config.per_llm[0]: needs type"},
		{"entry", "context_config:\n  per_llm:\n    - type: a\n      limit: 5\n", "x.yaml:4:14: context_config.per_llm[0].limit: must be 100 to"},
		{"priority", "context_config:\n  per_agent:\n    - {agent: a, priority: 4}\n", "context_config.per_agent[0].priority: must be 1 to 3"},
		{"flag", "context_config:\n  progress: {show: yes please}\n", "context_config.progress.show: must be true or false, is a text"},
		{"bomb", "a: &a [x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\ncontext_config: *c\n", "x.yaml:1:4: a: anchors and aliases are not read"},
		{"cycle", "context_config: &a\n  per_llm: *a\n", "anchors and aliases are not read"},
		{"merge", "context_config:\n  <<: {min_limit: 5}\n", "anchors and aliases are not read"},
		{"tag", "context_config: !!binary aGk=\n", "x.yaml:1:17: context_config: tags are not read"},
		{"two documents", "context_config: {}\n---\ncontext_config: {}\n", "only one document is read"},
		{"brackets", deep, "x.yaml:1:1: nested deeper than 32 levels"},
		{"dashes", strings.Repeat("- ", 20_000) + "x", "nested deeper than 32 levels"},
		{"levels", strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper than 32 levels"},
		{"text", "just words", "must be a mapping, is a text"},
		{"open", "context_config: [1, 2\n", "x.yaml:1"},
		{"size", strings.Repeat("#", MaxBytes+1), "x.yaml: over the limit of 65536 bytes"},
		{"many", "context_config:\n  per_llm: [" + strings.Repeat("{type: a}, ", 201) + "]\n", "has more than 200 entries"},
	} {
		got, err := Read("x.yaml", []byte(test.text), limits.Default())
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
			continue
		}
		if !strings.HasPrefix(err.Error(), "x.yaml") || len(err.Error()) > 400 {
			t.Errorf("%s: %v", test.name, err)
		}
		if !reflect.DeepEqual(got, limits.Default()) {
			t.Errorf("%s: something of it was taken", test.name)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "---\n", "context_config:\n", "context_config: {}\n"} {
		if got, err := Read("x.yaml", []byte(empty), limits.Default()); err != nil || !reflect.DeepEqual(got, limits.Default()) {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// TestB2_OrderAndReload: user, workspace, client count in that order, key by key;
// a file that changes is read again, and one that becomes wrong counts as it was.
func TestB2_OrderAndReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	user, workspace := filepath.Join(dir, "hexapla.yaml"), filepath.Join(dir, ".hexapla.yaml")
	put := func(path, text string) {
		t.Helper()
		next := path + ".next"
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, path); err != nil { // another inode, whatever the clock says
			t.Fatal(err)
		}
	}
	s := NewSources(user, workspace, []byte("context_config: {min_limit: 3000}"), nil)
	expect := func(when string, floor, limit, retries, problems int, from ...string) {
		t.Helper()
		got := s.State()
		if c := got.Config; c.MinLimit != floor || c.DefaultLimit != limit || c.Retry.MaxAttempts != retries {
			t.Errorf("%s: %d %d %d", when, c.MinLimit, c.DefaultLimit, c.Retry.MaxAttempts)
		}
		if len(got.Problems) != problems || fmt.Sprint(got.From) != fmt.Sprint(from) {
			t.Errorf("%s: %v from %v", when, got.Problems, got.From)
		}
	}
	expect("no files", 3000, 5000, 3, 0, NameClient)
	put(user, "context_config: {min_limit: 2000, default_limit: 7000, retry_policies: {default: {max_attempts: 7}}}")
	expect("user", 3000, 7000, 7, 0, NameUser, NameClient)
	put(workspace, "context_config: {default_limit: 9000}")
	expect("workspace", 3000, 9000, 7, 0, NameUser, NameWorkspace, NameClient)
	put(workspace, "context_config: {default_limit: none}")
	expect("workspace wrong", 3000, 9000, 7, 1, NameUser, NameWorkspace, NameClient)
	put(workspace, "context_config: {}\nsecrets: {enabled: false}")
	expect("workspace too bold", 3000, 9000, 7, 1, NameUser, NameWorkspace, NameClient)
	if err := os.Remove(workspace); err != nil {
		t.Fatal(err)
	}
	expect("workspace gone", 3000, 7000, 7, 0, NameUser, NameClient)
	if err := os.Symlink(user, workspace); err != nil {
		t.Fatal(err)
	}
	expect("workspace is a link", 3000, 7000, 7, 1, NameUser, NameClient)
	if err := os.Remove(workspace); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	expect("workspace is a folder", 3000, 7000, 7, 1, NameUser, NameClient)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(seed))
	f.Add([]byte("context_config: {per_llm: [{type: a, models: [b]}], retry_policies: {per_tool: {x: {max_attempts: 2}}}}"))
	f.Add([]byte("a: &a [*a]\n<<: *a"))
	f.Add([]byte("? [a]: b\n"))
	f.Add([]byte("context_config: !!x |-\n  text"))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := Read("x.yaml", data, limits.Default())
		var bad *Error
		switch {
		case err == nil:
			if err := config.Check(); err != nil {
				t.Errorf("taken, but %v", err)
			}
		case !errors.As(err, &bad):
			t.Errorf("%T: %v", err, err)
		}
	})
}
