package rpc_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"hexapla/rpc"
)

const echo7 = `{"jsonrpc":"2.0","id":7,"method":"test/echo","params":{"text":"hi"}}`
const echoed7 = `7 {"text":"hi","normalised":false}`

// row is bytes in, answers out, and whether the connection lives on.
type row struct {
	name string
	in   string
	out  []string
	dead bool // the connection ends with exit code 1
}

func hostileTable(t *testing.T, rows []row) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			h := ready(t, nil)
			h.raw(r.in)
			h.expect(r.out...)
			if r.dead {
				h.ends(1)
			} else {
				h.alive()
			}
		})
	}
}

func TestF1_BodyIsNotJSON(t *testing.T) {
	t.Parallel()
	parse := []string{"null -32700 parse"}
	var rows []row
	for i, body := range []string{
		`{`, `}`, `hello`, `{"jsonrpc":"2.0",}`, `{"jsonrpc":"2.0" "id":1}`, `{"a":01}`, `{"a":"` + "\n" + `"}`,
		`{"a":tru}`, `[1,]`, `[`, `{"jsonrpc":"2.0","id":1,"method":"test/echo"}{}`, `{"a":"\x"}`, `{"a":1.}`, `{"a":-}`, ` `, `{"a" 1}`, `{,}`,
	} {
		rows = append(rows, row{name: fmt.Sprint(i), in: framed(body), out: parse})
	}
	rows = append(rows, row{name: "twice", in: framed("{") + framed("{"), out: []string{parse[0], parse[0]}})
	hostileTable(t, rows)
}

func TestF2_StreamOutOfStep(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(" ", 10) + echo7
	hostileTable(t, []row{
		{name: "length three too small", in: fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(echo7)-3, echo7) + framed(echo7),
			out: []string{"null -32700 parse", echoed7}},
		{name: "length three too large", in: fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(echo7)+3, echo7) + framed(echo7),
			out: []string{"null -32700 parse", echoed7}},
		{name: "length swallows the next header", in: fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(echo7)+25, echo7) + framed(body),
			out: []string{"null -32700 parse", echoed7}},
		{name: "noise between frames", in: "noise noise\r\n" + framed(echo7), out: []string{"null -32600 bad_header", echoed7}},
		{name: "newline delimited JSON", in: echo7 + "\n" + framed(echo7), out: []string{"null -32600 bad_header", echoed7}},
		{name: "several bad headers are told once", in: "x\r\nContent-Length: y\r\n\r\nContent-Length: z\r\n\r\n" + framed(echo7),
			out: []string{"null -32600 bad_header", echoed7}},
		{name: "nothing within 64 KiB", in: "noise\r\n" + strings.Repeat("x", 65<<10), out: []string{"null -32600 bad_header"}, dead: true},
		{name: "escaped header inside JSON is no header", in: "bad\r\n" + `{"text":"Content-Length: 2\r\n\r\n{}"}` + framed(echo7),
			out: []string{"null -32600 bad_header", echoed7}},
	})
}

func TestF2_EndIsLoggedOnce(t *testing.T) {
	t.Parallel()
	h := serve(t, nil)
	h.raw("noise\r\n" + strings.Repeat("x", 65<<10))
	h.expect("null -32600 bad_header")
	h.ends(1)
	if n := strings.Count(h.log.String(), "out of step"); n != 1 {
		t.Fatalf("%d lines tell of it: %s", n, h.log)
	}
}

func TestF3_HeadersInOtherForms(t *testing.T) {
	t.Parallel()
	n := len(echo7)
	hostileTable(t, []row{
		{name: "lower case", in: fmt.Sprintf("content-length: %d\r\n\r\n%s", n, echo7), out: []string{echoed7}},
		{name: "upper case, no space", in: fmt.Sprintf("CONTENT-LENGTH:%d\r\n\r\n%s", n, echo7), out: []string{echoed7}},
		{name: "line feeds only", in: fmt.Sprintf("Content-Length: %d\n\n%s", n, echo7), out: []string{echoed7}},
		{name: "more headers", in: fmt.Sprintf("X-Extra: 1\r\nContent-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s", n, echo7), out: []string{echoed7}},
		{name: "empty lines between frames", in: "\r\n\r\n" + framed(echo7), out: []string{echoed7}},
		{name: "byte order mark before the header", in: "\ufeff" + framed(echo7), out: []string{echoed7}},
	})
}

