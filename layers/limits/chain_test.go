package limits_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers/limits"
)

// TestB4_Chain: strategies run in the order that is set, at most three rounds, each
// reported with its tokens before and after, and each goes on from the last.
func TestB4_Chain(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, limits.Default())
	var told []limits.PhaseName
	r := b.Break(chat(60, 12), "", at(1800), func(phase limits.PhaseName, _ limits.Strategy, _ int) { told = append(told, phase) })
	if !r.Success || len(r.Steps) < 3 || told[0] != limits.PhaseDetection || told[1] != limits.PhaseSummarizeOld {
		t.Fatalf("%+v, told %v", r.Steps, told)
	}
	tokens, place := r.Before, -1
	for _, s := range r.Steps {
		at := (s.Round-1)*5 + slices.Index(b.Config.Chain, s.Strategy)
		if s.Before != tokens || s.After >= s.Before || at <= place || s.Round > 3 {
			t.Errorf("%+v after %d tokens", s, tokens)
		}
		if !s.Undone {
			tokens = s.After
		}
		place = at
	}
	if tokens != r.After {
		t.Errorf("%d tokens, the steps come to %d", r.After, tokens)
	}
	b.Config.Chain = []limits.Strategy{limits.DiscardLowRel, limits.SummarizeOld}
	if r := b.Break(chat(60, 12), "", at(4000), nil); r.Steps[0].Strategy != limits.DiscardLowRel || r.Steps[1].Strategy != limits.SummarizeOld {
		t.Errorf("%+v", r.Steps)
	}
	b.Config.Chain = []limits.Strategy{limits.DiscardLowRel} // a little less with each round
	if r := b.Break(chat(60, 12), "", at(10), nil); len(r.Steps) != 3 || r.Steps[2].Round != 3 || r.Success {
		t.Errorf("%+v", r.Steps)
	}
	// Below the mark nothing is done, and what cannot be done ends.
	if r := b.Break(chat(3, 2), "", at(5000), nil); len(r.Steps) > 0 || !r.Success || r.Coherence != 1 {
		t.Errorf("%+v", r)
	}
	stuck := chat(20, 10)
	for i := range stuck {
		stuck[i].Priority = limits.PriorityP1
	}
	if r := b.Break(stuck, "", at(100), nil); r.Success || len(r.Steps) > 0 || r.P1Met != 20 {
		t.Errorf("%+v", r)
	}
}

// TestB5_Undone: a step that leaves too little of the meaning is taken back, and the
// next is tried.
func TestB5_Undone(t *testing.T) {
	t.Parallel()
	c := limits.Default()
	c.SummaryCoherence = 1
	b := newBreaker(t, c)
	units := chat(40, 10)
	for i := range 24 {
		units[i].Text = fmt.Sprintf("Bake bread number %d with flour, yeast and salt, and let the dough rest in a warm bowl. ", i) + prose(i, 6)
	}
	r := b.Break(units, "", at(3000), nil)
	undone := map[limits.Strategy]bool{}
	for i, s := range r.Steps {
		if s.Undone != (s.Coherence < map[bool]float64{true: 1, false: 0.6}[s.Strategy == limits.SummarizeOld || s.Strategy == limits.ContentChunking]) {
			t.Errorf("%+v", s)
		}
		if s.Undone && i+1 < len(r.Steps) && r.Steps[i+1].Before != s.Before {
			t.Errorf("step %d goes on from what was taken back", i+1)
		}
		undone[s.Strategy] = undone[s.Strategy] || s.Undone
	}
	if !undone[limits.SummarizeOld] || undone[limits.PrioritizeRecent] || len(r.Steps) < 2 {
		t.Errorf("%+v", r.Steps)
	}
	for i, f := range r.Fates {
		if f.Strategy == limits.SummarizeOld || f.Strategy == limits.ContentChunking {
			t.Errorf("unit %d: %+v", i, f)
		}
	}
}

// TestB6_Recovery: a fresh start is one summary of at most 500 tokens with priority
// 1 and what fits of that priority; truncation keeps the newest; an error keeps
// nothing.
func TestB6_Recovery(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, limits.Default())
	units := chat(60, 12)
	for i := 0; i < 60; i += 3 {
		units[i].Priority = limits.PriorityP1
	}
	limit := at(3500)
	r := b.Recover(slices.Clone(units), "", "TASK-7", limit, nil)
	head := r.Units[0]
	if !r.Success || r.After > limit.Warning || head.ID != "handover-fresh" || head.Priority != limits.PriorityP1 || head.Tokens > 500 || head.Tokens < 200 {
		t.Errorf("%d tokens: %+v", r.After, head)
	}
	if !strings.HasPrefix(head.Text, "Resuming from overflow:\n") || !strings.HasSuffix(head.Text, "Continue task TASK-7.\n") {
		t.Error(head.Text)
	}
	for _, u := range r.Units[1:] {
		if u.Priority != limits.PriorityP1 {
			t.Errorf("%+v stays", u)
		}
	}
	if r.P1Met == 0 || r.Fates[57].Action != limits.ActionKept || r.Fates[0].Action == limits.ActionKept {
		t.Errorf("%d of %d of priority 1", r.P1Met, r.P1)
	}
	told := chat(60, 12)
	told[7].Priority, told[7].Text = limits.PriorityP1, "Please never lose a record of the harbour.\n"
	if r := b.Recover(told, "", "", limit, nil); !strings.Contains(r.Handover, "never lose a record of the harbour") {
		t.Errorf("what the user wants is not in the handover: %s", r.Handover)
	}
	b.Config.RecoveryMode = limits.Truncate
	r = b.Recover(slices.Clone(units), "", "", limit, nil)
	if !r.Success || r.Fates[59].Action != limits.ActionKept || r.Fates[1].Action != limits.ActionDiscarded || r.Handover != "" {
		t.Errorf("%+v", r.Fates)
	}
	b.Config.RecoveryMode = limits.Fail
	if r = b.Recover(slices.Clone(units), "", "", limit, nil); r.Success || len(r.Units) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestB3_Laws: whatever the context: all units are accounted for, priority 1 stays to
