package wire

import "encoding/json"

// HistoryList is a bare list of messages as the client would send it to a
// provider. It need not have been recorded.
type HistoryList struct {
	// An open session.
	Session string `json:"session"`
	// The messages, oldest first: of Anthropic's Messages, OpenAI's Chat
	// Completions, items of OpenAI's Responses, or contents of Gemini. At most
	// 100,000.
	Messages []json.RawMessage `json:"messages" form:"any"`
	// What is sent apart from the messages and always stays: a text, blocks or a
	// content with parts, as Anthropic's system and Gemini's systemInstruction.
	System json.RawMessage `json:"system,omitempty" form:"any"`
	// Model whose window is the limit and whose tokenizer counts; the session's
	// when absent.
	Model string `json:"model,omitempty"`
	// Tokens that the model takes, instead of its context window.
	Limit int `json:"limit,omitempty"`
	// Percent of the limit above which a list needs pruning, and to which it is
	// pruned; 80 when absent.
	Threshold int `json:"threshold,omitempty"`
}

// HistoryProblem is something in a list that a provider would refuse.
type HistoryProblem struct {
	// Index of the message.
	Message int `json:"message"`
	// "orphanedResult" (a result whose call no message before it makes) or
	// "unansweredCall" (a call, not in the newest message, that has no result).
	Kind string `json:"kind" enum:"orphanedResult,unansweredCall"`
}

// HistoryState is how full a list of messages is.
type HistoryState struct {
	// Messages.
	Items int `json:"items"`
	// Tokens of their texts, calls, results and thoughts, and of system; a medium
	// counts as 1,600. What the provider adds around messages is not counted.
	Tokens int `json:"tokens"`
	// Tokens of system alone.
	SystemTokens int `json:"systemTokens"`
	// Tokens that the model takes.
	Limit int `json:"limit"`
	// Percent of the limit that is used.
	UtilizationPercent float64 `json:"utilizationPercent"`
	// Whether that is over the threshold.
	NeedsPruning bool `json:"needsPruning"`
	// The threshold in percent.
	Threshold int `json:"threshold"`
	// Whether the model is in the table; for others the default's window counts.
	ModelKnown bool `json:"modelKnown"`
	// Whether tokens are an estimate, because the tokenizer is not public.
	Estimate bool `json:"estimate"`
	// What a provider would refuse.
	Problems []HistoryProblem `json:"problems"`
}

// HistoryStatsParams asks how full a list of messages is.
type HistoryStatsParams struct {
	HistoryList
}

// HistoryStatsResult is how full it is.
type HistoryStatsResult struct {
	HistoryState
}

// HistoryPruneParams asks for a list that fits a budget.
type HistoryPruneParams struct {
	HistoryList
	// Tokens of what stays, with system; threshold percent of the limit when
	// absent.
	Budget int `json:"budget,omitempty"`
	// True to get the list itself back, beside the indices.
	Return bool `json:"return,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// HistoryScore is how much a message is worth, 0 to 100, with its parts.
type HistoryScore struct {
	// The sum of the parts.
	Total float64 `json:"total"`
	// 0 for the oldest message to 40 for the newest.
	Recency float64 `json:"recency"`
	// 30 for a system prompt, 20 for the user, 10 for the model and results of
	// tools.
	Role float64 `json:"role"`
	// 10 for errors, 8 for calls of tools and their results, 7 for edits, tests
	// and commands.
	Keywords float64 `json:"keywords"`
	// 5 for 1,000 tokens and more, less for fewer.
	Length float64 `json:"length"`
}

// RemovedMessage is a message that was removed.
type RemovedMessage struct {
	// Index of the message in the list that was sent.
	Message int `json:"message"`
	// Name under which hexapla/history/get gives it back. The same message has
	// the same name.
	Archived string `json:"archived"`
	// Tokens.
	Tokens int `json:"tokens"`
	// "budget" (others are worth more), "opening" (it stood before the first
	// words of the user that stay), "broken" (a result without its call, or a call
	// without its result), "summarized" (the summary stands for it) or "older" (than
	// those that stay in a tier).
	Reason string `json:"reason" enum:"budget,opening,broken,summarized,older"`
	// What it is worth. It stays or goes with the others of its unit, by the
	// highest of them.
	Score HistoryScore `json:"score"`
}

// HistoryPruneResult is what became of the list.
type HistoryPruneResult struct {
	// Whether anything was removed.
	Changed bool `json:"changed"`
	// Indices of the messages that stay, in order.
	Kept []int `json:"kept"`
	// The others, in order; all are archived when the reply is given.
	Removed []RemovedMessage `json:"removed"`
	// The list as it was.
	Before HistoryState `json:"before"`
	// The list as it is.
	After HistoryState `json:"after"`
	// The messages that stay, when asked for.
	Messages []json.RawMessage `json:"messages,omitempty" form:"any"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// HistoryManageParams asks for a list that fits a budget if it is over the
// threshold, and for the list as it is otherwise.
type HistoryManageParams struct {
	HistoryPruneParams
}

// HistoryManageResult is what became of the list.
type HistoryManageResult struct {
	HistoryPruneResult
}

// HistorySummarizeParams asks for a list of which all but the last messages are
// one.
type HistorySummarizeParams struct {
	HistoryList
	// How many messages stay, at least; 10 when absent. More stay where a call
	// would be parted from its result.
	Keep int `json:"keep,omitempty"`
	// True to get the list itself back, beside the indices.
	Return bool `json:"return,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// HistorySummarizeResult is what became of the list.
type HistorySummarizeResult struct {
	HistoryPruneResult
	// A message of the user in the shape of the others that stands for the removed
	// ones; absent when none were.
	Summary json.RawMessage `json:"summary,omitempty" form:"any"`
	// Its place: how many of kept stand before it.
	SummaryAt int `json:"summaryAt"`
	// Its tokens.
	SummaryTokens int `json:"summaryTokens"`
}

// HistoryGetParams names archived messages.
type HistoryGetParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Names from removed; at most 1,000.
	Archived []string `json:"archived"`
}

// ArchivedMessage is a message that was removed from a list.
type ArchivedMessage struct {
	// Its name.
	Archived string `json:"archived"`
	// The message as it was stored.
	Message json.RawMessage `json:"message" form:"any"`
}

// HistoryGetResult is archived messages.
type HistoryGetResult struct {
	// The messages, in the order asked for.
	Messages []ArchivedMessage `json:"messages"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// PrunedParams tells that a list of messages was pruned.
type PrunedParams struct {
	// The session.
	Session string `json:"session"`
	// Messages that were removed.
	Removed int `json:"removed"`
	// Messages that stay.
	Kept int `json:"kept"`
	// Tokens before.
	Original int `json:"original"`
	// Tokens after.
	Final int `json:"final"`
	// Tokens that the model takes.
	Limit int `json:"limit"`
	// The sequence number at which the removed messages are archived.
	Sequence int64 `json:"sequence"`
}

// SummarizedParams tells that messages were put into a summary.
type SummarizedParams struct {
	PrunedParams
	// Tokens of the summary.
	SummaryTokens int `json:"summaryTokens"`
}
