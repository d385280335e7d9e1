package session

import (
	"context"
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/retrieval"
	"hexapla/storage"
)

const (
	defaultRetrieve = 3
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
	if limit < 0 || limit > layers.MaxRetrieve {
		return nil, nil, &InvalidError{Path: path + ".limit", Message: "out of range", Limit: layers.MaxRetrieve}
	}
	priority := r.Priority
	if priority == "" {
		priority = layers.PrioritySpecific
		if len(r.IDs) == 0 {
			priority = layers.PriorityRelevant
		}
	}
	switch priority {
	case layers.PrioritySpecific:
		return r.IDs, nil, nil
	case layers.PriorityRecent:
		gone, err := cutOff(v)
		if err != nil {
			return nil, nil, err
		}
		n := v.ListLen(listConversations)
		entries, err := v.List(listConversations, max(0, n-limit-len(gone)), n)
		if err != nil {
			return nil, nil, err
		}
		ids = append([]string(nil), r.IDs...)
		for i := len(entries) - 1; i >= 0 && len(ids) < len(r.IDs)+limit; i-- {
			if gone[entries[i].ID] == 0 {
				ids = append(ids, entries[i].ID)
			}
		}
		return ids, nil, nil
	case layers.PriorityRelevant:
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
	l, err := lineOf(v, s.ID)
	if err != nil {
		return "", err
	}
	entries, err := l.newest(1)
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
