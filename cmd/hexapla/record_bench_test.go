package main

import (
	"fmt"
	"os/exec"
	"slices"
	"sync"
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

// importInFlight is how many requests an import has sent that are not answered.
const importInFlight = 64

// BenchmarkImportOverPipes records conversations of 1.2 KB, many at a time, as an
// importer does, with the door and without its rules.
func BenchmarkImportOverPipes(b *testing.B) {
	binary := buildProgram(b)
	for name, options := range map[string]string{
		"Door": `{}`,
		"Open": `{"secrets":{"enabled":false,"pii":{"cards":false,"ibans":false}}}`,
	} {
		b.Run(name, func(b *testing.B) {
			client, err := rpc.StartChild(b.Context(), exec.Command(binary, "serve", "--data-dir", b.TempDir()), rpc.ClientOptions{})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := client.Initialize(b.Context(), rpc.InitializeParams{ClientName: "bench", Options: []byte(options)}); err != nil {
				b.Fatal(err)
			}
			if err := client.Call(b.Context(), wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: benchURI}, Session: "s"}, nil); err != nil {
				b.Fatal(err)
			}
			size := 0
			start := time.Now()
			var group sync.WaitGroup
			slots := make(chan bool, importInFlight)
			for i := range b.N {
				params := imported(i)
				size = len(params.Turns[0].Text) + len(params.Turns[1].Text)
				slots <- true
				group.Go(func() {
					defer func() { <-slots }()
					if err := client.Call(b.Context(), wire.MethodConversationRecord, params, nil); err != nil {
						b.Error(err)
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "conversations/s")
			b.ReportMetric(float64(size), "B/conversation")
			if err := client.Shutdown(b.Context()); err != nil {
				b.Error(err)
			}
			if _, err := client.Wait(); err != nil {
				b.Error(err)
			}
		})
	}
}

// imported is a conversation of about 1.2 KB.
func imported(i int) wire.ConversationRecordParams {
	file := fmt.Sprintf("internal/part%d/reader.go", i%17)
	answer := "The buffer is not flushed at the end. I decided to flush it in Close, and all tests pass.\n"
	for n := range 9 {
		answer += fmt.Sprintf("%s:%d keeps record %d of %d; the writer beside it closes the file at offset %d, which is fine.\n", file, n*7, i%9, i%9+1, i*n)
	}
	return wire.ConversationRecordParams{Session: "s", Done: true, Turns: []wire.Turn{
		{Role: "user", Text: fmt.Sprintf("The reader in %s loses the last record when the input ends early (%d). What is to be done?", file, i)},
		{Role: "assistant", Text: answer},
	}}
}
