//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hexapla/retrieval"
	"hexapla/retrieval/minilm/minilmtest"
	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// vectorFiles returns the files of vectors below a data folder.
func vectorFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "index", "vectors"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(dir, "*", "index", "vectors"))
	if err != nil {
		t.Fatal(err)
	}
	return append(files, more...)
}

// awaitModel asks for turns until a model that embeds them answers.
func (c *child) awaitModel(query string) wire.SearchQueryResult {
	c.t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		r := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: query, Kind: "turn", Limit: 50})
		if r.Model != retrieval.BuiltinModel {
			return r
		}
		select {
		case <-deadline:
			c.t.Fatal("no model answers")
		case <-tick.C:
		}
	}
}

// TestB8_ModelThroughTheProcess: a server that is given a folder with the model
// embeds what is recorded and finds turns by it that share no word with the
// query; another process gives the same answer from what is on disk; a forgotten
// conversation's vectors are in no file; another client's choice of words alone
// holds.
func TestB8_ModelThroughTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := fmt.Sprintf(`{"embeddings":{"model":"minilm","folder":%q,"limitMs":60000}}`, minilmtest.Write(t, 1))
	c, _ := startOn(t, dir, options)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: "file:///b8"}, Session: "s"})
	for _, word := range minilmtest.Words()[18:30] {
		c.say("s", "The "+word+" was late on Friday.")
	}
	const query = "violin"
	found := c.awaitModel(query)
	if len(found.Hits) < 12 || !strings.HasPrefix(found.Model, "minilm-") {
		t.Errorf("%q, %d hits", found.Model, len(found.Hits))
	}
	whole := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: query})
	if whole.Model != found.Model {
		t.Errorf("conversations: %q", whole.Model)
	}
	c.stop()

	files := vectorFiles(t, dir)
	if len(files) != 1 {
		t.Fatalf("files of vectors: %v", files)
	}
	c, _ = startOn(t, dir, options)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: "file:///b8"}, Session: "s"})
	again := c.awaitModel(query)
	left, _ := json.Marshal(found.Hits)
	right, _ := json.Marshal(again.Hits)
	if !bytes.Equal(left, right) {
		t.Errorf("another process gives\n%s\nafter\n%s", right, left)
	}

	row := rowOf(t, files[0], 1) // the first turn's
	at := slices.IndexFunc(again.Hits, func(h wire.SearchHit) bool { return h.Conversation == "c1" })
	if at < 0 {
		t.Fatal("c1 is not found")
	}
	call[wire.ConversationForgetResult](c, wire.MethodConversationForget, wire.ConversationForgetParams{Session: "s", Conversation: "c1"})
	now := c.awaitModel(query)
	if slices.ContainsFunc(now.Hits, func(h wire.SearchHit) bool { return h.Conversation == "c1" }) || len(now.Hits) == 0 {
		t.Errorf("%d hits", len(now.Hits))
	}
	c.stop()
	for _, file := range vectorFiles(t, dir) {
		raw, err := os.ReadFile(file)
		if err != nil || bytes.Contains(raw, row) {
			t.Errorf("the vector of a forgotten turn is there, %v", err)
		}
	}

	c, _ = startOn(t, dir, `{"embeddings":{"model":"words"}}`)
	defer c.stop()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: "file:///b8"}, Session: "s"})
	if r := call[wire.SearchQueryResult](c, wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: query, Kind: "turn"}); r.Model != retrieval.BuiltinModel {
		t.Errorf("words alone: %q", r.Model)
	}
}

// rowOf returns the numbers of a row of a file of vectors, from 1.
func rowOf(t *testing.T, file string, n int) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const head, row, numbers = 45, 400, 384
	if len(raw) < head+n*row {
		t.Fatalf("%d bytes", len(raw))
	}
	return raw[head+(n-1)*row+12:][:numbers]
}

// TestB8_NoModel: where the model's files are missing, are others, or are too slow
// for the limit, turns are compared by words and the log says why, without the
// folder's name.
func TestB8_NoModel(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, c := range []struct{ options, said string }{
		{fmt.Sprintf(`{"folder":%q}`, empty), "are not there"},
		{fmt.Sprintf(`{"folder":%q,"limitMs":1}`, minilmtest.Write(t, 1)), "over the limit of 1"},
	} {
		p := newPost(t)
		w := p.start("--daemon=off")
		if _, err := w.Initialize(w.ctx(), rpc.InitializeParams{Options: json.RawMessage(`{"embeddings":` + c.options + `}`)}); err != nil {
			t.Fatal(err)
		}
		w.openSession("file:///b8", "s")
		w.until("window/logMessage", c.said)
		w.mustRecord("The violin was late.")
		var r wire.SearchQueryResult
		if err := w.Call(w.ctx(), wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: "violin", Kind: "turn"}, &r); err != nil || r.Model != retrieval.BuiltinModel {
			t.Errorf("%q, %v", r.Model, err)
		}
		w.mu.Lock()
		for _, event := range w.events {
			if strings.Contains(event, empty) {
				t.Errorf("the folder is named: %s", event)
			}
		}
		w.mu.Unlock()
		w.leave()
	}
}

// TestB8_Settings: a member that cannot be used is refused by its name.
func TestB8_Settings(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	w := p.start("--daemon=off")
	for member, value := range map[string]string{
		"model": `"gpt"`, "fusion": `"sum"`, "folder": `"here"`, "limitMs": `0`,
	} {
		_, err := w.Initialize(w.ctx(), rpc.InitializeParams{Options: json.RawMessage(fmt.Sprintf(`{"embeddings":{%q:%s}}`, member, value))})
		if !rpc.IsKind(err, wire.KindInvalidParams) || !strings.Contains(err.Error(), "embeddings."+member) {
			t.Errorf("%s: %v", member, err)
		}
	}
	if _, err := w.Initialize(w.ctx(), rpc.InitializeParams{Options: json.RawMessage(`{"embeddings":{"fusion":"reciprocal"}}`)}); err != nil {
		t.Fatal(err)
	}
	w.openSession("file:///b8", "s")
	w.mustRecord("The violin lesson is on Monday.")
	var r wire.SearchQueryResult
	if err := w.Call(w.ctx(), wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: "violin", Kind: "turn"}, &r); err != nil || len(r.Hits) == 0 || r.Hits[0].Score != 1 {
		t.Errorf("%+v, %v", r.Hits, err)
	}
	w.leave()
}
