package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// contextPieceTokens is the room of layer 0 where it stands in the stream, at
// the opening of a conversation.
const contextPieceTokens = 100

// stream is the session's layer 1 as of a view.
type stream struct {
	conversations []layers.StreamConversation
	base          int        // conversations of the session before the window
	start         int        // index of the conversation that moved the window
	windowSeq     int64      // sequence at which it opened
	outputs       [][]output // of the conversations, in order
	errors        []layers.OpenError
	gate          layers.Gate // about the window
	pending       int         // tokens of the whole input that is not recorded yet
	startSeq      int64       // sequence at which the window was moved in the middle of start; 0 if its opening moved it
	spans         []layers.ProfileSpan
	profile       ProfileState
}

// streamOf reads the stream of a session. pending, if there is one, is the
// input that is not recorded yet.
func (p *packer) streamOf(ctx context.Context, pending *pendingInput) (stream, error) {
	v := p.view
	l, err := p.line(v)
	if err != nil {
		return stream{}, err
	}
	n := l.length
	opened := n
	opensNext := false
	if pending != nil && pending.kind == layers.InputUserQuery {
		// It opens the next conversation and completes the one in progress.
		opensNext = true
		opened++
	}
	window, err := p.window(v, max(opened, 1))
	if err != nil {
		return stream{}, err
	}
	s := stream{base: window.Base, start: window.Start - 1 - window.Base, startSeq: window.Seq, gate: window.Gate}
	entries, err := l.list(s.base, n)
	if err != nil {
		return s, err
	}
	spans, first, err := p.profiles.spans(v, s.base, n, opensNext)
	if err != nil {
		return s, err
	}
	s.spans = spans
	if s.profile, err = p.profiles.state(v, s.base+len(first)-1); err != nil {
		return s, err
	}
	p.policy = spans[first[min(max(s.start, 0), len(first)-1)]].Policy
	served, err := p.served(l)
	if err != nil {
		return s, err
	}
	for i, entry := range entries {
		next := v.Seq() // the moment as of which the closing header is read
		if i+1 < len(entries) {
			next = entries[i+1].Seq
		}
		c, outputs, err := p.conversation(ctx, entry, next, i > s.start, opensNext && i == len(entries)-1, spans[first[i]].Policy)
		if err != nil {
			return s, err
		}
		c.Profile = first[i]
		c.Pieces = insertServed(c.Pieces, served, entry.Seq, next, i == len(entries)-1)
		if c.ArchivedAt, c.RestoredAt, err = archivedIn(p.view, entry.ID); err != nil {
			return s, err
		}
		s.conversations = append(s.conversations, c)
		s.outputs = append(s.outputs, outputs)
	}
	s.errors = p.openErrors(s.outputs)
	if err := p.repeats(s.conversations, s.outputs); err != nil {
		return s, err
	}
	opening := func(i int) int64 {
		if i < len(entries) {
			return entries[i].Seq
		}
		return v.Seq()
	}
	s.windowSeq = opening(s.start)
	if s.startSeq != 0 {
		s.windowSeq = s.startSeq
		p.policy = shape(spans).at(s.startSeq)
	}
	if s.gate.Decision != "" {
		s.gate.Sequence = opening(window.Decided - 1 - s.base)
	}
	if pending != nil {
		if err := p.appendPending(&s, pending, opensNext); err != nil {
			return s, err
		}
	}
	return s, nil
}

// conversation reads one conversation of the stream and the tool outputs in it.
func (p *packer) conversation(ctx context.Context, entry storage.ListEntry, next int64, withContext, closing bool, policy layers.Policy) (layers.StreamConversation, []output, error) {
	c := layers.StreamConversation{ID: entry.ID}
	body, _, ok, err := latest[conversationRecord](p.view, kindConversation, entry.ID)
	if err != nil {
		return c, nil, err
	}
	if !ok {
		return c, nil, fmt.Errorf("conversation %q is listed but has no record: %w", entry.ID, storage.ErrDamaged)
	}
	pieces, outputs, err := p.ws.thread(p.view, entry.ID, p.counter)
	if err != nil {
		return c, nil, err
	}
	if pieces, err = p.withHints(pieces, outputs); err != nil {
		return c, nil, err
	}
	c.Pieces = pieces[:len(pieces):len(pieces)]
	var front []layers.Piece
	if withContext && (len(pieces) == 0 || pieces[0].Seq > p.edited) {
		// What it was before an edit is told of no more.
		piece, err := p.contextPiece(entry.ID, pieces)
		if err != nil {
			return c, nil, err
		}
		front = append(front, piece)
	}
	related, err := p.related(ctx, entry, pieces, policy)
	if err != nil {
		return c, nil, err
	}
	front = append(front, related...)
	if len(front) > 0 {
		c.Pieces = append(front, pieces...)
	}
	if body.Outcome != layers.OutcomeOngoing || closing {
		c.Done = true
		trio, err := p.closingTrio(entry.ID, body, next)
		if err != nil {
			return c, nil, err
		}
		if trio.Header.Outcome == layers.OutcomeCompleted {
			outputs = endedWell(outputs, next)
		}
		c.Close = p.form(string(layers.DetailHeader), p.ws.fence.Clean(digest.RenderHeader(trio.Header)))
		c.Summary = p.form(string(layers.DetailSummary), p.ws.fence.Clean(digest.RenderSummary(trio.Summary, entry.ID)))
	}
	return c, outputs, nil
}

