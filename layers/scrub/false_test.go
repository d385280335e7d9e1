package scrub

import (
	"bufio"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hexapla/internal/shareddata"
)

// goSource is n bytes of Go's standard library: every fifth file in the order of
// their paths.
func goSource(t testing.TB, n int) string {
	t.Helper()
	where, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("there is no Go toolchain:", err)
	}
	var files []string
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(where)), "src"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	var b strings.Builder
	for i := 0; i < len(files) && b.Len() < n; i += 5 {
		data, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.String()[:min(n, b.Len())]
}

// sessionTexts are the texts of recorded sessions, as they would be recorded.
func sessionTexts(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shareddata.Dir(t), "claude-code", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded sessions:", err)
	}
	var texts []string
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, one := range v {
				visit(one)
			}
		case map[string]any:
			for name, one := range v {
				if name != "signature" { // of hidden reasoning; not recorded
					visit(one)
				}
			}
		}
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var entry struct {
				Message struct{ Content any }
			}
			if json.Unmarshal(lines.Bytes(), &entry) == nil {
				visit(entry.Message.Content)
			}
		}
		file.Close()
	}
	return texts
}

// report counts findings and logs some of them, with what stands before them.
func report(t *testing.T, s *Scrubber, texts ...string) (lines, findings, size int) {
	t.Helper()
	families := map[string]int{}
	for _, text := range texts {
		size += len(text)
		lines += strings.Count(text, "\n") + 1
		for _, f := range s.Find(text) {
			findings++
			families[f.Family]++
			if findings <= 20 {
				t.Logf("%s behind %q", f.Family, text[max(0, f.Offset-40):f.Offset])
			}
		}
	}
	t.Logf("%d findings in %d lines, %.4f %%, %.1f MB: %v", findings, lines, float64(findings)*100/float64(lines), float64(size)/1e6, families)
	return lines, findings, size
}

// TestY6_FalseHitsInCode: in code that has no secrets, one line in a hundred at
// most is touched, with all that can be looked for turned on.
func TestY6_FalseHitsInCode(t *testing.T) {
	t.Parallel()
	source := goSource(t, 10<<20)
	for name, settings := range map[string]Settings{"default": DefaultSettings(), "everything": everything()} {
		t.Run(name, func(t *testing.T) {
			lines, findings, size := report(t, compiled(t, settings), source)
			if size < 10<<20 || findings*100 > lines {
				t.Errorf("%d findings in %d lines of %d bytes", findings, lines, size)
			}
		})
	}
}

// TestY6_FalseHitsInSessions: the same of recorded sessions.
func TestY6_FalseHitsInSessions(t *testing.T) {
	t.Parallel()
	lines, findings, _ := report(t, compiled(t, DefaultSettings()), sessionTexts(t)...)
	if findings*100 > lines {
		t.Errorf("%d findings in %d lines", findings, lines)
	}
}

// BenchmarkScrub looks through texts in which there is nothing, or next to
// nothing, to find.
func BenchmarkScrub(b *testing.B) {
	var prose, log strings.Builder
	for prose.Len() < 1<<20 {
		prose.WriteString("The reader keeps its place in the buffer, and when the buffer is full the next call waits for the writer to catch up. ")
	}
	for i := 0; log.Len() < 1<<20; i++ {
		log.WriteString("2026-01-12T10:00:00.123Z INFO worker=" + strings.Repeat("7", 1+i%3) + " handled GET /api/v1/items/" + strings.Repeat("4", 1+i%5) + " in 12ms status=200 user_id=99\n")
	}
	source := goSource(b, 1<<20)
	s := compiled(b, DefaultSettings())
	for _, c := range []struct{ name, text string }{
		{"prose", prose.String()}, {"code", source}, {"log", log.String()}, {"code-2KB", source[:2<<10]},
	} {
		b.Run(c.name, func(b *testing.B) {
			s.Scrub(c.text)
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				s.Scrub(c.text)
			}
		})
	}
	b.Run("sessions", func(b *testing.B) {
		texts := sessionTexts(b)
		size := 0
		for _, text := range texts {
			size += len(text)
		}
		b.SetBytes(int64(size))
		for b.Loop() {
			for _, text := range texts {
				s.Scrub(text)
			}
		}
	})
}

// BenchmarkCompile makes the rules ready.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(DefaultSettings()); err != nil {
			b.Fatal(err)
		}
	}
}
