package layers

// Candidate is one thing that a pack could show, whether it is in the pack or
// not. ID, Section and Full.Detail together name it.
type Candidate struct {
	ID      string // of its item in the pack; currentContextUpdate for a newer layer 0
	Section string // where it stands, or would stand
	Layer   int    // 0 to 5; -1 for system and input
	// Full is the most that it could show. Of a digest and a roster that are
	// not shown, only the tokens are known that they may take at most.
	Full     Form
	Shown    Form   // how it is shown; FormNone when it is out
	Reason   string // why it is not shown in full, or Included
	By       string // id of what took its place; "" if nothing did, or if it is in
	Repeats  string // id of the piece that it repeats, if it is shown as what is new
	EntersAt int    // see EntersAt; 0 if it is not known
}

// Reasons of a candidate, beside those of a drop.
const (
	Included = "included" // it is shown in full
	Repeated = "repeated" // only what is new since an earlier piece is shown
	Unneeded = "unneeded" // it stands for what is out, and nothing is
)

// currentContextUpdate is the id of the candidate that the newest layer 0 is,
// where it stands behind the stream.
const currentContextUpdate = "currentContext:update"

// rollupID is the id of the header that stands for many.
const rollupID = "rollup"

// unbounded is more room than any header or summary needs.
const unbounded = 1 << 30

// In tells whether the candidate is shown in any detail.
func (c *Candidate) In() bool { return c.Shown.Detail != FormNone }

// lister makes a pack's list of candidates.
type lister struct {
	b      *builder
	out    []Candidate
	rollup string // rollupID if one is shown
	names  string // SectionNames if the roster is shown
}

// candidates lists everything that the attempt that was laid out last could
// show, in the order of the default layout. Headings, which are lines of the
// pack itself, are among them only when they are shown.
func (b *builder) candidates() ([]Candidate, error) {
	l := &lister{b: b}
	for _, item := range b.in.System {
		l.add(Candidate{ID: item.ID, Section: SectionSystem, Layer: -1, Full: item.Form, Shown: item.Form, Reason: Included})
	}
	for _, item := range b.in.Pins {
		l.add(Candidate{ID: item.ID, Section: SectionPins, Layer: -1, Full: item.Form, Shown: item.Form, Reason: Included})
	}
	l.memory(b.memory)
	for _, item := range b.headers {
		if item.Form.Detail == FormRollup {
			l.rollup = item.ID
		}
	}
	if b.roster.Text != "" {
		l.names = SectionNames
	}
	if err := l.head(); err != nil {
		return nil, err
	}
	if err := l.context(b.current.Form, SectionCurrentContext, b.contextSeq); err != nil {
		return nil, err
	}
	for _, item := range b.plan.errors {
		l.add(Candidate{ID: item.ID, Section: SectionErrors, Layer: -1, Full: item.Form, Shown: item.Form, Reason: Included})
	}
	l.roster()
	for c := range b.in.Stream {
		l.conversation(c)
	}
	if b.newer {
		if err := l.context(b.update.Form, currentContextUpdate, b.in.Sequence); err != nil {
			return nil, err
		}
	}
	l.memory(b.since)
	l.listPassages()
	return l.out, nil
}

// add takes a candidate down. What has no text is not shown.
func (l *lister) add(c Candidate) {
	if c.Shown.Text == "" {
		c.Shown = Form{Detail: FormNone}
	} else {
		c.By = ""
	}
	l.out = append(l.out, c)
}

// head lists headers and summaries: those that are shown and those that would
// be if there were room.
func (l *lister) head() error {
	b := l.b
	headers, err := b.in.Source.Headers(b.headSeq(), unbounded, false)
	if err != nil {
		return err
	}
	l.items(SectionHeaders, LayerHeaders, headers, b.headers, DropRollup)
	single := map[string]bool{}
	for _, item := range b.headers {
		single[item.ID] = true
	}
	summaries, err := b.in.Source.Summaries(b.headSeq(), unbounded)
	if err != nil {
		return err
	}
	from := len(l.out)
	l.items(SectionSummaries, LayerSummaries, summaries, b.summaries, DropBudget)
	for i := range l.out[from:] {
		if c := &l.out[from+i]; !c.In() && single[c.ID] {
			c.By = c.ID // its header
		}
	}
	return nil
}

