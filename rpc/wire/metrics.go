package wire

// MetricsGetParams names a workspace by an open session, and a window. Without
// bounds the window is everything that is stored.
type MetricsGetParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Only figures of the session, not of the whole workspace.
	OnlySession bool `json:"onlySession,omitempty"`
	// The window's first moment, RFC 3339. Packs belong to a window by when they
	// were built. Everything else belongs where the first pack belongs that was
	// built with it, and what came behind the newest pack belongs with that one.
	Since string `json:"since,omitempty"`
	// The first moment behind the window, RFC 3339; not before since.
	Until string `json:"until,omitempty"`
	// The window's first sequence number, instead of since.
	SinceSequence int64 `json:"sinceSequence,omitempty"`
	// The window's last sequence number, instead of until; not before
	// sinceSequence.
	UntilSequence int64 `json:"untilSequence,omitempty"`
}

// Latency is a distribution over the requests of this process.
type Latency struct {
	// The method.
	Method string `json:"method"`
	// How many.
	Count int64 `json:"count"`
	// Median in milliseconds.
	P50Ms float64 `json:"p50Ms"`
	// 95th percentile in milliseconds.
	P95Ms float64 `json:"p95Ms"`
	// 99th percentile in milliseconds.
	P99Ms float64 `json:"p99Ms"`
}

// MetricsGetResult is counts and sizes of the workspace as it is, figures of a
// window, and latencies of this process. Figures come from what is on disk, so
// they are the same after a restart; one that has nothing to be made of is
// absent, never 0. Packs are those of the audit log, which keeps the newest
// 10,000.
type MetricsGetResult struct {
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// Conversations in the workspace.
	Conversations int `json:"conversations"`
	// Turns in the workspace.
	Turns int `json:"turns"`
	// Tokens of all turns in full.
	FullTokens int64 `json:"fullTokens"`
	// Distinct tool outputs.
	Blobs int `json:"blobs"`
	// Bytes of distinct tool outputs.
	BlobBytes int64 `json:"blobBytes"`
	// The part of the store that the figures are of.
	Window MetricsWindow `json:"window"`
	// Packs built in the window.
	Packs int `json:"packs"`
	// Tokens of those packs.
	PackTokens int64 `json:"packTokens"`
	// Packs over their budget; always 0.
	BudgetViolations int `json:"budgetViolations"`
	// Things that packs left out or showed in less detail because there was no
	// room; a range of turns that fared alike is one.
	ForcedDrops int `json:"forcedDrops"`
	// Packs whose audit entry does not say how they were built, because an older
	// program wrote it. They are left out of tokens, reduction, cachedShare, billed
	// and latency, and of their drops the first 50 count.
	Unmeasured int `json:"unmeasured"`
	// What packs took.
	Tokens *MetricsTokens `json:"tokens,omitempty"`
	// 1 less the tokens of the packs over those of the same prompts with the
	// session's full history; below 0 where packs were larger.
	Reduction *float64 `json:"reduction,omitempty"`
	// Share of all bytes of the packs that stood at the beginning of the session's
	// pack before, 0 to 1. The first pack of a session in a process has none before.
	CachedShare *float64 `json:"cachedShare,omitempty"`
	// What the packs cost as input.
	Billed *MetricsBilled `json:"billed,omitempty"`
	// How long packs took to be built, from their audit entries.
	Latency *Percentiles `json:"latency,omitempty"`
	// How the model's context requests fared.
	Retrieval *MetricsRetrieval `json:"retrieval,omitempty"`
	// How often the model asked for what it had.
	ReAsks *ReAsks `json:"reAsks,omitempty"`
	// What headers and summaries keep of the full texts.
	Fidelity *Fidelity `json:"fidelity,omitempty"`
	// How far layer 0 moved.
	Drift *Drift `json:"drift,omitempty"`
	// Sequence number up to which the search index has come.
	Indexed int64 `json:"indexed"`
	// Latencies by method, since the process started.
	Latencies []Latency `json:"latencies"`
}

// MetricsWindow is a part of the store.
type MetricsWindow struct {
	// First sequence number.
	FromSequence int64 `json:"fromSequence"`
	// Last sequence number; one less than fromSequence when there is none.
	ToSequence int64 `json:"toSequence"`
	// When the oldest pack in it was built, RFC 3339.
	From string `json:"from,omitempty"`
	// When the newest pack in it was built, RFC 3339.
	To string `json:"to,omitempty"`
	// Conversations that opened in it.
	Conversations int `json:"conversations"`
	// Turns recorded in it.
	Turns int `json:"turns"`
}

// MetricsTokens is what packs took, counted as in packs.
type MetricsTokens struct {
	// Mean of a pack.
	PerPack float64 `json:"perPack"`
	// Tokens of all packs by turn recorded in the window; absent when none was.
	PerTurn *float64 `json:"perTurn,omitempty"`
	// Mean of the same prompts with the session's full history, system parts and
	// input counted on both sides.
	FullHistoryPerPack float64 `json:"fullHistoryPerPack"`
}

