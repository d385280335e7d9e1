package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// childEnv makes the test binary a server over its standard streams, the way
// cmd does it.
const childEnv = "HEXAPLA_RPC_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "serve":
		out, err := rpc.ClaimStdout()
		if err != nil {
			os.Exit(3)
		}
		os.Exit(rpc.Serve(context.Background(), os.Stdin, out, rpc.Options{
			Backend: newFakeBackend(), Methods: fakeMethods(), Log: slog.NewTextHandler(os.Stderr, nil),
			Timeouts: rpc.Timeouts{Process: 20 * time.Millisecond},
		}))
	case "wait":
		// A stand-in for an editor: lives until its input ends.
		bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func childCommand(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	return cmd
}

// child is a server in a process of its own.
type child struct {
	*rpc.Client
	stderr *lockedBuffer
	events chan string
	cmd    *exec.Cmd
}

func startChild(t *testing.T, params rpc.InitializeParams) *child {
	t.Helper()
	c := &child{stderr: &lockedBuffer{}, events: make(chan string, 1000), cmd: childCommand(t, "serve")}
	c.cmd.Stderr = c.stderr
	client, err := rpc.StartChild(t.Context(), c.cmd, rpc.ClientOptions{
		OnEvent: func(method string, params json.RawMessage) { c.events <- method + " " + string(params) },
		OnRequest: func(_ context.Context, method string, _ json.RawMessage) (any, error) {
			if method == "text/summarize" {
				return map[string]string{"summary": "s"}, nil
			}
			return nil, rpc.NewError(wire.KindMethodNotFound, "no such request")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Client = client
	t.Cleanup(func() { client.Close(); client.Wait() })
	result, err := client.Initialize(t.Context(), params)
	if err != nil {
		t.Fatalf("initialize: %v; stderr: %s", err, c.stderr)
	}
	if len(result.Offer.Methods) == 0 || result.ServerName != "hexapla" {
		t.Fatalf("initialize: %+v", result)
	}
	return c
}

func (c *child) ends(t *testing.T, want int) {
	t.Helper()
	code, err := c.Wait()
	if err != nil || code != want {
		t.Fatalf("exit code %d, %v; want %d; stderr: %s", code, err, want, c.stderr)
	}
}

func TestF17_StrayPrints(t *testing.T) {
	t.Parallel()
	c := startChild(t, rpc.InitializeParams{})
	var got string
	if err := c.Call(t.Context(), "test/print", nil, &got); err != nil || got != "printed" {
		t.Fatalf("got %q, %v", got, err)
	}
	if err := c.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.ends(t, 0)
	for _, want := range []string{"a stray print\n", "another\n", "and one to stderr\n"} {
		if !strings.Contains(c.stderr.String(), want) {
			t.Errorf("stderr has no %q: %q", want, c.stderr)
		}
	}
}

func TestP4_ExitWithoutShutdownEndsTheProcess(t *testing.T) {
	t.Parallel()
	c := startChild(t, rpc.InitializeParams{})
	if err := c.Notify(t.Context(), "exit", nil); err != nil {
		t.Fatal(err)
	}
	c.ends(t, 1)
}

func TestE1_EditorKilled(t *testing.T) {
	t.Parallel()
	c := startChild(t, rpc.InitializeParams{})
	c.Close()
	c.ends(t, 0)
}

func TestE2_EditorStopsReading(t *testing.T) {
	t.Parallel()
	cmd := childCommand(t, "serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	stderr.Close()
	if _, err := in.Write([]byte(framed(readyFrames))); err != nil {
		t.Fatal(err)
	}
	// Standard input stays open; the failed writes, of the reply and of the log
	// line about it, must end the process by its own exit, not by SIGPIPE.
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("ended with %v", err)
	}
}

func TestE3_EditorProcessEnds(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a process that is not reaped looks alive")
	}
	editor := childCommand(t, "wait")
	in, err := editor.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := editor.Start(); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, rpc.InitializeParams{ProcessID: editor.Process.Pid})
	var got echoResult
	if err := c.Call(t.Context(), "test/echo", echoParams{"x"}, &got); err != nil {
		t.Fatal(err)
	}
	in.Close() // the editor ends and stays a zombie until it is waited for
	c.ends(t, 0)
	if err := editor.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestE3_OwnProcessAndNone(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{0, os.Getpid(), 1 << 30} {
		c := startChild(t, rpc.InitializeParams{ProcessID: pid})
		var got echoResult
		if err := c.Call(t.Context(), "test/echo", echoParams{strconv.Itoa(pid)}, &got); err != nil || got.Text != strconv.Itoa(pid) {
			t.Fatalf("got %v, %v", got, err)
		}
		if err := c.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.ends(t, 0)
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	c := startChild(t, rpc.InitializeParams{
		ClientName: "test", WorkspaceFolders: []rpc.Folder{{URI: "file:///w"}}, Options: json.RawMessage(`{"a":1}`),
	})
	// An error comes back typed.
	err := c.Call(t.Context(), "test/fail", echoParams{"not_found"}, nil)
	var typed *rpc.Error
	if !errors.As(err, &typed) || typed.Kind() != wire.KindNotFound || typed.Code != wire.CodeRequestFailed || !rpc.IsKind(err, wire.KindNotFound) {
		t.Errorf("got %v", err)
	}
	// Events come in order, before the answer that was sent behind them.
	var seen seenResult
	if err := c.Call(t.Context(), "test/flood", numberParams{100}, &seen); err != nil || seen.Seen != 0 {
		t.Fatalf("got %v, %v", seen, err)
	}
	for i := range 100 {
		if got, want := <-c.events, `test/event {"n":`+strconv.Itoa(i)+`}`; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	// Requests of the server are answered.
	var answer map[string]string
	if err := c.Call(t.Context(), "test/ask", nil, &answer); err != nil || answer["summary"] != "s" {
		t.Errorf("got %v, %v", answer, err)
	}
	// Ending the context cancels the request at the server.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Call(ctx, "test/block", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	select {
	case got := <-c.events:
		if want := `test/event {"n":-1}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	case <-time.After(patience):
		t.Error("the server was not told")
	}
	// Many callers at once.
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			var got echoResult
			text := strings.Repeat("é", i*1000)
			if err := c.Call(t.Context(), "test/echo", echoParams{text}, &got); err != nil || got.Text != text {
				t.Errorf("call %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if err := c.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.ends(t, 0)
	if err := c.Call(t.Context(), "test/bare", nil, nil); err == nil || rpc.IsError(err) {
		t.Errorf("a call after the end: %v", err)
	}
}
