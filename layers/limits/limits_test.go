package limits_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"math"
	"os"
	"strings"
	"testing"

	"hexapla/layers/limits"
)

// TestB1_Limits: the default, the floor, types that follow the default or do not,
// agents, and a fifth more for priority 1.
func TestB1_Limits(t *testing.T) {
	t.Parallel()
	c := limits.Default()
	c.PerLLM[2].Models = []string{"gpt-4", "gpt-4o-mini"}
	c.PerLLM = append(c.PerLLM, limits.LLMLimit{Type: "tiny", Limit: 2000}, limits.LLMLimit{Type: "mini", Limit: 4500, Models: []string{"gpt-4o-mini"}})
	c.PerAgent = []limits.AgentLimit{{Agent: "verification", Limit: 4000}, {Agent: "coding", Limit: 9000}, {Agent: "todo", Priority: 1}, {Agent: "notes", Limit: 1000, Priority: 2}}
	for _, test := range []struct {
		agent, llm string
		p1         bool
		tokens     int
		source     string
	}{
		{"", "", false, 5000, limits.SourceDefault},
		{"", "", true, 6000, limits.SourceDefault},
		{"", "local_14b", false, 5000, limits.SourceDefault}, // follows the default
		{"", "cloud_grok", false, 8000, limits.SourceLLM},
		{"", "tiny", false, 3500, limits.SourceFloor},
		{"", "tiny", true, 4200, limits.SourceFloor},
		{"verification", "", false, 4000, limits.SourceAgent},
		{"verification", "cloud_grok", false, 4000, limits.SourceAgent},
		{"coding", "cloud_grok", false, 8000, limits.SourceLLM}, // the smaller of two
		{"coding", "gpt4", false, 9000, limits.SourceAgent},
		{"todo", "", false, 6000, limits.SourceDefault},
		{"todo", "cloud_grok", false, 9600, limits.SourceLLM},
		{"notes", "", false, 3500, limits.SourceFloor},
		{"else", "else", false, 5000, limits.SourceDefault},
	} {
		got := c.Limit(test.agent, test.llm, test.p1)
		if got.Tokens != test.tokens || got.Source != test.source || got.Warning != test.tokens*8/10 {
			t.Errorf("%q %q %t: %+v", test.agent, test.llm, test.p1, got)
		}
	}
	for model, want := range map[string]string{"": "", "gpt4": "gpt4", "gpt-4-0613": "gpt4", "gpt-4o-mini-2024": "gpt4", "GPT-4": "gpt4", "claude": "", "tiny": "tiny"} {
		if got := c.TypeOf(model); got != want {
			t.Errorf("type of %q: %q, want %q", model, got, want)
		}
	}
}

// prose is text that differs from number to number.
func prose(n, sentences int) string {
	subjects := []string{"parser", "index", "budget", "daemon", "scheduler", "cache", "window", "socket", "ledger", "snapshot"}
	verbs := []string{"reads", "writes", "folds", "rejects", "renames", "measures", "restarts", "merges"}
	var b strings.Builder
	for i := range sentences {
		k := n*7 + i*3
		fmt.Fprintf(&b, "The %s %s the %s in step %d. ", subjects[k%10], verbs[(k/2)%8], subjects[(k+n+4)%10], k)
	}
	return b.String() + "\n"
}

// chat is a made context of units of many kinds.
func chat(n, sentences int) []limits.Unit {
	kinds := []limits.Kind{limits.KindMessage, limits.KindLog, limits.KindPlan, limits.KindOther, limits.KindText}
	var units []limits.Unit
	for i := range n {
		units = append(units, limits.Unit{ID: fmt.Sprintf("u%d", i), Kind: kinds[i%len(kinds)], Text: prose(i, sentences)})
	}
	return units
}

func only(c limits.Config, s limits.Strategy) limits.Config {
	c.Chain, c.MaxIterations = []limits.Strategy{s}, 1
	return c
}

func at(tokens int) limits.Limit { return limits.Limit{Tokens: tokens, Warning: tokens * 8 / 10} }

