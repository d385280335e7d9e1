package wire

// Code is a JSON-RPC error code. Only codes of JSON-RPC and LSP are used;
// Kind tells cases of one code apart.
type Code int64

// Codes on the wire.
const (
	CodeParseError       Code = -32700
	CodeInvalidRequest   Code = -32600
	CodeMethodNotFound   Code = -32601
	CodeInvalidParams    Code = -32602
	CodeInternalError    Code = -32603
	CodeNotInitialized   Code = -32002
	CodeRequestCancelled Code = -32800
	CodeContentModified  Code = -32801
	CodeServerBusy       Code = -32802 // LSP's ServerCancelled: ask again
	CodeRequestFailed    Code = -32803
)

// Kind is the stable name of an error case, in error.data.kind.
type Kind string

// Kinds that any message may meet.
const (
	KindParse              Kind = "parse"
	KindBadHeader          Kind = "bad_header"
	KindUnsupportedCharset Kind = "unsupported_charset"
	KindInvalidRequest     Kind = "invalid_request"
	KindInvalidID          Kind = "invalid_id"
	KindDuplicateID        Kind = "duplicate_id"
	KindMethodNotFound     Kind = "method_not_found"
	KindInvalidParams      Kind = "invalid_params"
	KindTooDeep            Kind = "too_deep"
	KindDuplicateKey       Kind = "duplicate_key"
	KindTooLarge           Kind = "too_large"
	KindInternal           Kind = "internal"
	KindNotInitialized     Kind = "not_initialized"
	KindCancelled          Kind = "cancelled"
	KindBusy               Kind = "busy"
	KindShuttingDown       Kind = "shutting_down"
)

// Kinds of single methods.
const (
	KindNotFound         Kind = "not_found"
	KindForgotten        Kind = "forgotten"
	KindOpIDReused       Kind = "op_id_reused"
	KindStateChanged     Kind = "state_changed"
	KindConversationDone Kind = "conversation_done"
	KindBudgetTooSmall   Kind = "budget_too_small"
	KindTokenLimit       Kind = "token_limit_exceeded"
	KindBreakerFailed    Kind = "breaker_failed"
	KindQueryTooComplex  Kind = "query_too_complex"
	KindBlobDamaged      Kind = "blob_damaged"
	KindLocked           Kind = "locked"
	KindSchemaTooNew     Kind = "schema_too_new"
	KindCorrupt          Kind = "corrupt"
	KindStorageFull      Kind = "storage_full"
	KindQuota            Kind = "quota"
	KindResourceLimit    Kind = "resource_limit"
	KindStorage          Kind = "storage"
	KindReadOnly         Kind = "read_only"

	// What only a process between client and server says.
	KindDaemonUnresponsive Kind = "daemon_unresponsive"
)

// Committed says whether a failed write took effect.
type Committed string

// States of a write that was answered with an error.
const (
	CommittedNo      Committed = "no"
	CommittedYes     Committed = "yes"
	CommittedUnknown Committed = "unknown"
)

// ErrorData is the data member of every error.
type ErrorData struct {
	// Which case of the code this is.
	Kind Kind `json:"kind"`
	// Whether the same request may succeed when it is sent again.
	Retryable bool `json:"retryable"`
	// Whether a write took effect.
	Committed Committed `json:"committed"`
	// The parameter that is at fault, as a path such as "turns[2].role".
	Path string `json:"path,omitempty"`
	// The limit that was passed, in the unit of the parameter.
	Limit int64 `json:"limit,omitempty"`
	// For budget_too_small and token_limit_exceeded: the smallest total, in tokens,
	// that works; for breaker_failed the tokens of the context.
	SmallestTotal int64 `json:"smallestTotal,omitempty"`
	// For budget_too_small: what that total is made of.
	NeverDropped *NeverDropped `json:"neverDropped,omitempty"`
	// For locked: the process that has the store open, where that is known.
	PID int `json:"pid,omitempty"`
	// For internal errors: what to look for in the log.
	Incident string `json:"incident,omitempty"`
}

// KindRow documents one kind for protocol.md.
type KindRow struct {
	Kind      Kind
	Code      Code
	Retryable bool
	When      string
}

