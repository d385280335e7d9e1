package wire

// LimitsErrorsParams asks what went wrong with limits.
type LimitsErrorsParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Only what concerns this session.
	OnlySession bool `json:"onlySession,omitempty"`
	// Only this: "TOKEN_LIMIT_EXCEEDED", "BREAKER_FAILED" or "RECOVERY_TRIGGERED".
	Code string `json:"code,omitempty" enum:"TOKEN_LIMIT_EXCEEDED,BREAKER_FAILED,RECOVERY_TRIGGERED"`
	// Only what concerns this agent.
	Agent string `json:"agent,omitempty"`
	// Only what happened then or later, RFC 3339, by the server's clock.
	Since string `json:"since,omitempty"`
	// Only what happened then or earlier.
	Until string `json:"until,omitempty"`
	// Most entries; 50 when absent, 500 at most.
	Limit int `json:"limit,omitempty"`
	// Where to go on, from an earlier result.
	Cursor string `json:"cursor,omitempty"`
}

// LimitError is something that went wrong with a limit.
type LimitError struct {
	// Number of the entry in the log.
	Entry int `json:"entry"`
	// When, RFC 3339, by the server's clock.
	Time string `json:"time"`
	// The session.
	Session string `json:"session"`
	// Its agent.
	Agent string `json:"agent,omitempty"`
	// Type of its model, where a limit is set for it.
	LLM string `json:"llm,omitempty"`
	// "TOKEN_LIMIT_EXCEEDED", "BREAKER_FAILED", "RECOVERY_TRIGGERED".
	Codes []string `json:"codes"`
	// Whether it was a pack, and not a list of units.
	Pack bool `json:"pack"`
	// Why it was given up, if it was: "chainFailed", "overHits", "reset" or
	// "milestone".
	Trigger string `json:"trigger,omitempty" enum:"chainFailed,overHits,reset,milestone"`
	// Tokens.
	Limit int `json:"limit"`
	// Tokens before.
	Before int `json:"before"`
	// Tokens after.
	After int `json:"after"`
	// Strategies that held, and the recovery, such as "recovery:fresh_start".
	Action []string `json:"action"`
}

// LimitPattern is an error that came so often.
type LimitPattern struct {
	// "TOKEN_LIMIT_EXCEEDED", "BREAKER_FAILED" or "RECOVERY_TRIGGERED".
	Code string `json:"code" enum:"TOKEN_LIMIT_EXCEEDED,BREAKER_FAILED,RECOVERY_TRIGGERED"`
	// Of which agent.
	Agent string `json:"agent,omitempty"`
	// With which type of model.
	LLM string `json:"llm,omitempty"`
	// Of recoveries, why: "chainFailed", "overHits", "reset" or "milestone".
	Trigger string `json:"trigger,omitempty" enum:"chainFailed,overHits,reset,milestone"`
	// How often.
	Count int `json:"count"`
	// When first, RFC 3339.
	First string `json:"first"`
	// When last.
	Last string `json:"last"`
}

