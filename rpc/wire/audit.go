package wire

// AuditQueryParams filters the audit log.
type AuditQueryParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Only packs of the session, not of the whole workspace.
	OnlySession bool `json:"onlySession,omitempty"`
	// Only packs with this checksum.
	Checksum string `json:"checksum,omitempty"`
	// Only packs as of this sequence number or a newer one.
	FromSequence int64 `json:"fromSequence,omitempty"`
	// Only packs as of this sequence number or an older one.
	ToSequence int64 `json:"toSequence,omitempty"`
	// Only packs that were built at this time (RFC 3339) or later.
	Since string `json:"since,omitempty"`
	// Only packs that were built before this time (RFC 3339).
	Until string `json:"until,omitempty"`
	// Only packs whose last fold was made for this reason, as in Pack: "start",
	// "window", "budget", "fill", "opening" or "profile".
	EpochReason string `json:"epochReason,omitempty" enum:"start,window,budget,fill,opening,profile"`
	// Also the items of each section.
	Items bool `json:"items,omitempty"`
	// Most entries to return; 20 when absent, 200 at most.
	Limit int `json:"limit,omitempty"`
	// Where to go on, from an earlier result.
	Cursor string `json:"cursor,omitempty"`
}

// AuditEntry is one pack that was built.
type AuditEntry struct {
	// Number of the entry.
	Entry int64 `json:"entry"`
	// The session.
	Session string `json:"session"`
	// Checksum of the pack.
	Checksum string `json:"checksum"`
	// Checksum of the session's pack before, of the same layout, if there was one.
	Previous string `json:"previous,omitempty"`
	// Things that the pack before showed in more detail.
	Lost int `json:"lost"`
	// The sequence number it was built at.
	Sequence int64 `json:"sequence"`
	// When, RFC 3339.
	Time string `json:"time"`
	// What it was made of, in the order of its text.
	Sections []AuditSection `json:"sections"`
	// All tokens.
	Tokens int `json:"tokens"`
	// The sequence number of the last fold, as in Pack; absent in entries of
	// servers that did not note it.
	Epoch int64 `json:"epoch,omitempty"`
	// Why that fold was made, as in Pack: "start", "window", "budget", "fill",
	// "opening" or "profile";
	// absent like epoch.
	EpochReason string `json:"epochReason,omitempty" enum:"start,window,budget,fill,opening,profile"`
	// What was left out or reduced, and why: the first 50 of the pack's.
	Dropped []Dropped `json:"dropped"`
	// How many the pack has of these; absent where there are none.
	DroppedTotal int `json:"droppedTotal,omitempty"`
	// Digest of the settings that were in force.
	Settings string `json:"settings"`
}

// AuditSection is a section of a pack that was built.
type AuditSection struct {
	// Name of the section, as in Section.
	Name string `json:"name"`
	// Tokens.
	Tokens int `json:"tokens"`
	// What is in it, in order, if it was asked for; absent in entries of servers
	// that did not note it.
	Items []PackItem `json:"items,omitempty"`
}

// SectionTokens is the tokens of a section.
type SectionTokens struct {
	// Name of the section.
	Name string `json:"name"`
	// Tokens.
	Tokens int `json:"tokens"`
}

// AuditQueryResult is the entries, newest first.
type AuditQueryResult struct {
	// The entries.
	Entries []AuditEntry `json:"entries"`
	// Where to go on.
	Cursor string `json:"cursor,omitempty"`
}

// PackedParams tells of a pack that was built.
type PackedParams struct {
	// The session.
	Session string `json:"session"`
	// Checksum of the pack.
	Checksum string `json:"checksum"`
	// The sequence number it was built at.
	Sequence int64 `json:"sequence"`
	// Tokens used.
	Tokens int `json:"tokens"`
	// Tokens available.
	Available int `json:"available"`
	// Share of the pack that is the same bytes as the one before, 0 to 1.
	CachedShare float64 `json:"cachedShare"`
	// Things left out or reduced.
	Dropped int `json:"dropped"`
	// Things that the session's pack before showed in more detail; see
	// hexapla/pack/receipt.
	Lost int `json:"lost"`
}
