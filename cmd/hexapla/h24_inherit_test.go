package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/internal/transcript"
	"hexapla/rpc/wire"
)

// TestH24_SecondSessionKnowsTheFirst: a session that opens in a workspace after
// another was recorded has in its first pack what that one did: layer 0, headers
// and summaries, with the files that were changed. README.md shows that pack,
// letter by letter; -update puts it there anew.
func TestH24_SecondSessionKnowsTheFirst(t *testing.T) {
	t.Parallel()
	name := filepath.Join(root(t), "testdata", "sessions", "claude-code-agent-field.jsonl")
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	recorded, messages, _, err := transcript.ReadAll(name, in)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := startChild(t, dir)
	open := func(session, agent string) {
		call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{
			Workspace: wire.Workspace{URI: testWorkspace}, Session: session, Agent: agent, Model: recorded.Model,
		})
	}
	open("thursday", "claude-code")
	for _, m := range messages {
		if !m.Compaction {
			call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "thursday", Turns: []wire.Turn{toWire(m)}})
		}
	}
	call[wire.SessionCloseResult](c, wire.MethodSessionClose, wire.SessionCloseParams{Session: "thursday"})
	c.stop() // the editor is closed over night
	c = startChild(t, dir)
	open("friday", "another-agent")
	built := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{
		Session: "friday", Budget: wire.Budget{Total: 4000}, Input: &wire.UserInput{Type: "user_query", Content: "Where does the agent field of a session stand?"},
	})
	var pack wire.Pack
	if err := json.Unmarshal(built.Pack, &pack); err != nil {
		t.Fatal(err)
	}
	changes := call[wire.ChangeListResult](c, wire.MethodChangeList, wire.ChangeListParams{Session: "friday", Limit: 500})
	if len(changes.Changes) == 0 {
		t.Fatal("the first session changed nothing")
	}
	for i := range changes.Changes {
		if by := changes.Changes[i].By; by.Session != "thursday" || by.Agent != "claude-code" || by.Model != recorded.Model {
			t.Errorf("%+v", by)
		}
	}
	// Every conversation of the first session is there by its header, and what was
	// changed by its files.
	for n := 1; n <= 6; n++ {
		if !strings.Contains(pack.Text, fmt.Sprintf("c%d", n)) {
			t.Errorf("c%d is not in the pack", n)
		}
	}
	for i := range changes.Changes {
		if name := filepath.Base(changes.Changes[i].File); !strings.Contains(pack.Text, name) {
			t.Errorf("%s was changed and is not in the pack", name)
		}
	}
	if text := sectionText(&pack, "currentContext"); !strings.Contains(text, "Objective: ") || strings.Contains(text, "nothing recorded yet") {
		t.Errorf("layer 0 is not inherited: %q", text)
	}
	c.stop()
	cli := hexapla(t, map[string]string{"HEXAPLA_DATA_DIR": dir}, "changes", "session/state.go", "--workspace", testWorkspace)
	if cli.code != exitOK {
		t.Fatalf("%+v", cli)
	}
	shownInReadme(t, "second session", pack.Text)
	shownInReadme(t, "changes", cli.out)
}

// sectionText is the text of a pack's first section of a name.
func sectionText(pack *wire.Pack, name string) string {
	for i := range pack.Sections {
		if pack.Sections[i].Name == name {
			return pack.Sections[i].Text
		}
	}
	return ""
}

// shownInReadme compares text with the region of README.md that has a name;
// -update puts it there.
func shownInReadme(t *testing.T, region, text string) {
	t.Helper()
	begins, ends := "<!-- "+region+" -->\n```text\n", "```\n<!-- /"+region+" -->"
	name := filepath.Join(root(t), "README.md")
	readme, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(strings.ReplaceAll(string(readme), "\r\n", "\n"), begins)
	was, after, closed := strings.Cut(rest, ends)
	if !ok || !closed {
		t.Fatalf("README.md has no region %q", region)
	}
	text = strings.TrimRight(text, "\n") + "\n"
	if was == text {
		return
	}
	if !*update {
		t.Errorf("README.md shows another %s; go test ./cmd/hexapla -run %s -update writes it anew. Now:\n%s", region, t.Name(), text)
		return
	}
	if err := os.WriteFile(name, []byte(before+begins+text+ends+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
