package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

type innerForm struct {
	Role string  `json:"role"`
	Size int     `json:"size,omitempty"`
	Deep *string `json:"deep,omitempty"`
}

type embeddedForm struct {
	Base string `json:"base,omitempty"`
}

type wideForm struct {
	embeddedForm
	Session string            `json:"session"`
	Budget  innerForm         `json:"budget,omitempty"`
	Turns   []innerForm       `json:"turns,omitempty"`
	Names   []string          `json:"names,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`
	Any     any               `json:"any,omitempty"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Flag    bool              `json:"flag,omitempty"`
	Count   int64             `json:"count,omitempty"`
	Small   int8              `json:"small,omitempty"`
	Share   float64           `json:"share,omitempty"`
	Pointer *innerForm        `json:"pointer,omitempty"`
	Hidden  string            `json:"-"`
}

// decodeWide runs the typed decoder and returns what the handler got.
func decodeWide(raw string) (*wideForm, error) {
	var got *wideForm
	h := rpc.Typed(func(_ context.Context, p *wideForm) (*struct{}, error) { got = p; return nil, nil })
	_, err := h(context.Background(), json.RawMessage(raw))
	return got, err
}

func TestV1_ParametersThatDoNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ raw, path, message string }{
		"absent":             {``, "session", "is missing"},
		"null":               {`null`, "session", "is missing"},
		"empty":              {`{}`, "session", "is missing"},
		"array":              {`[]`, "params", "must be an object"},
		"string":             {`"x"`, "params", "must be an object"},
		"required null":      {`{"session":null}`, "session", "must not be null"},
		"number for string":  {`{"session":5}`, "session", "must be a string"},
		"string for number":  {`{"session":"s","count":"5"}`, "count", "must be a number"},
		"fraction":           {`{"session":"s","count":1.5}`, "count", "must be a whole number"},
		"out of range":       {`{"session":"s","count":9223372036854775808}`, "count", "is out of range"},
		"small out of range": {`{"session":"s","small":128}`, "small", "is out of range"},
		"float out of range": {`{"session":"s","share":1e999}`, "share", "is out of range"},
		"string for bool":    {`{"session":"s","flag":"true"}`, "flag", "must be true or false"},
		"object for array":   {`{"session":"s","turns":{}}`, "turns", "must be an array"},
		"in an element":      {`{"session":"s","turns":[{"role":"a"},{"role":"b"},{"role":7}]}`, "turns[2].role", "must be a string"},
		"missing in element": {`{"session":"s","turns":[{"role":"a"},{}]}`, "turns[1].role", "is missing"},
		"element":            {`{"session":"s","names":["a",1]}`, "names[1]", "must be a string"},
		"null element":       {`{"session":"s","names":[null]}`, "names[0]", "must be a string"},
		"in a map":           {`{"session":"s","meta":{"k":1}}`, "meta.k", "must be a string"},
		"in an object":       {`{"session":"s","budget":{"role":"r","size":"1"}}`, "budget.size", "must be a number"},
		"behind a pointer":   {`{"session":"s","pointer":{}}`, "pointer.role", "is missing"},
		"not JSON":           {`{"session":"s"`, "params", "not JSON"},
		"not JSON inside":    {`{"session":"s","turns":[{"role":"a"},{"role":x}]}`, "turns[1].role", "not JSON"},
		"more than one":      {`{"session":"s"}{}`, "params", "more than one"},
		"of another case":    {`{"Session":"s"}`, "session", "is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decodeWide(c.raw)
			var e *rpc.Error
			if !errors.As(err, &e) || e.Code != wire.CodeInvalidParams || e.Kind() != wire.KindInvalidParams {
				t.Fatalf("got %v", err)
			}
			if e.Data.Path != c.path || !strings.Contains(e.Message, c.message) || !strings.HasPrefix(e.Message, c.path+": ") {
				t.Errorf("got %q at %q; want %q at %q", e.Message, e.Data.Path, c.message, c.path)
			}
		})
	}
}

func TestV1_OnTheWire(t *testing.T) {
	t.Parallel()
	h := ready(t, nil)
	for _, params := range []string{``, `,"params":null`, `,"params":{}`, `,"params":{"text":5}`, `,"params":{"text":null}`} {
		h.send(`{"jsonrpc":"2.0","id":1,"method":"test/echo"` + params + `}`)
		a := h.answer()
		if a.String() != "1 -32602 invalid_params" || a.Error.Data.Path != "text" || a.Error.Data.Committed != wire.CommittedNo {
			t.Errorf("%s: got %v %+v", params, a, a.Error)
		}
	}
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/echo","params":["x"]}`)
	if a := h.answer(); a.Error == nil || a.Error.Data.Path != "params" {
		t.Errorf("got %v", a)
	}
	h.send(`{"jsonrpc":"2.0","id":1,"method":"test/bare"}`) // a method without required fields
	h.expect(`1 {}`)
	h.alive()
}

func TestV1_TwoRequiredFieldsMissing(t *testing.T) {
	t.Parallel()
	h := rpc.Typed(func(context.Context, *wire.SearchQueryParams) (*struct{}, error) { return nil, nil })
	_, err := h(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "session: is missing, and so is query") {
		t.Errorf("got %v", err)
	}
}