// items lists the items of a section. all are those of a section without
// bounds; reason is why one of them is not shown.
func (l *lister) items(section string, layer Layer, all, shown []Item, reason string) {
	known := map[string]Form{}
	for _, item := range all {
		known[item.ID] = item.Form
	}
	in := map[string]Form{}
	for _, item := range shown {
		if item.Reason == "" || item.Form.Text != "" {
			in[item.ID] = item.Form
		}
		if _, ok := known[item.ID]; !ok || item.Form.Detail == FormHeading || item.Form.Detail == FormRollup {
			l.add(Candidate{ID: item.ID, Section: section, Layer: int(layer), Full: item.Form, Shown: item.Form, Reason: Included})
		}
	}
	for _, item := range all {
		if item.Form.Detail == FormHeading || item.Form.Detail == FormRollup {
			continue
		}
		c := Candidate{ID: item.ID, Section: section, Layer: int(layer), Full: item.Form, Shown: in[item.ID], Reason: Included}
		if item.Reason != "" {
			c.Full = item.From
		}
		if c.Shown.Text == "" {
			c.Reason, c.By = reason, l.rollup
			if item.Reason != "" {
				c.Reason = item.Reason
			}
			if c.Reason == DropRollup && l.rollup == "" {
				c.Reason = DropBudget
			}
		}
		l.add(c)
	}
}

// context lists a layer 0, as of a sequence.
func (l *lister) context(shown Form, id string, seq int64) error {
	c := Candidate{ID: id, Section: SectionCurrentContext, Layer: int(LayerCurrentContext), Full: shown, Shown: shown, Reason: Included}
	if !l.b.outline {
		full, err := l.b.in.Source.CurrentContext(seq, CapCurrentContext)
		if err != nil {
			return err
		}
		if full.Tokens > shown.Tokens {
			c.Full, c.Reason = full, DropBudget
		}
	}
	if shown.Text == "" {
		c.By = SectionCurrentContext
	}
	l.add(c)
	return nil
}

// roster lists the roster of names. It is wanted when something of the stream
// is not shown in full.
func (l *lister) roster() {
	b := l.b
	if len(b.in.Stream) == 0 {
		return
	}
	c := Candidate{ID: SectionNames, Section: SectionNames, Layer: int(LayerReferences), Full: b.roster, Shown: b.roster, Reason: Included}
	if b.roster.Text == "" {
		most := b.plan.policy.NamesCap
		if b.in.Fill {
			most = b.plan.policy.FillNamesCap
		}
		c.Full = Form{Detail: FormRoster, Tokens: most}
		c.Reason = Unneeded
		if b.plan.names == 0 && b.anyReduced() && b.anyNames() {
			c.Reason = DropBudget
		}
	}
	l.add(c)
}

// anyReduced tells that a piece of the stream is not shown in full.
func (b *builder) anyReduced() bool {
	for c := range b.in.Stream {
		if b.isBare(c) {
			return true
		}
		for k, form := range b.plan.forms[c] {
			if isReduced(form) && !b.in.Stream[c].Pieces[k].Context {
				return true
			}
		}
	}
	return false
}

// anyNames tells that names were used in the stream.
func (b *builder) anyNames() bool {
	for c := range b.in.Stream {
		for k := range b.in.Stream[c].Pieces {
			if b.in.Stream[c].Pieces[k].Names.Tokens > 0 {
				return true
			}
		}
	}
	return false
}

