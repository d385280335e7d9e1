package wire

// BudgetParams tells that a report changed what tiers may hold.
type BudgetParams struct {
	// The session that reported.
	Session string `json:"session"`
	// Its user; absent where none was named.
	User string `json:"user,omitempty"`
	// Percent that is left of the binding limit.
	BudgetPercent float64 `json:"budgetPercent"`
	// The limit of which least is left.
	Binding *BudgetUse `json:"binding,omitempty"`
	// Whether nothing is left of it.
	Exceeded bool `json:"exceeded"`
	// Range of budgets of the rule in force, such as "40-60%".
	Range string `json:"range"`
	// The workspace's sequence number.
	Sequence int64 `json:"sequence"`
}

// BudgetStatusParams asks what was used of budgets.
type BudgetStatusParams struct {
	// An open session.
	Session string `json:"session"`
	// User whose month is asked for; at most 256 bytes.
	User string `json:"user,omitempty"`
	// Month such as "2026-11", by UTC; the current one when absent.
	Month string `json:"month,omitempty"`
}

// BudgetSpent is what was used, as far as it was reported.
type BudgetSpent struct {
	// Reports that it is the sum of.
	Reports int64 `json:"reports"`
	// Tokens of prompts, cached ones too.
	InputTokens int64 `json:"inputTokens"`
	// Tokens of answers.
	OutputTokens int64 `json:"outputTokens"`
	// Both together, which limits of tokens count.
	Tokens int64 `json:"tokens"`
	// Cost in millionths of a US dollar, by the table of models.
	MicroUSD int64 `json:"microUSD"`
	// Reports of models that are not in the table, which were priced as its default.
	Unpriced int64 `json:"unpriced"`
}

// BudgetUse is how much of a limit is used.
type BudgetUse struct {
	// "session" or "month" (of the user).
	Scope string `json:"scope" enum:"session,month"`
	// "tokens" or "microUSD" (millionths of a US dollar).
	Unit string `json:"unit" enum:"tokens,microUSD"`
	// In that unit.
	Used int64 `json:"used"`
	// In that unit.
	Limit int64 `json:"limit"`
	// Percent that is left, 0 to 100.
	LeftPercent float64 `json:"leftPercent"`
}

// BudgetStatusResult is what was used of budgets, and what is left.
type BudgetStatusResult struct {
	// What the session used.
	Used BudgetSpent `json:"used"`
	// What the user used in the month, in this workspace.
	MonthUsed BudgetSpent `json:"monthUsed"`
	// The month, such as "2026-11".
	Month string `json:"month"`
	// The limits that are set.
	Limits []BudgetUse `json:"limits"`
	// The limit of which least is left, that hexapla/tiers/build goes by; absent where
	// none is set.
	Binding *BudgetUse `json:"binding,omitempty"`
	// Percent that is left of it; 100 where none is set.
	BudgetPercent float64 `json:"budgetPercent"`
	// Whether nothing is left of it.
	Exceeded bool `json:"exceeded"`
	// Range of budgets of the rule in force, such as "40-60%".
	Range string `json:"range"`
	// That rule, of the settings.
	Rule TierRule `json:"rule"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// BudgetReportParams is what the provider says of one prompt. With checksum or
// countedTokens it is learned from, too.
type BudgetReportParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The model that was called; the session's when absent.
	Model string `json:"model,omitempty"`
	// The provider's tokens of the prompt: plain, written to its cache and read
	// from it.
	PromptTokens int `json:"promptTokens"`
	// Of those, the ones that were written to the provider's cache.
	CacheWriteTokens int `json:"cacheWriteTokens,omitempty"`
	// Of those, the ones that were read from the provider's cache.
	CacheReadTokens int `json:"cacheReadTokens,omitempty"`
	// The provider's tokens of the answer.
	OutputTokens int `json:"outputTokens,omitempty"`
	// User whose month it counts for; at most 256 bytes.
	User string `json:"user,omitempty"`
	// Of the pack that was sent.
	Checksum string `json:"checksum,omitempty"`
	// Tokens that were counted of the prompt, if it was no pack.
	CountedTokens int `json:"countedTokens,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// BudgetReportResult is what has been learned of the model: a prompt has about
// overhead + factor times counted tokens of the provider's.
type BudgetReportResult struct {
	// The model.
	Model string `json:"model"`
	// What a counted token is in the provider's.
	Factor float64 `json:"factor"`
	// What every prompt has beyond what was counted, in the provider's tokens.
	Overhead int `json:"overhead"`
	// The relative error that 95 % of the reports stayed within when they were
	// predicted from those before; 0.25 until twelve reports came.
	Band float64 `json:"band"`
	// Reports that it was learned from, 64 at most.
	Samples int `json:"samples"`
	// What prompt and answer cost, in millionths of a US dollar.
	MicroUSD int64 `json:"microUSD"`
	// Whether the model's prices are known; others are priced as the default.
	Priced bool `json:"priced"`
	// Percent that is left of the binding limit; 100 where none is set.
	BudgetPercent float64 `json:"budgetPercent"`
	// The limit of which least is left; absent where none is set.
	Binding *BudgetUse `json:"binding,omitempty"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}