func TestF4_NoUsableLength(t *testing.T) {
	t.Parallel()
	bad := []string{"null -32600 bad_header", echoed7}
	var rows []row
	for _, header := range []string{
		"Content-Type: x\r\n\r\n", "Content-Length: 0\r\n\r\n", "Content-Length: -5\r\n\r\n", "Content-Length: 1e3\r\n\r\n",
		"Content-Length: \r\n\r\n", "Content-Length: 0x10\r\n\r\n", "Content-Length: +5\r\n\r\n", "no colon\r\n\r\n",
	} {
		rows = append(rows, row{name: strings.TrimSpace(header), in: header + framed(echo7), out: bad})
	}
	hostileTable(t, rows)
}

func TestF5_TwoLengths(t *testing.T) {
	t.Parallel()
	hostileTable(t, []row{
		{name: "different", in: fmt.Sprintf("Content-Length: %d\r\nContent-Length: 3\r\n\r\n%s", len(echo7), echo7), out: []string{"null -32600 bad_header"}, dead: true},
		{name: "equal", in: fmt.Sprintf("Content-Length: %d\r\nContent-Length: %[1]d\r\n\r\n%s", len(echo7), echo7), out: []string{echoed7}},
	})
}

// memory returns how many bytes were allocated so far.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestF6_FrameOverSoftCap(t *testing.T) {
	h := ready(t, nil)
	const size = 65 << 20
	piece := strings.Repeat("x", 1<<20)
	for _, start := range []string{
		`{"jsonrpc":"2.0","id":41,"method":"test/echo","params":{"text":"`,
		`{"jsonrpc":"2.0","method":"test/echo","params":{"text":"` + strings.Repeat("y", 5000) + `"},"id":41,"more":"`,
	} {
		before := memory()
		h.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, start))
		for sent := len(start); sent < size; {
			part := piece[:min(len(piece), size-sent)]
			h.raw(part)
			sent += len(part)
		}
		want := "41 -32803 too_large"
		if strings.Contains(start, "yyy") {
			want = "null -32803 too_large"
		}
		h.expect(want)
		h.alive()
		if grown := memory() - before; grown > 2<<20 {
			t.Errorf("%d bytes were allocated for a frame that is thrown away", grown)
		}
	}
}

func TestF7_FrameOverHardCap(t *testing.T) {
	t.Parallel()
	hostileTable(t, []row{
		{name: "over 1 GiB", in: "Content-Length: 1073741825\r\n\r\n{}", out: []string{"null -32600 too_large"}, dead: true},
		{name: "20 digits", in: "Content-Length: 99999999999999999999\r\n\r\n{}", out: []string{"null -32600 too_large"}, dead: true},
	})
}

func TestF8_BodyNeverComes(t *testing.T) {
	h := ready(t, func(o *rpc.Options) { o.Timeouts.Frame = 50 * time.Millisecond })
	before := memory()
	h.raw("Content-Length: 67108864\r\n\r\n" + strings.Repeat(" ", 100<<10))
	h.ends(1)
	if grown := memory() - before; grown > 2<<20 {
		t.Errorf("%d bytes were allocated for 100 KiB received", grown)
	}
	if !strings.Contains(h.log.String(), "rest of a frame") {
		t.Errorf("log: %s", h.log)
	}
}

func TestF8_IdleBetweenFramesIsNoFault(t *testing.T) {
	t.Parallel()
	h := ready(t, func(o *rpc.Options) { o.Timeouts.Frame = time.Millisecond })
	h.send(echo7)
	h.expect(echoed7)
	<-time.After(20 * time.Millisecond) // the very thing under test is time passing
	h.alive()
}

