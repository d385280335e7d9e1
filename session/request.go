package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/retrieval"
	"hexapla/storage"
)

// Retrieve asks for conversations.
type Retrieve struct {
	IDs      []string      `json:"ids"`
	Format   layers.Detail `json:"format"`
	Priority string        `json:"priority"` // PrioritySpecific, PriorityRecent or PriorityRelevant
	Query    string        `json:"query"`
	Limit    int           `json:"limit"`
}

// Priorities of a retrieve request (H6).
const (
	PrioritySpecific = "specific"
	PriorityRecent   = "recent"
	PriorityRelevant = "relevant"
)

// ContextRequest is what a model asks for.
type ContextRequest struct {
	Retrieve  []Retrieve `json:"retrieve"`
	Topics    []string   `json:"topics"`
	Archive   []string   `json:"archive"`
	MaxTokens int        `json:"maxTokens"`
	Key       string     `json:"-"`
}

// Empty tells that nothing is asked for.
func (r *ContextRequest) Empty() bool {
	return len(r.Retrieve) == 0 && len(r.Topics) == 0 && len(r.Archive) == 0
}

// ContextItem is a conversation or turn that was served.
type ContextItem struct {
	ID     string
	Detail layers.Detail
	Text   string
	Tokens int
	Found  *retrieval.Hit // why it was found for a query; nil where it was named
	Stands *Place         // where it was given already; nil where it was not
}

// Deferred is a request that was not served.
type Deferred struct {
	ID     string
	Detail layers.Detail
	Reason string
}

// Reasons for not serving a request now.
const (
	DeferredQuota    = "quota"     // three fulls a turn were served (H13)
	DeferredBudget   = "budget"    // no tokens left
	DeferredNotFound = "not_found" // no such conversation or turn
	DeferredLimit    = "limit"     // too many requests at once
)

// TopicSummary sums up what is known of a topic.
type TopicSummary struct {
	Topic         string
	Summary       string
	Conversations []string
}

// ContextReply answers a context request.
type ContextReply struct {
	Items    []ContextItem
	Deferred []Deferred
	Topics   []TopicSummary
	Archived []string
	Sequence int64 `json:"-"`
}

const (
	defaultRequestTokens = 4000
	maxRetrieves         = 50
	maxRequestedIDs      = 200
	maxTopics            = 20
)

// RequestContext answers context requests and records what was served, so that
// it is part of the next pack.
func (s *Session) RequestContext(ctx context.Context, req ContextRequest) (ContextReply, error) {
	if req.MaxTokens < 0 {
		return ContextReply{}, invalid("maxTokens", "must not be negative")
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = defaultRequestTokens
	}
	reply, receipt, err := write(ctx, s.Workspace, "context/request", s.ID, req.Key, req, func(tx *storage.Tx) (ContextReply, error) {
		return s.answer(ctx, tx, req)
	})
	if err != nil {
		return ContextReply{}, err
	}
	reply.Sequence = receipt.Seq
	return reply, nil
}

