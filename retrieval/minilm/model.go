package minilm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
)

// Model is the encoder. It is safe for concurrent use; texts are taken one after
// another.
type Model struct {
	id         string
	tokens     *tokenizer
	functions  *functions
	kernel     kernel
	vectorised bool

	file     *os.File // words are read as they are needed
	words    int64    // where their vectors begin
	places   []float32
	kind     []float32
	embedded scaling
	layers   [layerCount]layer

	mu      sync.Mutex
	scratch scratch
}

// scaling is what normalise puts on each number.
type scaling struct{ scale, shift []float32 }

// linear is a matrix in panels, and what is added to the product.
type linear struct {
	inputs, outputs int
	panels, bias    []float32
}

type layer struct {
	query, key, value, attended linear
	attendedNorm                scaling
	grow, shrink                linear
	shrinkNorm                  scaling
}

// Open reads the model of a folder with model.safetensors and vocab.txt or
// tokenizer.json. It returns ErrFormat for other files, and takes some tenths of
// a second and 43 MB.
func Open(dir string) (*Model, error) {
	m, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("open embeddings model: %w", err)
	}
	return m, nil
}

func open(dir string) (_ *Model, err error) {
	m := &Model{functions: newFunctions()}
	m.kernel, m.vectorised = fastKernel()
	if m.tokens, err = readVocabulary(dir); err != nil {
		return nil, err
	}
	t, err := openTensors(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.file.Close()
		}
	}()
	m.file = t.file
	if err := m.read(t); err != nil {
		return nil, err
	}
	m.id, err = identify(t.file, m.tokens)
	return m, err
}

func (m *Model) read(t *tensors) (err error) {
	if m.words, err = t.place("embeddings.word_embeddings.weight", int64(m.tokens.words), Dimensions); err != nil {
		return err
	}
	read := func(name string, shape ...int64) (numbers []float32) {
		if err == nil {
			numbers, err = t.read(name, shape...)
		}
		return numbers
	}
	norm := func(name string) scaling {
		return scaling{read(name+".LayerNorm.weight", Dimensions), read(name+".LayerNorm.bias", Dimensions)}
	}
	dense := func(name string, inputs, outputs int) linear {
		bias := read(name+".bias", int64(outputs))
		weights := read(name+".weight", int64(outputs), int64(inputs))
		if err != nil {
			return linear{}
		}
		panels := pack(inputs, outputs, func(row, column int) float32 { return weights[column*inputs+row] })
		return linear{inputs, outputs, panels, bias}
	}
	m.places = read("embeddings.position_embeddings.weight", positions, Dimensions)
	m.kind = read("embeddings.token_type_embeddings.weight", 2, Dimensions)
	m.embedded = norm("embeddings")
	for i := range m.layers {
		name := fmt.Sprintf("encoder.layer.%d.", i)
		m.layers[i] = layer{
			query:        dense(name+"attention.self.query", Dimensions, Dimensions),
			key:          dense(name+"attention.self.key", Dimensions, Dimensions),
			value:        dense(name+"attention.self.value", Dimensions, Dimensions),
			attended:     dense(name+"attention.output.dense", Dimensions, Dimensions),
			attendedNorm: norm(name + "attention.output"),
			grow:         dense(name+"intermediate.dense", Dimensions, inner),
			shrink:       dense(name+"output.dense", inner, Dimensions),
			shrinkNorm:   norm(name + "output"),
		}
	}
	return err
}

