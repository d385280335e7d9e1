package layers

import (
	"slices"
	"strings"
)

// smallestCurrentContext is the room that layer 0 is given at the least; it
// is always in the pack (H1).
const smallestCurrentContext = 40

// builder holds the intermediate results of one Build.
type builder struct {
	in        Input
	room      int // for context and input together
	used      int // what the last attempt takes of it
	allowance struct{ current, update, headers, summaries, active, retrieved int }
	headers   []Item
	summaries []Item
	current   Item
	memory    []Item // HOT memory items in front
	since     []Item // and behind the stream
	update    Item
	passages  []quoted
	plan      plan
	headroom  Headroom
	bare      bool // the attempt that is being laid out keeps only what must be
	dropped   []Drop

	// What candidates are made of, beside what is above.
	contextSeq     int64 // as of which layer 0 is shown
	newer          bool  // the model gave a layer 0 that is newer than those shown
	digest, roster Form
	outline        bool // nothing is to be rendered
}

// Build assembles a pack. It never passes the budget: if what must be in the
// pack does not fit, it returns a *BudgetError. Other errors come from the
// Source.
//
// Room is given out in the order of H10: layer 0, headers, summaries, and what
// is left to the stream with everything unused. When room is scarce, things
// leave in the order of H12: fulls that nobody asked for, then summaries, then
// headers, which are told in one roll-up and never vanish.
func Build(in Input) (*Pack, error) {
	system := in.frontTokens()
	b := &builder{in: in, room: in.Budget.Total - in.Budget.Reserved - system}
	fits, err := b.fit()
	if err != nil {
		return nil, err
	}
	if fits {
		return b.render()
	}
	// Find the border between what does not work and what does: the bare
	// attempt that was laid out last works in the room that it takes.
	low, high := b.room, b.used
	for low+1 < high {
		b.room = low + (high-low)/2
		if fits, err = b.fit(); err != nil {
			return nil, err
		}
		if fits {
			high = b.room
		} else {
			low = b.room
		}
	}
	b.room = high
	if _, err = b.fit(); err != nil {
		return nil, err
	}
	return nil, &BudgetError{Total: in.Budget.Total, Smallest: in.Budget.Reserved + system + high, Needs: b.needs(high)}
}

// needs tells what takes so many tokens when only what must be there is.
func (b *builder) needs(tokens int) NeverDropped {
	n := NeverDropped{
		Reserved: b.in.Budget.Reserved, System: itemTokens(b.in.System), Pins: itemTokens(b.in.Pins), Errors: itemTokens(b.plan.errors),
	}
	if last := len(b.in.Stream) - 1; last >= 0 && !b.in.Stream[last].Done {
		if query, _ := mustStay(b.in.Stream[last].Pieces); query >= 0 {
			n.Request = b.in.Stream[last].Pieces[query].Forms[0].Tokens
		}
	}
	n.Rest = tokens - n.Errors - n.Request
	return n
}

// frontTokens is what the client and the user put in front; it never gives way.
func (in *Input) frontTokens() int { return itemTokens(in.System) + itemTokens(in.Pins) }

// fit lays the pack out. Each attempt gives up more; the first that fits is
// taken.
func (b *builder) fit() (bool, error) {
	for _, attempt := range []scarcity{{}, {noSummaries: true}, {noSummaries: true, rollup: true}, {noSummaries: true, rollup: true, bare: true}} {
		var err error
		if b.used, err = b.layOut(attempt); err != nil || b.used <= b.room {
			return err == nil, err
		}
	}
	return false, nil
}

// scarcity says what has to go.
type scarcity struct {
	noSummaries bool
	rollup      bool // all headers in one roll-up
	bare        bool // only what must be there, in its shortest form
}

