package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/session"
)

// busy records something made up: a loop of tools, a remark, an answer.
func busy(t *rapid.T, s *session.Session, i int) {
	path := fmt.Sprintf("internal/part%d/reader_%d.go", rapid.IntRange(0, 9).Draw(t, "part"), i)
	var turns []layers.Turn
	var contents []string
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		turns = []layers.Turn{{Role: layers.RoleUser, Text: fmt.Sprintf("Please repair %s. Never touch parser_%d. It took %d.5 ms before.", path, i, 10+i)}}
	case 1:
		turns = []layers.Turn{{Role: layers.RoleUser, Text: "go on"}, {Role: layers.RoleAssistant, Text: fmt.Sprintf("I moved flush_%d out of %s because of a timeout of %d ms.", i, path, 100+i)}}
	default:
		content := strings.Repeat(fmt.Sprintf("%s:%d: undefined: readLine%d\nok  part 0.%d3s\n", path, 10+i, i, i), rapid.IntRange(1, 40).Draw(t, "lines"))
		contents = append(contents, content)
		turns = []layers.Turn{
			{Role: layers.RoleUser, Text: fmt.Sprintf("What does test number %d say?", i)},
			{Role: layers.RoleAssistant, Calls: []layers.ToolCall{{ID: "a", Name: "Bash", Input: fmt.Sprintf(`{"command":"cd /src && go test ./internal/part%d -run \"TestRead%d\"","description":"Run\nread_%d"}`, i, i, i)}}},
			{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: "a", Content: content}}},
			{Role: layers.RoleAssistant, Text: fmt.Sprintf("It fails in %s with `go vet ./part%d`.", path, i)},
		}
	}
	_, err := s.Record(t.Context(), session.RecordRequest{Turns: turns, Contents: contents, Done: rapid.Bool().Draw(t, "done")})
	if err != nil {
		t.Fatal(err)
	}
}

