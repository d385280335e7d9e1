package session_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hexapla/layers"
	"hexapla/session"
)

// remembering is a session of an agent under a clock that a test moves.
func remembering(t *testing.T, dir, agent string, now *atomic.Int64) *session.Session {
	t.Helper()
	service := session.New(session.Options{DataDir: dir, Now: now.Load, Random: strings.NewReader(strings.Repeat("k", 1024))})
	t.Cleanup(func() { _ = service.Close() })
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s", Agent: agent}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func saves(t *testing.T, s *session.Session, agent string, items ...session.ItemDraft) session.MemoryReply {
	t.Helper()
	reply, err := s.SaveMemory(t.Context(), session.MemorySave{Agent: agent, Items: items})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func loads(t *testing.T, s *session.Session, req session.MemoryLoad) session.LoadReply {
	t.Helper()
	reply, err := s.LoadMemory(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// idsOf lists items as id:tier.
func idsOf(items []session.MemoryItem) string {
	var out []string
	for _, item := range items {
		out = append(out, item.ID+":"+string(item.Tier))
	}
	return strings.Join(out, " ")
}

// TestT3_TiersFollowTheTasks: items sink with age when a task is finished and not
// before, rise with use, and only HOT ones are loaded by default.
func TestT3_TiersFollowTheTasks(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(1_700_000_000_000)
	dir := t.TempDir()
	s := remembering(t, dir, "coder", &now)
	all := session.MemoryLoad{Tiers: layers.Tiers(), Peek: true}
	saves(t, s, "", session.ItemDraft{Type: layers.ItemTask, Content: "pause the timers"},
		session.ItemDraft{Type: layers.ItemCode, Content: "func Pause() {}"}, session.ItemDraft{Type: layers.ItemTestResult, Content: "14 passed"})
	if got := idsOf(loads(t, s, all).Items); got != "i1:HOT i2:HOT i3:WARM" {
		t.Errorf("fresh: %s", got)
	}
	if got := idsOf(loads(t, s, session.MemoryLoad{Peek: true}).Items); got != "i1:HOT i2:HOT" {
		t.Errorf("by default: %s", got)
	}
	for range 3 { // used, so that it stays
		loads(t, s, session.MemoryLoad{IDs: []string{"i2"}})
	}
	now.Add((30 * time.Hour).Milliseconds())
	if got := idsOf(loads(t, s, all).Items); got != "i1:HOT i2:HOT i3:WARM" {
		t.Errorf("before a task is finished: %s", got)
	}
	reply, err := s.Record(t.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{{Role: layers.RoleUser, Text: "Is it done?"}, {Role: layers.RoleAssistant, Text: "It is."}}})
	if err != nil || reply.Memory == nil || len(reply.Memory.Moved) != 1 || reply.Memory.Moved[0] != (session.TierMove{ID: "i2", From: layers.TierHot, To: layers.TierWarm}) {
		t.Errorf("the finished task moved %+v, %v", reply.Memory, err)
	}
	items := loads(t, s, all).Items
	if got := idsOf(items); got != "i1:HOT i2:WARM i3:WARM" || items[1].Uses != 3 || items[1].LastUsed != 1_700_000_000_000 {
		t.Errorf("after it: %s, %+v", got, items[1])
	}
	now.Add((24 * 30 * time.Hour).Milliseconds())
	moved, err := s.RetierMemory(t.Context(), "", "")
	if err != nil || moved.Change.Cold != 3 || len(moved.Change.Moved) != 3 {
		t.Errorf("a month later: %+v, %v", moved, err)
	}
	if again, err := s.RetierMemory(t.Context(), "", ""); err != nil || again.Sequence != moved.Sequence || len(again.Change.Moved) != 0 {
		t.Errorf("once more: %+v, %v", again, err)
	}
	if got := loads(t, s, session.MemoryLoad{}); len(got.Items) != 0 {
		t.Errorf("HOT after a month: %+v", got)
	}
}

// TestT7_ManyAgentsAtOnce: several agents save, load and are tiered at once; none
// loses an item or sees another's, over many more changes than are kept apart.
func TestT7_ManyAgentsAtOnce(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(1_700_000_000_000)
	dir := t.TempDir()
	s := remembering(t, dir, "", &now)
	const agents, rounds = 4, 45
	var all sync.WaitGroup
	for a := range agents {
		all.Go(func() {
			agent := fmt.Sprint("agent", a)
			for i := range rounds {
				reply, err := s.SaveMemory(t.Context(), session.MemorySave{Agent: agent, Items: []session.ItemDraft{{Type: layers.ItemTask, Content: fmt.Sprint(agent, " does ", i)}}})
				if err != nil || reply.Change.Hot != i+1 {
					t.Errorf("%s: %+v, %v", agent, reply, err)
				}
				if got, err := s.LoadMemory(t.Context(), session.MemoryLoad{Agent: agent, IDs: []string{reply.Items[0].ID}}); err != nil || len(got.Items) != 1 || got.Items[0].Content != fmt.Sprint(agent, " does ", i) {
					t.Errorf("%s: %+v, %v", agent, got, err)
				}
				if i == rounds/2 {
					if _, err := s.RetierMemory(t.Context(), agent, ""); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	for a := range agents {
		got := loads(t, s, session.MemoryLoad{Agent: fmt.Sprint("agent", a), Peek: true})
		if len(got.Items) != rounds {
			t.Errorf("agent %d has %d items", a, len(got.Items))
		}
		for _, item := range got.Items {
			if !strings.HasPrefix(item.Content, fmt.Sprint("agent", a, " ")) || item.Uses != 1 {
				t.Errorf("agent %d sees %+v", a, item)
			}
		}
	}
	if stats, _, err := s.MemoryStats(""); err != nil || len(stats) != agents || stats[0].Items != rounds {
		t.Errorf("stats: %+v, %v", stats, err)
	}
}

// TestT1_ItemsAreForgottenAndScrubbed: an item that was saved in a conversation that
// is forgotten goes with it, and so does one that quotes it; a value that becomes a
// secret later is taken out of items, and out of the tokens that they count.
func TestT1_ItemsAreForgottenAndScrubbed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := knowing(t, dir)
	s := sessionOf(t, open)
	const said = "the gate opens with seventeen turns of the brass key"
	saves(t, s, "coder", session.ItemDraft{Type: layers.ItemTask, Content: "before: nothing was said"}, session.ItemDraft{Type: layers.ItemCode, Content: "the key is " + hidden()})
	reply, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{{Role: layers.RoleUser, Text: "Note: " + said + "."}}})
	if err != nil {
		t.Fatal(err)
	}
	saves(t, s, "coder", session.ItemDraft{Type: layers.ItemTask, Content: "during"})
	if _, err := s.Record(t.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{{Role: layers.RoleAssistant, Text: "Noted."}}}); err != nil {
		t.Fatal(err)
	}
	saves(t, s, "coder", session.ItemDraft{Type: layers.ItemTask, Content: said}, session.ItemDraft{Type: layers.ItemTask, Content: "He told me this: Note: " + said + ". So I did."})
	if got := loads(t, s, session.MemoryLoad{Agent: "coder", Peek: true}); len(got.Items) != 5 {
		t.Fatalf("%+v", got)
	}
	loads(t, s, session.MemoryLoad{Agent: "coder", Key: "loaded"})
	if _, err := s.FlashSaveMemory(t.Context(), session.FlashSave{Agent: "coder", Key: "saved"}); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Forget(t.Context(), "s", session.ForgetTarget{Conversation: reply.Conversation}); err != nil {
		t.Fatal(err)
	}
	if s, err = open.Session("s"); err != nil {
		t.Fatal(err)
	}
	if got := idsOf(loads(t, s, session.MemoryLoad{Agent: "coder", Peek: true}).Items); got != "i1:HOT i2:HOT" {
		t.Errorf("after the conversation is forgotten: %s", got)
	}
	if _, err := s.LoadMemory(t.Context(), session.MemoryLoad{Agent: "coder", Key: "loaded"}); !errors.Is(err, session.ErrForgotten) {
		t.Errorf("the load is sent again: %v", err)
	}
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	if found := filesWith(t, dir, "seventeen turns"); len(found) > 0 {
		t.Errorf("it is still in %v", found)
	}
	closed := knowing(t, dir, hidden())
	defer closed.Close()
	sessionOf(t, closed)
	done, err := closed.Rescrub(t.Context(), "s", false)
	if err != nil || len(done.Places) != 1 || done.Places[0].Kind != "item" {
		t.Errorf("rescrub: %+v, %v", done, err)
	}
	if s, err = closed.Session("s"); err != nil {
		t.Fatal(err)
	}
	got := loads(t, s, session.MemoryLoad{Agent: "coder", IDs: []string{"i2"}}).Items
	if len(got) != 1 || strings.Contains(got[0].Content, hidden()) || !strings.HasPrefix(got[0].Content, "the key is ") {
		t.Fatalf("%+v", got)
	}
	fresh := saves(t, s, "other", session.ItemDraft{Type: layers.ItemCode, Content: got[0].Content})
	if fresh.Items[0].Tokens != got[0].Tokens {
		t.Errorf("%d tokens, counted anew %d", got[0].Tokens, fresh.Items[0].Tokens)
	}
}

// TestT3_HotItemsAreInPacks: HOT items of the session's agent stand in its packs,
// within their share, and nobody else's; what is saved later stands behind the
// stream and moves nothing in front; a pack of the past is built again the same;
// without an item a pack is the same as without an agent.
func TestT3_HotItemsAreInPacks(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(1_700_000_000_000)
	plain := remembering(t, t.TempDir(), "", &now)
	s := remembering(t, t.TempDir(), "coder", &now)
	talk(t, plain, "What is a timer?", "It waits.")
	talk(t, s, "What is a timer?", "It waits.")
	without, before := pack(t, plain, 4000), pack(t, s, 4000)
	if without.Checksum != before.Checksum {
		t.Error("an agent without items has another pack than none")
	}
	saves(t, s, "other", session.ItemDraft{Type: layers.ItemTask, Content: "of the other agent"})
	if after := pack(t, s, 4000); after.Pack.Text != before.Pack.Text {
		t.Errorf("another agent's item is in the pack: %s", after.Pack.Text)
	}
	saves(t, s, "", session.ItemDraft{Type: layers.ItemTask, Content: "pause the timers"}, session.ItemDraft{Type: layers.ItemTestResult, Content: "a warm one"})
	with := pack(t, s, 4000)
	if !strings.Contains(with.Pack.Text, "pause the timers") || strings.Contains(with.Pack.Text, "a warm one") || with.Pack.Used() > 4000 {
		t.Errorf("the pack is %s", with.Pack.Text)
	}
	if !strings.HasPrefix(with.Pack.Text, before.Pack.Branches.Context) {
		t.Errorf("an item moved the prefix:\n%s\nbefore\n%s", with.Pack.Text, before.Pack.Text)
	}
	for i := range 40 { // the window moves on
		talk(t, s, fmt.Sprintf("question %d", i), strings.Repeat(fmt.Sprintf("answer %d. ", i), 100))
	}
	moved := pack(t, s, 4000)
	if at := strings.Index(moved.Pack.Text, "pause the timers"); at < 0 || at > moved.Pack.StableBytes || moved.Pack.Sections[0].Name != layers.SectionMemory {
		t.Errorf("the item is at %d of %d stable bytes", at, moved.Pack.StableBytes)
	}
	if strings.Contains(moved.Pack.Text, "a warm one") {
		t.Error("a WARM item is in front")
	}
	large := strings.Repeat("a long piece of a specification. ", 100)
	for range 5 {
		saves(t, s, "", session.ItemDraft{Type: layers.ItemPRDSection, Content: large})
	}
	full := pack(t, s, 4000)
	shown, dropped := 0, 0
	for _, section := range full.Pack.Sections {
		if section.Name == layers.SectionMemory {
			shown += section.Tokens
		}
	}
	for _, d := range full.Pack.Dropped {
		if strings.HasPrefix(d.ID, "i") && d.Reason == layers.DropBudget {
			dropped++
		}
	}
	if shown == 0 || shown > 400 || dropped == 0 || full.Pack.Used() > 4000 {
		t.Errorf("memory takes %d tokens of %d, %d drops are told: %+v", shown, full.Pack.Used(), dropped, full.Pack.Dropped)
	}
	for _, sum := range []string{before.Checksum, with.Checksum, moved.Checksum, full.Checksum} {
		if p, err := s.Replay(t.Context(), sum); err != nil || p.Checksum != sum {
			t.Errorf("replay: %+v, %v", p.Checksum, err)
		}
	}
	if _, err := s.SaveMemory(t.Context(), session.MemorySave{Remove: []string{"i2"}}); err != nil {
		t.Fatal(err)
	}
	if p := pack(t, s, 4000); strings.Contains(p.Pack.Text, "pause the timers") {
		t.Error("an item that was removed is in the pack")
	}
	for _, total := range []int{300, 800, 20_000} {
		if p, err := s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: total}, Layout: layers.LayoutNarrativeFirst}); err != nil || p.Pack.Used() > total {
			t.Errorf("%d tokens: %v", total, err)
		}
	}
	if _, err := s.ExplainPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 4000}}, true); err != nil {
		t.Error(err)
	}
}

