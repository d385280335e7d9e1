package wire

import "encoding/json"

// TierRule is what the four tiers hold in a range of budgets.
type TierRule struct {
	// The rule holds while less than so many percent of the budget are left, and
	// at least as many as the rule before says; absent in the last rule.
	Below int `json:"below,omitempty"`
	// Memory items at most; absent for all.
	Items *int `json:"items,omitempty"`
	// "none", "outline" (signatures and headings) or "full".
	Files string `json:"files" enum:"none,outline,full"`
	// Messages of the history at most; absent for all.
	Messages *int `json:"messages,omitempty"`
}

// TierStrategy decides what the tiers hold.
type TierStrategy struct {
	// Percent of the budget that is left, 0 to 100; what hexapla/budget/status says
	// when absent.
	BudgetPercent *float64 `json:"budgetPercent,omitempty"`
	// Rules in the place of those of the settings, by below; at most 20.
	Rules []TierRule `json:"rules,omitempty"`
	// Tiers that hold what they hold with all of the budget left: 1 to 4.
	Force []int `json:"force,omitempty"`
}

// TierMessages are an agent's messages before they are put into tiers.
type TierMessages struct {
	// An open session.
	Session string `json:"session"`
	// The messages, as in hexapla/history/prune; the newest is asked now. More than
	// 100,000 come back as they are.
	Messages []json.RawMessage `json:"messages" form:"any"`
	// What is sent apart from the messages, as in hexapla/history/prune.
	System json.RawMessage `json:"system,omitempty" form:"any"`
	// Model whose window bounds the tiers and whose tokenizer counts; the session's
	// when absent.
	Model string `json:"model,omitempty"`
	// Tokens that the model takes, instead of its context window.
	Limit int `json:"limit,omitempty"`
	// Tokens that all tiers may take, with system; 80 percent of the limit when
	// absent.
	Budget int `json:"budget,omitempty"`
	// Agent whose memory items are tier 2; the session's when absent.
	Agent string `json:"agent,omitempty"`
	// User whose month counts; at most 256 bytes.
	User string `json:"user,omitempty"`
}

