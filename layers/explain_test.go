package layers_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
)

// name is what names a candidate: a digest moves with what it stands for.
type name struct{ id, section, detail string }

func nameOf(c layers.Candidate) name {
	if c.Full.Detail == layers.FormDigest {
		return name{c.ID, "", c.Full.Detail}
	}
	return name{c.ID, c.Section, c.Full.Detail}
}

// explained builds a pack with its candidates. It must be the same pack.
func explained(t *rapid.T, in layers.Input) *layers.Pack {
	plain, err := layers.Build(in)
	var small *layers.BudgetError
	if errors.As(err, &small) {
		in.Budget.Total = small.Smallest + rapid.IntRange(0, 60).Draw(t, "more")
		plain, err = layers.Build(in)
	}
	if err != nil {
		t.Fatal(err)
	}
	in.Explain = true
	pack, err := layers.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if layers.Checksum(plain.AppendCanonical(nil)) != layers.Checksum(pack.AppendCanonical(nil)) {
		t.Fatal("an explained pack is another pack")
	}
	return pack
}

// TestCandidates: everything that a pack could show is listed once, in or out,
// and what is in adds up to the pack.
func TestCandidates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		pack := explained(t, in)
		times := map[name]int{}
		tokens := 0
		for _, c := range pack.Candidates {
			if times[nameOf(c)]++; times[nameOf(c)] > 1 {
				t.Fatalf("%v is listed twice", nameOf(c))
			}
			if !c.In() {
				checkOut(t, c)
				continue
			}
			tokens += c.Shown.Tokens
			if c.By != "" || c.Reason == layers.Unneeded || !strings.Contains(pack.Text, c.Shown.Text) {
				t.Fatalf("%v is in, yet: %q by %q", nameOf(c), c.Reason, c.By)
			}
			if (c.Reason == layers.Included) != (c.Shown.Tokens == c.Full.Tokens) {
				t.Fatalf("%v has %d of %d tokens: %q", nameOf(c), c.Shown.Tokens, c.Full.Tokens, c.Reason)
			}
		}
		if tokens != pack.Used() {
			t.Fatalf("what is in has %d tokens, the pack %d", tokens, pack.Used())
		}
		for _, want := range wanted(in) {
			if times[want] != 1 {
				t.Fatalf("%v is listed %d times", want, times[want])
			}
		}
	})
}

func checkOut(t *rapid.T, c layers.Candidate) {
	if c.Reason == layers.Included || c.Reason == "" || c.Shown.Tokens != 0 {
		t.Fatalf("%v is out, yet: %q with %d tokens", nameOf(c), c.Reason, c.Shown.Tokens)
	}
	if c.Full.Tokens == 0 {
		t.Fatalf("%v would have no tokens", nameOf(c))
	}
}

// wanted is what any list of candidates of an input must name.
func wanted(in layers.Input) []name {
	out := []name{
		{layers.SectionCurrentContext, layers.SectionCurrentContext, layers.FormFull},
		{layers.SectionNames, layers.SectionNames, layers.FormRoster},
	}
	for _, item := range in.System {
		out = append(out, name{item.ID, layers.SectionSystem, layers.FormFull})
	}
	headers, _ := in.Source.Headers(0, 1<<30, false)
	for _, item := range headers {
		out = append(out, name{item.ID, layers.SectionHeaders, item.Form.Detail})
	}
	summaries, _ := in.Source.Summaries(0, 1<<30)
	for _, item := range summaries {
		out = append(out, name{item.ID, layers.SectionSummaries, item.Form.Detail})
	}
	for i, c := range in.Stream {
		input := len(c.Pieces)
		if i == len(in.Stream)-1 && !c.Done {
			for input > 0 && !c.Pieces[input-1].Answer {
				input--
			}
			out = append(out, name{c.ID, "", layers.FormDigest})
		}
		for k, p := range c.Pieces {
			section := layers.SectionActiveMemory
			if k >= input {
				section = layers.SectionInput
			}
			out = append(out, name{p.ID, section, p.Forms[0].Detail})
		}
		if c.Done {
			out = append(out, name{c.ID, layers.SectionActiveMemory, string(layers.DetailHeader)},
				name{c.ID, layers.SectionActiveMemory, string(layers.DetailSummary)})
		}
	}
	return out
}

// TestEntersAt: with the total that is named a candidate is shown, with one
// less it is not. Nothing that is out is said to come in below the pack's own
// total, nothing that is in above it.
func TestEntersAt(t *testing.T) {
	t.Parallel()
	const largest = 100_000_000
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		pack := explained(t, in)
		in.Budget = pack.Budget
		if err := layers.EntersAt(t.Context(), in, pack, 200, largest); err != nil {
			t.Fatal(err)
		}
		in.Explain = true
		shown := func(total int, of name) bool {
			in.Budget.Total = total
			pack, err := layers.Build(in)
			var small *layers.BudgetError
			if errors.As(err, &small) {
				return false
			}
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(pack.Candidates, func(c layers.Candidate) bool { return nameOf(c) == of && c.In() })
		}
		biggest := slices.Clone(pack.Candidates)
		slices.SortStableFunc(biggest, func(a, b layers.Candidate) int { return cmp.Compare(b.Full.Tokens, a.Full.Tokens) })
		for i, c := range biggest {
			switch {
			case c.EntersAt == 0:
				if known := c.In() || c.Reason == layers.DropBudget || c.Reason == layers.DropRollup; known && i < 200 && shown(largest, nameOf(c)) {
					t.Fatalf("of %v it is not known when it comes in", nameOf(c))
				}
			case c.In() != (c.EntersAt <= pack.Budget.Total):
				t.Fatalf("%v: in is %v with %d, said to come in at %d", nameOf(c), c.In(), pack.Budget.Total, c.EntersAt)
			case i%7 == 0 || c.Full.Detail == layers.FormDigest || c.Full.Detail == layers.FormRoster:
				if !shown(c.EntersAt, nameOf(c)) {
					t.Fatalf("%v is not shown with %d", nameOf(c), c.EntersAt)
				}
				if shown(c.EntersAt-1, nameOf(c)) {
					t.Fatalf("%v is shown with %d already", nameOf(c), c.EntersAt-1)
				}
			}
		}
	})
}
