package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hexapla/internal/transcript"
	"hexapla/layers"
	"hexapla/rpc/wire"
)

// oldStore is what testdata/stores/v1.json says of v1.zip beside it: what any
// later program must still find in that store.
type oldStore struct {
	MadeBy        string            `json:"madeBy"` // version of the program
	Workspace     string            `json:"workspace"`
	Sequence      int64             `json:"sequence"`
	Turns         int               `json:"turns"`
	BlobBytes     int64             `json:"blobBytes"`
	Conversations []oldConversation `json:"conversations"`
	Blobs         []oldBlob         `json:"blobs"`
	Search        oldSearch         `json:"search"`
	Packs         []oldPack         `json:"packs"`
	Repeated      oldRepeated       `json:"repeated"`
}

type oldConversation struct {
	ID        string   `json:"id"`
	Outcome   string   `json:"outcome"`
	Source    string   `json:"source"`
	Topic     string   `json:"topic"`
	Summary   string   `json:"summary"`
	Decisions []string `json:"decisions"`
	Turns     []string `json:"turns"` // digest of each
}

type oldBlob struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	MIME   string `json:"mime"`
}

type oldSearch struct {
	Query        string `json:"query"`
	Conversation string `json:"conversation"`
}

type oldPack struct {
	Session     string `json:"session"`
	Checksum    string `json:"checksum"`
	Sequence    int64  `json:"sequence"`
	Layout      string `json:"layout"`
	Seed        string `json:"seed"`
	Total       int    `json:"total"`
	FullHistory int64  `json:"fullHistory"`
	Policy      string `json:"policy"`
	Settings    string `json:"settings"`
}

type oldRepeated struct {
	Key          string `json:"key"`
	Conversation string `json:"conversation"`
	Turn         int    `json:"turn"`
	Sequence     int64  `json:"sequence"`
}

const (
	oldMain, oldSide = "main", "side"
	oldSearchQuery   = "agent_type missing in session state file"
)

// messages returns the messages of a recorded session.
func messages(t *testing.T, name string) []transcript.Message {
	t.Helper()
	f, err := os.Open(sessionFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, all, _, err := transcript.ReadAll(name, f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// recordMessages records messages up to the first of a prompt; each message is
// a write, as in life.
func recordMessages(c *child, session, name string, prompts int) {
	c.t.Helper()
	for _, m := range messages(c.t, name) {
		if m.Role == layers.RoleUser {
			if prompts--; prompts < 0 {
				break
			}
		}
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: session, Turns: []wire.Turn{toWire(m)}})
	}
}

// oldRepeat is a write with a key, to be sent again.
func oldRepeat() wire.ConversationRecordParams {
	return wire.ConversationRecordParams{
		Session: oldMain, Key: "kept-1", Done: true,
		Turns: []wire.Turn{{Role: "assistant", Text: "Both fixes are in; grüße aus dem Prüfstand — ✓.", Time: "2026-01-15T12:30:00Z"}},
	}
}

// tellOldStory records what an old store holds: every kind of record, outputs
// inside and beside store.db, housekeeping, and two packs in the audit log.
func tellOldStory(c *child) oldStore {
	c.t.Helper()
	want := oldStore{MadeBy: version, Workspace: testWorkspace, Search: oldSearch{Query: oldSearchQuery}}
	open := func(session, agent, model string) {
		call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{
			Workspace: wire.Workspace{URI: testWorkspace}, Session: session, Agent: agent, Model: model, Title: "a title",
		})
	}
	open(oldMain, "main", "claude-sonnet-4-5")
	open(oldSide, "reviewer", "gpt-4o")
	recordMessages(c, oldMain, claudeSession, 3)
	receipt := call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, oldRepeat())
	want.Repeated = oldRepeated{Key: oldRepeat().Key, Conversation: receipt.Conversation, Turn: receipt.TurnNumbers[0], Sequence: receipt.Sequence}
	call[wire.HousekeepingApplyResult](c, wire.MethodHousekeepingApply, wire.HousekeepingApplyParams{
		Session: oldMain, Conversation: "c2", Housekeeping: wire.Housekeeping{
			LLM: wire.HousekeepingLLM{
				ResponseHeader: &wire.ResponseHeader{Topic: "agent_type is lost", Summary: "state conversion drops agent_type", Outcome: "completed"},
				ContextSummary: "The conversion between session.State and strategy.SessionState drops agent_type.",
				KeyDecisions:   []string{"add AgentType to session.State"},
				CodeChanges:    []wire.CodeChange{{Files: []string{"session/state.go"}, ChangeType: "modify", Summary: "field AgentType", Impact: "low"}},
				OpenQuestions:  []string{"is there an end-to-end test?"},
				CurrentContext: &wire.CurrentContext{OverallNarrative: "agent_type did not reach metadata.json.", CurrentObjective: "repair the conversion"},
			},
			User: wire.HousekeepingUser{UnderstoodIntent: "find out why agent_type is missing", Satisfaction: "neutral"},
		},
	})
	recordMessages(c, oldSide, specStorySession, 1)
	call[wire.ToolRecordResult](c, wire.MethodToolRecord, wire.ToolRecordParams{Session: oldSide, Tool: "Bash", Content: "ok  \thexapla\t0.01s\n"})
	call[wire.ContextRequestResult](c, wire.MethodContextRequest, wire.ContextRequestParams{Session: oldMain, Requests: wire.ContextRequests{
		RetrieveConversations: []wire.RetrieveConversations{{ConversationIDs: []string{"c1"}, Format: "full"}}, ArchiveConversations: []string{"c1"},
	}})
	for _, p := range []wire.PackBuildParams{
		{Session: oldMain, Budget: wire.Budget{Total: 12_000, Reserved: 2000}, System: &wire.SystemPrompt{Tools: "Bash runs a command.", Guardrails: "Be careful."},
			Input: &wire.UserInput{Type: "user_query", Content: "Add a test that runs from end to end."}},
		{Session: oldSide, Budget: wire.Budget{Total: 6000}, Layout: "narrative-first", Task: "review"},
	} {
		built := call[wire.PackBuildResult](c, wire.MethodPackBuild, p)
		want.Packs = append(want.Packs, oldPackOf(c.t, built.Checksum, built.Pack))
	}
	lookAtOldStore(c, &want)
	return want
}

