package vectors_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers/terms"
	"hexapla/retrieval/vectors"
)

func builtin(t testing.TB) *vectors.Model {
	t.Helper()
	m, err := vectors.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// vector is the direction of a text.
func vector(m *vectors.Model, text string) (vectors.Vector, bool) {
	var s vectors.Sum
	for _, term := range terms.Analyze(text) {
		m.Add(&s, []byte(term))
	}
	return s.Vector()
}

// TestB8_NearInMeaning: texts without a word in common are nearer when they
// speak of the same thing, and the figures are the same on every machine.
func TestB8_NearInMeaning(t *testing.T) {
	t.Parallel()
	m := builtin(t)
	if m.Terms() < 25_000 {
		t.Errorf("%d terms", m.Terms())
	}
	for _, c := range []struct{ query, near, far string }{
		{"dog", "puppies and cats", "interest rates"},
		{"When is the violin lesson?", "my cello teacher practises on Monday", "the car needs new tyres"},
		{"doctor's appointment", "she went to the hospital", "the server compiles code"},
	} {
		query, _ := vector(m, c.query)
		near, ok := vector(m, c.near)
		far, ok2 := vector(m, c.far)
		if !ok || !ok2 || vectors.Cosine(query, near) <= vectors.Cosine(query, far)+0.1 {
			t.Errorf("%s: %f near, %f far", c.query, vectors.Cosine(query, near), vectors.Cosine(query, far))
		}
	}
	if _, ok := vector(m, "zzxqy qqqzzv"); ok {
		t.Error("unknown words have a direction")
	}
}

// TestVectorLaws: the order of terms does not matter, and a cosine is
// symmetric, in bounds, and 1 with itself.
func TestVectorLaws(t *testing.T) {
	t.Parallel()
	m := builtin(t)
	words := []string{"dog", "cat", "violin", "monday", "hospit", "server", "zzxqy", "paint", "money"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) ([]string, vectors.Vector, bool) {
			chosen := rapid.SliceOf(rapid.SampledFrom(words)).Draw(t, label)
			var s vectors.Sum
			for _, w := range chosen {
				m.Add(&s, []byte(w))
			}
			v, ok := s.Vector()
			return chosen, v, ok
		}
		chosen, a, ok := draw("a")
		slices.Reverse(chosen)
		var s vectors.Sum
		for _, w := range chosen {
			m.Add(&s, []byte(w))
		}
		if again, ok2 := s.Vector(); !bytes.Equal(again, a) || ok != ok2 {
			t.Fatal("the order of terms matters")
		}
		_, b, _ := draw("b")
		x := vectors.Cosine(a, b)
		if x != vectors.Cosine(b, a) || x < -1 || x > 1 || ok && vectors.Cosine(a, a) != 1 {
			t.Fatalf("cosine %f", x)
		}
	})
}

// TestEncodeDecode: what was encoded is found, and damaged bytes are refused.
func TestEncodeDecode(t *testing.T) {
	t.Parallel()
	values := func(at int) []float64 {
		v := make([]float64, vectors.Dimensions)
		v[at] = 1
		return v
	}
	all := []vectors.Term{{Name: "north", Values: values(0)}, {Name: "south", Values: values(1)}}
	slices.SortFunc(all, func(a, b vectors.Term) int { return vectors.Compare(a.Name, b.Name) })
	b := vectors.Encode(all)
	m, err := vectors.Decode(b)
	if err != nil || m.Terms() != 2 {
		t.Fatal(err)
	}
	north, ok := vector(m, "north")
	south, ok2 := vector(m, "south")
	if !ok || !ok2 || vectors.Cosine(north, south) != 0 || north[0] != 127 {
		t.Errorf("%v %v", north, south)
	}
	swapped := vectors.Encode([]vectors.Term{all[1], all[0]})
	for name, damaged := range map[string][]byte{
		"empty": nil, "short": b[:len(b)-1], "long": append(bytes.Clone(b), 0), "order": swapped, "magic": append([]byte("X"), b[1:]...),
	} {
		if _, err := vectors.Decode(damaged); !errors.Is(err, vectors.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(vectors.Encode(nil))
	f.Add(vectors.Encode([]vectors.Term{{Name: "a", Values: make([]float64, vectors.Dimensions)}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := vectors.Decode(b)
		if err != nil {
			return
		}
		var s vectors.Sum
		m.Add(&s, []byte("a"))
		s.Vector()
	})
}

func BenchmarkEmbedTurn(b *testing.B) {
	m := builtin(b)
	words := terms.Analyze("I painted the harbour wall in turquoise yesterday evening, and the violin lessons start on Monday with Mrs Keller")
	for b.Loop() {
		var s vectors.Sum
		for _, w := range words {
			m.Add(&s, []byte(w))
		}
		s.Vector()
	}
}
