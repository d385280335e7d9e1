package wire

// ConversationRecordParams carries turns.
type ConversationRecordParams struct {
	// The session.
	Session string `json:"session"`
	// The conversation to go on with. When absent, turns that begin with a
	// user_query open the next conversation (completing the one in progress),
	// and other turns go to the one in progress.
	Conversation string `json:"conversation,omitempty"`
	// At least one turn, or done.
	Turns []Turn `json:"turns,omitempty"`
	// Whether this completes the conversation.
	Done bool `json:"done,omitempty"`
	// With done: "completed" or "error"; "completed" when absent.
	Outcome string `json:"outcome,omitempty" enum:"completed,error"`
	// What the model said of the exchange.
	Housekeeping *Housekeeping `json:"housekeeping,omitempty"`
	// Idempotency key: the same key and content give the same reply.
	Key string `json:"key,omitempty"`
}

// ConversationRecordResult is the receipt: the turns are on disk.
type ConversationRecordResult struct {
	// Id of the conversation.
	Conversation string `json:"conversation"`
	// Numbers given to the turns, in order.
	TurnNumbers []int `json:"turnNumbers"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// Whether this opened the conversation.
	Opened bool `json:"opened"`
	// Whether the conversation is completed.
	Done bool `json:"done"`
	// Id of the conversation that this completed by opening the next, if any.
	Completed string `json:"completed,omitempty"`
	// Compressed form of each tool result, in order.
	ToolResults []CompressedToolResult `json:"toolResults"`
	// Claims of the housekeeping that nothing bears out, and that were left out.
	Flagged []Flag `json:"flagged"`
	// Things the client should know, such as "text_normalised".
	Warnings []string `json:"warnings"`
	// Context requests that waited for room, which these turns brought. They are
	// part of the next pack.
	ServedDeferred []ContextItem `json:"servedDeferred,omitempty"`
	// Context requests that waited for too long.
	Expired []Deferral `json:"expired,omitempty"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// ConversationListParams asks for the conversations of a workspace.
type ConversationListParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Only those of this session, which may be closed.
	Of string `json:"of,omitempty"`
	// Only those with this outcome: "ongoing", "completed" or "error".
	Outcome string `json:"outcome,omitempty" enum:"ongoing,completed,error"`
	// Most conversations to return; 100 when absent, 1,000 at most.
	Limit int `json:"limit,omitempty"`
	// Read as of this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
	// Where to go on, from an earlier result.
	Cursor string `json:"cursor,omitempty"`
}

// ConversationListResult is the conversations, newest first. Those that an edit
// took the place of are not among them.
type ConversationListResult struct {
	// The conversations.
	Conversations []ListedConversation `json:"conversations"`
	// Where to go on; absent at the end.
	Cursor string `json:"cursor,omitempty"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
}

// ListedConversation is a conversation in a list.
type ListedConversation struct {
	// Its header, made of its first turn where none was written yet.
	Header Header `json:"header"`
	// The session that it is of.
	Session string `json:"session"`
	// Number of its turns.
	Turns int `json:"turns"`
	// The sequence number at which it was opened.
	Opened int64 `json:"opened"`
	// Whether it comes from another memory.
	Shared bool `json:"shared,omitempty"`
}

// ConversationGetParams names a conversation and a detail.
type ConversationGetParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The conversation: its id, one that it superseded, an alias, or a version
	// before an edit ("c12@1").
	Conversation string `json:"conversation"`
	// "header", "summary", "full" (the default) or "mixed" (the cheapest that
	// answers query; without one, the most that fits maxTokens).
	Detail string `json:"detail,omitempty" enum:"header,summary,full,mixed"`
	// What "mixed" is to answer.
	Query string `json:"query,omitempty"`
	// Most tokens of text to return; no limit when absent.
	MaxTokens int `json:"maxTokens,omitempty"`
	// Read as of this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
	// Where to go on, from an earlier result.
	Cursor string `json:"cursor,omitempty"`
}

// ConversationGetResult is the conversation in the detail asked for.
type ConversationGetResult struct {
	// The conversation that was read: what a superseded id or an alias stands
	// for.
	Conversation string `json:"conversation"`
	// "header", "summary", "full", or "mixed" for passages of the full text: the
	// detail that text is in.
	Detail string `json:"detail" enum:"header,summary,full,mixed"`
	// Share of the query's words that text holds, 0 to 1, where mixed was to
	// answer one.
	Covered float64 `json:"covered,omitempty"`
	// What it was before edits, oldest first; the newest 100.
	Versions []ConversationVersion `json:"versions,omitempty"`
	// The conversation as it stands in a pack.
	Text string `json:"text"`
	// Tokens of text.
	Tokens int `json:"tokens"`
	// Always given.
	Header Header `json:"header"`
	// Given for summary and full.
	Summary *Summary `json:"summary,omitempty"`
	// Given for full: the turns that text covers.
	Turns []RecordedTurn `json:"turns"`
	// Where these come from, each tool result by itself.
	Sources []Provenance `json:"sources"`
	// The least trust of what the conversation is made of, and so that of its
	// header and summary: "user", "assistant", "tool" or "web". Absent where an
	// earlier version wrote them.
	Trust string `json:"trust,omitempty" enum:"user,assistant,tool,web"`
	// Where to go on, when maxTokens cut the text.
	Cursor string `json:"cursor,omitempty"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
}

// ToolRecordParams carries a tool output.
type ToolRecordParams struct {
	// The session.
	Session string `json:"session"`
	// Name of the tool.
	Tool string `json:"tool"`
	// Arguments of the call as JSON; helps to compress the output.
	Input any `json:"input,omitempty"`
	// The whole output as text.
	Content string `json:"content"`
	// Media type; "text/plain" when absent.
	MIME string `json:"mime,omitempty"`
	// Whether the tool failed.
	IsError bool `json:"isError,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// ToolRecordResult is the receipt: the output is on disk.
type ToolRecordResult struct {
	// The compressed form with the reference to the whole.
	Compressed CompressedToolResult `json:"compressed"`
	// Whether the same bytes were stored before.
	Duplicate bool `json:"duplicate"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// Things the client should know, such as "text_normalised".
	Warnings []string `json:"warnings"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// BlobReadParams names stored bytes.
type BlobReadParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The blob.
	SHA256 string `json:"sha256"`
	// First byte to return.
	Offset int64 `json:"offset,omitempty"`
	// Most bytes to return; 1 MiB when absent, 16 MiB at most.
	Length int64 `json:"length,omitempty"`
}

// BlobReadResult is the bytes as text.
type BlobReadResult struct {
	// The blob.
	Blob BlobRef `json:"blob"`
	// The bytes; cut at a character's border.
	Text string `json:"text"`
	// First byte of text.
	Offset int64 `json:"offset"`
	// Where to go on; absent at the end.
	NextOffset int64 `json:"nextOffset,omitempty"`
}

// RecordedParams tells of a committed write.
type RecordedParams struct {
	// The session.
	Session string `json:"session"`
	// The method that wrote.
	Method string `json:"method"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// The conversation, if one was written to.
	Conversation string `json:"conversation,omitempty"`
}