// answer serves requests in the order in which they were made.
func (s *Session) answer(ctx context.Context, tx *storage.Tx, req ContextRequest) (ContextReply, error) {
	v, ws := tx.View(), s.Workspace
	reply := ContextReply{Items: []ContextItem{}, Deferred: []Deferred{}, Topics: []TopicSummary{}, Archived: []string{}}
	fulls, err := s.fullsServed(v)
	if err != nil {
		return reply, err
	}
	inPack, served, err := s.givenBefore(v)
	if err != nil {
		return reply, err
	}
	asked, learned := &askedCounts{}, lessons{}
	counter := ws.counter(s.Model())
	left := req.MaxTokens
	seen := map[string]bool{}
	for i, retrieve := range req.Retrieve {
		if i >= maxRetrieves {
			reply.Deferred = append(reply.Deferred, Deferred{ID: either(strings.Join(retrieve.IDs, " "), retrieve.Query), Detail: retrieve.Format, Reason: DeferredLimit})
			asked.Deferred++
			continue
		}
		ids, found, err := s.resolve(ctx, v, fmt.Sprintf("requests.retrieveConversations[%d]", i), retrieve)
		if err != nil {
			return reply, err
		}
		if len(ids) == 0 {
			asked.NotFound++
		}
		detail := retrieve.Format
		if detail == "" {
			detail = layers.DetailMixed
		}
		for _, id := range ids {
			if seen[id] {
				continue
			}
			seen[id] = true
			put := func(reason string) {
				reply.Deferred = append(reply.Deferred, Deferred{ID: id, Detail: detail, Reason: reason})
				if reason == DeferredNotFound {
					asked.NotFound++
				} else {
					asked.Deferred++
				}
			}
			if len(seen) > maxRequestedIDs {
				put(DeferredLimit)
				continue
			}
			wanted := detail
			if fulls >= layers.MaxFullsPerTurn && (detail == layers.DetailFull || detail == layers.DetailMixed) {
				wanted = layers.DetailSummary
			}
			out, err := ws.show(v, id, wanted, max(left, 1), counter)
			if errors.Is(err, ErrNotFound) {
				put(DeferredNotFound)
				continue
			}
			if err != nil {
				return reply, err
			}
			stands, again := reAsked(inPack[id], served[id], detail, out)
			if again {
				asked.ReAsked++
			}
			switch {
			case found[id] != nil: // it is our choice, not the model's
			case again:
				learned.add(lessonReAsked, id)
			default:
				learned.add(lessonAsked, id)
			}
			if left <= 0 {
				put(DeferredBudget)
				continue
			}
			if detail == layers.DetailFull && wanted != detail {
				put(DeferredQuota)
				continue
			}
			if out.detail == layers.DetailFull {
				fulls++
			}
			left -= out.tokens
			asked.Served++
			if found[id] != nil {
				learned.add(lessonServed, id)
			}
			item := ContextItem{ID: id, Detail: out.detail, Text: out.text, Tokens: out.tokens, Found: found[id]}
			if again {
				item.Stands = &stands.place
			}
			reply.Items = append(reply.Items, item)
		}
	}
	for i, topic := range req.Topics {
		if i >= maxTopics {
			reply.Deferred = append(reply.Deferred, Deferred{ID: topic, Detail: layers.DetailSummary, Reason: DeferredLimit})
			asked.Deferred++
			continue
		}
		summary, err := ws.topic(ctx, v, topic)
		if err != nil {
			return reply, err
		}
		if len(summary.Conversations) > 0 {
			asked.Served++
		} else {
			asked.NotFound++
		}
		reply.Topics = append(reply.Topics, summary)
	}
	for i, id := range req.Archive {
		if i >= maxRequestedIDs {
			reply.Deferred = append(reply.Deferred, Deferred{ID: id, Detail: layers.DetailHeader, Reason: DeferredLimit})
			continue
		}
		record, _, ok, err := latest[conversationRecord](v, kindConversation, id)
		if err != nil {
			return reply, err
		}
		if !ok || record.Session != s.ID {
			reply.Deferred = append(reply.Deferred, Deferred{ID: id, Detail: layers.DetailHeader, Reason: DeferredNotFound})
			continue
		}
		tx.Put(storage.Draft{Kind: kindArchive, ID: id, Parent: id, Body: encode(archiveRecord{})})
		reply.Archived = append(reply.Archived, id)
	}
	if asked.total() > 0 {
		body := servedRecord{Asked: asked}
		lists := []string{listRequests}
		for _, item := range reply.Items {
			body.Items = append(body.Items, servedItem{ID: item.ID, Detail: item.Detail, Tokens: item.Tokens})
		}
		if len(reply.Items) > 0 { // packs look at those that gave something
			lists = append(lists, listOfServed(s.ID))
		}
		tx.Put(storage.Draft{Kind: kindServed, ID: "served:" + tx.NextID("r"), Parent: s.ID, Body: encode(body), Lists: lists})
	}
	return reply, learned.put(tx)
}

