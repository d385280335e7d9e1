package session_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"hexapla/layers"
	"hexapla/session"
)

// packKinds are the ways of asking for packs that TestPrefix… compare.
func packKinds() []session.PackRequest {
	var all []session.PackRequest
	for _, layout := range []layers.Layout{layers.LayoutStablePrefix, layers.LayoutNarrativeFirst} {
		for _, total := range []int{1500, 4000, 20_000} {
			all = append(all, session.PackRequest{Budget: layers.Budget{Total: total}, Layout: layout, System: []session.SystemPart{{Name: "other", Text: "Be careful."}}})
		}
		all = append(all, session.PackRequest{Budget: layers.Budget{Total: 4000}, Layout: layout, Fill: true})
	}
	return all
}

// longSession has completed conversations and one in a tool loop.
func longSession(t *testing.T, s *session.Session) {
	t.Helper()
	for i := range 12 {
		talk(t, s, fmt.Sprintf("Why does the cache in internal/cache%d.go forget?", i), strings.Repeat(fmt.Sprintf("Entry %d is evicted too early. ", i), 30))
	}
	turns := []layers.Turn{{Role: layers.RoleUser, Text: "Look through all parts of the cache."}}
	for i := range 8 {
		turns = append(turns, layers.Turn{Role: layers.RoleAssistant, Text: fmt.Sprintf("Part %d evicts early, as it seems. ", i) + strings.Repeat("I look at the next. ", 30)})
	}
	if _, err := s.Record(t.Context(), session.RecordRequest{Turns: turns}); err != nil {
		t.Fatal(err)
	}
}

// keepsPrefix builds each kind of pack before and after something happens, and
// checks that it kept the epoch and the stable prefix.
func keepsPrefix(t *testing.T, s *session.Session, happens func()) (before, after []session.PackReply) {
	t.Helper()
	build := func() (replies []session.PackReply) {
		for _, req := range packKinds() {
			reply, err := s.BuildPack(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			replies = append(replies, reply)
		}
		return replies
	}
	before = build()
	happens()
	after = build()
	for i, req := range packKinds() {
		a, b := before[i].Pack, after[i].Pack
		if a.Epoch != b.Epoch || a.EpochReason != b.EpochReason || a.StableBytes != b.StableBytes {
			t.Errorf("%s of %d, fill %v: epoch %d (%s) and %d bytes became %d (%s) and %d", req.Layout, req.Budget.Total, req.Fill,
				a.Epoch, a.EpochReason, a.StableBytes, b.Epoch, b.EpochReason, b.StableBytes)
		}
		if !strings.HasPrefix(b.Text, a.Text[:a.StableBytes]) {
			t.Errorf("%s of %d, fill %v: the stable prefix of %d bytes moved", req.Layout, req.Budget.Total, req.Fill, a.StableBytes)
		}
	}
	return before, after
}

// TestPrefixHousekeeping: what the model says of conversations moves no prefix.
func TestPrefixHousekeeping(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	longSession(t, s)
	before, after := keepsPrefix(t, s, func() {
		for _, conversation := range []string{"c2", "c9", "c12", "c13"} {
			_, err := s.ApplyHousekeeping(t.Context(), conversation, layers.Housekeeping{LLM: layers.HousekeepingLLM{
				ResponseHeader: layers.Header{Topic: "eviction of " + conversation, Summary: "The cache evicts too early.", Outcome: layers.OutcomeOngoing},
				ContextSummary: "Eviction was looked into.",
				CurrentContext: &layers.CurrentContext{OverallNarrative: "The eviction of the cache is being repaired.", CurrentObjective: "repair " + conversation},
			}}, "")
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	for i := range before {
		if before[i].Pack.Text == after[i].Pack.Text {
			t.Errorf("%v: the housekeeping is not in the pack", packKinds()[i].Budget)
		}
	}
}

// TestPrefixToolBlob: an output that is stored beside the conversations moves
// nothing at all.
func TestPrefixToolBlob(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	longSession(t, s)
	before, after := keepsPrefix(t, s, func() {
		if _, err := s.RecordTool(t.Context(), session.ToolRequest{Tool: "Bash", Input: `{"command":"go test ./..."}`, Content: strings.Repeat("ok internal/cache3.go\n", 4000)}); err != nil {
			t.Fatal(err)
		}
	})
	for i := range before {
		if before[i].Pack.Text != after[i].Pack.Text {
			t.Errorf("%v: the text changed", packKinds()[i].Budget)
		}
	}
}

// TestPrefixClock: packs are the same to the last byte whatever the clock says.
func TestPrefixClock(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(int64(1_700_000_000_000))
	service := newService(session.Options{DataDir: t.TempDir(), Now: now.Load})
	defer service.Close()
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	longSession(t, s)
	for _, step := range []int64{1, 90_000, 86_400_000, 400 * 86_400_000, -500 * 86_400_000} {
		before, after := keepsPrefix(t, s, func() { now.Add(step) })
		for i := range before {
			if before[i].Checksum != after[i].Checksum {
				t.Errorf("%v: %d ms later it is another pack", packKinds()[i].Budget, step)
			}
		}
	}
}