// closingTrio is the trio that a conversation is complete with as of a sequence.
// One that the input is about to complete has it as if that were recorded.
func (p *packer) closingTrio(id string, body conversationRecord, seq int64) (trioRecord, error) {
	if body.Outcome != layers.OutcomeOngoing {
		return p.trioAt(id, seq)
	}
	body.Outcome = layers.OutcomeCompleted
	done, err := p.ws.draft(p.view, completion{id: id, record: body})
	return done.trio, err
}

// ruleTrio extracts a trio from the turns as of a view.
func (ws *Workspace) ruleTrio(v storage.View, conversation string) (trioRecord, error) {
	return ws.ruleTrioOf(v, conversation, maxTurnNumber)
}

// maxTurnNumber is more than any turn's number.
const maxTurnNumber = 1 << 40

// ruleTrioOf extracts a trio from the first n turns as of a view.
func (ws *Workspace) ruleTrioOf(v storage.View, conversation string, n int) (trioRecord, error) {
	body, _, ok, err := latest[conversationRecord](v, kindConversation, conversation)
	if err != nil {
		return trioRecord{}, err
	}
	if !ok {
		return trioRecord{}, notFound("conversation", conversation)
	}
	turns, tokens, err := turnsOf(v, conversation, n)
	if err != nil {
		return trioRecord{}, err
	}
	exchange := digest.Exchange{Tokens: tokens, Conversation: layers.Conversation{
		ID: conversation, Session: body.Session, Opened: body.Opened, Outcome: body.Outcome, Turns: turns,
	}}
	counter := ws.standard()
	e := &digest.Evidence{}
	addTurns(e, turns, nil, false)
	ruled := digest.Disarm(digest.Trio{Header: digest.Header(exchange, counter), Summary: digest.Summary(exchange, counter)}, e)
	trio := trioRecord{Header: ruled.Header, Summary: ruled.Summary, Trust: trustOf(turns)}
	trio.Header.ID, trio.Summary.ConversationID = conversation, conversation
	trio.Header.Outcome, trio.Header.TokenCount = body.Outcome, tokens
	trio.Summary.Retrievable = true
	trio.Header, _ = digest.TrimHeader(trio.Header, counter)
	trio.Summary, _ = digest.TrimSummary(trio.Summary, counter)
	return trio, nil
}

// contextPiece is layer 0 at the opening of a conversation: what moved on
// since the fold.
func (p *packer) contextPiece(conversation string, pieces []layers.Piece) (layers.Piece, error) {
	seq := p.view.Seq()
	if len(pieces) > 0 {
		seq = pieces[0].Seq
	}
	current, err := p.contextAt(seq)
	if err != nil {
		return layers.Piece{}, err
	}
	head := p.ws.fence.Heading("### current context")
	text := head + "\n"
	if cc := current.body; current.known {
		// The narrative and the achievements stand in front, as of the fold.
		cc.OverallNarrative, cc.KeyAchievements = "", nil
		rendered, _ := digest.Trim(digest.RenderCurrentContext(cc), contextPieceTokens-10, p.counter)
		text = block(head, p.ws.fence.Clean(rendered))
	}
	return layers.Piece{ID: "context:" + conversation, Seq: seq, Context: true, Forms: []layers.Form{p.form(layers.FormFull, text)}}, nil
}

