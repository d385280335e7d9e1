package session_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hexapla/layers"
	"hexapla/session"
)

// exchange is a conversation of about 1.2 KB with two tool calls.
func exchange(i int) session.RecordRequest {
	file := fmt.Sprintf("internal/part%d/reader%d.go", i%97, i%13)
	topic := []string{"reader", "writer", "index", "cache", "parser", "lexer", "scheduler", "config"}[i%8]
	result := strings.Repeat(fmt.Sprintf("ok  	project/part%d	0.%03ds\n", i%97, i%1000), 8)
	return session.RecordRequest{
		Done: true, Contents: []string{result},
		Turns: []layers.Turn{
			{Role: layers.RoleUser, Text: fmt.Sprintf("The %s in %s loses its last record when the input ends early. Please find out why and repair it, ticket %d.", topic, file, i)},
			{Role: layers.RoleAssistant, Text: "I'll read the file and run the tests.", Calls: []layers.ToolCall{{ID: "a", Name: "Bash", Input: `{"command":"go test ./internal/..."}`}}},
			{Role: layers.RoleTool, Results: []layers.ToolResult{{CallID: "a", Content: result}}},
			{Role: layers.RoleAssistant, Text: fmt.Sprintf("The root cause was that Close did not flush the buffer of the %s. I decided to flush in Close and added TestClose%d in %s. All tests pass now.", topic, i, file)},
		},
	}
}

// fill opens a workspace with n conversations.
func fill(b *testing.B, n int) (*session.Session, *session.Service) {
	b.Helper()
	service := newService(session.Options{DataDir: b.TempDir()})
	b.Cleanup(func() {
		if err := service.Close(); err != nil {
			b.Error(err)
		}
	})
	ctx := context.Background()
	if _, err := service.OpenSession(ctx, session.OpenRequest{URI: "file:///bench", Session: "s"}); err != nil {
		b.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	// Writers side by side share commits, as an import does.
	const writers = 64
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			for i := w; i < n; i += writers {
				if _, err := s.Record(ctx, exchange(i)); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range writers {
		if err := <-errs; err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d conversations recorded in %v, %.0f a second", n, time.Since(start).Round(time.Millisecond), float64(n)/time.Since(start).Seconds())
	for m, err := s.Workspace.Counts(); m.Indexed < m.Sequence; m, err = s.Workspace.Counts() {
		if err != nil {
			b.Fatal(err)
		}
		runtime.Gosched()
	}
	b.Logf("indexed after %v", time.Since(start).Round(time.Millisecond))
	return s, service
}

// quantiles reports the median and the 99th percentile of durations.
func quantiles(b *testing.B, durations []time.Duration) {
	if len(durations) == 0 {
		return
	}
	slices.Sort(durations)
	at := func(q float64) float64 {
		return float64(durations[min(len(durations)-1, int(q*float64(len(durations))))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.99), "p99-ms")
}

func sizes(b *testing.B, run func(b *testing.B, n int)) {
	for _, n := range []int{1000, 10_000, 100_000} {
		if testing.Short() && n > 1000 {
			continue
		}
		b.Run(fmt.Sprintf("%dk", n/1000), func(b *testing.B) { run(b, n) })
	}
}

// BenchmarkPack builds a pack of 8,000 tokens: warm, in process.
func BenchmarkPack(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s, _ := fill(b, n)
		ctx := context.Background()
		request := session.PackRequest{Budget: layers.Budget{Total: 8000}}
		if _, err := s.BuildPack(ctx, request); err != nil {
			b.Fatal(err)
		}
		var durations []time.Duration
		for b.Loop() {
			start := time.Now()
			if _, err := s.BuildPack(ctx, request); err != nil {
				b.Fatal(err)
			}
			durations = append(durations, time.Since(start))
		}
		quantiles(b, durations)
	})
}

// BenchmarkWhatIf asks for packs of eight budgets in one call. To be compared
// with BenchmarkPack.
func BenchmarkWhatIf(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s, _ := fill(b, n)
		ctx := context.Background()
		request := session.WhatIfRequest{Totals: []int{1000, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000}}
		if _, err := s.WhatIf(ctx, request); err != nil {
			b.Fatal(err)
		}
		var durations []time.Duration
		for b.Loop() {
			start := time.Now()
			if _, err := s.WhatIf(ctx, request); err != nil {
				b.Fatal(err)
			}
			durations = append(durations, time.Since(start))
		}
		quantiles(b, durations)
	})
}

