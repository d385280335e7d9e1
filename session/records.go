package session

import (
	"encoding/json"
	"fmt"
	"strconv"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// Kinds of records. The names are on disk; do not change them.
const (
	kindSession       = "session"
	kindConversation  = "conversation"
	kindTurn          = "turn"
	kindOutput        = "output"
	kindTrio          = "trio"
	kindContext       = "context"
	kindTool          = "tool"
	kindServed        = "served"
	kindArchive       = "archive"
	kindHousekeeping  = "housekeeping"
	kindUsage         = "usage"
	kindSpent         = "spent"
	kindPin           = "pin"
	kindChange        = "change"
	kindLine          = "line"
	kindVersion       = "version"
	kindAlias         = "alias"
	kindEdit          = "edit"
	kindQueue         = "queue"
	kindLearned       = "learned"
	kindLearningReset = "learningReset"
	kindProfile       = "profile"
	kindItem          = "item"
	kindTiers         = "tiers"
	kindCheckpoint    = "checkpoint"
	kindMessage       = "message"
	kindLimit         = "limit"
)

// Counters of a workspace.
const (
	counterTurns     = "turns"
	counterTokens    = "fullTokens"
	counterBlobs     = "blobs"
	counterBlobBytes = "blobBytes"
)

// workspaceContext is the id under which the newest layer 0 of any session is
// kept, so that a new session inherits it (H24).
const workspaceContext = "workspace"

// sessionRecord is the body of a session record.
type sessionRecord struct {
	Agent  string `json:"agent,omitempty"`
	Title  string `json:"title,omitempty"`
	Model  string `json:"model,omitempty"`
	Closed bool   `json:"closed,omitempty"`
	// Shared marks a session of another memory: what it says of the user and of
	// the work does not become layer 0 of new sessions (H24).
	Shared bool `json:"shared,omitempty"`
}

// conversationRecord is the body of a conversation record. The first version
// is written when the conversation opens, the second when it is done.
type conversationRecord struct {
	Session string         `json:"session"`
	Outcome layers.Outcome `json:"outcome"`
	Opened  int64          `json:"opened"` // sequence of the first version
	Time    int64          `json:"time"`   // Unix ms of the first turn, as claimed
}

// turnRecord is the body of a turn record.
type turnRecord struct {
	layers.Turn
	Tokens int   `json:"tokens"` // of the turn in full, o200k_base
	Total  int64 `json:"total"`  // of all the session's turns up to this one
}

// outputRecord is the body of an output record: one tool output in a turn.
type outputRecord struct {
	Turn   int            `json:"turn"`
	Result int            `json:"result"` // index in the turn's results
	Tool   string         `json:"tool"`
	Blob   layers.BlobRef `json:"blob"`
}

// trioRecord is the body of a trio record: the header and the summary of a
// conversation. The third part, the full text, are its turns.
type trioRecord struct {
	Header  layers.Header  `json:"header"`
	Summary layers.Summary `json:"summary"`
	// Activity is what kind of work it is; "" in records of programs that did not
	// tell.
	Activity digest.Activity `json:"activity,omitempty"`
	// Work is what its calls did, by which profiles are chosen: nil in records of
	// programs that did not count.
	Work *layers.Work `json:"work,omitempty"`
	// Trust is the least of what the conversation was made of; "" in records of
	// programs that did not tell.
	Trust layers.Trust `json:"trust,omitempty"`
}

// servedRecord is the body of a served record: what a context request was
// answered with.
type servedRecord struct {
	Items []servedItem `json:"items"`
	Query string       `json:"query,omitempty"`
	Asked *askedCounts `json:"asked,omitempty"` // nil in records of programs that did not count
}

// askedCounts is how a context request fared: by id that was asked for or found
// for a query, query that found nothing, and topic.
type askedCounts struct {
	Served   int `json:"served"`
	Deferred int `json:"deferred,omitempty"` // for want of quota, tokens or places
	NotFound int `json:"notFound,omitempty"`
	ReAsked  int `json:"reAsked,omitempty"` // had been given before; of all three
}

func (a *askedCounts) total() int { return a.Served + a.Deferred + a.NotFound }

type servedItem struct {
	ID     string        `json:"id"` // of a conversation or of a turn
	Detail layers.Detail `json:"detail"`
	Tokens int           `json:"tokens"`
	// Of passages that answer a query: the query, the first of them, and as of
	// when, if not of the record.
	Query string `json:"query,omitempty"`
	From  int    `json:"from,omitempty"`
	AsOf  int64  `json:"asOf,omitempty"`
}

// archiveRecord is the body of an archive record: a conversation that the model
// let go, or that it got back.
type archiveRecord struct {
	Since    int64 `json:"since,omitempty"`    // sequence at which it was let go, where that is taken back
	Restored bool  `json:"restored,omitempty"` // it is taken back
}

// archivedIn returns the sequence at which a conversation was let go, and the
// one at which that was taken back; 0 for what did not happen.
func archivedIn(v storage.View, conversation string) (archived, restored int64, err error) {
	body, seq, ok, err := latest[archiveRecord](v, kindArchive, conversation)
	if err != nil || !ok {
		return 0, 0, err
	}
	if body.Restored {
		return body.Since, seq, nil
	}
	return seq, 0, nil
}

// toolRecord is the body of a tool record: an output that was stored outside
// of a turn.
type toolRecord struct {
	Tool       string                      `json:"tool"`
	Blob       layers.BlobRef              `json:"blob"`
	Compressed layers.CompressedToolResult `json:"compressed"`
}

// Names of lists.
const (
	listChanges       = "changes"
	listConversations = "conversations"
	listEdits         = "edits"
	listSuperseded    = "superseded" // conversations that others took the place of
	listPins          = "pins"
	listRequests      = "requests"
	listSessions      = "sessions"
)

func listOfSession(session string) string { return "session/" + session + "/conversations" }
func listOfUsage(model string) string     { return "usage/" + model }
func listOfServed(session string) string  { return "session/" + session + "/served" }
func listOfLine(session string, n int) string {
	return listOfSession(session) + "/" + strconv.Itoa(n)
}
func listOfVersions(conversation string) string { return conversation + "/versions" }
func versionID(conversation string, n int) string {
	return conversation + "@" + strconv.Itoa(n)
}
func listOfProfiles(session string) string     { return "session/" + session + "/profiles" }
func listOfTurns(conversation string) string   { return conversation + "/turns" }
func listOfChanges(conversation string) string { return conversation + "/changes" }
func turnID(conversation string, n int) string { return conversation + "#" + strconv.Itoa(n) }
func outputID(conversation string, n, i int) string {
	return turnID(conversation, n) + "/" + strconv.Itoa(i+1)
}

// latest reads the newest version of a record into T.
func latest[T any](v storage.View, kind, id string) (body T, seq int64, ok bool, err error) {
	record, ok, err := v.Latest(kind, id)
	if err != nil || !ok {
		return body, 0, false, err
	}
	if err := json.Unmarshal(record.Body, &body); err != nil {
		return body, 0, false, fmt.Errorf("read %s %q: %w", kind, id, err)
	}
	return body, record.Seq, true, nil
}

// encode turns a body into bytes. Bodies are structs of plain fields, which
// always encode.
func encode(body any) []byte {
	b, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", body, err))
	}
	return b
}