// fullsServed counts the full conversations served since the session's last
// turn.
func (s *Session) fullsServed(v storage.View) (int, error) {
	var lastTurn int64
	opened := v.ListLen(listOfSession(s.ID))
	newest, err := v.List(listOfSession(s.ID), max(0, opened-1), opened)
	if err != nil {
		return 0, err
	}
	for _, conversation := range newest {
		n := v.ListLen(listOfTurns(conversation.ID))
		turns, err := v.List(listOfTurns(conversation.ID), max(0, n-1), n)
		if err != nil {
			return 0, err
		}
		for _, turn := range turns {
			lastTurn = turn.Seq
		}
	}
	list := listOfServed(s.ID)
	n := v.ListLen(list)
	entries, err := v.List(list, max(0, n-maxServed), n)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, entry := range entries {
		if entry.Seq <= lastTurn {
			continue
		}
		body, _, _, err := latest[servedRecord](v, kindServed, entry.ID)
		if err != nil {
			return 0, err
		}
		for _, item := range body.Items {
			if item.Detail == layers.DetailFull {
				count++
			}
		}
	}
	return count, nil
}

const (
	defaultRetrieve = 3
	maxRetrieve     = 50
)

// resolve turns a retrieve request into ids, and tells of those that it found for
// a query why.
func (s *Session) resolve(ctx context.Context, v storage.View, path string, r Retrieve) (ids []string, found map[string]*retrieval.Hit, err error) {
	switch r.Format {
	case "", layers.DetailHeader, layers.DetailSummary, layers.DetailFull, layers.DetailMixed:
	default:
		return nil, nil, invalid(path+".format", `must be "header", "summary", "full" or "mixed"`)
	}
	limit := r.Limit
	if limit == 0 {
		limit = defaultRetrieve
	}
	if limit < 0 || limit > maxRetrieve {
		return nil, nil, &InvalidError{Path: path + ".limit", Message: "out of range", Limit: maxRetrieve}
	}
	priority := r.Priority
	if priority == "" {
		priority = PrioritySpecific
		if len(r.IDs) == 0 {
			priority = PriorityRelevant
		}
	}
	switch priority {
	case PrioritySpecific:
		return r.IDs, nil, nil
	case PriorityRecent:
		n := v.ListLen(listConversations)
		entries, err := v.List(listConversations, max(0, n-limit), n)
		if err != nil {
			return nil, nil, err
		}
		ids = append([]string(nil), r.IDs...)
		for i := len(entries) - 1; i >= 0; i-- {
			ids = append(ids, entries[i].ID)
		}
		return ids, nil, nil
	case PriorityRelevant:
		query := r.Query
		if query == "" {
			if query, err = s.lastQuery(v); err != nil {
				return nil, nil, err
			}
		}
		hits, err := s.Workspace.find(ctx, v, query, limit)
		ids, found = append(ids, r.IDs...), map[string]*retrieval.Hit{}
		for i := range hits {
			id := hits[i].Conversation
			ids = append(ids, id)
			if !slices.Contains(r.IDs, id) {
				found[id] = &hits[i]
			}
		}
		return ids, found, err
	}
	return nil, nil, invalid(path+".priority", `must be "specific", "recent" or "relevant"`)
}

// lastQuery returns the newest user query of the session.
func (s *Session) lastQuery(v storage.View) (string, error) {
	list := listOfSession(s.ID)
	n := v.ListLen(list)
	entries, err := v.List(list, max(0, n-1), n)
	if err != nil || len(entries) == 0 {
		return "", err
	}
	body, _, _, err := latest[turnRecord](v, kindTurn, turnID(entries[0].ID, 1))
	return body.Text, err
}

// find returns the conversations that a text is about, best first.
func (ws *Workspace) find(ctx context.Context, v storage.View, text string, limit int) ([]retrieval.Hit, error) {
	text = strings.ToValidUTF8(text[:min(len(text), maxRelatedQuery)], "")
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	found, err := ws.search(ctx, v, retrieval.Query{Text: text, Entities: digest.EntitiesOf(text), Limit: limit, Clip: true})
	return found.Hits, err
}
