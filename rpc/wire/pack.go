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
	Type string `json:"type" enum:"user_query,tool_response,user_feedback"`
	// The text.
	Content string `json:"content"`
	// For the client's own use; it is not part of the pack.
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
	// "counted" (the default) or "provider": budget.total is then a limit in the
	// tokens of the model's provider for the whole prompt. What budget/report
	// taught of the model turns it into counted tokens, with what every prompt has
	// beyond the pack and the error band kept free; budget.reserved comes on top.
	BudgetUnit string `json:"budgetUnit,omitempty" enum:"counted,provider"`
	// Model that will be called; the session's when absent.
	Model string `json:"model,omitempty"`
	// "stable-prefix" (the default) or "narrative-first".
	Layout string `json:"layout,omitempty" enum:"stable-prefix,narrative-first"`
	// The input that is not recorded yet. A tool's output is shown whole if there
	// is room; once recorded, older ones stand in a few hundred tokens, with the
	// names of what is left out and a handle to the whole.
	Input *UserInput `json:"input,omitempty"`
	// The system branch.
	System *SystemPrompt `json:"system,omitempty"`
	// Id of the task; part of the pack's seed. The session when absent.
	Task string `json:"task,omitempty"`
	// Build as of this sequence number, or as of the newest that was committed at
	// or before this time, an RFC 3339 string such as "2026-01-31T12:00:00Z". The
	// newest when absent, and for a time that has not come yet; not_found for a
	// time before the first commit.
	AsOf any `json:"asOf,omitempty" form:"integer|string"`
	// True when no pack before is in a provider's cache, as at the first call
	// after a client's compaction or for another model: the pack is laid out
	// afresh and fills its budget, instead of keeping the bytes of the pack before
	// in front and leaving room for what comes. It quotes the turns of the workspace
	// that the query is about as far as there is room; in a chat without tools half
	// of the context is theirs.
	Fill bool `json:"fill,omitempty"`
	// Also give the pack in this shape: "anthropic-messages", "openai-chat",
	// "openai-responses", "gemini-contents" or "text".
	Render string `json:"render,omitempty" enum:"anthropic-messages,openai-chat,openai-responses,gemini-contents,text"`
}

