//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// TestV3_UnknownNames: what is not there is not_found, and the name is not said
// again; a cursor that nobody gave is refused.
func TestV3_UnknownNames(t *testing.T) {
	t.Parallel()
	c, _ := startOn(t, t.TempDir(), "")
	defer c.stop()
	s := c.openAt("file:///names").Session
	c.say(s, "There is one conversation.")
	const unknown = "c987654"
	for _, row := range []struct {
		method, params string
		kinds          []wire.Kind
	}{
		{wire.MethodConversationGet, `"conversation":"` + unknown + `"`, []wire.Kind{wire.KindNotFound}},
		{wire.MethodConversationGet, `"conversation":"c1#` + unknown[1:] + `"`, []wire.Kind{wire.KindNotFound}},
		{wire.MethodConversationGet, `"conversation":"c1","cursor":"` + unknown + `"`, []wire.Kind{wire.KindNotFound, wire.KindInvalidParams, wire.KindStateChanged}},
		{wire.MethodConversationGet, `"conversation":"c1","asOf":987654`, []wire.Kind{wire.KindNotFound}},
		{wire.MethodSearchQuery, `"query":"one","cursor":"` + unknown + `"`, []wire.Kind{wire.KindNotFound, wire.KindInvalidParams, wire.KindStateChanged}},
		{wire.MethodChangeList, `"cursor":"` + unknown + `"`, []wire.Kind{wire.KindNotFound, wire.KindInvalidParams, wire.KindStateChanged}},
		{wire.MethodConversationRecord, `"conversation":"` + unknown + `","done":true`, []wire.Kind{wire.KindNotFound}},
		{wire.MethodConversationEdit, `"conversation":"` + unknown + `","turn":1,"content":"x"`, []wire.Kind{wire.KindNotFound}},
		{wire.MethodConversationForget, `"conversation":"` + unknown + `"`, []wire.Kind{wire.KindNotFound}},
		{wire.MethodPinRemove, `"pin":"` + unknown + `"`, []wire.Kind{wire.KindNotFound}},
		{wire.MethodBlobRead, `"sha256":"` + strings.Repeat("987654", 10) + `9876"`, []wire.Kind{wire.KindNotFound}},
		{wire.MethodPackReplay, `"checksum":"` + strings.Repeat("987654", 10) + `9876"`, []wire.Kind{wire.KindNotFound}},
	} {
		var remote *rpc.Error
		err := c.Call(t.Context(), row.method, json.RawMessage(`{"session":"`+s+`",`+row.params+`}`), nil)
		if !asRemote(err, &remote) {
			t.Errorf("%s %s: %v", row.method, row.params, err)
			continue
		}
		fits := false
		for _, kind := range row.kinds {
			fits = fits || remote.Kind() == kind
		}
		if data, _ := json.Marshal(remote.Data); !fits || strings.Contains(remote.Message+string(data), unknown[1:]) {
			t.Errorf("%s %s: %v", row.method, row.params, remote)
		}
	}
	if err := c.Call(t.Context(), wire.MethodPinList, wire.PinListParams{Session: unknown}, nil); !rpc.IsKind(err, wire.KindNotFound) {
		t.Errorf("session: %v", err)
	}
}

// TestV4_OldCursor: a listing that was changed under its cursor goes on as it was,
// or says that it must be started again; it skips and repeats nothing.
func TestV4_OldCursor(t *testing.T) {
	t.Parallel()
	c, _ := startOn(t, t.TempDir(), "")
	defer c.stop()
	s := c.openAt("file:///cursors").Session
	for n := range 12 {
		c.say(s, fmt.Sprintf("The walrus, number %d.", n))
	}
	for n := range 6 {
		c.say(s, fmt.Sprintf("Something else, number %d.", n))
	}
	seen := map[string]bool{}
	search := func(cursor string) (wire.SearchQueryResult, error) {
		var r wire.SearchQueryResult
		err := c.Call(t.Context(), wire.MethodSearchQuery, wire.SearchQueryParams{Session: s, Query: "walrus", Limit: 5, Cursor: cursor}, &r)
		for _, hit := range r.Hits {
			if seen[hit.Conversation] {
				t.Errorf("%s comes again", hit.Conversation)
			}
			seen[hit.Conversation] = true
		}
		return r, err
	}
	first, err := search("")
	if err != nil || first.Cursor == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	c.say(s, "Another walrus comes.")
	second, err := search(first.Cursor)
	if err != nil && !rpc.IsKind(err, wire.KindStateChanged) || err == nil && (len(second.Hits) != 5 || second.Sequence != first.Sequence) {
		t.Errorf("%+v, %v", second, err)
	}
	call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: s, Conversation: "c1"})
	if third, err := search(second.Cursor); err == nil {
		t.Logf("after forgetting it goes on with %d hits", len(third.Hits))
	} else if !rpc.IsKind(err, wire.KindStateChanged) {
		t.Errorf("after forgetting: %v", err)
	}
	got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: s, Conversation: "c2", MaxTokens: 8})
	if got.Cursor == "" {
		t.Fatalf("%+v", got)
	}
	content := "The walrus has changed."
	call[wire.ConversationEditResult](c, wire.MethodConversationEdit, wire.ConversationEditParams{Session: s, Conversation: "c2", Turn: 1, Content: &content})
	err = c.Call(t.Context(), wire.MethodConversationGet, wire.ConversationGetParams{Session: s, Conversation: "c2", MaxTokens: 8, Cursor: got.Cursor}, nil)
	if err != nil && !rpc.IsKind(err, wire.KindStateChanged) {
		t.Errorf("after an edit: %v", err)
	}
}

