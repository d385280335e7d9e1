package wire

// ConversationEditParams says what a turn is to be. What is absent stays.
type ConversationEditParams struct {
	// The session.
	Session string `json:"session"`
	// A conversation of the session.
	Conversation string `json:"conversation"`
	// Number of the turn.
	Turn int `json:"turn"`
	// The new text.
	Content *string `json:"content,omitempty"`
	// The new tool calls of an assistant turn; none when empty.
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// The new tool results of a tool turn, all of them.
	ToolResults []ToolResult `json:"toolResults,omitempty"`
	// Cut off all that came after the turn: the rest of the conversation and the
	// session's later ones. A new conversation with the turns up to this one
	// takes their place, and their ids stand for it.
	Truncate bool `json:"truncate,omitempty"`
	// Why, at most 1 KiB; kept with the version before.
	Reason string `json:"reason,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// ConversationEditResult is the receipt: the new version is on disk.
type ConversationEditResult struct {
	// The conversation that has the turn now: a new one if this cut off others.
	Conversation string `json:"conversation"`
	// Id of the turn as it is now, such as "c12#3".
	Turn string `json:"turn"`
	// Id under which the turn can be asked for as it was, such as "c12@1#3".
	Before string `json:"before"`
	// Conversations that were cut off. Their ids stand for the new one.
	Superseded []string `json:"superseded"`
	// The conversation's new header.
	Header Header `json:"header"`
	// Compressed form of each new tool result, in order.
	ToolResults []CompressedToolResult `json:"toolResults"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// ConversationVersion is what a conversation was before an edit.
type ConversationVersion struct {
	// Id to ask for it by, such as "c12@1".
	ID string `json:"id"`
	// The newest sequence number at which it was so.
	Sequence int64 `json:"sequence"`
	// The turn that was edited; absent if the conversation was cut off with one
	// before it.
	Turn int `json:"turn,omitempty"`
	// The conversation that took its place, if one did.
	By string `json:"by,omitempty"`
	// Why, if it was said.
	Reason string `json:"reason,omitempty"`
}

// ConversationAliasParams gives a conversation another name.
type ConversationAliasParams struct {
	// The session.
	Session string `json:"session"`
	// The name, such as an id of another program: at most 200 bytes, without
	// white space, "#" and "@", and not of the form of a conversation's id. A name
	// that stands for something already is moved.
	Alias string `json:"alias"`
	// A conversation of the session, or a name that stands for one. A name never
	// stands for itself, over however many steps; 64 at most.
	To string `json:"to"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// ConversationAliasResult tells what the name stands for.
type ConversationAliasResult struct {
	// The conversation that it stands for in the end.
	Conversation string `json:"conversation"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// ContextDeferralsParams asks for what waits.
type ContextDeferralsParams struct {
	// The session.
	Session string `json:"session"`
}

// Deferral is a request that waits for room.
type Deferral struct {
	// Id of the deferral, such as "d7".
	ID string `json:"id"`
	// The id asked for.
	Conversation string `json:"conversation"`
	// The detail asked for: "header", "summary", "full" or "mixed".
	Detail string `json:"detail" enum:"header,summary,full,mixed"`
	// The query that mixed was to answer.
	Query string `json:"query,omitempty"`
	// "quota" or "budget": why it was not served.
	Reason string `json:"reason" enum:"quota,budget"`
	// The sequence number as of which it was asked for.
	Sequence int64 `json:"sequence"`
	// Turns of the session that may yet be recorded before it expires; negative
	// once it has.
	TurnsLeft int `json:"turnsLeft"`
}

// ContextDeferralsResult lists what waits.
type ContextDeferralsResult struct {
	// The deferrals, oldest first; at most 200.
	Deferrals []Deferral `json:"deferrals"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// ContextCancelParams names deferrals.
type ContextCancelParams struct {
	// The session.
	Session string `json:"session"`
	// Ids of deferrals that wait. If one does not, none is cancelled.
	Deferrals []string `json:"deferrals"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// ContextCancelResult confirms the cancellation.
type ContextCancelResult struct {
	// The deferrals that wait no more.
	Cancelled []string `json:"cancelled"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}
