package terms

import "math"

// Parameters of BM25. These are the defaults of the Anserini toolkit (Trotman,
// Puurula and Burgess, "Improvements to BM25 and Language Models Examined",
// 2014, find the same region best for short texts): less saturation and less
// length normalisation than the classic 1.2 and 0.75 of Robertson.
const (
	K1 = 0.9
	B  = 0.4
)

// IDF is the inverse document frequency of a term that occurs in df of docs
// documents: ln(1 + (docs-df+0.5)/(df+0.5)), which is never negative
// (Robertson and Zaragoza 2009, with Lucene's 1 +). It is rounded, so that
// platforms whose logarithms differ in the last bit agree.
func IDF(docs, df int) float64 {
	if df < 0 {
		df = 0
	}
	if docs < df {
		docs = df
	}
	return Round(math.Log(1 + (float64(docs-df)+0.5)/(float64(df)+0.5)))
}

// BM25 is what one term adds to a document's score: idf · tf·(k1+1) /
// (tf + k1·(1 - b + b·length/average)). length and average count terms; an
// average of 0 switches the normalisation off.
func BM25(idf, tf, length, average float64) float64 {
	if tf <= 0 {
		return 0
	}
	ratio := 1.0
	if average > 0 {
		ratio = length / average
	}
	// The conversions keep compilers from fusing a product and a sum into one
	// rounding, which would give other last bits on other machines.
	norm := float64(K1 * ((1 - B) + float64(B*ratio)))
	return float64(idf * float64(float64(tf*(K1+1))/(tf+norm)))
}

// Round rounds a score to six decimals. Scores are rounded before they are
// compared, so that ties are ties.
func Round(x float64) float64 { return math.Round(x*1e6) / 1e6 }