// someSession opens a fresh store for one run of a property.
func someSession(t *rapid.T, dir string) *session.Session {
	service := newService(session.Options{DataDir: dir, Now: func() int64 { return 1_700_000_000_000 }})
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := service.OpenSession(t.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReceiptLaws: in sessions of any make and packs of any small size, what
// survived and what did not are together the facts of what was lost, each once;
// a fact survived when the pack shows it; every handle resolves to an original
// that holds the fact; the undo gives the pack before.
func TestReceiptLaws(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	runs, lost, dropped, survived, undone := 0, 0, 0, 0, 0
	holds(t, counted(t, lawCases, 30), func(t *rapid.T) {
		runs++
		s := someSession(t, fmt.Sprintf("%s/%d", base, runs))
		total := rapid.IntRange(400, 1500).Draw(t, "total")
		for i := range rapid.IntRange(3, 10).Draw(t, "steps") {
			busy(t, s, i)
			if rapid.IntRange(0, 5).Draw(t, "archive") == 0 {
				if _, err := s.RequestContext(t.Context(), session.ContextRequest{Archive: []string{fmt.Sprintf("c%d", i/2)}, Retrieve: []session.Retrieve{{IDs: []string{"c1"}}}}); err != nil {
					t.Fatal(err)
				}
			}
			req := session.PackRequest{Budget: layers.Budget{Total: total}}
			if rapid.IntRange(0, 3).Draw(t, "input") == 0 {
				req.Input = &session.PackInput{Kind: layers.InputToolResponse, Content: strings.Repeat(fmt.Sprintf("pending_%d 4%d2 KB\n", i, i), 60)}
			}
			reply, err := s.BuildPack(t.Context(), req)
			var small *layers.BudgetError
			if errors.As(err, &small) {
				total = small.Smallest + 100
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if reply.Previous == "" {
				continue
			}
			got, err := s.Receipt(t.Context(), session.ReceiptRequest{Checksum: reply.Checksum})
			if err != nil {
				t.Fatal(err)
			}
			if items := len(got.Losses); (reply.Loss == nil) != (items == 0) || reply.Loss != nil && (reply.Loss.Items != items || reply.Loss.Previous != got.Against) {
				t.Fatalf("the pack says %+v, the receipt lists %d", reply.Loss, items)
			}
			// The check asks for all handles, after which nothing is left to restore.
			if len(got.Losses) > 0 && rapid.Bool().Draw(t, "undo") {
				checkUndo(t, s, &got)
				undone++
			}
			checkReceipt(t, s, &got)
			lost += len(got.Losses)
			for _, count := range got.Counts {
				dropped, survived = dropped+count.Dropped, survived+count.Survived
			}
		}
	})
	if lost == 0 || dropped == 0 || survived == 0 || undone == 0 {
		t.Errorf("the test saw %d losses, %d dropped and %d surviving facts, %d undos", lost, dropped, survived, undone)
	}
}

// checkUndo: it gives the pack before, accounts for every loss and keeps to its
// tokens.
func checkUndo(t *rapid.T, s *session.Session, got *session.Receipt) {
	const most = 150
	undo, err := s.Undo(t.Context(), session.UndoRequest{Checksum: got.To.Checksum, MaxTokens: most})
	if err != nil {
		t.Fatal(err)
	}
	if undo.Previous != got.Against || undo.Pack.Checksum != got.Against {
		t.Fatalf("the undo gives %s, the pack before is %s", undo.Pack.Checksum, got.Against)
	}
	if n := len(undo.Restored) + len(undo.NotRestored); n != len(got.Losses) {
		t.Fatalf("%d things restored or not, %d lost", n, len(got.Losses))
	}
	tokens := 0
	for _, r := range undo.Restored {
		tokens += r.Tokens
	}
	if tokens > most {
		t.Fatalf("%d tokens restored of %d", tokens, most)
	}
}

func checkReceipt(t *rapid.T, s *session.Session, got *session.Receipt) {
	// What was lost, by the packs alone.
	extracted := map[digest.Fact]bool{}
	for _, loss := range got.Losses {
		said := strings.HasPrefix(loss.From.Text, "### "+loss.ID+" user")
		for _, fact := range digest.FactsOf(loss.From.Text, said) {
			extracted[fact] = true
		}
		if loss.To.Detail != "" && strings.Contains(got.To.Pack.Text, loss.From.Text) {
			t.Fatalf("%s is listed, and shown as it was", loss.ID)
		}
	}
	for _, section := range got.From.Pack.Sections {
		for _, item := range section.Items {
			listed := slices.ContainsFunc(got.Losses, func(l session.Loss) bool { return l.ID == item.ID && l.From == item.Form })
			_, body, _ := strings.Cut(item.Form.Text, "\n")
			if item.Form.Detail == layers.FormFull && strings.Contains(item.ID, "#") && !listed && !strings.Contains(got.To.Pack.Text, body) {
				t.Fatalf("%s is shown in less detail and not listed", item.ID)
			}
		}
	}
	listed := map[digest.Fact]bool{}
	originals := resolve(t, s, got)
	for _, fact := range got.Facts {
		if listed[fact.Fact] || !extracted[fact.Fact] {
			t.Fatalf("%+v is listed twice, or was not lost", fact)
		}
		listed[fact.Fact] = true
		holds := func(text string) bool { return digest.Sightings(text, []string{fact.Text})[0] >= 0 }
		if holds(got.To.Pack.Text) != fact.Survived {
			t.Fatalf("%+v: the pack shows it: %v", fact, !fact.Survived)
		}
		if !holds(originals[fact.Handle]) {
			t.Fatalf("%+v: not in what its handle resolves to:\n%s", fact, originals[fact.Handle])
		}
	}
	if len(listed) != len(extracted) {
		t.Fatalf("%d facts listed, %d extracted", len(listed), len(extracted))
	}
}

// resolve reads the handles of a receipt as a client does.
func resolve(t *rapid.T, s *session.Session, got *session.Receipt) map[string]string {
	out := map[string]string{}
	var handles, turns []string
	for _, loss := range got.Losses {
		handles = append(handles, loss.Handle)
	}
	for _, fact := range got.Facts {
		handles = append(handles, fact.Handle)
	}
	for _, handle := range handles {
		switch _, known := out[handle]; {
		case known:
		case handle == got.Against:
		case strings.Contains(handle, "#"):
			turns = append(turns, handle)
		default:
			for _, detail := range []layers.Detail{layers.DetailFull, layers.DetailHeader, layers.DetailSummary} {
				reply, err := s.Conversation(session.ConversationRequest{Conversation: handle, Detail: detail})
				if err != nil {
					t.Fatal(err)
				}
				out[handle] += reply.Text
			}
		}
	}
	for ids := range slices.Chunk(turns, layers.MaxFullsPerTurn) {
		// Another turn, another quota.
		if _, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{{Role: layers.RoleUser, Kind: layers.InputUserQuery, Text: "Go on."}}}); err != nil {
			t.Fatal(err)
		}
		reply, err := s.RequestContext(t.Context(), session.ContextRequest{
			MaxTokens: 1 << 20, Retrieve: []session.Retrieve{{IDs: ids, Format: layers.DetailFull}},
		})
		if err != nil || len(reply.Deferred) > 0 {
			t.Fatalf("handles that do not resolve: %+v, %v", reply.Deferred, err)
		}
		for _, item := range reply.Items {
			out[item.ID] = item.Text
			if item.InContext != "" {
				out[item.ID] = got.To.Pack.Text // it stands there in full
			}
		}
	}
	again, err := s.Replay(t.Context(), got.Against)
	if err != nil || again.Checksum != got.Against {
		t.Fatalf("replay of %s: %v", got.Against, err)
	}
	out[got.Against] = again.Pack.Text
	return out
}

// TestUndoOfAnArchive: what was archived is served again at once, behind the
// bytes of the pack before; the next fold shows the conversation as if it had
// never been archived.
func TestUndoOfAnArchive(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	talk(t, s, "How does the scheduler pick a job?", "The scheduler takes the job with the earliest deadline.")
	out := talk(t, s, "Is the parser recursive?", "The parser is recursive descent, in parse.go.")
	if _, err := s.RequestContext(t.Context(), session.ContextRequest{Archive: []string{out}}); err != nil {
		t.Fatal(err)
	}
	first := pack(t, s, 2000)
	if _, err := s.Record(t.Context(), session.RecordRequest{Turns: []layers.Turn{
		{Role: layers.RoleUser, Text: "And now?"}, {Role: layers.RoleAssistant, Text: strings.Repeat("Now we test what has been written. ", 400)},
	}}); err != nil {
		t.Fatal(err)
	}
	folded := pack(t, s, 2000)
	if strings.Contains(folded.Pack.Text, "### c2#") {
		t.Fatal("the archived conversation is not gone; the test sees nothing")
	}
	undo, err := s.Undo(t.Context(), session.UndoRequest{Checksum: folded.Checksum})
	if err != nil {
		t.Fatal(err)
	}
	if undo.Pack.Checksum != first.Checksum || !slices.Equal(undo.Unarchived, []string{out}) || len(undo.NotRestored) > 2 {
		t.Errorf("gives %s for %s, unarchived %v, not restored %+v", undo.Pack.Checksum, first.Checksum, undo.Unarchived, undo.NotRestored)
	}
	next := pack(t, s, 2000)
	if !strings.Contains(unmarked(next.Pack.Text), "### retrieved c2#2 full\n### c2#2 assistant\nThe parser is recursive descent") {
		t.Errorf("the next pack does not show what was lost:\n%s", next.Pack.Text)
	}
	if next.PrefixBytes != len(folded.Pack.Text) || next.Loss != nil {
		t.Errorf("the undo moved the prefix: %d bytes of %d, lost %+v", next.PrefixBytes, len(folded.Pack.Text), next.Loss)
	}
	talk(t, s, "And then?", strings.Repeat("Then we write what has been tested. ", 400))
	if text := pack(t, s, 2000).Pack.Text; !strings.Contains(text, "\n### c2#") {
		t.Errorf("after a fold the conversation must be shown again:\n%s", text)
	}
	if again, err := s.Replay(t.Context(), folded.Checksum); err != nil || again.Checksum != folded.Checksum {
		t.Errorf("the pack that lost it cannot be built again: %v", err)
	}
	if _, err := s.RequestContext(t.Context(), session.ContextRequest{Archive: []string{out}}); err != nil {
		t.Fatal(err)
	}
	talk(t, s, "At last?", strings.Repeat("At last it is done. ", 800))
	if text := pack(t, s, 2000).Pack.Text; strings.Contains(text, "\n### c2#") {
		t.Error("archived again, it is still shown")
	}
}

// TestLossOfARepeatedPack: a pack that is asked for twice has the same pack
// before it both times, and its receipt says the same.
func TestLossOfARepeatedPack(t *testing.T) {
	t.Parallel()
	s, _ := open(t, t.TempDir())
	work(t, s, 12)
	first, small, again := pack(t, s, 3000), pack(t, s, 1200), pack(t, s, 1200)
	if first.Loss != nil || small.Loss == nil || again.Loss == nil || *again.Loss != *small.Loss || again.Previous != first.Checksum {
		t.Fatalf("lost %+v, then %+v, then %+v", first.Loss, small.Loss, again.Loss)
	}
	receipt, err := s.Receipt(t.Context(), session.ReceiptRequest{Checksum: small.Checksum})
	if err != nil || receipt.Against != first.Checksum || len(receipt.Losses) != small.Loss.Items {
		t.Errorf("against %s: %d losses, %v", receipt.Against, len(receipt.Losses), err)
	}
	pack(t, s, 3000)
	entries, _, err := s.Audit(t.Context(), session.AuditFilter{Limit: 4})
	if err != nil || entries[3].Previous != "" || entries[2].Lost != small.Loss.Items || entries[0].Previous != small.Checksum {
		t.Errorf("the audit log: %+v, %v", entries, err)
	}
	for name, req := range map[string]session.ReceiptRequest{
		"limit": {Checksum: small.Checksum, Limit: 2001}, "cursor": {Checksum: small.Checksum, Cursor: "x"}, "checksum": {Checksum: entries[3].Checksum + "0"},
	} {
		_, err := s.Receipt(t.Context(), req)
		var invalid *session.InvalidError
		if errors.As(err, &invalid) != (name != "checksum") || invalid != nil && invalid.Path != name || invalid == nil && !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
