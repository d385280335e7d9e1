package wire

// SessionOpenParams names the workspace and says who is speaking.
type SessionOpenParams struct {
	// The root folder.
	Workspace Workspace `json:"workspace"`
	// Id of the session to open or resume; chosen by the server when absent.
	Session string `json:"session,omitempty"`
	// Name of the agent, such as "main" or "reviewer".
	Agent string `json:"agent,omitempty"`
	// Model that will be called; chooses the tokenizer.
	Model string `json:"model,omitempty"`
	// A title for people.
	Title string `json:"title,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// SessionOpenResult describes the open session.
type SessionOpenResult struct {
	// Id of the session; all other calls take it.
	Session string `json:"session"`
	// Id of the workspace, derived from its URI.
	Workspace string `json:"workspace"`
	// Whether the session existed before.
	Resumed bool `json:"resumed"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// Conversations in the workspace.
	Conversations int `json:"conversations"`
	// Id of the session's conversation in progress, if any.
	Ongoing string `json:"ongoing,omitempty"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
	// How the root folder was found: "new", "known", "moved" (it had another name
	// when it was opened last), "replaced" (another folder had its name; this one
	// has a workspace of its own) or "gone" (it is not there; its memory is).
	WorkspaceState string `json:"workspaceState" enum:"new,known,moved,replaced,gone"`
	// A workspace that may have been this folder's. The user is to be asked, and
	// workspace/adopt says what they chose.
	Candidate *AdoptCandidate `json:"candidate,omitempty"`
}

// SessionListParams names a workspace by URI or by an open session.
type SessionListParams struct {
	// The root folder.
	Workspace *Workspace `json:"workspace,omitempty"`
	// An open session of the workspace.
	Session string `json:"session,omitempty"`
}

// SessionInfo is one session in a list.
type SessionInfo struct {
	// Id of the session.
	Session string `json:"session"`
	// As given at open.
	Agent string `json:"agent,omitempty"`
	// As given at open.
	Title string `json:"title,omitempty"`
	// As given at open.
	Model string `json:"model,omitempty"`
	// Sequence at which it was opened first.
	Opened int64 `json:"opened"`
	// Whether it was closed.
	Closed bool `json:"closed"`
	// Conversations recorded in it.
	Conversations int `json:"conversations"`
}

// SessionListResult is the list, newest first.
type SessionListResult struct {
	// The sessions.
	Sessions []SessionInfo `json:"sessions"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// SessionCloseParams names the session to close.
type SessionCloseParams struct {
	// The session.
	Session string `json:"session"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// SessionCloseResult confirms the close.
type SessionCloseResult struct {
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// Id of the conversation that this completed, if any.
	Completed string `json:"completed,omitempty"`
}

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

// HousekeepingApplyParams carries housekeeping.
type HousekeepingApplyParams struct {
	// The session.
	Session string `json:"session"`
	// The conversation it speaks of; the newest of the session when absent.
	Conversation string `json:"conversation,omitempty"`
	// What the model says.
	Housekeeping Housekeeping `json:"housekeeping"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// HousekeepingApplyResult shows what came of it.
type HousekeepingApplyResult struct {
	// The conversation.
	Conversation string `json:"conversation"`
	// The conversation's header now.
	Header Header `json:"header"`
	// The conversation's summary now.
	Summary Summary `json:"summary"`
	// Layer 0 now.
	CurrentContext CurrentContext `json:"currentContext"`
	// Fields that were over their cap and were trimmed.
	Trimmed []string `json:"trimmed"`
	// Claims of the housekeeping that nothing bears out, and that were left out.
	Flagged []Flag `json:"flagged"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

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

// AuditQueryParams filters the audit log.
type AuditQueryParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Only packs of the session, not of the whole workspace.
	OnlySession bool `json:"onlySession,omitempty"`
	// Only packs with this checksum.
	Checksum string `json:"checksum,omitempty"`
	// Only packs as of this sequence number or a newer one.
	FromSequence int64 `json:"fromSequence,omitempty"`
	// Only packs as of this sequence number or an older one.
	ToSequence int64 `json:"toSequence,omitempty"`
	// Only packs that were built at this time (RFC 3339) or later.
	Since string `json:"since,omitempty"`
	// Only packs that were built before this time (RFC 3339).
	Until string `json:"until,omitempty"`
	// Only packs whose last fold was made for this reason, as in Pack: "start",
	// "window", "budget", "fill", "opening" or "profile".
	EpochReason string `json:"epochReason,omitempty" enum:"start,window,budget,fill,opening,profile"`
	// Also the items of each section.
	Items bool `json:"items,omitempty"`
	// Most entries to return; 20 when absent, 200 at most.
	Limit int `json:"limit,omitempty"`
	// Where to go on, from an earlier result.
	Cursor string `json:"cursor,omitempty"`
}

// AuditEntry is one pack that was built.
type AuditEntry struct {
	// Number of the entry.
	Entry int64 `json:"entry"`
	// The session.
	Session string `json:"session"`
	// Checksum of the pack.
	Checksum string `json:"checksum"`
	// Checksum of the session's pack before, of the same layout, if there was one.
	Previous string `json:"previous,omitempty"`
	// Things that the pack before showed in more detail.
	Lost int `json:"lost"`
	// The sequence number it was built at.
	Sequence int64 `json:"sequence"`
	// When, RFC 3339.
	Time string `json:"time"`
	// What it was made of, in the order of its text.
	Sections []AuditSection `json:"sections"`
	// All tokens.
	Tokens int `json:"tokens"`
	// The sequence number of the last fold, as in Pack; absent in entries of
	// servers that did not note it.
	Epoch int64 `json:"epoch,omitempty"`
	// Why that fold was made, as in Pack: "start", "window", "budget", "fill",
	// "opening" or "profile";
	// absent like epoch.
	EpochReason string `json:"epochReason,omitempty" enum:"start,window,budget,fill,opening,profile"`
	// What was left out or reduced, and why: the first 50 of the pack's.
	Dropped []Dropped `json:"dropped"`
	// How many the pack has of these; absent where there are none.
	DroppedTotal int `json:"droppedTotal,omitempty"`
	// Digest of the settings that were in force.
	Settings string `json:"settings"`
}

// AuditSection is a section of a pack that was built.
type AuditSection struct {
	// Name of the section, as in Section.
	Name string `json:"name"`
	// Tokens.
	Tokens int `json:"tokens"`
	// What is in it, in order, if it was asked for; absent in entries of servers
	// that did not note it.
	Items []PackItem `json:"items,omitempty"`
}

// SectionTokens is the tokens of a section.
type SectionTokens struct {
	// Name of the section.
	Name string `json:"name"`
	// Tokens.
	Tokens int `json:"tokens"`
}

// AuditQueryResult is the entries, newest first.
type AuditQueryResult struct {
	// The entries.
	Entries []AuditEntry `json:"entries"`
	// Where to go on.
	Cursor string `json:"cursor,omitempty"`
}

// PackedParams tells of a pack that was built.
type PackedParams struct {
	// The session.
	Session string `json:"session"`
	// Checksum of the pack.
	Checksum string `json:"checksum"`
	// The sequence number it was built at.
	Sequence int64 `json:"sequence"`
	// Tokens used.
	Tokens int `json:"tokens"`
	// Tokens available.
	Available int `json:"available"`
	// Share of the pack that is the same bytes as the one before, 0 to 1.
	CachedShare float64 `json:"cachedShare"`
	// Things left out or reduced.
	Dropped int `json:"dropped"`
	// Things that the session's pack before showed in more detail; see
	// hexapla/pack/receipt.
	Lost int `json:"lost"`
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
