package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/session"
)

func learned(t testing.TB, s *session.Session, req session.LearnedRequest) session.LearnedReply {
	t.Helper()
	reply, err := s.Learned(req)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// one is what was learned of one conversation.
func one(t testing.TB, s *session.Session, id string) session.Learned {
	t.Helper()
	return learned(t, s, session.LearnedRequest{Conversation: id}).Conversations[0]
}

// usesContext has the model say what it used in a conversation.
func usesContext(t testing.TB, s *session.Session, conversation string, used ...string) {
	t.Helper()
	var h layers.Housekeeping
	h.User.ContextUsed = used
	if _, err := s.ApplyHousekeeping(t.Context(), conversation, h, ""); err != nil {
		t.Fatal(err)
	}
}

// found returns the parts of the hits of a search, by conversation.
func found(t testing.TB, s *session.Session, query string, asOf int64) session.SearchReply {
	t.Helper()
	reply, err := s.Search(t.Context(), session.SearchRequest{Query: query, AsOf: asOf})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// TestH24_LearningFromEvents: each event counts once, for the conversation that
// it is about, survives a restart, and counts less as conversations go by.
func TestH24_LearningFromEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	for i := range 4 {
		talk(t, s, fmt.Sprintf("Look at part%d/widget%d.go and at mend%d_it please.", i+1, i+1, i+1), "Done.")
	}
	if r := learned(t, s, session.LearnedRequest{}); r.Total != 0 {
		t.Fatalf("of nothing: %+v", r)
	}
	expect := func(what string, want session.Learned) {
		t.Helper()
		got := one(t, s, want.Conversation)
		want.Usefulness, want.Last = got.Usefulness, got.Last
		if got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	ask(t, s, "c1", "c1#2", "c2", "c77")
	expect("asked for, as a whole and in part", session.Learned{Conversation: "c1", Asked: 1, Visits: 1})
	ask(t, s, "c1")
	expect("asked for again", session.Learned{Conversation: "c1", Asked: 1, ReAsked: 1, Visits: 2})
	if _, err := s.RequestContext(t.Context(), session.ContextRequest{Retrieve: []session.Retrieve{{Query: "mend3_it widget3.go", Limit: 1}}}); err != nil {
		t.Fatal(err)
	}
	expect("found for a query", session.Learned{Conversation: "c3", Served: 1})
	id := talk(t, s, "What now?", "That.")
	ask(t, s, "c2", "c3")
	usesContext(t, s, id, "c2#1 says it", "part1/widget1.go")
	expect("used", session.Learned{Conversation: "c2", Asked: 2, Used: 1, Visits: 3})
	expect("served and not used", session.Learned{Conversation: "c3", Served: 1, Asked: 1, Unused: 1, Visits: 1})
	before := one(t, s, "c2")
	usesContext(t, s, id, "c2")
	if got := one(t, s, "c2"); got != before {
		t.Errorf("the same account again: %+v, want %+v", got, before)
	}
	ask(t, s, "c4")
	usesContext(t, s, id, "c2")
	expect("served after the first account", session.Learned{Conversation: "c4", Asked: 1, Visits: 1})
	talk(t, s, "Once more mend4_it in widget4.go", "Done.")
	expect("come back to by what it is about", session.Learned{Conversation: "c4", Asked: 1, Returned: 1, Visits: 2})
	talk(t, s, "As in c4, but for the other one, widget1.go", "Done.")
	expect("come back to by name", session.Learned{Conversation: "c4", Asked: 1, Returned: 2, Visits: 3})
	// What was asked for again waited for the next turn, was served, and not used.
	expect("one file in common is no return", session.Learned{Conversation: "c1", Asked: 1, ReAsked: 1, Unused: 1, Visits: 2})

	all := learned(t, s, session.LearnedRequest{})
	done()
	s, _ = open(t, dir)
	if again := learned(t, s, session.LearnedRequest{}); fmt.Sprint(again) != fmt.Sprint(all) || all.Total != 4 {
		t.Errorf("after a restart: %+v, want %+v", again, all)
	}
	for i := 1; i < len(all.Conversations); i++ {
		if all.Conversations[i].Usefulness > all.Conversations[i-1].Usefulness {
			t.Errorf("out of order: %+v", all.Conversations)
		}
	}
	useful, useless := one(t, s, "c2").Usefulness, one(t, s, "c3").Usefulness
	if useful <= 0.5 || useless >= 0.5 {
		t.Errorf("useful %v, useless %v", useful, useless)
	}
	for range 64 {
		talk(t, s, "next", "Done.")
	}
	if later := one(t, s, "c2").Usefulness; later >= useful || later <= 0.5 {
		t.Errorf("64 conversations later %v, first %v", later, useful)
	}
}

// TestH24_LearningRanks: without events scores have no learned part; with them
// the more useful of two equals comes first; a search as of before does not know
// of it; a reset takes it back.
func TestH24_LearningRanks(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	for range 3 {
		talk(t, s, "The quokka has a valve.", "It has.")
	}
	plain := found(t, s, "quokka valve", 0)
	if plain.Hits[0].Conversation != "c3" {
		t.Fatalf("the newest is not first: %+v", plain.Hits)
	}
	for _, hit := range plain.Hits {
		if hit.Parts.Usefulness != 0 || hit.Parts.Visits != 0 {
			t.Errorf("learned of nothing: %+v", hit.Parts)
		}
	}
	for range 3 {
		id := talk(t, s, "next", "Done.")
		usesContext(t, s, id, "c1")
	}
	after := found(t, s, "quokka valve", 0)
	if after.Hits[0].Conversation != "c1" || after.Hits[0].Parts.Usefulness <= 0.5 || after.Hits[0].Parts.Visits != 0.6 || after.Hits[1].Parts.Usefulness != 0.5 {
		t.Errorf("what was used is not first: %+v", after.Hits)
	}
	if again := found(t, s, "quokka valve", plain.Sequence); fmt.Sprint(again.Hits) != fmt.Sprint(plain.Hits) {
		t.Errorf("as of before: %+v, want %+v", again.Hits, plain.Hits)
	}
	reply, err := s.ForgetLearned(t.Context(), session.ForgetRequest{Conversation: "c1", Key: "k"})
	if err != nil || reply.Forgotten != 3 {
		t.Fatalf("%+v, %v", reply, err)
	}
	if again, err := s.ForgetLearned(t.Context(), session.ForgetRequest{Conversation: "c1", Key: "k"}); err != nil || again != reply {
		t.Errorf("the same key: %+v, %v", again, err)
	}
	if got := one(t, s, "c1"); got != (session.Learned{Conversation: "c1", Usefulness: 0.5}) {
		t.Errorf("after a reset: %+v", got)
	}
	if got := found(t, s, "quokka valve", after.Sequence); fmt.Sprint(got.Hits) != fmt.Sprint(after.Hits) {
		t.Errorf("as of before the reset: %+v, want %+v", got.Hits, after.Hits)
	}
	usesContext(t, s, talk(t, s, "next", "Done."), "c2")
	if reply, err := s.ForgetLearned(t.Context(), session.ForgetRequest{}); err != nil || reply.Forgotten != 4 {
		t.Errorf("all: %+v, %v", reply, err)
	}
	r := learned(t, s, session.LearnedRequest{})
	if r.Total != 0 || r.Reset != r.Sequence {
		t.Errorf("after a reset of all: %+v", r)
	}
	if hit := found(t, s, "quokka valve", 0).Hits[0]; hit.Conversation != "c3" || hit.Parts.Usefulness != 0 {
		t.Errorf("after a reset of all: %+v", hit)
	}
	if reply, err := s.ForgetLearned(t.Context(), session.ForgetRequest{}); err != nil || reply.Forgotten != 0 || reply.Sequence != r.Sequence {
		t.Errorf("a reset of nothing writes: %+v, %v", reply, err)
	}
	for _, req := range []session.LearnedRequest{{Conversation: "c99"}, {AsOf: 1 << 40}} {
		if _, err := s.Learned(req); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%+v: %v", req, err)
		}
	}
	if _, err := s.ForgetLearned(t.Context(), session.ForgetRequest{Conversation: "c99"}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	var bad *session.InvalidError
	if _, err := s.Learned(session.LearnedRequest{Limit: 201}); !errors.As(err, &bad) || bad.Limit != 200 {
		t.Errorf("limit: %v", err)
	}
}

// TestH24_LearningKeepsOldPacks: packs that found related conversations are built
// again with what had been learned then, whatever was learned and forgotten since.
func TestH24_LearningKeepsOldPacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	for range 3 {
		talk(t, s, "Why does the quokka refuse the zeppelin?", "The quokka refuses the zeppelin because of its valve.")
	}
	for i := range 26 {
		talk(t, s, fmt.Sprintf("Please rename part %d.", i), "Renamed.")
	}
	var checksums []string
	step := func(first string) {
		t.Helper()
		id := talk(t, s, "Does the quokka still refuse the zeppelin?", "I'll look.")
		built := pack(t, s, 8000)
		checksums = append(checksums, built.Checksum)
		if _, related, _ := strings.Cut(unmarked(built.Pack.Text), "### related to "+id+"\n"); !strings.HasPrefix(related, first+": ") {
			t.Errorf("%s is not the first that is related to %s: %.300s", first, id, related)
		}
	}
	step("c3")
	usesContext(t, s, talk(t, s, "next", "Done."), "c1")
	step("c1")
	if _, err := s.ForgetLearned(t.Context(), session.ForgetRequest{}); err != nil {
		t.Fatal(err)
	}
	step("c3")
	done()
	s, _ = open(t, dir)
	for i, checksum := range checksums {
		if reply, err := s.Replay(t.Context(), checksum); err != nil || reply.Checksum != checksum {
			t.Errorf("pack %d: %s, %v", i, reply.Checksum, err)
		}
	}
}

// TestH24_LearningLaws: whatever happens, usefulness is in (0,1), grows with what
// was of use and falls with what was not; and it is, as of each sequence, what it
// was then.
func TestH24_LearningLaws(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	talk(t, s, "The quokka has a valve.", "It has.")
	talk(t, s, "Another matter.", "Yes.")
	rapid.Check(t, func(rt *rapid.T) {
		if _, err := s.ForgetLearned(t.Context(), session.ForgetRequest{}); err != nil {
			rt.Fatal(err)
		}
		then := []session.LearnedReply{learned(t, s, session.LearnedRequest{Conversation: "c1"})}
		for _, event := range rapid.SliceOfN(rapid.SampledFrom([]string{"used", "unused", "asked", "next"}), 1, 8).Draw(rt, "events") {
			id := talk(t, s, "next", "Done.")
			switch event {
			case "used":
				usesContext(t, s, id, "c1")
			case "unused":
				if _, err := s.RequestContext(t.Context(), session.ContextRequest{Retrieve: []session.Retrieve{{Query: "quokka", Limit: 1}}}); err != nil {
					rt.Fatal(err)
				}
				usesContext(t, s, id, "c2")
			case "asked":
				ask(t, s, "c1")
			}
			then = append(then, learned(t, s, session.LearnedRequest{Conversation: "c1"}))
			before, after := then[len(then)-2].Conversations[0].Usefulness, then[len(then)-1].Conversations[0].Usefulness
			if after <= 0 || after >= 1 || (event == "used" || event == "asked") && after <= before && before < 0.6 || event == "unused" && after >= before {
				rt.Fatalf("%s: from %v to %v", event, before, after)
			}
		}
		for _, want := range then {
			if got := learned(t, s, session.LearnedRequest{Conversation: "c1", AsOf: want.Sequence}); fmt.Sprint(got) != fmt.Sprint(want) {
				rt.Fatalf("as of %d: %+v, want %+v", want.Sequence, got, want)
			}
		}
	})
}

// TestReAskedSaysWhere: what is asked for again is marked with the place in the
// pack or the answer where it stands.
func TestReAskedSaysWhere(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	for i := range 3 {
		talk(t, s, fmt.Sprintf("question %d", i), fmt.Sprintf("answer %d", i))
	}
	request := func(req ...session.Retrieve) session.ContextReply {
		t.Helper()
		reply, err := s.RequestContext(t.Context(), session.ContextRequest{Retrieve: req})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if item := request(session.Retrieve{IDs: []string{"c1"}}).Items[0]; item.Stands != nil || item.Found != nil {
		t.Errorf("for the first time: %+v", item)
	}
	if item := request(session.Retrieve{IDs: []string{"c1"}}).Items[0]; item.Stands == nil || *item.Stands != (session.Standing{ID: "served:r1:1"}) {
		t.Errorf("for the second time: %+v", item.Stands)
	}
	built := pack(t, s, 8000)
	for _, id := range []string{"c2#1", "c2"} {
		item := request(session.Retrieve{IDs: []string{id}}).Items[0]
		if item.Stands == nil {
			t.Fatalf("%s is in the pack", id)
		}
		there := false
		for _, section := range built.Pack.Sections {
			for _, it := range section.Items {
				there = there || section.Name == item.Stands.Section && it.ID == item.Stands.ID && it.ID == "c2#1"
			}
		}
		if !there {
			t.Errorf("%s stands in %+v", id, *item.Stands)
		}
	}
	item := request(session.Retrieve{Query: "question 2", Limit: 1, Format: layers.DetailHeader}).Items[0]
	if item.Found == nil || item.Found.Conversation != item.ID || item.Found.Parts.Lexical != 1 {
		t.Errorf("found for a query: %+v", item.Found)
	}
}
