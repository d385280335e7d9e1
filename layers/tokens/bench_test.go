package tokens_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hexapla/internal/shareddata"
	"hexapla/layers/tokens"
)

// A corpus of at most corpusBytes; tiktoken-go is measured on its first
// sampleBytes, since its speed does not depend on the length of ordinary text.
const (
	corpusBytes = 2 << 20
	sampleBytes = 128 << 10
)

func prose(b testing.TB) string {
	data := shareddata.Dir(b)
	var text strings.Builder
	for _, name := range []string{"longmemeval_s/longmemeval_s.dev.json", "locomo/locomo-0-4.json"} {
		raw, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			b.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			b.Fatal(err)
		}
		said(&text, v)
	}
	return text.String()
}

// said collects what was said in a decoded chat, in the order of the arrays.
func said(to *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			said(to, x)
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			if s, ok := v[key].(string); ok && (key == "content" || key == "text") {
				to.WriteString(s)
				to.WriteString("\n")
			} else {
				said(to, v[key])
			}
		}
	}
}

func goSource(b testing.TB) string {
	files, err := filepath.Glob(filepath.Join(runtime.GOROOT(), "src", "net", "http", "*.go"))
	if err != nil || len(files) == 0 {
		b.Skip("no Go sources here")
	}
	return concat(b, files)
}

func jsonLogs(b testing.TB) string {
	files, err := filepath.Glob(filepath.Join(shareddata.Dir(b), "claude-code", "2026-01-1*.jsonl"))
	if err != nil || len(files) == 0 {
		b.Skip("no recorded sessions here")
	}
	return concat(b, files)
}

func concat(b testing.TB, files []string) string {
	var text strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		text.Write(raw)
		if text.Len() > corpusBytes {
			break
		}
	}
	return text.String()
}

// BenchmarkCount reports MB/s on one core, and "xtiktoken": how many times as
// fast as tiktoken-go in the same run (design.md §8: ≥ 12, ≥ 50 MB/s).
func BenchmarkCount(b *testing.B) {
	corpora := []struct {
		name string
		text func(testing.TB) string
	}{{"prose", prose}, {"go", goSource}, {"json", jsonLogs}}
	for _, name := range names {
		for _, corpus := range corpora {
			b.Run(name+"/"+corpus.name, func(b *testing.B) {
				text := corpus.text(b)
				text = text[:min(len(text), corpusBytes)]
				e, slow := encoding(b, name), oracle(b, name)
				e.Count(text)
				sample := text[:min(len(text), sampleBytes)]
				var theirs, ours []float64
				for range 5 {
					start := time.Now()
					slow.EncodeOrdinary(sample)
					theirs = append(theirs, float64(len(sample))/time.Since(start).Seconds())
				}
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					start := time.Now()
					e.Count(text)
					ours = append(ours, float64(len(text))/time.Since(start).Seconds())
				}
				slices.Sort(theirs)
				slices.Sort(ours)
				b.ReportMetric(ours[len(ours)/2]/theirs[len(theirs)/2], "xtiktoken")
			})
		}
	}
}

// BenchmarkWorst counts one piece of 1 and 2 MiB of each kind that is slow in a
// quadratic merge; "t(2n)/t(n)" is to stay below 2.6 (design.md §8).
func BenchmarkWorst(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := make([]byte, 2<<20)
	for i := range letters {
		letters[i] = 'a' + byte(random.IntN(26))
	}
	kinds := []struct{ name, text string }{
		{"a", strings.Repeat("a", 2<<20)},
		{"spaces", strings.Repeat(" ", 2<<20)},
		{"newlines", strings.Repeat("\n", 2<<20)},
		{"underscores", strings.Repeat("_", 2<<20)},
		{"emoji", strings.Repeat("🎉", 2<<18)},
		{"letters", string(letters)},
		{"indent", strings.Repeat("\n"+strings.Repeat(" ", 2000), 2<<20/2001)},
		{"cjk", strings.Repeat("的一是不了人我在有他这为之大来以个中上们", 2<<20/60)},
	}
	for _, name := range names {
		e := encoding(b, name)
		for _, kind := range kinds {
			b.Run(name+"/"+kind.name, func(b *testing.B) {
				whole := kind.text
				half := whole[:len(whole)/8*4]
				e.Count("x")
				var one, two time.Duration
				for b.Loop() {
					start := time.Now()
					e.Count(half)
					middle := time.Now()
					e.Count(whole)
					one += middle.Sub(start)
					two += time.Since(middle)
				}
				b.ReportMetric(float64(one.Milliseconds())/float64(b.N), "ms/MiB")
				b.ReportMetric(float64(two)/float64(one), "t(2n)/t(n)")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkFirstUse builds an encoding and counts one word (≤ 30 ms).
func BenchmarkFirstUse(b *testing.B) {
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e, err := tokens.NewRegistry().Encoding(name)
				if err != nil {
					b.Fatal(err)
				}
				e.Count("hello")
			}
		})
	}
}