// TestV9_ClaimedTimes: times are what the client claims. They order nothing.
func TestV9_ClaimedTimes(t *testing.T) {
	t.Parallel()
	c, _ := startOn(t, t.TempDir(), "")
	defer c.stop()
	s := c.openAt("file:///times").Session
	times := []string{"2999-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "9999-12-31T23:59:59.999Z", "1969-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-03-29T02:30:00+01:00", ""}
	for n, at := range times {
		r := call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
			Session: s, Done: true, Turns: []wire.Turn{{Role: "user", Text: "When is it?", Time: at}, {Role: "assistant", Text: "Now.", Time: at}},
		})
		if want := fmt.Sprintf("c%d", n+1); r.Conversation != want {
			t.Errorf("%s: %s, want %s", at, r.Conversation, want)
		}
		got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: s, Conversation: r.Conversation})
		if at != "" && n < 4 && got.Turns[0].Time != at {
			t.Errorf("%s is stored as %q", at, got.Turns[0].Time)
		}
	}
	_, pack := packIn(c, s)
	last := -1
	for n := range times {
		if at := strings.Index(pack, fmt.Sprintf("c%d", n+1)); at >= 0 {
			if at < last {
				t.Errorf("c%d stands before one that was recorded earlier", n+1)
			}
			last = at
		}
	}
	for _, bad := range []string{"yesterday", "2026-13-01T00:00:00Z", "10000-01-01T00:00:00Z", "-1", "2026-01-01"} {
		err := c.Call(t.Context(), wire.MethodConversationRecord, wire.ConversationRecordParams{Session: s, Done: true, Turns: []wire.Turn{{Role: "user", Text: "x", Time: bad}}}, nil)
		if !rpc.IsKind(err, wire.KindInvalidParams) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// packIn builds a pack of a session.
func packIn(c *child, s string) (checksum, text string) {
	c.t.Helper()
	r := call[wire.PackBuildResult](c, wire.MethodPackBuild, wire.PackBuildParams{Session: s, Budget: wire.Budget{Total: 8000}})
	var p wire.Pack
	if err := json.Unmarshal(r.Pack, &p); err != nil {
		c.t.Fatal(err)
	}
	return r.Checksum, p.Text
}

// TestL2_Locale: neither language nor time zone changes an answer.
func TestL2_Locale(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, env := range [][]string{{"LANG=C", "TZ=UTC"}, {"LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "TZ=Pacific/Apia"}, {"LANG=", "TZ=:nonsense"}, {"LC_ALL=de_DE", "TZ=America/St_Johns"}} {
		c, _ := startCommandIn(t, exec.Command(self, "serve", "--fixed-keys", "--data-dir", t.TempDir()), env)
		s := c.openAt("file:///locale").Session
		for _, text := range []string{"INDEX of the TITLE in internal/I18N.go", "Straße, İstanbul, ısı, ΣΊΣΥΦΟΣ", "naïve cafe\u0301"} {
			call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{
				Session: s, Done: true, Turns: []wire.Turn{{Role: "user", Text: text, Time: "2026-03-29T02:30:00+01:00"}, {Role: "assistant", Text: "Done."}},
			})
		}
		checksum, _ := packIn(c, s)
		said := checksum
		for _, query := range []string{"title index", "strasse istanbul", "sisyphos"} {
			hits := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: s, Query: query}).Hits
			for _, hit := range hits {
				said += fmt.Sprint(" ", hit.Conversation, hit.Score)
			}
		}
		got := call[wire.ConversationGetResult](c, wire.MethodConversationGet, wire.ConversationGetParams{Session: s, Conversation: "c1"})
		said += got.Turns[0].Time
		c.stop()
		if want == "" {
			want = said
		} else if said != want {
			t.Errorf("%v: %s, want %s", env, said, want)
		}
	}
}

