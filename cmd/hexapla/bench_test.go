package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hexapla/layers"
	"hexapla/rpc"
	"hexapla/rpc/wire"
	"hexapla/session"
)

// benchLarge is set to measure stores of 100,000 conversations, too.
const benchLarge = "HEXAPLA_BENCH_LARGE"

// BenchmarkProcess measures the program as editors run it: built, started as a
// child, spoken to over its pipes, on a workspace with many conversations.
func BenchmarkProcess(b *testing.B) {
	binary := buildProgram(b)
	sizes := []int{10_000}
	if os.Getenv(benchLarge) != "" {
		sizes = append(sizes, 100_000)
	}
	for _, n := range sizes {
		// A store is filled once, when the first of its benchmarks runs.
		dir := b.TempDir()
		filled := sync.OnceFunc(func() { fillStore(b, dir, n) })
		for _, bench := range []struct {
			name string
			run  func(*testing.B, benchProgram)
		}{{"Start", benchStart}, {"Memory", benchMemory}, {"Reindex", benchReindex}, {"WhatIf", benchWhatIf}} {
			b.Run(fmt.Sprintf("%s/%dk", bench.name, n/1000), func(b *testing.B) {
				filled()
				bench.run(b, benchProgram{binary, dir, n})
			})
		}
	}
}

// buildProgram builds the program as the Makefile does.
func buildProgram(b *testing.B) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "hexapla")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := exec.Command("go", "build", "-trimpath", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return binary
}

const benchURI = "file:///bench"

