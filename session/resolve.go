package session

import (
	"context"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/retrieval"
	"hexapla/storage"
)

const (
	defaultRetrieve = 3
)

// resolve turns a retrieve request into ids.
func (s *Session) resolve(ctx context.Context, v storage.View, path string, r Retrieve) ([]string, error) {
	switch r.Format {
	case "", layers.DetailHeader, layers.DetailSummary, layers.DetailFull, layers.DetailMixed:
	default:
		return nil, invalid(path+".format", `must be "header", "summary", "full" or "mixed"`)
	}
	limit := r.Limit
	if limit == 0 {
		limit = defaultRetrieve
	}
	if limit < 0 || limit > layers.MaxRetrieve {
		return nil, &InvalidError{Path: path + ".limit", Message: "out of range", Limit: layers.MaxRetrieve}
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
		return r.IDs, nil
	case layers.PriorityRecent:
		gone, err := cutOff(v)
		if err != nil {
			return nil, err
		}
		n := v.ListLen(listConversations)
		entries, err := v.List(listConversations, max(0, n-limit-len(gone)), n)
		if err != nil {
			return nil, err
		}
		ids := append([]string(nil), r.IDs...)
		for i := len(entries) - 1; i >= 0 && len(ids) < len(r.IDs)+limit; i-- {
			if gone[entries[i].ID] == 0 {
				ids = append(ids, entries[i].ID)
			}
		}
		return ids, nil
	case layers.PriorityRelevant:
		query := r.Query
		if query == "" {
			var err error
			if query, err = s.lastQuery(v); err != nil {
				return nil, err
			}
		}
		hits, err := s.Workspace.find(ctx, v, query, limit)
		return append(append([]string(nil), r.IDs...), hits...), err
	}
	return nil, invalid(path+".priority", `must be "specific", "recent" or "relevant"`)
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

// find returns the ids of the conversations that a text is about, best first.
func (ws *Workspace) find(ctx context.Context, v storage.View, text string, limit int) ([]string, error) {
	text = strings.ToValidUTF8(text[:min(len(text), maxRelatedQuery)], "")
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	found, err := ws.search(ctx, v, retrieval.Query{Text: text, Entities: digest.EntitiesOf(text), Limit: limit, Clip: true})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, hit := range found.Hits {
		ids = append(ids, hit.Conversation)
	}
	return ids, nil
}

// search looks for what is not superseded.
func (ws *Workspace) search(ctx context.Context, v storage.View, q retrieval.Query) (retrieval.Result, error) {
	gone, err := cutOff(v)
	if err != nil {
		return retrieval.Result{}, err
	}
	if len(gone) > 0 {
		q.Exclude = func(id string) bool { return gone[id] != 0 }
	}
	return ws.engine.Search(ctx, v, q)
}

// topic sums up what the conversations that speak of a topic say.
func (ws *Workspace) topic(ctx context.Context, v storage.View, topic string) (TopicSummary, error) {
	ids, err := ws.find(ctx, v, topic, defaultRetrieve)
	if err != nil {
		return TopicSummary{}, err
	}
	out := TopicSummary{Topic: topic, Conversations: ids}
	var parts []string
	for _, id := range ids {
		trio, _, ok, err := latest[trioRecord](v, kindTrio, id)
		if err == nil && !ok {
			trio, err = ws.ruleTrio(v, id)
		}
		if err != nil {
			return out, err
		}
		parts = append(parts, trio.Summary.Content)
	}
	out.Summary, _ = digest.Trim(strings.Join(parts, "\n"), layers.CapSummary, ws.standard())
	return out, nil
}
