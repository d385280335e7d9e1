package digest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hexapla/internal/shareddata"
	reader "hexapla/internal/transcript"
	"hexapla/layers"
	"hexapla/layers/digest"
)

// account is what a recorded model said at the end of an exchange, as if it were
// housekeeping, and what was said and printed before it.
type account struct {
	name        string
	text        string
	user, other []string
}

func (u account) evidence() *digest.Evidence { return &digest.Evidence{User: u.user, Other: u.other} }

// recordedAccounts returns the final answers of the recorded sessions: true
// accounts of work, in a model's own words.
func recordedAccounts(t *testing.T) []account {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shareddata.Dir(t), "claude-code", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded sessions: %v", err)
	}
	var out []account
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, messages, _, err := reader.ReadAll(file, bytes.NewReader(data))
		if err != nil || beginsInTheMiddle(data) {
			continue // of another client, or without what the model saw before
		}
		var user, other []string
		worked := false // in this exchange
		for i, m := range messages {
			last := i+1 == len(messages) || messages[i+1].Role == layers.RoleUser && messages[i+1].Kind != layers.InputToolResponse
			report := m.Role == layers.RoleAssistant && len(m.Calls) == 0 && last && worked
			// What the client adds to a summary is not the model's.
			text, _, _ := strings.Cut(m.Text, "If you need specific details from before compaction")
			if (report || m.Compaction) && len(text) > 80 {
				out = append(out, account{fmt.Sprintf("%s:%d", filepath.Base(file), m.Line), text, user[:len(user):len(user)], other[:len(other):len(other)]})
			}
			if m.Role == layers.RoleUser && m.Kind != layers.InputToolResponse {
				worked = false
				if !m.Compaction {
					user = append(user, m.Text)
				}
				continue
			}
			other = append(other, m.Text)
			for _, call := range m.Calls {
				other = append(other, digest.Arguments(call.Input))
				worked = worked || call.Name == "Edit" || call.Name == "Write"
			}
			for _, result := range m.Results {
				other = append(other, result.Content)
			}
		}
	}
	return out
}

// beginsInTheMiddle tells that a transcript's first message follows one that is
// not in the file.
func beginsInTheMiddle(data []byte) bool {
	for line := range bytes.Lines(data) {
		var entry struct {
			Type       string
			ParentUUID string
		}
		if json.Unmarshal(line, &entry) == nil && (entry.Type == "user" || entry.Type == "assistant") {
			return entry.ParentUUID != ""
		}
	}
	return false
}

// TestTrueAccountsPass: of what models truly reported at the end of recorded
// exchanges, at most 2 of 100 claims are flagged.
func TestTrueAccountsPass(t *testing.T) {
	t.Parallel()
	claims, flagged, whole := 0, 0, 0
	accounts := recordedAccounts(t)
	kinds := map[string][2]int{}
	for _, u := range accounts {
		e, bad := u.evidence(), 0
		for _, c := range digest.ClaimsOf(u.text) {
			k := kinds[c.Kind]
			k[0]++
			claims++
			if !e.Holds(c) {
				bad++
				k[1]++
				flagged++
				t.Logf("%s: %s %q", u.name, c.Kind, c.Text)
			}
			kinds[c.Kind] = k
		}
		if bad > 0 {
			whole++
		}
	}
	t.Logf("%d accounts, %d claims, %d flagged in %d accounts; by kind: %v", len(accounts), claims, flagged, whole, kinds)
	if 50*flagged > claims {
		t.Errorf("%d of %d claims are flagged", flagged, claims)
	}
}

