package minilm

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
)

// A safetensors file is
//
//	length of the header, 8 bytes, little endian
//	the header: a JSON object of name → {dtype, shape, data_offsets}
//	the numbers, little endian; offsets count from here
const maxTensorHeader = 1 << 20

// tensors is an open safetensors file.
type tensors struct {
	file  *os.File
	start int64 // of the numbers
	size  int64 // of them
	heads map[string]tensorHead
}

type tensorHead struct {
	Type    string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

func openTensors(path string) (*tensors, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t := &tensors{file: f}
	if err := t.readHeads(); err != nil {
		f.Close()
		return nil, err
	}
	return t, nil
}

func (t *tensors) readHeads() error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("weights are no file: %w", ErrFormat)
	}
	var length [8]byte
	if _, err := t.file.ReadAt(length[:], 0); err != nil {
		return fmt.Errorf("weights are cut: %w", ErrFormat)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxTensorHeader || int64(n) > info.Size()-8 {
		return fmt.Errorf("header of %d bytes: %w", n, ErrFormat)
	}
	raw := make([]byte, n)
	if _, err := t.file.ReadAt(raw, 8); err != nil {
		return fmt.Errorf("weights are cut: %w", ErrFormat)
	}
	t.start, t.size = 8+int64(n), info.Size()-8-int64(n)
	t.heads, err = parseHeads(raw, t.size)
	return err
}

// parseHeads reads a header whose numbers take size bytes, and refuses one that
// promises more. Numbers of other types than F32 are passed over.
func parseHeads(raw []byte, size int64) (map[string]tensorHead, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("header is no object: %w", ErrFormat)
	}
	delete(fields, "__metadata__")
	heads := make(map[string]tensorHead, len(fields))
	for name, field := range fields {
		var h tensorHead
		if err := json.Unmarshal(field, &h); err != nil {
			return nil, fmt.Errorf("header of a tensor: %w", ErrFormat)
		}
		if h.Type != "F32" {
			continue
		}
		numbers := int64(1)
		for _, n := range h.Shape {
			if n < 0 || n > size || numbers > size {
				return nil, fmt.Errorf("shape of a tensor: %w", ErrFormat)
			}
			numbers *= n
		}
		from, to := h.Offsets[0], h.Offsets[1]
		if from < 0 || to < from || to > size || to-from != 4*numbers {
			return nil, fmt.Errorf("place of a tensor: %w", ErrFormat)
		}
		heads[name] = h
	}
	return heads, nil
}

// place tells where a tensor with a shape begins in the file. Some files have
// the names of all tensors begin with "bert.".
func (t *tensors) place(name string, shape ...int64) (int64, error) {
	h, ok := t.heads[name]
	if !ok {
		h, ok = t.heads["bert."+name]
	}
	if !ok {
		return 0, fmt.Errorf("no %s: %w", name, ErrFormat)
	}
	if len(h.Shape) != len(shape) {
		return 0, fmt.Errorf("shape of %s: %w", name, ErrFormat)
	}
	for i, n := range shape {
		if h.Shape[i] != n {
			return 0, fmt.Errorf("shape of %s: %w", name, ErrFormat)
		}
	}
	return t.start + h.Offsets[0], nil
}

// read returns the numbers of a tensor with a shape.
func (t *tensors) read(name string, shape ...int64) ([]float32, error) {
	at, err := t.place(name, shape...)
	if err != nil {
		return nil, err
	}
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	numbers := make([]float32, n)
	return numbers, readNumbers(t.file, at, numbers)
}

// readNumbers fills numbers from a place in a file.
func readNumbers(r io.ReaderAt, at int64, numbers []float32) error {
	raw := make([]byte, 4*len(numbers))
	if _, err := r.ReadAt(raw, at); err != nil {
		return fmt.Errorf("read weights: %w", err)
	}
	for i := range numbers {
		numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return nil
}
