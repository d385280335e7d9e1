package layers

import (
	"cmp"
	"slices"
)

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
	FormChanged = "changed" // what is new since an earlier piece
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
	RestoredAt int64 // sequence at which that was taken back; 0 if it was not
	Profile    int   // index in Input.Profiles of the one in force when it opened
	// Repeats are other forms of pieces that show again what earlier ones show,
	// in the order of the pieces. A piece may have several, best first.
	Repeats []Repeat
}

// archived tells that the conversation was let go as of a sequence. Folds of
// the time before it was taken back stay as they are, so that taking it back
// moves no prefix.
func (c *StreamConversation) archived(seq int64) bool {
	return c.ArchivedAt != 0 && c.ArchivedAt <= seq && (c.RestoredAt == 0 || seq < c.RestoredAt)
}

// Repeat is another form of a piece, which says what is new since an earlier
// piece. It is shown where the piece is appended while that one stands in the
// pack in full.
type Repeat struct {
	Piece                       int // index in its conversation
	BaseConversation, BasePiece int // indices of the earlier piece
	Form                        Form
}

// OpenError is a failure that a tool reported. It is never dropped while it is
// open: where its piece is out of view, Form stands in the pack.
type OpenError struct {
	ID    string // of its piece
	Seq   int64
	Until int64 // sequence of what resolved it; 0 as long as nothing did
	Form  Form  // one line
}

// gone is the form index of a piece that is not shown. Below it are indices of
// Repeats: gone-1 is the conversation's first.
const gone = -1

// repeatOf returns the repeat that a form index stands for, nil if it stands for
// none.
func (c *StreamConversation) repeatOf(form int) *Repeat {
	if form >= gone {
		return nil
	}
	return &c.Repeats[gone-1-form]
}

// form returns a form of a piece by its index, which is not gone.
func (c *StreamConversation) form(k, index int) Form {
	if r := c.repeatOf(index); r != nil {
		return r.Form
	}
	return c.Pieces[k].Forms[index]
}

// plan is the state of a stream after its last fold and everything since.
type plan struct {
	forms   [][]int // by conversation and piece: index into Forms, or gone
	summary []bool  // by conversation: whether Summary stands for gone pieces
	digest  bool    // whether there is room for a digest of the conversation of foldAt
	names   int     // room for the roster of names; 0 if there is none
	errors  []Item  // open errors that are out of view since the last fold
	fresh   []Form  // by piece of the last conversation: the fresh form that is shown
	tokens  int     // with the digest and the roster at their caps
	gate    Gate    // of the last fold for want of room
	foldAt  [2]int  // conversation and piece at which the last fold was made
	foldSeq int64   // sequence of the piece at which the last fold was made
	reason  string  // why: EpochStart, EpochWindow, EpochBudget, EpochOpening or EpochProfile
	policy  Policy  // by which the last fold was made
	profile ProfileName
	flow    flow
}

// Reasons for a fold.
const (
	EpochStart  = "start"  // the session's first window
	EpochWindow = "window" // layer 1 demoted a step of conversations
	EpochBudget = "budget" // the stream met its high-water mark
	EpochFill   = "fill"   // the request asked for a pack that fills its budget
	// EpochOpening is a fold that was made when a query opened a conversation,
	// before it had to be.
	EpochOpening = "opening"
	// EpochProfile is a fold that a profile brought about which was set by hand.
	EpochProfile = "profile"
)

