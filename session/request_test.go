package session_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/session"
)

// request asks for ids in a detail.
func request(t checker, s *session.Session, most int, detail layers.Detail, ids ...string) session.ContextReply {
	t.Helper()
	reply, err := s.RequestContext(t.Context(), session.ContextRequest{MaxTokens: most, Retrieve: []session.Retrieve{{IDs: ids, Format: detail}}})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func long(word string) string { return strings.Repeat("The "+word+" says so. ", 60) }

// TestH13_DeferredIsServed: what the quota could not serve waits in the store,
// over a restart, is served with the next turn, oldest first, and stands in the
// next pack.
func TestH13_DeferredIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	var ids []string
	for i := range 6 {
		ids = append(ids, talk(t, s, fmt.Sprintf("question %d", i), long(fmt.Sprintf("walrus%d", i))))
	}
	reply := request(t, s, 100_000, layers.DetailFull, ids...)
	if len(reply.Items) != 3 || len(reply.Deferred) != 3 || reply.Deferred[0].Deferral != "d1" || reply.Deferred[2].Deferral != "d3" {
		t.Fatalf("%+v", reply)
	}
	if again := request(t, s, 100_000, layers.DetailFull, "c4"); len(again.Deferred) != 1 || again.Deferred[0].Deferral != "d1" {
		t.Errorf("asked again it waits as %+v", again.Deferred)
	}
	done()
	s, _ = open(t, dir)
	list, _, err := s.Deferrals()
	if err != nil || len(list) != 3 || list[0].Asked != "c4" || list[0].Left != 5 || list[0].Reason != session.DeferredQuota {
		t.Fatalf("%+v, %v", list, err)
	}
	if got, err := s.CancelDeferrals(t.Context(), []string{"d2"}, "k"); err != nil || !slices.Equal(got.Cancelled, []string{"d2"}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := s.CancelDeferrals(t.Context(), []string{"d2"}, ""); err == nil {
		t.Error("a deferral was cancelled twice")
	}
	record, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{{Role: layers.RoleUser, Text: "go on"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(record.ServedDeferred) != 2 || record.ServedDeferred[0].ID != "c4" || record.ServedDeferred[0].Deferral != "d1" || record.ServedDeferred[1].ID != "c6" {
		t.Fatalf("%+v", record.ServedDeferred)
	}
	if text := pack(t, s, 20_000).Pack.Text; !strings.Contains(text, "### retrieved c4 full") || !strings.Contains(text, "### retrieved c6 full") {
		t.Errorf("the pack has not what was served late:\n%s", text)
	}
	if list, _, err = s.Deferrals(); err != nil || len(list) != 0 {
		t.Errorf("%+v wait still, %v", list, err)
	}
}

// TestH13_DeferredExpires: what waits for too many turns is reported once.
func TestH13_DeferredExpires(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	for i := range 4 {
		talk(t, s, fmt.Sprintf("question %d", i), long(fmt.Sprintf("walrus%d", i)))
	}
	reply, err := s.RequestContext(t.Context(), session.ContextRequest{
		MaxTokens: 100_000, DeferTurns: 1, Retrieve: []session.Retrieve{{IDs: []string{"c1", "c2", "c3", "c4"}, Format: layers.DetailFull}},
	})
	if err != nil || len(reply.Deferred) != 1 {
		t.Fatalf("%+v, %v", reply, err)
	}
	record, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{{Role: layers.RoleUser, Text: "a"}, {Role: layers.RoleAssistant, Text: "b"}}})
	if err != nil || len(record.Expired) != 1 || record.Expired[0].Asked != "c4" || len(record.ServedDeferred) != 0 {
		t.Errorf("%+v, %v", record, err)
	}
	again := request(t, s, 1000, layers.DetailHeader, "c1")
	if len(again.Expired) != 0 {
		t.Errorf("it expires again: %+v", again.Expired)
	}
}

// TestH13_HotFull: what the pack shows in full is answered by where it stands,
// at no cost, until an edit.
func TestH13_HotFull(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	for i := range 9 {
		talk(t, s, fmt.Sprintf("question %d", i), long(fmt.Sprintf("walrus%d", i)))
	}
	request(t, s, 100_000, layers.DetailFull, "c1")
	pack(t, s, 50_000)
	talk(t, s, "and then?", "so")
	for range 5 {
		reply := request(t, s, 100_000, layers.DetailFull, "c1")
		if len(reply.Items) != 1 || reply.Items[0].InContext != "served:r1:1" || reply.Items[0].Tokens != 0 {
			t.Fatalf("%+v", reply)
		}
	}
	if _, err := s.Edit(t.Context(), session.EditRequest{Conversation: "c1", Turn: 1, Text: text("another question")}); err != nil {
		t.Fatal(err)
	}
	if reply := request(t, s, 100_000, layers.DetailFull, "c1"); len(reply.Items) != 1 || !strings.Contains(reply.Items[0].Text, "another question") {
		t.Errorf("after an edit: %+v", reply)
	}
}

// TestH6_MixedIsTheCheapest: a question is answered by the least detail that
// holds its words, or by passages, best first, page by page.
func TestH6_MixedIsTheCheapest(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	turns := []layers.Turn{{Role: layers.RoleUser, Text: "Why does the barometer drift?"}}
	for i := range 30 {
		body := long(fmt.Sprintf("filler%d", i))
		if i%10 == 3 {
			body += fmt.Sprintf("\nThe altimeter offset is in calibration%d, by offset%d here.\n", i, i) + long("rest")
		}
		turns = append(turns, layers.Turn{Role: layers.RoleAssistant, Text: body})
	}
	if _, err := s.Record(t.Context(), session.RecordRequest{Turns: turns, Done: true}); err != nil {
		t.Fatal(err)
	}
	mixed := func(query, cursor string, most int) session.ConversationReply {
		t.Helper()
		got, err := s.Conversation(session.ConversationRequest{Conversation: "c1", Detail: layers.DetailMixed, Query: query, Cursor: cursor, MaxTokens: most})
		if err != nil {
			t.Fatal(err)
		}
		if got.Tokens > most {
			t.Errorf("%d tokens of %d", got.Tokens, most)
		}
		return got
	}
	if got := mixed("why the barometer drifts", "", 2000); got.Detail != layers.DetailHeader || got.Covered != 1 {
		t.Errorf("the header holds it, the answer is %s, covered %v", got.Detail, got.Covered)
	}
	got := mixed("where is the altimeter offset?", "", 60)
	if got.Detail != layers.DetailMixed || got.Cursor == "" || got.Covered == 0 || !strings.Contains(got.Text, "The altimeter offset is in") {
		t.Fatalf("%+v", got)
	}
	seen := got.Text
	for pages := 1; got.Cursor != ""; pages++ {
		if pages > 40 {
			t.Fatal("the pages do not end")
		}
		got = mixed("where is the altimeter offset?", got.Cursor, 60)
		seen += got.Text
	}
	for _, i := range []int{3, 13, 23} {
		if strings.Count(seen, fmt.Sprintf("offset%d ", i)) != 1 {
			t.Errorf("offset%d stands %d times in all pages", i, strings.Count(seen, fmt.Sprintf("offset%d ", i)))
		}
	}
	ask := func(cursor string) session.ContextItem {
		t.Helper()
		reply, err := s.RequestContext(t.Context(), session.ContextRequest{MaxTokens: 60, Retrieve: []session.Retrieve{
			{IDs: []string{"c1"}, Format: layers.DetailMixed, Query: "altimeter offset", Cursor: cursor},
		}})
		if err != nil || len(reply.Items) != 1 {
			t.Fatalf("%+v, %v", reply, err)
		}
		return reply.Items[0]
	}
	first := ask("")
	second := ask(first.Cursor)
	if first.Text == second.Text || first.Detail != layers.DetailMixed {
		t.Errorf("the cursor gives the same:\n%s\n%s", first.Text, second.Text)
	}
	if text := pack(t, s, 30_000).Pack.Text; !strings.Contains(text, first.Text) || !strings.Contains(text, second.Text) {
		t.Errorf("the pack has not the passages:\n%s", text)
	}
}

// TestH13_RequestsHold: whatever is asked for, an answer keeps to its tokens and
// to three fulls a turn, everything is served, deferred or reported, and nothing
// is served twice in one answer.
func TestH13_RequestsHold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	holds(t, counted(t, lawCases, 40), func(r *rapid.T) {
		dir, err := os.MkdirTemp(folder, "")
		if err != nil {
			r.Fatal(err)
		}
		s, done := openFor(r, dir)
		defer func() { done() }()
		n := rapid.IntRange(1, 6).Draw(r, "conversations")
		for i := range n {
			if _, err := s.Record(r.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{
				{Role: layers.RoleUser, Text: fmt.Sprintf("Where is walrus%d?", i)},
				{Role: layers.RoleAssistant, Text: strings.Repeat(fmt.Sprintf("It is at place%d. ", i), rapid.IntRange(1, 200).Draw(r, "long"))},
			}}); err != nil {
				r.Fatal(err)
			}
		}
		fulls := 0
		count := func(items []session.ContextItem, most int, what string) {
			tokens, texts := 0, map[string]bool{}
			for _, item := range items {
				tokens += item.Tokens
				if item.InContext != "" {
					continue
				}
				if item.Detail == layers.DetailFull {
					fulls++
				}
				if key := item.ID + "\x00" + item.Text; texts[key] {
					r.Fatalf("%s: %s is served twice", what, item.ID)
				} else {
					texts[key] = true
				}
			}
			if tokens > most {
				r.Fatalf("%s: %d tokens of %d", what, tokens, most)
			}
			if fulls > layers.MaxFullsPerTurn {
				r.Fatalf("%s: %d fulls in a turn", what, fulls)
			}
		}
		waiting := map[string]bool{}
		settle := func(served []session.ContextItem, expired []session.Deferral, gone []session.Deferred) {
			for _, item := range served {
				if !waiting[item.Deferral] {
					r.Fatalf("%s is served and did not wait", item.Deferral)
				}
				delete(waiting, item.Deferral)
			}
			for _, d := range expired {
				delete(waiting, d.ID)
			}
			for _, d := range gone {
				if d.Reason == session.DeferredNotFound {
					delete(waiting, d.Deferral)
				}
			}
		}
		details := []layers.Detail{layers.DetailHeader, layers.DetailSummary, layers.DetailFull, layers.DetailMixed}
		for range rapid.IntRange(1, 10).Draw(r, "steps") {
			if rapid.IntRange(0, 3).Draw(r, "what") == 0 {
				reply, err := s.Record(r.Context(), session.RecordRequest{Turns: []layers.Turn{{Role: layers.RoleUser, Text: "go on"}}})
				if err != nil {
					r.Fatal(err)
				}
				fulls = 0
				count(reply.ServedDeferred, 4000, "record")
				settle(reply.ServedDeferred, reply.Expired, nil)
				continue
			}
			if rapid.Bool().Draw(r, "pack") {
				if _, err := s.BuildPack(r.Context(), session.PackRequest{Budget: layers.Budget{Total: 3000}}); err != nil {
					r.Fatal(err)
				}
			}
			req := session.ContextRequest{MaxTokens: rapid.IntRange(1, 1500).Draw(r, "most"), DeferTurns: rapid.IntRange(-1, 4).Draw(r, "turns")}
			for range rapid.IntRange(1, 4).Draw(r, "requests") {
				one := session.Retrieve{Format: rapid.SampledFrom(details).Draw(r, "detail")}
				for range rapid.IntRange(1, 4).Draw(r, "ids") {
					id := fmt.Sprintf("c%d", rapid.IntRange(1, n+1).Draw(r, "id"))
					one.IDs = append(one.IDs, id+rapid.SampledFrom([]string{"", "", "#1", "#9", "@1"}).Draw(r, "part"))
				}
				if rapid.Bool().Draw(r, "ask") {
					one.Query = fmt.Sprintf("place%d", rapid.IntRange(0, n).Draw(r, "word"))
				}
				req.Retrieve = append(req.Retrieve, one)
			}
			reply, err := s.RequestContext(r.Context(), req)
			if err != nil {
				r.Fatal(err)
			}
			count(append(slices.Clone(reply.Items), reply.ServedDeferred...), req.MaxTokens, "request")
			settle(reply.ServedDeferred, reply.Expired, reply.Deferred)
			for _, d := range reply.Deferred {
				if d.Deferral != "" && d.Reason != session.DeferredNotFound {
					waiting[d.Deferral] = true
				}
			}
			for _, one := range req.Retrieve {
				for _, id := range one.IDs {
					told := slices.ContainsFunc(reply.Items, func(i session.ContextItem) bool { return i.ID == id }) ||
						slices.ContainsFunc(reply.Deferred, func(d session.Deferred) bool { return d.ID == id })
					if !told {
						r.Fatalf("nothing is said of %s: %+v", id, reply)
					}
				}
			}
			list, _, err := s.Deferrals()
			if err != nil {
				r.Fatal(err)
			}
			for _, d := range list {
				if !waiting[d.ID] {
					r.Fatalf("%s waits and nobody was told", d.ID)
				}
			}
		}
	})
}
