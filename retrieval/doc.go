// Package retrieval finds the records of a workspace that are relevant to a
// query and explains each score by its parts.
//
// It guarantees that a search is a pure function of the view it is asked with
// and of the query: the same hits with the same scores whether the index is
// empty, half built or complete, after a restart, a rebuild or a merge, and on
// every machine. The index only says which records hold a term; frequencies,
// lengths and the records themselves come from the store. A search that could
// not see everything says so (Result.Degraded).
//
// It serves no text, counts no tokens, and knows of records only what
// Record.Kind, ID and Parent say.
package retrieval

import (
	"errors"

	"hexapla/layers"
)

// Bounds of a query.
const (
	MaxQueryBytes = 8 << 10
	MaxQueryTerms = 256 // distinct
)

// ErrQueryTooComplex says that a query is longer than MaxQueryBytes or has more
// than MaxQueryTerms distinct terms.
var ErrQueryTooComplex = errors.New("query is too complex")

// Kinds of records that mean something to ranking.
const (
	kindTurn = "turn" // ID "c12#3", parent "c12"
	kindTrio = "trio" // ID and parent "c12"; only the newest version counts
)

// Query is what is looked for.
type Query struct {
	Text     string
	Entities layers.Entities // things that the query is about, such as the files in view
	// Kinds are the kinds of records that may be hits. Without any, the hits are
	// conversations: each comes once, with its best record of whatever kind.
	Kinds  []string
	Limit  int // hits; 20 if 0, at most 1,000
	Offset int // hits passed over
	// Exclude tells conversations whose records are no hits; may be nil. It
	// must give the same answer for the same conversation.
	Exclude func(conversation string) bool
	// Visits tells how often a conversation was asked for again (H16); may be nil.
	Visits func(conversation string) int
	// Usefulness tells what a conversation proved to be worth, 0 to 1, with 0.5 for
	// one of which nothing is known (H24); may be nil.
	Usefulness func(conversation string) float64
	// Now, in Unix milliseconds, makes the age of a record count in time, as far
	// as Options.Time knows it; 0 lets it count in sequences from the view.
	Now int64
	// Weights of the score; the engine's if zero.
	Weights Weights
	// Reciprocal brings nearness in meaning and the other parts together by the
	// reciprocals of ranks instead of a weighted sum.
	Reciprocal bool
	// Candidates is how many records are ranked at most, if fewer than the
	// engine's: those that hold the query's rarest terms come first.
	Candidates int
	// Clip cuts a query that is too long instead of refusing it.
	Clip bool
	// Complete has the search see every record, however many the index does not
	// have yet and however long it takes to read them: for answers that must
	// not depend on how far the index is.
	Complete bool
}

// Result is the answer to a query.
type Result struct {
	Hits  []Hit // best first
	Total int   // hits there are without limit and offset, within the candidates that were ranked
	// Degraded says that the index was not there, or that not all records could
	// be seen.
	Degraded bool
	// Model names what nearness in meaning goes by: BuiltinModel, the encoder's ID,
	// or "" where it has no part in the score.
	Model string
}

// Hit is a record, or a conversation with its best record.
type Hit struct {
	Seq          int64 // of the record
	Kind         string
	ID           string
	Conversation string // the record's parent
	// Score is the weighted mean of the parts that the query gives occasion for,
	// in [0,1], six decimals. It is relative: the best record is near 1 even if
	// nothing fits well.
	Score float64
	Parts ScoreParts
	// Coverage says how well the conversation fits at all: the share of the
	// query's terms that its records hold, by weight (inverse document
	// frequency), in [0,1].
	Coverage float64
}

// ScoreParts are the parts of a score, each in [0,1] (H16). The similarity of
// texts is by their words: Lexical, Passage and Conversation, and Semantic where
// it has weight.
type ScoreParts struct {
	Lexical      float64 `json:"lexical"`      // BM25 of the record over that of the best record
	Passage      float64 `json:"passage"`      // BM25 of the turn together with those around it, over that of the best passage
	Conversation float64 `json:"conversation"` // BM25 of the whole conversation over that of the best one
	Semantic     float64 `json:"semantic"`     // nearness of the turn's words in meaning, from the least to the most alike of the best turns
	Temporal     float64 `json:"temporal"`     // nearness in time
	Entities     float64 `json:"entities"`     // files, functions and concepts in common
	Errors       float64 `json:"errors"`       // share of the query's errors that the record has
	Visits       float64 `json:"visits"`       // how often the conversation was come back to
	Usefulness   float64 `json:"usefulness"`   // what it proved to be worth; 0 where nothing was learned
}

// Weights say what each part is worth. They need not add up to one.
type Weights struct {
	Lexical, Passage, Conversation, Semantic, Temporal, Entities, Errors, Visits, Usefulness float64
	// Encoded takes the place of Semantic where an encoder has embedded the turns.
	Encoded float64
}

// DefaultWeights returns the weights that are in force when none are given.
//
// The first three were chosen on LoCoMo, dialogs 0 to 4, where the words of a
// question stand around its answer as often as in it: turn R@10 is 63 with BM25
// alone and 77 with these. Temporal costs half a point there and doubles what is
// found of earlier work on the same branch in recorded coding sessions (R@5
// 0.33 to 0.65). A shared error or file is worth half as much as a record's
// words. What proved useful decides between records that are otherwise much
// alike: from the least to the most useful it moves a score by some 0.05.
func DefaultWeights() Weights {
	return Weights{Lexical: 1, Passage: 2, Conversation: 1, Temporal: 2, Entities: 0.5, Errors: 0.5, Visits: 0.1, Usefulness: 0.5}
}

// TurnWeights returns weights for finding turns: with nearness in meaning, and with
// less in time. Built-in vectors raise turn R@10 by one to two points on three
// public sets of chats, and find no more conversations, so that these are ranked
// without. Who asks for a turn asks for something that was said once: nearness in
// time costs up to five points there.
func TurnWeights() Weights {
	w := DefaultWeights()
	w.Temporal, w.Semantic, w.Encoded = turnTemporal, 1, encodedWeight
	return w
}

// turnTemporal is what nearness in time is worth where turns are found.
const turnTemporal = 0.5

// encodedWeight is what nearness in meaning is worth where an encoder tells it,
// chosen on half of the questions of LoCoMo, dialogs 0 to 4: turn R@10 is 76 with
// 0 and 80 with this, on the other half 79 and 80.
const encodedWeight = 4

// ConversationWeights returns weights for finding conversations by what was said
// in them: the usual ones, with nearness in meaning where an encoder tells it.
func ConversationWeights() Weights {
	w := DefaultWeights()
	w.Encoded = encodedWeight
	return w
}

// ContextWeights returns weights for finding what belongs to work that is just
// beginning, as for a pack, rather than what was said of a topic: the same with
// nearness in time in front. On the recorded coding sessions they find more than
// recency alone (R@5 0.73 to 0.69), which in turn beats any ranking by words.
func ContextWeights() Weights {
	w := DefaultWeights()
	w.Temporal = 8
	return w
}
