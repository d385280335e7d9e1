package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// work records n completed conversations with tool calls and leaves a long one
// in progress.
func work(t *testing.T, s *session.Session, n int) {
	t.Helper()
	for i := range n {
		if _, err := s.Record(t.Context(), exchange(i)); err != nil {
			t.Fatal(err)
		}
	}
	record := func(turn layers.Turn, contents ...string) {
		t.Helper()
		if _, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{turn}, Contents: contents}); err != nil {
			t.Fatal(err)
		}
	}
	record(layers.Turn{Role: layers.RoleUser, Text: "The reader in internal/part0/reader0.go loses its last record when the input ends early, ticket 0, again."})
	for i := range 12 {
		id := fmt.Sprintf("t%d", i)
		record(layers.Turn{Role: layers.RoleAssistant, Text: fmt.Sprintf("Step %d: I look at part%d.", i, i),
			Calls: []layers.ToolCall{{ID: id, Name: "Read", Input: fmt.Sprintf(`{"path":"internal/part%d/file.go"}`, i)}}})
		var b strings.Builder
		for k := range 60 {
			fmt.Fprintf(&b, "func part%dStep%d() error { return flush(%d) }\n", i, k, k*i)
		}
		record(layers.Turn{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: id, Content: b.String()}}}, b.String())
	}
}

func audited(t *testing.T, s *session.Session) int {
	t.Helper()
	entries, _, err := s.Audit(t.Context(), session.AuditFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// find returns a candidate of the same names.
func find(pack *layers.Pack, c layers.Candidate) (layers.Candidate, bool) {
	i := slices.IndexFunc(pack.Candidates, func(o layers.Candidate) bool {
		return o.ID == c.ID && o.Full.Detail == c.Full.Detail && (o.Section == c.Section || c.Full.Detail == layers.FormDigest)
	})
	if i < 0 {
		return layers.Candidate{}, false
	}
	return pack.Candidates[i], true
}

// TestExplain: an explained pack is the pack; its candidates add up, are named
// once, and come in where they are said to; nothing is written.
func TestExplain(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	work(t, s, 22)
	before := pack(t, s, 3000)
	for _, total := range []int{3000, 1200, 9000} {
		req := session.PackRequest{Budget: layers.Budget{Total: total}}
		entries := audited(t, s)
		got, err := s.ExplainPack(t.Context(), req, true)
		if err != nil {
			t.Fatal(err)
		}
		if audited(t, s) != entries {
			t.Error("explaining a pack wrote to the audit log")
		}
		if again := pack(t, s, total); again.Checksum != got.Checksum {
			t.Errorf("total %d: another pack than is built", total)
		} else if total == 3000 && again.PrefixBytes != len(before.Pack.Text) {
			t.Errorf("explaining changed what the next pack is compared with")
		}
		checkCandidates(t, s, req, got.Pack)
	}
	if got, err := s.ExplainPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 3000}}, false); err != nil {
		t.Error(err)
	} else if slices.ContainsFunc(got.Pack.Candidates, func(c layers.Candidate) bool { return c.EntersAt != 0 }) {
		t.Error("totals were found that were not asked for")
	}
	var small *layers.BudgetError
	if _, err := s.ExplainPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 1}}, true); !errors.As(err, &small) {
		t.Errorf("a total of 1: %v", err)
	}
}

func checkCandidates(t *testing.T, s *session.Session, req session.PackRequest, pack *layers.Pack) {
	t.Helper()
	total, tokens, known, out := req.Budget.Total, 0, 0, 0
	seen := map[string]bool{}
	for _, c := range pack.Candidates {
		name := c.Section + " " + c.ID + " " + c.Full.Detail
		if seen[name] {
			t.Errorf("total %d: %s is listed twice", total, name)
		}
		seen[name] = true
		tokens += c.Shown.Tokens
		if !c.In() {
			out++
		}
		if c.EntersAt == 0 {
			continue
		}
		known++
		for at, want := range map[int]bool{c.EntersAt: true, c.EntersAt - 1: false} {
			req.Budget.Total = at
			reply, err := s.ExplainPack(t.Context(), req, false)
			var small *layers.BudgetError
			if errors.As(err, &small) && !want {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			o, ok := find(reply.Pack, c)
			if shown := ok && o.In(); shown != want {
				t.Errorf("total %d: %s comes in at %d, yet with %d shown is %v", total, name, c.EntersAt, at, shown)
			}
		}
	}
	if tokens != pack.Used() {
		t.Errorf("total %d: the candidates have %d tokens, the pack %d", total, tokens, pack.Used())
	}
	if known == 0 || total < 9000 && out == 0 {
		t.Errorf("total %d: %d of %d candidates come in somewhere, %d are out", total, known, len(pack.Candidates), out)
	}
}

// TestExplainScores: a candidate that was found by searching has its scores,
// from the cache too.
func TestExplainScores(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	talk(t, s, "Why does the quokka refuse the zeppelin?", "The quokka refuses the zeppelin because of its valve.")
	for i := range 26 {
		talk(t, s, fmt.Sprintf("Please rename part %d.", i), "Renamed.")
	}
	talk(t, s, "Does the quokka still refuse the zeppelin?", "I'll look.")
	for range 2 {
		got, err := s.ExplainPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 8000}}, false)
		if err != nil {
			t.Fatal(err)
		}
		hits := got.Scores["related:c28"]
		if len(hits) == 0 || hits[0].Conversation != "c1" || hits[0].Score <= 0 || hits[0].Parts.Lexical <= 0 {
			t.Fatalf("scores %+v", got.Scores)
		}
	}
}

