package session

import (
	"fmt"
	"strings"
	"time"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/tokens"
	"hexapla/retrieval"
	"hexapla/storage"
)

// packer reads what one pack needs. It is the layers.Source of that pack and
// lives no longer than its snapshot. Once packInput has returned, its methods may
// be called from several goroutines.
type packer struct {
	ws       *Workspace
	session  string
	view     storage.View
	snapshot *storage.Snapshot
	counter  layers.Counter
	stream   stream
	policy   layers.Policy // of the window
	profiles profiler
	heads    *headCache
	memo     memo
	prices   layers.CachePrices
	usage    *tokens.Fit                // nil where budgets are in counted tokens
	whole    line                       // of the session
	edited   int64                      // sequence of the workspace's newest edit
	gone     map[string]int64           // conversations that were superseded, with the place of each among all
	scores   map[string][]retrieval.Hit // of pieces that were found by searching, by id
}

// at returns a view of what is read as of a sequence: an edit holds for the time
// before it, too, so that no pack shows the text before.
func (p *packer) at(seq int64) (storage.View, error) {
	return p.then(max(seq, p.edited))
}

// line is the session's line as of a view.
func (p *packer) line(v storage.View) (line, error) { return p.whole.asOf(v) }

// readEdits reads what edits made of the session and the workspace.
func (p *packer) readEdits() error {
	var err error
	if p.edited, err = newestEdit(p.view); err != nil {
		return err
	}
	if p.gone, err = cutOff(p.view); err != nil {
		return err
	}
	p.whole, err = lineOf(p.view, p.session)
	p.profiles = profiler{p.ws, p.session, p.whole}
	return err
}

// then returns the view as of a sequence that is not newer than the pack's.
func (p *packer) then(seq int64) (storage.View, error) {
	if seq >= p.view.Seq() {
		return p.view, nil
	}
	return p.snapshot.At(seq)
}

func (p *packer) form(detail, text string) layers.Form {
	return layers.Form{Detail: detail, Text: text, Tokens: p.counter.Count(text)}
}

const (
	headingContext   = "# Current context"
	headingHeaders   = "# Earlier conversations"
	headingSummaries = "# Summaries"
)

