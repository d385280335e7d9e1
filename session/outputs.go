package session

import (
	"fmt"
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
)

// What is looked at of tool outputs, all in all of a stream.
const (
	maxOpenErrors  = 32      // failures that wait to be resolved
	maxRepeatBytes = 1 << 20 // of an output that is compared with one before
	repeatedShare  = 50      // percent of an output's lines that were shown before, at the least
	leastSaved     = 20      // tokens
)

// endedWell returns outputs with the sequence at which their conversation was
// completed without an error, which resolves what failed in it.
func endedWell(outputs []output, seq int64) []output {
	out := slices.Clone(outputs)
	for i := range out {
		out[i].until = seq
	}
	return out
}

// openErrors returns the failures in the outputs of a stream, oldest first,
// with what resolved them. Outputs are in the order in which they were made.
func (p *packer) openErrors(outputs [][]output) []layers.OpenError {
	var out []layers.OpenError
	var open []int // indices into out
	var attempts []digest.Attempt
	for _, conversation := range outputs {
		for i := range conversation {
			o := &conversation[i]
			if !o.tried {
				continue
			}
			still := open[:0]
			for _, at := range open {
				if o.attempt.Resolves(attempts[at]) {
					out[at].Until = o.seq
					continue
				}
				still = append(still, at)
			}
			open = still
			if !o.attempt.Failed {
				continue
			}
			if len(open) == maxOpenErrors {
				out[open[0]].Until = o.seq
				open = append(open[:0], open[1:]...)
			}
			open = append(open, len(out))
			attempts = append(attempts, o.attempt)
			out = append(out, layers.OpenError{
				ID: o.id, Seq: o.seq, Form: p.form(layers.FormLine, p.ws.fence.Heading("### "+o.id+" open error")+": "+p.ws.fence.Clean(oneLine(o.attempt.Told))+"\n"),
			})
		}
		if n := len(conversation); n > 0 && conversation[n-1].until != 0 {
			for _, at := range open {
				if out[at].Seq >= conversation[0].seq {
					out[at].Until = conversation[n-1].until
				}
			}
			open = slices.DeleteFunc(open, func(at int) bool { return out[at].Until != 0 })
		}
	}
	return out
}

// repeats finds the outputs of a stream that show again what earlier ones show,
// and says of each only what is new. An output is compared with the newest one
// of the same thing and with the newest that repeats none, so that there is one
// to go by whichever of them is in view. outputs are those among the stream's
// pieces.
func (p *packer) repeats(stream []layers.StreamConversation, outputs [][]output) error {
	type place struct {
		c, k int
		out  *output
	}
	newest, original := map[string]place{}, map[string]place{}
	for c := range stream {
		mine := outputs[c]
		for k := range stream[c].Pieces {
			if len(mine) == 0 {
				break
			}
			if stream[c].Pieces[k].ID != mine[0].id {
				continue
			}
			o := &mine[0]
			mine = mine[1:]
			if o.about.Name == "" {
				continue
			}
			before := stream[c].Repeats
			for n, base := range [...]place{newest[o.about.Name], original[o.about.Name]} {
				if base.out == nil || n == 1 && base.out == newest[o.about.Name].out {
					continue
				}
				form, err := p.repeat(base.out, &stream[base.c].Pieces[base.k], o, &stream[c].Pieces[k])
				if err != nil {
					return err
				}
				if form.Text != "" {
					stream[c].Repeats = append(stream[c].Repeats, layers.Repeat{
						Piece: k, BaseConversation: base.c, BasePiece: base.k, Form: form,
					})
				}
			}
			newest[o.about.Name] = place{c, k, o}
			if len(stream[c].Repeats) == len(before) {
				original[o.about.Name] = place{c, k, o}
			}
		}
	}
	return nil
}

type repeatKey struct {
	base, piece, counter string
	edited               int64
}

// repeat is the form of an output that says what is new since another one was
// shown in full. It has no text if little was shown before or little is saved.
func (p *packer) repeat(base *output, shown *layers.Piece, o *output, piece *layers.Piece) (layers.Form, error) {
	key := repeatKey{base.id, o.id, p.counter.Name(), p.edited}
	if form, ok := p.ws.repeatForms.get(key); ok {
		return form, nil
	}
	head, _, _ := strings.Cut(piece.Forms[0].Text, "\n")
	_, before, _ := strings.Cut(shown.Forms[0].Text, "\n")
	var form layers.Form
	switch now, ok := "", false; {
	case base.blob.SHA256 == o.blob.SHA256:
		form = p.form(layers.FormChanged, head+"\n[the same as "+base.id+"]\n")
	case o.blob.Size <= maxRepeatBytes:
		if now, ok = p.ws.readText(o.blob); ok {
			now = p.ws.fence.Clean(now)
			form = p.changes(base.id, before, head, now, base.about.Whole && o.about.Whole)
		}
	}
	if form.Tokens > piece.Forms[0].Tokens-leastSaved {
		form = layers.Form{}
	}
	p.ws.repeatForms.put(key, form)
	return form, nil
}

// changes says under a heading what an output has that another one, as it is
// shown, has not. Only where both are whole do missing lines mean anything.
func (p *packer) changes(base, before, head, now string, whole bool) layers.Form {
	changed := digest.Changes(before, now)
	if changed.Lines == 0 || 100*changed.Same < repeatedShare*changed.Lines {
		return layers.Form{}
	}
	text := fmt.Sprintf("%s\n[as %s but for these of %d lines]\n%s", head, base, changed.Lines, changed.New)
	if changed.New == "" {
		text = fmt.Sprintf("%s\n[%d lines, all as in %s]\n", head, changed.Lines, base)
	}
	if whole && changed.Gone != "" {
		text += "[gone]\n" + changed.Gone
	}
	return p.form(layers.FormChanged, text)
}