// the byte, order stays, tokens add up, nothing gets larger, twice is the same.
func TestB3_Laws(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, limits.Default())
	rapid.Check(t, func(rt *rapid.T) {
		var units []limits.Unit
		for i := range rapid.IntRange(1, 30).Draw(rt, "units") {
			u := limits.Unit{ID: fmt.Sprint("u", i), Priority: rapid.IntRange(0, 3).Draw(rt, "priority"), Kind: rapid.SampledFrom(limits.Kinds()).Draw(rt, "kind")}
			switch rapid.IntRange(0, 3).Draw(rt, "text") {
			case 0:
				u.Text = rapid.String().Draw(rt, "any")
			case 1:
				u.Text, u.Name = "package x\n\n// "+prose(i, 3)+"func f() string { return \"// no\" }\n", "x.go"
			default:
				u.Text = prose(i, rapid.IntRange(0, 30).Draw(rt, "sentences"))
			}
			units = append(units, u)
		}
		c := limits.Default()
		c.Placeholder = rapid.SampledFrom([]string{limits.PlaceholderBrief, limits.PlaceholderLinked}).Draw(rt, "placeholder")
		c.RecoveryMode = rapid.SampledFrom([]limits.RecoveryMode{limits.FreshStart, limits.Truncate}).Draw(rt, "mode")
		b.Config, b.Meaning = c, newMeaning(t)
		limit := at(rapid.IntRange(100, 6000).Draw(rt, "limit"))
		about := rapid.SampledFrom([]string{"", "the parser reads the index", "面包"}).Draw(rt, "about")
		r := b.Break(slices.Clone(units), about, limit, nil)
		if again := b.Break(slices.Clone(units), about, limit, nil); !reflect.DeepEqual(r, again) {
			rt.Error("twice is not the same")
		}
		sum, before := 0, 0
		ids := map[string]bool{}
		for _, u := range r.Units {
			if u.Tokens != b.Counter.Count(u.Text) || ids[u.ID] {
				rt.Errorf("%q: %d tokens", u.ID, u.Tokens)
			}
			ids[u.ID] = true
			sum += u.Tokens
		}
		for _, u := range units {
			before += b.Counter.Count(u.Text)
		}
		if sum != r.After || before != r.Before || r.After > r.Before || r.Success != (r.After <= limit.Tokens) || len(r.Fates) != len(units) || r.P1 != r.P1Met {
			rt.Errorf("%d → %d, %d → %d: %t", before, sum, r.Before, r.After, r.Success)
		}
		place := -1
		for i, f := range r.Fates {
			if f.Unit < 0 || f.Unit >= len(r.Units) || (f.Action == limits.ActionKept) != (f.Strategy == "") {
				rt.Fatalf("unit %d: %+v", i, f)
			}
			if f.Action == limits.ActionKept {
				if r.Units[f.Unit].Text != units[i].Text || f.Unit <= place {
					rt.Errorf("unit %d is another, or elsewhere", i)
				}
				place = f.Unit
			}
		}
		if rec := b.Recover(slices.Clone(units), about, "t", limit, nil); rec.After > limit.Warning || !rec.Success {
			rt.Errorf("recovery: %d of %d", rec.After, limit.Warning)
		}
	})
}

func BenchmarkBreak50(b *testing.B) {
	breaker := newBreaker(b, limits.Default())
	units := chat(50, 20)
	units = units[:50]
	for b.Loop() {
		breaker.Meaning = newMeaning(b)
		if r := breaker.Break(slices.Clone(units), "", at(1500), nil); len(r.Steps) < 4 {
			b.Fatal(len(r.Steps))
		}
	}
}

func BenchmarkSummarize2000(b *testing.B) {
	breaker := newBreaker(b, limits.Default())
	units := chat(20, 12)
	b.ReportMetric(float64(limits.Count(units, breaker.Counter)), "tokens")
	for b.Loop() {
		breaker.Meaning = newMeaning(b)
		if breaker.Summarize(units, 300) == "" {
			b.Fatal("nothing")
		}
	}
}

func BenchmarkCount(b *testing.B) {
	breaker := newBreaker(b, limits.Default())
	units := chat(50, 20)
	for b.Loop() {
		limits.Count(units, breaker.Counter)
	}
}

func BenchmarkBreak10000(b *testing.B) {
	breaker := newBreaker(b, limits.Default())
	units := chat(10_000, 4)
	for i := range units {
		units[i].Text += fmt.Sprintf("handle_%d in file%d.go\n", i, i*31)
	}
	for b.Loop() {
		breaker.Meaning = newMeaning(b)
		breaker.Break(slices.Clone(units), "", at(5000), nil)
	}
}