// TestT4_ColdItemsAreArchived: a flash save archives what is COLD; that stays so
// until it is loaded, whatever the tiers of its use would be; a restore brings the
// state of the checkpoint back, but nothing that was forgotten.
func TestT4_ColdItemsAreArchived(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(1_700_000_000_000)
	s := remembering(t, t.TempDir(), "coder", &now)
	saves(t, s, "", session.ItemDraft{Type: layers.ItemTask, Content: "an old one"})
	now.Add((24 * 20 * time.Hour).Milliseconds())
	saves(t, s, "", session.ItemDraft{Type: layers.ItemTask, Content: "a new one"})
	flash, err := s.FlashSaveMemory(t.Context(), session.FlashSave{})
	if err != nil || flash.Checkpoint.Archived != 1 || flash.Checkpoint.Cold != 1 || idsOf(flash.Hot) != "i2:HOT" {
		t.Errorf("%+v, %v", flash, err)
	}
	cold := loads(t, s, session.MemoryLoad{Tiers: []layers.Tier{layers.TierCold}, Peek: true}).Items
	if len(cold) != 1 || !cold[0].Archived || cold[0].Content != "an old one" {
		t.Errorf("%+v", cold)
	}
	if again, err := s.FlashSaveMemory(t.Context(), session.FlashSave{}); err != nil || again.Checkpoint.Archived != 0 || again.Checkpoint.ID != "k2" {
		t.Errorf("once more: %+v, %v", again, err)
	}
	loads(t, s, session.MemoryLoad{IDs: []string{"i1"}})
	if got := loads(t, s, session.MemoryLoad{IDs: []string{"i1"}, Peek: true}).Items; got[0].Archived {
		t.Errorf("after it was loaded: %+v", got)
	}
	if _, err := s.RestoreMemory(t.Context(), "", "k1", ""); err != nil {
		t.Fatal(err)
	}
	if got := loads(t, s, session.MemoryLoad{IDs: []string{"i1"}, Peek: true}).Items; !got[0].Archived || got[0].Uses != 0 {
		t.Errorf("after the restore: %+v", got)
	}
	if list, total, _, err := s.Checkpoints("", 1); err != nil || total != 2 || len(list) != 1 || list[0].ID != "k2" {
		t.Errorf("%+v of %d, %v", list, total, err)
	}
}
