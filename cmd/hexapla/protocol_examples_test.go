package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hexapla/rpc/wire"
	"hexapla/rpc/wire/gen"
)

var updateExamples = flag.Bool("update-examples", false, "rewrite testdata/protocol/examples from what the server answers")

const repairExamples = "if the change is meant, run:\n" +
	"\tgo test ./cmd/hexapla -run TestProtocolExamples -update-examples && go generate ./rpc/wire"

// Members of results that are not compared. Everything else must be equal.
var (
	// unstable members depend on the clock, the machine or the program's
	// version. An update keeps their values.
	unstable = map[string]bool{
		"serverInfo.version": true, "entries[].time": true, "hot[].created": true, "hot[].lastAccessed": true, "added[].created": true, "added[].lastAccessed": true, "checkpoint.time": true, "checkpoints[].time": true, "items[].created": true, "snapshots[].time": true, "snapshots[].ms": true, "month": true, "items[].lastAccessed": true, "indexed": true, "findings[].placeholder": true, "errors[].time": true, "patterns[].first": true, "patterns[].last": true,
		"window.from": true, "window.to": true, "latency.p50Ms": true, "latency.p95Ms": true, "latency.p99Ms": true,
		"latencies[].p50Ms": true, "latencies[].p95Ms": true, "latencies[].p99Ms": true,
	}
	// digests are checksums over everything that a pack holds and over the
	// packing policy; packs themselves are compared member by member. Where a
	// later request names a digest of an earlier answer, it is sent as this
	// server gave it.
	digests = map[string]bool{"checksum": true, "rebuilt": true, "settings": true, "archived": true}
	// handles are compared, and an update puts the new ones into later
	// requests.
	handles = map[string]bool{"sha256": true, "cursor": true}
)

// TestProtocolExamples plays the examples in the order of order.txt over real
// pipes, as frames written by hand, and compares the answers with the files.
func TestProtocolExamples(t *testing.T) {
	t.Parallel()
	dir := root(t)
	examples, err := gen.ReadExamples(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	server := startRaw(t)
	p := player{t: t, server: server, renamed: map[string]string{}}
	for i, ex := range examples {
		got := p.play(i+1, ex)
		if *updateExamples {
			data, err := got.Format()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(ex.Path)), data, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		p.compare(ex.Name()+" params", ex.Params, got.Params)
		p.compare(ex.Name()+" result", ex.Result, got.Result)
		if (ex.Error == nil) != (got.Error == nil) {
			t.Errorf("%s: error %v, want %v", ex.Name(), got.Error, ex.Error)
		} else if ex.Error != nil {
			if ex.Error.Code != got.Error.Code || ex.Error.Message != got.Error.Message {
				t.Errorf("%s: error %d %q, want %d %q", ex.Name(), got.Error.Code, got.Error.Message, ex.Error.Code, ex.Error.Message)
			}
			p.compare(ex.Name()+" error", ex.Error.Data, got.Error.Data)
		}
	}
	if !*updateExamples && t.Failed() {
		t.Log(repairExamples)
	}
	server.notify("exit", nil)
	if code := server.wait(); code != 0 {
		t.Errorf("the server ended with %d after shutdown and exit, want 0", code)
	}
}

// TestEveryMessageHasExamples: every method is shown at work, and every event.
func TestEveryMessageHasExamples(t *testing.T) {
	t.Parallel()
	examples, err := gen.ReadExamples(os.DirFS(root(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range wire.Methods() {
		if !slices.ContainsFunc(examples, func(ex gen.Example) bool { return ex.Method == m.Name && ex.Error == nil }) {
			t.Errorf("no example shows %s succeed", m.Name)
		}
	}
}

// player sends examples and takes down what comes back.
type player struct {
	t       *testing.T
	server  *rawServer
	renamed map[string]string // digests and handles of the files → of this server
}

func (p *player) play(id int, ex gen.Example) gen.Example {
	p.t.Helper()
	got := gen.Example{Path: ex.Path, Title: ex.Title, Method: ex.Method}
	if strings.HasPrefix(ex.Method, "hexapla/event/") {
		got.Params = p.server.event(ex.Method)
		p.rename("", p.tree(ex.Params), p.tree(got.Params))
		got.Params = p.keep(ex.Params, got.Params)
		return got
	}
	got.Params = p.translate(ex.Params)
	reply := p.server.call(id, ex.Method, got.Params)
	if ex.Method == "initialize" {
		p.server.notify("initialized", json.RawMessage("{}"))
	}
	if reply.Error != nil {
		got.Error = reply.Error
		return got
	}
	p.rename("", p.tree(ex.Result), p.tree(reply.Result))
	got.Result = p.keep(ex.Result, reply.Result)
	return got
}

func (p *player) tree(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		p.t.Fatal(err)
	}
	return v
}

// translate puts this server's digests and handles in place of the files'.
func (p *player) translate(raw json.RawMessage) json.RawMessage {
	text := string(raw)
	for _, from := range slices.Sorted(mapKeys(p.renamed)) {
		text = strings.ReplaceAll(text, strconv.Quote(from), strconv.Quote(p.renamed[from]))
	}
	if raw == nil {
		return nil
	}
	return json.RawMessage(text)
}

func mapKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// rename learns the digests and handles of an answer.
func (p *player) rename(name string, file, server any) {
	switch server := server.(type) {
	case map[string]any:
		file, _ := file.(map[string]any)
		for k, v := range server {
			p.rename(k, file[k], v)
		}
	case []any:
		file, _ := file.([]any)
		for i, v := range server {
			if i < len(file) {
				p.rename(name, file[i], v)
			}
		}
	case string:
		if from, ok := file.(string); ok && (digests[name] || handles[name]) {
			p.renamed[from] = server
		}
	}
}

// stands tells that a digest of the files was sent as this server gave it.
func (p *player) stands(want, got string) bool {
	from, err := strconv.Unquote(want)
	if err != nil {
		return false
	}
	to, ok := p.renamed[from]
	return ok && strconv.Quote(to) == got
}

// keep returns the server's text with the file's values of unstable members.
func (p *player) keep(file, server json.RawMessage) json.RawMessage {
	want := leaves(p.t, file)
	var out bytes.Buffer
	at := 0
	for _, leaf := range leafSpans(p.t, server) {
		if !unstable[leaf.general] {
			continue
		}
		if old, ok := want[leaf.path]; ok {
			out.Write(server[at:leaf.from])
			out.WriteString(old)
			at = leaf.to
		}
	}
	out.Write(server[at:])
	return out.Bytes()
}

// compare compares two texts leaf by leaf.
func (p *player) compare(what string, file, server json.RawMessage) {
	p.t.Helper()
	if reflect.DeepEqual(p.tree(file), p.tree(server)) {
		return
	}
	want, got := leaves(p.t, file), leaves(p.t, server)
	paths := map[string]string{}
	for path := range want {
		paths[path] = ""
	}
	for path := range got {
		paths[path] = ""
	}
	shown := 0
	for _, path := range slices.Sorted(mapKeys(paths)) {
		name := path[strings.LastIndexAny(path, ".]")+1:]
		if want[path] == got[path] || p.stands(want[path], got[path]) || unstable[general(path)] || digests[name] && want[path] != "" && got[path] != "" {
			continue
		}
		if shown++; shown > 10 {
			p.t.Errorf("%s: and more", what)
			return
		}
		p.t.Errorf("%s: %s is %.300s, the file has %.300s", what, path, got[path], want[path])
	}
}
