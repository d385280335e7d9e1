package wire

// Workspace names a root folder.
type Workspace struct {
	// URI of the folder, as in LSP. Any scheme is accepted; only file URIs are
	// normalised (drive letter, percent-encoding, trailing slash).
	URI string `json:"uri" scrub:"-"`
}

// BlobRef names a stored tool output by its content.
type BlobRef struct {
	// SHA-256 of the bytes, lower-case hex.
	SHA256 string `json:"sha256"`
	// Size in bytes.
	Size int64 `json:"size"`
	// Media type, "text/plain" where the client gave none.
	MIME string `json:"mime"`
}

// ToolCall is one call of a tool by the model.
type ToolCall struct {
	// The provider's id of the call; results refer to it.
	ID string `json:"id"`
	// Name of the tool.
	Name string `json:"name"`
	// Arguments as JSON; any value.
	Input any `json:"input,omitempty"`
}

// ToolResult is the output of a tool call. Give content, or the blob of an
// earlier tool/record.
type ToolResult struct {
	// The id of the call that this answers.
	CallID string `json:"callId"`
	// Name of the tool; taken from the call when absent.
	Tool string `json:"tool,omitempty"`
	// The whole output as text.
	Content string `json:"content,omitempty"`
	// The output recorded before, instead of content.
	Blob *BlobRef `json:"blob,omitempty"`
	// Media type of content.
	MIME string `json:"mime,omitempty"`
	// Whether the tool failed.
	IsError bool `json:"isError,omitempty"`
}

// CompressedToolResult is what stands in context for a tool output.
type CompressedToolResult struct {
	// Name of the tool.
	Tool string `json:"tool"`
	// Findings in at most 60 tokens; never raw log lines.
	Summary string `json:"summary"`
	// Identifiers found in the output.
	Entities []string `json:"entities"`
	// Paths found in the output.
	KeyFiles []string `json:"keyFiles"`
	// Error messages with numbers and paths normalised.
	ErrorPatterns []string `json:"errorPatterns"`
	// References such as "main.go:42".
	Pointers []string `json:"pointers"`
	// Where the whole output is.
	Blob BlobRef `json:"blob"`
}

// Turn is one message of a conversation to be recorded.
type Turn struct {
	// Who speaks: "user", "assistant" or "tool".
	Role string `json:"role" enum:"user,assistant,tool"`
	// Of user and tool turns: "user_query", "tool_response" or
	// "user_feedback". When absent, a user turn is a query and a tool turn a
	// response.
	Kind string `json:"kind,omitempty" enum:"user_query,tool_response,user_feedback"`
	// Text of the message.
	Text string `json:"text,omitempty"`
	// Tool calls of an assistant turn.
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// Tool results of a tool turn.
	ToolResults []ToolResult `json:"toolResults,omitempty"`
	// When the message was made, RFC 3339. A claim: order is by sequence.
	Time string `json:"time,omitempty"`
}

// RecordedTurn is a turn as it is stored.
type RecordedTurn struct {
	// Number in the conversation, from 1, never reused.
	Number int `json:"number"`
	// "user", "assistant" or "tool".
	Role string `json:"role" enum:"user,assistant,tool"`
	// Of user and tool turns: "user_query", "tool_response" or
	// "user_feedback".
	Kind string `json:"kind,omitempty" enum:"user_query,tool_response,user_feedback"`
	// Text of the message; empty where there is none.
	Text string `json:"text"`
	// Tool calls of an assistant turn.
	ToolCalls []ToolCall `json:"toolCalls"`
	// Tool results of a tool turn, compressed.
	ToolResults []RecordedToolResult `json:"toolResults"`
	// When the message was made, RFC 3339, as the client claimed.
	Time string `json:"time,omitempty"`
}

// RecordedToolResult is a tool result as it is stored.
type RecordedToolResult struct {
	// The id of the call that this answers.
	CallID string `json:"callId"`
	// Whether the tool failed.
	IsError bool `json:"isError,omitempty"`
	// The compressed form with the reference to the whole.
	Compressed CompressedToolResult `json:"compressed"`
}

// CodeChange is one change to files.
type CodeChange struct {
	// Paths as the conversation names them.
	Files []string `json:"files" tool:"paths"`
	// "create", "modify", "delete" or "refactor".
	ChangeType string `json:"changeType" enum:"create,modify,delete,refactor" tool:""`
	// What changed.
	Summary string `json:"summary" tool:"what changed"`
	// "low", "medium" or "high".
	Impact string `json:"impact,omitempty" enum:"low,medium,high" tool:""`
	// Ids of conversations that this belongs to.
	RelatedConversations []string `json:"relatedConversations,omitempty"`
}