// TiersBuildParams asks for messages in four tiers.
type TiersBuildParams struct {
	TierMessages
	TierStrategy
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// TierPart is something in a tier, or something that gave way.
type TierPart struct {
	// Of a memory item; the path of a file below the workspace's folder, as it was
	// referred to where it leads out of it; the index of a message; "system",
	// "context" (layer 0) or "headings".
	ID string `json:"id"`
	// "full", "outline" (of a file), "heading", or "none" where it is not shown.
	Detail string `json:"detail" enum:"full,outline,heading,none"`
	// Tokens that it takes, or would take.
	Tokens int `json:"tokens"`
	// Why it is not shown, or not in full: "rule" (the rule leaves it out), "budget"
	// (no room); of files "missing", "outside" (of the workspace's folder),
	// "notRegular" (a folder, a device or a pipe), "binary", "tooLarge" (over 256
	// KiB for its full text, over 2 MiB at all), "denied" (it may not be read),
	// "notAllowed" (the settings' allowlist of paths has it not) or "tooMany" (20
	// files are shown).
	Reason string `json:"reason,omitempty" enum:"rule,budget,missing,outside,notRegular,binary,tooLarge,denied,notAllowed,tooMany"`
}

// TierContent is what a tier holds.
type TierContent struct {
	// 1 to 4.
	Tier int `json:"tier"`
	// "always" (system prompts, layer 0, what is asked now), "memory" (memory
	// items), "files" (that messages refer to) or "history" (the messages before).
	Name string `json:"name" enum:"always,memory,files,history"`
	// Parts that are shown.
	Items int `json:"items"`
	// Their tokens.
	Tokens int `json:"tokens"`
	// The parts, in their order.
	Parts []TierPart `json:"parts,omitempty"`
}

// TierChoice is the strategy that was in force.
type TierChoice struct {
	// Range of budgets that the rule is for, such as "40-60%".
	Range string `json:"range"`
	// The rule, with what was forced.
	Rule TierRule `json:"rule"`
	// Where rules come from: "default", "settings" or "request".
	Rules string `json:"rules" enum:"default,settings,request"`
	// Tiers that were forced.
	Forced []int `json:"forced"`
	// Percent of the budget that was left.
	BudgetPercent float64 `json:"budgetPercent"`
	// Whether that was given in the request.
	Given bool `json:"given"`
	// The limit whose share it is; absent where there is none, or it was given.
	Binding *BudgetUse `json:"binding,omitempty"`
}

// TierWarning is something that a client should know.
type TierWarning struct {
	// "notBuilt" (the messages are as they came), "unknownAgent" (it has saved no
	// memory items), "unknownModel" (the default's window and tokenizer are used),
	// "noFolder" (the workspace's folder cannot be read), "exceeded" (nothing is left
	// of the budget) or "problems" (calls without results, or results without calls,
	// which are left out of the history).
	Kind string `json:"kind" enum:"notBuilt,unknownAgent,unknownModel,noFolder,exceeded,problems"`
	// The parameter that it is about.
	Path string `json:"path,omitempty"`
	// For people; no content.
	Message string `json:"message"`
	// For a budget that is too small: the smallest that works, in tokens.
	SmallestTotal int `json:"smallestTotal,omitempty"`
}

// TierBuild is messages in four tiers.
type TierBuild struct {
	// False where the messages are as they came; warnings say why.
	Built bool `json:"built"`
	// All four.
	Tiers []TierContent `json:"tiers"`
	// How that was chosen; absent where it failed before.
	Strategy *TierChoice `json:"strategy,omitempty"`
	// Indices of the messages that stay, in order.
	Kept []int `json:"kept"`
	// Tokens of messages and system as they came.
	OriginalTokens int `json:"originalTokens"`
	// Tokens of messages and system as they are.
	Tokens int `json:"tokens"`
	// By how much that is less, in percent; negative where it is more.
	ReductionPercent float64 `json:"reductionPercent"`
	// Tokens that all tiers might take.
	Budget int `json:"budget"`
	// Whether tokens are an estimate, because the tokenizer is not public.
	Estimate bool `json:"estimate"`
	// What a client should know.
	Warnings []TierWarning `json:"warnings"`
	// SHA-256 of messages and system as the server holds them.
	Checksum string `json:"checksum"`
}

// TiersBuildResult is messages in four tiers, ready to be sent.
type TiersBuildResult struct {
	TierBuild
	// The list to send.
	Messages []json.RawMessage `json:"messages" form:"any"`
	// Place of the message in it that holds layer 0, memory items and files; absent
	// if there is none.
	ContextAt *int `json:"contextAt,omitempty"`
	// The messages that were left out, in order; all are archived when the reply is
	// given.
	Removed []RemovedMessage `json:"removed"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// TiersCompareParams asks what two strategies make of the same messages.
type TiersCompareParams struct {
	TierMessages
	// The first strategy.
	A TierStrategy `json:"a"`
	// The second strategy.
	B TierStrategy `json:"b"`
}

// TiersCompareResult sets two strategies side by side. Nothing was stored.
type TiersCompareResult struct {
	// What the first strategy makes of the messages.
	A TierBuild `json:"a"`
	// What the second strategy makes of them.
	B TierBuild `json:"b"`
	// Indices of messages that only the first keeps.
	OnlyA []int `json:"onlyA"`
	// Indices of messages that only the second keeps.
	OnlyB []int `json:"onlyB"`
	// By how many tokens the second is larger.
	MoreTokens int `json:"moreTokens"`
}

// TiersSnapshotsParams asks for builds of the past.
type TiersSnapshotsParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// True for this session's builds alone.
	OnlySession bool `json:"onlySession,omitempty"`
	// Builds of this user alone; absent for those of all.
	User *string `json:"user,omitempty"`
	// Builds from this time on, RFC 3339.
	Since string `json:"since,omitempty"`
	// Builds before this time.
	Until string `json:"until,omitempty"`
	// Builds at most; 20 when absent, 200 at most. 1 gives the newest.
	Limit int `json:"limit,omitempty"`
	// From the answer before, to go on.
	Cursor string `json:"cursor,omitempty"`
}

// TierSnapshot is a build of the past: numbers, and nothing of what was said.
type TierSnapshot struct {
	// The session.
	Session string `json:"session"`
	// The user; absent where none was named.
	User string `json:"user,omitempty"`
	// When it was built, RFC 3339.
	Time string `json:"time"`
	// The workspace's sequence number then.
	Sequence int64 `json:"sequence"`
	// SHA-256 of messages and system as the server holds them.
	Checksum string `json:"checksum"`
	// False where the messages were left as they came.
	Built bool `json:"built"`
	// The tiers, without their parts.
	Tiers []TierContent `json:"tiers"`
	// How that was chosen; absent where it failed before.
	Strategy *TierChoice `json:"strategy,omitempty"`
	// Messages that stayed.
	Kept int `json:"kept"`
	// Messages that were left out.
	Removed int `json:"removed"`
	// Tokens of messages and system as they came.
	OriginalTokens int `json:"originalTokens"`
	// Tokens of messages and system as they were sent.
	Tokens int `json:"tokens"`
	// Kinds of warnings, as in hexapla/tiers/build.
	Warnings []string `json:"warnings"`
	// Milliseconds that it took to build.
	Ms float64 `json:"ms"`
}

// TiersSnapshotsResult lists builds.
type TiersSnapshotsResult struct {
	// The builds, newest first, as far as the audit log goes back.
	Snapshots []TierSnapshot `json:"snapshots"`
	// To go on; absent at the end.
	Cursor string `json:"cursor,omitempty"`
}
