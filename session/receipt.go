package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// ReceiptRequest asks what a pack of the audit log lost.
type ReceiptRequest struct {
	Checksum string
	Against  string // checksum of the pack to compare with; the one before when empty
	Limit    int    // of facts; 0 means maxReceiptFacts
	Cursor   string
}

// maxReceiptFacts bounds the facts of one page of a receipt.
const maxReceiptFacts = 2000

// Loss is one thing that a pack shows in less detail than another, or not at all.
type Loss struct {
	ID      string
	Section string // in the other pack
	From    layers.Form
	To      layers.Form // without a detail where it is out
	Reason  string
	// Handle resolves to the original: the id of a conversation, a turn or an
	// output, or the checksum of the other pack where that alone has it.
	Handle string

	item packItem
}

// FactFate is what became of a fact of what was lost.
type FactFate struct {
	digest.Fact
	Survived bool
	Handle   string // resolves to an original that holds it
	In       string // id of the first item that shows it, if it survived
}

// FactCount counts the facts of a kind.
type FactCount struct {
	Kind              digest.FactKind
	Survived, Dropped int
}

// Receipt tells what a pack lost against another: the things, and the facts in
// what the other showed of them, each of which survived or did not.
type Receipt struct {
	From, To PackReply // the other pack and the pack, built again
	Against  string    // checksum of the other pack, as it was
	Losses   []Loss    // in the order of the other pack
	Counts   []FactCount
	Facts    []FactFate // by kind, as in digest.FactKinds, then in order of appearance; a page of them
	Cursor   string     // of the next page; "" at the end
}

// Receipt tells what a pack of the audit log lost. A checksum that is not in the
// log gives ErrNotFound, a pack without one before it an *InvalidError.
func (s *Session) Receipt(ctx context.Context, req ReceiptRequest) (Receipt, error) {
	from, limit := 0, req.Limit
	switch {
	case limit < 0 || limit > maxReceiptFacts:
		return Receipt{}, &InvalidError{Path: "limit", Message: "out of range", Limit: maxReceiptFacts}
	case limit == 0:
		limit = maxReceiptFacts
	}
	if req.Cursor != "" {
		var err error
		if from, err = strconv.Atoi(req.Cursor); err != nil || from <= 0 {
			return Receipt{}, invalid("cursor", "is not a cursor of this method")
		}
	}
	r, err := s.lossesBetween(ctx, req.Checksum, req.Against)
	if err != nil {
		return r, err
	}
	facts, err := s.fates(&r)
	if err != nil {
		return r, err
	}
	for _, kind := range digest.FactKinds() {
		count := FactCount{Kind: kind}
		for _, fact := range facts {
			switch {
			case fact.Kind != kind:
			case fact.Survived:
				count.Survived++
			default:
				count.Dropped++
			}
		}
		r.Counts = append(r.Counts, count)
	}
	end := min(len(facts), from+limit)
	r.Facts = facts[min(from, end):end]
	if end < len(facts) {
		r.Cursor = strconv.Itoa(end)
	}
	return r, nil
}

// lossesBetween builds both packs again and lists what was lost, without facts.
func (s *Session) lossesBetween(ctx context.Context, checksum, against string) (Receipt, error) {
	var r Receipt
	if against == "" {
		record, err := s.Workspace.audited(checksum)
		if err != nil {
			return r, err
		}
		if against = record.Previous; against == "" {
			return r, invalid("checksum", "is of a pack with none before it")
		}
	}
	r.Against = against
	var err error
	if r.To, err = s.Replay(ctx, checksum); err != nil {
		return r, err
	}
	if r.From, err = s.Replay(ctx, against); err != nil {
		return r, fmt.Errorf("the pack before: %w", err)
	}
	lost := lossesOf(r.From.Pack, r.To.Pack)
	err = s.Workspace.view(0, func(v storage.View) error {
		for i := range lost {
			c := &lost[i]
			loss := Loss{ID: c.ID, Section: c.item.section, From: c.From, To: c.To, Reason: lossReason(r.To.Pack, c), item: c.item}
			if loss.Handle, err = handleOf(v, loss.item); err != nil {
				return err
			}
			if loss.Handle == "" {
				loss.Handle = against
			}
			r.Losses = append(r.Losses, loss)
		}
		return nil
	})
	return r, err
}

// handleOf returns the id of what an item of a pack shows, "" where it is no
// conversation, turn or output that was recorded.
func handleOf(v storage.View, item packItem) (string, error) {
	id := item.id
	if record, number, ok := servedItemOf(id); ok {
		body, _, _, err := latest[servedRecord](v, kindServed, record)
		if err != nil || number > len(body.Items) {
			return "", err
		}
		id = body.Items[number-1].ID
	}
	conversation, turn, hasTurn := strings.Cut(id, "#")
	if strings.Contains(conversation, ":") || item.section == layers.SectionSystem || item.section == layers.SectionPins {
		return "", nil
	}
	if _, ok, err := v.Latest(kindConversation, conversation); err != nil || !ok {
		return "", err
	}
	if hasTurn {
		number, _, _ := strings.Cut(turn, "/")
		if _, ok, err := v.Latest(kindTurn, conversation+"#"+number); err != nil || !ok {
			return "", err
		}
	}
	return id, nil
}

