package wire

// Flag is a claim of housekeeping that nothing in the conversation, nor in what
// the model was shown before, bears out. The sentence or entry that makes it was
// left out of header, summary and current context.
type Flag struct {
	// The member, such as "llm.keyDecisions[2]".
	Path string `json:"path"`
	// "path", "identifier", "number", "quote", "id" (of a conversation or turn),
	// "attribution" (a sentence about what the user said or wants) or
	// "instruction" (a sentence that orders a model about and is not the user's).
	Kind string `json:"kind" enum:"path,identifier,number,quote,id,attribution,instruction"`
	// The claim as it was made.
	Text string `json:"text"`
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

// HousekeepingHistoryParams asks for the versions of a session's layer 0.
type HousekeepingHistoryParams struct {
	// The session.
	Session string `json:"session"`
	// Only versions that were written before this sequence number, to page on.
	Before int64 `json:"before,omitempty"`
	// Most versions to return; 20 when absent, 100 at most.
	Limit int `json:"limit,omitempty"`
}

// HousekeepingHistoryResult lists versions, newest first.
type HousekeepingHistoryResult struct {
	// The versions.
	Versions []ContextVersion `json:"versions"`
	// What to give as before for the next page; absent at the end.
	More int64 `json:"more,omitempty"`
}

// ContextVersion is a version of layer 0.
type ContextVersion struct {
	// The sequence number that it was written with, its name.
	Sequence int64 `json:"sequence"`
	// How far it is from the version before, 0 (says the same) to 1 (shares no
	// term with it); 0 for the first.
	Drift float64 `json:"drift"`
	// What it says.
	CurrentContext CurrentContext `json:"currentContext"`
}

// HousekeepingRollbackParams names a version.
type HousekeepingRollbackParams struct {
	// The session.
	Session string `json:"session"`
	// The sequence number of the version that shall be in force again.
	To int64 `json:"to"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// HousekeepingRollbackResult is layer 0 after a rollback.
type HousekeepingRollbackResult struct {
	// The sequence number of the version that was in force.
	From int64 `json:"from"`
	// That of the version that is in force again.
	To int64 `json:"to"`
	// What it says.
	CurrentContext CurrentContext `json:"currentContext"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// DriftParams tells of a swing of layer 0.
type DriftParams struct {
	// The session.
	Session string `json:"session"`
	// How far the new version is from the one before, 0.6 to 1.
	Drift float64 `json:"drift"`
	// The sequence number of the version before.
	From int64 `json:"from"`
	// That of the new version.
	To int64 `json:"to"`
}

// Provenance is where a turn, or one result in it, comes from. Trust is derived
// from it; no client can claim one.
type Provenance struct {
	// Number of the turn.
	Turn int `json:"turn"`
	// Which of the turn's tool results, from 1; absent for its own text.
	Result int `json:"result,omitempty"`
	// "user", "shared" (the user of another memory), "assistant", "tool" (a command
	// or another tool), "file" (that a tool read) or "web" (that a tool fetched).
	Author string `json:"author" enum:"user,shared,assistant,tool,file,web"`
	// The tool that gave the result.
	Tool string `json:"tool,omitempty"`
	// The client that recorded it, by the name it gave in initialize.
	Client string `json:"client,omitempty"`
	// How far it may be followed: "user", "assistant", "tool" or "web", from most
	// to least. Only what the user said is an instruction.
	Trust string `json:"trust" enum:"user,assistant,tool,web"`
	// Characters that nobody sees, which packs leave out.
	Invisible int `json:"invisible,omitempty"`
	// Tags that could pass for a prompt's own, which packs break.
	Tags int `json:"tags,omitempty"`
}
