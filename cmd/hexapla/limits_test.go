//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// TestR4_MemoryOfTheGroup: the limit of the control group is found in both layouts,
// the least of those above.
func TestR4_MemoryOfTheGroup(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, self string
		files      map[string]string
		want       int64
	}{
		{"none", "0::/\n", nil, 0},
		{"second version", "0::/user/app\n", map[string]string{"user/app/memory.max": "134217728\n", "user/memory.max": "max\n"}, 128 << 20},
		{"the one above is less", "0::/user/app\n", map[string]string{"user/app/memory.max": "268435456\n", "user/memory.max": "134217728\n"}, 128 << 20},
		{"in a container", "0::/\n", map[string]string{"memory.max": "134217728\n"}, 128 << 20},
		{"first version", "5:cpu:/a\n4:memory:/a\n", map[string]string{"memory/a/memory.limit_in_bytes": "134217728\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"}, 128 << 20},
		{"first version, none", "4:memory:/\n", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0},
		{"nonsense", "4:memory\n:::\n\n0::/x\n", map[string]string{"x/memory.max": "-5\n"}, 0},
	} {
		mount := t.TempDir()
		for name, text := range row.files {
			path := filepath.Join(mount, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		self := filepath.Join(mount, "self")
		if err := os.WriteFile(self, []byte(row.self), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := memoryLimitUnder(mount, self); got != row.want {
			t.Errorf("%s: %d, want %d", row.name, got, row.want)
		}
	}
}

// TestR3_FewFiles: a process that may open few files refuses another workspace and
// serves those that it has; when one is let go of, there is room again.
func TestR3_FewFiles(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ulimit -n 96; exec "$0" "$@"`, self, "serve", "--data-dir", t.TempDir())
	c, errs := startCommandIn(t, cmd, nil)
	var sessions []string
	for n := 0; ; n++ {
		var opened wire.SessionOpenResult
		err := c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: fmt.Sprintf("file:///few/%d", n)}}, &opened)
		if rpc.IsKind(err, wire.KindResourceLimit) {
			break
		}
		if err != nil || n > 60 {
			t.Fatalf("workspace %d: %v; %s", n, err, errs.String())
		}
		sessions = append(sessions, opened.Session)
	}
	if len(sessions) < 2 {
		t.Errorf("%d workspaces fit", len(sessions))
	}
	for n, s := range sessions {
		c.say(s, fmt.Sprintf("still here %d", n))
		call[wire.ToolRecordResult](c, wire.MethodToolRecord, wire.ToolRecordParams{Session: s, Tool: "Bash", Content: strings.Repeat(fmt.Sprintf("line %d\n", n), 2000)})
		if found := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: s, Query: "still here"}); len(found.Hits) != 1 {
			t.Errorf("workspace %d: %+v", n, found)
		}
	}
	for n := range len(sessions) - 1 {
		call[wire.WorkspaceEraseResult](c, wire.MethodWorkspaceErase, wire.WorkspaceEraseParams{Workspace: wire.Workspace{URI: fmt.Sprintf("file:///few/%d", n)}, Confirm: true})
	}
	c.openAt("file:///few/again")
	c.stop()
}

// TestR5_Quota: a workspace that has used up what it may says so, with what to do,
// for writes that add; reading, exporting and forgetting go on, and after
// forgetting there is room again. A write that was taken keeps its answer.
func TestR5_Quota(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c, _ := startOn(t, data, `{"storage":{"maxBytes":2097152}}`)
	opened := c.openAt("file:///quota")
	record := func(n int) error {
		return c.Call(t.Context(), wire.MethodConversationRecord, wire.ConversationRecordParams{
			Session: opened.Session, Key: fmt.Sprint("k", n), Done: true, Turns: []wire.Turn{
				{Role: "user", Text: fmt.Sprintf("Run it again, number %d.", n)},
				{Role: "assistant", Text: "I run it.", ToolCalls: []wire.ToolCall{{ID: "t", Name: "Bash", Input: map[string]any{"command": "go test"}}}},
				{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t", Content: strings.Repeat(fmt.Sprintf("line of %d\n", n), 10000)}}},
				{Role: "assistant", Text: "Done."},
			}}, nil)
	}
	n := 0
	for ; ; n++ {
		err := record(n)
		if rpc.IsKind(err, wire.KindQuota) {
			var remote *rpc.Error
			if asRemote(err, &remote); remote.Data.Committed != wire.CommittedNo || !strings.Contains(remote.Message, "storage.maxBytes") {
				t.Errorf("%+v", remote)
			}
			break
		}
		if err != nil || n > 200 {
			t.Fatalf("record %d: %v", n, err)
		}
	}
	if err := record(n - 1); err != nil { // it was taken
		t.Errorf("sent again: %v", err)
	}
	s := opened.Session
	for method, params := range map[string]any{
		wire.MethodPinAdd:     wire.PinAddParams{Session: s, Text: "no room"},
		wire.MethodToolRecord: wire.ToolRecordParams{Session: s, Tool: "Bash", Content: strings.Repeat("another\n", 3000)},
	} {
		if err := c.Call(t.Context(), method, params, nil); !rpc.IsKind(err, wire.KindQuota) {
			t.Errorf("%s: %v", method, err)
		}
	}
	call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: s, Budget: wire.Budget{Total: 4000}})
	if got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: s, Conversation: "c1"}); len(got.Turns) != 4 {
		t.Errorf("%d turns", len(got.Turns))
	}
	call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: s, Query: "number 0"})
	c.openAt("file:///quota")
	c.say(c.openAt("file:///other").Session, "another workspace has room")
	for i := range 3 {
		call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: s, Conversation: fmt.Sprint("c", i+1)})
	}
	if err := record(n); err != nil {
		t.Errorf("after forgetting: %v", err)
	}
	c.stop()
	out := filepath.Join(t.TempDir(), "out.jsonl")
	if o := hexapla(t, nil, "export", "--workspace", "file:///quota", "--data-dir", data, "--output", out); o.code != 0 {
		t.Errorf("export: %+v", o)
	}
	for text, path := range map[string]string{
		`{"storage":{"maxBytes":5}}`: "initializationOptions.storage.maxBytes", `{"storage":{"maxBytes":-1}}`: "initializationOptions.storage.maxBytes",
		`{"storage":{"maxBytes":9000000000000000000}}`: "initializationOptions.storage.maxBytes", `{"storage":{"most":5}}`: "initializationOptions.storage", `{"storage":7}`: "initializationOptions.storage",
	} {
		server := startRaw(t)
		reply := server.call(1, "initialize", json.RawMessage(`{"initializationOptions":`+text+`}`))
		if reply.Error == nil || !strings.Contains(string(reply.Error.Data), `"`+path+`"`) {
			t.Errorf("%s: %+v", text, reply.Error)
		}
	}
}

// TestS7_FileSizeLimit: a limit on the size of files is like a full disk: writes are
// refused as a whole, reading goes on, and with the limit gone everything that was
// acknowledged is there.
func TestS7_FileSizeLimit(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, errs := startCommandIn(t, exec.Command("sh", "-c", `ulimit -f 1024; exec "$0" "$@"`, self, "serve", "--data-dir", data), nil)
	s := c.openAt("file:///limited").Session
	taken := 0
	for ; ; taken++ {
		err := c.Call(t.Context(), wire.MethodConversationRecord, wire.ConversationRecordParams{
			Session: s, Done: true, Turns: []wire.Turn{{Role: "user", Text: strings.Repeat(fmt.Sprintf("%d ", taken), 8000)}, {Role: "assistant", Text: "Noted."}},
		}, nil)
		if rpc.IsKind(err, wire.KindStorageFull) {
			var remote *rpc.Error
			if asRemote(err, &remote); remote.Data.Committed != wire.CommittedNo {
				t.Errorf("%+v", remote.Data)
			}
			break
		}
		if err != nil || taken > 500 {
			t.Fatalf("record %d: %v; %s", taken, err, errs.String())
		}
	}
	if taken < 3 {
		t.Errorf("only %d fit", taken)
	}
	for n := range taken {
		call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: s, Conversation: fmt.Sprintf("c%d", n+1)})
	}
	packIn(c, s)
	c.stop()
	c, _ = startOn(t, data, "")
	defer c.stop()
	if opened := c.openAt("file:///limited"); opened.Conversations != taken {
		t.Errorf("%d conversations, %d were acknowledged", opened.Conversations, taken)
	}
	c.say(c.openAt("file:///limited").Session, "With room it goes on.")
}

// TestR1_ManyConversations: a store of many conversations is opened and used within
// the memory that a process may take (HEXAPLA_R1_CONVERSATIONS).
func TestR1_ManyConversations(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c, _ := startOn(t, data, "")
	s := c.openAt("file:///many").Session
	n := rounds(t, "HEXAPLA_R1_CONVERSATIONS", 300)
	for i := range n {
		c.say(s, fmt.Sprintf("Question %d about internal/part%d/file%d.go and the %s.", i, i%50, i%500, []string{"reader", "writer", "index", "parser", "lexer"}[i%5]))
	}
	c.awaitIndex(s)
	c.stop()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--data-dir", data)
	c, _ = startCommandIn(t, cmd, nil)
	s = c.openAt("file:///many").Session
	for _, query := range []string{"reader", "internal/part7/file7.go", "question 99"} {
		if r := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: s, Query: query, Limit: 100}); len(r.Hits) == 0 {
			t.Errorf("%s: no hits", query)
		}
	}
	packIn(c, s)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatal("no VmHWM")
	}
	if peak, _ := strconv.Atoi(string(m[1])); peak > 256<<10 {
		t.Errorf("%d conversations: %d KiB at most", n, peak)
	} else {
		t.Logf("%d conversations: %d KiB at most", n, peak)
	}
	c.stop()
}

// TestR2_ManyWorkspaces: of many open workspaces eight have their index open, those
// that were wanted last; all are written to and searched, with nothing missing.
func TestR2_ManyWorkspaces(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	cmd := exec.Command(self, "serve", "--data-dir", data)
	c, errs := startCommandIn(t, cmd, nil)
	open := func() map[string]bool {
		t.Helper()
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, fd := range fds {
			if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", cmd.Process.Pid, fd.Name())); err == nil && strings.HasSuffix(to, "index/live/root.bolt") {
				found[filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(to))))] = true
			}
		}
		return found
	}
	n := rounds(t, "HEXAPLA_R2_WORKSPACES", 12)
	var opened []wire.SessionOpenResult
	for i := range n {
		opened = append(opened, c.openAt(fmt.Sprintf("file:///many/%d", i)))
		c.say(opened[i].Session, fmt.Sprintf("The walrus of number %d.", i))
	}
	if now := open(); len(now) != 8 || now[opened[0].Workspace] || !now[opened[n-1].Workspace] {
		t.Errorf("%d indexes are open: %v", len(now), now)
	}
	for round := range 2 {
		for i := range n {
			c.say(opened[i].Session, fmt.Sprintf("Another walrus, round %d.", round))
			if r := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: opened[i].Session, Query: "walrus"}); len(r.Hits) != round+2 || r.Degraded {
				t.Errorf("workspace %d, round %d: %d hits, degraded %v", i, round, len(r.Hits), r.Degraded)
			}
			if now := open(); len(now) > 8 || !now[opened[i].Workspace] {
				t.Errorf("after a search in %d: %d are open, its own %v", i, len(now), now[opened[i].Workspace])
			}
		}
	}
	call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: opened[0].Session, Conversation: "c1"}) // its index rests
	if r := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: opened[0].Session, Query: "walrus"}); len(r.Hits) != 2 || r.Degraded {
		t.Errorf("after forgetting: %d hits, degraded %v", len(r.Hits), r.Degraded)
	}
	c.stop()
	if text := errs.String(); text != "" {
		t.Errorf("it said: %s", text)
	}
}
