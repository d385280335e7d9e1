package session

import (
	"context"
	"fmt"
	"slices"

	"hexapla/layers"
	"hexapla/storage"
)

// Limits of memory items.
const (
	maxItems        = 10_000 // of an agent
	maxItemsAtOnce  = 1_000  // in one save
	maxItemBytes    = 64 << 10
	maxAgentBytes   = 256
	maxAgentsListed = 1_000
	maxLoadBytes    = 8 << 20 // of the contents of a load, and one item more
)

// MemoryItem is a memory item of an agent.
type MemoryItem struct {
	ID         string
	Type       layers.ItemType
	Tier       layers.Tier
	Content    string
	Tokens     int // of the content, o200k_base
	Importance float64
	Uses       int
	Created    int64 // Unix ms
	LastUsed   int64 // Unix ms; 0 if it was never loaded
	Archived   bool
}

// ItemDraft is a memory item to be saved.
type ItemDraft struct {
	ID      string          `json:"id,omitempty"` // of an item that gets another content; "" for a new one
	Type    layers.ItemType `json:"type"`
	Content string          `json:"content"`
}

// MemorySave saves and removes items of an agent.
type MemorySave struct {
	Agent  string      `json:"agent,omitempty"` // the session's when empty
	Items  []ItemDraft `json:"items,omitempty"`
	Remove []string    `json:"remove,omitempty"`
	Key    string      `json:"-"`
}

// SavedItem is the receipt of an item.
type SavedItem struct {
	ID         string
	Tier       layers.Tier
	Importance float64
	Tokens     int
}

// MemoryReply is the receipt of a change of an agent's memory.
type MemoryReply struct {
	Items    []SavedItem // as they were sent
	Removed  int
	Change   *MemoryChange
	Sequence int64 `json:"-"`
}

// agentOf returns the agent that a call is about: the one that is named, else the
// session's.
func (s *Session) agentOf(v storage.View, named string) (string, error) {
	if len(named) > maxAgentBytes {
		return "", &InvalidError{Path: "agent", Message: "too long", Limit: maxAgentBytes}
	}
	body, _, _, err := latest[sessionRecord](v, kindSession, s.ID)
	if err != nil {
		return "", err
	}
	agent := either(named, body.Agent)
	if agent == "" {
		return "", invalid("agent", "must be given: the session was opened without one")
	}
	if len(agent) > maxAgentBytes {
		return "", &InvalidError{Path: "agent", Message: "too long", Limit: maxAgentBytes}
	}
	return agent, nil
}

// memoryOf reads the items of the agent that a write is about. An agent that is
// named and has saved nothing is not known, unless it is the session's.
func (s *Session) memoryOf(v storage.View, named string) (*tiers, error) {
	return s.known(v, named, s.Workspace.tiersIn)
}

// memoryAt is memoryOf for readers: what it returns must not change.
func (s *Session) memoryAt(v storage.View, named string) (*tiers, error) {
	return s.known(v, named, func(v storage.View, agent string) (*tiers, error) { return s.Workspace.tiersAt(v, agent, false) })
}

func (s *Session) known(v storage.View, named string, read func(storage.View, string) (*tiers, error)) (*tiers, error) {
	agent, err := s.agentOf(v, named)
	if err != nil {
		return nil, err
	}
	t, err := read(v, agent)
	if err == nil && t.length == 0 {
		if own, none := s.agentOf(v, ""); none != nil || own != agent {
			return nil, &NotFoundError{Path: "agent", Message: "no such agent has saved anything"}
		}
	}
	return t, err
}

// check tells what is wrong with a save, without looking at the store.
func (m *MemorySave) check(policy layers.MemoryPolicy) error {
	switch {
	case len(m.Items) == 0 && len(m.Remove) == 0:
		return invalid("items", "there is nothing to save or to remove")
	case len(m.Items) > maxItemsAtOnce:
		return &InvalidError{Path: "items", Message: fmt.Sprintf("%d items, send at most %d at once", len(m.Items), maxItemsAtOnce), Limit: maxItemsAtOnce}
	case len(m.Remove) > maxItems:
		return &InvalidError{Path: "remove", Message: "too many items", Limit: maxItems}
	}
	for i := range m.Items {
		item, path := &m.Items[i], fmt.Sprintf("items[%d]", i)
		item.Content = asText(item.Content)
		if _, ok := policy.Weight(item.Type); !ok {
			return invalid(path+".type", "must be one of %q", layers.ItemTypes())
		}
		switch {
		case item.Content == "":
			return invalid(path+".content", "must not be empty")
		case len(item.Content) > maxItemBytes:
			return &TooLargeError{Path: path + ".content", Limit: maxItemBytes}
		}
	}
	return nil
}

