// Package digest makes what stands for a conversation when the model said
// nothing about it: entities, compressed tool results, headers, summaries and
// the current context. It knows coding sessions: the tools of common
// assistants, shells, test runners, compilers and version control.
//
// It guarantees:
//   - every result is a pure function of its arguments; no clock, no I/O, no
//     model, no map order;
//   - it never panics, time is linear in the input, and output is bounded;
//   - paths, identifiers and numbers in headers, summaries and the current
//     context are copied from the conversation, never made. Only a compressed
//     tool result counts (lines, matches, failures), because that is what it
//     is for;
//   - the caps of package layers hold for the rendered texts;
//   - each rendered text begins with a character that is neither white space
//     nor '/', ends in exactly one line feed, and has no line that begins with
//     '#': every line begins with an id, a fixed label, or one space and a
//     fixed label, and line feeds inside fields are shown as spaces.
//
// It does not understand what it reads. It recognises cue phrases in English;
// in other languages topics and results are still taken, decisions mostly not.
package digest

import "hexapla/layers"

// ToolOutput is one tool call with what it returned.
type ToolOutput struct {
	Tool    string // name as the client gives it
	Input   string // JSON text of the arguments, or a bare command
	Output  string
	IsError bool // as the client says
}

// Exchange is a conversation to be digested. Where a result's Content is
// empty, its Compressed form is what is known.
type Exchange struct {
	Conversation layers.Conversation
	Tokens       int // of the full text
}

// Trio is the two short forms of a conversation.
type Trio struct {
	Header  layers.Header
	Summary layers.Summary
}

// Story is what the current context is made from.
type Story struct {
	// Previous is the version before, if there is one. It is continued when a
	// model wrote it or when no trio is as old as it; otherwise the story is
	// told anew from Trios.
	Previous *layers.CurrentContext
	// Trios of completed conversations, oldest first.
	Trios []Trio
	// Ongoing is the conversation in progress, if there is one.
	Ongoing *Exchange
}

// Bounds of lists. They keep results small whatever the input is.
const (
	maxEntities      = 200 // per list of EntitiesOf
	maxErrorBytes    = 160 // of one error pattern
	maxResultNames   = 32  // CompressedToolResult.Entities
	maxResultFiles   = 16  // CompressedToolResult.KeyFiles
	maxResultErrors  = 8   // CompressedToolResult.ErrorPatterns
	maxResultPlaces  = 16  // CompressedToolResult.Pointers
	maxKeyEntities   = 8   // Header.KeyEntities
	maxDecisions     = 4   // Summary.KeyDecisions
	maxQuestions     = 3   // Summary.OpenQuestions
	maxAchievements  = 5   // CurrentContext.KeyAchievements
	maxSteps         = 4   // CurrentContext.NextSteps
	maxChangedFiles  = 12  // CodeChange.Files
	sampledOutput    = 1 << 20
	sampleOfOutput   = 512 << 10
	longestToken     = 256 // longer runs are data, not names
	longestErrorLine = 500
)