// TestC10_Namespaces: an editor in a container of its own, which sees no other
// process, shares the daemon, and without a daemon is told that the store is
// locked: the locks on the data folder decide, and no process numbers.
func TestC10_Namespaces(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("namespaces cannot be made: %v: %s", err, out)
	}
	p := newPost(t)
	w := p.open(sharedWorkspace, "outside")
	w.mustRecord(item(1, 1))
	before := p.daemons()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inside := func(mode string) *child {
		cmd := exec.Command("unshare", "--pid", "--fork", "--mount-proc", self, "serve", "--daemon", mode, "--data-dir", p.data)
		c, _ := startCommandIn(t, cmd, p.env)
		return c
	}
	c := inside("on")
	s := c.openAt(sharedWorkspace).Session
	c.say(s, item(2, 1))
	c.stop()
	if now := p.daemons(); fmt.Sprint(now) != fmt.Sprint(before) || len(now) != 1 {
		t.Errorf("daemons %v, then %v", before, now)
	}
	c = inside("off")
	if err := c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: sharedWorkspace}}, nil); !rpc.IsKind(err, wire.KindLocked) {
		t.Errorf("without the daemon: %v", err)
	}
	c.stop()
	w.leave()
	sameItems(t, p.stored(sharedWorkspace), []string{item(1, 1), item(2, 1)})
}

// TestX6_HealingAtOnce: of processes that find a damaged index at the same time one
// heals it, and no healthy index is ever put aside.
func TestX6_HealingAtOnce(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c, _ := startOn(t, data, "")
	opened := c.openAt("file:///heal")
	c.say(opened.Session, "The walrus is in the index.")
	c.awaitIndex(opened.Session)
	c.stop()
	dir := filepath.Join(data, "workspaces", opened.Workspace, "index")
	for round := range rounds(t, "HEXAPLA_X6_ROUNDS", 1) {
		if err := os.RemoveAll(filepath.Join(dir, "quarantine")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "live", "root.bolt"), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		var all []*child
		for range 3 {
			c, _ := startOn(t, data, "")
			all = append(all, c)
		}
		var done sync.WaitGroup
		kinds := make([]wire.Kind, len(all))
		for i, c := range all {
			done.Go(func() {
				var r wire.SessionOpenResult
				err := c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: "file:///heal"}}, &r)
				var remote *rpc.Error
				if asRemote(err, &remote) {
					kinds[i] = remote.Kind()
				} else if err != nil {
					kinds[i] = wire.Kind(err.Error())
				} else {
					c.awaitIndex(r.Session)
				}
			})
		}
		done.Wait()
		healed := 0
		for i, c := range all {
			if kinds[i] == "" {
				healed++
			} else if kinds[i] != wire.KindLocked {
				t.Errorf("round %d: %s", round, kinds[i])
			}
			c.stop()
		}
		if healed != 1 {
			t.Errorf("round %d: %d have it open", round, healed)
		}
		if raw, err := os.ReadFile(filepath.Join(dir, "quarantine", "root.bolt")); err == nil && !strings.HasPrefix(string(raw), "no database") {
			t.Errorf("round %d: a healthy index was put aside", round)
		}
		c, errs := startOn(t, data, "")
		s := c.openAt("file:///heal").Session
		if r := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: s, Query: "walrus"}); len(r.Hits) != 1 {
			t.Errorf("round %d: %+v", round, r)
		}
		c.stop()
		if strings.Contains(errs.String(), "starting an empty one") {
			t.Errorf("round %d: it was healed again: %s", round, errs.String())
		}
	}
}

// TestX9_ForgottenIsNotFound: what was forgotten is no hit from the moment of the
// answer, whatever the index has not merged yet.
func TestX9_ForgottenIsNotFound(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	c, _ := startOn(t, data, "")
	s := c.openAt("file:///erased").Session
	for n := range 8 {
		c.say(s, fmt.Sprintf("The wombat, number %d.", n))
	}
	for n := range 5 {
		c.say(s, fmt.Sprintf("Something else, number %d.", n))
	}
	c.awaitIndex(s)
	for n := range 8 {
		gone := fmt.Sprintf("c%d", n+1)
		call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: s, Conversation: gone})
		r := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: s, Query: "wombat", Limit: 100})
		for _, hit := range r.Hits {
			if number, _ := strconv.Atoi(hit.Conversation[1:]); number <= n+1 && strings.Contains(hit.Snippet, "wombat") {
				t.Errorf("%s was forgotten and is a hit", hit.Conversation)
			}
		}
		if n < 7 && len(r.Hits) != 7-n {
			t.Errorf("%d hits after %d were forgotten", len(r.Hits), n+1)
		}
	}
	c.stop()
}
