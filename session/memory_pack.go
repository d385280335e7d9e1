package session

import "hexapla/layers"

// memoryInput are the HOT items of the session's agent for a pack. Those in front
// are HOT as of when the window moved last, so that the prefix stays as it is; one
// that was changed or removed since leaves them at once.
func (p *packer) memoryInput() (layers.MemoryInput, error) {
	in := layers.MemoryInput{}
	session, _, _, err := latest[sessionRecord](p.view, kindSession, p.session)
	if err != nil || session.Agent == "" || p.view.ListLen(listOfTiers(session.Agent)) == 0 {
		return in, err
	}
	in.SharePercent = p.ws.opts.Memory.SharePercent
	now, err := p.ws.tiersAt(p.view, session.Agent, false)
	if err != nil {
		return in, err
	}
	at, err := p.view.At(min(p.stream.windowSeq, p.view.Seq()))
	if err != nil {
		return in, err
	}
	then, err := p.ws.tiersAt(at, session.Agent, true)
	if err != nil {
		return in, err
	}
	front := map[string]bool{}
	for i := range then.items {
		e := &then.items[i]
		if e.Tier != layers.TierHot {
			continue
		}
		if k, kept := now.at[e.ID]; !kept || now.items[k].Seq != e.Seq {
			continue
		}
		body, ok, err := p.ws.itemAt(p.view, e)
		if err != nil {
			return in, err
		}
		if !ok {
			continue
		}
		front[e.ID] = true
		in.Front = append(in.Front, p.memoryItem(e, body, then.time))
	}
	for i := range now.items {
		e := &now.items[i]
		if e.Tier != layers.TierHot || front[e.ID] {
			continue
		}
		body, ok, err := p.ws.itemAt(p.view, e)
		if err != nil {
			return in, err
		}
		if ok {
			in.Since = append(in.Since, p.memoryItem(e, body, now.time))
		}
	}
	return in, nil
}

// memoryItem is an item as it stands in a pack. It counts for what its importance
// was when the agent's memory last changed.
func (p *packer) memoryItem(e *tierEntry, body itemRecord, now int64) layers.RankedItem {
	heading := p.ws.fence.Heading("# Memory: " + string(e.Type))
	return layers.RankedItem{
		Item: layers.Item{ID: e.ID, Form: p.form(layers.FormFull, block(heading, p.ws.fence.Clean(body.Content)))},
		Rank: e.importance(p.ws.opts.Memory, now),
	}
}