// PackBuildResult is a pack. Pack is in canonical JSON (RFC 8785); checksum is
// the SHA-256 of exactly those bytes.
type PackBuildResult struct {
	// SHA-256 of the pack's canonical bytes, lower-case hex.
	Checksum string `json:"checksum"`
	// The pack, of the form Pack.
	Pack json.RawMessage `json:"pack" form:"Pack"`
	// What of this pack stays, and how it continues the one before. Not part of
	// the checksum.
	Stability Stability `json:"stability"`
	// What the session's pack before showed and this one does not, or in less
	// detail; absent when that is nothing. Not part of the checksum.
	Loss *PackLoss `json:"loss,omitempty"`
	// What the limit of the session's agent did to it; absent where none is set. Not
	// part of the checksum.
	Limit *PackLimit `json:"limit,omitempty"`
	// The pack in the shape asked for with render. Not part of the checksum.
	Rendering *Rendering `json:"rendering,omitempty"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// PackLoss counts what a pack lost against the one before it; hexapla/pack/receipt
// lists it, hexapla/pack/undo takes it back.
type PackLoss struct {
	// Checksum of the pack before.
	Previous string `json:"previous"`
	// Things that are shown in less detail or not at all.
	Items int `json:"items"`
	// Tokens that they took more.
	Tokens int `json:"tokens"`
}

// Stability tells what of a pack stays in packs to come, and compares it with
// the one built before it for the session.
type Stability struct {
	// Bytes at the beginning of text that are the same as before.
	CommonPrefixBytes int `json:"commonPrefixBytes"`
	// Tokens of the whole items in those bytes.
	CommonPrefixTokens int `json:"commonPrefixTokens"`
	// Share of text's bytes, 0 to 1.
	CachedShare float64 `json:"cachedShare"`
	// As in Pack.
	StablePrefixBytes int `json:"stablePrefixBytes"`
	// As in Pack.
	Epoch int64 `json:"epoch"`
	// As in Pack: "start", "window", "budget", "fill", "opening" or "profile".
	EpochReason string `json:"epochReason" enum:"start,window,budget,fill,opening,profile"`
	// Tokens that what is recorded may add before the next fold for want of room.
	HeadroomTokens int `json:"headroomTokens"`
	// Model calls until then, an estimate: headroomTokens by the mean of what the
	// newest eight calls added, in the form in which they were appended at most.
	// Absent as long as there was no call.
	FoldExpectedInCalls *int `json:"foldExpectedInCalls,omitempty"`
	// The profile that the pack was built under.
	Profile ProfileState `json:"profile"`
	// Where it pays to have a provider keep the prompt, in order of bytes, at
	// most four.
	Breakpoints []Breakpoint `json:"breakpoints"`
	// The newest decision about a fold; absent as long as there was none to take.
	Gate *Gate `json:"gate,omitempty"`
}

// Gate is a decision about a fold: what it saves against what it costs that
// the bytes behind it are written to the provider's cache anew, at the model's
// prices. Gain and cost are in tokens of plain input. Before room runs out a fold
// is only made where it pays.
type Gate struct {
	// "forced" (there was no room, or it had been put off as often as the policy
	// allows), "pays" (the gain is the cost or more) or "deferred" (it is less, and
	// the pack went on as it was).
	Decision string `json:"decision" enum:"forced,pays,deferred"`
	// The sequence number at which it was taken.
	Sequence int64 `json:"sequence"`
	// Tokens that later packs are without.
	SavedTokens int `json:"savedTokens"`
	// Tokens that are written anew.
	RewrittenTokens int `json:"rewrittenTokens"`
	// Model calls until the next decision, an estimate: as many as since the last.
	ExpectedCalls int `json:"expectedCalls"`
	// savedTokens at the price of reading them, over the expected calls.
	Gain float64 `json:"gain"`
	// rewrittenTokens at the price of writing less that of reading.
	Cost float64 `json:"cost"`
	// Calls from which on the fold pays; absent where it never does.
	BreakEvenCalls int `json:"breakEvenCalls,omitempty"`
}

// Breakpoint is a place in a pack's text up to which packs to come repeat the
// bytes. Items end there, so tokens add up.
type Breakpoint struct {
	// Bytes of text up to it.
	Bytes int `json:"bytes"`
	// Tokens of text up to it.
	Tokens int `json:"tokens"`
	// Name of the section that ends there, as in Section.
	Section string `json:"section"`
	// "1h" for what changes only when the window moves or at a fold, "5m" for the
	// stream, which grows with every call.
	TTL string `json:"ttl" enum:"1h,5m"`
}

// Rendering is a pack as the part of a model request that carries context.
type Rendering struct {
	// "anthropic-messages", "openai-chat", "openai-responses", "gemini-contents"
	// or "text", as asked for.
	Format string `json:"format" enum:"anthropic-messages,openai-chat,openai-responses,gemini-contents,text"`
	// Members of the request, in canonical JSON: {system, messages}, {messages},
	// {instructions, input} or {systemInstruction, contents}, without system
	// prompt where there is none; for "text" a string, the pack's text.
	Body json.RawMessage `json:"body" form:"any"`
	// Tokens of all texts in body: the pack's tokens.used. A call counts as its
	// line in the pack.
	Tokens int `json:"tokens"`
	// Estimate of the tokens that the provider adds for messages and roles; 0
	// where framing is not "published".
	FramingTokens int `json:"framingTokens"`
	// Where framingTokens comes from: "published" (a rule of the provider),
	// "unknown" (there is no such rule) or "none" (nothing is added to a text).
	Framing string `json:"framing" enum:"published,unknown,none"`
}

// Pack is the assembled context of one model call.
type Pack struct {
	// Derived from task and turn.
	Seed string `json:"seed"`
	// The packing policy and its version.
	SelectionPolicy string `json:"selectionPolicy"`
	// "stable-prefix" or "narrative-first": the order of sections in text.
	Layout string `json:"layout" enum:"stable-prefix,narrative-first"`
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
	// Bytes at the beginning of text that stay until the epoch changes, whatever
	// is appended. Two things may move them before: a change of the pins, and a
	// turn so large that summaries or headers give way to it. Only the system
	// branch and the pins count where the rest is laid out anew each time: with
	// "fill", in the layout "narrative-first", and where no more than must be
	// there has room.
	StablePrefixBytes int `json:"stablePrefixBytes"`
	// The sequence number at which the last fold was made; it rises with each
	// fold.
	Epoch int64 `json:"epoch"`
	// Why the last fold was made: "start" (none was yet), "window" (layer 1
	// demoted a step of conversations), "budget" (the stream met its high-water
	// mark), "fill" (it was asked for), "opening" (a query opened a conversation and
	// the fold paid before it had to be made) or "profile" (one was set by hand to
	// count at once).
	EpochReason string `json:"epochReason" enum:"start,window,budget,fill,opening,profile"`
	// How the budget was turned into counted tokens, if it was in the provider's.
	Calibration *Calibration `json:"calibration,omitempty"`
	// What was left out or reduced, and why.
	Dropped []Dropped `json:"dropped"`
	// Digest of the settings that were in force.
	Settings string `json:"settings"`
}

// PackQuotas are limits of a pack.
type PackQuotas struct {
	// Tokens for summaries.
	Summaries int `json:"summaries"`
	// Full conversations that are served by request between two turns.
	Fulls int `json:"fulls"`
}

// PackTokens is the accounting of a pack. used = system + context + input and
// used + reserved never exceeds total.
type PackTokens struct {
	// As in the request.
	Total int `json:"total"`
	// As in the request.
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
	// "system", "pins", "memory", "headers", "summaries", "currentContext", "errors"
	// (open ones that are out of view since the last fold), "names" (the roster of
	// what is out of view), "activeMemory", "retrieved" or "input".
	Name string `json:"name" enum:"system,pins,memory,headers,summaries,currentContext,errors,names,activeMemory,retrieved,input"`
	// 0 to 5; -1 for system, pins, memory, errors and input.
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
	// Id of a conversation ("c12"), a turn ("c12#3") or one of several tool
	// outputs of a turn ("c12#3/2"); or a name such as "rollup", "heading",
	// "context:c12", "related:c12", "served:r4:1" or "seen:c12#3" (a line behind a
	// failure that was met and resolved before).
	ID string `json:"id"`
	// The detail it is shown in: "header", "summary", "full", "excerpt"
	// (beginning and end), "brief" (what it came to), "line" (that it
	// happened), "digest" (what folded turns came to), "roster" (names that were
	// used), "rollup" (many headers in one), "changed" (what is new since an
	// earlier tool output that it names) or "heading" (a line of the pack itself).
	Detail string `json:"detail" enum:"header,summary,full,excerpt,brief,line,digest,roster,rollup,changed,heading"`
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
	// As in PackItem; runs of turns that fared alike are one range such as
	// "c12#2..c12#40".
	ID string `json:"id"`
	// The detail it would have had, as in PackItem.
	From string `json:"from"`
	// The detail it is in now; "none" when it is out.
	To string `json:"to"`
	// "window" (layers 1 and 3 moved on), "budget" (no room), "cap" (over the
	// cap of its kind), "rollup" (told together with others) or "archive" (the
	// model let it go).
	Reason string `json:"reason" enum:"window,budget,cap,rollup,archive"`
	// Tokens that this saved.
	Saved int `json:"saved"`
}

// PackReplayParams names a pack that was built before.
type PackReplayParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Checksum of the pack.
	Checksum string `json:"checksum"`
	// Also give the pack in this shape: "anthropic-messages", "openai-chat",
	// "openai-responses", "gemini-contents" or "text".
	Render string `json:"render,omitempty" enum:"anthropic-messages,openai-chat,openai-responses,gemini-contents,text"`
}

// PackReplayResult compares the pack with what it was.
type PackReplayResult struct {
	// The checksum asked for.
	Checksum string `json:"checksum"`
	// The checksum of the pack built again.
	Rebuilt string `json:"rebuilt"`
	// Whether they are the same.
	Match bool `json:"match"`
	// Whether something was forgotten since that the pack may have shown, so that
	// the two checksums may differ for that alone.
	Redacted bool `json:"redacted"`
	// The pack built again, of the form Pack.
	Pack json.RawMessage `json:"pack" form:"Pack"`
	// The pack in the shape asked for with render.
	Rendering *Rendering `json:"rendering,omitempty"`
}

// Calibration is how a budget in the provider's tokens became one in counted
// tokens.
type Calibration struct {
	// What a counted token is in the provider's.
	Factor float64 `json:"factor"`
	// The relative error that was kept free.
	Band float64 `json:"band"`
	// What every prompt has beyond the pack, in the provider's tokens.
	Overhead int `json:"overhead"`
	// Reports that it was learned from.
	Samples int `json:"samples"`
	// budget.total as asked.
	Limit int `json:"limit"`
	// budget.reserved as asked.
	Reserved int `json:"reserved"`
}
