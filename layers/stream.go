package layers

// A stream is what layer 1 is made of: a session's newest conversations, piece
// by piece in the order in which they were recorded. Between two folds the
// stream only grows at its end; a fold shows older pieces in less detail, all
// at once. Where the folds lie is a function of the pieces and of the room
// alone, so no state has to be kept between two packs.

// Details in which a piece of the stream can be shown, beside those of whole
// conversations.
const (
	FormFull    = "full"
	FormExcerpt = "excerpt" // beginning and end, with a handle to the whole
	FormBrief   = "brief"   // what a tool output said, with a handle
	FormLine    = "line"    // that it happened
	FormDigest  = "digest"  // what folded turns came to
	FormRoster  = "roster"  // names that were used before
	FormRollup  = "rollup"  // many headers in one
	FormHeading = "heading" // a line of the pack itself
	FormNone    = "none"    // not shown
)

// Form is one way to show a thing. Text begins with a character that is neither
// white space nor '/', and ends in a line feed, so that token counts add up
// (design: determinism contract).
type Form struct {
	Detail string
	Text   string
	Tokens int
}

// Piece is the smallest part of the stream: a turn, or the answer to a context
// request where it was asked for.
type Piece struct {
	ID     string // "c12#3", or "served:57" for an answer to a context request
	Seq    int64
	Forms  []Form // from most detail to least, strictly fewer tokens each
	User   bool   // said by the user; the newest of these is never shortened
	Answer bool   // said by the assistant; what follows the last one is the input
	Served bool   // answers a context request or a new query: layer 5, not 1
	// Context marks layer 0 as it stood when a conversation opened. A fold
	// renews layer 0 in front of the stream and takes these out.
	Context bool
	// Names that are used in the piece's full text, for the roster that a fold
	// makes of what it takes out.
	Names Names
	// Fresh are forms with more than the first of Forms, from most to least: the
	// first that there is room for is shown while the piece belongs to the input,
	// and never after that. It stands at the end, so it moves no prefix.
	Fresh []Form
	// Calls of tools that an assistant's piece makes, if the first of Forms shows
	// each of them whole: it ends in the lines of the calls.
	Calls []ToolCall
	// Result tells whose output a piece is; nil if it is not a tool's.
	Result *CallResult
}

// Names are the names in a text, each once, in the order of their first
// appearance.
type Names struct {
	Paths       []string // "internal/reader.go", "/etc/hosts", "go.mod"
	Identifiers []string // "readLine", "MAX_SIZE", "6f0ea30b28"
	// Active tells that the user or the model said them; what a tool printed is
	// mere surroundings.
	Active bool
	// Tokens that all of them take, each with a space in front.
	Tokens int
}

// StreamConversation is one conversation of the stream.
type StreamConversation struct {
	ID         string
	Pieces     []Piece
	Done       bool
	Close      Form  // its header; only shown when Done
	Summary    Form  // stands for pieces that a fold took out; only when Done
	ArchivedAt int64 // sequence at which the model let it go; 0 if it did not
}

// gone is the form index of a piece that is not shown.
const gone = -1

// plan is the state of a stream after its last fold and everything since.
type plan struct {
	forms   [][]int // by conversation and piece: index into Forms, or gone
	summary []bool  // by conversation: whether Summary stands for gone pieces
	digest  bool    // whether there is room for a digest of the conversation of foldAt
	names   int     // room for the roster of names; 0 if there is none
	fresh   []Form  // by piece of the last conversation: the fresh form that is shown
	tokens  int     // with the digest and the roster at their caps
	foldAt  [2]int  // conversation and piece at which the last fold was made
	foldSeq int64   // sequence of the piece at which the last fold was made
	reason  string  // why: EpochStart, EpochWindow or EpochBudget
}

