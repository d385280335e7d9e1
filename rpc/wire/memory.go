package wire

// ChangeListParams asks which files were changed.
type ChangeListParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// Only changes of this file: its path, or the end of it.
	File string `json:"file,omitempty"`
	// Only changes in this conversation.
	Conversation string `json:"conversation,omitempty"`
	// Only changes by turns of this time and later, RFC 3339, as clients claim it.
	// Turns without a time are left out then.
	Since string `json:"since,omitempty"`
	// Most changes to return; 50 when absent, 500 at most.
	Limit int `json:"limit,omitempty"`
	// Changes as they were known at this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
	// Where to go on, from an earlier result.
	Cursor string `json:"cursor,omitempty"`
}

// FileChange is what happened to one file.
type FileChange struct {
	// The file as the call or the model named it.
	File string `json:"file"`
	// Where a renamed file was.
	From string `json:"from,omitempty"`
	// "create", "modify", "delete", "refactor" or "rename".
	ChangeType string `json:"changeType" enum:"create,modify,delete,refactor,rename"`
	// What it was for: as the model says in its housekeeping, else as it announced
	// it, else what the new text brings in. May be empty.
	Summary string `json:"summary"`
	// "low", "medium" or "high", where the model says so.
	Impact string `json:"impact,omitempty"`
	// Lines with something in them that came; absent where the call does not tell.
	Added *int `json:"added,omitempty"`
	// Lines with something in them that went; absent where the call does not tell.
	Removed *int `json:"removed,omitempty"`
	// The conversation.
	Conversation string `json:"conversation"`
	// Id of the turn with the call's result, or of the newest turn when the model
	// spoke of the change.
	Turn string `json:"turn"`
	// When, RFC 3339, as the client claims; "" if it did not say.
	Time string `json:"time"`
	// Who changed it.
	By ChangeAuthor `json:"by"`
	// "call" for a tool call that worked, "housekeeping" where only the model said
	// so.
	Source string `json:"source" enum:"call,housekeeping"`
}

// ChangeAuthor is who changed a file.
type ChangeAuthor struct {
	// The session.
	Session string `json:"session"`
	// Its agent, as the client named it.
	Agent string `json:"agent,omitempty"`
	// Its model, as the client named it.
	Model string `json:"model,omitempty"`
}

// ChangeListResult is changes of files.
type ChangeListResult struct {
	// Newest first. Calls that failed are not among them.
	Changes []FileChange `json:"changes"`
	// Where to go on; absent at the end.
	Cursor string `json:"cursor,omitempty"`
	// Whether changes of conversations that an older program recorded were read
	// out of their turns. The newest 200 such conversations are looked at.
	Derived bool `json:"derived"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
}

// ProblemLookupParams asks whether an error was met before.
type ProblemLookupParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// An error message, an output with errors in it, or a pattern; of a message the
	// beginning is enough.
	Error string `json:"error"`
	// Most problems to return; 10 when absent, 100 at most.
	Limit int `json:"limit,omitempty"`
	// As it was known at this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
}

// OutputPlace is a tool output.
type OutputPlace struct {
	// Its id: of its turn, or of the output among several. It can be asked for.
	ID string `json:"id"`
	// The conversation.
	Conversation string `json:"conversation"`
	// The turn.
	Turn int `json:"turn"`
	// Sequence number of the record.
	Sequence int64 `json:"sequence"`
}

// Resolution is what made an error go away.
type Resolution struct {
	// The output with the error.
	Failed OutputPlace `json:"failed"`
	// The output of the attempt that worked, or the last turn of a conversation
	// that ended well after files were changed.
	Resolved OutputPlace `json:"resolved"`
	// The command that worked then: the one that had failed, or one that covers it.
	// Absent if nothing was tried again.
	Command string `json:"command,omitempty"`
	// Files that were changed between the two, oldest first.
	Changes []FileChange `json:"changes"`
	// The sentence of the assistant that tells best what it was; may be empty.
	Finding string `json:"finding"`
}

// KnownProblem is an error that was met before.
type KnownProblem struct {
	// The message with all that changes from run to run replaced.
	Pattern string `json:"pattern"`
	// Tool outputs that show it, newest first, at most 50.
	Seen []OutputPlace `json:"seen"`
	// All tool outputs that show it.
	Total int `json:"total"`
	// What resolved it, newest first, at most 5. Empty if nothing did.
	Resolutions []Resolution `json:"resolutions"`
}

// ProblemLookupResult is problems that were met before.
type ProblemLookupResult struct {
	// In the order in which the errors stand in the text.
	Problems []KnownProblem `json:"problems"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
}

