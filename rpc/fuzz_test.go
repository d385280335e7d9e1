package rpc_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"hexapla/rpc"
)

// FuzzServe feeds any bytes to a server. Whatever they are, it ends, and what
// it says are whole frames of JSON that nobody can take for something else.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		framed(echo7), framed("{"), framed("[]"), "noise\r\n" + framed(echo7), "Content-Length: 0\r\n\r\n", "Content-Length: 9\r\n\r\n{}" + framed(echo7),
		framed(`[{"jsonrpc":"2.0","id":1,"method":"test/write","params":{"n":1}},{"jsonrpc":"2.0","id":1,"method":"test/panic"}]`),
		framed(`{"jsonrpc":"2.0","method":"exit"}`), framed(`{"jsonrpc":"2.0","id":9,"method":"shutdown"}`), framed(`{"jsonrpc":"2.0","id":1,"result":{}}`),
		"Content-Length: 99999999999999999999\r\n\r\n", framed(`{"jsonrpc":"2.0","id":"\ud83d","method":"test/echo","params":{"text":"` + "\xff" + `"}}`),
		"Content-Length: 5000\r\n\r\n" + strings.Repeat("[", 5000),
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, raw []byte, pieces bool) {
		var in io.Reader = io.MultiReader(strings.NewReader(framed(readyFrames)), bytes.NewReader(raw))
		if pieces {
			in = iotest.OneByteReader(in)
		}
		fake := newFakeBackend()
		fake.release()
		var out lockedBuffer
		code := rpc.Serve(t.Context(), in, &out, rpc.Options{
			Backend: fake, Methods: fakeMethods(), Limits: rpc.Limits{SoftFrame: 4000, HardFrame: 8000, HeaderBytes: 200, Resync: 500},
			Timeouts: rpc.Timeouts{Frame: time.Minute, Drain: time.Minute, Grace: time.Minute, Close: time.Minute},
		})
		if code != 0 && code != 1 {
			t.Fatalf("exit code %d", code)
		}
		for rest := out.String(); rest != ""; {
			var n int
			header, after, ok := strings.Cut(rest, "\r\n\r\n")
			if length, found := strings.CutPrefix(header, "Content-Length: "); !ok || !found || json.Unmarshal([]byte(length), &n) != nil || n > len(after) {
				t.Fatalf("not a frame: %q", rest)
			}
			if !json.Valid([]byte(after[:n])) {
				t.Fatalf("not JSON: %q", after[:n])
			}
			rest = after[n:]
		}
	})
}
