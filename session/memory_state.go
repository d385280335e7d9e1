package session

import (
	"maps"
	"slices"
	"time"

	"hexapla/layers"
	"hexapla/storage"
)

// itemRecord is the body of a memory item. Another content makes another version.
type itemRecord struct {
	Agent   string          `json:"agent"`
	Type    layers.ItemType `json:"type"`
	Content string          `json:"content"`
	Tokens  int             `json:"tokens"` // of the content, o200k_base
	Created int64           `json:"created"`
	Removed bool            `json:"removed,omitempty"`
}

// tiersRecord is the body of a tiers record: what changed of the tiers and the
// uses of an agent's items, or all of them. Contents are apart, so that a look-up
// reads none that it does not return, and a use writes none again.
type tiersRecord struct {
	// Base is the place in the agent's list of the newest record that has all.
	Base  int         `json:"base"`
	Whole bool        `json:"whole,omitempty"` // Set is all there is
	Time  int64       `json:"time"`            // Unix ms
	Set   []tierEntry `json:"set,omitempty"`
	Used  []string    `json:"used,omitempty"` // items that were loaded
	Gone  []string    `json:"gone,omitempty"` // items that were removed
}

// tierEntry is what is known of an item beside its content.
type tierEntry struct {
	ID       string          `json:"i"`
	Seq      int64           `json:"s"` // of the record with its content
	Type     layers.ItemType `json:"t"`
	Tier     layers.Tier     `json:"r"`
	Created  int64           `json:"c"`           // Unix ms of its content
	Last     int64           `json:"l,omitempty"` // Unix ms at which it was loaded last
	Uses     int             `json:"n,omitempty"`
	Archived bool            `json:"a,omitempty"`
}

const (
	listAgents = "agents" // first tiers records of agents
	// maxTierChanges is how many records of changes are read on top of a whole one,
	// and maxTierNames how many entries and ids in them there are for each item.
	// Both keep a look-up in a store that was just opened below 50 ms.
	maxTierChanges = 128
	maxTierNames   = 10
)

func listOfTiers(agent string) string { return "tiers/" + agent }

// tiers are an agent's items as of a view, in the order in which they were saved.
type tiers struct {
	agent  string
	length int // of the agent's list
	base   int
	time   int64 // Unix ms of the newest change
	names  int   // entries and ids in the changes since base
	items  []tierEntry
	at     map[string]int // index in items, by id
	shared bool           // at is another's as well, and must not change
}

// clone returns tiers that may change without changing these.
func (t *tiers) clone() *tiers {
	c := *t
	c.items, c.shared = slices.Clone(t.items), true
	return &c
}

// tiersOf reads the items of an agent.
func tiersOf(v storage.View, agent string) (*tiers, error) {
	return tiersFrom(v, &tiers{agent: agent, at: map[string]int{}})
}

// tiersFrom reads the items of an agent on top of what is known of them: an
// earlier state of the same list, which is changed.
func tiersFrom(v storage.View, t *tiers) (*tiers, error) {
	from, agent := t.length, t.agent
	t.length = v.ListLen(listOfTiers(agent))
	if t.length == from {
		return t, v.Err()
	}
	last, err := v.List(listOfTiers(agent), t.length-1, t.length)
	if err != nil {
		return nil, err
	}
	newest, _, _, err := latest[tiersRecord](v, kindTiers, last[0].ID)
	if err != nil {
		return nil, err
	}
	t.base = newest.Base
	entries, err := v.List(listOfTiers(agent), max(from, t.base), t.length)
	if err != nil {
		return nil, err
	}
	for i, entry := range entries {
		body := newest
		if i+1 < len(entries) {
			if body, _, _, err = latest[tiersRecord](v, kindTiers, entry.ID); err != nil {
				return nil, err
			}
		}
		t.apply(&body)
	}
	return t, nil
}

