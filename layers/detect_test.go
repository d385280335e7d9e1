package layers_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
)

// Work of conversations that plainly are of one kind.
var (
	bugHunt = layers.Work{Calls: 10, Tests: 7, Failed: 4, Reads: 3}
	coding  = layers.Work{Calls: 20, Edits: 12, Reads: 6, Tests: 2}
	looking = layers.Work{Calls: 12, Reads: 7, Searches: 5}
	chores  = layers.Work{Calls: 8, Upkeep: 6, Commands: 2}
	mixed   = layers.Work{Calls: 20, Edits: 4, Reads: 5, Searches: 2, Tests: 2, Commands: 7}
	idle    = layers.Work{Calls: 1, Reads: 1}
)

// TestH18_Choice: a profile is chosen by the kinds of calls in the newest
// conversations, when it was pointed to twice in a row, and the reason names the
// counts.
func TestH18_Choice(t *testing.T) {
	t.Parallel()
	profiles := layers.DefaultProfiles()
	for _, c := range []struct {
		name   string
		work   []layers.Work
		want   layers.ProfileName
		reason string
	}{
		{"nothing", nil, layers.ProfileBalanced, "no conversation is complete yet"},
		{"one conversation decides nothing", []layers.Work{bugHunt}, layers.ProfileBalanced, "no profile was pointed to 2 times in a row in the last conversation"},
		{"debugging", []layers.Work{bugHunt, bugHunt}, layers.ProfileDebugging, "8 of 20 calls of the last 2 conversations failed, 14 ran tests or checks"},
		{"code", []layers.Work{mixed, coding, coding, coding}, layers.ProfileCode, "36 of 60 calls of the last 3 conversations changed files"},
		{"exploration", []layers.Work{looking, looking, looking}, layers.ProfileExploration, "21 of 36 calls of the last 3 conversations read files, 15 searched"},
		{"maintenance", []layers.Work{chores, chores}, layers.ProfileMaintenance, "12 of 16 calls of the last 2 conversations used version control, 4 ran other commands"},
		{"none", []layers.Work{mixed, mixed}, layers.ProfileBalanced, "the 40 calls of the last 2 conversations speak for no profile with a score of 50"},
		{"too few calls", []layers.Work{idle, idle, idle}, layers.ProfileBalanced, "no profile was pointed to 2 times in a row in the last 3 conversations"},
		{
			"one conversation of another kind", []layers.Work{bugHunt, bugHunt, bugHunt, {Calls: 60, Edits: 60}}, layers.ProfileDebugging,
			"12 of 30 calls of the last 3 conversations failed, 21 ran tests or checks; no other was pointed to 2 times in a row in the conversation since",
		},
		{
			"two of another kind", []layers.Work{bugHunt, bugHunt, bugHunt, {Calls: 60, Edits: 60}, coding}, layers.ProfileCode,
			"72 of 90 calls of the last 3 conversations changed files",
		},
		{
			"quiet conversations change nothing", []layers.Work{bugHunt, bugHunt, idle, idle, idle, idle, idle}, layers.ProfileDebugging,
			"4 of 12 calls of the last 3 conversations failed, 7 ran tests or checks; no other was pointed to 2 times in a row in the 3 conversations since",
		},
	} {
		got := profiles.Choose(c.work)
		if got.Profile != c.want || got.Reason != c.reason {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, got.Profile, got.Reason, c.want, c.reason)
		}
		if len(got.Scores) != 4 {
			t.Errorf("%s: %d scores", c.name, len(got.Scores))
		}
	}
}

func drawWork(t *rapid.T) []layers.Work {
	return rapid.SliceOfN(rapid.SampledFrom([]layers.Work{bugHunt, coding, looking, chores, mixed, idle, {}}), 0, 40).Draw(t, "work")
}

