package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"hexapla/layers"
	"hexapla/retrieval"
	"hexapla/storage"
)

// serving is one answer to context requests in the making.
type serving struct {
	session      *Session
	view         storage.View
	counter      layers.Counter
	inPack       packShown
	hot          map[string]string // items of the pack before that show something in full, by what that is
	served       map[string]given  // since the newest conversation opened
	left, most   int               // tokens
	fulls        int
	newTurns     int                  // recorded in the same write
	seen         map[string]shownHere // what this answer has, by what the id names
	ids          int                  // that were looked at
	asked        askedCounts
	learned      lessons
	reply        ContextReply
	record       []servedItem
	waiting      []Deferral
	queueChanged bool
}

// answer serves what waits, oldest first, and then requests in the order in
// which they were made. turns is how many are recorded in the same write.
func (s *Session) answer(ctx context.Context, tx *storage.Tx, req ContextRequest, turns int) (ContextReply, error) {
	a, err := s.serve(tx.View(), req.MaxTokens, turns)
	if err != nil {
		return ContextReply{}, err
	}
	if err := a.serveQueue(); err != nil {
		return a.reply, err
	}
	for i, retrieve := range req.Retrieve {
		if err := a.retrieve(ctx, tx, i, retrieve, req); err != nil {
			return a.reply, err
		}
	}
	for i, topic := range req.Topics {
		if err := a.topic(ctx, i, topic); err != nil {
			return a.reply, err
		}
	}
	for i, id := range req.Archive {
		if err := a.archive(tx, i, id); err != nil {
			return a.reply, err
		}
	}
	if a.queueChanged {
		tx.Put(storage.Draft{Kind: kindQueue, ID: s.ID, Body: encode(queueRecord{Waiting: a.waiting})})
	}
	if a.asked.total() > 0 || len(a.record) > 0 {
		body := servedRecord{Items: a.record, Asked: &a.asked}
		lists := []string{listRequests}
		if len(a.record) > 0 { // packs look at those that gave something
			lists = append(lists, listOfServed(s.ID))
		}
		tx.Put(storage.Draft{Kind: kindServed, ID: "served:" + tx.NextID("r"), Parent: s.ID, Body: encode(body), Lists: lists})
	}
	return a.reply, a.learned.put(tx)
}

func (s *Session) serve(v storage.View, tokens, turns int) (*serving, error) {
	a := &serving{
		session: s, view: v, counter: s.Workspace.counter(s.Model()), left: tokens, most: tokens, newTurns: turns, seen: map[string]shownHere{},
		reply: ContextReply{
			Items: []ContextItem{}, Deferred: []Deferred{}, Topics: []TopicSummary{}, Archived: []string{},
			ServedDeferred: []ContextItem{}, Expired: []Deferral{},
		},
	}
	var err error
	if a.inPack, a.served, err = s.givenBefore(v); err != nil {
		return nil, err
	}
	if turns == 0 {
		if a.fulls, err = s.fullsServed(v); err != nil {
			return nil, err
		}
	}
	if a.hot, err = s.hot(v, a.inPack); err != nil {
		return nil, err
	}
	a.waiting, err = waiting(v, s.ID, turns)
	return a, err
}

// serveQueue serves what waits and lets go of what has waited for too long.
func (a *serving) serveQueue() error {
	var rest []Deferral
	for _, d := range a.waiting {
		if d.Left < 0 {
			a.reply.Expired = append(a.reply.Expired, d)
			a.queueChanged = true
			continue
		}
		item, reason, err := a.one(want{id: d.Asked, detail: d.Detail, about: question{text: d.Query}, waited: true})
		if err != nil {
			return err
		}
		if reason == DeferredQuota || reason == DeferredBudget {
			rest = append(rest, d)
			continue
		}
		a.queueChanged = true
		if reason != "" { // it is there no more
			a.reply.Deferred = append(a.reply.Deferred, Deferred{ID: d.Asked, Detail: d.Detail, Reason: reason, Deferral: d.ID})
			continue
		}
		item.Deferral = d.ID
		a.reply.ServedDeferred = append(a.reply.ServedDeferred, item)
	}
	a.waiting = rest
	return nil
}

