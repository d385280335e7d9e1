package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/layers/tokens"
	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// child is the program as a child process, spoken to with the Go client.
type child struct {
	t *testing.T
	*rpc.Client
}

func startChild(t *testing.T, dataDir string) *child {
	t.Helper()
	return startWith(t, dataDir, "")
}

// startWith starts a server for a client with settings, "" for none.
func startWith(t *testing.T, dataDir, options string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--fixed-keys", "--data-dir", dataDir)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	client, err := rpc.StartChild(t.Context(), cmd, rpc.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	info := rpc.InitializeParams{ClientName: "test"}
	if options != "" {
		info.Options = json.RawMessage(options)
	}
	if _, err := client.Initialize(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	return &child{t, client}
}

func (c *child) stop() {
	c.t.Helper()
	if err := c.Shutdown(context.Background()); err != nil {
		c.t.Error(err)
	}
	if code, err := c.Wait(); err != nil || code != 0 {
		c.t.Errorf("exit code %d, %v", code, err)
	}
}

func call[R any](c *child, method string, params any) R {
	c.t.Helper()
	var result R
	if err := c.Call(c.t.Context(), method, params, &result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return result
}

const testWorkspace = "file:///home/dev/project"

// recordStory records a small history: conversations with tool calls, a failed
// test and its repair, housekeeping for some of them.
func recordStory(c *child, conversations int) {
	c.t.Helper()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	for i := range conversations {
		file := fmt.Sprintf("internal/part%d/reader.go", i%7)
		output := fmt.Sprintf("--- FAIL: TestReader%d\n    reader_test.go:%d: got EOF, want record\nFAIL\n", i, 10+i) + strings.Repeat(fmt.Sprintf("line of %s number %d\n", file, i), 60)
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
			Session: "s", Key: fmt.Sprintf("story-%d", i), Done: i < conversations-1,
			Turns: []wire.Turn{
				{Role: "user", Text: fmt.Sprintf("The reader in %s loses the last record, please repair it (%d).", file, i), Time: "2026-01-12T10:00:00Z"},
				{Role: "assistant", Text: "I'll run the tests first.", ToolCalls: []wire.ToolCall{{ID: "t1", Name: "Bash", Input: map[string]any{"command": "go test ./" + filepath.Dir(file)}}}},
				{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t1", Content: output, IsError: true}}},
				{Role: "assistant", Text: "The buffer is not flushed at the end. I decided to flush it in Close.", ToolCalls: []wire.ToolCall{{ID: "t2", Name: "Edit", Input: map[string]any{"file_path": file, "old_string": "return nil", "new_string": "return r.flush()"}}}},
				{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t2", Content: "The file " + file + " has been updated."}}},
				{Role: "assistant", Text: "Fixed: Close flushes the buffer now, and all tests pass."},
			},
		})
	}
}

func buildPack(c *child, total int, asOf any, layout string) (wire.PackBuildResult, wire.Pack) {
	c.t.Helper()
	result := call[wire.PackBuildResult](c, wire.MethodPackBuild, packParams(total, asOf, layout))
	sum := sha256.Sum256(result.Pack)
	if hex.EncodeToString(sum[:]) != result.Checksum {
		c.t.Fatal("the checksum is not that of the pack's bytes as they came over the wire")
	}
	var pack wire.Pack
	if err := json.Unmarshal(result.Pack, &pack); err != nil {
		c.t.Fatal(err)
	}
	return result, pack
}

// sameRepeats is an environment variable: how often each process builds the pack
// of TestSameBytes.
const sameRepeats = "HEXAPLA_SAME_REPEATS"

// TestSameBytes is V10 and the determinism contract: again and again, after a
// restart, with the index deleted, and in eight processes at once, of which four
// repeat it as well.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	repeats := rounds(t, sameRepeats, 50)
	dir := t.TempDir()
	c := startChild(t, dir)
	recordStory(c, 23)
	first, pack := buildPack(c, 6000, 0, "")
	for range repeats {
		if again, _ := buildPack(c, 6000, 0, ""); again.Checksum != first.Checksum {
			t.Fatal("a repeated build gave other bytes")
		}
	}
	c.stop()

	check := func(c *child, what string, repeats int) {
		t.Helper()
		call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
		for range repeats {
			if again, _ := buildPack(c, 6000, pack.Sequence, ""); again.Checksum != first.Checksum {
				t.Fatalf("%s: other bytes", what)
			}
		}
		replay := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: first.Checksum})
		if !replay.Match {
			t.Errorf("%s: replay does not match", what)
		}
	}
	c = startChild(t, dir)
	check(c, "after a restart", 1)
	c.stop()

	indexes, err := filepath.Glob(filepath.Join(dir, "workspaces", "*", "index"))
	if err != nil || len(indexes) != 1 {
		t.Fatalf("indexes: %v, %v", indexes, err)
	}
	if err := os.RemoveAll(indexes[0]); err != nil {
		t.Fatal(err)
	}
	c = startChild(t, dir)
	check(c, "with the index deleted", 1)
	// What comes later does not change what was.
	recordMore(c)
	check(c, "after more was recorded", 1)
	c.stop()

	t.Run("eight processes", func(t *testing.T) {
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				copied := filepath.Join(t.TempDir(), "data")
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				c := startChild(t, copied)
				defer c.stop()
				check(c, "in another process", []int{1, repeats}[i%2])
			})
		}
	})
}

