package rpc_test

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

func TestP1_RequestBeforeInitialize(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{"text":"x"}}`, `{"jsonrpc":"2.0","id":2,"method":"no/such"}`,
		`{"jsonrpc":"2.0","method":"test/told","params":{"n":1}}`, `{"jsonrpc":"2.0","method":"initialized"}`,
		`{"jsonrpc":"2.0","id":3,"method":"shutdown"}`)
	h.expect("1 -32002 not_initialized", "2 -32002 not_initialized", "3 -32002 not_initialized")
	h.send(readyFrames)
	if a := h.answer(); a.Error != nil {
		t.Fatal(a)
	}
	h.alive()
	if h.fake.ran() != "" {
		t.Errorf("a notification before initialize was served: %s", h.fake.ran())
	}
}

func TestP1_ExitBeforeInitialize(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.send(`{"jsonrpc":"2.0","method":"exit"}`)
	h.ends(1)
}

func TestP2_SecondInitialize(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	h.send(strings.Replace(readyFrames, `"init"`, `2`, 1))
	h.expect("2 -32600 invalid_request")
	h.alive()
}

func TestP2_InitializeAgainAfterItFailed(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.fake.refuse = rpc.NewError(wire.KindLocked, "another process has it")
	// What was pipelined behind it is refused too.
	h.send(readyFrames, `{"jsonrpc":"2.0","id":2,"method":"test/echo","params":{"text":"x"}}`)
	h.expect(`"init" -32803 locked`, "2 -32002 not_initialized")
	h.fake.mu.Lock()
	h.fake.refuse = nil
	h.fake.mu.Unlock()
	h.send(readyFrames)
	if a := h.answer(); a.Error != nil {
		t.Fatal(a)
	}
	h.alive()
}

func TestInitializeSaysWhatIsOffered(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"clientInfo":{"name":"ed","version":"9"},"locale":"en",` +
		`"rootUri":"file:///r","workspaceFolders":[{"uri":"file:///C%3A/x","name":"x"}],"trace":"off","workDoneToken":1,` +
		`"capabilities":{"window":{"workDoneProgress":true},"general":{"positionEncodings":["utf-8"]},"experimental":{"hexapla":{"summarize":true}}},` +
		`"initializationOptions":{"a":1}}}`)
	got := h.receive()
	want := `{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"experimental":{"hexapla":{"protocolVersion":0,"methods":["test/echo","test/block","test/count",` +
		`"test/fail","test/panic","test/bare","test/write","test/slow","test/placed","test/writePanic","test/flood","test/ask","test/print","test/told"],"events":["test/event"]}}},` +
		`"serverInfo":{"name":"hexapla","version":"1.2.3"}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	info := h.fake.info
	if len(info.Folders) != 1 || info.Folders[0] != (rpc.Folder{URI: "file:///C%3A/x", Name: "x"}) || info.ClientName != "ed" || info.ClientVersion != "9" ||
		info.Locale != "en" || string(info.Hexapla) != `{"summarize":true}` || string(info.Options) != `{"a":1}` {
		t.Errorf("info: %+v", info)
	}
	if w := info.Capabilities.Window; w == nil || w.WorkDoneProgress == nil || !*w.WorkDoneProgress {
		t.Errorf("capabilities: %+v", info.Capabilities)
	}
}

func TestInitializeIsAnsweredFirst(t *testing.T) {
	t.Parallel()
	for range 50 {
		h := serve(t, nil)
		h.raw(framed(readyFrames) + framed(`{"jsonrpc":"2.0","method":"initialized"}`) + framed(`{"jsonrpc":"2.0","id":1,"method":"test/flood","params":{"n":1}}`) +
			framed(`{"jsonrpc":"2.0","id":2,"method":"test/echo","params":{"text":"x"}}`))
		if got := h.receive(); !strings.Contains(got, `"id":"init"`) {
			t.Fatalf("the first message is %s", got)
		}
		h.answer()
		h.answer()
		h.in.Close()
		h.ends(0)
	}
}

func TestInitializeWithOddParameters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ params, want string }{
		"none":              {``, `{"capabilities"`},
		"null":              {`,"params":null`, `{"capabilities"`},
		"root path only":    {`,"params":{"rootPath":"/a b","processId":null}`, `{"capabilities"`},
		"odd capabilities":  {`,"params":{"capabilities":{"window":7,"workspace":[]}}`, `{"capabilities"`},
		"pid as a string":   {`,"params":{"processId":"7"}`, `"path":"processId"`},
		"folder without it": {`,"params":{"workspaceFolders":[{"name":"x"}]}`, `"path":"workspaceFolders[0].uri"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := serve(t, nil)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"` + c.params + `}`)
			if got := h.receive(); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if name == "root path only" && (len(h.fake.info.Folders) != 1 || h.fake.info.Folders[0].URI != "file:///a%20b") {
				t.Errorf("folders: %v", h.fake.info.Folders)
			}
		})
	}
}

func TestP3_RequestAfterShutdown(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/slow","params":{"n":1}}`)
	h.waitFor("slow")
	h.send(`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`, `{"jsonrpc":"2.0","id":3,"method":"test/echo","params":{"text":"x"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"shutdown"}`, strings.Replace(readyFrames, `"init"`, `5`, 1))
	h.expect("3 -32600 shutting_down", "4 -32600 shutting_down", "5 -32600 shutting_down")
	h.fake.release()
	got := map[string]bool{h.answer().String(): true, h.answer().String(): true}
	if !got[`1 {"seen":1}`] || !got["2 null"] {
		t.Fatalf("the running write was not answered: %v", got)
	}
	h.send(`{"jsonrpc":"2.0","method":"exit"}`)
	h.ends(0)
}

