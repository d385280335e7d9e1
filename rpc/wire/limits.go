package wire

// LimitTarget says whose limit is meant.
type LimitTarget struct {
	// An open session.
	Session string `json:"session"`
	// Agent whose limit counts: one that something is set for, or one of a session;
	// the session's own when absent.
	Agent string `json:"agent,omitempty"`
	// Type of model for which a limit is set, such as "local_14b"; that of the
	// session's model when absent.
	LLM string `json:"llm,omitempty"`
	// True where the work has priority 1 whatever is set for the agent: a fifth
	// more.
	P1 bool `json:"p1,omitempty"`
	// Tokens, instead of what is set for agent and type. The floor counts all the
	// same.
	Limit int `json:"limit,omitempty"`
}

// LimitInForce is a limit.
type LimitInForce struct {
	// Tokens.
	Limit int `json:"limit"`
	// Tokens at which breaking starts, and to which it goes.
	Warning int `json:"warning"`
	// What decided: "default", "agent", "llm" or "floor" (it would have been lower).
	Source string `json:"source" enum:"default,agent,llm,floor"`
	// Type of the model, where a limit is set for it.
	LLM string `json:"llm,omitempty"`
	// Whether a fifth was added.
	P1 bool `json:"p1"`
}

// LimitPressure is how often contexts were near their limit in the last hour.
type LimitPressure struct {
	// Contexts over their warning mark.
	Warnings int `json:"warnings"`
	// Contexts over their limit, since the last recovery.
	OverHits int `json:"overHits"`
	// How far that speaks for a loop, 0 to 1. At 1, the third in an hour, a context
	// is given up.
	LoopFactor float64 `json:"loopFactor"`
}

// RetryPolicy is how often a call is tried that may fail for a moment.
type RetryPolicy struct {
	// The tool; absent for all others.
	Tool string `json:"tool,omitempty"`
	// Attempts, the first one among them.
	MaxAttempts int `json:"maxAttempts"`
	// Seconds before the second attempt, doubled for each further one.
	BackoffBaseSeconds int `json:"backoffBaseSeconds"`
	// Seconds that a wait takes at most.
	MaxDelaySeconds int `json:"maxDelaySeconds"`
}

// LimitProgress is how the user wants phases to be shown.
type LimitProgress struct {
	// Whether at all; if not, hexapla/event/limits is not sent.
	Show bool `json:"show"`
	// "minimal", "normal" or "detailed".
	DetailLevel string `json:"detailLevel" enum:"minimal,normal,detailed"`
	// Seconds after which a finished one is hidden, 1 to 10.
	AutoHideSeconds int `json:"autoHideSeconds"`
	// Whether protection of priority 1 is set off.
	HighlightP1 bool `json:"highlightP1"`
}

// SettingProblem is what is wrong with a document of settings. It counts as it was
// before, or not at all.
type SettingProblem struct {
	// "hexapla.yaml" (the user's), ".hexapla.yaml" (the workspace's) or
	// "initializationOptions".
	File string `json:"file"`
	// From 1; absent where the document as a whole is wrong.
	Line int `json:"line,omitempty"`
	// From 1.
	Column int `json:"column,omitempty"`
	// The key, such as "context_config.per_llm[0].limit".
	Key string `json:"key,omitempty"`
	// What is wrong.
	Message string `json:"message"`
}

// LimitsStatusParams asks which limit is in force.
type LimitsStatusParams struct {
	LimitTarget
}