// BenchmarkExplain explains a pack of 4,000 tokens, with and without the totals
// at which its candidates come in.
func BenchmarkExplain(b *testing.B) {
	s, _ := fill(b, 1000)
	ctx := context.Background()
	for name, entersAt := range map[string]bool{"entersAt": true, "alone": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.ExplainPack(ctx, session.PackRequest{Budget: layers.Budget{Total: 4000}}, entersAt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPackNewQuery builds the first pack after each new query: layer 1
// moves and related conversations are searched for.
func BenchmarkPackNewQuery(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s, _ := fill(b, n)
		ctx := context.Background()
		var durations []time.Duration
		i := n
		for b.Loop() {
			b.StopTimer()
			i++
			if _, err := s.Record(ctx, exchange(i)); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			start := time.Now()
			if _, err := s.BuildPack(ctx, session.PackRequest{Budget: layers.Budget{Total: 8000}}); err != nil {
				b.Fatal(err)
			}
			durations = append(durations, time.Since(start))
		}
		quantiles(b, durations)
	})
}

// BenchmarkRecord records a whole exchange durably, one writer.
func BenchmarkRecord(b *testing.B) {
	s, _ := fill(b, 1000)
	ctx := context.Background()
	var durations []time.Duration
	i := 1000
	for b.Loop() {
		i++
		start := time.Now()
		if _, err := s.Record(ctx, exchange(i)); err != nil {
			b.Fatal(err)
		}
		durations = append(durations, time.Since(start))
	}
	quantiles(b, durations)
}

// BenchmarkRecordTurn records one turn of a conversation in progress.
func BenchmarkRecordTurn(b *testing.B) {
	s, _ := fill(b, 1000)
	ctx := context.Background()
	turn := func(role layers.Role, text string) session.RecordRequest {
		return session.RecordRequest{Turns: []layers.Turn{{Role: role, Text: text}}}
	}
	if _, err := s.Record(ctx, turn(layers.RoleUser, "go on")); err != nil {
		b.Fatal(err)
	}
	var durations []time.Duration
	text := strings.Repeat("The parser keeps its state in internal/parser/state.go. ", 10)
	for b.Loop() {
		start := time.Now()
		if _, err := s.Record(ctx, turn(layers.RoleAssistant, text)); err != nil {
			b.Fatal(err)
		}
		durations = append(durations, time.Since(start))
	}
	quantiles(b, durations)
}

// BenchmarkSearch searches with all signals.
func BenchmarkSearch(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s, _ := fill(b, n)
		ctx := context.Background()
		queries := []string{
			"scheduler loses records when the input ends early", "TestClose4711 flush buffer", "internal/part13/reader5.go root cause",
			"why did the cache not flush", "ticket 998 parser", "lexer config index",
		}
		var durations []time.Duration
		i := 0
		for b.Loop() {
			start := time.Now()
			if _, err := s.Search(ctx, session.SearchRequest{Query: queries[i%len(queries)]}); err != nil {
				b.Fatal(err)
			}
			durations = append(durations, time.Since(start))
			i++
		}
		quantiles(b, durations)
	})
}

// BenchmarkMetrics takes figures of everything, of a recent window, and of
// windows of 500 conversations that were not looked at before, in a store whose
// audit log is full.
func BenchmarkMetrics(b *testing.B) {
	sizes(b, func(b *testing.B, n int) {
		s, _ := fill(b, n)
		for range 10_000 {
			if _, err := s.BuildPack(b.Context(), session.PackRequest{Budget: layers.Budget{Total: 2000}}); err != nil {
				b.Fatal(err)
			}
		}
		end := int64(n)
		whole, err := s.Metrics(b.Context(), session.MetricsRequest{})
		if err != nil {
			b.Fatal(err)
		}
		each := whole.Window.To / end
		run := func(name string, req func(i int64) session.MetricsRequest) {
			b.Run(name, func(b *testing.B) {
				var times []time.Duration
				for i := int64(0); b.Loop(); i++ {
					start := time.Now()
					if _, err := s.Metrics(b.Context(), req(i)); err != nil {
						b.Fatal(err)
					}
					times = append(times, time.Since(start))
				}
				quantiles(b, times)
			})
		}
		run("everything", func(int64) session.MetricsRequest { return session.MetricsRequest{} })
		run("recent", func(int64) session.MetricsRequest { return session.MetricsRequest{FromSeq: whole.Window.To - 100*each} })
		run("unseen", func(i int64) session.MetricsRequest {
			to := (i*500+499)%end*each + each
			return session.MetricsRequest{FromSeq: max(1, to-500*each), ToSeq: to}
		})
	})
}
