package rpc

import (
	"context"

	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) searchQuery(ctx context.Context, p *wire.SearchQueryParams) (*wire.SearchQueryResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	reply, err := s.Search(ctx, session.SearchRequest{Query: p.Query, Kind: p.Kind, Limit: p.Limit, AsOf: p.AsOf, Cursor: p.Cursor})
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.SearchQueryResult{Hits: []wire.SearchHit{}, Cursor: reply.Cursor, Sequence: reply.Sequence, Degraded: reply.Degraded, Model: reply.Model}
	for _, hit := range reply.Hits {
		result.Hits = append(result.Hits, wire.SearchHit{
			Conversation: hit.Conversation, Turn: hit.Turn, Blob: optionalBlob(hit.Blob), Score: hit.Score, Coverage: hit.Coverage,
			Parts: partsToWire(hit.Parts), Snippet: hit.Snippet, Header: headerToWire(hit.Header),
		})
	}
	return result, nil
}

func (b *backend) referenceLookup(_ context.Context, p *wire.ReferenceLookupParams) (*wire.ReferenceLookupResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	refs, seq, err := s.References(p.Kind, p.Name, p.Prefix, p.Limit)
	if err != nil {
		return nil, domainError(err)
	}
	result := &wire.ReferenceLookupResult{Entries: []wire.ReferenceEntry{}, Sequence: seq}
	for _, ref := range refs {
		entry := wire.ReferenceEntry{Kind: ref.Kind, Name: ref.Name, Mentions: []wire.ReferenceMention{}, Total: ref.Total}
		for _, m := range ref.Mentions {
			entry.Mentions = append(entry.Mentions, wire.ReferenceMention{
				Conversation: m.Conversation, Turn: m.Turn, Blob: optionalBlob(m.Blob), Sequence: m.Sequence,
			})
		}
		result.Entries = append(result.Entries, entry)
	}
	return result, nil
}
