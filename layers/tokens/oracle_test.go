package tokens_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"hexapla/layers/tokens"
)

var names = []string{tokens.O200k, tokens.Cl100k}

// oracle returns tiktoken-go's encoding. It is built once: that takes 0.2 s.
func oracle(t testing.TB, name string) *tiktoken.Tiktoken {
	t.Helper()
	enc, err := oracles[name]()
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

var oracles = map[string]func() (*tiktoken.Tiktoken, error){
	tokens.O200k:  sync.OnceValues(func() (*tiktoken.Tiktoken, error) { return load(tokens.O200k) }),
	tokens.Cl100k: sync.OnceValues(func() (*tiktoken.Tiktoken, error) { return load(tokens.Cl100k) }),
}

var useOffline = sync.OnceFunc(func() { tiktoken.SetBpeLoader(loader.NewOfflineLoader()) })

func load(name string) (*tiktoken.Tiktoken, error) {
	useOffline()
	return tiktoken.GetEncoding(name)
}

var registry = sync.OnceValue(tokens.NewRegistry)

func encoding(t testing.TB, name string) *tokens.Encoding {
	t.Helper()
	e, err := registry().Encoding(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// same fails the test unless s has the ids, the count and the round trip that
// tiktoken-go says. s is to be short of what tiktoken-go takes long for.
func same(t testing.TB, name, s string) {
	t.Helper()
	if err := differs(t, name, s); err != "" {
		t.Fatal(err)
	}
}

// differs says in what this package differs from tiktoken-go on s, or nothing.
func differs(t testing.TB, name, s string) string {
	e := encoding(t, name)
	want := oracle(t, name).EncodeOrdinary(s)
	got := e.Encode(s)
	equal := len(got) == len(want)
	for i := 0; equal && i < len(got); i++ {
		equal = int(got[i]) == want[i]
	}
	if !equal {
		return fmt.Sprintf("%s: ids of %s\n got %v\nwant %v", name, quote(s), clip(got), clip(want))
	}
	if n := e.Count(s); n != len(want) {
		return fmt.Sprintf("%s: count of %s = %d, want %d", name, quote(s), n, len(want))
	}
	back, err := e.Decode(got)
	if err != nil {
		return err.Error()
	}
	if utf8.ValidString(s) && back != s {
		return fmt.Sprintf("%s: %s decodes to %s", name, quote(s), quote(back))
	}
	return ""
}

func quote(s string) string {
	if len(s) > 300 {
		return strconv.QuoteToASCII(s[:300]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

func clip[T any](x []T) []T { return x[:min(len(x), 60)] }
