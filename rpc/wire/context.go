package wire

// ContextRequestParams carries context requests.
type ContextRequestParams struct {
	// The session.
	Session string `json:"session"`
	// What is asked for.
	Requests ContextRequests `json:"requests"`
	// Most tokens of all items together; 4,000 when absent.
	MaxTokens int `json:"maxTokens,omitempty"`
	// After how many turns of the session what was deferred for want of quota or
	// tokens is let go: 5 when absent, 1,000 at most; -1 for not to keep it.
	DeferTurns int `json:"deferTurns,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// ContextItem is one conversation that was served.
type ContextItem struct {
	// The id asked for, of a conversation, a turn or a tool output.
	Conversation string `json:"conversation"`
	// "header", "summary", "full", or "mixed" for passages of the full text: the
	// detail that text is in.
	Detail string `json:"detail" enum:"header,summary,full,mixed"`
	// The text; empty with inContext.
	Text string `json:"text"`
	// Tokens of text.
	Tokens int `json:"tokens"`
	// Share of the query's words that text holds, 0 to 1, where mixed was to
	// answer one.
	Covered float64 `json:"covered,omitempty"`
	// Where the passages go on.
	Cursor string `json:"cursor,omitempty"`
	// The model has it: the item of the session's pack before, such as
	// "served:r4:1", "c12" or "c12#3", or the id in this answer, that shows no less.
	InContext string `json:"inContext,omitempty"`
	// The deferral that this serves.
	Deferral string `json:"deferral,omitempty"`
	// Whether it had been given already, in no less detail and tokens.
	ReAsked bool `json:"reAsked,omitempty"`
	// Where it stands, when it is asked for again.
	Stands *Standing `json:"stands,omitempty"`
	// Why it was found, when the request did not name it.
	Relevance *Relevance `json:"relevance,omitempty"`
}

// Standing is where a thing was given to the model.
type Standing struct {
	// The section of the session's newest pack; absent when it was the answer to a
	// context request of the same conversation.
	Section string `json:"section,omitempty"`
	// The id of the pack's item; of a conversation in several items, the first.
	ID string `json:"id"`
}

// Relevance is why a conversation was found for a query.
type Relevance struct {
	// 0 to 1, against the best that was found.
	Score float64 `json:"score"`
	// Share of the query's terms, by weight, that the conversation holds; 0 to 1.
	Coverage float64 `json:"coverage"`
	// What the score is made of.
	Parts ScoreParts `json:"parts"`
}

// Deferred is a request that was not served now.
type Deferred struct {
	// The id asked for.
	Conversation string `json:"conversation"`
	// The detail asked for: "header", "summary", "full" or "mixed".
	Detail string `json:"detail" enum:"header,summary,full,mixed"`
	// "quota" (three fulls between two turns were served), "budget" (maxTokens
	// is used up), "not_found" or "limit" (over 50 entries to retrieve, 200 ids,
	// 20 topics or 200 ids to archive in one request).
	Reason string `json:"reason" enum:"quota,budget,not_found,limit"`
	// Id under which it waits to be served; absent if it does not.
	Deferral string `json:"deferral,omitempty"`
}

// TopicSummary sums up what is known of a topic.
type TopicSummary struct {
	// The topic as asked.
	Topic string `json:"topic"`
	// At most 120 tokens.
	Summary string `json:"summary"`
	// Where it comes from, best first.
	Conversations []string `json:"conversations"`
}

// ContextAnswer answers context requests.
type ContextAnswer struct {
	// What was served, in the order asked.
	Items []ContextItem `json:"items"`
	// What was not, and why.
	Deferred []Deferred `json:"deferred"`
	// Answers to summarizeTopics.
	Topics []TopicSummary `json:"topics"`
	// Conversations that leave layers 1 and 3, with the next fold at the latest:
	// the prefix of packs does not move for it.
	Archived []string `json:"archived"`
	// What waited for room and has it now, oldest first. It counts against
	// maxTokens and the quota before the items.
	ServedDeferred []ContextItem `json:"servedDeferred,omitempty"`
	// What waited for too long; told once.
	Expired []Deferral `json:"expired,omitempty"`
}

// ContextRequestResult answers context requests.
type ContextRequestResult struct {
	ContextAnswer
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}