// servedItemOf takes "served:r4:1" apart.
func servedItemOf(id string) (record string, number int, ok bool) {
	at := strings.LastIndexByte(id, ':')
	if at < 0 || !strings.HasPrefix(id, "served:") {
		return "", 0, false
	}
	number, err := strconv.Atoi(id[at+1:])
	return id[:at], number, err == nil && number > 0
}

// fates extracts the facts of what was lost and looks for each in the pack and
// in its original.
func (s *Session) fates(r *Receipt) ([]FactFate, error) {
	place := map[digest.Fact]int{}
	var facts []FactFate
	err := s.Workspace.view(0, func(v storage.View) error {
		for i := range r.Losses {
			loss := &r.Losses[i]
			var mine []digest.Fact
			for _, fact := range digest.FactsOf(loss.From.Text, loss.item.said) {
				k, known := place[fact]
				if !known {
					k, place[fact] = len(facts), len(facts)
					facts = append(facts, FactFate{Fact: fact, Handle: r.Against})
				}
				if facts[k].Handle == r.Against {
					mine = append(mine, fact)
				}
			}
			if len(mine) == 0 || loss.Handle == r.Against {
				continue
			}
			original, err := s.original(v, loss.Handle)
			if err != nil {
				return err
			}
			for k, at := range digest.Sightings(original, textsOf(mine)) {
				if at >= 0 {
					facts[place[mine[k]]].Handle = loss.Handle
				}
			}
		}
		return s.mentioned(v, r.Against, facts)
	})
	if err != nil {
		return nil, err
	}
	missing := make([]digest.Fact, len(facts))
	for i := range facts {
		missing[i] = facts[i].Fact
	}
	for _, item := range itemsOf(r.To.Pack) {
		left := missing[:0]
		for k, at := range digest.Sightings(item.form.Text, textsOf(missing)) {
			if at < 0 {
				left = append(left, missing[k])
				continue
			}
			fact := &facts[place[missing[k]]]
			fact.Survived, fact.In = true, item.id
		}
		missing = left
	}
	out := make([]FactFate, 0, len(facts))
	for _, kind := range digest.FactKinds() {
		for _, fact := range facts {
			if fact.Kind == kind {
				out = append(out, fact)
			}
		}
	}
	return out, nil
}

// mentioned gives names that only the pack before has, as a roster lists them,
// the turn that mentions them last, if it holds them.
func (s *Session) mentioned(v storage.View, against string, facts []FactFate) error {
	var handles []string // in order of appearance
	by := map[string][]int{}
	for k := range facts {
		kind := ""
		switch fact := &facts[k]; {
		case fact.Handle != against:
			continue
		case fact.Kind == digest.FactPath:
			kind = "file"
		case fact.Kind == digest.FactIdentifier:
			kind = "function"
		default:
			continue
		}
		refs, err := references(v, kind, facts[k].Text, false, 1)
		if err != nil {
			return err
		}
		if len(refs) == 0 || len(refs[0].Mentions) == 0 || refs[0].Mentions[0].Turn == 0 {
			continue
		}
		handle := turnID(refs[0].Mentions[0].Conversation, refs[0].Mentions[0].Turn)
		if by[handle] == nil {
			handles = append(handles, handle)
		}
		by[handle] = append(by[handle], k)
	}
	for _, handle := range handles {
		original, err := s.original(v, handle)
		if err != nil {
			return err
		}
		texts := make([]string, len(by[handle]))
		for i, k := range by[handle] {
			texts[i] = facts[k].Text
		}
		for i, at := range digest.Sightings(original, texts) {
			if at >= 0 {
				facts[by[handle][i]].Handle = handle
			}
		}
	}
	return nil
}

func textsOf(facts []digest.Fact) []string {
	texts := make([]string, len(facts))
	for i := range facts {
		texts[i] = facts[i].Text
	}
	return texts
}

// original is the text that a handle resolves to: a turn or an output as
// context/request gives it whole, a conversation as conversation/get gives it
// with header and summary. What cannot be read is empty.
func (s *Session) original(v storage.View, handle string) (string, error) {
	ws := s.Workspace
	counter := ws.counter(s.Model())
	text := ""
	details := []layers.Detail{layers.DetailFull}
	if !strings.Contains(handle, "#") {
		details = append(details, layers.DetailHeader, layers.DetailSummary)
	}
	for _, detail := range details {
		out, err := ws.show(v, handle, detail, question{}, 0, counter)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		text += out.text
	}
	return text, nil
}
