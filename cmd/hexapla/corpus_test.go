package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hexapla/rpc/wire"
	"hexapla/session"
)

// corpusRounds is an environment variable: how many stores the test damages.
const corpusRounds = "HEXAPLA_CORPUS"

// damaged returns data that was cut, flipped, zeroed or replaced.
func damaged(data, foreign []byte, random *rand.Rand) (string, []byte) {
	out := bytes.Clone(data)
	if len(out) == 0 {
		return "foreign", foreign
	}
	switch random.IntN(5) {
	case 0:
		return "cut", out[:random.IntN(len(out))]
	case 1:
		for range 1 + random.IntN(30) {
			out[random.IntN(len(out))] ^= byte(1 << random.IntN(8))
		}
		return "flip", out
	case 2:
		at := random.IntN(len(out))
		clear(out[at:min(at+1+random.IntN(6000), len(out))])
		return "zero", out
	case 3:
		return "foreign", foreign
	}
	return "empty", nil
}

var headingMark = regexp.MustCompile(`(?m)^(###.*) [a-z]{4}$`)

// unmarked takes the mark of the workspace, which is another in each copy of a
// store, from the headings of a text.
func unmarked(text string) string { return headingMark.ReplaceAllString(text, "$1") }

// TestS10_CorpusThroughTheProcess damages one file after another of many stores
// and has one server work on all of them: it lives, the stores beside are served,
// what is answered is what was recorded, and damage to what can be made anew
// costs nothing but the making.
func TestS10_CorpusThroughTheProcess(t *testing.T) {
	t.Parallel()
	rounds := 60
	if text := os.Getenv(corpusRounds); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	c := startChild(t, dir)
	recordStory(c, 4)
	call[wire.ToolRecordResult](c, wire.MethodToolRecord, wire.ToolRecordParams{Session: "s", Tool: "Bash", Content: strings.Repeat("a large output\n", 900)})
	c.awaitIndex("s")
	want := map[string]string{}
	get := func(id string) wire.ConversationGetParams {
		return wire.ConversationGetParams{Session: "s", Conversation: id, Detail: "full"}
	}
	for i := range 4 {
		id := fmt.Sprint("c", i+1)
		want[id] = unmarked(call[wire.ConversationGetResult](c, wire.MethodConversationGet, get(id)).Text)
	}
	c.stop()
	template := storeDir(t, dir)
	if err := os.MkdirAll(filepath.Join(template, "snapshots"), 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(template, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(template, "snapshots", "2026-01-01.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := []byte(strings.Repeat("this is the text of something else. ", 400))
	var files []string
	for _, pattern := range []string{"store.db", "manifest.json", "blobs/??/*", "index/live/*", "snapshots/*"} {
		found, err := filepath.Glob(filepath.Join(template, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, pattern)
	}
	random := rand.New(rand.NewPCG(13, 14))
	all := t.TempDir()
	uri := func(i int) string { return fmt.Sprintf("file:///corpus/%d", i) }
	what := make([]string, rounds)
	for i := range rounds {
		to := filepath.Join(all, "workspaces", session.WorkspaceID(uri(i)))
		if err := os.CopyFS(to, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		pattern := files[i%len(files)]
		found, err := filepath.Glob(filepath.Join(to, pattern))
		if err != nil {
			t.Fatal(err)
		}
		path := found[random.IntN(len(found))]
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		how, after := damaged(before, foreign, random)
		if err := os.WriteFile(path, after, 0o600); err != nil {
			t.Fatal(err)
		}
		what[i] = pattern + " " + how
	}
	c = startChild(t, all)
	outcomes := map[string]int{}
	for i := range rounds {
		truth := strings.HasPrefix(what[i], "store.db")
		id := fmt.Sprint("w", i)
		var opened wire.SessionOpenResult
		if err := c.Call(t.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: uri(i)}, Session: id}, &opened); err != nil {
			if !truth && !strings.HasPrefix(what[i], "manifest.json") {
				t.Errorf("%s: %v", what[i], err)
			}
			outcomes["refused"]++
			continue
		}
		bad := 0
		for conversation, text := range want {
			var got wire.ConversationGetResult
			params := get(conversation)
			params.Session = id
			if err := c.Call(t.Context(), wire.MethodConversationGet, params, &got); err != nil {
				bad++
			} else if strings.Contains(got.Text, "(blob_missing)") { // it says so
				bad++
			} else if unmarked(got.Text) != text {
				t.Errorf("%s: %s is not what was recorded:\n%s", what[i], conversation, got.Text)
			}
		}
		if bad > 0 && !truth && !strings.HasPrefix(what[i], "blobs") {
			t.Errorf("%s: %d conversations cannot be read", what[i], bad)
		}
		var hits wire.SearchQueryResult
		if err := c.Call(t.Context(), wire.MethodSearchQuery, wire.SearchQueryParams{Session: id, Query: "reader loses the last record"}, &hits); err != nil || len(hits.Hits) == 0 {
			bad++
			if !truth {
				t.Errorf("%s: search: %v", what[i], err)
			}
		}
		if bad > 0 {
			outcomes["in part"]++
		} else {
			outcomes["whole"]++
		}
	}
	healthy := wire.SessionOpenParams{Workspace: wire.Workspace{URI: "file:///corpus/healthy"}, Session: "healthy"}
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, healthy)
	call[wire.ConversationRecordResult](c, wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "healthy", Turns: []wire.Turn{{Role: "user", Text: "All well?"}}})
	c.stop()
	t.Log(outcomes)
}