// Header is a conversation in one line, at most 40 tokens when rendered.
type Header struct {
	// Id of the conversation.
	ID string `json:"id"`
	// When it began, RFC 3339, as the client claimed.
	Timestamp string `json:"timestamp"`
	// What it is about.
	Topic string `json:"topic"`
	// Files, functions and concepts it speaks of.
	KeyEntities []string `json:"keyEntities"`
	// "ongoing", "completed" or "error".
	Outcome string `json:"outcome" enum:"ongoing,completed,error"`
	// Tokens of the full text.
	TokenCount int `json:"tokenCount"`
	// At most 12 tokens.
	Summary string `json:"summary"`
	// "housekeeping" when the model said it, "rule" when it was extracted.
	Source string `json:"source" enum:"housekeeping,rule"`
}

// Summary is a conversation in at most 120 tokens.
type Summary struct {
	// What happened.
	Content string `json:"content"`
	// Decisions taken.
	KeyDecisions []string `json:"keyDecisions"`
	// Files changed.
	CodeChanges []CodeChange `json:"codeChanges"`
	// What is still open.
	OpenQuestions []string `json:"openQuestions"`
	// Whether the full text can be asked for.
	Retrievable bool `json:"retrievable"`
	// "housekeeping" when the model said it, "rule" when it was extracted.
	Source string `json:"source" enum:"housekeeping,rule"`
	// Share of its claims (names, numbers, quotations, ids) that the conversation
	// bears out, 0 to 1; absent where it was not checked.
	Confidence float64 `json:"confidence,omitempty"`
}

// ActiveEntities are the things work is about at the moment.
type ActiveEntities struct {
	// Paths.
	Files []string `json:"files" tool:""`
	// Functions, methods and types.
	Functions []string `json:"functions" tool:""`
	// Everything else worth a name.
	Concepts []string `json:"concepts" tool:""`
}

// CurrentContext is layer 0, the story so far in at most 300 tokens.
type CurrentContext struct {
	// The story so far.
	OverallNarrative string `json:"overallNarrative" tool:"the story so far"`
	// What is being worked on now.
	CurrentObjective string `json:"currentObjective" tool:"what is being worked on now"`
	// Milestones reached.
	KeyAchievements []string `json:"keyAchievements" tool:"milestones reached"`
	// What is relevant now.
	ActiveEntities ActiveEntities `json:"activeEntities" tool:"what is relevant now"`
	// Where in the journey we are.
	ContextualState string `json:"contextualState" tool:"where in the journey we are"`
	// What is likely to come.
	NextSteps []string `json:"nextSteps" tool:"what is likely to come"`
	// RFC 3339 time of the newest event it speaks of; ignored in params.
	LastUpdated string `json:"lastUpdated,omitempty"`
	// "housekeeping" when the model said it, "rule" when it was extracted;
	// ignored in params.
	Source string `json:"source,omitempty" enum:"housekeeping,rule"`
}

// Housekeeping is what a model says of its own turn.
type Housekeeping struct {
	// The model's account of its answer.
	LLM HousekeepingLLM `json:"llm" tool:"your account of your answer"`
	// The model's understanding of the user.
	User HousekeepingUser `json:"user" tool:"your understanding of the user"`
}

// HousekeepingLLM is the model's account of its answer.
type HousekeepingLLM struct {
	// Topic, outcome and one-line summary for the conversation's header.
	ResponseHeader *ResponseHeader `json:"responseHeader,omitempty" tool:"for the list of conversations"`
	// The conversation's summary.
	ContextSummary string `json:"contextSummary,omitempty" tool:"what happened in this conversation, at most 80 words"`
	// Decisions taken in this turn.
	KeyDecisions []string `json:"keyDecisions,omitempty" tool:"decisions taken"`
	// Changes made in this turn.
	CodeChanges []CodeChange `json:"codeChanges,omitempty" tool:""`
	// What is still open.
	OpenQuestions []string `json:"openQuestions,omitempty" tool:"what is still open"`
	// The new layer 0; absent fields keep their value.
	CurrentContext *CurrentContext `json:"currentContext,omitempty" tool:"the project as a whole; leave out what is as before"`
}

