package main

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// BenchmarkRecordOverPipes records exchanges of about 1.5 KB, one after another, in
// the program as an editor runs it: framing, the door, counting, two syncs.
func BenchmarkRecordOverPipes(b *testing.B) {
	client, err := rpc.StartChild(b.Context(), exec.Command(buildProgram(b), "serve", "--data-dir", b.TempDir()), rpc.ClientOptions{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := client.Initialize(b.Context(), rpc.InitializeParams{ClientName: "bench"}); err != nil {
		b.Fatal(err)
	}
	if err := client.Call(b.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: benchURI}, Session: "s"}, nil); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		file := fmt.Sprintf("internal/part%d/reader.go", i%17)
		output := ""
		for n := range 12 {
			output += fmt.Sprintf("%s:%d: got %d records, want %d; the reader stops early at offset %d\n", file, n*7, i%9, i%9+1, i*n)
		}
		params := wire.ConversationRecordParams{Session: "s", Done: true, Turns: []wire.Turn{
			{Role: "user", Text: fmt.Sprintf("The reader in %s loses the last record when the input ends early (%d).", file, i)},
			{Role: "assistant", Text: "I run the tests first, then I look at Close.", ToolCalls: []wire.ToolCall{{ID: "t", Name: "Bash", Input: map[string]any{"command": "go test ./" + file}}}},
			{Role: "tool", ToolResults: []wire.ToolResult{{CallID: "t", Content: output}}},
			{Role: "assistant", Text: "The buffer is not flushed at the end. I decided to flush it in Close, and all tests pass."},
		}}
		start := time.Now()
		if err := client.Call(b.Context(), wire.MethodConversationRecord, params, nil); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	if err := client.Shutdown(b.Context()); err != nil {
		b.Error(err)
	}
	if _, err := client.Wait(); err != nil {
		b.Error(err)
	}
}