// retrieve serves one request.
func (a *serving) retrieve(ctx context.Context, tx *storage.Tx, i int, r Retrieve, req ContextRequest) error {
	if i >= maxRetrieves {
		a.put(Deferred{ID: either(strings.Join(r.IDs, " "), r.Query), Detail: r.Format, Reason: DeferredLimit})
		return nil
	}
	path := fmt.Sprintf("requests.retrieveConversations[%d]", i)
	ids, found, err := a.session.resolve(ctx, a.view, path, r)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		a.asked.NotFound++
	}
	w := want{detail: r.Format, about: question{text: r.Query}}
	if w.detail == "" {
		w.detail = layers.DetailMixed
	}
	if r.Cursor != "" {
		if w.about.from, w.asOf, err = parsePage(r.Cursor, 0); err != nil || w.asOf > a.view.Seq() || len(ids) != 1 {
			return invalid(path+".cursor", "is not a cursor of this conversation and query")
		}
	}
	given := map[string]bool{}
	for _, id := range ids {
		if given[id] {
			continue
		}
		given[id] = true
		if a.ids++; a.ids > maxRequestedIDs {
			a.put(Deferred{ID: id, Detail: w.detail, Reason: DeferredLimit})
			continue
		}
		w.id, w.found = id, found[id]
		item, reason, err := a.one(w)
		if err != nil {
			return err
		}
		if reason == "" {
			a.asked.Served++
			if found[id] != nil {
				a.learned.add(lessonServed, id)
			}
			a.reply.Items = append(a.reply.Items, item)
			continue
		}
		d := Deferred{ID: id, Detail: w.detail, Reason: reason}
		if reason == DeferredQuota || reason == DeferredBudget {
			d.Deferral = a.wait(tx, w, reason, req)
		}
		a.put(d)
	}
	return nil
}

func (a *serving) put(d Deferred) {
	a.reply.Deferred = append(a.reply.Deferred, d)
	if d.Reason == DeferredNotFound {
		a.asked.NotFound++
	} else {
		a.asked.Deferred++
	}
}

// wait puts a request into the queue and returns its id there; "" if the queue
// is full or the request is to be answered at once or not at all.
func (a *serving) wait(tx *storage.Tx, w want, reason string, req ContextRequest) string {
	if w.about.from > 0 || req.DeferTurns < 0 {
		return ""
	}
	for _, d := range a.waiting {
		if d.Asked == w.id && d.Query == w.about.text && rankOf(d.Detail) >= rankOf(w.detail) {
			return d.ID
		}
	}
	if len(a.waiting) >= maxWaiting {
		return ""
	}
	d := Deferral{
		ID: tx.NextID("d"), Asked: w.id, Detail: w.detail, Query: w.about.text, Reason: reason, Sequence: a.view.Seq(),
		Turns: req.DeferTurns, MaxTokens: req.MaxTokens,
	}
	if d.Turns == 0 {
		d.Turns = defaultDeferral
	}
	d.Turns += a.newTurns // they come behind the view, and before the request
	a.waiting = append(a.waiting, d)
	a.queueChanged = true
	return d.ID
}

// shownHere is something that an answer has.
type shownHere struct {
	rank   int // of the detail
	detail layers.Detail
	id     string // under which it stands
}

// want is one thing that is to be shown.
type want struct {
	id     string
	detail layers.Detail
	about  question
	asOf   int64          // 0 means now
	found  *retrieval.Hit // why it was found for a query; nil where it was named
	waited bool           // it was asked for before, which taught its lesson then
}

