package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

func TestP5_UnknownMethods(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `{"jsonrpc":"2.0","id":"a","method":"$/no"}`, `{"jsonrpc":"2.0","id":3,"method":"test/missing"}`,
		`{"jsonrpc":"2.0","id":4,"method":"test/told","params":{"n":1}}`, `{"jsonrpc":"2.0","id":5,"method":"test/event"}`)
	h.expect("1 -32601 method_not_found", `"a" -32601 method_not_found`, "3 -32601 method_not_found", "4 -32601 method_not_found", "5 -32601 method_not_found")
	h.send(`{"jsonrpc":"2.0","method":"no/such"}`, `{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}`,
		`{"jsonrpc":"2.0","method":"workspace/didChangeConfiguration","params":{}}`, `{"jsonrpc":"2.0","method":"$/setTrace","params":7}`,
		`{"jsonrpc":"2.0","method":"test/write","params":{"n":1}}`)
	h.alive()
	if h.fake.ran() != "" {
		t.Errorf("a request without an id was executed: %s", h.fake.ran())
	}
}

func TestEventsFromTheClientKeepTheirPlace(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/write","params":{"n":1}}`, `{"jsonrpc":"2.0","method":"test/told","params":{"n":2}}`,
		`{"jsonrpc":"2.0","method":"test/told","params":{"n":"bad"}}`, `{"jsonrpc":"2.0","id":2,"method":"test/write","params":{"n":3}}`)
	h.expect(`1 {"seen":1}`, `2 {"seen":3}`)
	if got := h.fake.ran(); got != "write1 told2 write3" {
		t.Errorf("ran %s", got)
	}
}

func TestP6_Cancel(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	cancel := func(id string) { h.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`) }
	for _, id := range []string{"1", `"one"`} { // a running read, by number and by string
		h.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"test/block"}`)
		h.waitFor("block")
		cancel(id)
		h.expect(id + " -32800 cancelled")
	}
	for _, id := range []string{"1", "99", `"1"`, "{}", "null", "1.5"} { // finished, unknown, odd
		cancel(id)
	}
	h.send(`{"jsonrpc":"2.0","method":"$/cancelRequest"}`, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":[1]}`)
	h.alive()
	// A write that runs ends in full; one that waits has no effect.
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/slow","params":{"n":1}}`, `{"jsonrpc":"2.0","id":2,"method":"test/write","params":{"n":2}}`,
		`{"jsonrpc":"2.0","id":3,"method":"test/write","params":{"n":3}}`)
	h.waitFor("slow")
	cancel("1")
	cancel("2")
	a := h.answer()
	if a.String() != "2 -32800 cancelled" || a.Error.Data.Committed != wire.CommittedNo || !a.Error.Data.Retryable {
		t.Fatalf("got %v %+v", a, a.Error)
	}
	h.fake.release()
	h.expect(`1 {"seen":1}`, `3 {"seen":2}`)
	if got := h.fake.ran(); got != "slow1 write3" {
		t.Errorf("ran %s", got)
	}
}

