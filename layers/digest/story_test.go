package digest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// trio is a short form of a conversation that changed a file.
func trio(n int, topic, result string) digest.Trio {
	file := fmt.Sprintf("internal/part%d/part.go", n)
	return digest.Trio{
		Header: layers.Header{ID: fmt.Sprint("c", n), Timestamp: int64(n) * 60_000, Topic: topic, Summary: result, Outcome: layers.OutcomeCompleted, KeyEntities: []string{file, fmt.Sprintf("runPart%d", n)}},
		Summary: layers.Summary{ConversationID: fmt.Sprint("c", n), Content: "Asked: " + topic + ". Result: " + result + ".",
			CodeChanges: []layers.CodeChange{{Files: []string{file}, ChangeType: "modify", Impact: "low"}}},
	}
}

func TestStoryRunsFromFirstToLast(t *testing.T) {
	t.Parallel()
	c := counter(t)
	var trios []digest.Trio
	for i := 1; i <= 60; i++ {
		trios = append(trios, trio(i, fmt.Sprintf("Build part %d of the importer", i), fmt.Sprintf("Added `runPart%d` with tests", i)))
	}
	cc := digest.CurrentContext(digest.Story{Trios: trios}, c)
	first, last := strings.Index(cc.OverallNarrative, "`runPart1`"), strings.Index(cc.OverallNarrative, "`runPart60`")
	if first < 0 || last < first {
		t.Errorf("the story does not run from the first to the last conversation: %q", cc.OverallNarrative)
	}
	if !strings.Contains(cc.CurrentObjective, "Build part 60") {
		t.Errorf("objective: %q", cc.CurrentObjective)
	}
	if got := cc.ActiveEntities.Files; len(got) == 0 || got[0] != "internal/part60/part.go" {
		t.Errorf("active files: %q", got)
	}
	if len(cc.KeyAchievements) == 0 || !strings.Contains(cc.KeyAchievements[len(cc.KeyAchievements)-1], "runPart60") {
		t.Errorf("achievements: %q", cc.KeyAchievements)
	}
	if cc.LastUpdated != 60*60_000 {
		t.Errorf("last updated %d", cc.LastUpdated)
	}
}

func TestStoryContinuesTheModelsWords(t *testing.T) {
	t.Parallel()
	c := counter(t)
	prev := layers.CurrentContext{
		OverallNarrative: "The user builds an importer for transcripts. The parser of `codex` files is done.",
		CurrentObjective: "Import Codex sessions.", KeyAchievements: []string{"Parser of `codex` files"},
		NextSteps: []string{"write tests"}, LastUpdated: 60_000, Source: layers.SourceHousekeeping,
	}
	cc := digest.CurrentContext(digest.Story{Previous: &prev, Trios: []digest.Trio{trio(1, "Told already", "Was told"), trio(2, "Fix the time zone of imports", "Fixed `parseTime`")}}, c)
	for _, want := range []string{"The user builds an importer for transcripts.", "Fixed `parseTime`"} {
		if !strings.Contains(cc.OverallNarrative, want) {
			t.Errorf("%q is not in %q", want, cc.OverallNarrative)
		}
	}
	if strings.Contains(cc.OverallNarrative, "Was told") {
		t.Errorf("told twice: %q", cc.OverallNarrative)
	}
	if !slices.Contains(cc.KeyAchievements, "Parser of `codex` files") || cc.Source != layers.SourceRule {
		t.Errorf("%+v", cc)
	}
	if same := digest.CurrentContext(digest.Story{Previous: &prev}, c); same.CurrentObjective != prev.CurrentObjective || !slices.Equal(same.NextSteps, prev.NextSteps) {
		t.Errorf("nothing happened, yet: %+v", same)
	}
}

// TestContentIsNotNeeded checks that a conversation reads the same whether its
// outputs are there in full or only compressed.
func TestContentIsNotNeeded(t *testing.T) {
	t.Parallel()
	c := counter(t)
	for _, raw := range recorded(t, sessions(t)[8]) {
		full, short := digest.Exchange{Conversation: raw}, digest.Exchange{Conversation: compressed(raw, c)}
		if a, b := digest.RenderSummary(digest.Summary(full, c), "c1"), digest.RenderSummary(digest.Summary(short, c), "c1"); a != b {
			t.Errorf("full:\n%scompressed:\n%s", a, b)
		}
		if a, b := digest.RenderHeader(digest.Header(full, c)), digest.RenderHeader(digest.Header(short, c)); a != b {
			t.Errorf("full: %scompressed: %s", a, b)
		}
	}
}

func TestEmptyConversationsAreNotTold(t *testing.T) {
	t.Parallel()
	c := counter(t)
	nothing := func(id, text string) digest.Trio {
		x := digest.Exchange{Conversation: layers.Conversation{ID: id, Turns: []layers.Turn{{Role: layers.RoleUser, Text: text}}}}
		return digest.Trio{Header: digest.Header(x, c), Summary: digest.Summary(x, c)}
	}
	trios := []digest.Trio{nothing("c1", "<command-name>/ide</command-name>"), trio(2, "Fix the parser", "Fixed `parse`"), nothing("c3", "<local-command-stdout>Bye</local-command-stdout>")}
	if got := digest.CurrentContext(digest.Story{Trios: trios}, c).OverallNarrative; strings.Contains(got, "/ide") || strings.Contains(got, "no text") || !strings.Contains(got, "Fixed `parse`") {
		t.Errorf("%q", got)
	}
}

func TestTrimNamesTheFields(t *testing.T) {
	t.Parallel()
	c := counter(t)
	long := strings.Repeat("Renamed `OldName` to `NewName` in many files because it was wrong. ", 30)
	h, fields := digest.TrimHeader(layers.Header{ID: "c1", Topic: "x", Summary: long}, c)
	if !slices.Equal(fields, []string{"summary"}) || h.Topic != "x" {
		t.Errorf("header: %q, %+v", fields, h)
	}
	decisions := []string{"one", "two"}
	s, fields := digest.TrimSummary(layers.Summary{ConversationID: "c1", Content: long, KeyDecisions: decisions}, c)
	if !slices.Equal(fields, []string{"content", "keyDecisions"}) && !slices.Equal(fields, []string{"content"}) {
		t.Errorf("summary: %q, %+v", fields, s)
	}
	if decisions[0] != "one" || decisions[1] != "two" {
		t.Error("the caller's list was changed")
	}
	if _, fields := digest.TrimCurrentContext(layers.CurrentContext{OverallNarrative: long, CurrentObjective: "short"}, c); !slices.Equal(fields, []string{"overallNarrative"}) {
		t.Errorf("layer 0: %q", fields)
	}
	if _, fields := digest.TrimSummary(layers.Summary{Content: "short"}, c); fields != nil {
		t.Errorf("nothing to trim: %q", fields)
	}
}
