package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"hexapla/rpc"
)

// pipes joins two os.Pipes into what a client sees of a child.
type pipes struct {
	*os.File
	w *os.File
}

func (p pipes) Write(b []byte) (int, error) { return p.w.Write(b) }

func (p pipes) Close() error { p.w.Close(); return p.File.Close() }

func benchClient(b *testing.B) *rpc.Client {
	b.Helper()
	serverIn, clientOut, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	clientIn, serverOut, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	go rpc.Serve(context.Background(), serverIn, serverOut, rpc.Options{Backend: newFakeBackend(), Methods: fakeMethods()})
	c := rpc.NewClient(b.Context(), pipes{clientIn, clientOut}, rpc.ClientOptions{})
	if _, err := c.Initialize(b.Context(), rpc.InitializeParams{}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

// BenchmarkRoundTrip measures a call over pipes with both sides in this
// process, by the size of parameters and result.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{1 << 10, 100 << 10, 5 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			c := benchClient(b)
			params := echoParams{strings.Repeat("lorem ipsum ", size/12)}
			b.SetBytes(int64(2 * size))
			b.ReportAllocs()
			for b.Loop() {
				var got echoResult
				if err := c.Call(b.Context(), "test/echo", params, &got); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCallers measures 16 callers at once.
func BenchmarkCallers(b *testing.B) {
	c := benchClient(b)
	params := echoParams{strings.Repeat("x", 1<<10)}
	calls := make(chan struct{})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range calls {
				var got echoResult
				if err := c.Call(b.Context(), "test/echo", params, &got); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for b.Loop() {
		calls <- struct{}{}
	}
	close(calls)
	wg.Wait()
}

// BenchmarkTyped measures the typed decoder beside encoding/json.
func BenchmarkTyped(b *testing.B) {
	text := strings.Repeat("some text of a turn, with \\\"quotes\\\" and \\n lines. ", 20)
	var turns []string
	for range 200 {
		turns = append(turns, `{"role":"assistant","size":12,"deep":"`+text+`"}`)
	}
	raw := json.RawMessage(`{"session":"s1","turns":[` + strings.Join(turns, ",") + `]}`)
	b.Run("typed", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if _, err := decodeWide(string(raw)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			var got wideForm
			if err := json.Unmarshal(raw, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
}