// LimitsStatusResult is the limit that is in force and what led up to it.
type LimitsStatusResult struct {
	LimitInForce
	// The agent.
	Agent string `json:"agent,omitempty"`
	// No limit is below this many tokens.
	Floor int `json:"floor"`
	// Whether packs are built within the limit: where anything is set.
	Packs bool `json:"packs"`
	// Tokens of the session's newest pack; absent if this process has built none.
	Used int `json:"used,omitempty"`
	// The last hour.
	Pressure LimitPressure `json:"pressure"`
	// Strategies in the order in which they are tried.
	Chain []string `json:"chain"`
	// What happens when none helps: "fresh_start", "truncate" or "error".
	RecoveryMode string `json:"recoveryMode" enum:"fresh_start,truncate,error"`
	// The policy for tools that have none of their own, then those that have one.
	Retry []RetryPolicy `json:"retry"`
	// How phases are shown.
	Progress LimitProgress `json:"progress"`
	// Documents that count, in their order.
	Settings []string `json:"settings"`
	// What is wrong with documents.
	Problems []SettingProblem `json:"problems"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// LimitUnit is one piece of a context.
type LimitUnit struct {
	// A name; what is put in the place of others gets one, too.
	ID string `json:"id,omitempty"`
	// "message", "text", "code", "plan_ref", "log", "summary", "placeholder" or
	// "other".
	Type string `json:"type" enum:"message,text,code,plan_ref,log,summary,placeholder,other"`
	// Of code, the file's name or the language: "go", "typescript", "python", "lua",
	// "rust" or "java".
	Name string `json:"name,omitempty"`
	// The text.
	Content string `json:"content"`
	// 1 (stays to the byte) to 3; 0 for none.
	Priority int `json:"priority,omitempty"`
	// Tokens, in results; what a client gives is not read.
	Tokens int `json:"tokens,omitempty"`
}

// LimitsBreakParams asks for a context that is within its limit.
type LimitsBreakParams struct {
	LimitTarget
	// The context, oldest first: at most 10,000 units and 16 MiB.
	Units []LimitUnit `json:"units"`
	// What it is about, such as the user's query; what its newest units say when
	// absent.
	About string `json:"about,omitempty"`
	// What is to be gone on with where the context is given up, such as a task's id.
	Task string `json:"task,omitempty"`
	// Names of the areas of priority 1, 2 and 3, such as "To Do List".
	PriorityAreas []string `json:"priorityAreas,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// LimitFate is what became of a unit.
type LimitFate struct {
	// "kept", "compressed", "summarized" or "discarded".
	Action string `json:"action" enum:"kept,compressed,summarized,discarded"`
	// The strategy that did it: "summarize_old", "prioritize_recent",
	// "content_type_chunking", "discard_low_rel" or "hybrid".
	// Absent for kept units and for recoveries.
	Strategy string `json:"strategy,omitempty" enum:"summarize_old,prioritize_recent,content_type_chunking,discard_low_rel,hybrid"`
	// Index of the unit that holds it or stands for it; absent if there is none.
	Unit *int `json:"unit,omitempty"`
	// Name under which hexapla/history/get gives it back as it was; absent for kept
	// units.
	Archived string `json:"archived,omitempty"`
}

// LimitStep is a strategy that was tried.
type LimitStep struct {
	// From 1.
	Round int `json:"round"`
	// "summarize_old", "prioritize_recent",
	// "content_type_chunking", "discard_low_rel" or "hybrid".
	Strategy string `json:"strategy" enum:"summarize_old,prioritize_recent,content_type_chunking,discard_low_rel,hybrid"`
	// Tokens before.
	Before int `json:"before"`
	// Tokens after.
	After int `json:"after"`
	// How near the context was then to the one that was sent, 0 to 1.
	Coherence float64 `json:"coherence"`
	// Whether that was too little, and the step was taken back.
	Undone bool `json:"undone"`
}

// LimitTask is a task for the user or the agent.
type LimitTask struct {
	// "contextCleanup".
	Kind string `json:"kind" enum:"contextCleanup"`
	// For people.
	Title string `json:"title"`
	// Why.
	Reason string `json:"reason"`
	// Contexts over their warning mark in the last hour.
	Warnings int `json:"warnings"`
}

// LimitsBreakResult is what the context was broken down to.
type LimitsBreakResult struct {
	LimitInForce
	// The agent.
	Agent string `json:"agent,omitempty"`
	// The context.
	Units []LimitUnit `json:"units"`
	// What became of each unit that was sent, in order.
	Fates []LimitFate `json:"fates"`
	// What was tried, in order.
	Steps []LimitStep `json:"steps"`
	// Tokens of the context that was sent.
	Before int `json:"before"`
	// Tokens of this one.
	After int `json:"after"`
	// Whether tokens are an estimate, because the tokenizer is not public.
	Estimate bool `json:"estimate"`
	// Whether it is within the limit.
	Success bool `json:"success"`
	// How near it is to what was sent, 0 to 1.
	Coherence float64 `json:"coherence"`
	// Share of the units of priority 1 that are there to the byte.
	PriorityPreserved float64 `json:"priorityPreserved"`
	// Where it was given up: "fresh_start" or "truncate".
	Recovery string `json:"recovery,omitempty" enum:"fresh_start,truncate"`
	// Why it was given up: "chainFailed", "overHits" (more than two contexts over
	// their limit in an hour), "reset" or "milestone".
	Trigger string `json:"trigger,omitempty" enum:"chainFailed,overHits,reset,milestone"`
	// The summary of a fresh start.
	Handover string `json:"handover,omitempty"`
	// What went wrong: "TOKEN_LIMIT_EXCEEDED", "BREAKER_FAILED",
	// "RECOVERY_TRIGGERED".
	Errors []string `json:"errors"`
	// What it was worth, -2 to 2.
	Reward float64 `json:"reward"`
	// The last hour.
	Pressure LimitPressure `json:"pressure"`
	// A task that is due because of it.
	Task *LimitTask `json:"task,omitempty"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// LimitsRecoverParams asks for a context to be given up.
type LimitsRecoverParams struct {
	LimitsBreakParams
	// Why: "reset" (the user wants it) or "milestone" (the work has come to an end).
	Trigger string `json:"trigger" enum:"reset,milestone"`
}

// LimitsRecoverResult is what is gone on with.
type LimitsRecoverResult struct {
	LimitsBreakResult
}
