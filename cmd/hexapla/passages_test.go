package main

import (
	"fmt"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// TestPassages: a pack that fills its budget quotes what was said of the question,
// also in another session and long ago, by conversation and in order, and nothing
// that it shows already. Packs of a work that goes on do not.
func TestPassages(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	open := func(session string) {
		call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: session})
	}
	say := func(session, question, answer string) {
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
			Session: session, Done: true, Turns: []wire.Turn{{Role: "user", Text: question, Time: "2026-02-03T10:00:00Z"}, {Role: "assistant", Text: answer, Time: "2026-02-03T10:00:05Z"}},
		})
	}
	open("then")
	say("then", "Which roast did Ines bring from Porto?", "Ines brought the dark roast of Quinta Velha, roasted on 12 May.")
	for i := range 60 {
		say("then", fmt.Sprintf("What of kettle number %d?", i), fmt.Sprintf("Kettle number %d boils at noon, as the other kettles of row %d do.", i, i%7))
	}
	open("now")
	asked := &wire.UserInput{Type: "user_query", Content: "Remind me of the roast that Ines brought from Porto, and of the kettles that boil at noon"}
	build := func(total int, fill bool) wire.Pack {
		pack, _ := packOf(c, wire.PackBuildParams{Session: "now", Budget: wire.Budget{Total: total}, Fill: fill, Input: asked})
		if pack.Tokens.Used > total {
			t.Errorf("%d tokens of %d", pack.Tokens.Used, total)
		}
		return pack
	}
	const said = "#2 assistant: Ines brought the dark roast of Quinta Velha, roasted on 12 May.\n"
	pack := build(2000, true)
	if at := strings.Index(pack.Text, said); at < 0 || !strings.Contains(pack.Text[:at], "### said in c1 2026-02-03") || strings.Count(pack.Text, said) != 1 {
		t.Errorf("the pack does not quote the answer:\n%s", pack.Text)
	}
	if pack = build(2000, false); strings.Contains(pack.Text, said) {
		t.Error("a pack of work that goes on quotes passages")
	}
	// More room quotes more, and explain lists what is in and what is out.
	small, large := len(passagesOf(build(1500, true))), len(passagesOf(build(6000, true)))
	if small >= large {
		t.Errorf("passages of %d and %d bytes", small, large)
	}
	explained := call[wire.PackExplainResult](c, wire.MethodPackExplain, wire.PackExplainParams{PackBuildParams: wire.PackBuildParams{Session: "now", Budget: wire.Budget{Total: 1500}, Fill: true, Input: asked}})
	in, out := 0, 0
	for _, candidate := range explained.Candidates {
		if candidate.Section == "retrieved" && candidate.FullDetail == "full" {
			if candidate.Tokens > 0 {
				in++
			} else {
				out++
			}
		}
	}
	if in == 0 || out == 0 {
		t.Errorf("explain lists %d passages as in and %d as out", in, out)
	}
	c.stop()
}

// passagesOf is the text of the passages of a pack.
func passagesOf(pack wire.Pack) string { return sectionText(&pack, "retrieved") }
