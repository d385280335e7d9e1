package wire

// SearchQueryParams is a search.
type SearchQueryParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Words, paths, identifiers or an error message; at most 8 KiB.
	Query string `json:"query"`
	// What to find: "conversation" (each at most once, the default),
	// "turn" or "output" (tool outputs).
	Kind string `json:"kind,omitempty" enum:"conversation,turn,output"`
	// Most hits to return; 10 when absent, 100 at most.
	Limit int `json:"limit,omitempty"`
	// Where to go on, from an earlier result.
	Cursor string `json:"cursor,omitempty"`
	// Search as of this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
}

// SearchHit is one hit.
type SearchHit struct {
	// The conversation.
	Conversation string `json:"conversation"`
	// The turn that fits best.
	Turn int `json:"turn,omitempty"`
	// For tool outputs: where the whole output is.
	Blob *BlobRef `json:"blob,omitempty"`
	// Higher is better, 0 to 1, rounded to six places. It is relative: the best
	// hit is near 1 even if nothing fits well.
	Score float64 `json:"score"`
	// How well the conversation fits at all: the share of the query's terms
	// that it holds, by weight, 0 to 1.
	Coverage float64 `json:"coverage"`
	// What the score is made of.
	Parts ScoreParts `json:"parts"`
	// The place that fits best, at most 60 tokens.
	Snippet string `json:"snippet"`
	// The conversation's header.
	Header Header `json:"header"`
}

// SearchQueryResult is the hits, best first.
type SearchQueryResult struct {
	// The hits; ties by sequence, newest first, then id.
	Hits []SearchHit `json:"hits"`
	// Where to go on.
	Cursor string `json:"cursor,omitempty"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
	// True while the index is being rebuilt: hits come from a bounded scan of
	// the store.
	Degraded bool `json:"degraded"`
	// What nearness in meaning goes by: "words" for the built-in word vectors, or
	// the name of the model that turns were embedded with. Absent where it has no
	// part in the scores.
	Model string `json:"model,omitempty"`
}

// ReferenceLookupParams asks the reference index.
type ReferenceLookupParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// "file", "function", "concept" or "error"; all when absent.
	Kind string `json:"kind,omitempty" enum:"file,function,concept,error"`
	// The name, or its beginning with prefix. A file is also found by the last
	// parts of its path.
	Name string `json:"name"`
	// Whether name is the beginning of what is looked for.
	Prefix bool `json:"prefix,omitempty"`
	// Most entries to return; 20 when absent, 200 at most.
	Limit int `json:"limit,omitempty"`
}

// ReferenceMention is one place where an entity is spoken of.
type ReferenceMention struct {
	// The conversation.
	Conversation string `json:"conversation"`
	// The turn.
	Turn int `json:"turn"`
	// The tool output, if it is in one.
	Blob *BlobRef `json:"blob,omitempty"`
	// Sequence number of the record.
	Sequence int64 `json:"sequence"`
}

// ReferenceEntry is an entity and where it is spoken of.
type ReferenceEntry struct {
	// "file", "function", "concept" or "error".
	Kind string `json:"kind" enum:"file,function,concept,error"`
	// The name.
	Name string `json:"name"`
	// Newest first, at most 50.
	Mentions []ReferenceMention `json:"mentions"`
	// All mentions, also those not listed.
	Total int `json:"total"`
}

// ReferenceLookupResult is the entries.
type ReferenceLookupResult struct {
	// By kind, then name.
	Entries []ReferenceEntry `json:"entries"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
}
