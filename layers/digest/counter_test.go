package digest_test

import (
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"hexapla/layers"
)

type oracle struct{ e *tiktoken.Tiktoken }

func (o oracle) Count(s string) int { return len(o.e.Encode(s, nil, nil)) }
func (o oracle) Name() string       { return "o200k_base" }
func (o oracle) Estimate() bool     { return false }

var load = sync.OnceValues(func() (*tiktoken.Tiktoken, error) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	return tiktoken.GetEncoding("o200k_base")
})

func counter(t testing.TB) layers.Counter {
	t.Helper()
	e, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return oracle{e}
}
