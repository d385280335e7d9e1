package wire

import "encoding/json"

// Budget is the tokens of a model call.
type Budget struct {
	// The most tokens that the whole prompt may have.
	Total int `json:"total"`
	// What the client adds itself (tool schemas, room for the answer).
	Reserved int `json:"reserved,omitempty"`
}

// UserInput is what triggers the model call, if it is not recorded yet.
type UserInput struct {
	// "user_query", "tool_response" or "user_feedback".
	Type string `json:"type"`
	// The text.
	Content string `json:"content"`
	// Anything the client wants to find again in the pack's branches.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// SystemPrompt is the system branch in its four parts.
type SystemPrompt struct {
	// Descriptions of tools.
	Tools string `json:"tools,omitempty"`
	// What the assistant should know of its environment.
	Environment string `json:"environment,omitempty"`
	// Rules.
	Guardrails string `json:"guardrails,omitempty"`
	// Anything else.
	Other string `json:"other,omitempty"`
}

// PackBuildParams asks for a pack.
type PackBuildParams struct {
	// The session.
	Session string `json:"session"`
	// Tokens.
	Budget Budget `json:"budget"`
	// Model that will be called; the session's when absent.
	Model string `json:"model,omitempty"`
	// "stable-prefix" (the default) or "narrative-first".
	Layout string `json:"layout,omitempty"`
	// The input that is not recorded yet.
	Input *UserInput `json:"input,omitempty"`
	// The system branch.
	System *SystemPrompt `json:"system,omitempty"`
	// Id of the task; part of the pack's seed. The session when absent.
	Task string `json:"task,omitempty"`
	// Build as of this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
}

// PackBuildResult is a pack. Pack is in canonical JSON (RFC 8785); checksum is
// the SHA-256 of exactly those bytes.
type PackBuildResult struct {
	// SHA-256 of the pack's canonical bytes, lower-case hex.
	Checksum string `json:"checksum"`
	// The pack, of the form Pack.
	Pack json.RawMessage `json:"pack"`
	// How this pack continues the one before. Not part of the checksum.
	Stability Stability `json:"stability"`
}

// Stability compares a pack with the one built before it for the session.
type Stability struct {
	// Bytes at the beginning of text that are the same as before.
	CommonPrefixBytes int `json:"commonPrefixBytes"`
	// Tokens of those bytes, rounded down to a whole unit.
	CommonPrefixTokens int `json:"commonPrefixTokens"`
	// Share of text's bytes, 0 to 1.
	CachedShare float64 `json:"cachedShare"`
}

// Pack is the assembled context of one model call.
type Pack struct {
	// Derived from task and turn.
	Seed string `json:"seed"`
	// The packing policy and its version.
	SelectionPolicy string `json:"selectionPolicy"`
	// The order of sections in text.
	Layout string `json:"layout"`
	// The sequence number it was built at.
	Sequence int64 `json:"sequence"`
	// The session.
	Session string `json:"session"`
	// The tokenizer that counted.
	Encoding string `json:"encoding"`
	// Whether counts are an estimate.
	Estimate bool `json:"estimate"`
	// What is always in a pack.
	Guaranteed []string `json:"guaranteed"`
	// Limits that were in force.
	Quotas PackQuotas `json:"quotas"`
	// The order in which things are left out.
	DropOrder []string `json:"dropOrder"`
	// Tokens.
	Tokens PackTokens `json:"tokens"`
	// The sections in the order of text.
	Sections []Section `json:"sections"`
	// The three branches; text is made of the same bytes.
	Branches Branches `json:"branches"`
	// The whole outgoing message.
	Text string `json:"text"`
	// Bytes at the beginning of text that stay until the epoch changes,
	// whatever is appended.
	StablePrefixBytes int `json:"stablePrefixBytes"`
	// Number of the fold that the layout stands at; rises with each fold.
	Epoch int64 `json:"epoch"`
	// Why the last fold was made: "start", "window" or "budget".
	EpochReason string `json:"epochReason"`
	// What was left out or reduced, and why.
	Dropped []Dropped `json:"dropped"`
	// Digest of the settings that were in force.
	Settings string `json:"settings"`
}

// PackQuotas are limits of a pack.
type PackQuotas struct {
	// Tokens for summaries.
	Summaries int `json:"summaries"`
	// Full conversations served by request.
	Fulls int `json:"fulls"`
}

// PackTokens is the accounting of a pack. used = system + context + input and
// used + reserved never exceeds total.
type PackTokens struct {
	// As asked.
	Total int `json:"total"`
	// As asked.
	Reserved int `json:"reserved"`
	// total - reserved.
	Available int `json:"available"`
	// Tokens of text.
	Used int `json:"used"`
	// Tokens of the system branch.
	System int `json:"system"`
	// Tokens of the context branch.
	Context int `json:"context"`
	// Tokens of the user input branch.
	Input int `json:"input"`
	// Tokens of the session's history in full, for comparison.
	FullHistory int64 `json:"fullHistory"`
}

// Section is a run of items of one layer.
type Section struct {
	// "system", "headers", "summaries", "currentContext", "activeMemory",
	// "retrieved" or "input".
	Name string `json:"name"`
	// 0 to 5; -1 for system and input.
	Layer int `json:"layer"`
	// Tokens it may use, after unused shares have flowed on.
	Allowance int `json:"allowance"`
	// Tokens of the section.
	Tokens int `json:"tokens"`
	// What is in it, in order.
	Items []PackItem `json:"items"`
	// Its bytes in text.
	Text string `json:"text"`
}

// PackItem is one thing in a section.
type PackItem struct {
	// Id of a conversation, with "#n" for a turn; or a name such as
	// "rollup:c1..c40".
	ID string `json:"id"`
	// The detail it is shown in: "header", "rollup", "summary", "full",
	// "excerpt", "brief" or "line".
	Detail string `json:"detail"`
	// Tokens.
	Tokens int `json:"tokens"`
}

// Branches are the three parts of the outgoing message.
type Branches struct {
	// Layers 0 to 5.
	ContextPrompt string `json:"contextPrompt"`
	// The system prompt.
	SystemPrompt string `json:"systemPrompt"`
	// What triggers the call.
	UserInput string `json:"userInput"`
}

// Dropped is a thing that is out of the pack or in it with less detail.
type Dropped struct {
	// As in PackItem.
	ID string `json:"id"`
	// The detail it had in the layer it belongs to.
	From string `json:"from"`
	// The detail it is in now; "none" when it is out.
	To string `json:"to"`
	// "window", "cap", "budget", "quota" or "rollup".
	Reason string `json:"reason"`
	// Tokens that this saved.
	Saved int `json:"saved"`
}

// PackReplayParams names a pack that was built before.
type PackReplayParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Checksum of the pack.
	Checksum string `json:"checksum"`
}

// PackReplayResult compares the pack with what it was.
type PackReplayResult struct {
	// The checksum asked for.
	Checksum string `json:"checksum"`
	// The checksum of the pack built again.
	Rebuilt string `json:"rebuilt"`
	// Whether they are the same.
	Match bool `json:"match"`
	// The pack built again, of the form Pack.
	Pack json.RawMessage `json:"pack"`
}
