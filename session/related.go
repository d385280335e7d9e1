package session

import (
	"context"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/retrieval"
	"hexapla/storage"
)

// relatedCandidates is how many records are ranked for related conversations:
// few of many must fit well, so a pack need not wait for all that fit somewhat.
const relatedCandidates = 500

// related returns a piece with the summaries of older conversations that the
// opening query is about. It is a function of the workspace at the opening, and
// of the policy in force then.
func (p *packer) related(ctx context.Context, entry storage.ListEntry, pieces []layers.Piece, policy layers.Policy) ([]layers.Piece, error) {
	limit := policy.Retrieved
	if limit == 0 || len(pieces) == 0 || !pieces[0].User {
		return nil, nil
	}
	key := relatedKey{entry.ID, p.counter.Name(), p.edited}
	if found, ok := p.ws.related.get(key); ok {
		return p.scored(found), nil
	}
	v, err := p.then(entry.Seq)
	if err != nil {
		return nil, err
	}
	near, err := p.near(v, policy.Summaries)
	if err != nil {
		return nil, err
	}
	query := strings.ToValidUTF8(pieces[0].Forms[0].Text, "")
	if _, text, ok := strings.Cut(query, "\n"); ok {
		query = text
	}
	query = query[:min(len(query), maxRelatedQuery)]
	found, err := p.ws.search(ctx, v, retrieval.Query{
		Text: strings.ToValidUTF8(query, ""), Entities: digest.EntitiesOf(query), Limit: limit, Clip: true,
		Weights: retrieval.ContextWeights(), Candidates: relatedCandidates, Complete: true,
		Exclude: func(id string) bool { return near[id] || p.gone[id] != 0 },
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p.ws.opts.Logf("workspace %s: related conversations: %v", p.ws.ID, err)
		return nil, nil
	}
	var text, ids strings.Builder
	var hits []retrieval.Hit
	for _, hit := range found.Hits {
		if hit.Coverage < float64(policy.RelatedCoveragePercent)/100 {
			continue
		}
		if _, ok, err := v.Latest(kindTrio, hit.Conversation); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		trio, err := p.trioAt(hit.Conversation, v.Seq())
		if err != nil {
			return nil, err
		}
		text.WriteString(p.ws.fence.Clean(digest.RenderSummary(trio.Summary, hit.Conversation)))
		ids.WriteString(" " + hit.Conversation)
		hits = append(hits, hit)
	}
	out := relatedPieces{hits: hits}
	if text.Len() > 0 {
		s := p.ws.shaper(p.counter, policy)
		head := p.ws.fence.Heading("### related to " + entry.ID)
		out.pieces = []layers.Piece{{ID: "related:" + entry.ID, Seq: entry.Seq, Served: true, Forms: s.forms(
			layers.Form{Detail: layers.FormFull, Text: head + "\n" + text.String()},
			layers.Form{Detail: layers.FormLine, Text: head + ":" + ids.String() + "\n"},
		)}}
	}
	p.ws.related.put(key, out)
	return p.scored(out), nil
}

// scored notes the scores of pieces that were found by searching.
func (p *packer) scored(found relatedPieces) []layers.Piece {
	for _, piece := range found.pieces {
		if p.scores == nil {
			p.scores = map[string][]retrieval.Hit{}
		}
		p.scores[piece.ID] = found.hits
	}
	return found.pieces
}

// maxRelatedQuery is how many bytes of a query are searched with.
const maxRelatedQuery = 2000

// near returns the conversations that are in layers 1 and 3 when a
// conversation opens.
func (p *packer) near(v storage.View, summaries int) (map[string]bool, error) {
	l, err := p.line(v)
	if err != nil {
		return nil, err
	}
	window, err := p.window(v, max(l.length, 1))
	if err != nil {
		return nil, err
	}
	from := max(0, window.Base-summaries)
	entries, err := l.list(from, l.length)
	if err != nil {
		return nil, err
	}
	near := map[string]bool{}
	for _, entry := range entries {
		near[entry.ID] = true
	}
	return near, nil
}

type relatedKey struct {
	conversation, counter string
	edited                int64
}

// relatedPieces is what was found for an opening: one piece at most, with the
// summaries of the hits, best first.
type relatedPieces struct {
	pieces []layers.Piece
	hits   []retrieval.Hit
}