// lookAtOldStore takes down what is in the store.
func lookAtOldStore(c *child, want *oldStore) {
	c.t.Helper()
	m := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, wire.MetricsGetParams{Session: oldMain})
	want.Sequence, want.Turns, want.BlobBytes = m.Sequence, m.Turns, m.BlobBytes
	want.Conversations, want.Blobs = nil, nil
	for i := range m.Conversations {
		got, blobs := oldConversationOf(c, fmt.Sprint("c", i+1))
		want.Conversations = append(want.Conversations, got)
		for _, blob := range blobs {
			if known := (oldBlob{blob.SHA256, blob.Size, blob.MIME}); blob.Size > 0 && !slices.Contains(want.Blobs, known) {
				want.Blobs = append(want.Blobs, known)
			}
		}
	}
	hits := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: oldMain, Query: want.Search.Query}).Hits
	if len(hits) == 0 {
		c.t.Fatal("the search finds nothing")
	}
	want.Search.Conversation = hits[0].Conversation
}

// oldConversationOf reads a conversation through the wire.
func oldConversationOf(c *child, id string) (oldConversation, []wire.BlobRef) {
	c.t.Helper()
	r := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: oldMain, Conversation: id})
	out := oldConversation{ID: id, Outcome: r.Header.Outcome, Source: r.Header.Source, Topic: r.Header.Topic, Turns: []string{}}
	if r.Summary != nil {
		out.Summary, out.Decisions = r.Summary.Content, r.Summary.KeyDecisions
	}
	var blobs []wire.BlobRef
	for _, turn := range r.Turns {
		out.Turns = append(out.Turns, turnDigest(c.t, turn))
		for _, result := range turn.ToolResults {
			blobs = append(blobs, result.Compressed.Blob)
		}
	}
	return out, blobs
}

// turnDigest covers what was said in a turn and what it refers to. Its form is
// this test's own: it must not change when the wire does.
func turnDigest(t *testing.T, turn wire.RecordedTurn) string {
	t.Helper()
	said := []any{turn.Number, turn.Role, turn.Kind, turn.Text, turn.Time}
	for _, c := range turn.ToolCalls {
		said = append(said, c.ID, c.Name, c.Input)
	}
	for _, r := range turn.ToolResults {
		said = append(said, r.CallID, r.IsError, r.Compressed.Tool, r.Compressed.Summary, r.Compressed.Blob.SHA256, r.Compressed.Blob.Size)
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func oldPackOf(t *testing.T, checksum string, canonical json.RawMessage) oldPack {
	t.Helper()
	var p wire.Pack
	if err := json.Unmarshal(canonical, &p); err != nil {
		t.Fatal(err)
	}
	return oldPack{
		Session: p.Session, Checksum: checksum, Sequence: p.Sequence, Layout: p.Layout, Seed: p.Seed,
		Total: p.Tokens.Total, FullHistory: p.Tokens.FullHistory, Policy: p.SelectionPolicy, Settings: p.Settings,
	}
}

// packFolder writes a folder into a zip file: sorted, without times, owners and
// modes, so that the same files give the same bytes. Leftovers of a process are
// left out.
func packFolder(t *testing.T, dir, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "lock" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		entry, err := w.Create(filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		_, err = entry.Write(data)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatal(err)
	}
}
