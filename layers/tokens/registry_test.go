package tokens_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/tokens"
)

func TestForModel(t *testing.T) {
	t.Parallel()
	r := tokens.NewRegistry()
	for model, want := range map[string]string{
		"": "o200k_base", "gpt-4o": "o200k_base", "gpt-4o-mini-2024-07-18": "o200k_base", "GPT-4.1-nano": "o200k_base", "gpt-4.5-preview": "o200k_base",
		"gpt-5": "o200k_base", "gpt-5.1-codex": "o200k_base", "gpt-6": "o200k_base", "gpt-oss-120b": "o200k_base", "o1": "o200k_base", "o3-mini": "o200k_base", "o4-mini": "o200k_base",
		"chatgpt-4o-latest": "o200k_base", "codex-mini-latest": "o200k_base", "openai/gpt-5": "o200k_base", "ft:gpt-4o-mini:org": "o200k_base",
		"gpt-4": "cl100k_base", "gpt-4-0613": "cl100k_base", "gpt-4-32k": "cl100k_base", "gpt-3.5-turbo": "cl100k_base", "gpt-3.5-turbo-16k": "cl100k_base", "gpt-35-turbo": "cl100k_base",
		"text-embedding-3-small": "cl100k_base", "text-embedding-ada-002": "cl100k_base", "ft:gpt-3.5-turbo:org": "cl100k_base",
		"claude-opus-4-5": "estimate:o200k_base", "anthropic/claude-sonnet-4": "estimate:o200k_base", "gemini-2.5-pro": "estimate:o200k_base",
		"llama-3": "estimate:o200k_base", "gpt-3": "estimate:o200k_base", "gpt-2": "estimate:o200k_base", "text-davinci-003": "estimate:o200k_base", "opus": "estimate:o200k_base", "o": "estimate:o200k_base", "/": "estimate:o200k_base",
	} {
		c := r.ForModel(model)
		if c.Name() != want || c.Estimate() != strings.HasPrefix(want, "estimate:") {
			t.Errorf("%q: %s, estimate %v; want %s", model, c.Name(), c.Estimate(), want)
		}
		if num, den := tokens.Factor(c); (num != 1 || den != 1) != c.Estimate() {
			t.Errorf("%q: factor %d/%d", model, num, den)
		}
	}
	if _, err := r.Encoding("p50k_base"); err == nil {
		t.Error("an encoding that is not carried")
	}
}

// A factor never touches a count, so estimates add up as exact counts do.
func TestEstimatesAddUp(t *testing.T) {
	t.Parallel()
	r := registry()
	exact := encoding(t, tokens.O200k)
	for _, model := range []string{"claude-3", "gemini-pro", "other"} {
		c := r.ForModel(model)
		if got, want := c.Count("Some text.\n")+c.Count("More of it.\n"), c.Count("Some text.\nMore of it.\n"); got != want {
			t.Errorf("%s: %d and %d", model, got, want)
		}
		if c.Count("Some text.\n") != exact.Count("Some text.\n") {
			t.Errorf("%s: not the base encoding's count", model)
		}
	}
}

func TestModelTokens(t *testing.T) {
	t.Parallel()
	c := registry().ForModel("claude-opus-4")
	if got := tokens.ToModel(c, 1000); got != 1200 {
		t.Errorf("ToModel %d", got)
	}
	if got := tokens.FromModel(c, 8000); got != 6666 {
		t.Errorf("FromModel %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		num, den := rapid.IntRange(1, 5000).Draw(t, "num"), rapid.IntRange(1, 5000).Draw(t, "den")
		c := tokens.Calibrated(registry().ForModel("claude"), num, den)
		limit := rapid.IntRange(-5, 1<<40).Draw(t, "limit")
		n := tokens.FromModel(c, limit)
		if n < 0 || tokens.ToModel(c, n) > max(limit, 0) {
			t.Fatalf("%d/%d: %d tokens are %d, over %d", num, den, n, tokens.ToModel(c, n), limit)
		}
		if limit >= 0 && tokens.ToModel(c, n+1) <= limit {
			t.Fatalf("%d/%d: %d would fit too in %d", num, den, n+1, limit)
		}
	})
}

func TestCalibrated(t *testing.T) {
	t.Parallel()
	r := registry()
	for _, c := range []layers.Counter{r.ForModel("claude"), r.ForModel("gpt-4"), r.Cached(r.ForModel("gemini"))} {
		twice := tokens.Calibrated(tokens.Calibrated(c, 3, 2), 7, 5)
		if num, den := tokens.Factor(twice); num != 7 || den != 5 {
			t.Errorf("%s: factor %d/%d", c.Name(), num, den)
		}
		if twice.Name() != c.Name() || twice.Estimate() != c.Estimate() || twice.Count("a b c") != c.Count("a b c") {
			t.Errorf("%s: more than the factor changed", c.Name())
		}
		if num, den := tokens.Factor(r.Cached(twice)); num != 7 || den != 5 {
			t.Errorf("%s: cached, factor %d/%d", c.Name(), num, den)
		}
		for _, bad := range [][2]int{{0, 1}, {1, 0}, {-1, 2}, {1, -2}} {
			if tokens.Calibrated(c, bad[0], bad[1]) != c {
				t.Errorf("%s: factor %v was taken", c.Name(), bad)
			}
		}
	}
}

func TestCachedCountsTheSame(t *testing.T) {
	t.Parallel()
	r := tokens.NewRegistry()
	for _, name := range names {
		e, err := r.Encoding(name)
		if err != nil {
			t.Fatal(err)
		}
		c := r.Cached(e)
		if c.Name() != name || c.Estimate() || r.Cached(c) != c {
			t.Errorf("%s: %s", name, c.Name())
		}
		// More texts than are remembered, each asked for again at once and
		// later, when some are forgotten.
		text := func(i int) string { return strings.Repeat(fmt.Sprintf("line %d of a text\n", i), 10) }
		const texts = 20000
		for i := range texts {
			want := e.Count(text(i))
			if i%100 == 0 {
				want = encoding(t, name).Count(text(i))
			}
			if a, b := c.Count(text(i)), c.Count(text(i)); a != want || b != want {
				t.Fatalf("%s: text %d counts %d and %d, want %d", name, i, a, b, want)
			}
		}
		for i := 0; i < texts; i += 501 {
			if got, want := c.Count(text(i)), e.Count(text(i)); got != want {
				t.Fatalf("%s: text %d counts %d, want %d", name, i, got, want)
			}
		}
	}
	other := perByte{new(int)}
	if r.Cached(other) != layers.Counter(other) {
		t.Error("a counter of another package is cached")
	}
}

// Many goroutines on a registry in which nothing is built yet.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	r := tokens.NewRegistry()
	var group sync.WaitGroup
	var wrong atomic.Int64
	for worker := range 8 {
		group.Go(func() {
			c := r.Cached(r.ForModel([]string{"gpt-5", "gpt-4", "claude"}[worker%3]))
			want := encoding(t, strings.TrimPrefix(c.Name(), "estimate:"))
			for i := range 300 {
				s := strings.Repeat(fmt.Sprintf("worker text %d, ", i%50), 1+i%20)
				if c.Count(s) != want.Count(s) || !strings.HasPrefix(s, tokens.Prefix(c, s, 5)) {
					wrong.Add(1)
				}
			}
		})
	}
	group.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d counts differ", n)
	}
}

func BenchmarkCached(b *testing.B) {
	r := registry()
	c := r.Cached(r.ForModel(""))
	for _, size := range []int{200, 2000, 20000} {
		s := strings.Repeat("x y z. ", size/7)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				c.Count(s)
			}
		})
	}
}