// fillStore records n conversations, writers side by side as an import has
// them, and waits for the index.
func fillStore(b *testing.B, dir string, n int) {
	service := session.New(session.Options{DataDir: dir})
	ctx := context.Background()
	if _, err := service.OpenSession(ctx, session.OpenRequest{URI: benchURI, Session: "s"}); err != nil {
		b.Fatal(err)
	}
	s, err := service.Session("s")
	if err != nil {
		b.Fatal(err)
	}
	const writers = 64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := w; i < n; i += writers {
				if _, err := s.Record(ctx, benchExchange(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	for {
		m, err := s.Workspace.Counts()
		if err != nil {
			b.Fatal(err)
		}
		if m.Indexed == m.Sequence {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := service.Close(); err != nil {
		b.Fatal(err)
	}
}

// benchExchange is a conversation of about 1.2 KB, as in package session's
// benchmarks.
func benchExchange(i int) session.RecordRequest {
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

// benchProgram is the built program and a data folder for it.
type benchProgram struct {
	binary, dir   string
	conversations int
}

// benchChild is the program at work.
type benchChild struct {
	b *testing.B
	*server
	pid int
}

// start starts the program; it has answered initialize when start returns.
func (p benchProgram) start(b *testing.B) *benchChild {
	b.Helper()
	cmd := exec.Command(p.binary, "serve", "--data-dir", p.dir)
	cmd.Stderr = os.Stderr
	client, err := rpc.StartChild(context.Background(), cmd, rpc.ClientOptions{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := client.Initialize(context.Background(), rpc.InitializeParams{ClientName: "bench"}); err != nil {
		b.Fatal(err)
	}
	return &benchChild{b, &server{client}, cmd.Process.Pid}
}

func (c *benchChild) end() {
	c.b.Helper()
	if err := c.stop(context.Background()); err != nil {
		c.b.Error(err)
	}
}

// ask makes a call and tells how long it took.
func (c *benchChild) ask(method string, params, result any) time.Duration {
	c.b.Helper()
	start := time.Now()
	if err := c.Call(context.Background(), method, params, result); err != nil {
		c.b.Fatalf("%s: %v", method, err)
	}
	return time.Since(start)
}

func (c *benchChild) open() time.Duration {
	return c.ask(wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: benchURI}, Session: "s"}, nil)
}

// pack builds a pack for another input each time.
func (c *benchChild) pack(i int) (took time.Duration, checksum string) {
	input := &wire.UserInput{Type: "user_query", Content: benchExchange(i * 7919).Turns[0].Text}
	var r wire.PackBuildResult
	took = c.ask(wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 8000}, Input: input}, &r)
	return took, r.Checksum
}

func (c *benchChild) search(i int) (took time.Duration, degraded bool) {
	query := []string{
		"scheduler loses records when the input ends early", "TestClose4711 flush buffer", "internal/part13/reader5.go root cause",
		"why did the cache not flush", "ticket 998 parser", "lexer config index",
	}[i%6]
	var r wire.SearchQueryResult
	took = c.ask(wire.MethodSearchQuery, wire.SearchQueryParams{Session: "s", Query: query}, &r)
	return took, r.Degraded
}

// benchStart measures the way to the first reply: the times from the start of
// the process until initialize, the first session/open and the first pack/build
// are answered.
func benchStart(b *testing.B, p benchProgram) {
	var initialized, opened, packed []time.Duration
	for b.Loop() {
		start := time.Now()
		c := p.start(b)
		initialized = append(initialized, time.Since(start))
		c.open()
		opened = append(opened, time.Since(start))
		c.pack(0)
		packed = append(packed, time.Since(start))
		b.StopTimer()
		c.end()
		b.StartTimer()
	}
	report(b, "initialize", initialized)
	report(b, "open", opened)
	report(b, "pack", packed)
	info, err := os.Stat(p.binary)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/1e6, "binary-MB")
}

// report gives the median and the 99th percentile of times.
func report(b *testing.B, name string, times []time.Duration) {
	slices.Sort(times)
	for _, q := range []float64{0.5, 0.99} {
		at := min(len(times)-1, int(q*float64(len(times))))
		b.ReportMetric(float64(times[at].Microseconds())/1000, fmt.Sprintf("%s-p%.0f-ms", name, 100*q))
	}
}

// benchWhatIf measures a pack and a prediction of eight packs as a client sees
// them, one after the other and each as the first after a new record; and how
// they compare, at the median. The predictions are those of the packs that the
// client would then be given.
func benchWhatIf(b *testing.B, p benchProgram) {
	c := p.start(b)
	defer c.end()
	c.open()
	budgets := []int{1000, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000}
	var packs, predictions []time.Duration
	for i := 0; b.Loop(); i++ {
		// The one that comes second finds caches warm; they take turns.
		for turn := range 2 {
			b.StopTimer()
			c.record(2*i + turn)
			b.StartTimer()
			if (i+turn)%2 == 0 {
				var r wire.PackBuildResult
				packs = append(packs, c.ask(wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: 8000}}, &r))
				continue
			}
			var r wire.PackWhatIfResult
			predictions = append(predictions, c.ask(wire.MethodPackWhatIf, wire.PackWhatIfParams{Session: "s", Budgets: budgets}, &r))
			if i%50 == 0 {
				b.StopTimer()
				for k, total := range budgets {
					var built wire.PackBuildResult
					c.ask(wire.MethodPackBuild, wire.PackBuildParams{Session: "s", Budget: wire.Budget{Total: total}}, &built)
					if built.Checksum != r.Packs[k].Checksum {
						b.Fatalf("a budget of %d: another pack than predicted", total)
					}
				}
				b.StartTimer()
			}
		}
	}
	report(b, "pack", packs)
	report(b, "whatIf", predictions)
	b.ReportMetric(float64(predictions[len(predictions)/2])/float64(packs[len(packs)/2]), "ratio-p50")
}

// record records one more turn of a conversation in progress, and now and then
// begins the next conversation.
func (c *benchChild) record(i int) {
	c.b.Helper()
	exchange := benchExchange(i)
	turns := []wire.Turn{{Role: "assistant", Text: exchange.Turns[3].Text}}
	if i%8 == 0 {
		turns = []wire.Turn{{Role: "user", Text: exchange.Turns[0].Text}}
	}
	c.ask(wire.MethodConversationRecord, wire.ConversationRecordParams{Session: "s", Turns: turns, Done: i%8 == 7}, nil)
}

// benchMemory measures resident memory: of the idle process, with the workspace
// open, and after 50 packs and 50 searches. Own memory is told apart from pages
// of files, which the system takes back when it needs them.
func benchMemory(b *testing.B, p benchProgram) {
	if runtime.GOOS != "linux" {
		b.Skip("reads /proc")
	}
	sums := map[string]float64{}
	rounds := 0.0
	for b.Loop() {
		rounds++
		c := p.start(b)
		c.memory(sums, "idle")
		c.open()
		c.memory(sums, "open")
		for i := range 50 {
			c.pack(i)
			c.search(i)
		}
		c.memory(sums, "used")
		c.end()
	}
	for name, sum := range sums {
		b.ReportMetric(math.Round(sum/rounds*10)/10, name)
	}
}

// memory adds up what the process takes, in MB.
func (c *benchChild) memory(sums map[string]float64, when string) {
	c.b.Helper()
	time.Sleep(time.Second) // let it come to rest
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	if err != nil {
		c.b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		kind, ok := map[string]string{"VmRSS": "resident", "RssAnon": "own"}[name]
		if !ok {
			continue
		}
		var kb float64
		if _, err := fmt.Sscan(rest, &kb); err != nil {
			c.b.Fatal(err)
		}
		sums[when+"-"+kind+"-MB"] += kb * 1024 / 1e6
	}
}

// benchReindex measures how long the index takes to come back after its folder
// was deleted, and how long packs and searches take meanwhile; which share of
// the searches is degraded, and of the packs other than with the index.
func benchReindex(b *testing.B, p benchProgram) {
	var packs, searches, rebuilt []time.Duration
	degraded, changed := 0, 0
	for b.Loop() {
		b.StopTimer()
		removeIndex(b, p.dir)
		var checksums []string
		b.StartTimer()
		c := p.start(b)
		start := time.Now()
		c.open()
		for i := 0; ; i++ {
			var m wire.MetricsGetResult
			c.ask(wire.MethodMetricsGet, wire.MetricsGetParams{Session: "s"}, &m)
			if m.Indexed == m.Sequence {
				break
			}
			took, checksum := c.pack(i)
			packs, checksums = append(packs, took), append(checksums, checksum)
			took, less := c.search(i)
			searches = append(searches, took)
			if less {
				degraded++
			}
			time.Sleep(50 * time.Millisecond)
		}
		rebuilt = append(rebuilt, time.Since(start))
		b.StopTimer()
		for i, before := range checksums {
			if _, checksum := c.pack(i); checksum != before {
				changed++
			}
		}
		c.end()
		b.StartTimer()
	}
	if len(packs) == 0 {
		b.Fatal("the index was there before a request was served")
	}
	report(b, "rebuilt", rebuilt)
	report(b, "pack", packs)
	report(b, "search", searches)
	b.ReportMetric(float64(degraded)/float64(len(searches)), "degraded")
	b.ReportMetric(float64(changed)/float64(len(packs)), "changed")
}
