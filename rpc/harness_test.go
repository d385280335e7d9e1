package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// Long enough for any machine; a test that waits this long has failed.
const patience = 20 * time.Second

const readyFrames = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`

// hostile is a client that may say anything, at a real Serve over real pipes.
type hostile struct {
	t      testing.TB
	in     *os.File // what the server reads
	out    *os.File // what it writes
	reader *bufio.Reader
	code   chan int
	log    *lockedBuffer
	fake   *fakeBackend
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// serve starts a server that is not initialized.
func serve(t testing.TB, change func(*rpc.Options)) *hostile {
	t.Helper()
	serverIn, clientOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	clientIn, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{t: t, in: clientOut, out: clientIn, reader: bufio.NewReader(clientIn), code: make(chan int, 1), log: &lockedBuffer{}, fake: newFakeBackend()}
	opts := rpc.Options{
		Backend: h.fake, Methods: fakeMethods(), Version: "1.2.3",
		Log: slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}),
	}
	if change != nil {
		change(&opts)
	}
	go func() { h.code <- serveOrForward(serverIn, serverOut, opts) }()
	t.Cleanup(func() {
		h.fake.release()
		clientOut.Close()
		clientIn.Close()
		serverIn.Close()
		serverOut.Close()
	})
	return h
}

// ready starts a server and initializes it.
func ready(t testing.TB, change func(*rpc.Options)) *hostile {
	t.Helper()
	h := serve(t, change)
	h.send(readyFrames)
	if got := h.receive(); !strings.Contains(got, `"id":"init","result":{`) {
		t.Fatalf("initialize: %s", got)
	}
	h.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	return h
}

// raw sends bytes as they are.
func (h *hostile) raw(text string) {
	h.t.Helper()
	h.in.SetWriteDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(h.in, text); err != nil {
		h.t.Fatalf("write: %v", err)
	}
}

func framed(body string) string {
	return "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// send sends bodies in good frames.
func (h *hostile) send(bodies ...string) {
	h.t.Helper()
	for _, body := range bodies {
		h.raw(framed(body))
	}
}

// next returns the body of the next frame, or why there is none.
func (h *hostile) next() (string, error) {
	h.out.SetReadDeadline(time.Now().Add(patience))
	line, err := h.reader.ReadString('\n')
	if err != nil {
		return "", err
	}
	length, ok := strings.CutPrefix(strings.TrimSpace(line), "Content-Length: ")
	n, err := strconv.Atoi(length)
	if !ok || err != nil {
		return "", fmt.Errorf("not a header: %q", line)
	}
	if line, err = h.reader.ReadString('\n'); err != nil || line != "\r\n" {
		return "", fmt.Errorf("not the end of a header: %q, %v", line, err)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(h.reader, body)
	return string(body), err
}

func (h *hostile) receive() string {
	h.t.Helper()
	body, err := h.next()
	if err != nil {
		h.t.Fatalf("read: %v; log: %s", err, h.log)
	}
	return body
}

// answer is a response as tests look at it.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    wire.ErrorData `json:"data"`
	} `json:"error"`
}

// String is "id code kind" for an error and "id result" for a result.
func (a answer) String() string {
	if a.Error != nil {
		return fmt.Sprintf("%s %d %s", a.ID, a.Error.Code, a.Error.Data.Kind)
	}
	return fmt.Sprintf("%s %s", a.ID, a.Result)
}

// answer returns the next answer; notifications before it are skipped.
func (h *hostile) answer() answer {
	h.t.Helper()
	for {
		if a := parseAnswer(h.t, h.receive()); a.ID != nil {
			return a
		}
	}
}

func parseAnswer(t testing.TB, body string) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return a
}

// expect reads as many answers as are wanted, in order.
func (h *hostile) expect(want ...string) {
	h.t.Helper()
	for _, w := range want {
		if got := h.answer().String(); got != w {
			h.t.Fatalf("got  %s\nwant %s\nlog: %s", got, w, h.log)
		}
	}
}

// alive asserts that nothing else comes and the next request works.
func (h *hostile) alive() {
	h.t.Helper()
	h.send(`{"jsonrpc":"2.0","id":"alive","method":"test/echo","params":{"text":"x"}}`)
	h.expect(`"alive" {"text":"x","normalised":false}`)
}

// ends asserts that the connection ends with a code and nothing more is said.
func (h *hostile) ends(code int) {
	h.t.Helper()
	if body, err := h.next(); !errors.Is(err, io.EOF) {
		h.t.Fatalf("got %q, %v; want the end", body, err)
	}
	h.exits(code)
}

func (h *hostile) exits(code int) {
	h.t.Helper()
	select {
	case got := <-h.code:
		if got != code {
			h.t.Fatalf("exit code %d, want %d; log: %s", got, code, h.log)
		}
	case <-time.After(patience):
		h.t.Fatalf("Serve does not return; log: %s", h.log)
	}
}

// fakeBackend serves methods that show what the connection does.
type fakeBackend struct {
	mu      sync.Mutex
	info    rpc.InitializeInfo
	calls   []string // of writes, in the order in which they ran
	writes  int64
	gate    chan struct{} // test/block and test/slow wait for it
	once    sync.Once
	entered chan string // each blocking handler says so
	refuse  error       // of Initialize
	closed  int
}

func newFakeBackend() *fakeBackend {
	return &fakeBackend{gate: make(chan struct{}), entered: make(chan string, 20000)}
}

func (b *fakeBackend) release() { b.once.Do(func() { close(b.gate) }) }

type echoParams struct {
	Text string `json:"text"`
}

type echoResult struct {
	Text       string `json:"text"`
	Normalised bool   `json:"normalised"`
}

type numberParams struct {
	N int64 `json:"n"`
}

type seenResult struct {
	Seen int64 `json:"seen"`
}

func fakeMethods() []wire.Method {
	row := func(name string, class wire.Class) wire.Method {
		return wire.Method{Name: name, Direction: wire.ClientToServer, Class: class, Params: reflect.TypeFor[echoParams](), Result: reflect.TypeFor[echoResult]()}
	}
	return []wire.Method{
		row("test/echo", wire.ClassRead), row("test/block", wire.ClassRead), row("test/count", wire.ClassRead),
		row("test/fail", wire.ClassRead), row("test/panic", wire.ClassRead), row("test/bare", wire.ClassRead),
		row("test/write", wire.ClassWrite), row("test/slow", wire.ClassWrite), row("test/placed", wire.ClassWrite),
		row("test/writePanic", wire.ClassWrite), row("test/flood", wire.ClassRead), row("test/ask", wire.ClassRead),
		row("test/print", wire.ClassRead), row("test/told", wire.ClassEvent), row("test/missing", wire.ClassRead),
		{Name: "test/event", Direction: wire.ServerToClient, Class: wire.ClassEvent, Params: reflect.TypeFor[numberParams]()},
	}
}

func (b *fakeBackend) Handlers() map[string]rpc.Handler {
	return map[string]rpc.Handler{
		"test/echo": rpc.Typed(func(ctx context.Context, p *echoParams) (*echoResult, error) {
			return &echoResult{p.Text, rpc.Normalised(ctx)}, nil
		}),
		"test/bare": rpc.Typed(func(context.Context, *struct{}) (*struct{}, error) { return &struct{}{}, nil }),
		"test/block": func(ctx context.Context, _ json.RawMessage) (any, error) {
			b.entered <- "block"
			select {
			case <-b.gate:
				return "released", nil
			case <-ctx.Done():
				b.peer().Notify("test/event", numberParams{-1})
				return nil, ctx.Err()
			}
		},
		"test/fail": rpc.Typed(func(_ context.Context, p *echoParams) (*echoResult, error) {
			if p.Text == "plain" {
				return nil, errors.New("open /home/someone/secret: permission denied")
			}
			return nil, fmt.Errorf("wrapped: %w", rpc.NewError(wire.Kind(p.Text), "as told"))
		}),
		"test/panic":      func(context.Context, json.RawMessage) (any, error) { panic("secret content") },
		"test/writePanic": func(context.Context, json.RawMessage) (any, error) { var m map[string]int; m["x"] = 1; return nil, nil },
		"test/write": rpc.Typed(func(_ context.Context, p *numberParams) (*seenResult, error) {
			return &seenResult{b.wrote("write", p.N)}, nil
		}),
		"test/slow": rpc.Typed(func(ctx context.Context, p *numberParams) (*seenResult, error) {
			b.entered <- "slow"
			<-b.gate
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return &seenResult{b.wrote("slow", p.N)}, nil
		}),
		"test/placed": rpc.Typed(func(ctx context.Context, p *numberParams) (*seenResult, error) {
			rpc.Placed(ctx)
			b.entered <- "placed"
			<-b.gate
			return &seenResult{b.wrote("placed", p.N)}, nil
		}),
		"test/count": func(context.Context, json.RawMessage) (any, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			return seenResult{b.writes}, nil
		},
		"test/flood": rpc.Typed(func(_ context.Context, p *numberParams) (*seenResult, error) {
			peer, dropped := b.peer(), int64(0)
			for i := range p.N {
				if peer.Notify("test/event", numberParams{i}) != nil {
					dropped++
				}
			}
			return &seenResult{dropped}, nil
		}),
		"test/ask": func(ctx context.Context, _ json.RawMessage) (any, error) {
			var out map[string]any
			b.entered <- "ask"
			if err := b.peer().Call(ctx, "text/summarize", map[string]string{"text": "x"}, &out); err != nil {
				return map[string]any{"error": err.Error()}, nil
			}
			return out, nil
		},
		"test/print": func(context.Context, json.RawMessage) (any, error) {
			fmt.Println("a stray print")
			fmt.Fprintln(os.Stdout, "another")
			println("and one to stderr")
			return "printed", nil
		},
		"test/told": rpc.Typed(func(_ context.Context, p *numberParams) (*struct{}, error) {
			b.wrote("told", p.N)
			return nil, errors.New("nobody hears this")
		}),
	}
}

func (b *fakeBackend) wrote(what string, n int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, what+strconv.FormatInt(n, 10))
	b.writes++
	return b.writes
}

func (b *fakeBackend) ran() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.calls, " ")
}

func (b *fakeBackend) peer() *rpc.Peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.info.Peer
}

func (b *fakeBackend) Initialize(_ context.Context, info rpc.InitializeInfo) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.info = info
	return b.refuse
}

func (b *fakeBackend) Close(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed++
	return nil
}

// waitFor waits until a blocking handler says that it runs.
func (h *hostile) waitFor(what string) {
	h.t.Helper()
	select {
	case got := <-h.fake.entered:
		if got != what {
			h.t.Fatalf("%s runs, want %s", got, what)
		}
	case <-time.After(patience):
		h.t.Fatalf("%s does not run; log: %s", what, h.log)
	}
}