// one serves one id; reason is why it was not.
func (a *serving) one(w want) (item ContextItem, reason string, err error) {
	v := a.view
	if w.asOf != 0 {
		if v, err = v.At(w.asOf); err != nil {
			return item, "", err
		}
	}
	at, _, err := lookUp(v, w.id)
	if errors.Is(err, ErrNotFound) {
		return item, DeferredNotFound, nil
	}
	if err != nil {
		return item, "", err
	}
	name := at.String()
	mine := name // what is asked for by the same words again
	if w.detail == layers.DetailMixed {
		mine += "\x00" + w.about.text
	}
	here := func(key string, rank int) (ContextItem, bool) {
		known := a.seen[key]
		return ContextItem{ID: w.id, Detail: known.detail, InContext: known.id}, known.rank >= rank && w.about.from == 0
	}
	if item, ok := here(mine, rankOf(w.detail)); ok {
		return item, "", nil
	}
	if a.left <= 0 {
		return item, DeferredBudget, nil
	}
	wanted := w.detail
	limited := a.fulls >= layers.MaxFullsPerTurn
	if limited && w.about.text == "" && wanted == layers.DetailMixed {
		wanted = layers.DetailSummary
	}
	out, err := a.session.Workspace.show(v, w.id, wanted, w.about, a.left, a.counter)
	if errors.Is(err, ErrNotFound) {
		return item, DeferredNotFound, nil
	}
	if errors.Is(err, ErrStateChanged) {
		return item, "", invalid("cursor", "is not a cursor of this conversation and query")
	}
	if err != nil {
		return item, "", err
	}
	item.Found = w.found
	stands, again := reAsked(a.inPack.given[w.id], a.served[w.id], w.detail, out)
	if again = again && w.about.from == 0; again {
		a.asked.ReAsked++
		item.Stands = &stands.place
	}
	switch {
	case w.waited, w.found != nil: // the second is our choice, not the model's
	case again:
		a.learned.add(lessonReAsked, w.id)
	default:
		a.learned.add(lessonAsked, w.id)
	}
	if out.detail != layers.DetailMixed {
		if item, ok := here(name, rankOf(out.detail)); ok {
			return item, "", nil
		}
	}
	item.ID, item.Detail, item.Covered = w.id, out.detail, out.covered
	if out.detail == layers.DetailFull {
		if item.InContext = a.inContext(name, out.tokens); item.InContext != "" {
			a.note(mine, name, w.detail, out.detail, item.InContext)
			return item, "", nil
		}
		if limited {
			return ContextItem{}, DeferredQuota, nil
		}
	}
	if !out.whole && out.next == 0 && a.left < a.most {
		// It is worth more whole, with the room of another turn.
		return ContextItem{}, DeferredBudget, nil
	}
	if out.detail == layers.DetailFull {
		a.fulls++
	}
	a.note(mine, name, w.detail, out.detail, w.id)
	a.left -= out.tokens
	item.Text, item.Tokens = out.text, out.tokens
	kept := servedItem{ID: w.id, Detail: out.detail, Tokens: out.tokens}
	if out.detail == layers.DetailMixed && w.about.text != "" {
		kept.Query, kept.From, kept.AsOf = w.about.text, w.about.from, w.asOf
		if out.next > 0 {
			item.Cursor = fmt.Sprintf("%d@%d", out.next, cmp.Or(w.asOf, v.Seq()))
		}
	}
	a.record = append(a.record, kept)
	return item, "", nil
}

// note keeps what this answer has: what was asked for, and what it was given as.
func (a *serving) note(asked, name string, wanted, detail layers.Detail, id string) {
	if rank := rankOf(wanted); asked != name && rank > a.seen[asked].rank {
		a.seen[asked] = shownHere{rank, detail, id}
	}
	if rank := rankOf(detail); detail != layers.DetailMixed && rank > a.seen[name].rank {
		a.seen[name] = shownHere{rank, detail, id}
	}
}

func (a *serving) topic(ctx context.Context, i int, topic string) error {
	if i >= maxTopics {
		a.put(Deferred{ID: topic, Detail: layers.DetailSummary, Reason: DeferredLimit})
		return nil
	}
	summary, err := a.session.Workspace.topic(ctx, a.view, topic)
	if err != nil {
		return err
	}
	if len(summary.Conversations) > 0 {
		a.asked.Served++
	} else {
		a.asked.NotFound++
	}
	a.reply.Topics = append(a.reply.Topics, summary)
	return nil
}

// archive lets a conversation of the session go.
func (a *serving) archive(tx *storage.Tx, i int, id string) error {
	refuse := func(reason string) {
		a.reply.Deferred = append(a.reply.Deferred, Deferred{ID: id, Detail: layers.DetailHeader, Reason: reason})
	}
	if i >= maxRequestedIDs {
		refuse(DeferredLimit)
		return nil
	}
	at, _, err := lookUp(a.view, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	var record conversationRecord
	ok := err == nil && at.turn == "" && at.version == 0
	if ok {
		if record, _, ok, err = latest[conversationRecord](a.view, kindConversation, at.conversation); err != nil {
			return err
		}
	}
	if !ok || record.Session != a.session.ID {
		refuse(DeferredNotFound)
		return nil
	}
	tx.Put(storage.Draft{Kind: kindArchive, ID: at.conversation, Parent: at.conversation, Body: []byte("{}")})
	a.reply.Archived = append(a.reply.Archived, id)
	return nil
}
