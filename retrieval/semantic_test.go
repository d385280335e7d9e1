package retrieval_test

import (
	"testing"

	"hexapla/retrieval"
)

// TestB8_MeaningOfTurns: of two turns that hold the same word of the query, the
// one that is nearer in meaning comes first where meaning has weight, and the
// part is shown; without weight there is no such part.
func TestB8_MeaningOfTurns(t *testing.T) {
	w := newWorkspace(t)
	w.write(500,
		turn("c1", 1, "On Monday the surgeon will look at my knee in the hospital."),
		turn("c2", 1, "On Monday the compiler will warn about the parser in the module."),
	)
	e := retrieval.New(retrieval.Options{Store: w.store})
	query := retrieval.Query{Text: "Which doctor on Monday?", Kinds: []string{"turn"}}
	for _, h := range w.search(e, 0, query).Hits {
		if h.Parts.Semantic != 0 {
			t.Errorf("%s: %+v", h.ID, h.Parts)
		}
	}
	query.Weights = retrieval.TurnWeights()
	hits := w.search(e, 0, query).Hits
	if len(hits) != 2 || hits[0].ID != "c1#1" || hits[0].Parts.Semantic != 1 || hits[1].Parts.Semantic != 0 {
		t.Errorf("%+v", hits)
	}
	if again := w.search(e, 0, query).Hits; again[0] != hits[0] || again[1] != hits[1] {
		t.Errorf("%+v, then %+v", hits, again)
	}
}
