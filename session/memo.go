package session

import (
	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// memo keeps what a packer has read, so that packs of several budgets, which may
// be built side by side, read it once. The zero value is ready.
type memo struct {
	trios    bounded[momentKey, trioRecord]
	headers  bounded[momentKey, layers.Form]
	contexts bounded[int64, contextAt]
	rendered bounded[int64, string] // layer 0 as of a sequence, in full
	shown    bounded[roomKey, layers.Form]
}

// momentKey is a conversation as of a sequence.
type momentKey struct {
	conversation string
	seq          int64
}

// roomKey is layer 0 as of a sequence in some tokens.
type roomKey struct {
	seq  int64
	room int
}

// contextAt is layer 0 as of a sequence.
type contextAt struct {
	body  layers.CurrentContext
	seq   int64 // of the record
	known bool
}

// contextAt returns layer 0 as of a sequence.
func (p *packer) contextAt(seq int64) (contextAt, error) {
	if c, ok := p.memo.contexts.get(seq); ok {
		return c, nil
	}
	v, err := p.at(seq)
	if err != nil {
		return contextAt{}, err
	}
	var c contextAt
	if c.body, c.seq, c.known, err = currentContext(v, p.session); err != nil {
		return contextAt{}, err
	}
	p.memo.contexts.put(seq, c)
	return c, nil
}

// trioAt returns the trio as of a sequence; for a conversation in progress it
// is made of the turns so far.
func (p *packer) trioAt(conversation string, seq int64) (trioRecord, error) {
	key := momentKey{conversation, seq}
	if trio, ok := p.memo.trios.get(key); ok {
		return trio, nil
	}
	v, err := p.at(seq)
	if err != nil {
		return trioRecord{}, err
	}
	trio, _, ok, err := latest[trioRecord](v, kindTrio, conversation)
	if err == nil && !ok {
		trio, err = p.ws.ruleTrio(v, conversation)
	}
	if err == nil {
		p.memo.trios.put(key, trio)
	}
	return trio, err
}

// headerAt returns the header of a conversation as of a view, rendered.
func (p *packer) headerAt(conversation string, v storage.View) (layers.Form, error) {
	key := momentKey{conversation, v.Seq()}
	if form, ok := p.memo.headers.get(key); ok {
		return form, nil
	}
	trio, err := p.trioAt(conversation, v.Seq())
	if err != nil {
		return layers.Form{}, err
	}
	form := p.form(string(layers.DetailHeader), p.ws.fence.Clean(digest.RenderHeader(trio.Header)))
	p.memo.headers.put(key, form)
	return form, nil
}