// ResponseHeader is the model's proposal for a conversation's header.
type ResponseHeader struct {
	// What the conversation is about.
	Topic string `json:"topic,omitempty" tool:"what the conversation is about"`
	// One line; trimmed to 12 tokens.
	Summary string `json:"summary,omitempty" tool:"at most 12 words"`
	// Files, functions and concepts.
	KeyEntities []string `json:"keyEntities,omitempty" tool:"files, functions and concepts"`
	// "ongoing", "completed" or "error".
	Outcome string `json:"outcome,omitempty" enum:"ongoing,completed,error" tool:""`
}

// HousekeepingUser is the model's understanding of the user.
type HousekeepingUser struct {
	// The user's query in one line.
	QueryHeader string `json:"queryHeader,omitempty" tool:"the user's query in one line"`
	// What the user wants.
	UnderstoodIntent string `json:"understoodIntent,omitempty" tool:"what the user wants"`
	// Ids of conversations that were of use.
	ContextUsed []string `json:"contextUsed,omitempty" tool:"ids of conversations that were of use"`
	// "positive", "negative" or "neutral".
	Satisfaction string `json:"satisfaction,omitempty" enum:"positive,negative,neutral" tool:"if the user showed it"`
	// What the user corrected.
	Corrections []string `json:"corrections,omitempty" tool:"what the user corrected"`
}

// RetrieveConversations asks for conversations.
type RetrieveConversations struct {
	// Ids of conversations ("c12"), turns ("c12#3") or single tool outputs
	// ("c12#3/2"). With priority "relevant" or "recent" they may be absent.
	ConversationIDs []string `json:"conversationIds,omitempty" tool:"such as c12, or c12#3 for one turn"`
	// "header", "summary", "full" or "mixed" (the default): with query the
	// cheapest that answers it, else the most that fits.
	Format string `json:"format,omitempty" enum:"header,summary,full,mixed" tool:""`
	// "specific" (the ids given), "recent" or "relevant" (to query). When
	// absent: "specific" if there are ids, "relevant" if not.
	Priority string `json:"priority,omitempty" enum:"specific,recent,relevant" tool:""`
	// What it should be relevant to; the last user query when absent. Mixed is to
	// answer it.
	Query string `json:"query,omitempty" tool:"what it should be relevant to"`
	// Most conversations to return for "recent" and "relevant"; 3 when absent,
	// 50 at most.
	Limit int `json:"limit,omitempty" tool:"for recent and relevant"`
	// Where the passages of one id go on, from an earlier item of the same query.
	Cursor string `json:"cursor,omitempty" tool:"of an item, to go on with it"`
}

// ContextRequests is what a model asks for.
type ContextRequests struct {
	// Conversations to show.
	RetrieveConversations []RetrieveConversations `json:"retrieveConversations,omitempty" tool:""`
	// Topics to be summed up from the conversations that speak of them.
	SummarizeTopics []string `json:"summarizeTopics,omitempty" tool:"topics to be summed up"`
	// Ids of the session's conversations that may leave layers 1 and 3.
	ArchiveConversations []string `json:"archiveConversations,omitempty" tool:"ids that are no longer needed"`
}

// ScoreParts are the parts of a relevance score, each 0 to 1. The score is
// their weighted mean, unless a search has another fusion set; parts that the query
// gives no ground for do not count. Lexical, passage and conversation go by words
// alone: they are reduced to their stems, synonyms are not known.
type ScoreParts struct {
	// BM25 of the record's words, by that of the best record.
	Lexical float64 `json:"lexical"`
	// BM25 of the turn together with those around it, by the best.
	Passage float64 `json:"passage"`
	// BM25 of the whole conversation, by the best.
	Conversation float64 `json:"conversation"`
	// How near the turn and its query are in meaning, by the model that the search
	// names, from the least to the most alike of the turns that are compared.
	Semantic float64 `json:"semantic"`
	// How near in time.
	Temporal float64 `json:"temporal"`
	// Files, functions and concepts in common with the query.
	Entities float64 `json:"entities"`
	// Share of the query's errors that it met too.
	Errors float64 `json:"errors"`
	// How often the user or the model came back to the conversation: n times are
	// n/(n+2).
	Visits float64 `json:"visits"`
	// What the conversation proved to be worth (see hexapla/learning/get): 0.5 for
	// one of which nothing is known, and 0, without weight, as long as nothing was
	// learned in the workspace.
	Usefulness float64 `json:"usefulness"`
}
