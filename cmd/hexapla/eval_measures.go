package main

import (
	"math/rand/v2"
	"slices"
)

// measures of one question, or their means over many, each 0 to 1. The recalls
// are shares of what is relevant that stands among the first k; hits say
// whether anything relevant does.
type measures struct {
	Hit1     float64 `json:"hit1"`
	Hit5     float64 `json:"hit5"`
	MRR      float64 `json:"mrr"`
	Recall1  float64 `json:"recall1"`
	Recall5  float64 `json:"recall5"`
	Recall10 float64 `json:"recall10"`
}

// measure looks for what is relevant in an order.
func measure(order, relevant []int) (m measures) {
	share := 1 / float64(len(relevant))
	for rank, one := range order {
		if !slices.Contains(relevant, one) {
			continue
		}
		if m.MRR == 0 {
			m.MRR = 1 / float64(rank+1)
		}
		if rank < 1 {
			m.Hit1 = 1
			m.Recall1 += share
		}
		if rank < 5 {
			m.Hit5 = 1
			m.Recall5 += share
		}
		if rank < 10 {
			m.Recall10 += share
		}
	}
	return m
}

func (m *measures) each() []*float64 {
	return []*float64{&m.Hit1, &m.Hit5, &m.MRR, &m.Recall1, &m.Recall5, &m.Recall10}
}

// level is the measures of many questions at one level, with intervals.
type level struct {
	measures
	// Interval holds the ends of the 95 % bootstrap interval of each measure.
	Low  measures `json:"low"`
	High measures `json:"high"`
}

// summarise averages the measures of many questions.
func summarise(all []measures) level {
	var l level
	means, low, high := l.each(), l.Low.each(), l.High.each()
	for k := range means {
		values := make([]float64, len(all))
		for i := range all {
			values[i] = *all[i].each()[k]
		}
		s := spreadOf(values)
		*means[k], *low[k], *high[k] = s.Mean, s.Low, s.High
	}
	return l
}

// spread is a mean and its 95 % bootstrap interval, to four places.
type spread struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// resamples is how often the bootstrap draws; the seed is fixed, so that the same
// values give the same interval.
const (
	resamples     = 1000
	bootstrapSeed = 1
)

func spreadOf(values []float64) spread {
	n := len(values)
	if n == 0 {
		return spread{}
	}
	total := 0.0
	for _, v := range values {
		total += v
	}
	random := rand.New(rand.NewPCG(bootstrapSeed, uint64(n)))
	drawn := make([]float64, resamples)
	for i := range drawn {
		for range n {
			drawn[i] += values[random.IntN(n)]
		}
		drawn[i] /= float64(n)
	}
	slices.Sort(drawn)
	return spread{places(total / float64(n)), places(drawn[resamples/40]), places(drawn[resamples-1-resamples/40])}
}