// conversation lists the pieces of a conversation of the stream and what may
// stand for them.
func (l *lister) conversation(c int) {
	b := l.b
	conversation := &b.in.Stream[c]
	if b.isBare(c) {
		l.bareConversation(conversation)
		return
	}
	lastGone := b.lastGone(c)
	if conversation.Summary.Text != "" && conversation.Done {
		l.summary(c, lastGone >= 0)
	}
	ongoing := c == len(b.in.Stream)-1 && !conversation.Done
	inputFrom := len(conversation.Pieces)
	by := conversation.ID // its summary or the line that closes it
	if ongoing {
		_, inputFrom = mustStay(conversation.Pieces)
		by = l.names
	}
	digest := Form{}
	if b.digestAt(c) >= 0 {
		digest = b.digest
	}
	if digest.Text != "" {
		by = conversation.ID
	}
	if ongoing && len(conversation.Pieces) > 0 || digest.Text != "" {
		l.digest(conversation, digest, lastGone, lastGone+1 > inputFrom)
	}
	for k := range conversation.Pieces {
		piece := &conversation.Pieces[k]
		section, layer := sectionOf(*piece, k >= inputFrom)
		candidate := Candidate{ID: piece.ID, Section: section, Layer: int(layer), Full: piece.Forms[0], Reason: Included, By: by}
		form := b.plan.forms[c][k]
		switch {
		case piece.Context && (form == gone || b.in.Layout == LayoutNarrativeFirst && section == SectionCurrentContext):
			candidate.Reason, candidate.By = DropRollup, SectionCurrentContext
		case form == gone:
			candidate.Reason = b.dropReason(conversation, piece)
		case ongoing && k < len(b.plan.fresh) && b.plan.fresh[k].Text != "":
			candidate.Shown = b.plan.fresh[k]
			if candidate.Full = piece.Fresh[0]; candidate.Shown.Detail != candidate.Full.Detail {
				candidate.Reason = DropBudget
			}
		default:
			candidate.Shown = conversation.form(k, form)
			switch {
			case form > 0:
				candidate.Reason = DropBudget
			case form < gone:
				r := conversation.repeatOf(form)
				candidate.Reason, candidate.Repeats = Repeated, b.in.Stream[r.BaseConversation].Pieces[r.BasePiece].ID
			}
		}
		l.add(candidate)
	}
	if conversation.Done && conversation.Close.Text != "" {
		l.add(streamCandidate(conversation.ID, conversation.Close, conversation.Close, Included, ""))
	}
}

// bareConversation lists a conversation that is told in the roll-up alone.
func (l *lister) bareConversation(conversation *StreamConversation) {
	for _, form := range []Form{conversation.Summary, conversation.Close} {
		if form.Text != "" && conversation.Done {
			l.add(streamCandidate(conversation.ID, form, Form{}, DropRollup, l.rollup))
		}
	}
	for k := range conversation.Pieces {
		piece := &conversation.Pieces[k]
		section, layer := sectionOf(*piece, false)
		l.add(Candidate{ID: piece.ID, Section: section, Layer: int(layer), Full: piece.Forms[0], Reason: DropRollup, By: l.rollup})
	}
}

// summary lists the summary that may stand for what is out of a conversation.
func (l *lister) summary(c int, missing bool) {
	conversation := &l.b.in.Stream[c]
	candidate := streamCandidate(conversation.ID, conversation.Summary, Form{}, Unneeded, "")
	switch {
	case l.b.plan.summary[c]:
		candidate.Shown, candidate.Reason = conversation.Summary, Included
	case missing && conversation.archived(l.b.plan.foldSeq):
		candidate.Reason, candidate.By = DropArchive, conversation.ID
	case missing:
		candidate.Reason, candidate.By = DropBudget, conversation.ID
	}
	l.add(candidate)
}

// digest lists the digest of what is out of the conversation in progress, or of
// the one that was when the last fold was made.
func (l *lister) digest(conversation *StreamConversation, digest Form, lastGone int, input bool) {
	section, layer := sectionOf(Piece{}, input)
	candidate := Candidate{ID: conversation.ID, Section: section, Layer: int(layer), Full: digest, Shown: digest, Reason: Included}
	if digest.Text == "" {
		candidate.Full = Form{Detail: FormDigest, Tokens: l.b.plan.policy.DigestCap}
		candidate.Reason, candidate.By = Unneeded, ""
		if lastGone >= 0 {
			candidate.Reason, candidate.By = DropBudget, l.names
		}
	}
	l.add(candidate)
}

// lastGone returns the index of the newest piece of a conversation that is not
// shown, -1 if there is none. A layer 0 among the pieces does not count.
func (b *builder) lastGone(c int) int {
	last := -1
	for k, form := range b.plan.forms[c] {
		if form == gone && !b.in.Stream[c].Pieces[k].Context {
			last = k
		}
	}
	return last
}

func streamCandidate(id string, full, shown Form, reason, by string) Candidate {
	return Candidate{ID: id, Section: SectionActiveMemory, Layer: int(LayerActiveMemory), Full: full, Shown: shown, Reason: reason, By: by}
}