func TestP7_CancelRightBehindTheRequest(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	for i := range 500 {
		h.raw(framed(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"test/block"}`, i)) +
			framed(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, i)))
		h.expect(fmt.Sprintf("%d -32800 cancelled", i))
	}
	h.send(`[{"jsonrpc":"2.0","id":1,"method":"test/block"},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}]`)
	body := h.receive()
	for strings.Contains(body, "test/event") {
		body = h.receive()
	}
	if !strings.HasPrefix(body, `[{"jsonrpc":"2.0","id":1,"error":{"code":-32800`) {
		t.Errorf("in a batch: %s", body)
	}
}

func TestP8_IdInFlightTwice(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/block"}`)
	h.waitFor("block")
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{"text":"x"}}`, `{"jsonrpc":"2.0","id":"1","method":"test/echo","params":{"text":"x"}}`)
	got := map[string]bool{h.answer().String(): true, h.answer().String(): true}
	if !got["1 -32600 duplicate_id"] || !got[`"1" {"text":"x","normalised":false}`] {
		t.Fatalf("got %v", got)
	}
	h.fake.release()
	h.expect(`1 "released"`)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{"text":"x"}}`) // free again
	h.expect(`1 {"text":"x","normalised":false}`)
}

func TestP9_OddIds(t *testing.T) {
	t.Parallel()
	var rows []row
	for _, id := range []string{"null", "1.5", "1e3", "{}", "[1]", "true", "9223372036854775808", "-9223372036854775809"} {
		rows = append(rows, row{name: id, in: framed(`{"jsonrpc":"2.0","id":` + id + `,"method":"test/bare"}`), out: []string{"null -32600 invalid_id"}})
	}
	for _, id := range []string{"0", "-1", "9223372036854775807", "-9223372036854775808", `""`, `"é\n"`} {
		rows = append(rows, row{name: id, in: framed(`{"jsonrpc":"2.0","id":` + id + `,"method":"test/bare"}`), out: []string{id + " {}"}})
	}
	hostileTable(t, rows)
}

func TestP9_NoRequestAtAll(t *testing.T) {
	t.Parallel()
	invalid := []string{"null -32600 invalid_request"}
	var rows []row
	for _, body := range []string{`{"foo":1}`, `{}`, `5`, `"x"`, `null`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","method":"x"}`, `{"method":"x"}`, `{"jsonrpc":2.0,"method":"x"}`, `{"jsonrpc":"2.0","method":7}`} {
		rows = append(rows, row{name: body, in: framed(body), out: invalid})
	}
	rows = append(rows,
		row{name: "version missing, id given", in: framed(`{"id":4,"method":"test/bare"}`), out: []string{"4 -32600 invalid_request"}},
		row{name: "method missing, id given", in: framed(`{"jsonrpc":"2.0","id":4}`), out: []string{"4 -32600 invalid_request"}})
	hostileTable(t, rows)
}

func TestP10_ResponsesNobodyAskedFor(t *testing.T) {
	t.Parallel()
	var rows []row
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"x","result":null}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"error":5}`, `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`, `{"id":1,"result":1}`,
	} {
		rows = append(rows, row{name: body, in: framed(body)})
	}
	hostileTable(t, rows)
}

func TestP11_CallsToTheClient(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	ask := `{"jsonrpc":"2.0","id":1,"method":"test/ask"}`
	h.send(ask)
	h.waitFor("ask")
	if got := h.receive(); got != `{"jsonrpc":"2.0","method":"text/summarize","params":{"text":"x"},"id":1}` {
		t.Fatal(got)
	}
	h.send(`{"jsonrpc":"2.0","id":1,"result":{"summary":"s"}}`)
	h.expect(`1 {"summary":"s"}`)
	h.send(ask)
	h.waitFor("ask")
	h.receive()
	h.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-32803,"message":"no","data":{"kind":"not_found"}}}`)
	h.expect(`1 {"error":"not_found: no"}`)
	// The client goes away while it is asked: the call returns at once.
	h.send(ask)
	h.waitFor("ask")
	h.receive()
	h.in.Close()
	h.expect(`1 {"error":"call: the client is gone"}`)
	h.ends(0)
}

func TestP12_Panic(t *testing.T) {
	t.Parallel()
	var panicked sync.Map
	h := ready(t, func(o *rpc.Options) { o.OnPanic = func(method string) { panicked.Store(method, true) } })
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/panic"}`)
	a := h.answer()
	if a.String() != "1 -32603 internal" || a.Error.Data.Incident == "" || a.Error.Message != "internal error" || a.Error.Data.Committed != wire.CommittedNo {
		t.Fatalf("got %v %+v", a, a.Error)
	}
	h.alive()
	h.send(`{"jsonrpc":"2.0","id":2,"method":"test/writePanic"}`, `{"jsonrpc":"2.0","id":3,"method":"test/write","params":{"n":1}}`)
	a = h.answer()
	if a.String() != "2 -32603 internal" || a.Error.Data.Committed != wire.CommittedUnknown {
		t.Fatalf("got %v %+v", a, a.Error)
	}
	h.expect(`3 {"seen":1}`)
	for _, method := range []string{"test/panic", "test/writePanic"} {
		if _, ok := panicked.Load(method); !ok {
			t.Errorf("OnPanic was not told of %s", method)
		}
	}
}

