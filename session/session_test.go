package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/session"
	"hexapla/storage"
)

// open opens the session "s" of a workspace in a folder; it is closed when the
// test ends, or by the function that is returned.
func open(t *testing.T, dir string) (*session.Session, func()) {
	t.Helper()
	service := newService(session.Options{
		DataDir: dir, Now: func() int64 { return 1_700_000_000_000 }, Random: strings.NewReader(strings.Repeat("k", 1024)), // two stores give the same packs
	})
	closed := false
	done := func() {
		if closed {
			return
		}
		closed = true
		if err := service.Close(); err != nil {
			t.Error(err)
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

// talk records a completed exchange of a query and an answer.
func talk(t *testing.T, s *session.Session, query, answer string) string {
	t.Helper()
	reply, err := s.Record(t.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{
		{Role: layers.RoleUser, Text: query}, {Role: layers.RoleAssistant, Text: answer},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Conversation
}

func pack(t *testing.T, s *session.Session, total int) session.PackReply {
	t.Helper()
	reply, err := s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: total}})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// TestTrio: a conversation stands as header, summary and full text, within
// their caps, and the full text is what was said.
func TestTrio(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	answer := strings.Repeat("The cause is that Close in internal/reader.go does not flush. I decided to flush in Close. ", 40)
	id := talk(t, s, "Why does the reader lose its last record?", answer)
	most := map[layers.Detail]int{layers.DetailHeader: 60, layers.DetailSummary: 160, layers.DetailFull: 1 << 20}
	for detail, tokens := range most {
		got, err := s.Conversation(session.ConversationRequest{Conversation: id, Detail: detail})
		if err != nil {
			t.Fatal(err)
		}
		if got.Tokens == 0 || got.Tokens > tokens {
			t.Errorf("%s has %d tokens", detail, got.Tokens)
		}
		if detail == layers.DetailFull && (len(got.Turns) != 2 || got.Turns[1].Text != answer) {
			t.Error("the full text is not what was said")
		}
		if detail == layers.DetailSummary && !strings.Contains(got.Text, "flush in Close") {
			t.Errorf("the summary leaves out the decision: %s", got.Text)
		}
	}
}

// TestHousekeepingComesFirst: what the model says takes the place of what was
// extracted, is cut to its cap by sentences, and stays when it says nothing.
func TestHousekeepingComesFirst(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	id := talk(t, s, "Why does it leak?", "The pool was never closed.")
	var h layers.Housekeeping
	h.LLM.ResponseHeader.Summary = "pool leak found"
	h.LLM.ContextSummary = strings.Repeat("The pool of connections was never closed. ", 60)
	h.LLM.KeyDecisions = []string{"close the pool in Stop"}
	reply, err := s.ApplyHousekeeping(t.Context(), id, h, "")
	if err != nil {
		t.Fatal(err)
	}
	if reply.Header.Summary != "pool leak found" || reply.Header.Source != layers.SourceHousekeeping {
		t.Errorf("header %+v", reply.Header)
	}
	if len(reply.Trimmed) == 0 || !strings.HasSuffix(strings.TrimSpace(reply.Summary.Content), ".") {
		t.Errorf("trimmed %v, summary %q", reply.Trimmed, reply.Summary.Content)
	}
	if !slices.Contains(reply.Summary.KeyDecisions, "close the pool in Stop") {
		t.Errorf("decisions %v", reply.Summary.KeyDecisions)
	}
	if _, err := s.ApplyHousekeeping(t.Context(), "c99", h, ""); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("of an unknown conversation: %v", err)
	}
}

// TestV5_KeyRepeated: the same content gives the first reply, other content is
// refused, and nothing is there twice.
func TestV5_KeyRepeated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	req := session.RecordRequest{Key: "k", Turns: []layers.Turn{{Role: layers.RoleUser, Text: "once"}}}
	first, err := s.Record(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	done()
	s, _ = open(t, dir)
	again, err := s.Record(t.Context(), req)
	if err != nil || again.Conversation != first.Conversation || !slices.Equal(again.Numbers, first.Numbers) {
		t.Errorf("after a restart: %+v, %v; at first %+v", again, err, first)
	}
	req.Turns[0].Text = "other"
	if _, err := s.Record(t.Context(), req); !errors.Is(err, storage.ErrKeyReused) {
		t.Errorf("other content: %v", err)
	}
	if m, err := s.Workspace.Counts(); err != nil || m.Turns != 1 {
		t.Errorf("%d turns, %v", m.Turns, err)
	}
}

// TestV8_SizesOfTurns: an empty turn and one of 16 MiB are kept byte for byte;
// one byte more is refused with the limit.
func TestV8_SizesOfTurns(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	const limit = 16 << 20
	large := strings.Repeat("0123456789abcde\n", limit/16)
	for _, text := range []string{"", "x", large} {
		reply, err := s.Record(t.Context(), session.RecordRequest{Done: true, Turns: []layers.Turn{{Role: layers.RoleUser, Text: text}}})
		if err != nil {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
		var read strings.Builder
		for cursor := ""; ; {
			got, err := s.Conversation(session.ConversationRequest{Conversation: reply.Conversation, Detail: layers.DetailFull, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			for _, turn := range got.Turns {
				read.WriteString(turn.Text)
			}
			if cursor = got.Cursor; cursor == "" {
				break
			}
		}
		if read.String() != text {
			t.Errorf("%d bytes came back as %d", len(text), read.Len())
		}
	}
	_, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{{Role: layers.RoleUser, Text: large + "x"}}})
	var tooLarge *session.TooLargeError
	if !errors.As(err, &tooLarge) || tooLarge.Limit != limit || tooLarge.Path != "turns[0].text" {
		t.Errorf("16 MiB and a byte: %v", err)
	}
	if got := pack(t, s, 4000); got.Pack.Used() > 4000 {
		t.Errorf("the pack has %d tokens", got.Pack.Used())
	}
}

// TestQuota: three fulls are served between two queries; what is over the
// quota, unknown or over the tokens is deferred with the reason.
func TestQuota(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	var ids []string
	for i := range 5 {
		ids = append(ids, talk(t, s, fmt.Sprintf("question %d", i), strings.Repeat(fmt.Sprintf("answer %d is long. ", i), 50)))
	}
	ask := func(req session.ContextRequest) session.ContextReply {
		t.Helper()
		reply, err := s.RequestContext(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	reply := ask(session.ContextRequest{Retrieve: []session.Retrieve{{IDs: append(ids, "c77"), Format: layers.DetailFull}}})
	if len(reply.Items) != 3 || len(reply.Deferred) != 3 {
		t.Fatalf("%d items, deferred %+v", len(reply.Items), reply.Deferred)
	}
	if reply.Deferred[0].Reason != session.DeferredQuota || reply.Deferred[2].Reason != session.DeferredNotFound {
		t.Errorf("deferred %+v", reply.Deferred)
	}
	if text := pack(t, s, 8000).Pack.Text; !strings.Contains(text, "answer 2 is long. answer 2 is long.") {
		t.Error("what was served is not in the next pack")
	}
	reply = ask(session.ContextRequest{Retrieve: []session.Retrieve{{IDs: ids[4:], Format: layers.DetailHeader}}})
	if len(reply.Items) != 1 {
		t.Errorf("a header needs no quota: %+v", reply)
	}
	talk(t, s, "next question", "next answer")
	reply = ask(session.ContextRequest{MaxTokens: 100, Retrieve: []session.Retrieve{{IDs: ids[4:], Format: layers.DetailFull}}})
	if len(reply.Items) != 1 || reply.Items[0].Tokens > 100 {
		t.Errorf("within 100 tokens: %+v", reply)
	}
	reply = ask(session.ContextRequest{MaxTokens: 20, Retrieve: []session.Retrieve{{IDs: ids, Format: layers.DetailSummary}}})
	if n := len(reply.Deferred); n == 0 || reply.Deferred[n-1].Reason != session.DeferredBudget {
		t.Errorf("over the tokens: %+v", reply)
	}
}

// TestTopicsAndArchive: topics are summarised from what is there, and an
// archived conversation leaves the pack with the next fold, which moves the
// prefix anyway, and stays in the store.
func TestTopicsAndArchive(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	talk(t, s, "How does the scheduler pick a job?", "The scheduler takes the job with the earliest deadline.")
	out := talk(t, s, "Is the parser recursive?", "The parser is recursive descent, in parse.go.")
	reply, err := s.RequestContext(t.Context(), session.ContextRequest{Topics: []string{"scheduler deadline"}, Archive: []string{out}})
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Topics) != 1 || !slices.Contains(reply.Topics[0].Conversations, "c1") || !strings.Contains(reply.Topics[0].Summary, "deadline") {
		t.Errorf("topics %+v", reply.Topics)
	}
	if !slices.Equal(reply.Archived, []string{out}) {
		t.Errorf("archived %v", reply.Archived)
	}
	if text := pack(t, s, 2000).Pack.Text; !strings.Contains(text, "### c2#") {
		t.Error("archiving moved the prefix")
	}
	talk(t, s, "And now?", strings.Repeat("Now we test what has been written. ", 400))
	if text := pack(t, s, 2000).Pack.Text; strings.Contains(text, "### c2#") || !strings.Contains(text, "### c1#") {
		t.Errorf("after a fold the archived conversation must be gone, and the other not:\n%s", text)
	}
	if got, err := s.Conversation(session.ConversationRequest{Conversation: out, Detail: layers.DetailFull}); err != nil || !strings.Contains(got.Text, "recursive descent") {
		t.Errorf("the archived conversation cannot be read: %v", err)
	}
}

// TestOrderOfEqualsIsIrrelevant: the conversations that were used, and those to
// archive, are sets: in another order they give the same pack.
func TestOrderOfEqualsIsIrrelevant(t *testing.T) {
	t.Parallel()
	build := func(shuffle func(n int, swap func(i, j int))) string {
		s, _ := open(t, t.TempDir())
		for i := range 4 {
			talk(t, s, fmt.Sprintf("question %d", i), fmt.Sprintf("answer %d", i))
		}
		id := talk(t, s, "Which files?", "These.")
		var h layers.Housekeeping
		h.LLM.ResponseHeader.Summary = "files named"
		used := []string{"c1", "c2", "c3"}
		shuffle(len(used), func(i, j int) { used[i], used[j] = used[j], used[i] })
		h.User.ContextUsed = used
		if _, err := s.ApplyHousekeeping(t.Context(), id, h, ""); err != nil {
			t.Fatal(err)
		}
		archive := []string{"c1", "c2", "c4"}
		shuffle(len(archive), func(i, j int) { archive[i], archive[j] = archive[j], archive[i] })
		if _, err := s.RequestContext(t.Context(), session.ContextRequest{Archive: archive}); err != nil {
			t.Fatal(err)
		}
		return pack(t, s, 6000).Pack.Text
	}
	want := build(func(int, func(i, j int)) {})
	for seed := range uint64(20) {
		if got := build(rand.New(rand.NewPCG(seed, 1)).Shuffle); got != want {
			t.Fatalf("seed %d: another pack\n%s\n---\n%s", seed, want, got)
		}
	}
}

// TestV10_AsOf: a pack as of a past sequence is the pack that was built then,
// whatever came after; one of the audit log can be built again.
func TestV10_AsOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, done := open(t, dir)
	var packs []session.PackReply
	for i := range 12 {
		talk(t, s, fmt.Sprintf("question %d about the cache", i), fmt.Sprintf("answer %d", i))
		packs = append(packs, pack(t, s, 3000))
	}
	done()
	s, _ = open(t, dir)
	for _, want := range packs {
		got, err := s.BuildPack(t.Context(), session.PackRequest{Budget: layers.Budget{Total: 3000}, AsOf: want.Pack.Sequence})
		if err != nil {
			t.Fatal(err)
		}
		if got.Checksum != want.Checksum {
			t.Errorf("at %d: another pack", want.Pack.Sequence)
		}
		if again, err := s.Replay(t.Context(), want.Checksum); err != nil || again.Checksum != want.Checksum {
			t.Errorf("replay at %d: %v", want.Pack.Sequence, err)
		}
	}
	if _, err := s.Replay(t.Context(), strings.Repeat("0", 64)); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a checksum that never was: %v", err)
	}
}

// TestBadInput: each fault names the field.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	id := talk(t, s, "q", "a")
	build := func(req session.PackRequest) error { _, err := s.BuildPack(t.Context(), req); return err }
	record := func(req session.RecordRequest) error { _, err := s.Record(t.Context(), req); return err }
	user := []layers.Turn{{Role: layers.RoleUser, Text: "x"}}
	for path, err := range map[string]error{
		"budget.total":    build(session.PackRequest{}),
		"budget.reserved": build(session.PackRequest{Budget: layers.Budget{Total: 4000, Reserved: -1}}),
		"layout":          build(session.PackRequest{Budget: layers.Budget{Total: 4000}, Layout: "diagonal"}),
		"input.type":      build(session.PackRequest{Budget: layers.Budget{Total: 4000}, Input: &session.PackInput{Kind: "shout"}}),
		"turns":           record(session.RecordRequest{}),
		"turns[0].role":   record(session.RecordRequest{Turns: []layers.Turn{{Role: "narrator", Text: "x"}}}),
	} {
		var invalid *session.InvalidError
		if !errors.As(err, &invalid) || invalid.Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := record(session.RecordRequest{Conversation: id, Turns: user}); !errors.Is(err, session.ErrConversationDone) {
		t.Errorf("a turn for a completed conversation: %v", err)
	}
	if err := record(session.RecordRequest{Conversation: "c99", Turns: user}); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a turn for an unknown conversation: %v", err)
	}
	var small *layers.BudgetError
	if err := build(session.PackRequest{Budget: layers.Budget{Total: 1}}); !errors.As(err, &small) {
		t.Fatalf("a budget of one token: %v", err)
	}
	if err := build(session.PackRequest{Budget: layers.Budget{Total: small.Smallest}}); err != nil {
		t.Errorf("the smallest workable budget, %d, does not work: %v", small.Smallest, err)
	}
	if err := build(session.PackRequest{Budget: layers.Budget{Total: small.Smallest - 1}}); !errors.As(err, &small) {
		t.Errorf("one less works: %v", err)
	}
}

// TestInputIsShownWhole: a tool's output that is handed over as the input is in
// the pack as a whole if it fits, and as much of it as fits if not; once it is
// recorded, it stands there in its cap.
func TestInputIsShownWhole(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	if _, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{{Role: layers.RoleUser, Text: "What does the log say?"}}}); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for i := range 400 {
		fmt.Fprintf(&log, "line %d of the log\n", i)
	}
	build := func(total int) string {
		reply, err := s.BuildPack(t.Context(), session.PackRequest{
			Budget: layers.Budget{Total: total}, Input: &session.PackInput{Kind: layers.InputToolResponse, Content: log.String()},
		})
		if err != nil {
			t.Fatal(err)
		}
		if used := reply.Pack.Used(); used > total {
			t.Fatalf("%d of %d tokens", used, total)
		}
		return reply.Pack.Text
	}
	if text := build(8000); !strings.Contains(text, log.String()) {
		t.Error("there is room for the input, but it is cut")
	}
	if text := build(2000); strings.Contains(text, "line 200 of") || strings.Count(text, "\n") < 120 {
		t.Errorf("of a longer input %d lines are shown", strings.Count(text, "\n"))
	}
}

// TestShortOutputsStandWhole: an output of a few bytes is shown as it is.
func TestShortOutputsStandWhole(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	_, err := s.Record(t.Context(), session.RecordRequest{Contents: []string{"ok"}, Turns: []layers.Turn{
		{Role: layers.RoleUser, Text: "Is it up?"},
		{Role: layers.RoleAssistant, Calls: []layers.ToolCall{{ID: "a", Name: "ping", Input: `{}`}}},
		{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: "a", Content: "ok"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if text := unmarked(pack(t, s, 4000).Pack.Text); !strings.HasSuffix(text, "tool ping\nok\n") {
		t.Errorf("%s", text)
	}
}

// unmarked is a pack's text without the mark behind its headings.
func unmarked(text string) string {
	_, after, _ := strings.Cut(text, "# Current context")
	mark, _, _ := strings.Cut(after, "\n")
	return strings.ReplaceAll(text, mark, "")
}
