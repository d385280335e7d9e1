package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/internal/shareddata"
)

// evalFolder makes a data folder with a set of boundaries and the transcripts
// that it needs, by their paths in it.
func evalFolder(t *testing.T, compactions []any, transcripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	set, err := json.Marshal(map[string]any{"definition": "x", "compactions": compactions})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"compaction-gold/compaction_gold.json": string(set)}
	for name, text := range transcripts {
		files[name] = text
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func evalLines(t *testing.T, out string) []compactionLine {
	t.Helper()
	var lines []compactionLine
	for text := range strings.Lines(out) {
		var line compactionLine
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&line); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		lines = append(lines, line)
	}
	return lines
}

// TestEvalRecorded measures two boundaries of recorded sessions, one of them in
// a packed file, twice.
func TestEvalRecorded(t *testing.T) {
	t.Parallel()
	shared := shareddata.Dir(t)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(shared, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var set struct{ Compactions []map[string]any }
	if err := json.Unmarshal([]byte(read("compaction-gold/compaction_gold.json")), &set); err != nil {
		t.Fatal(err)
	}
	transcripts := map[string]string{}
	var chosen []any
	for _, c := range set.Compactions {
		name := c["file"].(string)
		if strings.Contains(name, "2026-01-05_a3afd89f1ee1") || strings.Contains(name, "2026-01-23_33375d080476") {
			transcripts[name] = read(name)
			chosen = append(chosen, c)
		}
	}
	dir := evalFolder(t, chosen, transcripts)
	args := []string{"eval", "--data", dir, "--set", "compaction", "--budgets", "8000", "--json"}
	o := hexapla(t, nil, args...)
	if o.code != 0 || strings.Contains(o.errs, "\r") {
		t.Fatalf("exit %d, %s", o.code, o.errs)
	}
	lines := evalLines(t, o.out)
	if len(lines) != 1 || lines[0].Set != "compaction" || lines[0].Budget != 8000 || lines[0].Boundaries != 2 ||
		lines[0].Share <= 0 || lines[0].Share > 1 || lines[0].TailShare <= 0 || lines[0].TailShare > 1 {
		t.Errorf("%s", o.out)
	}
	if again := hexapla(t, nil, args...); again.out != o.out {
		t.Errorf("two measurements differ: %s and %s", o.out, again.out)
	}
}

// compacted is a transcript whose client compacted itself twice, at objects 4
// and 8. The empty line and the torn one are no objects.
const compacted = `{"type":"user","uuid":"1","sessionId":"s","message":{"content":"Look at parser.go."}}
{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m1","model":"gpt-4o","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"parser.go"}}]}}
{"type":"user","uuid":"3","parentUuid":"2","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"func parseHeader() {}"}]}}
{"type":"assistant","uuid":"4","parentUuid":"3","message":{"id":"m2","model":"gpt-4o","content":[{"type":"text","text":"It reads headers."}]}}

{"type":"user","uuid":"x","message":{"content":"tor
{"type":"system","subtype":"compact_boundary","uuid":"5","parentUuid":null,"compactMetadata":{"trigger":"manual","preTokens":1200}}
{"type":"user","uuid":"6","parentUuid":"5","isCompactSummary":true,"message":{"content":"This session is being continued: summarisedOnly."}}
{"type":"user","uuid":"7","parentUuid":"6","message":{"content":"Go on with lexer.go."}}
{"type":"assistant","uuid":"8","parentUuid":"7","message":{"id":"m3","model":"gpt-4o","content":[{"type":"text","text":"nextToken is missing."}]}}
{"type":"system","subtype":"compact_boundary","uuid":"9","parentUuid":null,"compactMetadata":{"trigger":"auto","preTokens":900}}
{"type":"user","uuid":"10","parentUuid":"9","isCompactSummary":true,"message":{"content":"This session is being continued."}}
{"type":"assistant","uuid":"11","parentUuid":"10","message":{"id":"m4","model":"gpt-4o","content":[{"type":"text","text":"laterOnly"}]}}
`

// TestEvalCompaction checks shares by hand, and that what cannot be measured is
// told and not counted.
func TestEvalCompaction(t *testing.T) {
	t.Parallel()
	at := func(file string, object, tokens int, gold ...string) any {
		ids := map[string]int{}
		for i, id := range gold {
			ids[id] = i + 1
		}
		return map[string]any{"file": file, "boundary_line_index": object, "pre_tokens": tokens, "gold": ids}
	}
	dir := evalFolder(t, []any{
		// The next prompt is in the pack, but not in the history.
		at("a/one.jsonl", 8, 900, "parseHeader", "lexer.go", "nextToken", "laterOnly"),
		at("a/one.jsonl", 4, 1200, "parseHeader", "parser.go", "lexer.go", "summarisedOnly"),
		at("a/one.jsonl", 5, 0, "parser.go"),
		at("b/two.jsonl", 4, 1300, "parser.go"),
		at("b/missing.jsonl.gz", 4, 1200, "parser.go"),
	}, map[string]string{"a/one.jsonl": compacted, "b/two.jsonl": compacted})
	o := hexapla(t, nil, "eval", "--data", dir, "--set", "compaction", "--budgets", "2000,1500", "--json")
	lines := evalLines(t, o.out)
	if o.code != exitFailure || len(lines) != 2 || lines[0].Budget != 2000 || lines[1].Budget != 1500 {
		t.Fatalf("exit %d, %s%s", o.code, o.out, o.errs)
	}
	for _, line := range lines {
		if line.Boundaries != 2 || math.Abs(line.Share-0.75) > 1e-9 || math.Abs(line.TailShare-0.625) > 1e-9 {
			t.Errorf("%+v", line)
		}
	}
	for _, want := range []string{
		"a/one.jsonl: boundary at object 5 left out: object 5 is no compaction boundary",
		"b/two.jsonl: boundary at object 4 left out: line 7: compacted at 1,200 tokens, not at 1,300",
		"b/missing.jsonl.gz: boundary at object 4 left out: open ",
	} {
		if !strings.Contains(o.errs, want) {
			t.Errorf("no %q in %s", want, o.errs)
		}
	}
	table := hexapla(t, nil, "eval", "--data", dir, "--set", "compaction", "--budgets", "2000")
	for _, want := range []string{"at 2 places", "75.0 %  62.5 %", "one.jsonl:7 ", "one.jsonl:11"} {
		if !strings.Contains(table.out, want) {
			t.Errorf("no %q in %s", want, table.out)
		}
	}
}

func TestEvalErrors(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gold := map[string]int{"x": 1}
	for name, c := range map[string]struct{ dir, budgets, want string }{
		"missing folder": {filepath.Join(empty, "nope"), "8000", "nope"},
		"file":           {file, "8000", "not a folder"},
		"no set":         {empty, "8000", "compaction_gold.json"},
		"empty set":      {evalFolder(t, nil, nil), "8000", "no compactions"},
		"no gold":        {evalFolder(t, []any{map[string]any{"file": "a", "boundary_line_index": 1}}, nil), "8000", "compaction 1 has no file"},
		"no transcript":  {evalFolder(t, []any{map[string]any{"file": "a", "boundary_line_index": 1, "gold": gold}}, nil), "8000", "no place could be measured"},
		"small budget": {evalFolder(t, []any{map[string]any{"file": "a.jsonl", "boundary_line_index": 4, "gold": gold}},
			map[string]string{"a.jsonl": compacted}), "3", "budget 3"},
	} {
		o := hexapla(t, nil, "eval", "--data", c.dir, "--set", "compaction", "--budgets", c.budgets)
		if o.code != exitFailure || o.out != "" || !strings.Contains(o.errs, c.want) {
			t.Errorf("%s: exit %d, %s%s; want %q", name, o.code, o.out, o.errs, c.want)
		}
	}
}
