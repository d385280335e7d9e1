package wire

// ProfileState is the profile in force in a session and why. A profile is a set
// of numbers of the packing policy for a kind of work.
type ProfileState struct {
	// "balanced" (the policy as it is set), "codeIntensive", "debugging",
	// "exploration" or "maintenance". What is recorded goes by it at once.
	Profile string `json:"profile" enum:"balanced,codeIntensive,debugging,exploration,maintenance"`
	// "auto" (chosen from the recent turns), "manual" (set for the session) or
	// "settings" (of all sessions for which none was set).
	Mode string `json:"mode" enum:"auto,manual,settings"`
	// Why, in a sentence that names the counts.
	Reason string `json:"reason"`
	// The profile by which the newest pack was last laid out: "balanced",
	// "codeIntensive", "debugging", "exploration" or "maintenance"; absent before
	// the first pack. A change of profile alone moves no prefix, so this follows
	// at the next fold.
	LaidOut string `json:"laidOut,omitempty" enum:"balanced,codeIntensive,debugging,exploration,maintenance"`
	// The sequence number of that fold, the pack's epoch; absent with laidOut.
	LaidOutAt int64 `json:"laidOutAt,omitempty"`
}

// ProfileScore is how much the recent turns speak for a profile.
type ProfileScore struct {
	// "codeIntensive", "debugging", "exploration" or "maintenance".
	Profile string `json:"profile" enum:"codeIntensive,debugging,exploration,maintenance"`
	// 0 to 100.
	Score int `json:"score"`
}

// ProfileNumbers are the numbers that a profile has of its own. Each is a
// setting, initializationOptions.profiles.<name>.<member>.
type ProfileNumbers struct {
	// Active memory size: completed conversations in layer 1 after a step of the
	// window.
	ActiveMemory int `json:"activeMemory"`
	// Summary depth: conversations in layer 3.
	Summaries int `json:"summaries"`
	// Relevant conversations that are shown with a new query, at most.
	Retrieved int `json:"retrieved"`
	// Retrieval threshold: percent of a query's terms, by weight, that such a
	// conversation must hold.
	RelatedCoveragePercent int `json:"relatedCoveragePercent"`
	// Level of compression: tokens of a tool output that is shown in full.
	ResultCap int `json:"resultCap"`
	// Tokens of a tool output that is shown as an excerpt.
	ExcerptCap int `json:"excerptCap"`
	// Tokens of a call's arguments that are shown in full.
	CallCap int `json:"callCap"`
	// Tokens of a call's arguments in brief.
	CallBriefCap int `json:"callBriefCap"`
	// How much of the stream's room a fold fills.
	LowWaterPercent int `json:"lowWaterPercent"`
	// Open errors that are never dropped.
	OpenErrors int `json:"openErrors"`
}

// ProfileGetParams asks for a session's profile.
type ProfileGetParams struct {
	// The session.
	Session string `json:"session"`
}

// ProfileGetResult is a session's profile with what it was chosen by.
type ProfileGetResult struct {
	ProfileState
	// The sequence number from which on it is in force without a break, as far as
	// the newest 50 conversations tell.
	Since int64 `json:"since"`
	// Of each profile that can be chosen, by the newest conversations before the one
	// in progress; also where none is chosen.
	Scores []ProfileScore `json:"scores"`
	// What the profile in force comes to.
	Numbers ProfileNumbers `json:"numbers"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// ProfileSetParams puts a profile in force in a session.
type ProfileSetParams struct {
	// The session.
	Session string `json:"session"`
	// "auto" to have one chosen, or "balanced", "codeIntensive", "debugging",
	// "exploration" or "maintenance".
	Profile string `json:"profile" enum:"auto,balanced,codeIntensive,debugging,exploration,maintenance"`
	// True to have the next pack laid out anew by it: an epoch with the reason
	// "profile", which moves the prefix. Otherwise what is recorded goes by it at
	// once and the layout at the next fold.
	Now bool `json:"now,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// ProfileSetResult is the profile that is in force now.
type ProfileSetResult struct {
	ProfileGetResult
	// The profile before: "balanced", "codeIntensive", "debugging", "exploration"
	// or "maintenance".
	Previous string `json:"previous" enum:"balanced,codeIntensive,debugging,exploration,maintenance"`
}

// ProfileParams tells that another profile is in force in a session.
type ProfileParams struct {
	// The session.
	Session string `json:"session"`
	ProfileState
	// The profile before: "balanced", "codeIntensive", "debugging", "exploration"
	// or "maintenance".
	Previous string `json:"previous" enum:"balanced,codeIntensive,debugging,exploration,maintenance"`
	// The sequence number at which that was found.
	Sequence int64 `json:"sequence"`
}