func TestV2_UnknownFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	got, err := decodeWide(`{"new":{"a":[{"b":null}]},"session":"s","turns":[{"role":"r","later":1}],"Hidden":"x","-":"y"}`)
	if err != nil || got.Session != "s" || len(got.Turns) != 1 || got.Hidden != "" {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestTypedAcceptsWhatFits(t *testing.T) {
	t.Parallel()
	deep := "d"
	got, err := decodeWide(` {"base":"b","session":"a\ud83d\ude00\n","budget":{"role":"r","size":5.0},"turns":[],"names":["x","y"],
		"meta":{"k":"v"},"any":{"n":1.5,"big":12345678901234567890,"list":[true,null,"s"]},"raw":{"keep": "as is"},"flag":true,
		"count":-9223372036854775808,"small":-128,"share":0.25,"pointer":{"role":"p","deep":"d"}} `)
	want := &wideForm{
		embeddedForm: embeddedForm{"b"}, Session: "a😀\n", Budget: innerForm{Role: "r", Size: 5}, Turns: []innerForm{}, Names: []string{"x", "y"},
		Meta: map[string]string{"k": "v"}, Any: map[string]any{"n": 1.5, "big": json.Number("12345678901234567890"), "list": []any{true, nil, "s"}},
		Raw: json.RawMessage(`{"keep": "as is"}`), Flag: true, Count: -1 << 63, Small: -128, Share: 0.25, Pointer: &innerForm{Role: "p", Deep: &deep},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	got, err = decodeWide(`{"session":"s","turns":null,"pointer":null,"count":null,"any":null,"raw":null,"meta":null,"flag":null}`)
	if err != nil || !reflect.DeepEqual(got, &wideForm{Session: "s", Raw: json.RawMessage("null")}) {
		t.Errorf("null for optional fields: %+v, %v", got, err)
	}
}

func TestTypedRefusesMembersTwice(t *testing.T) {
	t.Parallel()
	if _, err := decodeWide(`{"session":"s","session":"t"}`); !rpc.IsKind(err, wire.KindDuplicateKey) {
		t.Errorf("got %v", err)
	}
}

func TestTypedAgainstEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := wideForm{
			Session: rapid.String().Draw(t, "session"),
			Names:   rapid.SliceOf(rapid.String()).Draw(t, "names"),
			Meta:    rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "meta"),
			Count:   rapid.Int64().Draw(t, "count"),
			Small:   rapid.Int8().Draw(t, "small"),
			Share:   rapid.Float64Range(-1e300, 1e300).Draw(t, "share"),
			Flag:    rapid.Bool().Draw(t, "flag"),
			Turns: rapid.SliceOf(rapid.Custom(func(t *rapid.T) innerForm {
				return innerForm{Role: rapid.String().Draw(t, "role"), Size: rapid.Int().Draw(t, "size")}
			})).Draw(t, "turns"),
		}
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var want wideForm
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		got, err := decodeWide(string(raw))
		if err != nil || !reflect.DeepEqual(*got, want) {
			t.Fatalf("%s\ngot  %+v, %v\nwant %+v", raw, got, err, want)
		}
	})
}

func TestTypedTakesEveryMethodOfTheTable(t *testing.T) {
	t.Parallel()
	// The example of a wire type, encoded, must decode: no field has a type
	// that the decoder does not know.
	h := rpc.Typed(func(_ context.Context, p *wire.ConversationRecordParams) (*wire.ConversationRecordParams, error) {
		return p, nil
	})
	raw := `{"session":"s1","turns":[{"role":"assistant","text":"t","toolCalls":[{"id":"1","name":"read","input":{"a":[1]}}],` +
		`"toolResults":[{"callId":"1","content":"c","blob":{"sha256":"00","size":3,"mime":"text/plain"}}]}],"done":true,` +
		`"housekeeping":{"llm":{"currentContext":{"overallNarrative":"n","currentObjective":"o","keyAchievements":[],"activeEntities":{"files":[],"functions":[],"concepts":[]},"contextualState":"","nextSteps":[]}},"user":{}}}`
	result, err := h(t.Context(), json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	got := result.(*wire.ConversationRecordParams)
	if got.Turns[0].ToolCalls[0].Input == nil || got.Turns[0].ToolResults[0].Blob.Size != 3 || got.Housekeeping.LLM.CurrentContext.OverallNarrative != "n" {
		t.Errorf("got %+v", got)
	}
}

func FuzzTyped(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"session":"s","turns":[{"role":"r","size":1}],"any":[1,{"a":null}],"meta":{"a":"b"},"count":5.0}`, `{"session":"\ud83d","raw":{}}`, `[`, `{"session":"s","session":"t"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := decodeWide(string(raw))
		if err != nil {
			var e *rpc.Error
			if !errors.As(err, &e) || e.Data.Path == "" || e.Code != wire.CodeInvalidParams {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		// What is accepted means the same to another decoder that, as ours, tells
		// names by their case. Numbers written as 5.0 are ours alone.
		var want wideForm
		if len(raw) == 0 || jsonv2.Unmarshal(raw, &want) != nil {
			return
		}
		if got.Session != want.Session || !reflect.DeepEqual(got.Names, want.Names) && len(got.Names)+len(want.Names) > 0 || got.Count != want.Count || got.Share != want.Share {
			t.Fatalf("%q:\ngot  %+v\nwant %+v", raw, got, want)
		}
	})
}
