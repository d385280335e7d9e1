package wire

// SecretsScanParams asks for secrets in the workspace, or in a text.
type SecretsScanParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Look through this text, of at most 16 MiB, instead of the workspace. It is not
	// stored.
	Text *string `json:"text,omitempty" scrub:"-"`
	// Most findings to list; 100 when absent, 1,000 at most.
	Limit int `json:"limit,omitempty"`
	// Where to go on, from an earlier result.
	Cursor string `json:"cursor,omitempty"`
}

// SecretFinding is a secret, or personal data, without its value.
type SecretFinding struct {
	// The rule that found it, such as "github-pat", "password" or "card".
	Family string `json:"family"`
	// What would stand in its place. The same value has the same everywhere in the
	// workspace.
	Placeholder string `json:"placeholder"`
	// "text" of the params, "output" of a tool, "audit" for the audit log, else the
	// kind of the record, such as "turn", "trio", "context" or "pin".
	Kind string `json:"kind"`
	// Id of the record; of an audit entry its number.
	Record string `json:"record,omitempty"`
	// The conversation, if it is in one.
	Conversation string `json:"conversation,omitempty"`
	// The turn, if it is in one.
	Turn int `json:"turn,omitempty"`
	// SHA-256 of the tool output that it is in.
	Blob string `json:"blob,omitempty"`
	// Sequence number of the record.
	Sequence int64 `json:"sequence,omitempty"`
	// Line of the text, from 1.
	Line int `json:"line,omitempty"`
	// Where it begins in its text, in bytes.
	Offset int `json:"offset"`
}

// SecretsScanResult is what was found.
type SecretsScanResult struct {
	// In the order of the records, then the audit log, newest first.
	Findings []SecretFinding `json:"findings"`
	// How often each family was found by this call, also what is not listed.
	Families map[string]int `json:"families"`
	// Records that were looked through.
	Records int `json:"records"`
	// Tool outputs that were looked through.
	Blobs int `json:"blobs"`
	// Bytes of text.
	Bytes int64 `json:"bytes"`
	// Records and outputs that could not be read.
	Damaged int `json:"damaged"`
	// Where to go on; absent at the end. A call ends after limit findings or 64 MiB
	// of text.
	Cursor string `json:"cursor,omitempty"`
	// The workspace's sequence number up to which records are looked through.
	Sequence int64 `json:"sequence"`
}
