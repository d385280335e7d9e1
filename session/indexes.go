package session

import (
	"context"
	"slices"

	"hexapla/index"
)

// warmIndexes is how many workspaces of a process have their index open. Each costs
// files, goroutines and memory; the others are searched seldom.
const warmIndexes = 8

// warm notes that the index of a workspace is wanted. It is opened if it rests, and
// if there are too many the one that was wanted least recently rests.
func (w *Workspaces) warm(id string) {
	w.mu.Lock()
	o := w.loaded[id]
	if w.closed || o == nil || !o.opened() || o.gone != nil {
		w.mu.Unlock()
		return
	}
	ws := o.ws
	if at := slices.Index(w.warmed, id); at >= 0 {
		w.warmed = slices.Delete(w.warmed, at, at+1)
	}
	w.warmed = append(w.warmed, id)
	var resting []*Workspace
	for len(w.warmed) > warmIndexes {
		if least := w.loaded[w.warmed[0]]; least != nil && least.opened() {
			resting = append(resting, least.ws)
		}
		w.warmed = w.warmed[1:]
	}
	w.mu.Unlock()
	for _, other := range resting {
		other.rest()
	}
	ws.wake()
}

// opened tells whether the workspace could be opened. The caller holds
// Workspaces.mu.
func (o *opening) opened() bool {
	select {
	case <-o.ready:
		return o.ws != nil
	default:
		return false
	}
}

// rest closes the index until it is wanted again. Meanwhile writes go on, and it
// falls behind.
func (ws *Workspace) rest() {
	ws.indexMu.Lock()
	defer ws.indexMu.Unlock()
	if ws.index == nil {
		return
	}
	ws.engine.Rest()
	if err := ws.index.Close(); err != nil {
		ws.opts.Logf("workspace %s: close index: %v", ws.ID, err)
	}
	ws.index, ws.resting = nil, true
}

// wake opens an index that rests.
func (ws *Workspace) wake() {
	ws.indexMu.Lock()
	defer ws.indexMu.Unlock()
	if !ws.resting {
		return
	}
	ws.resting = false
	if ws.index = openIndex(context.Background(), ws.opts, ws.store); ws.index != nil {
		ws.engine.Resume(ws.index)
	}
}

// openedIndex is the index if it is open.
func (ws *Workspace) openedIndex() *index.Index {
	ws.indexMu.Lock()
	defer ws.indexMu.Unlock()
	return ws.index
}
