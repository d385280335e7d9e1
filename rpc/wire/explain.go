package wire

// PackExplainParams asks for what is in a pack and what is not.
type PackExplainParams struct {
	PackBuildParams
	// Whether to find out at which budgets candidates come in; true when absent.
	EntersAt *bool `json:"entersAt,omitempty"`
}

// PackExplainResult is a pack by its candidates: everything that it shows, and
// everything that it could have shown. The tokens of the candidates add up to
// tokens.used.
type PackExplainResult struct {
	// Checksum of the pack that hexapla/pack/build gives for the same
	// parameters.
	Checksum string `json:"checksum"`
	// The sequence number it was built at.
	Sequence int64 `json:"sequence"`
	// The tokenizer that counted.
	Encoding string `json:"encoding"`
	// Whether counts are an estimate.
	Estimate bool `json:"estimate"`
	// The accounting of the pack.
	Tokens PackTokens `json:"tokens"`
	// The profile that it was built under.
	Profile ProfileState `json:"profile"`
	// Each candidate once, in the order of the layout "stable-prefix".
	Candidates []PackCandidate `json:"candidates"`
}

// PackCandidate is one thing that a pack could show. Its id, section and
// fullDetail together are its own.
type PackCandidate struct {
	// As in PackItem; "currentContext:update" for a newer current context behind
	// the stream.
	ID string `json:"id"`
	// 0 to 5; -1 for system and input.
	Layer int `json:"layer"`
	// Where it stands, or would stand: "system", "pins", "memory", "headers",
	// "summaries", "currentContext", "errors", "names", "activeMemory", "retrieved" or
	// "input".
	Section string `json:"section" enum:"system,pins,memory,headers,summaries,currentContext,errors,names,activeMemory,retrieved,input"`
	// The detail it is shown in, as in PackItem, or "none" when it is out:
	// "header", "summary", "full", "excerpt", "brief", "line", "digest", "roster"
	// (names that were used before), "rollup", "changed" or "heading".
	Detail string `json:"detail" enum:"none,header,summary,full,excerpt,brief,line,digest,roster,rollup,changed,heading"`
	// Tokens that it takes; 0 when it is out.
	Tokens int `json:"tokens"`
	// The most detail that it could be shown in: "header", "summary", "full",
	// "brief", "line", "digest", "roster", "rollup" or "heading".
	FullDetail string `json:"fullDetail" enum:"header,summary,full,brief,line,digest,roster,rollup,heading"`
	// Tokens of that. Of a digest or a roster that is out, the most that it may
	// take.
	FullTokens int `json:"fullTokens"`
	// "included" (shown in full), "repeated" (what is new since repeats is shown),
	// "unneeded" (it stands for what is out, and nothing is), or why it is out or reduced, as in Dropped: "window",
	// "budget", "cap", "rollup" or "archive".
	Reason string `json:"reason" enum:"included,repeated,unneeded,window,budget,cap,rollup,archive"`
	// Id of what took its place, when it is out and something did: of the
	// conversation whose digest, summary or header stands for it, "rollup",
	// "names" or "currentContext".
	ReplacedBy string `json:"replacedBy,omitempty"`
	// Id of the tool output that it repeats, when it is "repeated".
	Repeats string `json:"repeats,omitempty"`
	// What it was found by, best first; absent when no search was involved.
	Scores []CandidateScore `json:"scores,omitempty"`
	// The smallest total that shows it in any detail; absent when no total up to
	// the limit does, when it was not asked for, or when it is not known.
	EntersAt int `json:"entersAt,omitempty"`
}

// CandidateScore is why a conversation was found related.
type CandidateScore struct {
	// The conversation.
	Conversation string `json:"conversation"`
	// 0 to 1, against the best that was found.
	Score float64 `json:"score"`
	// Share of the query's terms, by weight, that the conversation holds; 0 to 1.
	Coverage float64 `json:"coverage"`
	// What the score is made of.
	Parts ScoreParts `json:"parts"`
}

