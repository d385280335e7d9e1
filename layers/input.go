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
	Room                int  // tokens at most
	PathPercent         int  // what a path counts in the ranking, any other name being 100
	Exact               bool // not a token more than Room (Policy.NamesExact)
}

// Input is everything that a pack is a function of.
type Input struct {
	Seed      string
	Session   string
	Sequence  int64
	Layout    Layout
	Budget    Budget
	Policy    Policy
	Settings  string // digest of policy and settings
	Count     Counter
	System    []Item // the system branch, in order
	Pins      []Item // texts that are never dropped
	Memory    MemoryInput
	Stream    []StreamConversation
	Start     int   // index of the conversation in Stream that moved the window
	WindowSeq int64 // sequence of that moment
	// StartSeq is that sequence where the window was not moved by the opening of
	// Start but in the middle of it, by hand, what lies before it being laid out by
	// a fold then; else 0.
	StartSeq int64
	// Profiles are the policies under which the stream was recorded, in order of
	// their beginning. A fold goes by the one of its piece; Policy is the one of the
	// window. They differ in numbers alone that Profile has. Without any, Policy
	// counts for everything.
	Profiles    []ProfileSpan
	Source      Source
	FullHistory int64
	// Fill lays the stream out for this pack alone, so that it fills the room,
	// instead of keeping the bytes of the pack before in front.
	Fill bool
	// Passages are turns that the query is about, those that answer best first. A pack
	// that fills its budget quotes them as far as room is left.
	Passages []Passage
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

// ProfileSpan is a policy from a sequence on, until the next one begins.
type ProfileSpan struct {
	Seq    int64
	Name   ProfileName
	Policy Policy
}

// begin returns the policy before any fold.
func (in *Input) begin() ProfileSpan {
	if len(in.Profiles) == 0 {
		return ProfileSpan{Name: ProfileBalanced, Policy: in.Policy}
	}
	return in.Profiles[0]
}

// profileAt returns the policy that was in force in a conversation of the stream
// at a sequence.
func (in *Input) profileAt(stream []StreamConversation, c int, seq int64) ProfileSpan {
	if len(in.Profiles) == 0 {
		return in.begin()
	}
	at, end := stream[c].Profile, len(in.Profiles)
	if c+1 < len(stream) {
		end = max(stream[c+1].Profile, at+1)
	}
	for at+1 < end && in.Profiles[at+1].Seq <= seq {
		at++
	}
	return in.Profiles[at]
}

// firstFold returns the indices of the conversation and the piece from which on
// pieces are appended: what lies before was laid out by a fold at it.
func (in *Input) firstFold(stream []StreamConversation) (start, piece int) {
	if in.StartSeq == 0 {
		return in.Start, 0
	}
	for c := range stream {
		for i := range stream[c].Pieces {
			if stream[c].Pieces[i].Seq >= in.StartSeq {
				return start, piece
			}
			start, piece = c, i
		}
	}
	return start, piece
}

// Names of sections.
const (
	SectionSystem         = "system"
	SectionPins           = "pins"
	SectionMemory         = "memory"
	SectionHeaders        = "headers"
	SectionSummaries      = "summaries"
	SectionCurrentContext = "currentContext"
	SectionErrors         = "errors"
	SectionNames          = "names"
	SectionActiveMemory   = "activeMemory"
	SectionRetrieved      = "retrieved"
	SectionInput          = "input"
)