func TestF9_EndlessHeader(t *testing.T) {
	t.Parallel()
	hostileTable(t, []row{
		{name: "one line", in: "X-Long: " + strings.Repeat("a", 9<<10), out: []string{"null -32600 bad_header"}, dead: true},
		{name: "many lines", in: strings.Repeat("X: y\r\n", 33), out: []string{"null -32600 bad_header"}, dead: true},
		{name: "many bytes in few lines", in: strings.Repeat("X: "+strings.Repeat("a", 2000)+"\r\n", 5), out: []string{"null -32600 bad_header"}, dead: true},
		{name: "just within", in: strings.Repeat("X: y\r\n", 31) + framed(echo7), out: []string{echoed7}},
	})
}

func TestF10_Charset(t *testing.T) {
	t.Parallel()
	with := func(charset string) string {
		return fmt.Sprintf("Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=%s\r\n\r\n%s", len(echo7), charset, echo7)
	}
	hostileTable(t, []row{
		{name: "utf-16", in: with("utf-16"), out: []string{"7 -32600 unsupported_charset"}},
		{name: "utf8", in: with("utf8"), out: []string{echoed7}},
		{name: "quoted", in: with(`"UTF-8"`), out: []string{echoed7}},
	})
}

func TestF11_Batch(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	h.send(`[]`)
	h.expect("null -32600 invalid_request")
	h.send(`[{"jsonrpc":"2.0","id":1,"method":"test/write","params":{"n":1}},{"jsonrpc":"2.0","method":"$/x"},5,` +
		`{"jsonrpc":"2.0","id":1,"method":"test/write","params":{"n":9}},{"jsonrpc":"2.0","id":2,"method":"test/write","params":{"n":2}},` +
		`{"jsonrpc":"2.0","id":3,"method":"test/count"},{"jsonrpc":"2.0","id":4,"method":"no/such"}]`)
	body := h.receive()
	if !strings.HasPrefix(body, "[") {
		t.Fatalf("not an array: %s", body)
	}
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"seen":1}}`, `{"jsonrpc":"2.0","id":2,"result":{"seen":2}}`, `{"jsonrpc":"2.0","id":3,"result":{"seen":2}}`,
		`"kind":"invalid_request"`, `"kind":"method_not_found"`, `"kind":"duplicate_id"`,
	} {
		if strings.Count(body, want) != 1 {
			t.Errorf("%s is not once in %s", want, body)
		}
	}
	if n := strings.Count(body, `"jsonrpc"`); n != 6 {
		t.Errorf("%d answers: %s", n, body)
	}
	h.send(`[{"jsonrpc":"2.0","method":"$/x"}]`) // only notifications: no answer
	member := `{"jsonrpc":"2.0","id":%d,"method":"test/count"},`
	var many strings.Builder
	for i := range 101 {
		fmt.Fprintf(&many, member, i)
	}
	h.send("[" + strings.TrimSuffix(many.String(), ",") + "]")
	h.expect("null -32600 invalid_request")
	h.alive()
}

func TestF12_ByteOrderMark(t *testing.T) {
	t.Parallel()
	hostileTable(t, []row{{name: "before the body", in: framed("\ufeff" + echo7), out: []string{echoed7}}})
}

func TestF13_TextThatIsNotUnicode(t *testing.T) {
	t.Parallel()
	request := func(text string) string {
		return framed(`{"jsonrpc":"2.0","id":7,"method":"test/echo","params":{"text":"` + text + `"}}`)
	}
	changed := func(text string) []string { return []string{`7 {"text":"` + text + `","normalised":true}`} }
	same := func(text string) []string { return []string{`7 {"text":"` + text + `","normalised":false}`} }
	hostileTable(t, []row{
		{name: "invalid UTF-8", in: request("a\xff\xfeb"), out: changed("a\ufffd\ufffdb")},
		{name: "cut UTF-8", in: request("a\xe2\x82"), out: changed("a\ufffd\ufffd")},
		{name: "lone high surrogate", in: request(`a\ud83db`), out: changed("a\ufffdb")},
		{name: "lone low surrogate", in: request(`\uDE00`), out: changed("\ufffd")},
		{name: "two high surrogates", in: request(`\ud83d\ud83d\ude00`), out: changed("\ufffd😀")},
		{name: "a pair", in: request(`\ud83d\ude00`), out: same("😀")},
		{name: "escaped NUL", in: request(`a\u0000b`), out: changed("a\ufffdb")},
		{name: "raw NUL", in: request("a\x00b"), out: changed("a\ufffdb")},
		{name: "an escaped backslash before u", in: request(`\\ud83d`), out: same(`\\ud83d`)},
		{name: "the replacement character itself", in: request("\ufffd"), out: same("\ufffd")},
	})
}

func TestF14_Nesting(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string {
		return framed(`{"jsonrpc":"2.0","id":7,"method":"test/echo","params":{"text":"hi","deep":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}}`)
	}
	hostileTable(t, []row{
		{name: "256", in: nested(256), out: []string{echoed7}},
		{name: "257", in: nested(257), out: []string{"7 -32602 too_deep"}},
		{name: "20000", in: nested(20000), out: []string{"7 -32602 too_deep"}},
		{name: "2 million", in: nested(2 << 20), out: []string{"7 -32602 too_deep"}},
		{name: "a notification", in: framed(`{"jsonrpc":"2.0","method":"x","params":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`)},
	})
}

func TestF15_DuplicateKeys(t *testing.T) {
	t.Parallel()
	with := func(params string) string {
		return framed(`{"jsonrpc":"2.0","id":7,"method":"test/echo","params":` + params + `}`)
	}
	var wide strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&wide, `"k%d":1,`, i)
	}
	twice := []string{"7 -32602 duplicate_key"}
	hostileTable(t, []row{
		{name: "top", in: with(`{"text":"a","text":"b"}`), out: twice},
		{name: "deeper", in: with(`{"text":"hi","x":[{"a":1},{"b":1,"c":{},"b":2}]}`), out: twice},
		{name: "written differently", in: with(`{"text":"hi","x":{"a":1,"\u0061":2}}`), out: twice},
		{name: "in a wide object", in: with(`{"text":"hi",` + wide.String() + `"k77":2}`), out: twice},
		{name: "a wide object", in: with(`{` + wide.String() + `"text":"hi"}`), out: []string{echoed7}},
		{name: "same name in different objects", in: with(`{"text":"hi","a":{"b":{"b":1}},"b":[{"b":1},{"b":1}]}`), out: []string{echoed7}},
		{name: "in the envelope", in: framed(`{"jsonrpc":"2.0","id":7,"id":8,"method":"test/echo"}`), out: []string{"8 -32600 invalid_request"}},
	})
}

func TestF16_FramesInPieces(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	for _, c := range []byte(framed(echo7)) {
		h.raw(string(c))
	}
	h.expect(echoed7)
	h.raw(framed(echo7) + framed(strings.Replace(echo7, "7", "8", 1)))
	got := []string{h.answer().String(), h.answer().String()}
	if got[0] > got[1] {
		got[0], got[1] = got[1], got[0]
	}
	if want := strings.Replace(echoed7, "7", "8", 1); got[0] != echoed7 || got[1] != want {
		t.Fatalf("got %q", got)
	}
	h.alive()
}

func TestF18_ClientDoesNotRead(t *testing.T) {
	t.Parallel()
	h := ready(t, func(o *rpc.Options) { o.Timeouts.Write = 300 * time.Millisecond })
	// Fill the pipe and the outbox with events, then write: it must take effect.
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/flood","params":{"n":100000}}`,
		`{"jsonrpc":"2.0","id":2,"method":"test/write","params":{"n":1}}`,
		`{"jsonrpc":"2.0","id":3,"method":"test/slow","params":{"n":2}}`)
	h.waitFor("slow")
	if got := h.fake.ran(); got != "write1" {
		t.Errorf("writes that ran: %s", got)
	}
	h.exits(1)
	if !strings.Contains(h.log.String(), "does not read") {
		t.Errorf("log: %s", h.log)
	}
}

