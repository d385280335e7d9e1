package transcript_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/internal/shareddata"
	"hexapla/internal/transcript"
	"hexapla/layers"
)

// readFile reads a recorded session, which may be packed.
func readFile(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRecordedClaudeSessions reads real sessions and compares calls and usage
// with a plain count of the lines.
func TestRecordedClaudeSessions(t *testing.T) {
	t.Parallel()
	dir := shareddata.Dir(t)
	var files []string
	for _, pattern := range []string{"claude-code/*.jsonl", "claude-code-bulk/sessions/*.gz"} {
		found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 80 {
		t.Fatalf("%d sessions", len(files))
	}
	sessions, calls, prompts := 0, 0, 0
	for _, path := range files {
		text := readFile(t, path)
		name := filepath.Base(path)
		_, messages, report, err := transcript.ReadAll(name, strings.NewReader(text))
		if errors.Is(err, transcript.ErrForeign) {
			if !strings.Contains(err.Error(), "Gemini") {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		wellFormed(t, messages)
		// Some files have a line torn by a killed client in front of another.
		if len(report.Problems) > 2 {
			t.Errorf("%s: %v", name, report.Problems)
		}
		wantCalls, wantInput := count(text)
		if report.Calls != wantCalls {
			t.Errorf("%s: %d calls, want %d", name, report.Calls, wantCalls)
		}
		input, unnamed := 0, 0
		for _, m := range messages {
			if m.Usage != nil {
				input += m.Usage.Prompt()
			}
			for _, r := range m.Results {
				if r.Tool == "" {
					unnamed++
				}
			}
		}
		if input != wantInput {
			t.Errorf("%s: %d prompt tokens, want %d", name, input, wantInput)
		}
		if unnamed > 1 {
			t.Errorf("%s: %d results without their call", name, unnamed)
		}
		sessions, calls, prompts = sessions+1, calls+report.Calls, prompts+report.Prompts
	}
	t.Logf("%d sessions, %d prompts, %d calls", sessions, prompts, calls)
}

// count counts model calls and their prompt tokens line by line.
func count(text string) (calls, input int) {
	seen := map[string]int{}
	in := bufio.NewScanner(strings.NewReader(text))
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var l struct {
			Type      string
			Sidechain bool `json:"isSidechain"`
			Message   struct {
				ID    string
				Model string
				Usage struct {
					Input int `json:"input_tokens"`
					Write int `json:"cache_creation_input_tokens"`
					Read  int `json:"cache_read_input_tokens"`
				}
			}
		}
		if json.Unmarshal(in.Bytes(), &l) == nil && l.Type == "assistant" && !l.Sidechain && l.Message.Model != "<synthetic>" {
			seen[l.Message.ID] = l.Message.Usage.Input + l.Message.Usage.Write + l.Message.Usage.Read
		}
	}
	for _, n := range seen {
		input += n
	}
	return len(seen), input
}

// TestRecordedSpecStorySessions reads real histories: the markers outside of
// tool uses and the tool uses must all be found.
func TestRecordedSpecStorySessions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(shareddata.Dir(t), "specstory", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no sessions")
	}
	for _, path := range files {
		name := filepath.Base(path)
		session, messages, report := read(t, name, readFile(t, path))
		wellFormed(t, messages)
		if len(report.Problems) > 0 {
			t.Errorf("%s: %v", name, report.Problems)
		}
		if report.Prompts < 2 || report.Calls < 5 || session.ID == "" || session.Model == "" {
			t.Errorf("%s: %+v %+v", name, session, report)
		}
		for _, m := range messages {
			if m.Role == layers.RoleAssistant && strings.Contains(m.Text, "\n<tool-use ") {
				t.Errorf("%s:%d: a tool use was read as text", name, m.Line)
			}
		}
	}
}

// TestFixtureIsTheRecording: the copy in this repository says what the
// recording says; the account name that was replaced is as long.
func TestFixtureIsTheRecording(t *testing.T) {
	t.Parallel()
	original := readFile(t, filepath.Join(shareddata.Dir(t), "claude-code", "2026-01-15_138956474766.jsonl"))
	_, want, _ := read(t, "original", original)
	_, got, _ := read(t, claudeFixture, fixture(t, claudeFixture))
	if len(got) != len(want) {
		t.Fatalf("%d messages, want %d", len(got), len(want))
	}
	for i := range got {
		if a, b := len(outline(got[i:i+1])), len(outline(want[i:i+1])); a != b {
			t.Errorf("message %d: %d bytes, want %d", i, a, b)
		}
		if (got[i].Usage == nil) != (want[i].Usage == nil) || got[i].Usage != nil && *got[i].Usage != *want[i].Usage {
			t.Errorf("message %d: usage %+v, want %+v", i, got[i].Usage, want[i].Usage)
		}
	}
}