// apply carries a record's changes over.
func (t *tiers) apply(body *tiersRecord) {
	if body.Whole {
		t.items, t.at, t.shared, t.names = make([]tierEntry, 0, len(body.Set)), make(map[string]int, len(body.Set)), false, 0
	} else {
		t.names += len(body.Set) + len(body.Used) + len(body.Gone)
	}
	t.time = max(t.time, body.Time)
	for _, e := range body.Set {
		if i, ok := t.at[e.ID]; ok {
			t.items[i] = e
			continue
		}
		if t.shared {
			t.at, t.shared = maps.Clone(t.at), false
		}
		t.at[e.ID] = len(t.items)
		t.items = append(t.items, e)
	}
	for _, id := range body.Used {
		if i, ok := t.at[id]; ok {
			t.items[i].use(body.Time)
		}
	}
	if len(body.Gone) > 0 {
		gone := make(map[string]bool, len(body.Gone))
		for _, id := range body.Gone {
			gone[id] = true
		}
		kept := t.items[:0]
		t.at, t.shared = make(map[string]int, len(t.items)), false
		for _, e := range t.items {
			if !gone[e.ID] {
				t.at[e.ID] = len(kept)
				kept = append(kept, e)
			}
		}
		t.items = kept
	}
}

// use counts that an item was loaded. What was archived is in use again.
func (e *tierEntry) use(now int64) {
	e.Uses++
	e.Last, e.Archived = max(e.Last, now), false
}

// put writes a change, or all there is once there are many changes.
func (t *tiers) put(tx *storage.Tx, change tiersRecord) {
	t.apply(&change)
	if t.length == 0 || change.Whole || t.length-t.base >= maxTierChanges || t.names > maxTierNames*len(t.items) ||
		len(change.Set) > 0 && len(change.Set) >= len(t.items)/2 {
		change = tiersRecord{Whole: true, Time: change.Time, Set: t.items}
		t.base, t.names = t.length, 0
	}
	change.Base = t.base
	lists := []string{listOfTiers(t.agent)}
	if t.length == 0 {
		lists = append(lists, listAgents)
	}
	t.length++
	tx.Put(storage.Draft{Kind: kindTiers, ID: tx.NextID("g"), Parent: t.agent, Body: encode(change), Lists: lists})
}

// importance of an item at a time, in Unix milliseconds.
func (e *tierEntry) importance(p layers.MemoryPolicy, now int64) float64 {
	return p.Importance(e.Type, time.Duration(now-e.Created)*time.Millisecond, e.Uses)
}

// TierMove is an item that is in another tier than before.
type TierMove struct {
	ID   string
	From layers.Tier
	To   layers.Tier
}

// retier gives every item the tier of its importance now. Items that are archived
// stay where they are.
func (t *tiers) retier(p layers.MemoryPolicy, now int64) (moved []TierMove, set []tierEntry) {
	for i := range t.items {
		e := t.items[i]
		if e.Archived {
			continue
		}
		from := e.Tier
		if e.Tier = p.TierOf(e.importance(p, now)); e.Tier != from {
			moved = append(moved, TierMove{e.ID, from, e.Tier})
			set = append(set, e)
		}
	}
	return moved, set
}

// retierFinished gives the items of a session's agent their tiers anew after a
// task was finished. It writes nothing where nothing moves.
func (ws *Workspace) retierFinished(tx *storage.Tx, session string) (*MemoryChange, error) {
	v := tx.View()
	body, _, _, err := latest[sessionRecord](v, kindSession, session)
	if err != nil || body.Agent == "" || v.ListLen(listOfTiers(body.Agent)) == 0 {
		return nil, err
	}
	t, err := ws.tiersIn(v, body.Agent)
	if err != nil {
		return nil, err
	}
	now := ws.opts.Now()
	moved, set := t.retier(ws.opts.Memory, now)
	if len(moved) == 0 {
		return nil, nil
	}
	t.put(tx, tiersRecord{Time: now, Set: set})
	return t.changed(moved), nil
}

// MemoryChange tells what became of an agent's memory.
type MemoryChange struct {
	Agent string
	Moved []TierMove
	Hot   int
	Warm  int
	Cold  int
}

func (t *tiers) changed(moved []TierMove) *MemoryChange {
	c := &MemoryChange{Agent: t.agent, Moved: moved}
	for i := range t.items {
		switch t.items[i].Tier {
		case layers.TierHot:
			c.Hot++
		case layers.TierWarm:
			c.Warm++
		default:
			c.Cold++
		}
	}
	return c
}