func TestP4_ExitWithoutShutdown(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/slow","params":{"n":1}}`)
	h.waitFor("slow") // a handler that hangs does not hold it up
	h.send(`{"jsonrpc":"2.0","method":"exit"}`)
	h.exits(1)
}

// TestE4_ShutdownAndExitAtOnce: a client that does not wait for the answer to
// shutdown before it sends exit gets that answer, and the code of an orderly end.
func TestE4_ShutdownAndExitAtOnce(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.raw(framed(readyFrames) + framed(`{"jsonrpc":"2.0","id":"bye","method":"shutdown"}`) + framed(`{"jsonrpc":"2.0","method":"exit"}`))
	h.answer()
	if got := h.answer().String(); !strings.Contains(got, "bye") {
		t.Errorf("shutdown: %s", got)
	}
	h.exits(0)
}

func TestLogGoesToTheClientOnceItListens(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.send(readyFrames)
	h.answer()
	h.fake.peer().Log().Info("before", "n", 1)
	if err := h.fake.peer().Notify("test/event", numberParams{1}); err == nil {
		t.Error("an event was sent before the client confirmed")
	}
	h.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	h.alive()
	log := h.fake.peer().Log().With("workspace", "w1").WithGroup("g")
	log.Warn("after", "n", 2)
	log.Debug("not unless verbose")
	if got, want := h.receive(), `{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":2,"message":"after workspace=w1 g.n=2"}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	h.send(`{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"verbose"}}`, `{"jsonrpc":"2.0","method":"no/such"}`)
	if got := h.receive(); !strings.Contains(got, `"type":4`) {
		t.Errorf("no debug line with a verbose trace: %s", got)
	}
	h.in.Close()
	h.ends(0)
	if got := h.log.String(); !strings.Contains(got, "msg=before") || strings.Contains(got, "after") {
		t.Errorf("the direct log: %s", got)
	}
}

func TestLatenciesAndCounts(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	for range 3 {
		h.alive()
	}
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{"text":"x","new":{"a":[1,2]},"more":null}}`)
	h.expect(`1 {"text":"x","normalised":false}`)
	got := h.fake.peer().Latencies()
	if len(got) != 1 || got[0].Method != "test/echo" || got[0].Count != 4 || got[0].P50Ms <= 0 || got[0].P99Ms < got[0].P50Ms || got[0].P99Ms > 60000 {
		t.Errorf("latencies: %+v", got)
	}
	if n := h.fake.peer().Counts().UnknownFields; n != 2 {
		t.Errorf("%d unknown fields were counted, want 2", n)
	}
}

func TestE3_ClientProcessGone(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(look int) (string, bool){
		"dead":      func(look int) (string, bool) { return "100", look < 3 },
		"id reused": func(look int) (string, bool) { return map[bool]string{true: "100", false: "200"}[look < 3], true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := 0
			h := serve(t, func(o *rpc.Options) {
				o.Timeouts.Process = time.Millisecond
				o.Process = func(pid int) (string, bool) {
					if pid != 4242 {
						t.Errorf("looks at process %d", pid)
					}
					looks++
					return gone(looks)
				}
			})
			h.send(strings.Replace(readyFrames, `"processId":null`, `"processId":4242`, 1))
			h.answer()
			h.ends(0)
		})
	}
}

func TestE3_ProcessNotVisibleAtStart(t *testing.T) {
	t.Parallel()
	looked := make(chan struct{}, 10)
	h := serve(t, func(o *rpc.Options) {
		o.Timeouts.Process = time.Millisecond
		o.Process = func(int) (string, bool) { looked <- struct{}{}; return "", false }
	})
	h.send(strings.Replace(readyFrames, `"processId":null`, `"processId":4242`, 1))
	h.answer()
	<-looked
	h.alive()
}

func TestE4_OwnerEndsTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	fake := newFakeBackend()
	in, client, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	code := make(chan int, 1)
	go func() { code <- rpc.Serve(ctx, in, io.Discard, rpc.Options{Backend: fake, Methods: fakeMethods()}) }()
	io.WriteString(client, framed(readyFrames)+framed(`{"jsonrpc":"2.0","id":1,"method":"test/slow","params":{"n":1}}`))
	<-fake.entered
	cancel()
	fake.release()
	if got := <-code; got != 0 || fake.ran() != "slow1" || fake.closed != 1 {
		t.Fatalf("code %d, ran %q, closed %d times", got, fake.ran(), fake.closed)
	}
}

func TestServeRefusesAHandlerOutsideTheTable(t *testing.T) {
	t.Parallel()
	methods := fakeMethods()[1:]
	if code := rpc.Serve(t.Context(), strings.NewReader(""), io.Discard, rpc.Options{Backend: newFakeBackend(), Methods: methods}); code != 1 {
		t.Errorf("code %d", code)
	}
	if code := rpc.Serve(t.Context(), strings.NewReader(""), io.Discard, rpc.Options{}); code != 1 {
		t.Errorf("code %d", code)
	}
}