// Reasons for a fold.
const (
	EpochStart  = "start"  // the session's first window
	EpochWindow = "window" // layer 1 demoted a step of conversations
	EpochBudget = "budget" // the stream met its high-water mark
	EpochFill   = "fill"   // the request asked for a pack that fills its budget
)

// planStream lays the stream out in high tokens.
//
// start is the index of the conversation whose opening moved the window; what
// lies before it was laid out by a fold at that moment. From there pieces are
// appended one by one, and when the total would pass high, everything up to
// and including that piece is laid out anew in low tokens.
//
// With fill there is one fold, at the end, into all of high, if the stream does
// not fit as it is.
func planStream(stream []StreamConversation, start, high int, fill bool, p Policy) plan {
	low := high * p.LowWaterPercent / 100
	pl := plan{forms: make([][]int, len(stream)), summary: make([]bool, len(stream)), reason: EpochStart}
	for i := range stream {
		pl.forms[i] = make([]int, len(stream[i].Pieces))
	}
	f := folder{stream: stream, plan: &pl, policy: p}
	if fill {
		f.fill(high)
		return pl
	}
	for c := range stream {
		if c > 0 && c >= start {
			pl.tokens += stream[c-1].Close.Tokens
		}
		for i := range stream[c].Pieces {
			piece := &stream[c].Pieces[i]
			if c < start {
				continue
			}
			if c == start && i == 0 {
				pl.foldSeq = piece.Seq
				if start > 0 {
					pl.reason = EpochWindow
					f.fold(c, i, low)
					continue
				}
			}
			pl.tokens += piece.Forms[0].Tokens
			if pl.tokens > high {
				f.fold(c, i, low)
				pl.foldSeq = piece.Seq
				pl.reason = EpochBudget
				if pl.tokens > high { // what must stay is over the low mark already
					f.fold(c, i, high)
				}
			}
		}
	}
	if n := len(stream); n > 0 && stream[n-1].Done {
		pl.tokens += stream[n-1].Close.Tokens
		if pl.tokens > high {
			last := len(stream[n-1].Pieces) - 1
			f.fold(n-1, last, low-stream[n-1].Close.Tokens)
			pl.tokens += stream[n-1].Close.Tokens
			pl.reason = EpochBudget
			if last >= 0 {
				pl.foldSeq = stream[n-1].Pieces[last].Seq
			}
		}
	}
	return pl
}

// freshen shows the input's pieces in their fresh form as long as all takes at
// most high tokens, the newest first.
func (pl *plan) freshen(stream []StreamConversation, high int) {
	last := len(stream) - 1
	if last < 0 || stream[last].Done {
		return
	}
	pieces := stream[last].Pieces
	pl.fresh = make([]Form, len(pieces))
	_, input := mustStay(pieces)
	for k := len(pieces) - 1; k >= input; k-- {
		form := pl.forms[last][k]
		if form == gone {
			continue
		}
		for _, fresh := range pieces[k].Fresh {
			if more := fresh.Tokens - pieces[k].Forms[form].Tokens; more > 0 && pl.tokens+more <= high {
				pl.fresh[k] = fresh
				pl.tokens += more
				break
			}
		}
	}
}

// fill lays the whole stream out in room tokens.
func (f *folder) fill(room int) {
	last := len(f.stream) - 1
	if last < 0 {
		return
	}
	for c := range f.stream {
		f.plan.tokens += f.stream[c].Close.Tokens
		for _, piece := range f.stream[c].Pieces {
			if len(piece.Forms) > 0 {
				f.plan.tokens += piece.Forms[0].Tokens
			}
		}
	}
	end := len(f.stream[last].Pieces) - 1
	if end >= 0 {
		f.plan.foldSeq = f.stream[last].Pieces[end].Seq
	}
	if f.plan.tokens <= room || end < 0 {
		return
	}
	f.filling = true
	f.fold(last, end, room-f.stream[last].Close.Tokens)
	f.plan.tokens += f.stream[last].Close.Tokens
	f.plan.reason = EpochFill
}
