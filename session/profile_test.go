package session_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/session"
	"hexapla/storage"
)

// openUnder opens the session "s" under settings of profiles.
func openUnder(t *testing.T, dir string, profiles layers.Profiles) (*session.Session, func()) {
	t.Helper()
	service := newService(session.Options{DataDir: dir, Profiles: profiles, Now: func() int64 { return 1_700_000_000_000 }})
	closed := false
	done := func() {
		if !closed {
			closed = true
			if err := service.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(done)
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	return s, done
}

func auto() layers.Profiles {
	p := layers.DefaultProfiles()
	p.Mode = layers.ProfileAuto
	return p
}

// useTool records a conversation with calls of a tool, and the output of each.
func useTool(t *testing.T, s *session.Session, query, tool, input, output string, failed bool, calls int) string {
	t.Helper()
	turns := []layers.Turn{{Role: layers.RoleUser, Text: query}}
	for i := range calls {
		id := fmt.Sprintf("k%d", i)
		turns = append(turns,
			layers.Turn{Role: layers.RoleAssistant, Text: "I go on.", Calls: []layers.ToolCall{{ID: id, Name: tool, Input: input}}},
			layers.Turn{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: id, Content: fmt.Sprintf("%d: %s", i, output), IsError: failed}}})
	}
	reply, err := s.Record(t.Context(), session.RecordRequest{Turns: append(turns, layers.Turn{Role: layers.RoleAssistant, Text: "So far."}), Done: true})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Conversation
}

func hunt(t *testing.T, s *session.Session, i int) string {
	return useTool(t, s, fmt.Sprintf("Why does reader%d fail?", i), "Bash", `{"command":"go test ./..."}`, "--- FAIL: TestRead\nFAIL", true, 6)
}

func chore(t *testing.T, s *session.Session, i int) string {
	return useTool(t, s, fmt.Sprintf("Commit part %d.", i), "Bash", `{"command":"git commit -am part"}`, "1 file changed", false, 6)
}

func profile(t *testing.T, s *session.Session) session.ProfileReply {
	t.Helper()
	reply, err := s.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// journal returns lines that differ.
func journal(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of the journal says %x\n", i, i*i*7919)
	}
	return b.String()
}

// shownTokens returns the tokens of a piece in a pack, 0 if it is not in it.
func shownTokens(p *layers.Pack, id string) int {
	for _, section := range p.Sections {
		for _, item := range section.Items {
			if item.ID == id {
				return item.Form.Tokens
			}
		}
	}
	return 0
}

// TestH18_ChosenFromTheTurns: two conversations in a row of one kind bring the
// profile of that kind, with the counts as the reason; what is recorded from then
// on is shown by its caps, what was recorded before as it was. A restart changes
// nothing, other settings change nothing of packs that were sent.
func TestH18_ChosenFromTheTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := openUnder(t, dir, auto())
	long := journal(400)
	before := useTool(t, s, "Read the journal.", "Read", `{"file_path":"journal.txt"}`, long, false, 1)
	if got := profile(t, s); got.Profile != layers.ProfileBalanced || got.Mode != session.ProfileByAuto {
		t.Errorf("after one conversation: %+v", got.ProfileState)
	}
	hunt(t, s, 1)
	if got := profile(t, s); got.Profile != layers.ProfileBalanced {
		t.Errorf("after one hunt: %+v", got.ProfileState)
	}
	hunt(t, s, 2)
	first := pack(t, s, 30_000)
	got := profile(t, s)
	if want := "12 of 13 calls of the last 3 conversations failed, 12 ran tests or checks"; got.Profile != layers.ProfileDebugging || got.Reason != want {
		t.Errorf("after two hunts: %+v, want %q", got.ProfileState, want)
	}
	if got.Policy.ResultCap != layers.DefaultProfiles().Debugging.ResultCap || len(got.Scores) != 4 || got.LaidOut != layers.ProfileBalanced {
		t.Errorf("numbers %+v, scores %v, laid out by %s", got.Policy, got.Scores, got.LaidOut)
	}
	after := useTool(t, s, "Read the log.", "Read", `{"file_path":"log.txt"}`, long, false, 1)
	second := pack(t, s, 30_000)
	old, now := shownTokens(second.Pack, before+"#3"), shownTokens(second.Pack, after+"#3")
	if old == 0 || old > 520 || now <= 520 || now > 620 {
		t.Errorf("outputs of %d and %d tokens, want at most 500 and 600 with a heading", old, now)
	}
	if second.Profile.Profile != layers.ProfileDebugging || second.ProfileBefore != layers.ProfileBalanced && first.ProfileBefore != layers.ProfileBalanced {
		t.Errorf("packs of %+v (before: %q), then %+v (before: %q)", first.Profile, first.ProfileBefore, second.Profile, second.ProfileBefore)
	}
	if !strings.HasPrefix(second.Pack.Text, first.Pack.Text[:first.Pack.StableBytes]) {
		t.Error("the change moved the prefix")
	}
	wanted := profile(t, s)
	for _, settings := range []layers.Profiles{auto(), layers.DefaultProfiles()} {
		done()
		s, done = openUnder(t, dir, settings)
		for _, sent := range []session.PackReply{first, second} {
			if again, err := s.Replay(t.Context(), sent.Checksum); err != nil || again.Checksum != sent.Checksum {
				t.Errorf("mode %s: a pack that was sent is another one, %v", settings.Mode, err)
			}
		}
		if got := profile(t, s); settings.Mode == layers.ProfileAuto && (got.Profile != wanted.Profile || got.Reason != wanted.Reason || got.Since != wanted.Since) {
			t.Errorf("after a restart: %+v, was %+v", got, wanted)
		} else if settings.Mode != layers.ProfileAuto && (got.Profile != layers.ProfileBalanced || got.Mode != session.ProfileBySettings) {
			t.Errorf("without auto: %+v", got.ProfileState)
		}
	}
}