// TestWhatIf: every answer is the pack that would be built, or why there is
// none; nothing is written and nothing is compared.
func TestWhatIf(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	work(t, s, 12)
	before := pack(t, s, 4000)
	entries := audited(t, s)
	req := session.WhatIfRequest{
		PackRequest: session.PackRequest{System: []session.SystemPart{{Name: "tools", Text: "Read, Bash"}}, Budget: layers.Budget{Reserved: 50}},
		Totals:      []int{10, 1500, 4000, 20000}, Models: []string{"gpt-4o", "claude-sonnet-4", "gpt-4", "o3"},
	}
	answers, err := s.WhatIf(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if len(answers) != 16 || audited(t, s) != entries {
		t.Fatalf("%d answers, %d audit entries", len(answers), audited(t, s))
	}
	if again := pack(t, s, 4000); again.PrefixBytes != len(before.Pack.Text) {
		t.Error("asking changed what the next pack is compared with")
	}
	for i, a := range answers {
		if a.Model != req.Models[i/4] || a.Total != req.Totals[i%4] {
			t.Fatalf("answer %d is of %s with %d", i, a.Model, a.Total)
		}
		one := req.PackRequest
		one.Model, one.Budget.Total = a.Model, a.Total
		built, err := s.BuildPack(t.Context(), one)
		var small *layers.BudgetError
		switch {
		case errors.As(err, &small):
			if a.TooSmall == nil || *a.TooSmall != *small {
				t.Errorf("%s with %d: %v, want %v", a.Model, a.Total, a.TooSmall, small)
			}
		case err != nil:
			t.Fatal(err)
		case a.Checksum != built.Checksum:
			t.Errorf("%s with %d: another pack", a.Model, a.Total)
		}
	}
	for _, bad := range []struct {
		totals []int
		models []string
		path   string
	}{
		{nil, nil, "budgets"}, {[]int{100, 0}, nil, "budgets[1]"}, {make([]int, 33), nil, "budgets"},
		{make([]int, 11), []string{"a", "b", "c"}, "budgets"},
	} {
		_, err := s.WhatIf(t.Context(), session.WhatIfRequest{Totals: bad.totals, Models: bad.models})
		var invalid *session.InvalidError
		if !errors.As(err, &invalid) || invalid.Path != bad.path || strings.Contains(invalid.Message, "at most") && invalid.Limit != 32 {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestDiff: what was added, removed and shown otherwise turns one pack into the
// other.
func TestDiff(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	work(t, s, 12)
	first := pack(t, s, 3000)
	if _, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{{Role: layers.RoleAssistant, Text: "Done so far."}}}); err != nil {
		t.Fatal(err)
	}
	second, smaller := pack(t, s, 3000), pack(t, s, 400)
	for _, c := range []struct {
		name                    string
		from, to                session.PackReply
		added, removed, changed bool
		reason                  string
	}{
		{"itself", first, first, false, false, false, session.DiffSame},
		{"a turn later", first, second, true, false, false, session.DiffAppend},
		{"in less room", second, smaller, true, true, true, session.DiffRequest},
	} {
		got, err := s.Diff(t.Context(), c.from.Checksum, c.to.Checksum)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Added) > 0 != c.added || len(got.Removed) > 0 != c.removed || len(got.Changed) > 0 != c.changed || got.Reason != c.reason {
			t.Errorf("%s: %q, added %+v, removed %+v, changed %+v", c.name, got.Reason, got.Added, got.Removed, got.Changed)
		}
		tokens := c.from.Pack.Used()
		for _, change := range slices.Concat(got.Added, got.Removed, got.Changed) {
			tokens += change.To.Tokens - change.From.Tokens
		}
		if tokens != c.to.Pack.Used() {
			t.Errorf("%s: the changes come to %d tokens, the pack has %d", c.name, tokens, c.to.Pack.Used())
		}
		if want := c.name == "a turn later"; want && got.PrefixBytes != len(first.Pack.Text) {
			t.Errorf("%s: %d bytes in common of %d", c.name, got.PrefixBytes, len(first.Pack.Text))
		}
	}
	for _, pair := range [][2]string{{first.Checksum, "none"}, {"none", first.Checksum}} {
		if _, err := s.Diff(t.Context(), pair[0], pair[1]); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("of an unknown pack: %v", err)
		}
	}
}
