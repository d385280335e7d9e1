package layers

import "fmt"

// Layer is one of the six levels of memory. The order of the constants is the
// order of priority in which layers receive budget (requirement H10).
type Layer int

// The six layers (requirements H1 to H6).
const (
	LayerCurrentContext Layer = iota // 0: the story so far, at most 300 tokens
	LayerActiveMemory                // 1: the conversation in progress and the most recent ones, in full
	LayerHeaders                     // 2: one line per conversation, older ones rolled up
	LayerSummaries                   // 3: summaries of the conversations before layer 1
	LayerReferences                  // 4: where files, functions, concepts and errors were spoken of
	LayerArchive                     // 5: any conversation by id, in the detail that was asked for
)

var layerNames = [...]string{"currentContext", "activeMemory", "headers", "summaries", "references", "archive"}

// String returns the layer's name on the wire.
func (l Layer) String() string {
	if l < 0 || int(l) >= len(layerNames) {
		return fmt.Sprintf("layer%d", int(l))
	}
	return layerNames[l]
}

// Detail says how much of a conversation is shown, from least to most.
type Detail string

// Details of a conversation. DetailMixed is a request only: the server chooses
// the cheapest detail that fits (requirement H6).
const (
	DetailHeader  Detail = "header"
	DetailSummary Detail = "summary"
	DetailFull    Detail = "full"
	DetailMixed   Detail = "mixed"
)

// Outcome is the state in which a conversation stands or ended.
type Outcome string

// Outcomes of a conversation (requirement H3).
const (
	OutcomeOngoing   Outcome = "ongoing"
	OutcomeCompleted Outcome = "completed"
	OutcomeError     Outcome = "error"
)

// Role is the author of a turn.
type Role string

// Roles of a turn. A tool turn carries results of tool calls.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// InputKind is the kind of a consolidated user input (requirement H8).
type InputKind string

// Kinds of user input.
const (
	InputUserQuery    InputKind = "user_query"
	InputToolResponse InputKind = "tool_response"
	InputUserFeedback InputKind = "user_feedback"
)

// BlobRef names a stored byte string by its content (requirement H14).
type BlobRef struct {
	SHA256 string `json:"sha256"` // lower-case hex, 64 characters
	Size   int64  `json:"size"`   // bytes
	MIME   string `json:"mime"`
}

// ToolCall is one call of a tool by the assistant.
type ToolCall struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input string `json:"input"` // JSON text as the model gave it
}

// Line is the call as the full form of its turn shows it.
func (c ToolCall) Line() string { return "call " + c.Name + " " + c.Input + "\n" }

// CallResult tells which call an output belongs to.
type CallResult struct {
	CallID string // "" if the client did not say
	Failed bool
}

// ToolResult is what a tool call returned. Content is the whole output while a
// turn is being recorded; in the store only Blob and Compressed remain.
type ToolResult struct {
	CallID     string               `json:"callId"`
	Tool       string               `json:"tool"`
	Content    string               `json:"-"`
	IsError    bool                 `json:"isError,omitempty"`
	Blob       BlobRef              `json:"blob"`
	Compressed CompressedToolResult `json:"compressed"`
}

// CompressedToolResult is what stands in context for a tool output
// (requirement H14).
type CompressedToolResult struct {
	Tool          string   `json:"tool"`
	Summary       string   `json:"summary"`                 // at most 60 tokens, no raw log lines
	Entities      []string `json:"entities,omitempty"`      // identifiers found in the output
	KeyFiles      []string `json:"keyFiles,omitempty"`      // paths found in the output
	ErrorPatterns []string `json:"errorPatterns,omitempty"` // normalised error messages
	Pointers      []string `json:"pointers,omitempty"`      // path:line references
}

// Turn is one message in a conversation.
type Turn struct {
	Number  int          `json:"number"` // from 1, without gaps, never reused
	Role    Role         `json:"role"`
	Kind    InputKind    `json:"kind,omitempty"` // of user and tool turns
	Text    string       `json:"text,omitempty"`
	Calls   []ToolCall   `json:"calls,omitempty"`   // of assistant turns
	Results []ToolResult `json:"results,omitempty"` // of tool turns
	Time    int64        `json:"time"`              // Unix milliseconds as the client claims; orders nothing
	// Shared marks a turn of another memory: its user is not this workspace's.
	Shared bool `json:"shared,omitempty"`
}

// CodeChange is one change to files (requirement H19).
type CodeChange struct {
	Files                []string `json:"files"`
	ChangeType           string   `json:"changeType"` // create, modify, delete or refactor
	Summary              string   `json:"summary"`
	Impact               string   `json:"impact,omitempty"` // low, medium or high
	RelatedConversations []string `json:"relatedConversations,omitempty"`
}