// TestH18_ChangesMoveNoPrefix: over many conversations of changing kinds, and
// with profiles set by hand in between, a pack keeps what the one before said
// would stay, unless there was a fold; and every pack can be built again.
func TestH18_ChangesMoveNoPrefix(t *testing.T) {
	t.Parallel()
	s, _ := openUnder(t, t.TempDir(), auto())
	var sent []session.PackReply
	last := map[int]session.PackReply{}
	seen := map[layers.ProfileName]bool{}
	laidOut := map[layers.ProfileName]bool{}
	build := func() {
		t.Helper()
		for _, total := range []int{2500, 30_000} {
			now := pack(t, s, total)
			before, ok := last[total]
			if ok && before.Pack.Epoch == now.Pack.Epoch && !strings.HasPrefix(now.Pack.Text, before.Pack.Text[:before.Pack.StableBytes]) {
				t.Fatalf("%d tokens at sequence %d: the prefix moved without a fold, from %s to %s", total, now.Pack.Sequence, before.Profile.Profile, now.Profile.Profile)
			}
			if ok && before.Pack.Epoch == now.Pack.Epoch && before.Pack.LaidOut != now.Pack.LaidOut {
				t.Fatalf("%d tokens: laid out by %s, then by %s, without a fold", total, before.Pack.LaidOut, now.Pack.LaidOut)
			}
			last[total] = now
			sent = append(sent, now)
			seen[now.Profile.Profile], laidOut[now.Pack.LaidOut] = true, true
		}
	}
	for i := range 36 {
		switch {
		case i%12 < 5:
			hunt(t, s, i)
		case i%12 < 11:
			chore(t, s, i)
		default:
			talk(t, s, "And now?", "Nothing.")
		}
		build()
		if i == 13 || i == 18 {
			name := layers.ProfileExploration
			if i == 18 {
				name = layers.ProfileAuto
			}
			if _, err := s.SetProfile(t.Context(), session.ProfileRequest{Profile: name}); err != nil {
				t.Fatal(err)
			}
			build()
		}
	}
	for _, name := range []layers.ProfileName{layers.ProfileBalanced, layers.ProfileDebugging, layers.ProfileMaintenance, layers.ProfileExploration} {
		if !seen[name] || !laidOut[name] {
			t.Errorf("%s was never in force, or never laid out: the test sees too little", name)
		}
	}
	for _, reply := range sent {
		if again, err := s.Replay(t.Context(), reply.Checksum); err != nil || again.Checksum != reply.Checksum {
			t.Fatalf("the pack of sequence %d is another one, %v", reply.Pack.Sequence, err)
		}
	}
}