// served returns the answers to context requests of the session as pieces, in
// order of sequence.
func (p *packer) served(l line) ([]layers.Piece, error) {
	list := listOfServed(p.session)
	n := p.view.ListLen(list)
	entries, err := p.view.List(list, max(0, n-maxServed), n)
	if err != nil {
		return nil, err
	}
	var out []layers.Piece
	for _, entry := range l.without(entries) {
		record, err := p.view.Get(entry.Seq)
		if err != nil {
			return nil, err
		}
		var body servedRecord
		if err := json.Unmarshal(record.Body, &body); err != nil {
			return nil, fmt.Errorf("read served %q: %w", entry.ID, err)
		}
		v, err := p.at(entry.Seq)
		if err != nil {
			return nil, err
		}
		s := p.ws.shaper(p.counter, p.policy)
		for i, item := range body.Items {
			then := v
			if item.AsOf != 0 {
				if then, err = p.at(item.AsOf); err != nil {
					return nil, err
				}
			}
			text, err := p.ws.show(then, item.ID, item.Detail, question{item.Query, item.From}, item.Tokens, p.counter)
			if errors.Is(err, ErrNotFound) { // an edit cut it off
				continue
			}
			if err != nil {
				return nil, err
			}
			head := p.ws.fence.Heading(fmt.Sprintf("### retrieved %s %s", item.ID, item.Detail))
			out = append(out, layers.Piece{
				ID: servedPiece(entry.ID, i), Seq: entry.Seq, Served: true,
				Forms: s.forms(
					layers.Form{Detail: layers.FormFull, Text: block(head, text.text)},
					layers.Form{Detail: layers.FormLine, Text: head + " (folded)\n"},
				),
			})
		}
	}
	return out, nil
}

// maxServed bounds the answers to context requests that a pack looks at.
const maxServed = 16

// insertServed puts answers among a conversation's pieces where they were
// given: from the conversation's opening to the next one's.
func insertServed(pieces, served []layers.Piece, from, to int64, last bool) []layers.Piece {
	var mine []layers.Piece
	for _, piece := range served {
		if piece.Seq > from && (piece.Seq < to || last) {
			mine = append(mine, piece)
		}
	}
	if len(mine) == 0 {
		return pieces
	}
	out := make([]layers.Piece, 0, len(pieces)+len(mine))
	for _, piece := range pieces {
		for len(mine) > 0 && mine[0].Seq < piece.Seq {
			out = append(out, mine[0])
			mine = mine[1:]
		}
		out = append(out, piece)
	}
	return append(out, mine...)
}

// pendingInput is a user input that is not recorded yet.
type pendingInput struct {
	kind    layers.InputKind
	content string
}

// nextConversation is the id that the next conversation will have: numbers are
// given one after another, to conversations alone.
func nextConversation(v storage.View) string {
	return fmt.Sprintf("c%d", v.ListLen(listConversations)+1)
}

// appendPending puts the input at the end of the stream. What the user says has
// the form that it will have once it is recorded, so that the next pack begins
// with this one's bytes. A tool's output is shown whole if there is room, or as
// much of it as fits; once it is recorded, it stands there in its cap.
func (p *packer) appendPending(s *stream, pending *pendingInput, opens bool) error {
	last := len(s.conversations) - 1
	if !opens && (last < 0 || s.conversations[last].Done) {
		opens = true
	}
	if opens {
		s.conversations = append(s.conversations, layers.StreamConversation{ID: nextConversation(p.view), Profile: len(s.spans) - 1})
		last++
	}
	c := &s.conversations[last]
	number := 1
	if !opens {
		number = p.view.ListLen(listOfTurns(c.ID)) + 1
	}
	content := p.ws.fence.Clean(pending.content)
	turn := layers.Turn{Number: number, Role: layers.RoleUser, Kind: pending.kind, Text: content}
	sh := p.ws.shaper(p.counter, s.spans[len(s.spans)-1].Policy)
	id := turnID(c.ID, number)
	piece := layers.Piece{ID: id, Seq: p.view.Seq(), User: true, Forms: sh.userForms(id, &turn)}
	if pending.kind == layers.InputToolResponse {
		piece.User, piece.Result = false, &layers.CallResult{}
		head := p.ws.fence.Heading("### " + id + " tool")
		piece.Forms = sh.forms(
			layers.Form{Detail: layers.FormFull, Text: block(head, sh.cut(content, sh.policy.ResultCap))},
			layers.Form{Detail: layers.FormExcerpt, Text: block(head, sh.cut(content, sh.policy.ExcerptCap))},
			layers.Form{Detail: layers.FormLine, Text: sh.line(head, content)},
		)
		fresh := []layers.Form{{Detail: layers.FormFull, Text: block(head, content)}}
		for _, most := range [...]int{16000, 8000, 4000, 2000, 1000} {
			fresh = append(fresh, layers.Form{Detail: layers.FormExcerpt, Text: block(head, sh.cut(content, most))})
		}
		piece.Fresh = sh.forms(fresh...)
	}
	s.pending = piece.Forms[0].Tokens
	if len(piece.Fresh) > 0 {
		s.pending = piece.Fresh[0].Tokens
	}
	c.Pieces = append(c.Pieces[:len(c.Pieces):len(c.Pieces)], piece)
	if pending.kind != layers.InputToolResponse {
		return nil
	}
	hint, err := p.pendingHint(c.ID, id, pending.content)
	if err == nil && hint.Text != "" {
		c.Pieces = append(c.Pieces, layers.Piece{ID: hintID(id), Seq: p.view.Seq(), Served: true, Forms: []layers.Form{hint}})
	}
	return err
}