// Header is a conversation in one line (requirement H3).
type Header struct {
	ID          string   `json:"id"`
	Timestamp   int64    `json:"timestamp"` // Unix milliseconds of the first turn
	Topic       string   `json:"topic"`
	KeyEntities []string `json:"keyEntities"`
	Outcome     Outcome  `json:"outcome"`
	TokenCount  int      `json:"tokenCount"` // of the full text
	Summary     string   `json:"summary"`    // at most 12 tokens
	Source      string   `json:"source"`     // SourceHousekeeping or SourceRule
}

// Summary is a conversation in at most 120 tokens (requirement H4).
type Summary struct {
	ConversationID string       `json:"conversationId"`
	Content        string       `json:"content"`
	KeyDecisions   []string     `json:"keyDecisions"`
	CodeChanges    []CodeChange `json:"codeChanges"`
	OpenQuestions  []string     `json:"openQuestions"`
	Retrievable    bool         `json:"retrievable"`
	Source         string       `json:"source"`
	// Confidence is the share of its claims that the conversation bears out.
	Confidence float64 `json:"confidence,omitempty"`
}

// Where a header, a summary or the current context came from.
const (
	SourceHousekeeping = "housekeeping" // said by the model
	SourceRule         = "rule"         // extracted by rule
)

// Entities are the things a text speaks of. Each list is in order of first
// appearance and holds no duplicates.
type Entities struct {
	Files     []string `json:"files"`
	Functions []string `json:"functions"`
	Concepts  []string `json:"concepts"`
	Errors    []string `json:"errors"` // normalised error patterns
}

// CurrentContext is layer 0 (requirement H1).
type CurrentContext struct {
	OverallNarrative string         `json:"overallNarrative"`
	CurrentObjective string         `json:"currentObjective"`
	KeyAchievements  []string       `json:"keyAchievements"`
	ActiveEntities   ActiveEntities `json:"activeEntities"`
	ContextualState  string         `json:"contextualState"`
	NextSteps        []string       `json:"nextSteps"`
	LastUpdated      int64          `json:"lastUpdated"` // Unix milliseconds of the newest event it speaks of
	Source           string         `json:"source"`
}

// ActiveEntities are the things work is about at the moment.
type ActiveEntities struct {
	Files     []string `json:"files"`
	Functions []string `json:"functions"`
	Concepts  []string `json:"concepts"`
}

// Conversation is one exchange: from a user input to the assistant's final
// answer with every tool call between (requirement H7).
type Conversation struct {
	ID      string  `json:"id"`
	Session string  `json:"session"`
	Opened  int64   `json:"opened"` // sequence of its first record
	Outcome Outcome `json:"outcome"`
	Turns   []Turn  `json:"turns,omitempty"`
}

// Housekeeping is what the model says about its own turn (requirement H9).
type Housekeeping struct {
	LLM  HousekeepingLLM  `json:"llm"`
	User HousekeepingUser `json:"user"`
}

// HousekeepingLLM is the model's account of its answer. Empty fields say
// nothing; CurrentContext, when present, replaces layer 0.
type HousekeepingLLM struct {
	ResponseHeader Header          `json:"responseHeader"`
	ContextSummary string          `json:"contextSummary"`
	KeyDecisions   []string        `json:"keyDecisions"`
	CodeChanges    []CodeChange    `json:"codeChanges"`
	OpenQuestions  []string        `json:"openQuestions"`
	CurrentContext *CurrentContext `json:"currentContext,omitempty"`
}

// HousekeepingUser is the model's understanding of the user's side.
type HousekeepingUser struct {
	QueryHeader      string   `json:"queryHeader"`
	UnderstoodIntent string   `json:"understoodIntent"`
	ContextUsed      []string `json:"contextUsed"`
	Satisfaction     string   `json:"satisfaction,omitempty"` // positive, negative or neutral
	Corrections      []string `json:"corrections,omitempty"`
}

// Caps in tokens, enforced before a pack is sent (requirements H1, H3, H4,
// H14).
const (
	CapCurrentContext = 300
	CapHeaderSummary  = 12
	CapHeader         = 40
	CapSummary        = 120
	CapToolSummary    = 60
	MaxHeaders        = 200 // headers listed singly; older ones are rolled up
	MaxFullsPerTurn   = 3   // requirement H13
)

// Counter counts tokens. Implementations live in layers/tokens.
type Counter interface {
	// Count returns the number of tokens of s.
	Count(s string) int
	// Name is the encoding's name, such as "o200k_base".
	Name() string
	// Estimate tells that counts are an estimate, not exact (requirement B7).
	Estimate() bool
}