// MetricsBilled is what the packs cost as input with a provider's prompt cache:
// what a pack has in common with the beginning of the session's pack before is
// read from it, all else is written to it. The cache never expires here. The unit
// is one plain input token: a write counts 1.25 and a read 0.1, or what they
// cost by the price list where the pack's model is known.
type MetricsBilled struct {
	// Bill of the packs.
	Equivalents float64 `json:"equivalents"`
	// Bill of the same prompts with the session's full history.
	FullHistoryEquivalents float64 `json:"fullHistoryEquivalents"`
	// The first over the second; absent when the second is 0.
	Share *float64 `json:"share,omitempty"`
	// Packs of models with known prices.
	PricedPacks int `json:"pricedPacks"`
	// Bill of those packs in US dollars; absent when there are none.
	Dollars *float64 `json:"dollars,omitempty"`
	// Bill of the same prompts with the full history.
	FullHistoryDollars *float64 `json:"fullHistoryDollars,omitempty"`
}

// Percentiles are a distribution, by the nearest rank.
type Percentiles struct {
	// How many.
	Count int `json:"count"`
	// Median in milliseconds.
	P50Ms float64 `json:"p50Ms"`
	// 95th percentile in milliseconds.
	P95Ms float64 `json:"p95Ms"`
	// 99th percentile in milliseconds.
	P99Ms float64 `json:"p99Ms"`
}

// MetricsRetrieval is how context requests fared. What is asked for is counted by
// id that was named or that was found for a query, by query that found nothing,
// and by topic. Requests that an older program answered are left out.
type MetricsRetrieval struct {
	// Requests that asked for something.
	Requests int `json:"requests"`
	// What was asked for.
	Asked int `json:"asked"`
	// Of that, what was served; a topic is, if a conversation speaks of it.
	Served int `json:"served"`
	// What was put off because of a quota, the tokens or a limit.
	Deferred int `json:"deferred"`
	// What there is not.
	NotFound int `json:"notFound"`
	// Served over asked, 0 to 1.
	HitRate float64 `json:"hitRate"`
}

// ReAsks are ids of conversations, turns and outputs that the model asked for
// although it had been given them in the detail asked for, or more, and in no fewer
// tokens: by the session's pack before, or by a context request since the
// session's newest conversation opened. The pack before is known to the process
// that built it only.
type ReAsks struct {
	// How many.
	Count int `json:"count"`
	// Count over all that was asked for, 0 to 1.
	Rate float64 `json:"rate"`
}

// Fidelity is what headers and summaries keep of the full texts of completed
// conversations that opened in the window, each as of the window's end. What is of
// note is limited to what a summary has room for.
type Fidelity struct {
	// Conversations that were looked at: the newest 500 at most.
	Conversations int `json:"conversations"`
	// Whether there are more.
	Limited bool `json:"limited"`
	// Files and functions in what was said, in arguments of calls and in tool
	// outputs. Of note are, in each conversation, the eight that the most messages
	// of the user and the model name, at least two. One is kept if it stands in the
	// header or the summary as a word; of a path the last part will do.
	Identifiers *FidelityShare `json:"identifiers,omitempty"`
	// Sentences with a cue for a decision. Of note are the three with the strongest
	// cues. One is kept if half of its first twelve words are there, words such as
	// "the" left out.
	Decisions *FidelityShare `json:"decisions,omitempty"`
	// Error messages in outputs, without numbers, paths and times. Of note are
	// those of the last two calls that failed. One is kept like a decision.
	Errors *FidelityShare `json:"errors,omitempty"`
	// Commands that a shell ran. Of note are the last three tests, checks and
	// failures. One is kept if its first word and more than half of its words are there.
	Commands *FidelityShare `json:"commands,omitempty"`
	// All four together, each thing counting the same.
	Overall *FidelityShare `json:"overall,omitempty"`
}

// FidelityShare is how many things of a kind are kept.
type FidelityShare struct {
	// Things of note.
	Noted int `json:"noted"`
	// Of those, kept.
	Kept int `json:"kept"`
	// Kept over noted, 0 to 1; absent when nothing is of note.
	Share *float64 `json:"share,omitempty"`
	// All things.
	All int `json:"all"`
	// Of those, kept.
	AllKept int `json:"allKept"`
	// AllKept over all, 0 to 1.
	AllShare float64 `json:"allShare"`
}

// Drift is how far layer 0 moved from a session's version to its next. The
// distance is 1 less the terms that both have over the terms that either has: 0
// where they say the same, 1 where they share nothing.
type Drift struct {
	// Versions written in the window that have one before them in their session:
	// the newest 500 at most.
	Versions int `json:"versions"`
	// Whether there are more.
	Limited bool `json:"limited"`
	// Mean distance.
	Mean float64 `json:"mean"`
	// Largest distance.
	Max float64 `json:"max"`
}