// layOut gives out the room and returns the tokens that the result takes.
func (b *builder) layOut(s scarcity) (int, error) {
	in, room := b.in, max(b.room, 0)
	share, memory := b.remember(room, s.bare)
	room -= share
	current, active, headers, summaries, retrieved := in.Policy.Shares(room)
	b.dropped = nil
	b.headers, b.summaries, b.update = nil, nil, Item{}
	b.digest, b.roster = Form{}, Form{}
	b.bare, b.newer = s.bare, false

	own := min(CapCurrentContext, max(current*2/3, smallestCurrentContext))
	update := min(CapCurrentContext, max(current-own, 0))
	if s.bare {
		own, update = smallestCurrentContext, 0
	}
	b.allowance.current, b.allowance.update = own, update
	free := current - own - update

	used := 0
	var err error
	b.allowance.headers = max(headers+free, 0)
	if b.headers, err = in.Source.Headers(b.headSeq(), b.allowance.headers, s.rollup); err != nil {
		return 0, err
	}
	headersUsed := itemTokens(b.headers)
	used += headersUsed
	free = b.allowance.headers - headersUsed

	b.allowance.summaries = max(summaries+free, 0)
	if !s.noSummaries {
		if b.summaries, err = in.Source.Summaries(b.headSeq(), b.allowance.summaries); err != nil {
			return 0, err
		}
	}
	summariesUsed := itemTokens(b.summaries)
	used += summariesUsed
	free = b.allowance.summaries - summariesUsed

	b.allowance.retrieved = retrieved
	b.allowance.active = active + retrieved + free
	high := max(room-used-own-update-b.passageShare(room), 0)
	stream := in.Stream
	if s.bare {
		stream = bareStream(stream)
		high = 0
	}
	b.plan = planStream(stream, in, high, in.Fill && !s.bare)
	if s.bare {
		b.plan.errorsAt(stream, in)
	}
	b.headroom = b.plan.headroom(high)
	b.plan.freshen(stream, high)
	used += b.plan.tokens

	foldSeq := max(b.plan.foldSeq, in.WindowSeq)
	if in.Layout == LayoutNarrativeFirst || s.bare {
		foldSeq = in.Sequence
	}
	form, err := in.Source.CurrentContext(foldSeq, own)
	if err != nil {
		return 0, err
	}
	b.current, b.contextSeq = Item{ID: SectionCurrentContext, Form: form}, foldSeq
	used += form.Tokens
	if !s.bare {
		shown := max(foldSeq, newestContext(stream))
		said, err := in.Source.Said(in.Sequence)
		if err != nil {
			return 0, err
		}
		b.newer = said > shown
		if b.newer && update > 0 {
			newer, err := in.Source.CurrentContext(in.Sequence, update)
			if err != nil {
				return 0, err
			}
			b.update = Item{ID: SectionCurrentContext, Form: newer}
			used += newer.Tokens
		}
	}
	used += memory
	return used + b.quote(b.room-used), nil
}

// headSeq is the moment as of which headers and summaries are read: when the
// window last moved, so that they stay as they are until it moves again.
func (b *builder) headSeq() int64 {
	if b.bare {
		return b.in.Sequence
	}
	return b.in.WindowSeq
}

// newestContext returns the sequence of the newest layer 0 in the stream.
func newestContext(stream []StreamConversation) int64 {
	var seq int64
	for i := range stream {
		for k := range stream[i].Pieces {
			if stream[i].Pieces[k].Context {
				seq = stream[i].Pieces[k].Seq
			}
		}
	}
	return seq
}

// bareStream is the stream with nothing in it but the conversation in
// progress; the others are told in the roll-up.
func bareStream(stream []StreamConversation) []StreamConversation {
	out := make([]StreamConversation, len(stream))
	for i := range stream {
		out[i] = StreamConversation{ID: stream[i].ID, Done: stream[i].Done}
		if i == len(stream)-1 && !stream[i].Done {
			out[i].Pieces = stream[i].Pieces
		}
	}
	return out
}

func itemTokens(items []Item) int {
	n := 0
	for _, item := range items {
		n += item.Form.Tokens
	}
	return n
}

