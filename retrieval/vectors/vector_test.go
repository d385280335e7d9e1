package vectors

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestB8_DotsAgree: the quick product is the plain one, for any vectors.
func TestB8_DotsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Byte(), len(a), len(a)).Draw(t, "b")
		if got, want := Dot(a, b), plainDot(a, b); got != want {
			t.Fatalf("%d, plain %d", got, want)
		}
	})
	low := Vector(bytes.Repeat([]byte{0x81}, 384))
	if got := Dot(low, low); got != 384*127*127 {
		t.Errorf("%d", got)
	}
}

// TestQuantise: a direction does not depend on the length, and nothing gives
// none.
func TestQuantise(t *testing.T) {
	t.Parallel()
	v, ok := Quantise([]float32{0.5, -0.25, 0})
	if !ok || !bytes.Equal(v, []byte{127, 0xC0, 0}) {
		t.Errorf("%v", v)
	}
	for _, none := range [][]float32{nil, {0, 0}, {1, float32(math.NaN())}, {float32(math.Inf(1)), 1}} {
		if v, ok := Quantise(none); ok {
			t.Errorf("%v: %v", none, v)
		}
	}
}

// BenchmarkHundredThousand is one pass over 100,000 vectors of 384 numbers.
func BenchmarkHundredThousand(b *testing.B) {
	const n, dimensions = 100_000, 384
	all := make([]byte, n*dimensions)
	seed := uint32(1)
	for i := range all {
		seed = seed*1664525 + 1013904223
		all[i] = byte(int8(int32(seed>>24)%255 - 127))
	}
	for name, dot := range map[string]func(a, b Vector) int32{"quick": Dot, "plain": plainDot} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				most := int32(0)
				for i := range n {
					most = max(most, dot(all[:dimensions], all[i*dimensions:][:dimensions]))
				}
			}
		})
	}
}