// TestH18_ChoiceLaws: a choice is a matter of the newest conversations alone; it
// changes with a conversation only to what the work pointed to twice in a row;
// scores are from 0 to 100.
func TestH18_ChoiceLaws(t *testing.T) {
	t.Parallel()
	profiles := layers.DefaultProfiles()
	once := profiles
	once.InARow, once.LookBack = 1, 1
	rapid.Check(t, func(t *rapid.T) {
		work := drawWork(t)
		got := profiles.Choose(work)
		if again := profiles.Choose(work[max(0, len(work)-profiles.Reach()):]); again.Profile != got.Profile || again.Reason != got.Reason {
			t.Fatalf("%+v, by the newest alone %+v", got, again)
		}
		for _, s := range got.Scores {
			if s.Score < 0 || s.Score > 100 {
				t.Fatalf("score %+v", s)
			}
		}
		if len(work) < 2 {
			return
		}
		before := profiles.Choose(work[:len(work)-1])
		if got.Profile == before.Profile || got.Profile == layers.ProfileBalanced {
			return
		}
		for _, end := range []int{len(work), len(work) - 1} {
			if one := once.Choose(work[:end]); one.Profile != got.Profile {
				t.Fatalf("%s became %s, though the work until %d points to %s", before.Profile, got.Profile, end, one.Profile)
			}
		}
	})
}

// TestH18_EveryNumberIsASetting: members of a profile can be changed one by one;
// what is out of range is refused with its name and its limit.
func TestH18_EveryNumberIsASetting(t *testing.T) {
	t.Parallel()
	got, err := layers.ParseProfiles([]byte(`{"mode":"auto","debugging":{"resultCap":900,"weights":{"reads":-7}}}`), layers.DefaultProfiles())
	want := layers.DefaultProfiles()
	want.Mode, want.Debugging.ResultCap, want.Debugging.Weights.Reads = layers.ProfileAuto, 900, -7
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if policy := got.Policy(layers.ProfileDebugging, layers.DefaultPolicy()); policy.ResultCap != 900 || policy.DigestCap != layers.DefaultPolicy().DigestCap {
		t.Errorf("the policy is %+v", policy)
	}
	if got.Policy(layers.ProfileBalanced, layers.DefaultPolicy()) != layers.DefaultPolicy() {
		t.Error("balanced is not the policy as it is")
	}
	for _, c := range []struct {
		json, complaint string
		limit           int
	}{
		{`{"debugging":{"resultCap":49}}`, "profiles.debugging.resultCap is 49, must be from 50 to 1048576", 50},
		{`{"codeIntensive":{"activeMemory":11}}`, "profiles.codeIntensive.activeMemory is 11, must be from 1 to 10", 10},
		{`{"exploration":{"relatedCoveragePercent":101}}`, "profiles.exploration.relatedCoveragePercent is 101, must be from 0 to 100", 100},
		{`{"maintenance":{"weights":{"edits":1001}}}`, "profiles.maintenance.weights.edits is 1001, must be from -1000 to 1000", 1000},
		{`{"inARow":0}`, "profiles.inARow is 0, must be from 1 to 10", 1},
		{`{"lookBack":51}`, "profiles.lookBack is 51, must be from 1 to 50", 50},
		{`{"mode":"lazy"}`, "profiles.mode", 0},
		{`{"debugging":{"freshCap":1}}`, "freshCap", 0},
		{`{"debugging":{"resultCap":"x"}}`, "debugging.resultCap", 0},
		{`[]`, "profiles", 0},
	} {
		_, err := layers.ParseProfiles([]byte(c.json), layers.DefaultProfiles())
		if err == nil || !strings.Contains(err.Error(), c.complaint) {
			t.Errorf("%s: %v", c.json, err)
		}
		var over *layers.LimitError
		if errors.As(err, &over) != (c.limit != 0) || over != nil && over.Limit() != c.limit {
			t.Errorf("%s: limit of %v", c.json, err)
		}
	}
	if err := layers.DefaultProfiles().Check(); err != nil {
		t.Error(err)
	}
}
