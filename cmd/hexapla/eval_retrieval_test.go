package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// retrievalFolder has a chat in two sessions, and three recorded sessions of an
// agent of which the last asks for what the first did.
func retrievalFolder(t *testing.T) string {
	t.Helper()
	const chat = `[{"conversation":{
"session_1_date_time":"1:56 pm on 8 May, 2023",
"session_1":[{"speaker":"Ann","dia_id":"D1:1","text":"I painted the harbour wall yesterday evening."},
 {"speaker":"Ben","dia_id":"D1:2","text":"Which colour did you take?"},{"speaker":"Ann","dia_id":"D1:3","text":"Turquoise."}],
"session_2":[{"speaker":"Ben","dia_id":"D2:1","text":"My violin lessons start on Monday with Mrs Keller."},
 {"speaker":"Ann","dia_id":"D2:2","text":"Have fun!"}]},
"qa":[{"question":"When do the violin lessons start?","evidence":["D2:1"]},
 {"question":"What was painted at the harbour, in which colour?","evidence":["D1:1; D1:3"]},
 {"question":"Nobody knows","evidence":["D9:9"]}]}]`
	session := func(id, prompt, answer string) string {
		return `{"type":"user","uuid":"1","sessionId":"` + id + `","message":{"content":"` + prompt + `"}}
{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m1","model":"gpt-4o","content":[{"type":"text","text":"` + answer + `"}]}}
`
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"locomo/chats.json":   chat,
		"claude-code/a.jsonl": session("a", "Fix the tokenizer of the grammar.", "The tokenizer skips comments now."),
		"claude-code/b.jsonl": session("b", "Write the release notes.", "Done, in CHANGELOG.md."),
		"claude-code/c.jsonl": session("c", "The tokenizer fails on comments.", "Looking."),
		"claude-code/index.json": `[{"file":"c.jsonl","created_at":"2026-01-03T00:00:00Z","format":"claude-code-jsonl"},
{"file":"a.jsonl","created_at":"2026-01-01T00:00:00Z","format":"claude-code-jsonl"},
{"file":"b.jsonl","created_at":"2026-01-02T00:00:00Z","format":"claude-code-jsonl"}]`,
		"claude-code/retrieval.json": `{"queries":[{"query":"The tokenizer fails on comments.","asked_in":"c.jsonl","relevant":["a.jsonl"]}]}`,
	} {
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

func retrievalLines(t *testing.T, out string) []retrievalLine {
	t.Helper()
	var lines []retrievalLine
	for text := range strings.Lines(out) {
		var line retrievalLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		line.MedianMs = nil // the one figure that is not the same each time
		lines = append(lines, line)
	}
	return lines
}

// TestEvalRetrieval measures two small sets whose figures are known by hand,
// twice, with the same outcome.
func TestEvalRetrieval(t *testing.T) {
	t.Parallel()
	args := []string{"eval", "--data", retrievalFolder(t), "--json"}
	o := hexapla(t, nil, args...)
	if o.code != exitOK || !strings.Contains(o.errs, "set beam is not there") {
		t.Fatalf("exit %d, %s", o.code, o.errs)
	}
	lines := retrievalLines(t, o.out)
	if len(lines) != 10 {
		t.Fatalf("%s", o.out)
	}
	chat, agent := lines[0], lines[5]
	if chat.Set != "locomo" || chat.Ranking != "hexapla" || chat.Queries != 2 || chat.Unit != "message" || chat.Hit1 != 1 ||
		chat.MRR != 1 || chat.Recall10 != 1 || *chat.PackRecall8k != 1 {
		t.Errorf("locomo: %s", o.out)
	}
	if agent.Set != "claude-code" || agent.Queries != 1 || agent.Unit != "conversation" || agent.Hit1 != 1 || agent.Messages != nil {
		t.Errorf("claude-code: %s", o.out)
	}
	recency := lines[6] // the release notes are newer
	if recency.Ranking != "recency" || recency.Hit1 != 0 || recency.MRR != 0.5 || recency.Recall5 != 1 || recency.PackRecall4k != nil {
		t.Errorf("recency: %s", o.out)
	}
	// The chat's recency begins with its end: D2:2, D2:1, D1:3, D1:2, D1:1.
	if r := lines[1].Messages; r.MRR != places((0.5+1.0/3)/2) || r.Recall1 != 0 || r.Recall5 != 1 {
		t.Errorf("recency: %+v", r)
	}
	again := hexapla(t, nil, args...)
	if !reflect.DeepEqual(retrievalLines(t, again.out), lines) {
		t.Errorf("two measurements differ: %s and %s", o.out, again.out)
	}
	table := hexapla(t, nil, "eval", "--data", args[2], "--set", "locomo", "--sample", "1")
	for _, want := range []string{"locomo: 1 question,", "bm25+recency", "evidence in a pack", "100.0 %"} {
		if !strings.Contains(table.out, want) {
			t.Errorf("no %q in %s", want, table.out)
		}
	}
}

func TestEvalRetrievalErrors(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	broken := retrievalFolder(t)
	if err := os.WriteFile(filepath.Join(broken, "locomo", "chats.json"), []byte("[{"), 0o600); err != nil {
		t.Fatal(err)
	}
	silent := retrievalFolder(t)
	if err := os.WriteFile(filepath.Join(silent, "locomo", "chats.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dir, set, want string }{
		"nothing there": {empty, "", "no set in"},
		"no such set":   {empty, "beam", "beam"},
		"no sessions":   {empty, "branches", "branch_gold.json"},
		"broken":        {broken, "locomo", "chats.json"},
		"no questions":  {silent, "locomo", "no question with evidence"},
	} {
		args := []string{"eval", "--data", c.dir}
		if c.set != "" {
			args = append(args, "--set", c.set)
		}
		o := hexapla(t, nil, args...)
		if o.code != exitFailure || o.out != "" || !strings.Contains(o.errs, c.want) {
			t.Errorf("%s: exit %d, %s%s; want %q", name, o.code, o.out, o.errs, c.want)
		}
	}
}

// TestMeasureLaws: what is measured of an order follows from where the relevant
// things stand in it.
func TestMeasureLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "documents")
		order := rapid.Permutation(newestFirst(n)).Draw(t, "order")
		relevant := order[:rapid.IntRange(1, n).Draw(t, "relevant")]
		if best := measure(order, relevant); best.Hit1 != 1 || best.MRR != 1 ||
			math.Abs(best.Recall10-min(1, 10/float64(len(relevant)))) > 1e-9 {
			t.Fatalf("best order: %+v", best)
		}
		m := measure(rapid.Permutation(order).Draw(t, "another"), relevant)
		if m.Hit1 > m.Hit5 || m.Recall1 > m.Recall5 || m.Recall5 > m.Recall10 || m.MRR <= 0 || m.MRR < m.Hit1 || m.Recall5 > m.Hit5+1e-9 {
			t.Fatalf("%+v", m)
		}
		values := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 40).Draw(t, "values")
		s := spreadOf(values)
		if s.Low > s.Mean+1e-4 || s.High < s.Mean-1e-4 && len(values) > 20 || s.Low < slices.Min(values)-1e-4 || s.High > slices.Max(values)+1e-4 {
			t.Fatalf("%+v of %v", s, values)
		}
		if s != spreadOf(values) {
			t.Fatal("two intervals of the same values differ")
		}
	})
}

func TestShingles(t *testing.T) {
	t.Parallel()
	s := shinglesOf("user:\n the quick brown fox jumps over the lazy dog and then it sleeps for a while")
	for text, want := range map[string]bool{
		"brown  fox": true, "brown dog": false,
		"quick brown fox jumps over the lazy dog":                             true,
		"quick brown cat jumps over the lazy dog":                             false,
		"the quick brown fox jumps over the lazy dog and then it sleeps long": true,
	} {
		if s.hold(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
