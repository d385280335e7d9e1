package session

import (
	"crypto/sha256"
	"io"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// Names implements layers.Source.
func (p *packer) Names(r layers.NamesRequest) (layers.Form, error) {
	stream, c, i := r.Stream, r.Conversation, r.Piece
	hash := sha256.New()
	for _, text := range r.Shown {
		_, _ = io.WriteString(hash, text)
	}
	key := rosterKey{session: p.session, piece: stream[c].Pieces[i].ID, room: r.Room, paths: r.PathPercent, counter: p.counter.Name(), edited: p.edited}
	hash.Sum(key.shown[:0])
	if form, ok := p.heads.rosters.get(key); ok {
		return form, nil
	}
	uses, err := p.usesBefore(stream[0].Pieces[0].Seq)
	if err != nil {
		return layers.Form{}, err
	}
	for k := range c + 1 {
		for j, piece := range stream[k].Pieces {
			if k == c && j > i {
				break
			}
			uses = append(uses, piece.Names)
		}
	}
	visible := map[string]bool{}
	for _, text := range r.Shown {
		names := digest.NamesOf(text)
		for _, name := range names.Paths {
			visible[name] = true
		}
		for _, name := range names.Identifiers {
			visible[name] = true
		}
	}
	form := layers.Form{}
	if text := digest.Roster(p.ws.fence.Heading("### names used before")+"\n", uses, func(name string) bool { return visible[name] }, r.Room, r.PathPercent, r.Exact, p.counter); text != "" {
		form = p.form(layers.FormRoster, text)
	}
	p.heads.rosters.put(key, form)
	return form, nil
}

// rosterReach is how many conversations before the stream a roster looks at.
const rosterReach = 20

// usesBefore returns the names that were used in the session's conversations
// before the stream, which begins at a sequence.
func (p *packer) usesBefore(seq int64) ([]layers.Names, error) {
	v, err := p.at(seq - 1)
	if err != nil {
		return nil, err
	}
	entries, err := p.whole.list(max(0, p.stream.base-rosterReach), p.stream.base)
	if err != nil {
		return nil, err
	}
	var uses []layers.Names
	for _, entry := range entries {
		pieces, err := p.ws.pieces(v, entry.ID, p.counter)
		if err != nil {
			return nil, err
		}
		for _, piece := range pieces {
			uses = append(uses, piece.Names)
		}
	}
	return uses, nil
}
