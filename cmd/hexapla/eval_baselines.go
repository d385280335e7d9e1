package main

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"hexapla/layers/terms"
)

// wordIndex ranks documents by plain BM25 over their words, with the server's
// own analysis of a text and its k1 and b, and nothing else.
type wordIndex struct{ documents []wordCounts }

type wordCounts struct {
	freq   map[string]int
	length int
}

func (x *wordIndex) add(text string) {
	d := wordCounts{freq: map[string]int{}}
	for _, word := range terms.Analyze(text) {
		d.freq[word]++
		d.length++
	}
	x.documents = append(x.documents, d)
}

// rank orders those of the first n documents that hold a word of the query, the
// best first and of equals the newest.
func (x *wordIndex) rank(query string, n int) []int {
	words := terms.Analyze(query)
	slices.Sort(words)
	words = slices.Compact(words)
	documents := x.documents[:n]
	total := 0
	for _, d := range documents {
		total += d.length
	}
	average := ratio(float64(total), float64(n))
	scores := make([]float64, n)
	for _, word := range words {
		df := 0
		for _, d := range documents {
			if d.freq[word] > 0 {
				df++
			}
		}
		idf := terms.IDF(n, df)
		for i, d := range documents {
			scores[i] += terms.BM25(idf, float64(d.freq[word]), float64(d.length), average)
		}
	}
	var order []int
	for i := range documents {
		if scores[i] = terms.Round(scores[i]); scores[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a)) })
	return order
}

// newestFirst is the order of recency of n documents.
func newestFirst(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = n - 1 - i
	}
	return order
}

// shuffled is an order by chance, the same for the same seed.
func shuffled(n int, seed uint64) []int {
	return rand.New(rand.NewPCG(seed, uint64(n))).Perm(n)
}

// fusionConstant of reciprocal rank fusion, the usual one.
const fusionConstant = 60

// fuse orders what is in two orders by the sum of the reciprocal ranks; of
// equals, the newest comes first.
func fuse(n int, orders ...[]int) []int {
	scores := make([]float64, n)
	for _, order := range orders {
		for rank, i := range order {
			scores[i] += 1 / float64(fusionConstant+rank+1)
		}
	}
	var order []int
	for i := range scores {
		if scores[i] = terms.Round(scores[i]); scores[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(b, a)) })
	return order
}

// Rankings that are measured beside each other.
const (
	rankingServer  = "hexapla"
	rankingRecency = "recency"
	rankingBM25    = "bm25"
	rankingFused   = "bm25+recency"
	rankingRandom  = "random"
)

func baselines() []string { return []string{rankingRecency, rankingBM25, rankingFused, rankingRandom} }

// baseline ranks the first n documents of an index in one of the plain ways.
func (x *wordIndex) baseline(ranking, query string, n int, seed uint64) []int {
	switch ranking {
	case rankingRecency:
		return newestFirst(n)
	case rankingBM25:
		return x.rank(query, n)
	case rankingFused:
		return fuse(n, x.rank(query, n), newestFirst(n))
	default:
		return shuffled(n, seed)
	}
}
