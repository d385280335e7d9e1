package session

import (
	"context"

	"hexapla/layers"
	"hexapla/retrieval"
	"hexapla/storage"
)

// Retrieve asks for conversations.
type Retrieve = layers.Retrieve

// ContextRequest is what a model asks for.
type ContextRequest struct {
	Retrieve  []Retrieve `json:"retrieve"`
	Topics    []string   `json:"topics"`
	Archive   []string   `json:"archive"`
	MaxTokens int        `json:"maxTokens"`
	// DeferTurns is after how many turns of the session what was deferred is let
	// go; defaultDeferral when 0, and negative for not to defer anything.
	DeferTurns int    `json:"deferTurns,omitempty"`
	Key        string `json:"-"`
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
	// Covered is the share of the query's words that the text holds, in [0,1],
	// where DetailMixed was to answer one.
	Covered float64
	// Cursor is where the passages go on; "" at the end.
	Cursor string
	// InContext is the item of the pack before that shows the whole already, in
	// place of the text.
	InContext string
	// Deferral is the id of the request that waited for this.
	Deferral string
	Found    *retrieval.Hit // why it was found for a query; nil where it was named
	Stands   *Standing      // where it was given already; nil where it was not
}

// Deferred is a request that was not served.
type Deferred struct {
	ID     string
	Detail layers.Detail
	Reason string
	// Deferral is the id under which it waits; "" if it does not.
	Deferral string
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
	// ServedDeferred is what was asked for before and waited for room.
	ServedDeferred []ContextItem
	// Expired is what waited for too long.
	Expired  []Deferral
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
	if req.DeferTurns < -1 || req.DeferTurns > maxDeferral {
		return ContextReply{}, &InvalidError{Path: "deferTurns", Message: "out of range", Limit: maxDeferral}
	}
	reply, receipt, err := write(ctx, s.Workspace, "context/request", s.ID, req.Key, req, func(tx *storage.Tx) (ContextReply, error) {
		return s.answer(ctx, tx, req, 0)
	})
	if err != nil {
		return ContextReply{}, err
	}
	reply.Sequence = receipt.Seq
	s.prefetchAfter(reply.Items)
	return reply, nil
}

// fullsServed counts the full conversations served since the session's last
// turn.
func (s *Session) fullsServed(v storage.View) (int, error) {
	var lastTurn int64
	l, err := lineOf(v, s.ID)
	if err != nil {
		return 0, err
	}
	newest, err := l.newest(1)
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
	for _, entry := range l.without(entries) {
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