func TestF18_EventsAreDroppedAndTold(t *testing.T) {
	t.Parallel()
	h := ready(t, func(o *rpc.Options) { o.Limits.OutboxMessages = 8 })
	var events, dropped, told int64
	// The first flood does not fit. The event of the second does, and with it
	// comes the number of those that were dropped and not told of before.
	for _, n := range []int64{20000, 1} {
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"test/flood","params":{"n":%d}}`, n))
		last := int64(-1)
		for {
			body := h.receive()
			if a := parseAnswer(t, body); a.ID != nil {
				var seen int64
				if _, err := fmt.Sscanf(string(a.Result), `{"seen":%d}`, &seen); err != nil {
					t.Fatal(body)
				}
				dropped += seen
				break
			}
			var number int64
			if _, err := fmt.Sscanf(body, `{"jsonrpc":"2.0","method":"window/logMessage","params":{"type":2,"message":"%d notifications were dropped`, &number); err == nil {
				told += number
				continue
			}
			if _, err := fmt.Sscanf(body, `{"jsonrpc":"2.0","method":"test/event","params":{"n":%d}}`, &number); err != nil {
				t.Fatal(body)
			}
			if number <= last {
				t.Fatalf("event %d after %d", number, last)
			}
			last, events = number, events+1
		}
	}
	if events+dropped != 20001 || dropped == 0 || told != dropped {
		t.Errorf("%d events and %d dropped of 20001; told of %d", events, dropped, told)
	}
}

