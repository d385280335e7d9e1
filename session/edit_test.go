package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/session"
)

// openFor opens the session "s" of a workspace in a folder until it is closed.
func openFor(t checker, dir string) (*session.Session, func()) {
	t.Helper()
	service := newService(session.Options{DataDir: dir, Now: func() int64 { return 1_700_000_000_000 }})
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	return s, func() { _ = service.Close() }
}

func text(s string) *string { return &s }

// checker is what a test and a check of a property have in common.
type checker interface {
	Helper()
	Context() context.Context
	Errorf(string, ...any)
	Fatal(...any)
}

// requireReplay fails if a pack of the past is not what it was.
func requireReplay(t checker, s *session.Session, packs ...session.PackReply) {
	t.Helper()
	for i, p := range packs {
		again, err := s.Replay(t.Context(), p.Checksum)
		if err != nil || string(again.Canonical) != string(p.Canonical) {
			t.Errorf("pack %d of %d as of %d is not what it was: %v", i, len(packs), p.Pack.Sequence, err)
		}
	}
}

// TestH7_EditInPlace: the new text is in packs, search and the trio, the text
// before can be read by its own id and as of before, and packs of the past are
// built again to the byte, also after a restart.
func TestH7_EditInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	for i := range 3 {
		talk(t, s, fmt.Sprintf("How does the zebra%d parser work?", i), fmt.Sprintf("It reads zebra%d.go line by line and decides by the quagga flag.", i))
	}
	before := pack(t, s, 4000)
	reply, err := s.Edit(t.Context(), session.EditRequest{
		Conversation: "c2", Turn: 1, Text: text("How does the giraffe writer work?"), Reason: "typed wrongly", Key: "k",
	})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Conversation != "c2" || reply.Turn != "c2#1" || reply.Before != "c2@1#1" || len(reply.Superseded) != 0 {
		t.Errorf("reply is %+v", reply)
	}
	again, err := s.Edit(t.Context(), session.EditRequest{
		Conversation: "c2", Turn: 1, Text: text("How does the giraffe writer work?"), Reason: "typed wrongly", Key: "k",
	})
	if err != nil || again.Before != "c2@1#1" || again.Sequence != reply.Sequence {
		t.Errorf("the same key gives %+v, %v", again, err)
	}
	after := pack(t, s, 4000)
	if !strings.Contains(after.Pack.Text, "giraffe") || strings.Contains(after.Pack.Text, "How does the zebra1") {
		t.Errorf("the pack after shows what was before:\n%s", after.Pack.Text)
	}
	requireReplay(t, s, before, after)
	read := func(id string, asOf int64) session.ConversationReply {
		t.Helper()
		got, err := s.Conversation(session.ConversationRequest{Conversation: id, AsOf: asOf})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	now, then, old := read("c2", 0), read("c2@1", 0), read("c2", before.Pack.Sequence)
	if !strings.Contains(now.Text, "giraffe") || !strings.Contains(now.Header.Topic+now.Summary.Content, "giraffe") {
		t.Errorf("c2 is %s, %+v", now.Text, now.Header)
	}
	if then.Text != old.Text || !strings.Contains(then.Text, "zebra1 parser") || then.Conversation != "c2@1" {
		t.Errorf("c2@1 is %s\nbefore it was %s", then.Text, old.Text)
	}
	if len(now.Versions) != 1 || now.Versions[0].Reason != "typed wrongly" || now.Versions[0].Turn != 1 {
		t.Errorf("versions are %+v", now.Versions)
	}
	for query, want := range map[string]string{"giraffe writer": "c2", "zebra1 parser": "c1"} {
		found, err := s.Search(t.Context(), session.SearchRequest{Query: query, Kind: session.FindTurns})
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range found.Hits {
			if strings.Contains(hit.Snippet, "How does the zebra1") {
				t.Errorf("search for %q finds what was before: %s", query, hit.Snippet)
			}
		}
		if want == "c2" && (len(found.Hits) == 0 || found.Hits[0].Conversation != want) {
			t.Errorf("search for %q finds %+v", query, found.Hits)
		}
	}
	total := 0
	for _, id := range []string{"c1", "c2", "c3"} {
		total += read(id, 0).Header.TokenCount
	}
	if after.Pack.FullHistory != int64(total) {
		t.Errorf("the full history counts %d tokens, the conversations have %d", after.Pack.FullHistory, total)
	}
	done()
	s, _ = open(t, dir)
	requireReplay(t, s, before, after)
	if cold := pack(t, s, 4000); cold.Checksum != after.Checksum {
		t.Error("after a restart the pack is another one")
	}
}

