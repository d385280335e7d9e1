package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// throughForwarder puts a forwarder before every server of these tests: a client
// must not see the difference.
const throughForwarder = "HEXAPLA_TEST_FORWARD"

func serveOrForward(in, out *os.File, opts rpc.Options) int {
	if os.Getenv(throughForwarder) == "" {
		return rpc.Serve(context.Background(), in, out, opts)
	}
	inner := opts
	inner.Process = func(int) (string, bool) { return "", false }
	return rpc.Forward(context.Background(), in, out, rpc.ForwardOptions{
		Connect: func(context.Context) (rpc.Upstream, error) { return rpc.Upstream{Conn: rpc.ServeInside(inner)}, nil },
		Log:     opts.Log, Process: opts.Process, Limits: opts.Limits, Timeouts: opts.Timeouts,
	})
}

// TestThroughAForwarder: the tests of framing, order, lifecycle and errors pass
// with a forwarder before the server.
func TestThroughAForwarder(t *testing.T) {
	t.Parallel()
	if os.Getenv(throughForwarder) != "" {
		t.Skip("this is the run with a forwarder")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^Test", "-test.count=1")
	cmd.Env = append(os.Environ(), throughForwarder+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// upstream is a server that the test plays.
type upstream struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
}

// forwarded is a forwarder between a hostile client and servers that the test
// plays, one after another.
type forwarded struct {
	*hostile
	servers chan *upstream
	refuse  atomic.Pointer[error] // what connecting gives instead of a server
}

func forward(t *testing.T) *forwarded {
	t.Helper()
	in, clientOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	clientIn, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f := &forwarded{servers: make(chan *upstream, 16)}
	f.hostile = &hostile{t: t, in: clientOut, out: clientIn, reader: bufio.NewReader(clientIn), code: make(chan int, 1), log: &lockedBuffer{}, fake: newFakeBackend()}
	go func() {
		f.code <- rpc.Forward(context.Background(), in, out, rpc.ForwardOptions{Connect: func(context.Context) (rpc.Upstream, error) {
			if refuse := f.refuse.Load(); refuse != nil {
				return rpc.Upstream{}, *refuse
			}
			mine, theirs := net.Pipe()
			f.servers <- &upstream{t: t, conn: mine, reader: bufio.NewReader(mine)}
			return rpc.Upstream{Conn: theirs}, nil
		}})
	}()
	t.Cleanup(func() {
		clientOut.Close()
		clientIn.Close()
	})
	return f
}

// took returns the next message that reaches the server.
func (u *upstream) took() string {
	u.t.Helper()
	var length int
	if _, err := fmt.Fscanf(u.reader, "Content-Length: %d\r\n\r\n", &length); err != nil {
		u.t.Fatalf("at the server: %v", err)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(u.reader, body); err != nil {
		u.t.Fatal(err)
	}
	return string(body)
}

func (u *upstream) says(body string) {
	u.t.Helper()
	if _, err := fmt.Fprintf(u.conn, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		u.t.Fatal(err)
	}
}

func (u *upstream) wants(want ...string) {
	u.t.Helper()
	for _, w := range want {
		if got := u.took(); got != w {
			u.t.Fatalf("at the server: %s, want %s", got, w)
		}
	}
}

// TestForwardTellsTheNextServer: what is not answered is sent to the next server
// in its order, behind initialize and the sessions that are open, whose answers
// the client does not see.
func TestForwardTellsTheNextServer(t *testing.T) {
	t.Parallel()
	f := forward(t)
	first := <-f.servers
	f.send(`{"jsonrpc":"2.0","id":"hi","method":"initialize","params":{"capabilities":{},"locale":"en"}}`)
	first.wants(`{"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{},"locale":"en"},"id":1}`)
	first.says(`{"jsonrpc":"2.0","id":1,"result":{"first":true}}`)
	f.expect(`"hi" {"first":true}`)
	f.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"hexapla/session/open","params":{"workspace":{"uri":"x:y"},"agent":"a","model":"m","key":"k"}}`)
	first.wants(`{"jsonrpc":"2.0","method":"initialized","params":{}}`,
		`{"jsonrpc":"2.0","method":"hexapla/session/open","params":{"workspace":{"uri":"x:y"},"agent":"a","model":"m","key":"k"},"id":2}`)
	first.says(`{"jsonrpc":"2.0","id":2,"result":{"session":"given"}}`)
	f.expect(`1 {"session":"given"}`)
	f.send(`{"jsonrpc":"2.0","id":2,"method":"hexapla/pack/build","params":{"n":1}}`, `{"jsonrpc":"2.0","id":3,"method":"hexapla/pin/list"}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}`)
	build, list := `{"jsonrpc":"2.0","method":"hexapla/pack/build","params":{"n":1},"id":3}`, `{"jsonrpc":"2.0","method":"hexapla/pin/list","id":4}`
	cancel := `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}}`
	first.wants(build, list, cancel)
	first.conn.Close()
	second := <-f.servers
	second.wants(`{"jsonrpc":"2.0","method":"initialize","params":{"capabilities":{},"locale":"en"},"id":5}`, `{"jsonrpc":"2.0","method":"initialized","params":{}}`,
		`{"jsonrpc":"2.0","method":"hexapla/session/open","params":{"workspace":{"uri":"x:y"},"session":"given","model":"m"},"id":6}`,
		build, cancel, list)
	second.says(`{"jsonrpc":"2.0","id":5,"result":{"second":true}}`)
	second.says(`{"jsonrpc":"2.0","id":6,"result":{"session":"given"}}`)
	second.says(`{"jsonrpc":"2.0","method":"hexapla/event/recorded","params":{}}`)
	if got := f.receive(); got != `{"jsonrpc":"2.0","method":"hexapla/event/recorded","params":{}}` {
		t.Errorf("the client got %s", got)
	}
	second.says(`{"jsonrpc":"2.0","id":4,"result":[4]}`)
	f.expect(`3 [4]`)
	second.says(`{"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"x","data":{"kind":"cancelled"}}}`)
	if got := f.answer(); got.String() != "2 -32800 cancelled" {
		t.Errorf("got %v", got)
	}
}

