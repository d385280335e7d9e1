package session_test

import (
	"errors"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

func contextSaid(objective string) layers.Housekeeping {
	return layers.Housekeeping{LLM: layers.HousekeepingLLM{CurrentContext: &layers.CurrentContext{
		CurrentObjective: objective, OverallNarrative: "It is all about " + objective + ".", KeyAchievements: []string{objective + " begun"},
		ContextualState: "working on " + objective, NextSteps: []string{"finish " + objective},
	}}}
}

// TestH1_VersionsAndRollback: every version of layer 0 is kept with its distance
// from the one before; a rollback puts one in force again, is itself a version,
// and is undone the same way.
func TestH1_VersionsAndRollback(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	talk(t, s, "Please paint the fence.", "Painted.")
	say := func(objective string) session.HousekeepingReply {
		t.Helper()
		reply, err := s.ApplyHousekeeping(t.Context(), "", contextSaid(objective), "")
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	say("fences painted white")
	little := say("fences painted white today")
	if little.Swing != nil {
		t.Errorf("a word more is a swing: %+v", little.Swing)
	}
	swung, err := s.ApplyHousekeeping(t.Context(), "", layers.Housekeeping{LLM: layers.HousekeepingLLM{CurrentContext: &layers.CurrentContext{
		CurrentObjective: "quaternions for drones", OverallNarrative: "Rotors drift under wind load.", KeyAchievements: []string{"Gyroscope calibrated"},
		ContextualState: "tuning gains", NextSteps: []string{"Simulate gusts"},
	}}}, "")
	if err != nil {
		t.Fatal(err)
	}
	if swung.Swing == nil {
		t.Fatal("something else altogether is no swing")
	}
	if swung.Swing.Distance < session.DriftAlert || swung.Swing.To <= swung.Swing.From {
		t.Errorf("swing %+v", swung.Swing)
	}
	versions, more, err := s.ContextHistory(t.Context(), 0, 2)
	if err != nil || len(versions) != 2 || more != versions[1].Sequence {
		t.Fatalf("history %+v, %d, %v", versions, more, err)
	}
	if versions[0].Sequence != swung.Swing.To || versions[0].Distance != swung.Swing.Distance || versions[1].Sequence != swung.Swing.From {
		t.Errorf("the swing is from %d to %d, the history has %+v", swung.Swing.From, swung.Swing.To, versions)
	}
	rest, more, err := s.ContextHistory(t.Context(), more, 100)
	if err != nil || more != 0 || len(rest) < 2 || rest[0].Context.CurrentObjective != "fences painted white" || rest[len(rest)-1].Distance != 0 {
		t.Fatalf("the rest of the history: %+v, %d, %v", rest, more, err)
	}
	back, err := s.RollbackContext(t.Context(), versions[1].Sequence, "k")
	if err != nil || back.From != versions[0].Sequence || back.Context.CurrentObjective != "fences painted white today" {
		t.Fatalf("rollback %+v, %v", back, err)
	}
	again, err := s.RollbackContext(t.Context(), versions[1].Sequence, "k")
	if err != nil || again.Sequence != back.Sequence {
		t.Errorf("the same key: %+v, %v", again, err)
	}
	if text := pack(t, s, 4000).Pack.Text; !strings.Contains(text, "fences painted white today") || strings.Contains(text, "quaternions") {
		t.Errorf("after the rollback the pack has %s", text)
	}
	if forth, err := s.RollbackContext(t.Context(), versions[0].Sequence, ""); err != nil || forth.Context.CurrentObjective != "quaternions for drones" {
		t.Errorf("back again: %+v, %v", forth, err)
	}
	for _, to := range []int64{1, versions[0].Sequence + 1000} {
		if _, err := s.RollbackContext(t.Context(), to, ""); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("rollback to %d: %v", to, err)
		}
	}
	var bad *session.InvalidError
	for _, to := range []int64{0, -3} {
		if _, err := s.RollbackContext(t.Context(), to, ""); !errors.As(err, &bad) || bad.Path != "to" {
			t.Errorf("rollback to %d: %v", to, err)
		}
	}
	if _, _, err := s.ContextHistory(t.Context(), 0, 101); !errors.As(err, &bad) || bad.Limit != 100 {
		t.Errorf("a limit of 101: %v", err)
	}
}

// TestH21_FabricationsAreKeptOut: what nothing bears out is in neither header,
// summary nor layer 0, and is reported; what is true stays. A summary of which
// nothing is left is the rule's, and says so.
func TestH21_FabricationsAreKeptOut(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	query(t, s, "Why does internal/reader.go lose the last record of 4711?")
	run(t, s, "t1", "Bash", `{"command":"go test ./internal"}`, "--- FAIL: TestLast\n    reader_test.go:31: got 7, want 9\nFAIL\n", true)
	h := layers.Housekeeping{LLM: layers.HousekeepingLLM{
		ResponseHeader: layers.Header{Topic: "Lost record", KeyEntities: []string{"internal/reader.go", "internal/writer.go"}},
		ContextSummary: "TestLast in reader_test.go fails for 4711. The user said that speed matters most. It is 88.5 % done.",
		KeyDecisions:   []string{"Flush in internal/reader.go.", "Rewrite it with MegaReader."},
		CodeChanges:    []layers.CodeChange{{Files: []string{"internal/reader.go"}, ChangeType: "modify", Summary: "flushes"}, {Files: []string{"cmd/nowhere.go"}, ChangeType: "create", Summary: "new"}},
		CurrentContext: &layers.CurrentContext{CurrentObjective: "Keep the last record", OverallNarrative: "As c77 showed, all is lost.", KeyAchievements: []string{"TestLast is understood", "Coverage is 99.9 %"}},
	}}
	reply, err := s.ApplyHousekeeping(t.Context(), "", h, "")
	if err != nil {
		t.Fatal(err)
	}
	flagged := map[string]bool{}
	for _, f := range reply.Flags {
		flagged[f.Path+" "+f.Kind] = true
	}
	for _, want := range []string{
		"llm.responseHeader.keyEntities[1] path", "llm.contextSummary attribution", "llm.contextSummary number", "llm.keyDecisions[1] identifier",
		"llm.codeChanges[1].files path", "llm.currentContext.overallNarrative id", "llm.currentContext.keyAchievements[1] number",
	} {
		if !flagged[want] {
			t.Errorf("%s is not flagged: %+v", want, reply.Flags)
		}
	}
	if reply.Summary.Content != "TestLast in reader_test.go fails for 4711." || len(reply.Summary.KeyDecisions) != 1 || len(reply.Summary.CodeChanges) != 1 {
		t.Errorf("summary %+v", reply.Summary)
	}
	if c := reply.Summary.Confidence; c <= 0 || c >= 1 {
		t.Errorf("confidence %v", c)
	}
	text := pack(t, s, 4000).Pack.Text
	for _, lie := range []string{"writer.go", "speed matters", "88.5", "MegaReader", "nowhere", "c77", "99.9"} {
		if strings.Contains(text, lie) {
			t.Errorf("the pack has %q", lie)
		}
	}
	// What was said before stays when the model says more.
	more, err := s.ApplyHousekeeping(t.Context(), "", layers.Housekeeping{LLM: layers.HousekeepingLLM{OpenQuestions: []string{"Why 9?"}}}, "")
	if err != nil || len(more.Summary.KeyDecisions) != 1 || len(more.Summary.OpenQuestions) != 1 || more.Summary.Confidence != reply.Summary.Confidence {
		t.Errorf("after more: %+v, %v", more.Summary, err)
	}
	// Of a summary that is all fabricated nothing is used.
	talk(t, s, "Is it done?", "It is.")
	lie := layers.Housekeeping{LLM: layers.HousekeepingLLM{ContextSummary: "Everything was moved to pkg/zephyr/main.go."}}
	if reply, err = s.ApplyHousekeeping(t.Context(), "", lie, ""); err != nil || reply.Summary.Source != layers.SourceRule || len(reply.Flags) != 1 {
		t.Errorf("a fabricated summary: %+v, %+v, %v", reply.Summary, reply.Flags, err)
	}
}
