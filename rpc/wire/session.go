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
	// Whether what will be recorded comes from another memory: another person's, or
	// another folder's. Its user is not this workspace's: their words are trusted as
	// a model's are, and layer 0 of new sessions does not come of them. A session
	// stays what it was opened as first.
	Shared bool `json:"shared,omitempty"`
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
	// Whether it comes from another memory.
	Shared bool `json:"shared,omitempty"`
	// Conversations recorded in it.
	Conversations int `json:"conversations"`
}

// SessionListResult is the list, newest first.
type SessionListResult struct {
	// The sessions.
	Sessions []SessionInfo `json:"sessions"`
	// Identity of the workspace's store: made at random with it, and the same for
	// its life and in its copies.
	Store string `json:"store"`
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