// render writes the sections in the layout's order.
func (b *builder) render() (*Pack, error) {
	in := b.in
	context, input, err := b.streamSections()
	if err != nil {
		return nil, err
	}
	if len(b.plan.errors) > 0 {
		context = append([]Section{{Name: SectionErrors, Layer: -1, Allowance: itemTokens(b.plan.errors), Items: b.plan.errors}}, context...)
	}
	if b.plan.names > 0 {
		names, err := b.names()
		if err != nil {
			return nil, err
		}
		context = append([]Section{names}, context...)
	}
	headers := Section{Name: SectionHeaders, Layer: int(LayerHeaders), Allowance: b.allowance.headers, Items: b.headers}
	summaries := Section{Name: SectionSummaries, Layer: int(LayerSummaries), Allowance: b.allowance.summaries, Items: b.summaries}
	current := Section{Name: SectionCurrentContext, Layer: int(LayerCurrentContext), Allowance: b.allowance.current, Items: []Item{b.current}}
	system := Section{Name: SectionSystem, Layer: -1, Allowance: in.Budget.Total - in.Budget.Reserved, Items: in.System}
	pins := Section{Name: SectionPins, Layer: -1, Allowance: in.Budget.Total - in.Budget.Reserved, Items: in.Pins}

	var order []Section
	const fixed = 2 // system and pins
	stable := fixed // sections that stay in front until the next fold
	head := fixed   // sections before the stream
	if in.Layout == LayoutNarrativeFirst {
		order = append(order, system, pins, b.memorySection(b.memory), current, headers)
		active, retrieved := splitRetrieved(context)
		order = append(order, active...)
		order = append(order, summaries)
		order = append(order, retrieved...)
	} else {
		order = append(order, system, pins, b.memorySection(b.memory), headers, summaries, current)
		if head = len(order); b.plan.names > 0 {
			head++
		}
		if len(b.plan.errors) > 0 {
			head++
		}
		order = append(order, context...)
		stable = len(order)
		if b.update.ID != "" {
			order = append(order, Section{Name: SectionCurrentContext, Layer: int(LayerCurrentContext), Allowance: b.allowance.update, Items: []Item{b.update}})
		}
	}
	if len(b.since) > 0 {
		order = append(order, b.memorySection(b.since))
	}
	if len(b.passages) > 0 {
		order = append(order, b.passageSection())
	}
	order = append(order, input)
	borders := b.borders(head, stable, len(order))
	if b.alone() {
		stable = fixed
	}
	if b.bare { // each is laid out anew, as by a fold
		b.plan.foldSeq, b.plan.reason = in.Sequence, EpochBudget
	}

	p := &Pack{
		Seed: in.Seed, Layout: in.Layout, Sequence: in.Sequence, Session: in.Session,
		Encoding: in.Count.Name(), Estimate: in.Count.Estimate(), Budget: in.Budget,
		Quotas:      Quotas{Summaries: b.allowance.summaries, Fulls: MaxFullsPerTurn},
		FullHistory: in.FullHistory, Epoch: b.plan.foldSeq, EpochReason: b.plan.reason,
		Settings: in.Settings, Calibration: in.Calibration, Gate: in.Gate,
		Headroom: b.headroom, LaidOut: b.plan.profile,
	}
	if b.plan.gate.Decision != "" {
		p.Gate = b.plan.gate
	}
	size := 0
	for i := range order {
		for _, item := range order[i].Items {
			size += len(item.Form.Text)
		}
	}
	var text strings.Builder
	text.Grow(size)
	systemEnd, contextEnd := 0, 0
	for i := range order {
		s := &order[i]
		if s.Name == SectionInput {
			contextEnd = text.Len()
		}
		begin := text.Len()
		shown := s.Items // some are kept by the source and must not change
		if slices.ContainsFunc(shown, func(item Item) bool { return item.Form.Text == "" }) {
			shown = slices.DeleteFunc(slices.Clone(shown), func(item Item) bool { return item.Form.Text == "" })
		}
		for _, item := range s.Items {
			if item.Reason != "" {
				b.drop(item.ID, item.From.Detail, item.Form.Detail, item.Reason, item.From.Tokens-item.Form.Tokens)
			}
			if item.Form.Text == "" {
				continue
			}
			text.WriteString(item.Form.Text)
			s.Tokens += item.Form.Tokens
		}
		s.Items = shown
		s.Text = text.String()[begin:]
		switch s.Name {
		case SectionSystem:
			p.System += s.Tokens
			systemEnd = text.Len()
		case SectionInput:
			p.Input += s.Tokens
		default:
			p.Context += s.Tokens
		}
		if i+1 == stable {
			p.StableBytes = text.Len()
		}
		if len(s.Items) > 0 {
			p.Sections = append(p.Sections, *s)
		}
		p.mark(borders, i+1, text.Len())
	}
	if in.Explain {
		if p.Candidates, err = b.candidates(); err != nil {
			return nil, err
		}
	}
	p.Text = text.String()
	p.Branches = Branches{System: p.Text[:systemEnd], Context: p.Text[systemEnd:contextEnd], Input: p.Text[contextEnd:]}
	p.Dropped = b.dropped
	return p, nil
}

// splitRetrieved takes the answers to context requests out of the stream,
// and leaves out layer 0, which this layout renders in front.
func splitRetrieved(sections []Section) (active, retrieved []Section) {
	for _, s := range sections {
		switch s.Name {
		case SectionRetrieved:
			retrieved = append(retrieved, s)
		case SectionActiveMemory, SectionNames, SectionErrors:
			active = append(active, s)
		}
	}
	return active, retrieved
}