// TestH7_Truncate: an edit that cuts off what came after opens a conversation
// that stands for all it took the place of.
func TestH7_Truncate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	for i := range 9 {
		talk(t, s, fmt.Sprintf("Look at walrus%d please", i+1), fmt.Sprintf("The walrus%d module is in walrus%d.go.", i+1, i+1))
	}
	request(t, s, 1000, layers.DetailFull, "c1")
	before := pack(t, s, 3000)
	reply, err := s.Edit(t.Context(), session.EditRequest{Conversation: "c4", Turn: 1, Text: text("Look at the narwhal instead"), Truncate: true})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Conversation != "c10" || reply.Turn != "c10#1" || reply.Before != "c4@1#1" ||
		!slices.Equal(reply.Superseded, []string{"c4", "c5", "c6", "c7", "c8", "c9"}) {
		t.Errorf("reply is %+v", reply)
	}
	after := pack(t, s, 3000)
	for i := range 9 {
		if strings.Contains(after.Pack.Text, fmt.Sprintf("walrus%d", i+1)) != (i < 3) {
			t.Errorf("of walrus%d the pack says otherwise:\n%s", i+1, after.Pack.Text)
		}
	}
	if !strings.Contains(before.Pack.Text, "### retrieved c1") || strings.Contains(after.Pack.Text, "### retrieved c1") {
		t.Error("what was served to what was cut off is not cut off with it")
	}
	if !strings.Contains(after.Pack.Text, "narwhal") {
		t.Errorf("the pack has not the new text:\n%s", after.Pack.Text)
	}
	for _, id := range []string{"c4", "c9", "c10"} {
		got, err := s.Conversation(session.ConversationRequest{Conversation: id})
		if err != nil || got.Conversation != "c10" {
			t.Errorf("%s stands for %q, %v", id, got.Conversation, err)
		}
	}
	for _, id := range []string{"c4@1", "c9@1"} {
		if got, err := s.Conversation(session.ConversationRequest{Conversation: id}); err != nil || !strings.Contains(got.Text, "walrus") {
			t.Errorf("%s is %q, %v", id, got.Text, err)
		}
	}
	answer, err := s.RequestContext(t.Context(), session.ContextRequest{Retrieve: []session.Retrieve{{IDs: []string{"c4#1", "c4#2", "c9#1", "c4@1#2"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.Items) != 2 || answer.Items[0].InContext != "c10#1" || !strings.Contains(answer.Items[1].Text, "walrus4.go") || len(answer.Deferred) != 2 {
		t.Errorf("turns that were cut off give %+v", answer)
	}
	if _, err := s.Edit(t.Context(), session.EditRequest{Conversation: "c5", Turn: 1, Text: text("x")}); err == nil || !strings.Contains(err.Error(), `"c10"`) {
		t.Errorf("an edit of what was cut off: %v", err)
	}
	if _, err := s.Record(t.Context(), session.RecordRequest{Conversation: "c10", Done: true, Turns: []layers.Turn{{Role: layers.RoleAssistant, Text: "The narwhal is here."}}}); err != nil {
		t.Fatal(err)
	}
	last := pack(t, s, 3000)
	done()
	s, _ = open(t, dir)
	requireReplay(t, s, before, after, last)
	found, err := s.Search(t.Context(), session.SearchRequest{Query: "walrus7 module"})
	if err != nil {
		t.Fatal(err)
	}
	for _, hit := range found.Hits {
		if hit.Conversation == "c7" {
			t.Error("search finds what was cut off")
		}
	}
}

// TestH7_EditsHold: whatever is recorded, edited, cut off and asked for, packs
// show nothing that was edited away, are the same from cold caches, and every
// pack of the past is built again to the byte.
func TestH7_EditsHold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	holds(t, counted(t, lawCases, 30), func(r *rapid.T) {
		dir, err := os.MkdirTemp(folder, "")
		if err != nil {
			r.Fatal(err)
		}
		s, done := openFor(r, dir)
		defer func() { done() }()
		var live, dead []string // words of turns
		var packs []session.PackReply
		var where [][]string // words of conversations in line, by turn
		var ids []string
		word := 0
		say := func() string { word++; w := fmt.Sprintf("mark%dx", word); live = append(live, w); return w }
		kill := func(w string) {
			dead = append(dead, w)
			live = slices.DeleteFunc(live, func(x string) bool { return x == w })
		}
		for range rapid.IntRange(3, 25).Draw(r, "steps") {
			switch rapid.IntRange(0, 6).Draw(r, "what") {
			case 0, 1, 2:
				a, b := say(), say()
				reply, err := s.Record(r.Context(), session.RecordRequest{Done: rapid.Bool().Draw(r, "done"), Turns: []layers.Turn{
					{Role: layers.RoleUser, Text: "Why does " + a + " fail?"},
					{Role: layers.RoleAssistant, Text: strings.Repeat("Because of "+b+". ", rapid.IntRange(1, 30).Draw(r, "long"))},
				}})
				if err != nil {
					r.Fatal(err)
				}
				ids, where = append(ids, reply.Conversation), append(where, []string{a, b})
			case 3:
				if len(ids) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(ids)-1).Draw(r, "conversation")
				k := rapid.IntRange(0, len(where[i])-1).Draw(r, "turn")
				old := where[i][k]
				where[i][k] = say()
				kill(old)
				if _, err := s.Edit(r.Context(), session.EditRequest{Conversation: ids[i], Turn: k + 1, Text: text("It is " + where[i][k] + " now.")}); err != nil {
					r.Fatal(err)
				}
			case 4:
				if len(ids) == 0 || rapid.IntRange(0, 2).Draw(r, "rarely") > 0 {
					continue
				}
				i := rapid.IntRange(0, len(ids)-1).Draw(r, "conversation")
				k := rapid.IntRange(0, len(where[i])-1).Draw(r, "turn")
				fresh := say()
				for _, w := range where[i][k:] {
					kill(w)
				}
				for _, c := range where[i+1:] {
					for _, w := range c {
						kill(w)
					}
				}
				reply, err := s.Edit(r.Context(), session.EditRequest{Conversation: ids[i], Turn: k + 1, Text: text("It is " + fresh + " now."), Truncate: true})
				if err != nil {
					r.Fatal(err)
				}
				ids = append(ids[:i], reply.Conversation)
				where = append(where[:i], append(slices.Clone(where[i][:k]), fresh))
			case 5:
				if len(ids) > 0 {
					if _, err := s.RequestContext(r.Context(), session.ContextRequest{Retrieve: []session.Retrieve{{IDs: []string{rapid.SampledFrom(ids).Draw(r, "id")}, Format: layers.DetailFull}}}); err != nil {
						r.Fatal(err)
					}
				}
			case 6:
				done()
				s, done = openFor(r, dir)
			}
			p, err := s.BuildPack(r.Context(), session.PackRequest{Budget: layers.Budget{Total: rapid.SampledFrom([]int{700, 1500, 6000}).Draw(r, "budget")}})
			if err != nil {
				r.Fatal(err)
			}
			for _, w := range dead {
				if strings.Contains(p.Pack.Text, w) {
					r.Fatalf("the pack shows %s, which was edited away:\n%s", w, p.Pack.Text)
				}
			}
			packs = append(packs, p)
			total := 0
			for _, id := range ids {
				c, err := s.Conversation(session.ConversationRequest{Conversation: id, Detail: layers.DetailHeader})
				if err != nil {
					r.Fatal(err)
				}
				total += c.Header.TokenCount
			}
			if p.Pack.FullHistory != int64(total) {
				r.Fatalf("the full history counts %d, the conversations %d", p.Pack.FullHistory, total)
			}
		}
		requireReplay(r, s, packs...)
		done()
		s, done = openFor(r, dir)
		requireReplay(r, s, packs...)
	})
}

// TestH7_Aliases: a name may stand for a conversation, over several steps, but
// never for itself.
func TestH7_Aliases(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	talk(t, s, "one", "first answer")
	talk(t, s, "two", "second answer")
	for _, pair := range [][2]string{{"chat-1", "c1"}, {"chat-2", "chat-1"}, {"chat-3", "chat-2"}} {
		if got, err := s.SetAlias(t.Context(), pair[0], pair[1], ""); err != nil || got.Conversation != "c1" {
			t.Fatalf("%v: %+v, %v", pair, got, err)
		}
	}
	for _, pair := range [][2]string{{"chat-1", "chat-3"}, {"chat-1", "chat-1"}, {"c1", "c2"}, {"c99", "c1"}, {"", "c1"}, {"a#b", "c1"}, {"a b", "c1"}, {strings.Repeat("x", 201), "c1"}} {
		var bad *session.InvalidError
		if _, err := s.SetAlias(t.Context(), pair[0], pair[1], ""); !errors.As(err, &bad) {
			t.Errorf("%.20v: %v", pair, err)
		}
	}
	if _, err := s.SetAlias(t.Context(), "new", "nothing", ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("an alias of nothing: %v", err)
	}
	answer, err := s.RequestContext(t.Context(), session.ContextRequest{Retrieve: []session.Retrieve{{IDs: []string{"chat-3", "chat-3#2"}, Format: layers.DetailFull}}})
	if err != nil || len(answer.Items) != 2 || !strings.Contains(answer.Items[1].Text, "first answer") {
		t.Fatalf("%+v, %v", answer, err)
	}
	if _, err := s.SetAlias(t.Context(), "chat-1", "c2", ""); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Conversation(session.ConversationRequest{Conversation: "chat-3"}); err != nil || got.Conversation != "c2" {
		t.Errorf("after the middle moved: %q, %v", got.Conversation, err)
	}
}

// TestH7_BadEdits are refused, name the field, and write nothing.
func TestH7_BadEdits(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	talk(t, s, "one", "first answer")
	sequence := pack(t, s, 2000).Pack.Sequence
	results := []layers.ToolResult{{CallID: "x", Content: "y"}}
	for name, req := range map[string]session.EditRequest{
		"nothing":        {Conversation: "c1", Turn: 1},
		"turn 0":         {Conversation: "c1", Turn: 0, Text: text("x")},
		"no such turn":   {Conversation: "c1", Turn: 3, Text: text("x")},
		"no such one":    {Conversation: "c7", Turn: 1, Text: text("x")},
		"a version":      {Conversation: "c1@1", Turn: 1, Text: text("x")},
		"user's results": {Conversation: "c1", Turn: 1, Results: &results},
		"long reason":    {Conversation: "c1", Turn: 1, Text: text("x"), Reason: strings.Repeat("x", 1025)},
	} {
		var bad *session.InvalidError
		if _, err := s.Edit(t.Context(), req); !errors.As(err, &bad) && !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := pack(t, s, 2000).Pack.Sequence; now != sequence {
		t.Errorf("the sequence went from %d to %d", sequence, now)
	}
}
