package wire

// ConversationForgetParams names what is to be forgotten. Forgetting cannot be
// taken back.
type ConversationForgetParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// The conversation. With it go those that edits made of one another.
	Conversation string `json:"conversation"`
	// Only this turn of it, from 1; all of it when absent.
	Turn int `json:"turn,omitempty"`
}

// ConversationForgetResult tells what was taken away.
type ConversationForgetResult struct {
	// The conversations.
	Conversations []string `json:"conversations"`
	// Records of the store that went or changed.
	Records int `json:"records"`
	// Stored outputs that nothing else refers to and that went.
	Blobs int `json:"blobs"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// WorkspaceEraseParams names a workspace that is to be emptied. That cannot be
// taken back.
type WorkspaceEraseParams struct {
	// The workspace.
	Workspace Workspace `json:"workspace"`
	// Must be true, so that nothing is emptied by mistake.
	Confirm bool `json:"confirm"`
}

// WorkspaceEraseResult says that nothing is left. Sessions of the workspace are
// no longer open.
type WorkspaceEraseResult struct {
	// Always true.
	Erased bool `json:"erased"`
}
