package tokens_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers/tokens"
)

// TestCalibrateFindsTheLine: a provider that counts by another factor and sends
// a system prompt is learned within 3 % from 20 prompts, though each prompt is
// off by up to 1.5 %.
func TestCalibrateFindsTheLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		factor   float64
		overhead int
	}{{1.4, 40_000}, {1, 0}, {0.9, 500}, {1.25, 3_000}} {
		random := rand.New(rand.NewPCG(1, uint64(c.overhead)))
		draw := func() tokens.Sample {
			counted := 500 + random.IntN(30_000)
			truth := float64(c.overhead) + c.factor*float64(counted)
			return tokens.Sample{Counted: counted, Prompt: int(truth * (0.985 + 0.03*random.Float64()))}
		}
		var samples []tokens.Sample
		for range 20 {
			samples = append(samples, draw())
		}
		fit := tokens.Calibrate(samples, 1.2)
		bad := 0
		for range 1000 {
			s := draw()
			if math.Abs(float64(fit.Predict(s.Counted)-s.Prompt)) > 0.03*float64(s.Prompt) {
				bad++
			}
			limit := 60_000
			if n := fit.Fitting(limit); n > 0 && fit.Predict(n) > limit {
				t.Fatalf("%d counted tokens are said to fit into %d", n, limit)
			}
		}
		if bad > 50 || fit.Band > 0.08 {
			t.Errorf("%+v: %d of 1000 are off by more than 3 %%: %+v", c, bad, fit)
		}
	}
}

// TestCalibrateAnySamples: whatever comes, a fit can be used, and few samples
// change nothing but the overhead.
func TestCalibrateAnySamples(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var samples []tokens.Sample
		for range rapid.IntRange(0, 100).Draw(t, "n") {
			samples = append(samples, tokens.Sample{
				Counted: rapid.IntRange(-5, 1<<40).Draw(t, "counted"), Prompt: rapid.IntRange(-5, 1<<40).Draw(t, "prompt"),
			})
		}
		fit := tokens.Calibrate(samples, 1.2)
		if !(fit.Factor >= 0.5 && fit.Factor <= 4) || fit.Overhead < 0 || !(fit.Band >= 0 && fit.Band <= 1) {
			t.Fatalf("%+v", fit)
		}
		if len(samples) < 4 && fit.Factor != 1.2 {
			t.Fatalf("%d samples: %+v", len(samples), fit)
		}
		if n := fit.Fitting(100_000); n < 0 {
			t.Fatalf("%d fit", n)
		}
	})
}