// Kinds returns every error kind with its code and meaning. The caller owns
// the slice.
func Kinds() []KindRow {
	return []KindRow{
		{KindParse, CodeParseError, false, "The body of a frame is not JSON, or frames are out of step."},
		{KindBadHeader, CodeInvalidRequest, false, "Content-Length is missing, not a positive number, or given twice."},
		{KindUnsupportedCharset, CodeInvalidRequest, false, "Content-Type names a charset other than utf-8."},
		{KindInvalidRequest, CodeInvalidRequest, false, "The message is no JSON-RPC 2.0 request, or it comes in the wrong state of the lifecycle."},
		{KindInvalidID, CodeInvalidRequest, false, "The id is null, a fraction, an object or beyond 2^63-1."},
		{KindDuplicateID, CodeInvalidRequest, false, "A request with this id is still in flight."},
		{KindMethodNotFound, CodeMethodNotFound, false, "No such request."},
		{KindInvalidParams, CodeInvalidParams, false, "A parameter is missing, of the wrong type or out of range; path names it."},
		{KindTooDeep, CodeInvalidParams, false, "The parameters are nested deeper than 256 levels."},
		{KindDuplicateKey, CodeInvalidParams, false, "An object in the parameters has the same member twice."},
		{KindTooLarge, CodeRequestFailed, false, "A frame is over 64 MiB, or a text is over its own limit."},
		{KindInternal, CodeInternalError, false, "A fault in the server; the log has the incident."},
		{KindNotInitialized, CodeNotInitialized, false, "A request came before initialize."},
		{KindCancelled, CodeRequestCancelled, true, "The client cancelled the request."},
		{KindBusy, CodeServerBusy, true, "Too many requests wait; ask again."},
		{KindShuttingDown, CodeInvalidRequest, false, "A request came after shutdown."},
		{KindNotFound, CodeRequestFailed, false, "No such session, conversation, blob, pack or cursor in this workspace."},
		{KindForgotten, CodeRequestFailed, false, "The conversation was forgotten; nothing of it is left."},
		{KindOpIDReused, CodeInvalidParams, false, "The key was used before for a request with other content."},
		{KindStateChanged, CodeContentModified, true, "A cursor belongs to an older state; start the listing again."},
		{KindConversationDone, CodeRequestFailed, false, "The conversation is completed; record without its id to open the next."},
		{KindBudgetTooSmall, CodeRequestFailed, false, "What must be in the pack does not fit; smallestTotal would."},
		{KindTokenLimit, CodeRequestFailed, false, "What must be in the pack is over the agent's limit, and the settings want that to be an error."},
		{KindBreakerFailed, CodeRequestFailed, false, "No strategy brings the context within its limit, and the settings want that to be an error."},
		{KindQueryTooComplex, CodeInvalidParams, false, "The query has too many bytes or terms."},
		{KindBlobDamaged, CodeRequestFailed, false, "The stored bytes are missing or do not match their checksum."},
		{KindLocked, CodeRequestFailed, true, "Another process has the workspace's store open."},
		{KindSchemaTooNew, CodeRequestFailed, false, "A newer Hexapla wrote the store; it was left untouched."},
		{KindCorrupt, CodeRequestFailed, false, "The store is damaged; it was left untouched."},
		{KindStorageFull, CodeRequestFailed, true, "The disk is full; reads still work."},
		{KindQuota, CodeRequestFailed, false, "The workspace has used up storage.maxBytes; reading, forgetting and exporting go on."},
		{KindResourceLimit, CodeRequestFailed, true, "The process may not open more files; workspaces that are open go on."},
		{KindStorage, CodeRequestFailed, true, "The store could not be read or written."},
		{KindReadOnly, CodeRequestFailed, false, "The store cannot be written to."},
		{KindDaemonUnresponsive, CodeRequestFailed, true, "The daemon that has the stores open does not answer; a write may still take effect."},
	}
}

// NeverDropped is what must be in a pack, in counted tokens.
type NeverDropped struct {
	// As in Budget.
	Reserved int `json:"reserved"`
	// The system branch.
	System int `json:"system"`
	// Pinned texts.
	Pins int `json:"pins"`
	// The user's newest message, verbatim.
	Request int `json:"request"`
	// Errors that nothing has resolved, a line each.
	Errors int `json:"errors"`
	// The newest input in its shortest form, a short current context and one
	// roll-up of earlier conversations.
	Other int `json:"other"`
}
