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

// SecretsRescrubParams asks to take secrets out of what was recorded. That cannot
// be taken back.
type SecretsRescrubParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Only tell what would be replaced.
	DryRun bool `json:"dryRun,omitempty"`
}

// SecretsRescrubResult tells what was replaced, or would be, without any value.
type SecretsRescrubResult struct {
	// Whether anything was written. It is false for a dry run, and where there is
	// nothing to replace.
	Changed bool `json:"changed"`
	// How often each family was found, in all places.
	Families map[string]int `json:"families"`
	// The same by kind of place, in the order of their names.
	Places []ScrubbedPlace `json:"places"`
	// Versions of records that were rewritten, also where only a count or a
	// reference in them changed. A dry run does not count those that are made anew
	// of others.
	Records int `json:"records"`
	// Tool outputs that were replaced. They have another SHA-256.
	Blobs int `json:"blobs"`
	// Entries of the audit log that were rewritten or marked.
	AuditEntries int `json:"auditEntries"`
	// Answers to writes with a key that were taken out: repeating such a write is
	// answered with "forgotten".
	Replies int `json:"replies"`
	// Ids that were secrets, such as sessions and aliases, and have a placeholder in
	// them now.
	Renamed int `json:"renamed"`
	// Bytes of text that were looked through.
	Bytes int64 `json:"bytes"`
	// How many packs of the past may have shown something of it and are marked
	// since: pack/replay gives both checksums of them.
	Redacted int `json:"redacted"`
	// Their checksums, newest first, 100 at most.
	Packs []string `json:"packs"`
	// Tool outputs that are no text and have something that was found. They are as
	// they were.
	Unreached int `json:"unreached"`
	// Records and outputs that could not be read. They were dropped if anything was
	// replaced.
	Damaged int `json:"damaged"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// ScrubbedPlace is how much was found in one kind of place.
type ScrubbedPlace struct {
	// Kind of the record, such as "turn", "trio", "context" or "pin"; "output" for
	// what tools printed, "audit" for the audit log, "system" for system branches of
	// packs, "reply" for answers that are kept, "id" for ids.
	Kind string `json:"kind"`
	// How often each family was found there.
	Families map[string]int `json:"families"`
}