// TestFabricationsAreFlagged: into true accounts one hundred sentences are put
// that name what is nowhere in the exchange. At least 95 are flagged, and what
// is kept has none of these.
func TestFabricationsAreFlagged(t *testing.T) {
	t.Parallel()
	accounts := recordedAccounts(t)
	r := rand.New(rand.NewPCG(7, 11))
	syllables := []string{"ka", "ru", "ze", "mo", "ti", "lax", "dor", "bin", "sep", "qua"}
	word := func() string {
		return syllables[r.IntN(10)] + syllables[r.IntN(10)] + syllables[r.IntN(10)]
	}
	fabrications := []func() string{
		func() string { return fmt.Sprintf("I changed internal/%s/%s.go as well.", word(), word()) },
		func() string {
			return fmt.Sprintf("The new function %s%s does it.", word(), strings.ToUpper(word()[:1])+word())
		},
		func() string { return fmt.Sprintf("It now takes %d ms.", 3000+r.IntN(90_000_000)) },
		func() string { return fmt.Sprintf("The log says \"%s %s %s failed\".", word(), word(), word()) },
		func() string { return fmt.Sprintf("This goes back to c%d.", 90_000+r.IntN(9000)) },
		func() string { return fmt.Sprintf("The user said that %s must never be %s.", word(), word()) },
		func() string { return fmt.Sprintf("The user wants a %s for every %s.", word(), word()) },
		func() string { return fmt.Sprintf("See docs/%s.md for it.", word()) },
		func() string { return fmt.Sprintf("Coverage rose to %d.%d %%.", 100+r.IntN(900), r.IntN(100)+1000) },
		func() string { return fmt.Sprintf("The constant MAX_%s is set.", strings.ToUpper(word())) },
	}
	caught := 0
	for i := range 100 {
		u := accounts[r.IntN(len(accounts))]
		false_ := fabrications[i%len(fabrications)]()
		e := u.evidence()
		e.IDs = func(id string) bool { return len(id) < 5 }
		v := digest.Verify(layers.Housekeeping{LLM: layers.HousekeepingLLM{ContextSummary: "Done. " + false_ + " All is well."}}, e)
		if len(v.Flags) > 0 && !strings.Contains(v.Housekeeping.LLM.ContextSummary, false_) {
			caught++
		} else {
			t.Logf("passed: %s in %s", false_, u.name)
		}
		if !strings.Contains(v.Housekeeping.LLM.ContextSummary, "All is well.") {
			t.Errorf("a sentence that claims nothing was taken out: %q", v.Housekeeping.LLM.ContextSummary)
		}
	}
	t.Logf("%d of 100 flagged", caught)
	if caught < 95 {
		t.Errorf("%d of 100 fabrications are flagged", caught)
	}
}

// TestRuleSummariesAreTrue: of the statements in summaries that are extracted
// from the five longest recorded sessions, at least 95 of 100 are borne out by
// the conversation.
func TestRuleSummariesAreTrue(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(shareddata.Dir(t), "claude-code", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	size := func(file string) int64 {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(size(b), size(a)) })
	c := counter(t)
	statements, borneOut, summaries := 0, 0, 0
	for _, file := range files[:5] {
		for _, conversation := range recorded(t, file) {
			summary := digest.Summary(digest.Exchange{Conversation: conversation}, c)
			e := &digest.Evidence{}
			for _, turn := range conversation.Turns {
				if turn.Role == layers.RoleUser {
					e.User = append(e.User, turn.Text)
				}
				e.Other = append(e.Other, turn.Text)
				for _, call := range turn.Calls {
					e.Other = append(e.Other, digest.Arguments(call.Input))
				}
				for _, result := range turn.Results {
					e.Other = append(e.Other, result.Content)
				}
			}
			summaries++
			all := slices.Concat(strings.SplitAfter(summary.Content, ". "), summary.KeyDecisions, summary.OpenQuestions)
			for _, change := range summary.CodeChanges {
				all = append(all, strings.Join(change.Files, " ")+" "+change.Summary)
			}
			for _, statement := range all {
				claims := digest.ClaimsOf(statement)
				if len(claims) == 0 {
					continue
				}
				statements++
				if i := slices.IndexFunc(claims, func(c digest.Claim) bool { return !e.Holds(c) }); i < 0 {
					borneOut++
				} else {
					t.Logf("%s %s: %+v in %q", filepath.Base(file), conversation.ID, claims[i], statement)
				}
			}
		}
	}
	t.Logf("%d of %d statements with a claim in %d summaries are borne out", borneOut, statements, summaries)
	if summaries == 0 || 100*borneOut < 95*statements {
		t.Errorf("%d of %d statements in %d summaries", borneOut, statements, summaries)
	}
}
