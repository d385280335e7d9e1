package session

import (
	"hexapla/layers"
	"hexapla/storage"
)

// window decides where layer 1 begins when so many conversations of the session
// have been opened.
func (p *packer) window(v storage.View, opened int) (layers.Window, error) {
	now, err := p.steps(v, opened)
	if err != nil {
		return now, err
	}
	sets, err := p.profiles.sets(v, func(s profileSet) bool { return s.Now })
	if err != nil || len(sets) == 0 || !sets[0].Now {
		return now, err
	}
	// A profile that was set by hand to count at once moved the window then.
	set := sets[0]
	m, err := p.whole.lengthAt(set.seq)
	if err != nil {
		return now, err
	}
	if m == 0 {
		return now, nil // there was nothing to move
	}
	at, err := p.at(set.seq)
	if err != nil {
		return now, err
	}
	then := now
	if m != opened {
		if then, err = p.steps(at, m); err != nil {
			return now, err
		}
	}
	name, err := p.profiles.resolve(v, set.Profile, m-1)
	if err != nil {
		return now, err
	}
	return layers.Windows{Policy: p.ws.opts.Policy}.Moved(then, now, m, set.seq, p.ws.policyOf(name).ActiveMemory), nil
}

// steps decides where layer 1 begins by the sizes of conversations alone.
func (p *packer) steps(v storage.View, opened int) (layers.Window, error) {
	var failed error
	w := layers.Windows{Policy: p.ws.opts.Policy, Active: func(base int) int {
		o, err := p.profiles.opening(v, base)
		if err != nil {
			failed = err
			return p.ws.opts.Policy.ActiveMemory
		}
		return p.ws.policyOf(o.name).ActiveMemory
	}}
	from, base := w.From(opened), w.Base(opened)
	var sizes []layers.ConversationSize
	if base > from { // else there is nothing to decide
		l, err := p.line(v)
		if err != nil {
			return layers.Window{}, err
		}
		entries, err := l.list(from, min(w.Opens(base)-1, l.length))
		if err != nil {
			return layers.Window{}, err
		}
		for _, entry := range entries {
			trio, err := p.trioAt(entry.ID, v.Seq())
			if err != nil {
				return layers.Window{}, err
			}
			// An exchange has about as many answers as inputs.
			sizes = append(sizes, layers.ConversationSize{Tokens: trio.Header.TokenCount, Calls: (v.ListLen(listOfTurns(entry.ID)) + 1) / 2})
		}
	}
	at := w.At(opened, sizes, p.prices)
	return at, failed
}
