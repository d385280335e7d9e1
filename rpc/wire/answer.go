package wire

import "encoding/json"

// StructuredResponse is a model's answer that the client already took apart.
type StructuredResponse struct {
	// What the user sees.
	Content string `json:"content,omitempty"`
	// Tool calls.
	ToolUses []ToolCall `json:"toolUses,omitempty"`
	// What the model says of its turn.
	Housekeeping *Housekeeping `json:"housekeeping,omitempty"`
	// What the model asks for.
	ContextRequests *ContextRequests `json:"contextRequests,omitempty"`
}

// ResponseIngestParams carries a model's answer: its text, the provider's
// message, or taken apart.
type ResponseIngestParams struct {
	// The session.
	Session string `json:"session"`
	// The conversation; the one in progress when absent.
	Conversation string `json:"conversation,omitempty"`
	// The raw text of the answer; blocks of housekeeping and context requests
	// are found in it.
	Text string `json:"text,omitempty"`
	// The answer taken apart, instead of text.
	Response *StructuredResponse `json:"response,omitempty"`
	// The answer as the provider gave it, instead of text: the whole response,
	// the message in it, or its list of blocks, items or parts.
	Message json.RawMessage `json:"message,omitempty" form:"any"`
	// The provider whose shape toolResults have: "anthropic" (Messages),
	// "openai-chat", "openai-responses" or "gemini"; found out from message when
	// absent.
	Provider string `json:"provider,omitempty" enum:"anthropic,openai-chat,openai-responses,gemini"`
	// Whether this completes the conversation.
	Done bool `json:"done,omitempty"`
	// When the answer was made, RFC 3339.
	Time string `json:"time,omitempty"`
	// Idempotency key.
	Key string `json:"key,omitempty"`
}

// Problem is a part of an answer that could not be used.
type Problem struct {
	// Which part: "housekeeping", "contextRequests", "toolUses" or "content".
	Part string `json:"part" enum:"housekeeping,contextRequests,toolUses,content"`
	// What is wrong with it.
	Message string `json:"message"`
}

// OwnToolResult is what to return to the model for a call of one of Hexapla's
// tools.
type OwnToolResult struct {
	// The provider's id of the call; empty where it gives none.
	CallID string `json:"callId"`
	// Name of the tool: "hexapla_housekeeping" or "hexapla_context".
	Tool string `json:"tool" enum:"hexapla_housekeeping,hexapla_context"`
	// The result.
	Text string `json:"text"`
	// The result in the provider's shape: a tool_result block, a tool message, a
	// function_call_output item or a functionResponse part; text again where the
	// provider is not known.
	Message json.RawMessage `json:"message" form:"any"`
}

// ResponseIngestResult is the answer in its four parts.
type ResponseIngestResult struct {
	// What the user sees, without the blocks.
	Content string `json:"content"`
	// Tool calls, without those of Hexapla's own tools.
	ToolUses []ToolCall `json:"toolUses"`
	// Whether housekeeping was found and applied.
	HousekeepingApplied bool `json:"housekeepingApplied"`
	// Where the conversation's summary comes from: "housekeeping" (the model
	// said it, now or before) or "rule" (it did not, what is extracted stands in).
	// Absent where no conversation was written to.
	SummarySource string `json:"summarySource,omitempty" enum:"housekeeping,rule"`
	// What to return to the model for each call of Hexapla's own tools, in the
	// order of the calls. They are not among toolUses.
	ToolResults []OwnToolResult `json:"toolResults"`
	// The answer to the context requests, if any were made.
	Context *ContextAnswer `json:"context,omitempty"`
	// Parts that could not be used.
	Problems []Problem `json:"problems"`
	// Claims of the housekeeping that nothing bears out, and that were left out.
	Flagged []Flag `json:"flagged"`
	// The conversation.
	Conversation string `json:"conversation"`
	// Number given to the assistant's turn.
	TurnNumber int `json:"turnNumber"`
	// The workspace's newest sequence number.
	Sequence int64 `json:"sequence"`
	// What was replaced in the parameters, by family: secrets and personal data.
	Scrubbed map[string]int `json:"scrubbed,omitempty"`
}

// InstructionsGetParams chooses a provider's form.
type InstructionsGetParams struct {
	// "anthropic" (Messages), "openai-chat", "openai-responses" or "gemini": the
	// text speaks of tools and tools has them. When absent, the text asks for a
	// block at the end of each answer.
	Provider string `json:"provider,omitempty" enum:"anthropic,openai-chat,openai-responses,gemini"`
	// Model whose tokenizer counts; the session's when absent.
	Model string `json:"model,omitempty"`
	// An open session.
	Session string `json:"session,omitempty"`
}

// InstructionsGetResult is what to put into the system prompt.
type InstructionsGetResult struct {
	// Text for the system prompt.
	Text string `json:"text"`
	// Tokens of text.
	Tokens int `json:"tokens"`
	// What the request's member tools takes, in the provider's form; empty
	// without a provider.
	Tools []any `json:"tools"`
	// Tokens of each tool's definition as compact JSON, by the same counter. How
	// a provider puts definitions into its prompt is not published.
	ToolTokens []ToolTokens `json:"toolTokens"`
	// Whether the tokens are an estimate, because the model's tokenizer is not
	// public.
	Estimate bool `json:"estimate"`
}

// ToolTokens is the size of a tool's definition.
type ToolTokens struct {
	// Name of the tool: "hexapla_housekeeping" or "hexapla_context".
	Name string `json:"name" enum:"hexapla_housekeeping,hexapla_context"`
	// Tokens.
	Tokens int `json:"tokens"`
}
