package main

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hexapla/rpc/wire"
	"hexapla/storage"
)

// oldStoreVersion is the store that -update makes. When what programs store
// changes its form, it is raised, and a new store joins the older ones, which
// stay as they are.
const oldStoreVersion = "v1"

// TestOldStore: every store under testdata/stores still opens, shows what it
// held, and goes on. A store is what the program of its day left behind, index
// and all. To make the one of today:
//
//	go test ./cmd/hexapla -run TestOldStore -update
//
// An -update of other golden files does not touch a store that exists: it would
// not be old any more.
func TestOldStore(t *testing.T) {
	t.Parallel()
	stores := filepath.Join(root(t), "testdata", "stores")
	if *update {
		name := filepath.Join(stores, oldStoreVersion)
		_, err := os.Stat(name + ".zip")
		if os.IsNotExist(err) || strings.Contains(flag.Lookup("test.run").Value.String(), t.Name()) {
			makeOldStore(t, name)
		}
	}
	all, err := filepath.Glob(filepath.Join(stores, "*.zip"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no stores: %v", err)
	}
	for _, archive := range all {
		name := strings.TrimSuffix(archive, ".zip")
		for _, index := range []string{"with its index", "without an index"} {
			t.Run(filepath.Base(name)+" "+index, func(t *testing.T) {
				t.Parallel()
				data, err := os.ReadFile(name + ".json")
				if err != nil {
					t.Fatal(err)
				}
				var want oldStore
				if err := json.Unmarshal(data, &want); err != nil {
					t.Fatal(err)
				}
				dir := unpackFolder(t, archive)
				if index == "without an index" {
					removeIndex(t, dir)
				}
				checkOldStore(t, dir, want)
			})
		}
	}
}

func makeOldStore(t *testing.T, name string) {
	t.Helper()
	dir := t.TempDir()
	c := startChild(t, dir)
	want := tellOldStory(c)
	c.awaitIndex(oldMain)
	c.stop()
	text, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	packFolder(t, dir, name+".zip")
	if err := os.WriteFile(name+".json", append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unpackFolder returns a folder with what is in a zip file.
func unpackFolder(t *testing.T, archive string) string {
	t.Helper()
	r, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, r); err != nil {
		t.Fatal(err)
	}
	return dir
}

// storeDir is the folder of the one store under a data folder.
func storeDir(t testing.TB, dataDir string) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(dataDir, "workspaces", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("stores: %v, %v", dirs, err)
	}
	return dirs[0]
}

func removeIndex(t testing.TB, dataDir string) {
	t.Helper()
	index := filepath.Join(storeDir(t, dataDir), "index")
	if _, err := os.Stat(index); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(index); err != nil {
		t.Fatal(err)
	}
}

// awaitIndex waits until the index has come to the store's end.
func (c *child) awaitIndex(session string) {
	c.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		m := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, wire.MetricsGetParams{Session: session})
		if m.Indexed == m.Sequence {
			return
		}
	}
	c.t.Fatal("the index does not come to the store's end")
}

func checkOldStore(t *testing.T, dir string, want oldStore) {
	t.Helper()
	verifyStore(t, dir)
	c := startChild(t, dir)
	openOld := func() {
		t.Helper()
		for _, session := range []string{oldMain, oldSide} {
			opened := call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: want.Workspace}, Session: session})
			if !opened.Resumed {
				t.Errorf("session %s is new", session)
			}
		}
	}
	openOld()
	checkOldMetrics(c, len(want.Packs))
	checkOldContent(c, want)
	for _, pack := range want.Packs {
		replayOld(c, pack)
	}
	checkOldAudit(c, want)

	// A client that was not told of its write before the program was renewed
	// sends it again.
	again := call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, oldRepeat())
	if len(again.TurnNumbers) != 1 || want.Repeated != (oldRepeated{oldRepeat().Key, again.Conversation, again.TurnNumbers[0], again.Sequence}) {
		t.Errorf("a write sent again: %+v, want %+v", again, want.Repeated)
	}

	added := call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: oldMain, Done: true, Turns: []wire.Turn{
			{Role: "user", Text: "Which zeppelin carried the quokka?"},
			{Role: "assistant", Text: "I'll look.", ToolCalls: []wire.ToolCall{{ID: "z", Name: "Bash"}}},
			{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "z", Content: strings.Repeat("zeppelin\n", 1000)}}},
		},
	})
	if added.Sequence <= want.Sequence || added.Conversation != fmt.Sprint("c", len(want.Conversations)+1) {
		t.Errorf("added %s at %d", added.Conversation, added.Sequence)
	}
	built := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: oldMain, Budget: wire.Budget{Total: 9000}})
	for _, restarted := range []bool{false, true} {
		if restarted {
			c.stop()
			c = startChild(t, dir)
			openOld()
		}
		checkOldContent(c, want)
		if !findConversation(c, "zeppelin quokka", added.Conversation) {
			t.Error("what was added is not found")
		}
		replayOld(c, want.Packs[0])
		replay := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: oldMain, Checksum: built.Checksum})
		if !replay.Match {
			t.Error("a pack built now cannot be built again")
		}
		c.awaitIndex(oldMain)
	}
	c.stop()
	verifyStore(t, dir)
}