// EntityNeighborsParams asks what is connected to an entity.
type EntityNeighborsParams struct {
	// An open session of the workspace.
	Session string `json:"session"`
	// A path or the end of one, an identifier, a concept, or an error message.
	Entity string `json:"entity"`
	// "file", "function", "concept" or "error". When absent, the first of these
	// under which the entity is known.
	Kind string `json:"kind,omitempty" enum:"file,function,concept,error"`
	// Steps to take: 1 when absent, 2 at most.
	Depth int `json:"depth,omitempty"`
	// Most neighbors to return; 20 when absent, 200 at most.
	Limit int `json:"limit,omitempty"`
	// As it was known at this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
}

// EntityName is an entity.
type EntityName struct {
	// "file", "function", "concept" or "error".
	Kind string `json:"kind" enum:"file,function,concept,error"`
	// The name.
	Name string `json:"name"`
}

// Neighbor is an entity that is connected to the one that was asked for.
type Neighbor struct {
	// "file", "function", "concept" or "error".
	Kind string `json:"kind" enum:"file,function,concept,error"`
	// The name.
	Name string `json:"name"`
	// One for each shared conversation, two for each near turn, four for each
	// conversation that changed both files, three for an error beside a file. Two
	// steps away: half of the lighter of the two connections that lead there.
	Weight int `json:"weight"`
	// Steps: 1 or 2.
	Distance int `json:"distance"`
	// The entity between the two, of those two steps away.
	Via *EntityName `json:"via,omitempty"`
	// Conversations that speak of both; 0 two steps away.
	Shared int `json:"shared"`
	// Turns that speak of one in or beside a turn that speaks of the other, at most
	// five of a conversation; 0 two steps away.
	Near int `json:"near"`
	// Conversations that changed both files; 0 two steps away.
	ChangedTogether int `json:"changedTogether"`
	// Conversations that show it, newest first, at most 5.
	Conversations []string `json:"conversations"`
}

// EntityNeighborsResult is what is connected to an entity.
type EntityNeighborsResult struct {
	// The entity as it is known; absent if nothing is known of it.
	Entity *EntityName `json:"entity,omitempty"`
	// Heaviest first; then by distance, kind and name. The newest 50 conversations
	// that speak of an entity are looked at.
	Neighbors []Neighbor `json:"neighbors"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
}

// ContextPredictParams asks what the session's next turn is likely to need.
type ContextPredictParams struct {
	// The session.
	Session string `json:"session"`
	// Most predictions of each kind; 10 when absent, 100 at most.
	Limit int `json:"limit,omitempty"`
	// As it was at this sequence number; the newest when absent.
	AsOf int64 `json:"asOf,omitempty"`
}

// PredictionReason is one part of a prediction's score.
type PredictionReason struct {
	// "used" by a call, "shown" in an output, "asked" by the user, "follows" the file
	// that was used last, "changedTogether" with one that was used last, "failing" in
	// an error that is still open, "active" in layer 0, "open" as a question,
	// "changedFile" for a conversation that changed a predicted file.
	Reason string `json:"reason" enum:"used,shown,asked,follows,changedTogether,failing,active,open,changedFile"`
	// The file, output or conversation that it goes by.
	Of string `json:"of,omitempty"`
	// What it adds.
	Score float64 `json:"score"`
}

// Prediction is something that the next turn is likely to need.
type Prediction struct {
	// "file", "function", "conversation" or "question".
	Kind string `json:"kind" enum:"file,function,conversation,question"`
	// A path, an identifier, an id, or the question.
	Name string `json:"name"`
	// The sum of all reasons, rounded to four places.
	Score float64 `json:"score"`
	// The weightiest first, at most 6.
	Reasons []PredictionReason `json:"reasons"`
}

// ContextPredictResult is what the next turn is likely to need.
type ContextPredictResult struct {
	// Files, then functions, conversations and questions; of each kind the
	// likeliest first, ties by name.
	Predictions []Prediction `json:"predictions"`
	// The sequence number that was read.
	Sequence int64 `json:"sequence"`
}