// TestH18_SetByHand: a profile that is set by hand lasts, is of one session, and
// with now makes an epoch at which the window moves to where it says; packs from
// before are as they were.
func TestH18_SetByHand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := openUnder(t, dir, auto())
	for i := range 9 {
		talk(t, s, fmt.Sprintf("What does part %d do?", i), strings.Repeat(fmt.Sprintf("Part %d reads. ", i), 40))
	}
	before := pack(t, s, 30_000)
	if shownTokens(before.Pack, "c1#1") == 0 {
		t.Fatal("layer 1 is not whole")
	}
	later, err := s.SetProfile(t.Context(), session.ProfileRequest{Profile: layers.ProfileDebugging, Key: "a"})
	if err != nil || later.Profile != layers.ProfileDebugging || later.Mode != session.ProfileByHand || later.Previous != layers.ProfileBalanced {
		t.Fatalf("%+v, %v", later, err)
	}
	if same := pack(t, s, 30_000); same.Pack.Text != before.Pack.Text || same.Pack.LaidOut != layers.ProfileBalanced || same.Profile.Profile != layers.ProfileDebugging {
		t.Errorf("a profile that need not count at once changed the pack: epoch %d, %s", same.Pack.Epoch, same.Pack.EpochReason)
	}
	again, err := s.SetProfile(t.Context(), session.ProfileRequest{Profile: layers.ProfileDebugging})
	if err != nil || again.Since != later.Since {
		t.Errorf("set twice: since %d, then %d, %v", later.Since, again.Since, err)
	}
	now, err := s.SetProfile(t.Context(), session.ProfileRequest{Profile: layers.ProfileMaintenance, Now: true, Key: "b"})
	if err != nil {
		t.Fatal(err)
	}
	folded := pack(t, s, 30_000)
	if p := folded.Pack; p.EpochReason != layers.EpochProfile || p.Epoch != now.Sequence || p.LaidOut != layers.ProfileMaintenance {
		t.Errorf("epoch %d (%s), laid out by %s; want %d (profile)", p.Epoch, p.EpochReason, p.LaidOut, now.Sequence)
	}
	// Three to seven conversations stay, so that of nine five leave.
	if shownTokens(folded.Pack, "c5#1") != 0 || shownTokens(folded.Pack, "c6#1") == 0 {
		t.Errorf("the window did not move: c5 has %d tokens, c6 %d", shownTokens(folded.Pack, "c5#1"), shownTokens(folded.Pack, "c6#1"))
	}
	talk(t, s, "What is next?", "Part 10.")
	if next := pack(t, s, 30_000); next.Pack.Epoch != folded.Pack.Epoch || !strings.HasPrefix(next.Pack.Text, folded.Pack.Text[:folded.Pack.StableBytes]) {
		t.Errorf("the pack after it begins otherwise: epoch %d, then %d", folded.Pack.Epoch, next.Pack.Epoch)
	}
	done()
	s, _ = openUnder(t, dir, layers.DefaultProfiles())
	if got := profile(t, s); got.Profile != layers.ProfileMaintenance || got.Mode != session.ProfileByHand || got.Since != now.Since || got.LaidOut != layers.ProfileMaintenance {
		t.Errorf("after a restart: %+v", got)
	}
	for _, sent := range []session.PackReply{before, folded} {
		if got, err := s.Replay(t.Context(), sent.Checksum); err != nil || got.Checksum != sent.Checksum {
			t.Errorf("a pack that was sent is another one, %v", err)
		}
	}
	if repeated, err := s.SetProfile(t.Context(), session.ProfileRequest{Profile: layers.ProfileMaintenance, Now: true, Key: "b"}); err != nil || repeated.Since != now.Since {
		t.Errorf("a repeated key: %+v, %v", repeated, err)
	}
	var bad *session.InvalidError
	if _, err := s.SetProfile(t.Context(), session.ProfileRequest{Profile: "lazy"}); !errors.As(err, &bad) || bad.Path != "profile" {
		t.Errorf("an unknown profile: %v", err)
	}
}

// TestH18_RetrievalThreshold: whether older conversations are shown with a query
// is a matter of the profile in force when it opens a conversation.
func TestH18_RetrievalThreshold(t *testing.T) {
	t.Parallel()
	profiles := layers.DefaultProfiles()
	profiles.Debugging.Retrieved, profiles.Exploration.RelatedCoveragePercent = 0, 0
	for _, name := range []layers.ProfileName{layers.ProfileDebugging, layers.ProfileExploration} {
		s, _ := openUnder(t, t.TempDir(), profiles)
		for i := range 30 {
			talk(t, s, fmt.Sprintf("How does the zeppelin%d land?", i), strings.Repeat("Slowly, on its mast. ", 40))
		}
		if _, err := s.SetProfile(t.Context(), session.ProfileRequest{Profile: name}); err != nil {
			t.Fatal(err)
		}
		id := talk(t, s, "How did zeppelin1 land on the mast?", "Slowly.")
		related := shownTokens(pack(t, s, 30_000).Pack, "related:"+id)
		if (related > 0) != (name == layers.ProfileExploration) {
			t.Errorf("%s: %d tokens of related conversations", name, related)
		}
	}
}