// CurrentContext implements layers.Source.
func (p *packer) CurrentContext(seq int64, room int) (layers.Form, error) {
	key := roomKey{seq, room}
	if form, ok := p.memo.shown.get(key); ok {
		return form, nil
	}
	text, ok := p.memo.rendered.get(seq)
	if !ok {
		current, err := p.contextAt(seq)
		if err != nil {
			return layers.Form{}, err
		}
		text = "nothing recorded yet\n"
		if current.known {
			text = p.ws.fence.Clean(digest.RenderCurrentContext(current.body))
		}
		p.memo.rendered.put(seq, text)
	}
	head := p.ws.fence.Heading(headingContext) + "\n" + p.ws.fence.Notice()
	heading := p.counter.Count(head)
	if trimmed, cut := digest.Trim(text, max(room-heading, 1), p.counter); cut {
		text = trimmed
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	form := p.form(layers.FormFull, head+text)
	if form.Tokens > room {
		form = p.form(layers.FormLine, head)
	}
	p.memo.shown.put(key, form)
	return form, nil
}

// Said implements layers.Source.
func (p *packer) Said(seq int64) (int64, error) {
	current, err := p.contextAt(seq)
	if err != nil || !current.known || current.body.Source != layers.SourceHousekeeping {
		return 0, err
	}
	return current.seq, nil
}

// Digest implements layers.Source: the summary of a conversation's turns
// before a piece.
func (p *packer) Digest(conversation layers.StreamConversation, before, room int) (layers.Form, error) {
	piece := conversation.Pieces[before]
	then, err := p.then(piece.Seq - 1)
	if err != nil {
		return layers.Form{}, err
	}
	v, err := p.at(piece.Seq - 1)
	if err != nil {
		return layers.Form{}, err
	}
	key := digestKey{conversation.ID, piece.Seq, p.counter.Name(), p.edited}
	if form, ok := p.heads.digests.get(key); ok {
		return form, nil
	}
	turns := then.ListLen(listOfTurns(conversation.ID))
	trio, err := p.ws.ruleTrioOf(v, conversation.ID, turns)
	if err != nil {
		return layers.Form{}, err
	}
	head := p.ws.fence.Heading(fmt.Sprintf("### %s turns 1 to %d came to", conversation.ID, turns))
	body := p.ws.fence.Clean(digest.RenderSummary(trio.Summary, conversation.ID) + strings.Join(trio.Header.KeyEntities, ", "))
	text := block(head, tokens.Prefix(p.counter, body, room-p.counter.Count(head)-4))
	form := p.form(layers.FormDigest, text)
	if form.Tokens > room {
		form = layers.Form{}
	}
	p.heads.digests.put(key, form)
	return form, nil
}

// Headers implements layers.Source.
//
// As many of the newest headers as fit are listed singly, at most
// layers.MaxHeaders; the older ones are told in one roll-up. Their border moves
// in steps of headerStep, so that the list's beginning seldom changes.
func (p *packer) Headers(seq int64, room int, rollup bool) ([]layers.Item, error) {
	key := headKey{session: p.session, seq: seq, room: room, rollup: rollup, counter: p.counter.Name(), base: p.stream.base, edited: p.edited}
	if items, ok := p.heads.heads.get(key); ok {
		return items, nil
	}
	v, err := p.then(seq)
	if err != nil {
		return nil, err
	}
	var inStream map[string]bool
	if !rollup {
		inStream = map[string]bool{}
		for i := range p.stream.conversations {
			inStream[p.stream.conversations[i].ID] = true
		}
	}
	items, err := p.listHeaders(v, room, inStream, rollup)
	if err != nil {
		return nil, err
	}
	p.heads.heads.put(key, items)
	return items, nil
}

const headerStep = 10

func (p *packer) listHeaders(v storage.View, room int, skip map[string]bool, rollup bool) ([]layers.Item, error) {
	total := v.ListLen(listConversations)
	entries, err := v.List(listConversations, max(0, total-layers.MaxHeaders-len(skip)-len(p.gone)), total)
	if err != nil {
		return nil, err
	}
	entries = p.staying(entries)
	kept := entries[:0]
	for _, entry := range entries {
		if !skip[entry.ID] {
			kept = append(kept, entry)
		}
	}
	total -= len(entries) - len(kept) + goneOf(p.gone, total)
	if total <= 0 {
		return nil, nil
	}
	if rollup {
		form, err := p.rollup(v, total, nil)
		return []layers.Item{{ID: "rollup", Form: form}}, err
	}
	heading := layers.Item{ID: "heading", Form: p.form(layers.FormHeading, p.ws.fence.Heading(headingHeaders)+"\n")}
	used := heading.Form.Tokens
	var single []layers.Item
	for i := len(kept) - 1; i >= 0 && len(single) < layers.MaxHeaders; i-- {
		form, err := p.headerAt(kept[i].ID, v)
		if err != nil {
			return nil, err
		}
		if used+form.Tokens+layers.CapHeader > room && i > 0 || used+form.Tokens > room {
			break
		}
		used += form.Tokens
		single = append(single, layers.Item{ID: kept[i].ID, Form: form})
	}
	if rolled := total - len(single); rolled > 0 {
		// The border lies at a whole step, counted from the first conversation.
		if over := rolled % headerStep; over > 0 {
			give := min(headerStep-over, len(single))
			single = single[:len(single)-give]
		}
	}
	items := []layers.Item{heading}
	if rolled := total - len(single); rolled > 0 {
		form, err := p.rollup(v, rolled, kept[:len(kept)-len(single)])
		if err != nil {
			return nil, err
		}
		items = append(items, layers.Item{
			ID: "rollup", Form: form, Reason: layers.DropRollup,
			From: layers.Form{Detail: string(layers.DetailHeader), Tokens: rolled * layers.CapHeader},
		})
	}
	for i := len(single) - 1; i >= 0; i-- {
		items = append(items, single[i])
	}
	return items, nil
}

// rollup tells n conversations in one header: how many, their span and the
// topics of the newest of them.
func (p *packer) rollup(v storage.View, n int, known []storage.ListEntry) (layers.Form, error) {
	all := v.ListLen(listConversations)
	first, err := v.List(listConversations, 0, min(all, 1+len(p.gone)))
	if err != nil {
		return layers.Form{}, err
	}
	first = p.staying(first)
	if len(known) == 0 {
		if known, err = v.List(listConversations, max(0, all-3-len(p.gone)), all); err != nil {
			return layers.Form{}, err
		}
		known = p.staying(known)
	}
	newest := known[len(known)-1]
	from, err := p.trioAt(first[0].ID, v.Seq())
	if err != nil {
		return layers.Form{}, err
	}
	var topics []string
	to := from
	for i := len(known) - 1; i >= max(0, len(known)-3); i-- {
		trio, err := p.trioAt(known[i].ID, v.Seq())
		if err != nil {
			return layers.Form{}, err
		}
		if i == len(known)-1 {
			to = trio
		}
		topics = append(topics, trio.Header.Topic)
	}
	text := fmt.Sprintf("%s..%s · %d conversations · %s to %s", first[0].ID, newest.ID, n, day(from.Header.Timestamp), day(to.Header.Timestamp))
	if topic := strings.Join(topics, "; "); topic != "" {
		text = tokens.Prefix(p.counter, oneLine(text+" · "+p.ws.fence.Clean(topic)), layers.CapHeader-2)
	}
	return p.form(layers.FormRollup, strings.TrimRight(text, " ;·")+"\n"), nil
}

func day(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }

// Summaries implements layers.Source: the conversations right before layer 1,
// the session's own and, where it has too few, the workspace's newest others.
func (p *packer) Summaries(seq int64, room int) ([]layers.Item, error) {
	key := headKey{session: p.session, seq: seq, room: room, summaries: true, counter: p.counter.Name(), base: p.stream.base, edited: p.edited}
	if items, ok := p.heads.heads.get(key); ok {
		return items, nil
	}
	v, err := p.then(seq)
	if err != nil {
		return nil, err
	}
	ids, err := p.summarised(v)
	if err != nil {
		return nil, err
	}
	heading := layers.Item{ID: "heading", Form: p.form(layers.FormHeading, p.ws.fence.Heading(headingSummaries)+"\n")}
	used := heading.Form.Tokens
	var items []layers.Item
	for _, id := range ids { // newest first
		archived, restored, err := archivedIn(v, id)
		if err != nil {
			return nil, err
		}
		trio, err := p.trioAt(id, v.Seq())
		if err != nil {
			return nil, err
		}
		form := p.form(string(layers.DetailSummary), p.ws.fence.Clean(digest.RenderSummary(trio.Summary, id)))
		item := layers.Item{ID: id, Form: form}
		switch {
		case archived != 0 && restored == 0: // as of seq, which is the view's
			item = layers.Item{ID: id, From: form, Form: layers.Form{Detail: layers.FormNone}, Reason: layers.DropArchive}
		case used+form.Tokens > room:
			item = layers.Item{ID: id, From: form, Form: layers.Form{Detail: layers.FormNone}, Reason: layers.DropBudget}
		default:
			used += form.Tokens
		}
		items = append(items, item)
	}
	if len(items) > 0 {
		items = append(items, heading)
		for i, j := 0, len(items)-1; i < j; i, j = i+1, j-1 {
			items[i], items[j] = items[j], items[i]
		}
	}
	if used == heading.Form.Tokens && len(items) > 0 {
		items = items[1:] // no summary, no heading
	}
	p.heads.heads.put(key, items)
	return items, nil
}

// summarised returns the ids of layer 3, newest first.
func (p *packer) summarised(v storage.View) ([]string, error) {
	want := p.policy.Summaries
	own, err := p.whole.list(max(0, p.stream.base-want), p.stream.base)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := len(own) - 1; i >= 0; i-- {
		ids = append(ids, own[i].ID)
	}
	if len(ids) >= want || p.stream.base > 0 {
		return ids, nil
	}
	skip := map[string]bool{}
	for i := range p.stream.conversations {
		skip[p.stream.conversations[i].ID] = true
	}
	total := v.ListLen(listConversations)
	others, err := v.List(listConversations, max(0, total-want-len(skip)-len(p.gone)), total)
	if err != nil {
		return nil, err
	}
	others = p.staying(others)
	for i := len(others) - 1; i >= 0 && len(ids) < want; i-- {
		if !skip[others[i].ID] {
			ids = append(ids, others[i].ID)
		}
	}
	return ids, nil
}