// SaveMemory saves items of an agent, gives them their tiers, and removes items.
// All of it takes effect, or nothing: one item too many and nothing is saved.
func (s *Session) SaveMemory(ctx context.Context, req MemorySave) (MemoryReply, error) {
	ws := s.Workspace
	if err := req.check(ws.opts.Memory); err != nil {
		return MemoryReply{}, err
	}
	tokens := req.count(ws.standard())
	var t *tiers
	reply, receipt, err := write(ctx, ws, "memory/save", s.ID, req.Key, req, func(tx *storage.Tx) (reply MemoryReply, err error) {
		reply, t, err = s.saveMemory(tx, &req, tokens)
		return reply, err
	})
	ws.keepTiers(t, receipt, err)
	reply.Sequence = receipt.Seq
	return reply, err
}

// count returns the tokens of each item.
func (m *MemorySave) count(counter layers.Counter) []int {
	tokens := make([]int, len(m.Items))
	for i := range m.Items {
		tokens[i] = counter.Count(m.Items[i].Content)
	}
	return tokens
}

// saveMemory returns the agent's items as they are then, as well.
func (s *Session) saveMemory(tx *storage.Tx, req *MemorySave, tokens []int) (reply MemoryReply, t *tiers, err error) {
	v, policy, now := tx.View(), s.Workspace.opts.Memory, s.Workspace.opts.Now()
	agent, err := s.agentOf(v, req.Agent)
	if err != nil {
		return reply, t, err
	}
	t, err = s.Workspace.tiersIn(v, agent)
	if err != nil {
		return reply, t, err
	}
	during, _, err := ongoing(v, s.ID)
	if err != nil {
		return reply, t, err
	}
	change := tiersRecord{Time: now}
	for i, id := range req.Remove {
		at, ok := t.at[id]
		if !ok {
			return reply, t, &NotFoundError{Path: fmt.Sprintf("remove[%d]", i), Message: "the agent has no such item"}
		}
		if slices.Contains(change.Gone, id) {
			continue
		}
		change.Gone = append(change.Gone, id)
		old := t.items[at]
		tx.Put(storage.Draft{Kind: kindItem, ID: id, Parent: during, Body: encode(itemRecord{Agent: agent, Type: old.Type, Created: old.Created, Removed: true})})
	}
	fresh := 0
	for i, item := range req.Items {
		e := tierEntry{ID: item.ID, Type: item.Type, Created: now}
		if item.ID == "" {
			fresh++
			e.ID = tx.NextID("i")
		} else if at, ok := t.at[item.ID]; !ok || slices.Contains(change.Gone, item.ID) {
			return reply, t, &NotFoundError{Path: fmt.Sprintf("items[%d].id", i), Message: "the agent has no such item"}
		} else {
			e.Uses, e.Last = t.items[at].Uses, t.items[at].Last
		}
		importance := e.importance(policy, now)
		e.Tier = policy.TierOf(importance)
		e.Seq = tx.Put(storage.Draft{Kind: kindItem, ID: e.ID, Parent: during, Body: encode(itemRecord{
			Agent: agent, Type: item.Type, Content: item.Content, Tokens: tokens[i], Created: now,
		})})
		change.Set = append(change.Set, e)
		reply.Items = append(reply.Items, SavedItem{ID: e.ID, Tier: e.Tier, Importance: importance, Tokens: tokens[i]})
	}
	if n := len(t.items) - len(change.Gone) + fresh; fresh > 0 && n > maxItems {
		return MemoryReply{}, t, &InvalidError{Path: "items", Limit: maxItems, Message: fmt.Sprintf(
			"the agent would have %d items, at most %d; nothing was saved: remove some", n, maxItems)}
	}
	t.put(tx, change)
	reply.Removed, reply.Change = len(change.Gone), t.changed(nil)
	return reply, t, nil
}

// RetierMemory gives an agent's items the tiers of their importance now, as the
// end of each task does.
func (s *Session) RetierMemory(ctx context.Context, agent, key string) (MemoryReply, error) {
	ws := s.Workspace
	var t *tiers
	reply, receipt, err := write(ctx, ws, "memory/retier", s.ID, key, agent, func(tx *storage.Tx) (reply MemoryReply, err error) {
		if t, err = s.memoryOf(tx.View(), agent); err != nil {
			return reply, err
		}
		now := ws.opts.Now()
		moved, set := t.retier(ws.opts.Memory, now)
		if len(moved) > 0 {
			t.put(tx, tiersRecord{Time: now, Set: set})
		}
		reply.Change = t.changed(moved)
		return reply, nil
	})
	ws.keepTiers(t, receipt, err)
	reply.Sequence = receipt.Seq
	return reply, err
}
