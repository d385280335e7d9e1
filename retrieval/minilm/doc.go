// Package minilm computes what a text means with all-MiniLM-L6-v2, a small
// sentence encoder, from files that the user has: model.safetensors and
// vocab.txt or tokenizer.json. It is the whole model in Go: tokens, six layers,
// mean, length one.
//
// It guarantees the same bits on every machine: all sums are taken in the same
// order with the same rounding, by the AVX2 kernel as by the plain one, and
// exponentials are its own. What it gives is within 0.0001 (cosine) of other
// implementations.
//
// It downloads nothing, looks for no files by itself (see Find) and never writes.
package minilm

import "errors"

// Geometry of the model.
const (
	// Dimensions of a vector.
	Dimensions = 384
	// MaxTokens is how many tokens of a text are read, with the two that frame
	// it; the model's own tokenizer.json says so, too.
	MaxTokens = 128

	layerCount    = 6
	heads         = 12
	headSize      = Dimensions / heads
	inner         = 4 * Dimensions
	positions     = 512
	epsilon       = 1e-12
	maxInputBytes = 16 << 10 // of a text; MaxTokens tokens are seldom longer
)

// ErrFormat says that files are not those of the model.
var ErrFormat = errors.New("not the files of all-MiniLM-L6-v2")
