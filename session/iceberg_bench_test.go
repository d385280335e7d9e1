package session_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hexapla/internal/shareddata"
	"hexapla/layers/iceberg"
	"hexapla/session"
)

// recordedLists returns the messages of recorded sessions as they would be sent,
// and the places at which a model was called.
func recordedLists(b *testing.B) (lists [][]json.RawMessage, calls [][]int) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(shareddata.Dir(b), "claude-code", "*.jsonl"))
	if err != nil || len(files) == 0 {
		b.Fatalf("%d sessions, %v", len(files), err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		var messages []json.RawMessage
		var at []int
		last := ""
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var line struct {
				Type        string
				IsSidechain bool
				Message     *struct {
					ID      string          `json:"id"`
					Role    string          `json:"role"`
					Content json.RawMessage `json:"content"`
				}
			}
			if json.Unmarshal(lines.Bytes(), &line) != nil || line.IsSidechain || line.Message == nil || line.Type != "user" && line.Type != "assistant" {
				continue
			}
			m := line.Message
			if m.Role == "assistant" && m.ID != last && len(messages) > 0 {
				at, last = append(at, len(messages)), m.ID
			}
			raw, err := json.Marshal(map[string]any{"role": m.Role, "content": m.Content})
			if err != nil {
				b.Fatal(err)
			}
			messages = append(messages, raw)
		}
		f.Close()
		if len(at) > 0 {
			lists, calls = append(lists, messages), append(calls, at)
		}
	}
	return lists, calls
}

// BenchmarkTiersRecorded builds tiers at every tenth model call of the recorded
// sessions, with what is left of the budget in each range of the table: how much
// smaller the messages are, and how long a build takes, with archiving (requirement
// I7).
func BenchmarkTiersRecorded(b *testing.B) {
	lists, calls := recordedLists(b)
	for _, percent := range []float64{90, 70, 50, 10} {
		b.Run(fmt.Sprintf("left=%g", percent), func(b *testing.B) {
			var before, after, builds int
			var took []time.Duration
			for b.Loop() {
				before, after, builds, took = 0, 0, 0, nil
				service := session.New(session.Options{DataDir: b.TempDir(), NoIndex: true})
				for i, list := range lists {
					name := fmt.Sprint("s", i)
					if _, err := service.OpenSession(b.Context(), session.OpenRequest{URI: "file:///work", Session: name, Agent: "a"}); err != nil {
						b.Fatal(err)
					}
					s, err := service.Session(name)
					if err != nil {
						b.Fatal(err)
					}
					for k, n := range calls[i] {
						if k%10 != 9 {
							continue
						}
						req := session.TiersRequest{HistoryRequest: session.HistoryRequest{Messages: list[:n], Model: "claude-opus-4-5"}, Strategy: session.Strategy{Percent: &percent}}
						begin := time.Now()
						reply, err := s.BuildTiers(b.Context(), req)
						took = append(took, time.Since(begin))
						if err != nil || !reply.Built {
							b.Fatalf("%v %+v", err, reply.Warnings)
						}
						before, after, builds = before+reply.Original, after+reply.Tokens, builds+1
					}
				}
				if err := service.Close(); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(100*float64(before-after)/float64(before), "%smaller")
			b.ReportMetric(float64(builds), "builds")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
			b.ReportMetric(float64(before)/float64(builds), "tokens/call")
		})
	}
}

// BenchmarkTiers builds tiers of 200 messages of 1 KB, of which the last is new
// each time, with 1,000 memory items and ten files of 20 KB: through a session, all
// but the connection (requirement I7).
func BenchmarkTiers(b *testing.B) {
	dir := b.TempDir()
	var ask strings.Builder
	for i := range 10 {
		name := fmt.Sprintf("file%d.go", i)
		source := "package p\n" + strings.Repeat(fmt.Sprintf("\n// F%d goes on.\nfunc (t *T) F%d(a, b int) int {\n\treturn a + b*%d\n}\n", i, i, i), 250)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
			b.Fatal(err)
		}
		ask.WriteString(" @" + name)
	}
	service := session.New(session.Options{DataDir: b.TempDir(), NoIndex: true})
	defer service.Close()
	if _, err := service.OpenSession(b.Context(), session.OpenRequest{URI: "file://" + dir, Session: "s", Agent: "a"}); err != nil {
		b.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		b.Fatal(err)
	}
	save := session.MemorySave{}
	for i := range 1000 {
		save.Items = append(save.Items, session.ItemDraft{Type: "TASK", Content: fmt.Sprintf("Item %d: %s", i, strings.Repeat("it matters. ", 10))})
	}
	if _, err := s.SaveMemory(b.Context(), save); err != nil {
		b.Fatal(err)
	}
	var messages []json.RawMessage
	for i := range 200 {
		messages = append(messages, json.RawMessage(fmt.Sprintf(`{"role":%q,"content":"Part %d: %s"}`, []string{"user", "assistant"}[i%2], i, strings.Repeat("it matters a lot. ", 55))))
	}
	for _, mode := range []iceberg.FileMode{iceberg.FilesOutline, iceberg.FilesFull} {
		for _, cold := range []bool{false, true} {
			b.Run(fmt.Sprintf("files=%s/changed=%t", mode, cold), func(b *testing.B) {
				n := 0
				for b.Loop() {
					n++
					if cold {
						b.StopTimer()
						for i := range 10 {
							f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("file%d.go", i)), os.O_APPEND|os.O_WRONLY, 0)
							if err != nil {
								b.Fatal(err)
							}
							fmt.Fprintf(f, "// %d\n", n)
							f.Close()
						}
						b.StartTimer()
					}
					question := json.RawMessage(fmt.Sprintf(`{"role":"user","content":"Question %d:%s"}`, n, ask.String()))
					reply, err := s.BuildTiers(b.Context(), session.TiersRequest{
						HistoryRequest: session.HistoryRequest{Messages: append(messages[:200:200], question), Model: "gpt-4o", Budget: 200_000},
						Strategy:       session.Strategy{Rules: iceberg.Rules{{Below: iceberg.Top, Items: iceberg.Unbounded, Files: mode, Messages: 10}}},
					})
					if err != nil || !reply.Built || reply.Tiers[2].Items != 10 {
						b.Fatalf("%v %+v", err, reply.Tiers[2])
					}
				}
			})
		}
	}
}

// BenchmarkTiersCounting counts a list of 200 messages of 1 KB that was never seen
// before (requirement I7).
func BenchmarkTiersCounting(b *testing.B) {
	service := session.New(session.Options{DataDir: b.TempDir(), NoIndex: true})
	defer service.Close()
	if _, err := service.OpenSession(b.Context(), session.OpenRequest{URI: "file:///work", Session: "s"}); err != nil {
		b.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		b.StopTimer()
		var messages []json.RawMessage
		for range 200 {
			n++
			messages = append(messages, json.RawMessage(fmt.Sprintf(`{"role":"user","content":"Part %d: %s"}`, n, strings.Repeat(fmt.Sprintf("it matters %d times. ", n), 45))))
		}
		b.StartTimer()
		if _, err := s.HistoryStats(session.HistoryRequest{Messages: messages, Model: "gpt-4o"}); err != nil {
			b.Fatal(err)
		}
	}
}