// TestH22_FoldsWaitForNothing: what a fold shows in place of a conversation is on
// disk since the conversation was completed, and what it shows in place of a tool
// output since that was recorded. No model is asked; there is no way to ask one.
func TestH22_FoldsWaitForNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := openUnder(t, dir, layers.DefaultProfiles())
	var ids []string
	for i := range 4 {
		ids = append(ids, hunt(t, s, i)) // no pack is built, nothing was folded
	}
	done()
	store, err := storage.Open(t.Context(), storage.Options{Dir: filepath.Join(dir, "workspaces", s.Workspace.ID)})
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	v := snapshot.View()
	for _, id := range ids {
		trio, ok, err := v.Latest("trio", id)
		if err != nil || !ok || !strings.Contains(string(trio.Body), "reader") {
			t.Errorf("%s has no summary on disk: %s, %v", id, trio.Body, err)
		}
		turn, ok, err := v.Latest("turn", id+"#3")
		if err != nil || !ok || !strings.Contains(string(turn.Body), "ompressed") || !strings.Contains(string(turn.Body), "failed") {
			t.Errorf("the output of %s is not compressed on disk: %s, %v", id, turn.Body, err)
		}
	}
	snapshot.Release()
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s, _ = openUnder(t, dir, layers.DefaultProfiles())
	if folded := pack(t, s, 900); folded.Pack.EpochReason != layers.EpochBudget {
		t.Errorf("nothing was folded: %s", folded.Pack.EpochReason)
	}
}

// TestH18_SetInTheMiddle: a profile that is set in the middle of a conversation
// counts for what is recorded from there, moves no prefix, and is found again
// after a restart.
func TestH18_SetInTheMiddle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := openUnder(t, dir, layers.DefaultProfiles())
	record := func(turns ...layers.Turn) {
		t.Helper()
		if _, err := s.Record(t.Context(), session.RecordRequest{Turns: turns}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(id string) {
		t.Helper()
		record(layers.Turn{Role: layers.RoleAssistant, Calls: []layers.ToolCall{{ID: id, Name: "Read", Input: `{"file_path":"` + id + `.txt"}`}}},
			layers.Turn{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: id, Content: id + "\n" + journal(400)}}})
	}
	record(layers.Turn{Role: layers.RoleUser, Text: "Read both."})
	read("a")
	before := pack(t, s, 30_000)
	if _, err := s.SetProfile(t.Context(), session.ProfileRequest{Profile: layers.ProfileDebugging}); err != nil {
		t.Fatal(err)
	}
	read("b")
	after := pack(t, s, 30_000)
	if a, b := shownTokens(after.Pack, "c1#3"), shownTokens(after.Pack, "c1#5"); a == 0 || a > 520 || b <= 520 {
		t.Errorf("outputs of %d and %d tokens, want at most 500 and 600 with a heading", a, b)
	}
	if !strings.HasPrefix(after.Pack.Text, before.Pack.Text[:before.Pack.StableBytes]) {
		t.Error("it moved the prefix")
	}
	done()
	s, _ = openUnder(t, dir, auto())
	for _, sent := range []session.PackReply{before, after} {
		if again, err := s.Replay(t.Context(), sent.Checksum); err != nil || again.Checksum != sent.Checksum {
			t.Errorf("the pack of sequence %d is another one, %v", sent.Pack.Sequence, err)
		}
	}
}

// TestH18_EditsChooseAnew: an edit that cuts conversations off has the profile
// chosen from those that are left; packs from before are built again as they
// were, also after a restart.
func TestH18_EditsChooseAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := openUnder(t, dir, auto())
	chore(t, s, 1)
	first := hunt(t, s, 1)
	hunt(t, s, 2)
	hunt(t, s, 3)
	before := pack(t, s, 20_000)
	if got := profile(t, s); got.Profile != layers.ProfileDebugging {
		t.Fatalf("after three hunts: %+v", got.ProfileState)
	}
	if _, err := s.Edit(t.Context(), session.EditRequest{Conversation: first, Turn: 1, Text: text("Never mind."), Truncate: true}); err != nil {
		t.Fatal(err)
	}
	chore(t, s, 2)
	chore(t, s, 3)
	chore(t, s, 4)
	got := profile(t, s)
	if got.Profile != layers.ProfileMaintenance {
		t.Errorf("after the edit and three chores: %+v", got.ProfileState)
	}
	after := pack(t, s, 20_000)
	if after.Profile.Profile != layers.ProfileMaintenance {
		t.Errorf("a pack of %+v", after.Profile)
	}
	requireReplay(t, s, before, after)
	done()
	s, _ = openUnder(t, dir, auto())
	requireReplay(t, s, before, after)
	if again := profile(t, s); again.ProfileState != got.ProfileState || again.Since != got.Since {
		t.Errorf("after a restart: %+v, was %+v", again.ProfileState, got.ProfileState)
	}
}