func recordMore(c *child) {
	c.t.Helper()
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: "s", Turns: []wire.Turn{{Role: "user", Text: "And now the writer."}},
	})
}

// TestPacksAddUp: over budgets and layouts, a pack keeps its budget, and the
// tokens of its parts are the tokens of its text, counted anew.
func TestPacksAddUp(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	recordStory(c, 17)
	counter := tokens.NewRegistry().ForModel("")
	for _, layout := range []string{"stable-prefix", "narrative-first"} {
		for total := 600; total < 40000; total += total / 3 {
			_, pack := buildPack(c, total, 0, layout)
			if pack.Tokens.Used > total {
				t.Errorf("%s %d: uses %d", layout, total, pack.Tokens.Used)
			}
			if n := counter.Count(pack.Text); n != pack.Tokens.Used {
				t.Errorf("%s %d: the text has %d tokens, the pack says %d", layout, total, n, pack.Tokens.Used)
			}
			sum := 0
			for _, section := range pack.Sections {
				if n := counter.Count(section.Text); n != section.Tokens {
					t.Errorf("%s %d: section %s has %d tokens, says %d", layout, total, section.Name, n, section.Tokens)
				}
				sum += section.Tokens
			}
			if sum != pack.Tokens.Used {
				t.Errorf("%s %d: the sections have %d tokens, the pack %d", layout, total, sum, pack.Tokens.Used)
			}
			if pack.Branches.SystemPrompt+pack.Branches.ContextPrompt+pack.Branches.UserInput != pack.Text {
				t.Errorf("%s %d: the branches are not the text", layout, total)
			}
		}
	}
	var remote *rpc.Error
	err := c.Call(t.Context(), wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 10}}, nil)
	if !asRemote(err, &remote) || remote.Kind() != wire.KindBudgetTooSmall {
		t.Fatalf("a budget of 10: %v", err)
	}
	smallest := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: int(remote.Data.SmallestTotal)}})
	if smallest.Checksum == "" {
		t.Fatal("the smallest total does not work")
	}
}

// TestToolLoopAppends is H2's decision through the process: within a tool loop
// each pack is the one before plus what was appended.
func TestToolLoopAppends(t *testing.T) {
	t.Parallel()
	c := startChild(t, t.TempDir())
	defer c.stop()
	recordStory(c, 3)
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
		Session: "s", Turns: []wire.Turn{{Role: "user", Text: "Look through the parts."}},
	})
	before, folds := wire.Pack{}, 0
	for i := range 40 {
		id := fmt.Sprint("loop", i)
		call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Turns: []wire.Turn{
			{Role: "assistant", Text: "Next part.", ToolCalls: []wire.ToolCall{{ID: id, Name: "Read", Input: map[string]any{"file_path": fmt.Sprintf("part%d.go", i)}}}},
			{Role: "tool", ToolResults: []wire.ToolResult{{CallID: id, Content: strings.Repeat(fmt.Sprintf("package part%d // words and words\n", i), 40)}}},
		}})
		_, pack := buildPack(c, 8000, 0, "")
		switch {
		case i == 0:
		case pack.Epoch != before.Epoch:
			folds++
		case !strings.HasPrefix(pack.Text, before.Text):
			t.Fatalf("call %d: not the pack before plus what was appended", i)
		}
		before = pack
	}
	if folds == 0 || folds > 10 {
		t.Fatalf("%d folds in 40 calls", folds)
	}
}

func asRemote(err error, target **rpc.Error) bool {
	e, ok := err.(*rpc.Error)
	*target = e
	return ok
}