// TestB3_Strategies: what each strategy does, and leaves alone.
func TestB3_Strategies(t *testing.T) {
	t.Parallel()
	t.Run("summarize_old", func(t *testing.T) {
		t.Parallel()
		b := newBreaker(t, only(limits.Default(), limits.SummarizeOld))
		units := chat(20, 10)
		units[3].Priority, units[5].Priority = limits.PriorityP1, 2
		r := b.Break(units, "", at(1000), nil)
		if len(r.Units) != 1+1+8 || r.Units[0].ID != "summary-old" || r.Units[0].Kind != limits.KindSummary || r.Units[0].Priority != 2 || r.Units[1].ID != "u3" {
			t.Fatalf("%+v", r.Units)
		}
		if got := b.Counter.Count(r.Units[0].Text); got > 300 || got < 100 || got != r.Units[0].Tokens {
			t.Errorf("summary of %d tokens: %s", got, r.Units[0].Text)
		}
		for i, f := range r.Fates {
			want := limits.Fate{Action: limits.ActionSummarized, Strategy: limits.SummarizeOld}
			if i == 3 || i >= 12 {
				want = limits.Fate{Action: limits.ActionKept, Unit: 1 + max(i-11, 0)}
			}
			if i == 3 {
				want.Unit = 1
			}
			if f != want {
				t.Errorf("unit %d: %+v, want %+v", i, f, want)
			}
		}
		// No more than is needed.
		if r := b.Break(chat(20, 10), "", limits.Limit{Tokens: 5000, Warning: r.Before - 400}, nil); len(r.Units) < 12 || r.After > r.Limit.Warning {
			t.Errorf("%d units, %d tokens of %d", len(r.Units), r.After, r.Limit.Warning)
		}
	})
	t.Run("prioritize_recent", func(t *testing.T) {
		t.Parallel()
		b := newBreaker(t, only(limits.Default(), limits.PrioritizeRecent))
		units := chat(20, 10)
		units[0].Text = "Bake the bread with flour, yeast and salt until the crust is brown.\n"
		units[1].Text, units[1].Priority = "Water the tulips and roses in the garden every evening.\n", limits.PriorityP1
		about := "the parser reads the index and merges the snapshot of the cache"
		r := b.Break(units, about, at(100), nil)
		if r.Fates[0].Action != limits.ActionDiscarded || r.Fates[1].Action != limits.ActionKept {
			t.Errorf("%+v", r.Fates[:2])
		}
		for i := 16; i < 20; i++ { // the last fifth
			if r.Fates[i].Action != limits.ActionKept {
				t.Errorf("unit %d: %+v", i, r.Fates[i])
			}
		}
	})
	t.Run("content_type_chunking", func(t *testing.T) {
		t.Parallel()
		b := newBreaker(t, only(limits.Default(), limits.ContentChunking))
		units := chat(10, 40)
		units = append(units, limits.Unit{ID: "p1", Kind: limits.KindLog, Text: prose(40, 40), Priority: limits.PriorityP1})
		r := b.Break(units, "", at(10), nil)
		ratios := map[limits.Kind]float64{limits.KindMessage: .5, limits.KindText: .5, limits.KindLog: .4, limits.KindOther: .6, limits.KindPlan: 1}
		for i, u := range r.Units {
			whole := b.Counter.Count(units[i].Text)
			switch share := float64(u.Tokens) / float64(whole); {
			case u.Kind == limits.KindPlan || u.ID == "p1":
				if u.Text != units[i].Text {
					t.Errorf("%s of kind %s is another", u.ID, u.Kind)
				}
			case share > ratios[u.Kind]+0.05 || share < ratios[u.Kind]-0.25:
				t.Errorf("%s of kind %s: %.2f of it is left", u.ID, u.Kind, share)
			}
		}
	})
	t.Run("discard_low_rel", func(t *testing.T) {
		t.Parallel()
		for _, detail := range []string{limits.PlaceholderBrief, limits.PlaceholderLinked} {
			c := only(limits.Default(), limits.DiscardLowRel)
			c.Placeholder = detail
			b := newBreaker(t, c)
			units := chat(20, 10)
			units[2].Text = "Bake the bread with flour, yeast and salt until the crust is brown.\n"
			units[4].Text, units[4].Priority = units[2].Text, limits.PriorityP1
			r := b.Break(units, "the parser reads the index", at(100), nil)
			gone, place := 0, -1
			for i, f := range r.Fates {
				if f.Action == limits.ActionDiscarded {
					gone, place = gone+1, f.Unit
				} else if f.Action != limits.ActionKept {
					t.Errorf("unit %d: %+v", i, f)
				}
			}
			if gone != 6 || len(r.Units) != 15 || r.Fates[2].Action != limits.ActionDiscarded || r.Fates[4].Action != limits.ActionKept || r.Fates[19].Action != limits.ActionKept {
				t.Fatalf("%d are gone of %+v", gone, r.Fates)
			}
			if u := r.Units[place]; u.Kind != limits.KindPlaceholder || u.ID != "discarded-placeholder" ||
				detail == limits.PlaceholderBrief && u.Text != "[Omitted low-relevance prior context]\n" ||
				detail == limits.PlaceholderLinked && !strings.HasPrefix(u.Text, "[Omitted – see archive: u") {
				t.Errorf("%+v", u)
			}
		}
	})
	t.Run("hybrid", func(t *testing.T) {
		t.Parallel()
		b := newBreaker(t, only(limits.Default(), limits.Hybrid))
		r := b.Break(chat(40, 12), "", at(2500), nil)
		if !r.Success || len(r.Steps) != 1 || r.Steps[0].Strategy != limits.Hybrid {
			t.Errorf("%d of %d: %+v", r.After, r.Before, r.Steps)
		}
	})
}