func TestP12_PanicIsLoggedWithoutContent(t *testing.T) {
	t.Parallel()
	h := serve(t, nil) // not confirmed: the log goes to Options.Log
	h.send(readyFrames, `{"jsonrpc":"2.0","id":1,"method":"test/panic"}`, `{"jsonrpc":"2.0","id":2,"method":"test/writePanic"}`)
	h.answer()
	incidents := []string{h.answer().Error.Data.Incident, h.answer().Error.Data.Incident}
	log := h.log.String()
	for _, want := range append(incidents, "harness_test.go", "assignment to entry in nil map", "method=test/panic") {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %s: %s", want, log)
		}
	}
	if strings.Contains(log, "secret content") {
		t.Errorf("the log has the panic's text: %s", log)
	}
}

func TestErrorsOnTheWire(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	fail := func(text string) {
		h.send(`{"jsonrpc":"2.0","id":1,"method":"test/fail","params":{"text":"` + text + `"}}`)
	}
	fail("plain")
	body := h.receive()
	for strings.Contains(body, "window/logMessage") {
		body = h.receive()
	}
	if strings.Contains(body, "secret") || !strings.Contains(body, `"code":-32603,"message":"internal error"`) {
		t.Errorf("got %s", body)
	}
	for _, row := range wire.Kinds() {
		fail(string(row.Kind))
		a := h.answer()
		if a.Error.Data.Kind != row.Kind || a.Error.Code != int(row.Code) || a.Error.Data.Retryable != row.Retryable || a.Error.Message != "as told" || a.Error.Data.Committed != wire.CommittedNo {
			t.Errorf("%s: got %+v", row.Kind, a.Error)
		}
	}
}

func TestP13_TenThousandRequests(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	const n = 10000
	var sent strings.Builder
	for i := range n {
		sent.WriteString(framed(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"test/block"}`, i)))
	}
	go io.WriteString(h.in, sent.String())
	busy := 0
	for range n - 320 {
		a := h.answer()
		if a.Error == nil || a.Error.Data.Kind != wire.KindBusy || !a.Error.Data.Retryable || a.Error.Code != -32802 {
			t.Fatalf("got %v", a)
		}
		busy++
	}
	for range 64 {
		h.waitFor("block")
	}
	select {
	case <-h.fake.entered:
		t.Fatal("more than 64 run")
	default:
	}
	refused := int64(n - 320)
	if os.Getenv(throughForwarder) != "" {
		refused = 0 // the forwarder refused them
	}
	if got := h.fake.peer().Counts(); got.InFlight != 320 || got.Busy != refused {
		t.Errorf("counts: %+v", got)
	}
	h.fake.release()
	for range 320 {
		if a := h.answer(); string(a.Result) != `"released"` {
			t.Fatalf("got %v", a)
		}
	}
	h.alive()
}

func TestBusyByBytes(t *testing.T) {
	t.Parallel()
	h := ready(t, func(o *rpc.Options) { o.Limits.RequestBytes = 1 << 20 })
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/block","params":{"text":"` + strings.Repeat("x", 2<<20) + `"}}`)
	h.waitFor("block") // one alone is never too much
	h.send(`{"jsonrpc":"2.0","id":2,"method":"test/block"}`)
	h.expect("2 -32802 busy")
	h.fake.release()
	h.expect(`1 "released"`)
	h.alive()
}

func TestWritesInWireOrderAndReadsSeeThem(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	const n = 5000
	window := make(chan struct{}, 300)
	go func() {
		for i := range n {
			window <- struct{}{}
			window <- struct{}{}
			body := framed(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"test/write","params":{"n":%d}}`, 2*i, i)) +
				framed(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"test/count"}`, 2*i+1))
			if _, err := io.WriteString(h.in, body); err != nil {
				return
			}
		}
	}()
	inversions, blind := 0, 0
	for range 2 * n {
		a := h.answer()
		<-window
		var id, seen int64
		if _, err := fmt.Sscan(string(a.ID), &id); err != nil || a.Error != nil {
			t.Fatal(a)
		}
		if _, err := fmt.Sscanf(string(a.Result), `{"seen":%d}`, &seen); err != nil {
			t.Fatal(a)
		}
		switch {
		case id%2 == 0 && seen != id/2+1:
			inversions++ // the write was not the one after those sent before it
		case id%2 == 1 && seen < id/2+1:
			blind++ // the read does not see a write that was sent before it
		}
	}
	if inversions != 0 || blind != 0 {
		t.Fatalf("%d inversions, %d reads that missed a write", inversions, blind)
	}
	for i, got := range strings.Fields(h.fake.ran()) {
		if want := fmt.Sprintf("write%d", i); got != want {
			t.Fatalf("call %d is %s", i, got)
		}
	}
}

