package retrieval

import (
	"cmp"
	"slices"
	"strings"
)

// result orders the documents, or the conversations by their best document, and
// takes the page that was asked for.
func (s *search) result() Result {
	limit := s.q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit, offset := min(limit, maxLimit), max(s.q.Offset, 0)
	slices.SortFunc(s.docs, compareDocuments)
	excluded := make(map[string]bool)
	shown := make(map[string]bool)
	r := Result{Degraded: s.degraded, Model: s.meaningOf}
	for _, d := range s.docs {
		conversation := d.head.parent
		if len(s.q.Kinds) == 0 {
			if conversation == "" || shown[conversation] {
				continue
			}
		} else if !slices.Contains(s.q.Kinds, d.head.kind) {
			continue
		}
		if s.q.Exclude != nil {
			out, known := excluded[conversation]
			if !known {
				out = s.q.Exclude(conversation)
				excluded[conversation] = out
			}
			if out {
				continue
			}
		}
		shown[conversation] = true
		r.Total++
		if r.Total > offset && len(r.Hits) < limit {
			r.Hits = append(r.Hits, Hit{
				Seq: d.seq, Kind: d.head.kind, ID: d.head.id, Conversation: conversation,
				Score: d.score, Parts: d.parts, Coverage: d.coverage,
			})
		}
	}
	return r
}

// compareDocuments orders by score, then newest first, then by ID.
func compareDocuments(a, b *document) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	if c := cmp.Compare(b.seq, a.seq); c != 0 {
		return c
	}
	return strings.Compare(a.head.id, b.head.id)
}