// TestB3_CodeStaysCode: code that was compressed parses as the same program, and its
// strings stay, also those that look like comments.
func TestB3_CodeStaysCode(t *testing.T) {
	t.Parallel()
	files := []string{"limits_test.go", "breaker.go", "strategies.go", "config.go"}
	b := newBreaker(t, limits.Default())
	var units []limits.Unit
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		units = append(units, limits.Unit{Kind: limits.KindCode, Name: name, Text: string(text)})
	}
	units = append(units, limits.Unit{Kind: limits.KindCode, Text: "s = \"// no comment\" // a comment\n"}) // of no known language
	b.Config = only(b.Config, limits.ContentChunking)
	r := b.Break(units, "", at(100), nil)
	smaller := 0
	for i, u := range r.Units {
		if i == len(files) {
			if u.Text != units[i].Text {
				t.Errorf("what is in no known language was changed: %q", u.Text)
			}
			continue
		}
		if printed(t, u.Text) != printed(t, units[i].Text) {
			t.Errorf("%s is another program", files[i])
		}
		if u.Tokens < b.Counter.Count(units[i].Text) {
			smaller++
		}
	}
	if smaller != len(files) {
		t.Errorf("%d of %d are smaller", smaller, len(files))
	}
}

// TestB3_CodeInMessages: blocks of code in a message are minified and stay whole;
// what is said around them is trimmed.
func TestB3_CodeInMessages(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, only(limits.Default(), limits.ContentChunking))
	code := "package x\n\n// f does nothing.\nfunc f() string {\n\treturn \"// no comment\" // a comment\n}\n"
	other := "SELECT 1 -- one\n"
	text := prose(1, 20) + "```go\n" + code + "```\n" + prose(2, 20) + "~~~ sql\n" + other + "~~~\nThat is all.\n" + "````text\n```\nopen\n"
	r := b.Break([]limits.Unit{{Kind: limits.KindMessage, Text: text}}, "", at(10), nil)
	got := r.Units[0].Text
	_, block, _ := strings.Cut(got, "```go\n")
	block, _, closed := strings.Cut(block, "```\n")
	if !closed || strings.Contains(block, "a comment") || printed(t, block) != printed(t, code) {
		t.Errorf("the code is now %q", block)
	}
	if !strings.Contains(got, "~~~ sql\n"+other+"~~~\n") || !strings.HasSuffix(got, "````text\n```\nopen\n") {
		t.Errorf("code of no known language was changed: %q", got)
	}
	if share := float64(r.After) / float64(r.Before); share > 0.65 || share < 0.4 {
		t.Errorf("%.2f of it is left", share)
	}
}

// printed is a Go program without its comments and layout.
func printed(t *testing.T, source string) string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "x.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(ast.Node) bool { return true })
	var out bytes.Buffer
	if err := printer.Fprint(&out, token.NewFileSet(), file); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestB10_Reward: the formula, by hand.
func TestB10_Reward(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		o    limits.Outcome
		want float64
	}{
		{limits.Outcome{Success: true, CoherenceDelta: -0.1, TokensReduced: 5000, OriginalTokens: 10_000, PriorityPreserved: 1, Millis: 100}, 1.3},
		{limits.Outcome{Success: true, PriorityPreserved: 0.5, OriginalTokens: 100, Millis: 500}, 1.1},
		{limits.Outcome{Success: true, UsedRecovery: true, CoherenceDelta: -0.2, TokensReduced: 90, OriginalTokens: 100, PriorityPreserved: 1, Millis: 600}, 0.61},
		{limits.Outcome{}, -1},
		{limits.Outcome{UsedRecovery: true}, -1.7},
		{limits.Outcome{UsedRecovery: true, Millis: 60_000}, -2},
		{limits.Outcome{Success: true, CoherenceDelta: 5}, 2},
	} {
		if got := test.o.Reward(); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%+v: %v, want %v", test.o, got, test.want)
		}
	}
}

// TestB11_Delay: waits double up to the cap, and attempts end.
func TestB11_Delay(t *testing.T) {
	t.Parallel()
	c := limits.Default()
	for tool, want := range map[string][]int{"": {0, 5, 10, -1}, "askQuestion": {0, 10, 20, 40, -1}} {
		for i, seconds := range want {
			got, again := c.RetryOf(tool).Delay(i + 1)
			if again != (seconds >= 0) || again && got != seconds {
				t.Errorf("%q, attempt %d: %d %t", tool, i+1, got, again)
			}
		}
	}
	if got, _ := (limits.Retry{MaxAttempts: 20, BaseSeconds: 5, MaxSeconds: 60}).Delay(15); got != 60 {
		t.Errorf("%d", got)
	}
}