func TestReadsRunBesideAWrite(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/block"}`)
	h.waitFor("block")
	h.send(`{"jsonrpc":"2.0","id":2,"method":"test/write","params":{"n":1}}`) // does not wait for the read
	h.expect(`2 {"seen":1}`)
	h.send(`{"jsonrpc":"2.0","id":3,"method":"test/slow","params":{"n":2}}`)
	h.waitFor("slow")
	h.send(`{"jsonrpc":"2.0","id":4,"method":"test/count"}`) // waits for the write
	h.send(`{"jsonrpc":"2.0","id":5,"method":"no/such"}`)
	h.expect("5 -32601 method_not_found")
	h.fake.release()
	got := map[string]bool{h.answer().String(): true, h.answer().String(): true, h.answer().String(): true}
	if !got[`1 "released"`] || !got[`3 {"seen":2}`] || !got[`4 {"seen":2}`] {
		t.Fatalf("got %v", got)
	}
}

func TestPlacedWritesOverlap(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	for i := range 3 {
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"test/placed","params":{"n":%d}}`, i, i))
	}
	h.send(`{"jsonrpc":"2.0","id":9,"method":"test/count"}`)
	for range 3 {
		h.waitFor("placed") // all three hold their place before one is done
	}
	h.fake.release()
	last := ""
	for range 4 {
		if a := h.answer(); string(a.ID) == "9" {
			last = a.String()
		}
	}
	if last != `9 {"seen":3}` {
		t.Errorf("the read saw %s", last)
	}
}

func TestRawResultsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	// What a canonical encoder writes must reach the client byte for byte.
	canonical := `{"a":"é\u000b\"\\/<>&` + "\u2028" + `","n":[1e+30,4.5,0.002,1e-27]}`
	fake := &resultBackend{newFakeBackend(), func() (any, error) {
		return struct {
			Pack  json.RawMessage   `json:"pack"`
			Map   map[string]int    `json:"map"`
			Nil   []string          `json:"nil"`
			Zero  int               `json:"zero,omitempty"`
			Empty map[string]string `json:"empty"`
			Text  string            `json:"text"`
		}{Pack: json.RawMessage(canonical), Map: map[string]int{"b": 1, "a": 2, "c": 3}, Text: "bad\xff"}, nil
	}}
	in := strings.NewReader(framed(readyFrames) + framed(`{"jsonrpc":"2.0","id":1,"method":"test/bare"}`))
	var out lockedBuffer
	rpc.Serve(t.Context(), in, &out, rpc.Options{Backend: fake, Methods: fakeMethods()})
	want := `"result":{"pack":` + canonical + `,"map":{"a":2,"b":1,"c":3},"nil":[],"empty":{},"text":"bad` + "\ufffd" + `"}}`
	if !strings.Contains(out.String(), want) {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
}

type resultBackend struct {
	*fakeBackend
	result func() (any, error)
}

func (b *resultBackend) Handlers() map[string]rpc.Handler {
	return map[string]rpc.Handler{"test/bare": func(context.Context, json.RawMessage) (any, error) { return b.result() }}
}
