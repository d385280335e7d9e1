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
	digest  bool    // whether there is room for a digest of the last conversation
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

// folder lays out a stream up to one of its pieces.
type folder struct {
	stream []StreamConversation
	plan   *plan
	policy Policy
	// filling tells that there is no pack before to be kept.
	filling bool
}

// fold chooses a form for every piece up to piece i of conversation c, so that
// all together take at most room tokens, if what must stay allows it. The
// newer a piece, the more of it is shown; detail never rises with age.
//
// What must stay: the newest user piece of the conversation in full, and the
// pieces since the last answer at least in their shortest form.
func (f *folder) fold(c, i, room int) {
	pl, p := f.plan, f.policy
	used := 0
	for k := 0; k < c; k++ {
		used += f.stream[k].Close.Tokens
	}
	current := f.stream[c].Pieces[:i+1]
	query, input := mustStay(current)
	for k := range current {
		switch {
		case current[k].Context:
		case k == query:
			used += current[k].Forms[0].Tokens
		case k >= input:
			used += shortest(current[k]).Tokens
		}
	}
	digest := 0
	if len(current) > 1 && used+p.DigestCap <= room {
		digest = p.DigestCap
		used += digest
	}
	pl.digest = digest > 0
	pl.names, pl.foldAt = 0, [2]int{c, i}
	names := min(room*p.NamesPercent/100, p.NamesCap)
	if f.filling {
		names = min(room*p.FillNamesPercent/100, p.FillNamesCap)
	}
	if names = min(names, room-used, f.namesUpTo(c, i)); names >= smallestRoster {
		pl.names = names
		used += names
	}

	var level levels
	anyGone := false
	for k := len(current) - 1; k >= 0; k-- {
		piece := current[k]
		switch {
		case piece.Context:
			pl.forms[c][k] = gone
		case k == query:
			pl.forms[c][k] = 0
		case k >= input:
			base := shortest(piece).Tokens
			pl.forms[c][k] = choose(piece, 0, used-base, func(int) int { return room })
			if pl.forms[c][k] == gone {
				pl.forms[c][k] = len(piece.Forms) - 1
			}
			used += piece.Forms[pl.forms[c][k]].Tokens - base
		case anyGone:
			pl.forms[c][k] = gone
		default:
			form := f.choose(piece, &level, used, room)
			pl.forms[c][k] = form
			if form == gone {
				anyGone = true
				continue
			}
			used += piece.Forms[form].Tokens
		}
	}
	if !anyGone && digest > 0 {
		used -= digest
		pl.digest = false
	}
	for k := c - 1; k >= 0; k-- {
		conversation := f.stream[k]
		archived := conversation.ArchivedAt != 0 && conversation.ArchivedAt <= f.stream[c].Pieces[i].Seq
		out := archived || anyGone
		missing := false
		for j := len(conversation.Pieces) - 1; j >= 0; j-- {
			piece := conversation.Pieces[j]
			form := gone
			if piece.Context {
				pl.forms[k][j] = gone
				continue
			}
			if !out {
				form = f.choose(piece, &level, used, room-conversation.Summary.Tokens)
			}
			pl.forms[k][j] = form
			if form == gone {
				out, missing = true, true
				continue
			}
			used += piece.Forms[form].Tokens
		}
		pl.summary[k] = false
		if missing && !archived && used+conversation.Summary.Tokens <= room {
			pl.summary[k] = true
			used += conversation.Summary.Tokens
		}
		if missing && !archived { // what was let go makes room for what is older
			anyGone = true
		}
	}
	if !f.shortened(c, i) {
		used -= pl.names
		pl.names = 0
	}
	pl.tokens = used
}

// namesUpTo returns the most tokens that a roster of the names up to a piece can
// take, so that no more is kept free for it.
func (f *folder) namesUpTo(c, i int) int {
	total := 0
	for k := range c + 1 {
		for j := range f.stream[k].Pieces {
			if k == c && j > i {
				break
			}
			total += f.stream[k].Pieces[j].Names.Tokens
		}
	}
	if total > 0 {
		total += smallestRoster // its headings
	}
	return total
}

// smallestRoster is the room below which a roster is not worth its heading.
const smallestRoster = 40

// shortened tells that a piece up to piece i of conversation c is not shown in
// full.
func (f *folder) shortened(c, i int) bool {
	for k := range c + 1 {
		for j, form := range f.plan.forms[k] {
			if k == c && j > i {
				break
			}
			if form != 0 && !f.stream[k].Pieces[j].Context {
				return true
			}
		}
	}
	return false
}

// levels are the least ranks that pieces may be shown in, so that detail does
// not rise with age: one for what was said, one for what tools printed.
type levels struct{ said, printed int }

// choose returns the index of the form of a piece with which used stays within
// the form's limit of the room, or gone, and raises the level to it. What tools
// printed gives way first: what is needed of it next was often said as well, in
// the arguments of the calls.
func (f *folder) choose(piece Piece, level *levels, used, room int) int {
	l, limits := &level.printed, [...]int{f.policy.FullPercent, f.policy.ExcerptPercent, f.policy.BriefPercent, 100}
	if piece.User || piece.Answer {
		l, limits = &level.said, [...]int{f.policy.SaidPercent, f.policy.SaidPercent, f.policy.SaidBriefPercent, 100}
	}
	form := choose(piece, *l, used, func(rank int) int { return room * limits[rank] / 100 })
	if form != gone {
		*l = max(*l, rank(piece.Forms[form].Detail))
	}
	return form
}

// rank orders the details of pieces: the higher, the less is shown.
func rank(detail string) int {
	switch detail {
	case FormFull:
		return 0
	case FormExcerpt:
		return 1
	case FormBrief:
		return 2
	}
	return 3
}

// choose returns the index of the richest form of at least the given rank with
// which used stays within the rank's limit, or gone.
func choose(piece Piece, level, used int, limit func(rank int) int) int {
	for form := range piece.Forms {
		r := rank(piece.Forms[form].Detail)
		if r < level && form < len(piece.Forms)-1 {
			continue
		}
		if used+piece.Forms[form].Tokens <= limit(max(r, level)) {
			return form
		}
	}
	return gone
}

// mustStay returns the index of the newest user piece and of the first piece
// of the input: what the user or a tool said since the last answer. Without a
// user piece the first result is -1; without input the second is len(pieces).
func mustStay(pieces []Piece) (query, input int) {
	query, input = -1, len(pieces)
	for k := range pieces {
		switch {
		case pieces[k].User:
			query = k
			input = min(input, k)
		case pieces[k].Answer:
			input = len(pieces)
		case !pieces[k].Served && !pieces[k].Context:
			input = min(input, k)
		}
	}
	return query, input
}

func shortest(piece Piece) Form { return piece.Forms[len(piece.Forms)-1] }
