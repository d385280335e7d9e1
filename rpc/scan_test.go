package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// scanWhole scans one value with nothing but white space round it.
func scanWhole(text []byte, limit int) (*scanner, bool) {
	s := &scanner{text: text, limit: limit}
	end, err := s.value(0)
	return s, err == nil && s.space(end) == len(text)
}

// checkScanner compares the scanner with two other readers of JSON.
func checkScanner(t *testing.T, text []byte) {
	text, _ = normalise(bytes.Clone(text))
	if !utf8.Valid(text) {
		t.Fatalf("normalised text is not UTF-8: %q", text)
	}
	s, ok := scanWhole(text, 100)
	if want := json.Valid(text); ok != want {
		t.Fatalf("%q: valid is %v, encoding/json says %v", text, ok, want)
	}
	if !ok || s.tooDeep {
		return
	}
	var twice bool
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if _, err := d.ReadValue(); err != nil {
		if twice = errors.Is(err, jsontext.ErrDuplicateName); !twice {
			t.Fatalf("%q: valid, but jsontext says %v", text, err)
		}
	}
	if got := s.duplicate != ""; got != twice {
		t.Fatalf("%q: duplicate is %q, jsontext says %v", text, s.duplicate, twice)
	}
	if len(text) > 0 && bytes.TrimSpace(text)[0] == '{' {
		e := &scanner{text: text, limit: 100}
		if _, end, err := e.envelope(e.space(0)); err != nil || e.space(end) != len(text) {
			t.Fatalf("%q: the envelope is refused: %v", text, err)
		}
	}
}

var scanSeeds = []string{
	`{}`, `[]`, ` {"a":[1,-0.5e+10,"x\u00e9\ud83d\ude00",true,false,null]} `, `{"a":1,"a":2}`, `{"":"","":{}}`, `{"a":1,"\u0061":2}`, `[1,]`, `{"a":1,}`, `{,}`, `01`, `-`, `1.`, `1e`,
	`"\ud83d"`, `"\x"`, "\"\x00\"", "\"\xff\"", `[[[[[]]]]]`, `"\\ud800"`, `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, `nul`, `truex`, `"\u00`, "\ufeff{}",
}

func TestScannerAgainstOtherReaders(t *testing.T) {
	t.Parallel()
	for _, seed := range scanSeeds {
		checkScanner(t, []byte(seed))
		// Every prefix, too: none may pass, panic or read beyond its end.
		for cut := range len(seed) {
			checkScanner(t, []byte(seed[:cut]))
		}
	}
}

func TestScannerDepth(t *testing.T) {
	t.Parallel()
	for depth := 1; depth < 400; depth += 7 {
		for _, pair := range []string{"[]", "{}"} {
			text := strings.Repeat(pair[:1], depth) + strings.Repeat(pair[1:], depth)
			if pair == "{}" {
				text = strings.Repeat(`{"a":`, depth-1) + "{}" + strings.Repeat("}", depth-1)
			}
			s, ok := scanWhole([]byte(text), 256)
			if !ok || s.tooDeep != (depth > 256) {
				t.Errorf("%s at %d: ok %v, too deep %v", pair, depth, ok, s.tooDeep)
			}
		}
	}
}

func TestPeekID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":12,"method":"x","params":{"text":"cut he`: "12",
		`{"id":"a\"b","par`:              `a"b`,
		`{"method":"x","id":12`:          "null", // the number may go on
		`{"params":{"id":5},"id":7,"x":`: "7",
		`{"params":{"id":5`:              "null",
		`[{"id":1}]`:                     "null",
		``:                               "null",
		`{"id":1.5,"x":1`:                "null",
	} {
		if got, _ := peekID([]byte(text)); got != mustID(want) {
			t.Errorf("%s: got %v, want %s", text, got, want)
		}
	}
}

func mustID(text string) jsonrpc2.ID {
	if text == "null" {
		return jsonrpc2.ID{}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return jsonrpc2.NewNumberID(n)
	}
	return jsonrpc2.NewStringID(text)
}

func FuzzScanner(f *testing.F) {
	for _, seed := range scanSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(checkScanner)
}