// checkOldContent reads everything that the golden file tells of.
func checkOldContent(c *child, want oldStore) {
	c.t.Helper()
	for _, conversation := range want.Conversations {
		got, _ := oldConversationOf(c, conversation.ID)
		if !reflect.DeepEqual(got, conversation) {
			c.t.Errorf("conversation: %+v, want %+v", got, conversation)
		}
	}
	for _, blob := range want.Blobs {
		r := call[wire.BlobReadResult](c, wire.MethodBlobRead, wire.BlobReadParams{Session: oldMain, SHA256: blob.SHA256})
		sum := sha256.Sum256([]byte(r.Text))
		if hex.EncodeToString(sum[:]) != blob.SHA256 || int64(len(r.Text)) != blob.Size || r.Blob.MIME != blob.MIME || r.NextOffset != 0 {
			c.t.Errorf("blob %s: %d bytes, %+v", blob.SHA256, len(r.Text), r.Blob)
		}
	}
	if !findConversation(c, want.Search.Query, want.Search.Conversation) {
		c.t.Errorf("%q does not find %s", want.Search.Query, want.Search.Conversation)
	}
}

// findConversation tells whether a conversation is among the hits; the order is
// not a matter of the store.
func findConversation(c *child, query, conversation string) bool {
	c.t.Helper()
	r := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: oldMain, Query: query})
	for _, hit := range r.Hits {
		if hit.Conversation == conversation {
			return true
		}
	}
	return false
}

// replayOld builds an old pack again. Its bytes are promised for as long as the
// settings are the same, whose digest covers the policy and its version. A later
// program may pack in another way, under other settings; then what the request
// and the store determine is the same, and the budget is kept.
func replayOld(c *child, want oldPack) {
	c.t.Helper()
	r := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: oldMain, Checksum: want.Checksum})
	got := oldPackOf(c.t, want.Checksum, r.Pack)
	if got.Settings == want.Settings {
		if r.Rebuilt != want.Checksum || !r.Match {
			c.t.Errorf("the same settings give other bytes: a change of packs needs another layers.PolicyVersion (before a release, -update will do). Got %s, %+v", r.Rebuilt, got)
		}
	} else if r.Match || r.Rebuilt == want.Checksum {
		c.t.Error("other settings cannot give the same bytes: they are in the pack")
	}
	got.Settings, got.Policy = want.Settings, want.Policy
	if got != want {
		c.t.Errorf("pack: %+v, want %+v", got, want)
	}
	var pack wire.Pack
	if err := json.Unmarshal(r.Pack, &pack); err != nil {
		c.t.Fatal(err)
	}
	if pack.Tokens.Used+pack.Tokens.Reserved > pack.Tokens.Total {
		c.t.Errorf("the pack is over its budget: %+v", pack.Tokens)
	}
}

// checkOldAudit: the log says of its packs what it said, whatever is in force
// now.
func checkOldAudit(c *child, want oldStore) {
	c.t.Helper()
	r := call[wire.AuditQueryResult](c, wire.MethodAuditQuery, wire.AuditQueryParams{Session: oldMain})
	if len(r.Entries) != len(want.Packs) {
		c.t.Fatalf("%d audit entries, want %d", len(r.Entries), len(want.Packs))
	}
	for i, pack := range want.Packs {
		e := r.Entries[len(r.Entries)-1-i]
		if e.Checksum != pack.Checksum || e.Session != pack.Session || e.Sequence != pack.Sequence || e.Settings != pack.Settings || e.Tokens == 0 || len(e.Sections) == 0 {
			c.t.Errorf("audit entry: %+v, want %+v", e, pack)
		}
	}
}

// verifyStore reads a store as a whole, blobs too.
func verifyStore(t *testing.T, dataDir string) {
	t.Helper()
	s, err := storage.Open(context.Background(), storage.Options{Dir: storeDir(t, dataDir)})
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Verify(context.Background(), true)
	if err != nil || len(report.Problems) > 0 || report.Blobs == 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// checkOldMetrics: packs of programs that did not measure count as such and are
// left out of what needs a measure.
func checkOldMetrics(c *child, packs int) {
	c.t.Helper()
	m := call[wire.MetricsGetResult](c, wire.MethodMetricsGet, wire.MetricsGetParams{Session: oldMain})
	if m.Packs < packs || m.PackTokens == 0 || m.BudgetViolations != 0 || m.Fidelity == nil || m.Drift == nil {
		c.t.Errorf("%+v", m)
	}
	if measured := m.Packs > m.Unmeasured; measured != (m.Tokens != nil) || measured != (m.Latency != nil) || measured != (m.Billed != nil) {
		c.t.Errorf("%d of %d packs are measured: %+v", m.Packs-m.Unmeasured, m.Packs, m)
	}
	c.t.Logf("%d of %d packs are not measured", m.Unmeasured, m.Packs)
}
