package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"hexapla/rpc/wire"
)

// madeUpExplanation is a pack with a candidate of every kind.
func madeUpExplanation() *wire.PackExplainResult {
	add := func(id string, layer int, section, detail, full string, tokens, fullTokens int, reason, by string, entersAt int) wire.PackCandidate {
		return wire.PackCandidate{
			ID: id, Layer: layer, Section: section, Detail: detail, Tokens: tokens, FullDetail: full, FullTokens: fullTokens,
			Reason: reason, ReplacedBy: by, EntersAt: entersAt,
		}
	}
	r := &wire.PackExplainResult{
		Checksum: "0123456789abcdef0123456789abcdef", Sequence: 4711, Encoding: "estimate:o200k_base", Estimate: true,
		Tokens: wire.PackTokens{Total: 8000, Reserved: 1000, Available: 7000, Used: 3500},
		Profile: wire.ProfileState{
			Profile: "debugging", Mode: "auto", LaidOut: "balanced", LaidOutAt: 4000,
			Reason: "14 of 20 calls of the last 3 conversations ran tests or checks, 9 failed",
		},
		Candidates: []wire.PackCandidate{
			add("guardrails", -1, "system", "full", "full", 400, 400, "included", "", 500),
			add("heading", 2, "headers", "heading", "heading", 4, 4, "included", "", 300),
			add("rollup", 2, "headers", "rollup", "rollup", 40, 40, "included", "", 77),
		},
	}
	for i := range 30 {
		r.Candidates = append(r.Candidates, add(fmt.Sprintf("c%d", i+1), 2, "headers", "none", "header", 0, 35, "rollup", "rollup", 9000+10*i))
	}
	r.Candidates = append(r.Candidates,
		add("c31", 2, "headers", "header", "header", 35, 35, "included", "", 3000),
		add("c40", 3, "summaries", "none", "summary", 0, 150, "archive", "c40", 0),
		add("currentContext", 0, "currentContext", "full", "full", 120, 250, "budget", "", 77),
		add("names", 4, "names", "roster", "roster", 900, 900, "included", "", 2500),
		add("c45", 1, "activeMemory", "none", "summary", 0, 90, "unneeded", "", 0),
		add("c45#1", 1, "activeMemory", "full", "full", 60, 60, "included", "", 100_000_000),
		add("c45#2", 1, "activeMemory", "line", "full", 28, 1_234_567, "budget", "", 5000),
		add("c45#12345/12 of a very long name", 1, "activeMemory", "none", "full", 0, 2_000, "budget", "names", 123_456),
		add("related:c45", 5, "retrieved", "full", "full", 300, 300, "included", "", 4000),
		add("served:r4:1", 5, "retrieved", "none", "full", 0, 800, "budget", "c45", 12_000),
		add("c46#1", -1, "input", "full", "full", 20, 20, "included", "", 77),
	)
	r.Candidates[len(r.Candidates)-3].Scores = []wire.CandidateScore{{Conversation: "c3", Score: 0.731, Coverage: 0.5}}
	return r
}

func TestExplainTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for _, all := range []bool{false, true} {
		writeExplained(&b, "main", madeUpExplanation(), all)
		b.WriteString("\n")
	}
	writeExplained(&b, "empty", &wire.PackExplainResult{Encoding: "o200k_base"}, true)
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	golden(t, "explain/table.txt", b.String())
}