func TestE7_FrameCutByTheEnd(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"Content-Length: 10", "Content-Length: 100\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"test/write","params":{"n":1}}`} {
		h := ready(t, nil)
		h.raw(cut)
		h.in.Close()
		h.ends(1)
		if h.fake.ran() != "" {
			t.Errorf("a cut frame was executed: %s", h.fake.ran())
		}
	}
}

func TestE1_EndOfInput(t *testing.T) {
	t.Parallel()
	h := ready(t, func(o *rpc.Options) { o.Timeouts.Drain = patience })
	// All that was sent before the end is served and answered.
	const n = 200
	h.send(`{"jsonrpc":"2.0","id":0,"method":"test/slow","params":{"n":0}}`)
	for i := range n {
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"test/write","params":{"n":1}}`, i+1))
	}
	h.waitFor("slow")
	h.in.Close()
	h.fake.release()
	for range n + 1 {
		if a := h.answer(); a.Error != nil {
			t.Fatal(a)
		}
	}
	h.ends(0)
	if h.fake.closed != 1 {
		t.Errorf("the backend was closed %d times", h.fake.closed)
	}
}

func TestMemoryOfALargeFrameIsGivenBack(t *testing.T) {
	h := ready(t, nil)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/bare","params":{"text":"` + strings.Repeat("x", 32<<20) + `"}}`)
	h.expect("1 {}")
	// The frame is let go of a moment after it was answered, and while the
	// connection waits for the next.
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		after := heap()
		if after < before+4<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are still held", after-before)
		}
	}
	h.alive()
}

func TestE1_EndOfInputWithHandlerThatNeverReturns(t *testing.T) {
	t.Parallel()
	h := ready(t, func(o *rpc.Options) { o.Timeouts.Drain, o.Timeouts.Grace = 20*time.Millisecond, 10*time.Millisecond })
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/slow","params":{"n":1}}`, `{"jsonrpc":"2.0","id":2,"method":"test/block"}`)
	h.waitFor("slow")
	h.in.Close()
	h.exits(0)
}

func TestE2_OutputClosed(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	h.out.Close()
	h.send(echo7)
	h.exits(1)
}

func TestServeLeavesNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	h := ready(t, nil)
	h.send(echo7)
	h.expect(echoed7)
	h.in.Close()
	h.ends(0)
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		runtime.Gosched()
	}
}

func TestServeWithoutClosers(t *testing.T) {
	t.Parallel()
	in := strings.NewReader(framed(readyFrames) + framed(echo7) + framed(`{"jsonrpc":"2.0","id":8,"method":"shutdown"}`) + framed(`{"jsonrpc":"2.0","method":"exit"}`))
	var out lockedBuffer
	code := rpc.Serve(t.Context(), in, io.Writer(&out), rpc.Options{Backend: newFakeBackend(), Methods: fakeMethods()})
	if got := out.String(); code != 0 || !strings.Contains(got, `"id":8,"result":null}`) || !strings.Contains(got, `"id":7,"result":{`) {
		t.Fatalf("code %d, out %s", code, got)
	}
}
