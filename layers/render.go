package layers

import "strings"

// streamSections turns the laid-out stream into sections of layer 1 (and of
// layer 5, where answers to context requests stand), and the input section:
// everything since the last answer in the conversation in progress.
func (b *builder) streamSections() (context []Section, input Section, err error) {
	pieces := 2 * len(b.in.Stream) // headers and summaries of conversations
	for i := range b.in.Stream {
		pieces += len(b.in.Stream[i].Pieces)
	}
	items, begin := make([]Item, 0, pieces), 0 // of context, one section after another
	input = Section{Name: SectionInput, Layer: -1, Allowance: b.allowance.active}
	add := func(item Item, name string, layer Layer) {
		if name == SectionInput {
			input.Items = append(input.Items, item)
			return
		}
		if n := len(context); n == 0 || context[n-1].Name != name {
			context = append(context, Section{Name: name, Layer: int(layer), Allowance: b.allowance.active})
			begin = len(items)
		}
		items = append(items, item)
		context[len(context)-1].Items = items[begin:len(items):len(items)]
	}
	stream := b.in.Stream
	for c := range stream {
		conversation := &stream[c]
		forms := b.plan.forms[c]
		last := c == len(stream)-1
		inputFrom := len(conversation.Pieces)
		if last && !conversation.Done {
			_, inputFrom = mustStay(conversation.Pieces)
		}
		if b.isBare(c) {
			continue
		}
		if b.plan.summary[c] {
			add(Item{ID: conversation.ID, Form: conversation.Summary}, SectionActiveMemory, LayerActiveMemory)
		}
		digestAt := b.digestAt(c)
		for k := range conversation.Pieces {
			piece := &conversation.Pieces[k]
			if k == digestAt {
				digest, err := b.in.Source.Digest(*conversation, k, b.plan.policy.DigestCap)
				if err != nil {
					return nil, input, err
				}
				if digest.Tokens > 0 {
					b.digest = digest
					name, layer := sectionOf(Piece{}, k > inputFrom)
					add(Item{ID: conversation.ID, Form: digest}, name, layer)
				}
			}
			full := piece.Forms[0]
			if forms[k] == gone && piece.Context {
				continue
			}
			if forms[k] == gone {
				b.drop(piece.ID, full.Detail, FormNone, b.dropReason(conversation, piece), full.Tokens)
				continue
			}
			form := conversation.form(k, forms[k])
			if last && k < len(b.plan.fresh) && b.plan.fresh[k].Text != "" {
				form = b.plan.fresh[k]
			} else if forms[k] > 0 {
				b.drop(piece.ID, full.Detail, form.Detail, DropBudget, full.Tokens-form.Tokens)
			}
			name, layer := sectionOf(*piece, k >= inputFrom)
			add(itemOf(piece, form), name, layer)
		}
		if conversation.Done {
			add(Item{ID: conversation.ID, Form: conversation.Close}, SectionActiveMemory, LayerActiveMemory)
		}
	}
	return context, input, nil
}

// itemOf is a piece as an item in one of its forms.
func itemOf(piece *Piece, form Form) Item {
	item := Item{ID: piece.ID, Form: form, User: piece.User, Answer: piece.Answer}
	if form.Detail == FormFull || form.Detail == FormChanged {
		item.Calls, item.Result = piece.Calls, piece.Result
	}
	return item
}

// sectionOf returns where a piece stands.
func sectionOf(piece Piece, input bool) (string, Layer) {
	switch {
	case input:
		return SectionInput, -1
	case piece.Context:
		return SectionCurrentContext, LayerCurrentContext
	case piece.Served:
		return SectionRetrieved, LayerArchive
	}
	return SectionActiveMemory, LayerActiveMemory
}

// digestAt returns the index of the piece of a conversation that the digest of
// what is out of it stands before, -1 where it has none. The last fold made the
// digest of the conversation that was in progress then; it stays where it is
// until the next one, also when that conversation has ended.
func (b *builder) digestAt(c int) int {
	if !b.plan.digest || c != b.plan.foldAt[0] || b.isBare(c) {
		return -1
	}
	gone := b.lastGone(c)
	if gone < 0 || gone+1 >= len(b.plan.forms[c]) {
		return -1
	}
	return gone + 1
}

// isBare tells that a conversation is left to the roll-up.
func (b *builder) isBare(c int) bool {
	return b.bare && (c < len(b.in.Stream)-1 || b.in.Stream[c].Done)
}

func (b *builder) dropReason(conversation *StreamConversation, piece *Piece) string {
	if conversation.ArchivedAt >= piece.Seq && conversation.archived(b.plan.foldSeq) {
		return DropArchive
	}
	return DropBudget
}

// drop notes a drop; runs of pieces of one conversation that fare alike are
// told as a range.
func (b *builder) drop(id, from, to, reason string, saved int) {
	if n := len(b.dropped); n > 0 {
		last := &b.dropped[n-1]
		if last.From == from && last.To == to && last.Reason == reason && sameConversation(last.ID, id) {
			first, _, _ := strings.Cut(last.ID, "..")
			last.ID = first + ".." + id
			last.Saved += saved
			return
		}
	}
	b.dropped = append(b.dropped, Drop{ID: id, From: from, To: to, Reason: reason, Saved: saved})
}

// sameConversation tells whether two ids of pieces, or a range of pieces and a
// piece, belong to one conversation.
func sameConversation(a, b string) bool {
	a, _, okA := strings.Cut(a, "#")
	b, _, okB := strings.Cut(b, "#")
	return okA && okB && a == b
}

// names is the roster of what the last fold took out of view.
func (b *builder) names() (Section, error) {
	var shown []string
	c, i := b.plan.foldAt[0], b.plan.foldAt[1]
	for k := range c + 1 {
		for j, form := range b.plan.forms[k] {
			if k == c && j > i {
				break
			}
			if form != gone {
				shown = append(shown, b.in.Stream[k].form(j, form).Text)
			}
		}
		if b.plan.summary[k] {
			shown = append(shown, b.in.Stream[k].Summary.Text)
		}
	}
	request := NamesRequest{
		Stream: b.in.Stream, Conversation: c, Piece: i, Shown: shown, Room: b.plan.names, PathPercent: b.plan.policy.NamesPathPercent, Exact: b.plan.policy.NamesExact,
	}
	if b.in.Fill {
		request.PathPercent = 100
	}
	form, err := b.in.Source.Names(request)
	if err != nil {
		return Section{}, err
	}
	b.roster = form
	return Section{
		Name: SectionNames, Layer: int(LayerReferences), Allowance: b.plan.names, Items: []Item{{ID: SectionNames, Form: form}},
	}, nil
}