// planStream lays the stream out in high tokens.
//
// in.Start is the index of the conversation whose opening moved the window; what
// lies before it was laid out by a fold at that moment. From there pieces are
// appended one by one, and when the total would pass high, everything up to
// and including that piece is laid out anew in low tokens. A query that opens a
// conversation has that done before it has to be, where the policy says so.
//
// With fill there is one fold, at the end, into all of high, if the stream does
// not fit as it is.
//
// A piece that shows again what an earlier one showed is appended as what is new
// in it, if that one is in view in full. Failures of errors that are open at a
// fold and that it takes out of view have a line of their own from there.
func planStream(stream []StreamConversation, in Input, high int, fill bool) plan {
	pl := plan{forms: make([][]int, len(stream)), summary: make([]bool, len(stream)), reason: EpochStart}
	for i := range stream {
		pl.forms[i] = make([]int, len(stream[i].Pieces))
	}
	f := folder{stream: stream, errors: in.Errors, plan: &pl, profiles: in.Profiles}
	f.goBy(in.begin())
	if fill {
		f.fill(high)
		return pl
	}
	low := func() int { return high * f.policy.LowWaterPercent / 100 }
	start, first := in.firstFold(stream)
	calls := 0 // since the last fold
	for c := range stream {
		if c > 0 && c >= start {
			pl.tokens += stream[c-1].Close.Tokens
		}
		for i := range stream[c].Pieces {
			piece := &stream[c].Pieces[i]
			pl.flow.add(c, piece)
			if c < start || c == start && i < first {
				continue
			}
			if c == start && i == first {
				pl.foldSeq = piece.Seq
				if start > 0 || in.StartSeq != 0 {
					f.goBy(in.profileAt(stream, c, piece.Seq))
					pl.reason = EpochWindow
					if in.StartSeq != 0 {
						f.goBy(in.profileAt(stream, c, in.StartSeq))
						pl.foldSeq, pl.reason = in.StartSeq, EpochProfile
					}
					f.fold(c, i, low())
					continue
				}
			}
			if piece.Answer {
				calls++
			}
			pl.tokens += f.append(c, i)
			early := pl.tokens <= high && f.early(c, i, high, in.Prices)
			if !early && pl.tokens <= high {
				continue
			}
			before := pl.tokens
			f.goBy(in.profileAt(stream, c, piece.Seq))
			f.fold(c, i, low())
			pl.foldSeq = piece.Seq
			pl.reason = EpochBudget
			if pl.tokens > high { // what must stay is over the low mark already
				f.fold(c, i, high)
			}
			pl.gate = Weigh(before-pl.tokens, pl.tokens, calls, in.Prices)
			pl.gate.Decision, pl.gate.Sequence = GateForced, piece.Seq
			if early {
				pl.reason, pl.gate.Decision = EpochOpening, GatePays
			}
			calls = 0
		}
	}
	if n := len(stream); n > 0 && stream[n-1].Done {
		pl.tokens += stream[n-1].Close.Tokens
		if pl.tokens > high {
			last := len(stream[n-1].Pieces) - 1
			if last >= 0 {
				pl.foldSeq = stream[n-1].Pieces[last].Seq
				f.goBy(in.profileAt(stream, n-1, pl.foldSeq))
			}
			f.fold(n-1, last, low()-stream[n-1].Close.Tokens)
			pl.tokens += stream[n-1].Close.Tokens
			pl.reason = EpochBudget
		}
	}
	return pl
}

// goBy has folds from here on go by a profile.
func (f *folder) goBy(span ProfileSpan) {
	f.policy = span.Policy
	f.plan.policy, f.plan.profile = span.Policy, span.Name
}

// append shows piece i of conversation c behind what is shown already, and
// returns its tokens.
func (f *folder) append(c, i int) int {
	f.plan.forms[c][i] = f.repeated(c, i)
	return f.stream[c].form(i, f.plan.forms[c][i]).Tokens
}

// repeated returns the index of the best repeat of a piece whose earlier piece
// is shown in full, 0 if there is none.
func (f *folder) repeated(c, i int) int {
	repeats := f.stream[c].Repeats
	at, _ := slices.BinarySearchFunc(repeats, i, func(r Repeat, i int) int { return cmp.Compare(r.Piece, i) })
	for ; at < len(repeats) && repeats[at].Piece == i; at++ {
		if r := &repeats[at]; f.plan.forms[r.BaseConversation][r.BasePiece] == 0 {
			return gone - 1 - at
		}
	}
	return 0
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
			if more := fresh.Tokens - stream[last].form(k, form).Tokens; more > 0 && pl.tokens+more <= high {
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
		for i := range f.stream[c].Pieces {
			f.plan.tokens += f.append(c, i)
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
	if n := len(f.profiles); n > 0 {
		f.goBy(f.profiles[n-1])
	}
	f.fold(last, end, room-f.stream[last].Close.Tokens)
	f.plan.tokens += f.stream[last].Close.Tokens
	f.plan.reason = EpochFill
}
