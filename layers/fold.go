package layers

import "slices"

// folder lays out a stream up to one of its pieces.
type folder struct {
	stream []StreamConversation
	errors []OpenError // oldest first
	plan   *plan
	policy Policy
	// profiles are Input.Profiles.
	profiles []ProfileSpan
	// filling tells that there is no pack before to be kept.
	filling bool
}

// fold chooses a form for every piece up to piece i of conversation c, so that
// all together take at most room tokens, if what must stay allows it. The
// newer a piece, the more of it is shown; detail never rises with age.
//
// What must stay: the newest user piece of the conversation in full, the pieces
// since the last answer at least in their shortest form, and open errors.
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
	open := f.open(f.stream[c].Pieces[i].Seq)
	for _, e := range open {
		used += e.Form.Tokens
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
		archived := conversation.archived(f.stream[c].Pieces[i].Seq)
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
	used -= f.repeat(c, i)
	if !f.shortened(c, i) {
		used -= pl.names
		pl.names = 0
	}
	used -= f.showErrors(open)
	pl.tokens = used
}

// repeat shows pieces up to piece i of conversation c as what is new in them,
// where the earlier piece is shown in full, and returns the tokens saved.
func (f *folder) repeat(c, i int) int {
	saved := 0
	for k := range c + 1 {
		for _, r := range f.stream[k].Repeats {
			if k == c && r.Piece > i {
				break
			}
			if f.plan.forms[k][r.Piece] == 0 {
				f.plan.forms[k][r.Piece] = f.repeated(k, r.Piece)
				saved += f.stream[k].Pieces[r.Piece].Forms[0].Tokens - f.stream[k].form(r.Piece, f.plan.forms[k][r.Piece]).Tokens
			}
		}
	}
	return saved
}

// errorsAt gives the errors their lines that are open at the pack's sequence.
func (pl *plan) errorsAt(stream []StreamConversation, in Input) {
	f := folder{stream: stream, errors: in.Errors, plan: pl, policy: pl.policy}
	pl.tokens -= itemTokens(pl.errors)
	open := f.open(in.Sequence)
	for _, e := range open {
		pl.tokens += e.Form.Tokens
	}
	pl.tokens -= f.showErrors(open)
}

// open returns the newest errors that are open at a sequence, oldest first, as
// many as the policy allows.
func (f *folder) open(seq int64) []OpenError {
	var out []OpenError
	for i := len(f.errors) - 1; i >= 0 && len(out) < f.policy.OpenErrors; i-- {
		if e := f.errors[i]; e.Seq <= seq && (e.Until == 0 || e.Until > seq) {
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out
}

// showErrors gives those errors a line whose pieces do not tell of them, and
// returns the tokens of the others' lines.
func (f *folder) showErrors(open []OpenError) int {
	f.plan.errors = nil
	saved := 0
	for _, e := range open {
		if f.tells(e.ID) {
			saved += e.Form.Tokens
			continue
		}
		f.plan.errors = append(f.plan.errors, Item{ID: e.ID, Form: e.Form})
	}
	return saved
}

// isReduced tells that a form index stands for less than all of a piece.
func isReduced(form int) bool { return form > 0 || form == gone }

// tells reports whether a piece is shown at least in brief.
func (f *folder) tells(id string) bool {
	for c := range f.stream {
		for i := range f.stream[c].Pieces {
			if f.stream[c].Pieces[i].ID == id {
				form := f.plan.forms[c][i]
				return form != gone && rank(f.stream[c].form(i, form).Detail) <= rank(FormBrief)
			}
		}
	}
	return false
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
		for j := range f.plan.forms[k] {
			if k == c && j > i {
				break
			}
			if isReduced(f.plan.forms[k][j]) && !f.stream[k].Pieces[j].Context {
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
	case FormFull, FormChanged:
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
