package layers

// Source gives what a pack needs beside the stream. Every answer is a function
// of its arguments and of the workspace's records up to the sequence given.
type Source interface {
	// CurrentContext renders layer 0 as of a sequence in at most room tokens.
	CurrentContext(seq int64, room int) (Form, error)
	// Said returns the sequence of the newest layer 0, as of a sequence, if it
	// is the model's own and not the rule's; 0 otherwise.
	Said(seq int64) (int64, error)
	// Headers renders layer 2 as of a sequence in at most room tokens, oldest
	// first. With rollup set it is one roll-up of all conversations, those of
	// the stream too.
	Headers(seq int64, room int, rollup bool) ([]Item, error)
	// Summaries renders layer 3 as of a sequence in at most room tokens,
	// oldest first.
	Summaries(seq int64, room int) ([]Item, error)
	// Digest tells what the pieces of a conversation before the piece with
	// the given index came to, in at most room tokens.
	Digest(conversation StreamConversation, before, room int) (Form, error)
	// Names lists names that were used and are out of view.
	Names(NamesRequest) (Form, error)
}

// NamesRequest asks for a roster of names that were used in a stream up to a
// piece of a conversation and are in none of the texts shown.
type NamesRequest struct {
	Stream              []StreamConversation
	Conversation, Piece int // indices
	Shown               []string
	Room                int // tokens at most
	PathPercent         int // what a path counts in the ranking, any other name being 100
}

// Input is everything that a pack is a function of.
type Input struct {
	Seed        string
	Session     string
	Sequence    int64
	Layout      Layout
	Budget      Budget
	Policy      Policy
	Settings    string // digest of policy and settings
	Count       Counter
	System      []Item // the system branch, in order
	Pins        []Item // texts that are never dropped
	Stream      []StreamConversation
	Start       int   // index of the conversation in Stream that moved the window
	WindowSeq   int64 // sequence of that moment
	Source      Source
	FullHistory int64
	// Fill lays the stream out for this pack alone, so that it fills the room,
	// instead of keeping the bytes of the pack before in front.
	Fill bool
	// Errors are the failures in the stream, oldest first, resolved or not.
	Errors []OpenError
	// Gate is the decision about the window that is in force; Prices are what it
	// and that about folds go by.
	Gate   Gate
	Prices CachePrices
	// Calibration is how Budget came to be; it is noted in the pack.
	Calibration *Calibration
	// Explain has the pack list its candidates. It changes nothing else.
	Explain bool
}

// Names of sections.
const (
	SectionSystem         = "system"
	SectionPins           = "pins"
	SectionHeaders        = "headers"
	SectionSummaries      = "summaries"
	SectionCurrentContext = "currentContext"
	SectionErrors         = "errors"
	SectionNames          = "names"
	SectionActiveMemory   = "activeMemory"
	SectionRetrieved      = "retrieved"
	SectionInput          = "input"
)
