package minilm

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hexapla/retrieval/minilm/minilmtest"
)

func openDrawn(t testing.TB) *Model {
	t.Helper()
	m, err := Open(minilmtest.Write(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestB8_SameBits: a model of drawn numbers gives the same bits on every machine,
// whichever kernel it has and from however many goroutines it is asked.
func TestB8_SameBits(t *testing.T) {
	t.Parallel()
	m := openDrawn(t)
	texts := []string{"", "dog", "Does the doctor look at my knee on Monday?", strings.Repeat("the violin lesson was late. ", 40)}
	sum := func() string {
		h := sha256.New()
		for _, text := range texts {
			v, err := m.Embed(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			length := 0.0
			for _, x := range v {
				length += float64(x) * float64(x)
			}
			if math.Abs(length-1) > 1e-5 {
				t.Errorf("%.20s: length %f", text, length)
			}
			if err := binary.Write(h, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
		return hex.EncodeToString(h.Sum(nil)[:8])
	}
	const want = "fa624355938bea36"
	if got := sum(); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if !m.Vectorised() {
		return
	}
	vectors := make([][]float32, 4)
	var wait sync.WaitGroup
	for i := range vectors {
		wait.Go(func() { vectors[i], _ = m.Embed(context.Background(), texts[i%2+1]) })
	}
	wait.Wait()
	m.kernel = plainKernel
	for i, v := range vectors {
		plain, err := m.Embed(t.Context(), texts[i%2+1])
		if err != nil {
			t.Fatal(err)
		}
		for c := range v {
			if v[c] != plain[c] {
				t.Fatalf("text %d, number %d: %v, plain %v", i, c, v[c], plain[c])
			}
		}
	}
}

// TestOpenRefuses: what is not the model is refused as that, and nothing else.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	if _, err := Open(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("empty folder: %v", err)
	}
	dir := minilmtest.Write(t, 1)
	weights := filepath.Join(dir, "model.safetensors")
	whole, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	vocabulary, err := os.ReadFile(filepath.Join(dir, "vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	try := func(name string, content, words []byte) {
		for path, bytes := range map[string][]byte{weights: content, filepath.Join(dir, "vocab.txt"): words} {
			if err := os.WriteFile(path, bytes, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if m, err := Open(dir); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				m.Close()
			}
		}
	}
	try("cut weights", whole[:len(whole)-1], vocabulary)
	try("no weights", nil, vocabulary)
	try("no header", whole[8:], vocabulary)
	try("another vocabulary", whole, append(vocabulary, "more\n"...))
	try("no special tokens", whole, []byte("a\nb\n"))
}

// TestEmbedEnds: a context that has ended ends the work.
func TestEmbedEnds(t *testing.T) {
	t.Parallel()
	m := openDrawn(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Embed(ctx, "dog"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestB8_Reference compares with published vectors of the real model. Their
// texts are cut at 512 tokens without the one that marks the end, and long, so
// that everyday only a few are taken (HEXAPLA_REFERENCE_TEXTS).
func TestB8_Reference(t *testing.T) {
	t.Parallel()
	const length = 512
	model, reference := minilmtest.Real(t)
	m, err := Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	raw, err := os.ReadFile(filepath.Join(reference, "embeddings.bin"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(reference, "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	texts := 6
	if s := os.Getenv("HEXAPLA_REFERENCE_TEXTS"); s != "" {
		if texts, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	records := bufio.NewScanner(file)
	records.Buffer(nil, 16<<20)
	all := len(raw) / (4 * Dimensions)
	worst, n := 1.0, 0
	for i := 0; records.Scan(); i++ {
		if i*texts/all == (i-1)*texts/all && i > 0 {
			continue
		}
		var record struct {
			Content string `json:"content"`
		}
		if err := json.Unmarshal(records.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		ids := m.tokens.tokens(record.Content, length+1)
		got, err := m.embed(t.Context(), ids[:min(len(ids), length)])
		if err != nil {
			t.Fatal(err)
		}
		product, square := 0.0, 0.0
		for c, x := range got {
			y := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*(i*Dimensions+c):])))
			product += float64(x) * y
			square += y * y
		}
		cosine := product / math.Sqrt(square)
		if worst = min(worst, cosine); cosine < 0.9999 {
			t.Errorf("text %d: cosine %f", i, cosine)
		}
		n++
	}
	t.Logf("%d of %d texts, cosine %.7f or more", n, all, worst)
	if n < min(texts, all) {
		t.Errorf("%d texts", n)
	}
}

func BenchmarkEmbed(b *testing.B) {
	m := openDrawn(b)
	for name, words := range map[string]int{"8": 6, "32": 30, "128": 126} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat("dog ", words)
			for b.Loop() {
				if _, err := m.Embed(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