// LimitsErrorsResult is what went wrong.
type LimitsErrorsResult struct {
	// Newest first.
	Errors []LimitError `json:"errors"`
	// Of all that the filter lets through among the newest 10,000 entries, most
	// frequent first.
	Patterns []LimitPattern `json:"patterns"`
	// Where to go on; absent at the end.
	Cursor string `json:"cursor,omitempty"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// LimitsRewardsParams asks what breakings were worth.
type LimitsRewardsParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Most entries; 1,000 when absent, 10,000 at most.
	Limit int `json:"limit,omitempty"`
	// Where to go on, from an earlier result.
	Cursor string `json:"cursor,omitempty"`
}

// LimitState is a context in numbers.
type LimitState struct {
	// Units.
	Units int `json:"units"`
	// Tokens.
	Tokens int `json:"tokens"`
	// Units of priority 1.
	P1 int `json:"p1"`
	// The limit.
	Limit int `json:"limit"`
	// Type of the model, where a limit is set for it.
	LLM string `json:"llm,omitempty"`
	// How near it is to the context before, 0 to 1.
	Coherence float64 `json:"coherence"`
}

// LimitReward is a breaking as something to learn from.
type LimitReward struct {
	// Before.
	StateBefore LimitState `json:"stateBefore"`
	// Strategies that held, and the recovery, such as "recovery:fresh_start".
	Action []string `json:"action"`
	// What it was worth, -2 to 2.
	Reward float64 `json:"reward"`
	// After.
	StateAfter LimitState `json:"stateAfter"`
}

// LimitsRewardsResult is breakings, oldest first.
type LimitsRewardsResult struct {
	// The breakings of lists of units in the workspace.
	Rewards []LimitReward `json:"rewards"`
	// Where to go on; absent at the end.
	Cursor string `json:"cursor,omitempty"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// LimitPriority is the highest priority in a context, as a badge.
type LimitPriority struct {
	// 1 to 3.
	Priority int `json:"priority"`
	// What to show, such as "P1: To Do List".
	Label string `json:"label"`
	// Its colour, in CSS.
	Color string `json:"color"`
}

// LimitDetails is what an editor shows of a breaking that is done.
type LimitDetails struct {
	// Tokens before.
	Before int `json:"before"`
	// Tokens after.
	After int `json:"after"`
	// Strategies that held.
	Strategies []string `json:"strategies"`
	// Units that were discarded.
	Discarded int `json:"discarded"`
	// Units that are part of a summary.
	Summarized int `json:"summarized"`
	// Units that were compressed.
	Compressed int `json:"compressed"`
	// The beginning of the handover summary of a fresh start.
	Handover string `json:"handover,omitempty"`
	// Names under which hexapla/history/get gives back what was taken out, the first
	// 1,000.
	Archived []string `json:"archived"`
	// What went wrong: "TOKEN_LIMIT_EXCEEDED", "BREAKER_FAILED",
	// "RECOVERY_TRIGGERED".
	Errors []string `json:"errors"`
}

// LimitsParams tells what a breaking is at.
type LimitsParams struct {
	// The session.
	Session string `json:"session"`
	// "detection", "summarize_old", "prioritize_recent", "content_chunking",
	// "discard_low_rel", "hybrid", "success", "recovery", "handover" or "failed".
	Phase string `json:"phase" enum:"detection,summarize_old,prioritize_recent,content_chunking,discard_low_rel,hybrid,success,recovery,handover,failed"`
	// Percent of the limit that is used, at most 100; -1 where that says nothing.
	Progress int `json:"progress"`
	// For people.
	Message string `json:"message"`
	// Of VS Code's icons.
	Icon string `json:"icon"`
	// Of the progress bar, in CSS.
	Color string `json:"color"`
	// The badge; absent if nothing has a priority.
	Priority *LimitPriority `json:"priority,omitempty"`
	// Tokens now.
	Tokens int `json:"tokens"`
	// Tokens that the agent may have.
	Limit int `json:"limit"`
	// Whether it is a pack, and not a list of units.
	Pack bool `json:"pack"`
	// Given with the last phase of a breaking.
	Details *LimitDetails `json:"details,omitempty"`
	// How the user wants it to be shown.
	Show LimitProgress `json:"show"`
}

// TaskParams tells of a task that is due.
type TaskParams struct {
	// The session.
	Session string `json:"session"`
	// Its agent.
	Agent string `json:"agent,omitempty"`
	// The task.
	LimitTask
	// The sequence number at which it was noted.
	Sequence int64 `json:"sequence"`
}

// PackLimit is what a limit did to a pack.
type PackLimit struct {
	LimitInForce
	// Tokens of the pack.
	Used int `json:"used"`
	// Whether that is over the warning mark: what must be in it takes so much.
	Warned bool `json:"warned"`
	// Whether it is over the limit, for the same reason. It is within the budget all
	// the same.
	Over bool `json:"over"`
	// Whether the stream was folded for it.
	Broken bool `json:"broken"`
}
