package minilm

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestB8_KernelsAgree: the vectorised kernel gives the bits that the plain one
// gives, for any sizes and strides.
func TestB8_KernelsAgree(t *testing.T) {
	t.Parallel()
	fast, vectorised := fastKernel()
	if !vectorised {
		t.Log("this machine has no quick kernel")
	}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(0, 40).Draw(t, "k")
		xStride := k + rapid.IntRange(0, 5).Draw(t, "xGap")
		yStride := panelColumns + rapid.IntRange(0, 9).Draw(t, "yGap")
		seed := rapid.Uint32().Draw(t, "seed")
		numbers := func(n int) []float32 {
			out := make([]float32, n)
			for i := range out {
				seed = seed*1664525 + 1013904223
				out[i] = float32(int32(seed)) / (1 << 28)
			}
			return out
		}
		x, w, bias := numbers(blockRows*xStride+1), numbers(k*panelColumns+1), numbers(panelColumns)
		want, got := numbers(blockRows*yStride), make([]float32, blockRows*yStride)
		copy(got, want)
		plainKernel(x, w, bias, want, k, xStride, yStride)
		fast(x, w, bias, got, k, xStride, yStride)
		for i := range want {
			if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
				t.Fatalf("number %d: %v, plain %v", i, got[i], want[i])
			}
		}
	})
}

// TestFunctions: exponentials and the activation are near the standard
// library's.
func TestFunctions(t *testing.T) {
	t.Parallel()
	f := newFunctions()
	for x := -59.9; x <= 0; x += 0.0137 {
		if want := math.Exp(x); math.Abs(f.exp(x)-want) > 1e-9*want {
			t.Fatalf("exp(%v) = %v, not %v", x, f.exp(x), want)
		}
	}
	for x := float32(-12); x <= 12; x += 0.00137 {
		row := []float32{x}
		f.activate(row)
		want := float64(x) * 0.5 * math.Erfc(-float64(x)/math.Sqrt2)
		if math.Abs(float64(row[0])-want) > 2e-6 {
			t.Fatalf("gelu(%v) = %v, not %v", x, row[0], want)
		}
	}
}

func BenchmarkKernel(b *testing.B) {
	fast, _ := fastKernel()
	for name, k := range map[string]kernel{"fast": fast, "plain": plainKernel} {
		b.Run(name, func(b *testing.B) {
			x, w, bias, y := make([]float32, 6*384), make([]float32, 384*16), make([]float32, 16), make([]float32, 6*16)
			for b.Loop() {
				k(x, w, bias, y, 384, 384, 16)
			}
			b.ReportMetric(float64(2*6*16*384*b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
