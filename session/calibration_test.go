package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// TestCalibratedBudget: after twenty reports of a provider that counts 1.4
// tokens for one of ours and sends 5,000 of its own, no pack of a hundred is
// over a limit in the provider's tokens, and most of the limit is used. What was
// learned later does not change a pack of the past.
func TestCalibratedBudget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	for i := range 6 {
		talk(t, s, fmt.Sprintf("question %d", i), strings.Repeat(fmt.Sprintf("answer %d says that reader%d.go flushes. ", i, i), 150))
	}
	provider := func(counted int) int { return 5000 + counted*14/10 }
	report := func(req session.UsageReport) session.UsageReply {
		t.Helper()
		reply, err := s.ReportUsage(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	var learned session.UsageReply
	for i := range 20 {
		p := pack(t, s, 1000+i*300)
		learned = report(session.UsageReport{Model: "claude-x", Checksum: p.Checksum, PromptTokens: provider(p.Pack.Used())})
	}
	if f := learned.Fit; f.Factor < 1.38 || f.Factor > 1.42 || f.Overhead < 4900 || f.Overhead > 5100 || f.Band > 0.03 || f.Samples != 20 {
		t.Errorf("learned %+v", learned.Fit)
	}
	build := func(limit int) (session.PackReply, error) {
		return s.BuildPack(t.Context(), session.PackRequest{
			Budget: layers.Budget{Total: limit}, Unit: session.UnitProvider, Model: "claude-x", Fill: true,
		})
	}
	var first session.PackReply
	for limit := 6500; limit < 8300; limit += 18 {
		p, err := build(limit)
		if err != nil {
			t.Fatal(err)
		}
		if n := provider(p.Pack.Used()); n > limit || n < limit*7/10 {
			t.Errorf("limit %d: the provider counts %d", limit, n)
		}
		first = p
	}
	_, err := build(5050)
	var small *layers.BudgetError
	if !errors.As(err, &small) || small.Smallest <= 5050 {
		t.Fatalf("a limit that the provider's own tokens fill: %v", err)
	}
	if _, err := build(small.Smallest); err != nil {
		t.Errorf("the smallest limit, %d, does not work: %v", small.Smallest, err)
	}
	report(session.UsageReport{Model: "claude-x", Counted: 1000, PromptTokens: 90_000})
	done()
	s, _ = open(t, dir)
	if again, err := s.Replay(t.Context(), first.Checksum); err != nil || again.Checksum != first.Checksum {
		t.Errorf("replay: %v", err)
	}
	for path, req := range map[string]session.UsageReport{
		"promptTokens": {Counted: 5}, "checksum": {PromptTokens: 5, Counted: 5, Checksum: strings.Repeat("0", 64)}, "countedTokens": {PromptTokens: 5, Counted: -1},
	} {
		var invalid *session.InvalidError
		if _, err := s.ReportUsage(t.Context(), req); !errors.As(err, &invalid) || invalid.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := s.ReportUsage(t.Context(), session.UsageReport{PromptTokens: 5, Checksum: strings.Repeat("0", 64)}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("of a pack that never was: %v", err)
	}
}