// TestForwardKeysWrites: a write without a key gets one, the same each time it
// is sent; the client's own stays.
func TestForwardKeysWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ params, before, after string }{
		{``, `{"key":`, `}`},
		{`,"params":null`, `{"key":`, `}`},
		{`,"params":{}`, `{"key":`, `}`},
		{`,"params":{ "a":{"key":"inner"}}`, `{"key":`, `, "a":{"key":"inner"}}`},
		{`,"params":{"a":1,"key":null,"b":2}`, `{"a":1,"key":`, `,"b":2}`},
		{`,"params":{"key":""}`, `{"key":`, `}`},
		{`,"params":{"k\u0065y":"mine"}`, `{"k\u0065y":"mine"}`, ``},
		{`,"params":{"a":[{"key":1}],"key" : "mine"}`, `{"a":[{"key":1}],"key" : "mine"}`, ``},
		{`,"params":[1]`, `[1]`, ``},
	} {
		f := forward(t)
		u := <-f.servers
		f.send(`{"jsonrpc":"2.0","id":9,"method":"hexapla/pin/add"` + c.params + `}`)
		sent := u.took()
		const envelope = `{"jsonrpc":"2.0","method":"hexapla/pin/add","params":`
		middle, ok := strings.CutPrefix(sent, envelope+c.before)
		middle, end := strings.CutSuffix(middle, c.after+`,"id":1}`)
		if !ok || !end || (c.after != "") != strings.HasPrefix(middle, `"forwarded-`) {
			t.Errorf("%s: sent %s", c.params, sent)
		}
		u.conn.Close()
		next := <-f.servers
		next.wants(sent)
	}
}