// PackWhatIfParams asks what packs of several budgets and models would be like.
type PackWhatIfParams struct {
	// The session.
	Session string `json:"session"`
	// Totals, as in Budget.
	Budgets []int `json:"budgets"`
	// As in Budget, of all of them.
	Reserved int `json:"reserved,omitempty"`
	// Models that may be called; the session's when absent.
	Models []string `json:"models,omitempty"`
	// "stable-prefix" (the default) or "narrative-first".
	Layout string `json:"layout,omitempty" enum:"stable-prefix,narrative-first"`
	// As in PackBuildParams.
	Input *UserInput `json:"input,omitempty"`
	// As in PackBuildParams.
	System *SystemPrompt `json:"system,omitempty"`
	// As in PackBuildParams.
	Task string `json:"task,omitempty"`
	// As in PackBuildParams.
	AsOf any `json:"asOf,omitempty" form:"integer|string"`
	// As in PackBuildParams.
	Fill bool `json:"fill,omitempty"`
	// What the budgets are in, as in PackBuildParams: "counted" (the default) or
	// "provider".
	BudgetUnit string `json:"budgetUnit,omitempty" enum:"counted,provider"`
}

// PackWhatIfResult is one answer for each model and budget: all budgets for the
// first model, then for the next.
type PackWhatIfResult struct {
	// The answers.
	Packs []WhatIfPack `json:"packs"`
}

// WhatIfPack tells of a pack that was not built for use. Either checksum or
// error is there.
type WhatIfPack struct {
	// The total.
	Budget int `json:"budget"`
	// The model; empty when the session has none.
	Model string `json:"model"`
	// Checksum of the pack that hexapla/pack/build would give.
	Checksum string `json:"checksum,omitempty"`
	// The tokenizer that counted.
	Encoding string `json:"encoding,omitempty"`
	// Tokens of the pack's text.
	Used int `json:"used"`
	// Tokens by section, in the order in which each comes first.
	Sections []SectionTokens `json:"sections"`
	// Entries that the pack lists under dropped.
	Dropped int `json:"dropped"`
	// Why there is no pack: budget_too_small with the smallest total that works.
	Error *ErrorData `json:"error,omitempty"`
}

// PackDiffParams names two packs of the audit log.
type PackDiffParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Checksum of the one.
	From string `json:"from"`
	// Checksum of the other.
	To string `json:"to"`
}

// PackDiffResult tells what changed from one pack to the other.
type PackDiffResult struct {
	// The one.
	From PackMark `json:"from"`
	// The other.
	To PackMark `json:"to"`
	// Bytes at the beginning of both texts that are the same.
	CommonPrefixBytes int `json:"commonPrefixBytes"`
	// "same" (it is one pack), "append" (no fold between them: what changed
	// stands at the end), "request" (they were asked for with other parameters
	// or settings), or why the fold was made: "start", "window", "budget",
	// "fill" (the request asked for it), "opening" or "profile".
	Reason string `json:"reason" enum:"same,append,request,start,window,budget,fill,opening,profile"`
	// What only the other shows, in its order.
	Added []PackChange `json:"added"`
	// What only the one shows, in its order.
	Removed []PackChange `json:"removed"`
	// What both show, in other detail or with another text, in the other's order.
	Changed []PackChange `json:"changed"`
}

// PackMark is one of two packs that are compared.
type PackMark struct {
	// Its checksum.
	Checksum string `json:"checksum"`
	// Whether it could be built again as it was; see hexapla/pack/replay.
	Match bool `json:"match"`
	// The sequence number it was built at.
	Sequence int64 `json:"sequence"`
	// Tokens of its text.
	Used int `json:"used"`
	// Its budget's total.
	Total int `json:"total"`
	// The sequence number of the last fold.
	Epoch int64 `json:"epoch"`
	// Why that fold was made: "start", "window", "budget", "fill", "opening" or
	// "profile".
	EpochReason string `json:"epochReason" enum:"start,window,budget,fill,opening,profile"`
}

// PackChange is one thing that two packs show differently.
type PackChange struct {
	// As in PackItem.
	ID string `json:"id"`
	// Name of the section in the pack that shows it, the other one if both do.
	Section string `json:"section"`
	// The detail in the one, as in PackItem; "none" when it is not in it.
	From string `json:"from"`
	// The detail in the other; "none" when it is not in it.
	To string `json:"to"`
	// Tokens in the one.
	FromTokens int `json:"fromTokens"`
	// Tokens in the other.
	ToTokens int `json:"toTokens"`
}
