package wire

import "encoding/json"

// PackReceiptParams asks what a pack lost.
type PackReceiptParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Checksum of the pack.
	Checksum string `json:"checksum"`
	// Checksum of the pack to compare with; the session's pack before when absent.
	Against string `json:"against,omitempty"`
	// Most facts of one answer; 2,000 when absent, which is the most.
	Limit int `json:"limit,omitempty"`
	// From an earlier answer, to go on with its facts.
	Cursor string `json:"cursor,omitempty"`
}

// PackReceiptResult tells what a pack lost against another: the things, and the
// facts in what the other showed of them. Each fact either survived or did not,
// and is listed once.
type PackReceiptResult struct {
	// The pack before.
	From PackMark `json:"from"`
	// The pack.
	To PackMark `json:"to"`
	// What is shown in less detail or not at all, in the order of the pack before.
	Losses []Loss `json:"losses"`
	// How many facts there are, one entry for each kind.
	Counts []FactCount `json:"counts"`
	// The facts by kind, in the order of counts, then in order of appearance.
	Facts []Fact `json:"facts"`
	// To go on with the facts; absent at the end.
	Cursor string `json:"cursor,omitempty"`
}

// Loss is a thing that a pack shows in less detail than the one before, or not at
// all.
type Loss struct {
	// As in PackItem.
	ID string `json:"id"`
	// Name of the section that it stood in: "system", "pins", "memory", "headers",
	// "summaries", "currentContext", "names", "activeMemory", "retrieved" or
	// "input".
	Section string `json:"section" enum:"system,pins,memory,headers,summaries,currentContext,names,activeMemory,retrieved,input"`
	// The detail it had, as in PackItem.
	From string `json:"from"`
	// The detail it has; "none" when it is out.
	To string `json:"to"`
	// Tokens it had.
	FromTokens int `json:"fromTokens"`
	// Tokens it has.
	ToTokens int `json:"toTokens"`
	// As in Dropped: "window", "budget", "cap", "rollup" or "archive"; or "renewed"
	// (a fold told it anew as of now: layer 0, the roster of names, a digest),
	// "unpinned" (the pin was taken away) or "request" (the client did not send it
	// any more).
	Reason string `json:"reason" enum:"window,budget,cap,rollup,archive,renewed,unpinned,request"`
	// Where the original is: the id of a turn or an output ("c12#3", "c12#3/2"),
	// for hexapla/context/request; of a conversation ("c12"), for
	// hexapla/conversation/get as well; or the checksum of the pack before, for
	// hexapla/pack/replay, where that alone has it.
	Handle string `json:"handle"`
}

// FactCount counts the facts of a kind.
type FactCount struct {
	// As in Fact: "instructions", "errors", "commands", "paths", "identifiers" or
	// "numbers".
	Kind string `json:"kind" enum:"instructions,errors,commands,paths,identifiers,numbers"`
	// Those that the pack shows.
	Survived int `json:"survived"`
	// Those that it does not.
	Dropped int `json:"dropped"`
}

// Fact is a thing in what was lost that later work may depend on, letter by
// letter.
type Fact struct {
	// "instructions" (what the user asks for, demands or forbids), "errors",
	// "commands", "paths", "identifiers" or "numbers" (values of two digits or
	// more).
	Kind string `json:"kind" enum:"instructions,errors,commands,paths,identifiers,numbers"`
	// As it stood in the pack before; escapes of JSON in a call's arguments are
	// resolved.
	Text string `json:"text"`
	// Whether the pack shows it, letter by letter and as whole words.
	Survived bool `json:"survived"`
	// As in Loss; the original holds the fact.
	Handle string `json:"handle"`
	// Id of the first item of the pack that shows it, if it survived.
	In string `json:"in,omitempty"`
}

// PackUndoParams names a pack of the session that lost something.
type PackUndoParams struct {
	// The session.
	Session string `json:"session"`
	// Checksum of the pack.
	Checksum string `json:"checksum"`
	// Most tokens of what is restored; 2,000 when absent.
	MaxTokens int `json:"maxTokens,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// PackUndoResult is the pack before, and what the next one will show of what was
// lost.
type PackUndoResult struct {
	// Checksum of the session's pack before.
	Previous string `json:"previous"`
	// The checksum of that pack built again.
	Rebuilt string `json:"rebuilt"`
	// Whether they are the same.
	Match bool `json:"match"`
	// The pack before, of the form Pack.
	Pack json.RawMessage `json:"pack" form:"Pack"`
	// What the next pack shows at its end, newest first.
	Restored []RestoredItem `json:"restored"`
	// What it does not.
	NotRestored []NotRestoredItem `json:"notRestored"`
	// Conversations that were archived and are not any more: the next fold may
	// show them again.
	Unarchived []string `json:"unarchived"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
}

// RestoredItem is a thing that was lost and is served again.
type RestoredItem struct {
	// As in Loss.
	ID string `json:"id"`
	// As in Loss: what is served.
	Handle string `json:"handle"`
	// The detail it is served in: "header", "summary" or "full".
	Detail string `json:"detail" enum:"header,summary,full"`
	// Tokens.
	Tokens int `json:"tokens"`
	// Whether it has the room that it had; false when it is cut for maxTokens.
	Whole bool `json:"whole"`
}

// NotRestoredItem is a thing that was lost and still is.
type NotRestoredItem struct {
	// As in Loss.
	ID string `json:"id"`
	// As in Loss.
	Handle string `json:"handle"`
	// "budget" (maxTokens is used up), "limit" (over 200 things), "served" (it was
	// served since, or is restored under another id) or "pack_only" (the pack
	// before alone has it).
	Reason string `json:"reason" enum:"budget,limit,served,pack_only"`
}