// TestForwardGivesUp: a request that no server survives ends no more of them,
// and when there is no server, requests are answered, or the forwarder ends.
func TestForwardGivesUp(t *testing.T) {
	t.Parallel()
	f := forward(t)
	f.send(`{"jsonrpc":"2.0","id":1,"method":"hexapla/pin/add","params":{"text":"x"}}`)
	for range 5 {
		u := <-f.servers
		u.took()
		u.conn.Close()
	}
	a := f.answer()
	if a.String() != "1 -32603 internal" || a.Error.Data.Committed != wire.CommittedUnknown || a.Error.Data.Incident == "" {
		t.Errorf("got %v %+v", a, a.Error)
	}
	var refuse error = rpc.NewError(wire.KindDaemonUnresponsive, "none")
	f.refuse.Store(&refuse)
	f.send(`{"jsonrpc":"2.0","id":2,"method":"hexapla/pin/add","params":{"text":"x"}}`)
	if a := f.answer(); a.String() != "2 -32803 daemon_unresponsive" || a.Error.Data.Committed != wire.CommittedNo {
		t.Errorf("got %v %+v", a, a.Error)
	}
	f.refuse.Store(nil)
	f.send(`{"jsonrpc":"2.0","id":3,"method":"x"}`)
	u := <-f.servers
	u.wants(`{"jsonrpc":"2.0","method":"x","id":3}`)
	final := errors.New("outdated")
	f.refuse.Store(&final)
	u.conn.Close()
	if a := f.answer(); a.String() != "3 -32803 daemon_unresponsive" || a.Error.Data.Retryable {
		t.Errorf("got %v %+v", a, a.Error)
	}
	f.ends(1)
}

// TestHandover: a server that hands over leaves unanswered what is not done when
// it ends, so that the forwarder can ask the next one.
func TestHandover(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	mine, theirs := net.Pipe()
	fake := newFakeBackend()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		rpc.Serve(ctx, theirs, theirs, rpc.Options{Backend: fake, Methods: fakeMethods(), Handover: true})
	}()
	u := &upstream{t: t, conn: mine, reader: bufio.NewReader(mine)}
	u.says(readyFrames)
	u.took()
	u.says(`{"jsonrpc":"2.0","id":1,"method":"test/block"}`)
	<-fake.entered
	cancel()
	if rest, _ := io.ReadAll(u.reader); len(rest) > 0 { // until it ends
		t.Errorf("got %q", rest)
	}
	fake.release()
	<-ended
}

// FuzzForward: whatever a client sends, the server behind a forwarder gets
// well-formed frames, and the forwarder ends.
func FuzzForward(f *testing.F) {
	f.Add([]byte("Content-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a/b\"}"))
	f.Add([]byte("Content-Length: 76\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"hexapla/pin/add\",\"params\":{\"key\":null}}"))
	f.Fuzz(func(t *testing.T, input []byte) {
		mine, theirs := net.Pipe()
		done := make(chan error, 1)
		go func() {
			r := bufio.NewReader(mine)
			for {
				var length int
				if _, err := fmt.Fscanf(r, "Content-Length: %d\r\n\r\n", &length); err != nil {
					done <- nil
					return
				}
				body := make([]byte, length)
				if _, err := io.ReadFull(r, body); err != nil {
					done <- nil
					return
				}
				clean := bytes.ToValidUTF8(body, []byte("?"))
				if !json.Valid(bytes.ReplaceAll(clean, []byte{0}, []byte("0"))) {
					done <- fmt.Errorf("the server got %q", body)
					return
				}
			}
		}()
		timeouts := rpc.Timeouts{Drain: 1, Grace: 1, Close: 1}
		rpc.Forward(t.Context(), bytes.NewReader(input), io.Discard, rpc.ForwardOptions{Timeouts: timeouts, Connect: func(context.Context) (rpc.Upstream, error) {
			return rpc.Upstream{Conn: theirs}, nil
		}})
		theirs.Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}
