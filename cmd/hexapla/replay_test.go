package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/internal/transcript"
	"hexapla/rpc/wire"
)

const (
	claudeSession    = "claude-code-agent-field.jsonl"
	specStorySession = "specstory-rename-docs.md"
)

func sessionFile(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(root(t), "testdata", "sessions", name)
}

// head writes the first lines of a recorded session into a file of the test.
func head(t *testing.T, name string, lines int, rest string) string {
	t.Helper()
	data, err := os.ReadFile(sessionFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.SplitAfter(string(data), "\n")[:lines], "") + rest
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func replayJSON(t *testing.T, args ...string) (jsonResult, outcome) {
	t.Helper()
	o := hexapla(t, nil, append([]string{"replay", "--json"}, args...)...)
	var r jsonResult
	if o.code != 0 {
		t.Fatalf("replay %q: exit %d, %s", args, o.code, o.errs)
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatalf("%v in %s", err, o.out)
	}
	return r, o
}

// TestReplay replays a whole recorded session through a real server and
// checks what was promised of packs on such sessions (design §8).
func TestReplay(t *testing.T) {
	t.Parallel()
	r, o := replayJSON(t, sessionFile(t, claudeSession))
	if r.Conversations != 6 || r.Calls != 54 || r.Violations != 0 || len(r.LastChecksum) != 64 {
		t.Errorf("%+v", r)
	}
	if strings.Contains(o.errs, ":1:") || !strings.Contains(o.errs, "left out") {
		t.Errorf("standard error: %q", o.errs)
	}
	// What the provider billed is summed here once more, from the file.
	f, err := os.Open(sessionFile(t, claudeSession))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, messages, _, err := transcript.ReadAll("x", f)
	if err != nil {
		t.Fatal(err)
	}
	actual, first := 0.0, 0
	for _, m := range messages {
		if u := m.Usage; u != nil {
			actual += float64(u.Input) + 1.25*float64(u.CacheWrite) + 0.1*float64(u.CacheRead)
			if first == 0 {
				first = u.Prompt()
			}
		}
	}
	if r.Billed.Actual == nil || math.Abs(*r.Billed.Actual-actual) > 1 {
		t.Errorf("really billed %v, want %v", r.Billed.Actual, actual)
	}
	if r.OverheadTokens < 20_000 || r.OverheadTokens >= first {
		t.Errorf("overhead %d of a first prompt of %d", r.OverheadTokens, first)
	}
	// The overhead is the same on every side: written once, read afterwards.
	overhead := float64(r.OverheadTokens) * (1.25 + 0.1*float64(r.Calls-1))
	for name, diff := range map[string]float64{
		"full": r.Billed.Full - r.BilledHistory.Full, "window": r.Billed.Window - r.BilledHistory.Window,
		"compaction": r.Billed.Compaction - r.BilledHistory.Compaction, "pack": r.Billed.Pack - r.BilledHistory.Pack,
	} {
		if math.Abs(diff-overhead) > 1 {
			t.Errorf("%s: %v of overhead, want %v", name, diff, overhead)
		}
	}
	if mean := r.FullTokens / int64(r.Calls); mean < 40_000 {
		t.Errorf("mean history of %d tokens", mean)
	}
	if math.Abs(r.Reduction-(1-float64(r.PackTokens)/float64(r.FullTokens))) > 1e-4 {
		t.Errorf("reduction %v of %d and %d", r.Reduction, r.PackTokens, r.FullTokens)
	}
	t.Logf("%+v actual %.0f", r, actual)

	again, _ := replayJSON(t, sessionFile(t, claudeSession))
	if again.LastChecksum != r.LastChecksum || again.PackTokens != r.PackTokens || again.BilledHistory != r.BilledHistory {
		t.Errorf("two replays differ: %+v and %+v", r, again)
	}
}

func TestReplaySeveralFiles(t *testing.T) {
	t.Parallel()
	files := []string{head(t, claudeSession, 40, ""), sessionFile(t, specStorySession)}
	r, _ := replayJSON(t, append([]string{"--budget", "8000", "--model", "gpt-4o"}, files...)...)
	if len(r.Files) != 2 || r.Calls != r.Files[0].Calls+r.Files[1].Calls || r.Files[1].Calls != 26 || r.Files[1].Conversations != 3 || r.Violations != 0 {
		t.Errorf("%+v", r)
	}
	if r.Billed.Actual != nil || r.Files[0].Billed.Actual == nil {
		t.Error("what was really billed is known of the first file only")
	}
	table := hexapla(t, nil, append([]string{"replay"}, files...)...)
	if table.code != 0 || !strings.Contains(table.out, "all 2 files") || strings.Contains(table.out, "OVER BUDGET") || strings.Contains(table.errs, "\r") {
		t.Errorf("exit %d, %s%s", table.code, table.out, table.errs)
	}
}

// TestReplayDamagedFiles: what can be read is replayed, and what cannot is
// told with file and line.
func TestReplayDamagedFiles(t *testing.T) {
	t.Parallel()
	torn := head(t, claudeSession, 20, `{"type":"user","uuid":"zz","message":{"content":"tor`)
	r, o := replayJSON(t, torn)
	if r.Calls < 4 || !strings.Contains(o.errs, torn+":21: the line is torn (the last line of the file)") {
		t.Errorf("%+v, %q", r, o.errs)
	}
	gemini := filepath.Join(t.TempDir(), "gemini.jsonl")
	if err := os.WriteFile(gemini, []byte("{\n \"sessionId\": \"a\",\n \"projectHash\": \"b\",\n \"messages\": []\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing.jsonl")
	both := hexapla(t, nil, "replay", gemini, missing, torn)
	if both.code != exitFailure || !strings.Contains(both.out, torn) ||
		!strings.Contains(both.errs, gemini+":1: this is a Gemini CLI session") || !strings.Contains(both.errs, missing) {
		t.Errorf("exit %d, %s%s", both.code, both.out, both.errs)
	}
	silent := filepath.Join(t.TempDir(), "silent.jsonl")
	if err := os.WriteFile(silent, []byte(`{"type":"summary","summary":"x","leafUuid":"y"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := hexapla(t, nil, "replay", "--json", silent); o.code != exitFailure || o.out != "" || !strings.Contains(o.errs, "no model call") {
		t.Errorf("exit %d, %s%s", o.code, o.out, o.errs)
	}
}

// TestReplayFromTheMiddle: a transcript that begins with an answer or with the
// client's own summary is replayed as well.
func TestReplayFromTheMiddle(t *testing.T) {
	t.Parallel()
	const answer = `{"type":"assistant","uuid":"a%","parentUuid":"x","message":{"id":"m%","model":"claude-opus-4-5","content":[{"type":"text","text":"Now the tests."}]}}` + "\n"
	for name, text := range map[string]string{
		"answer":  strings.ReplaceAll(answer, "%", "1") + strings.ReplaceAll(answer, "%", "2"),
		"summary": `{"type":"user","uuid":"s","isCompactSummary":true,"message":{"content":"This session is being continued."}}` + "\n" + strings.ReplaceAll(answer, "%", "1"),
		"notice":  `{"type":"user","uuid":"s","isMeta":true,"message":{"content":"Stop hook feedback"}}` + "\n" + strings.ReplaceAll(answer, "%", "1"),
	} {
		path := filepath.Join(t.TempDir(), name+".jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, _ := replayJSON(t, path); r.Calls != strings.Count(text, `"assistant"`) || r.Violations != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestReplayThenAsk keeps the store of a replay and asks it with the other
// commands.
func TestReplayThenAsk(t *testing.T) {
	t.Parallel()
	file, dir := head(t, claudeSession, 60, ""), t.TempDir()
	replayJSON(t, "--data-dir", dir, file)
	if o := hexapla(t, nil, "replay", "--data-dir", dir, file); o.code != exitFailure || !strings.Contains(o.errs, "holds a replay of this file already") {
		t.Errorf("second replay: exit %d, %s", o.code, o.errs)
	}
	workspace := "replay:" + filepath.Base(file)
	ask := func(args ...string) outcome {
		return hexapla(t, map[string]string{"HEXAPLA_DATA_DIR": dir}, append(args, "--workspace", workspace)...)
	}
	text := ask("pack", "--budget", "6000")
	if text.code != 0 || !strings.Contains(text.out, "metadata.json") {
		t.Errorf("pack: exit %d, %s%s", text.code, text.out, text.errs)
	}
	whole := ask("pack", "--budget", "6000", "--json")
	var built wire.PackBuildResult
	var pack wire.Pack
	if err := json.Unmarshal([]byte(whole.out), &built); err != nil {
		t.Fatalf("%v in %s%s", err, whole.out, whole.errs)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, built.Pack); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(built.Pack, &pack); err != nil || pack.Text != text.out || pack.Tokens.Used > 6000 {
		t.Errorf("pack --json: %v, %d tokens, other text than without", err, pack.Tokens.Used)
	}
	var explained wire.PackExplainResult
	if o := ask("explain", "--budget", "6000", "--json"); json.Unmarshal([]byte(o.out), &explained) != nil ||
		explained.Checksum != built.Checksum || len(explained.Candidates) == 0 {
		t.Errorf("explain --json: %.200s%s", o.out, o.errs)
	}
	if o := ask("explain", "--budget", "6000"); o.code != 0 || !strings.Contains(o.out, "Layer 1 · active memory") {
		t.Errorf("explain: exit %d, %s%s", o.code, o.out, o.errs)
	}
	found := ask("search", "agent", "field", "metadata.json")
	if found.code != 0 || !strings.Contains(found.out, "score ") || !strings.HasPrefix(found.out, "c") {
		t.Errorf("search: exit %d, %s%s", found.code, found.out, found.errs)
	}
	var hits wire.SearchQueryResult
	if o := ask("search", "--json", "--kind", "turn", "metadata.json"); json.Unmarshal([]byte(o.out), &hits) != nil || len(hits.Hits) == 0 {
		t.Errorf("search --json: %s%s", o.out, o.errs)
	}
	if o := ask("pack", "--session", "nope"); o.code != exitFailure || !strings.Contains(o.errs, `no session "nope"`) {
		t.Errorf("unknown session: exit %d, %s", o.code, o.errs)
	}
	if o := ask("explain", "--budget", "3"); o.code != exitFailure || !strings.Contains(o.errs, "--budget ") {
		t.Errorf("too small a budget to explain: exit %d, %s", o.code, o.errs)
	}
	if o := ask("pack", "--budget", "3"); o.code != exitFailure || !strings.Contains(o.errs, "--budget ") {
		t.Errorf("too small a budget: exit %d, %s", o.code, o.errs)
	}
}

func TestNothingRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"pack"}, {"explain"}, {"search", "x"}} {
		o := hexapla(t, map[string]string{"PWD": t.TempDir()}, append(args, "--data-dir", dir)...)
		if o.code != exitFailure || !strings.Contains(o.errs, "nothing is recorded of this folder yet") {
			t.Errorf("%s: exit %d, %s", args, o.code, o.errs)
		}
	}
}
