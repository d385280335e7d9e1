// Package vectors says how near texts are in meaning, by the words that they are
// made of: a text's vector is the sum of its terms' vectors, which are built in
// (GloVe, int8, see NOTICE).
//
// Everything is in integers until the cosine, which is rounded to six decimals,
// so that the same terms give the same number on every machine. Terms are those
// of layers/terms; what the model does not know adds nothing. The order of terms
// does not matter. The package reads no files and downloads nothing.
package vectors

import (
	"cmp"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Dimensions of a vector.
const Dimensions = 100

//go:embed glove.bin
var builtin []byte

// ErrFormat says that bytes are no model.
var ErrFormat = errors.New("not a model of word vectors")

// A model is
//
//	magic, 4 bytes
//	number of terms, 4 bytes, big endian
//	hashes of the terms, 8 bytes each, big endian, ascending
//	weights of the terms, 2 bytes each, big endian
//	values of the terms, Dimensions bytes each, two's complement
const (
	magic     = "HXV\x01"
	head      = len(magic) + 4
	perTerm   = 8 + 2 + Dimensions
	maxWeight = 1<<16 - 1
	maxValue  = 127
)

// Model knows the vectors of terms. It is safe for concurrent use.
type Model struct {
	n                       int
	hashes, weights, values []byte
	starts                  []uint32 // by the upper 16 bits of a hash, the first term that has them or more
}

// Builtin returns the model that is built in.
func Builtin() (*Model, error) { return Decode(builtin) }

// Decode reads a model. It keeps the bytes.
func Decode(b []byte) (*Model, error) {
	if len(b) < head || string(b[:len(magic)]) != magic {
		return nil, ErrFormat
	}
	n := int(binary.BigEndian.Uint32(b[len(magic):]))
	if (len(b)-head)/perTerm != n || (len(b)-head)%perTerm != 0 {
		return nil, fmt.Errorf("%d terms in %d bytes: %w", n, len(b), ErrFormat)
	}
	m := &Model{n: n, hashes: b[head : head+8*n], weights: b[head+8*n : head+10*n], values: b[head+10*n:]}
	m.starts = make([]uint32, 1<<16+1)
	at := 0
	for i := range n {
		if i > 0 && m.hash(i) <= m.hash(i-1) {
			return nil, fmt.Errorf("terms out of order: %w", ErrFormat)
		}
		for upper := int(m.hash(i) >> 48); at <= upper; at++ {
			m.starts[at] = uint32(i)
		}
	}
	for ; at < len(m.starts); at++ {
		m.starts[at] = uint32(n)
	}
	return m, nil
}

func (m *Model) hash(i int) uint64 { return binary.BigEndian.Uint64(m.hashes[8*i:]) }

// Terms is how many terms the model knows.
func (m *Model) Terms() int { return m.n }

// hashOf is FNV-1a with its upper bits mixed.
func hashOf[T string | []byte](name T) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * prime
	}
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	return h
}

// Compare orders terms as a model does.
func Compare(a, b string) int { return cmp.Compare(hashOf(a), hashOf(b)) }

// Sum adds up the vectors of a text's terms. The zero value is the empty text.
type Sum struct {
	values [Dimensions]int64
	known  int
}

// Add adds a term, and tells whether the model knows it.
func (m *Model) Add(s *Sum, term []byte) bool {
	h := hashOf(term)
	for i := int(m.starts[h>>48]); i < m.n; i++ {
		switch other := m.hash(i); {
		case other < h:
			continue
		case other > h:
			return false
		}
		weight := int64(binary.BigEndian.Uint16(m.weights[2*i:]))
		row := m.values[i*Dimensions : (i+1)*Dimensions]
		for k, x := range row {
			s.values[k] += weight * int64(int8(x))
		}
		s.known++
		return true
	}
	return false
}

// Term is a term with its values, for Encode.
type Term struct {
	Name   string
	Values []float64 // Dimensions of them
}

// Encode makes a model of terms, which are in the order of Compare and differ.
// Values are kept in 255 steps of a term's largest, and that in 65,535 steps of
// the largest of all.
func Encode(all []Term) []byte {
	largest := func(values []float64) (most float64) {
		for _, x := range values {
			most = max(most, math.Abs(x))
		}
		return most
	}
	whole := 0.0
	for _, t := range all {
		whole = max(whole, largest(t.Values))
	}
	b := append([]byte(magic), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(b[len(magic):], uint32(len(all)))
	for _, t := range all {
		b = binary.BigEndian.AppendUint64(b, hashOf(t.Name))
	}
	for _, t := range all {
		b = binary.BigEndian.AppendUint16(b, uint16(math.Round(largest(t.Values)/max(whole, math.SmallestNonzeroFloat64)*maxWeight)))
	}
	for _, t := range all {
		most := max(largest(t.Values), math.SmallestNonzeroFloat64)
		for _, x := range t.Values[:Dimensions] {
			b = append(b, byte(int8(math.Round(x/most*maxValue))))
		}
	}
	return b
}