// identify names the model by what it is made of.
func identify(weights *os.File, t *tokenizer) (string, error) {
	sum := sha256.New()
	info, err := weights.Stat()
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(sum, io.NewSectionReader(weights, 0, info.Size())); err != nil {
		return "", fmt.Errorf("read weights: %w", err)
	}
	names := make([]string, t.words)
	for name, id := range t.ids {
		names[id] = name
	}
	for _, name := range names {
		fmt.Fprintf(sum, "%s\n", name)
	}
	fmt.Fprintf(sum, "%d tokens", MaxTokens)
	return "minilm-" + hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// ID names the model: two with the same give the same vectors.
func (m *Model) ID() string { return m.id }

// Dimensions of a vector.
func (m *Model) Dimensions() int { return Dimensions }

// Vectorised tells whether the machine has what the quick kernel needs.
func (m *Model) Vectorised() bool { return m.vectorised }

// Close lets go of the files.
func (m *Model) Close() error { return m.file.Close() }

// scratch is what a text takes, for MaxTokens tokens.
type scratch struct {
	x, query, key, value, heads, out []float32 // a row a token
	inner                            []float32
	scores                           []float32
	keys, values                     []float32 // of one head, in panels
	zeros                            []float32
}

func roomFor(n, step int) int { return (n + step - 1) / step * step }

func (s *scratch) make(n int) {
	rows, columns := roomFor(n, blockRows), roomFor(n, panelColumns)
	if len(s.x) >= rows*Dimensions {
		return
	}
	for _, b := range [...]*[]float32{&s.x, &s.query, &s.key, &s.value, &s.heads, &s.out} {
		*b = make([]float32, rows*Dimensions)
	}
	s.inner = make([]float32, rows*inner)
	s.scores = make([]float32, rows*columns)
	s.keys = make([]float32, columns*headSize)
	s.values = make([]float32, columns*headSize)
	s.zeros = make([]float32, max(columns, headSize)+panelColumns)
}

// Embed returns a text's vector of length 1. Of a text longer than MaxTokens
// tokens its beginning is read. Errors are the context's and those of reading
// the weights.
func (m *Model) Embed(ctx context.Context, text string) ([]float32, error) {
	return m.embed(ctx, m.tokens.tokens(text, MaxTokens))
}

func (m *Model) embed(ctx context.Context, ids []int32) ([]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(ids)
	s := &m.scratch
	s.make(n)
	for i, id := range ids {
		row := s.x[i*Dimensions:][:Dimensions]
		if err := readNumbers(m.file, m.words+int64(id)*4*Dimensions, row); err != nil {
			return nil, fmt.Errorf("embed: %w", err)
		}
		for c := range row {
			row[c] = row[c] + m.kind[c] + m.places[i*Dimensions+c]
		}
		normalise(row, m.embedded.scale, m.embedded.shift)
	}
	for i := range m.layers {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("embed: %w", err)
		}
		m.layer(&m.layers[i], n)
	}
	return mean(s.x, n), nil
}

// through puts n rows through a matrix.
func (m *Model) through(l *linear, x, y []float32, n int) {
	multiply(m.kernel, x, l.panels, l.bias, y, n, l.inputs, l.inputs, l.outputs)
}

// layer puts n tokens through one layer.
func (m *Model) layer(l *layer, n int) {
	s := &m.scratch
	m.through(&l.query, s.x, s.query, n)
	m.through(&l.key, s.x, s.key, n)
	m.through(&l.value, s.x, s.value, n)
	for h := range heads {
		m.attend(h*headSize, n)
	}
	m.through(&l.attended, s.heads, s.out, n)
	m.join(n, &l.attendedNorm)
	m.through(&l.grow, s.x, s.inner, n)
	m.functions.activate(s.inner[:n*inner])
	m.through(&l.shrink, s.inner, s.out, n)
	m.join(n, &l.shrinkNorm)
}

// join adds what a step gave to what went in.
func (m *Model) join(n int, norm *scaling) {
	s := &m.scratch
	for i := range n {
		row, out := s.x[i*Dimensions:][:Dimensions], s.out[i*Dimensions:][:Dimensions]
		for c := range row {
			row[c] += out[c]
		}
		normalise(row, norm.scale, norm.shift)
	}
}

// attend computes the head whose numbers begin at a column.
func (m *Model) attend(column, n int) {
	s := &m.scratch
	columns := roomFor(n, panelColumns)
	const shrink = 0.17677669529663687 // 1/√headSize
	for p := 0; p < columns; p += panelColumns {
		panel := s.keys[p*headSize:][:panelColumns*headSize]
		for c := range panelColumns {
			for k := range headSize {
				x := float32(0)
				if p+c < n {
					x = s.key[(p+c)*Dimensions+column+k]
				}
				panel[k*panelColumns+c] = x
			}
		}
	}
	for p := 0; p < headSize; p += panelColumns {
		panel := s.values[p*n:][:panelColumns*n]
		for k := range n {
			copy(panel[k*panelColumns:][:panelColumns], s.value[k*Dimensions+column+p:])
		}
	}
	multiply(m.kernel, s.query[column:], s.keys, s.zeros[:columns], s.scores, n, headSize, Dimensions, columns)
	for i := range n {
		row := s.scores[i*columns:][:n]
		for j := range row {
			row[j] *= shrink
		}
		m.functions.softmax(row)
	}
	multiply(m.kernel, s.scores, s.values, s.zeros[:headSize], s.heads[column:], n, n, columns, Dimensions)
}

// mean is the direction of the mean of n rows.
func mean(x []float32, n int) []float32 {
	var sums [Dimensions]float64
	for i := range n {
		for c, v := range x[i*Dimensions:][:Dimensions] {
			sums[c] += float64(v)
		}
	}
	square := 0.0
	for _, v := range sums {
		square += float64(v * v)
	}
	out := make([]float32, Dimensions)
	if length := math.Sqrt(square); length > 0 {
		for c, v := range sums {
			out[c] = float32(v / length)
		}
	}
	return out
}
