package session

import (
	"cmp"
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

// memoryOf reads the items of the agent that a call is about. An agent that is
// named and has saved nothing is not known, unless it is the session's.
func (s *Session) memoryOf(v storage.View, named string) (*tiers, error) {
	return s.known(v, named, tiersOf)
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
	reply, receipt, err := write(ctx, ws, "memory/save", s.ID, req.Key, req, func(tx *storage.Tx) (MemoryReply, error) {
		reply, _, err := s.saveMemory(tx, &req, tokens)
		return reply, err
	})
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
	t, err = tiersOf(v, agent)
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

// MemoryLoad asks for items of an agent.
type MemoryLoad struct {
	Agent string        `json:"agent,omitempty"` // the session's when empty
	Tiers []layers.Tier `json:"tiers,omitempty"` // HOT when empty
	IDs   []string      `json:"ids,omitempty"`   // of these items alone, whatever their tiers
	Limit int           `json:"limit,omitempty"` // 0 for no limit
	// Peek reads without counting it as a use.
	Peek bool   `json:"peek,omitempty"`
	Key  string `json:"-"`
}

// LoadReply is an agent's items, the most important first.
type LoadReply struct {
	Agent    string
	Items    []MemoryItem
	More     int   // items that the limit left out
	Sequence int64 `json:"-"`
}

func (m *MemoryLoad) check() error {
	switch {
	case m.Limit < 0:
		return invalid("limit", "must not be negative")
	case len(m.IDs) > maxItems:
		return &InvalidError{Path: "ids", Message: "too many items", Limit: maxItems}
	}
	return checkTiers("tiers", m.Tiers)
}

func checkTiers(path string, tiers []layers.Tier) error {
	for i, tier := range tiers {
		if !slices.Contains(layers.Tiers(), tier) {
			return invalid(fmt.Sprintf("%s[%d]", path, i), "must be one of %q", layers.Tiers())
		}
	}
	return nil
}

// LoadMemory returns items of an agent and counts their use.
func (s *Session) LoadMemory(ctx context.Context, req MemoryLoad) (LoadReply, error) {
	if err := req.check(); err != nil {
		return LoadReply{}, err
	}
	if req.Peek {
		var reply LoadReply
		err := s.Workspace.view(0, func(v storage.View) (err error) {
			t, err := s.memoryAt(v, req.Agent)
			if err == nil {
				reply, err = s.loadMemory(v, t, &req)
			}
			reply.Sequence = v.Seq()
			return err
		})
		return reply, err
	}
	reply, receipt, err := write(ctx, s.Workspace, "memory/load", s.ID, req.Key, req, func(tx *storage.Tx) (LoadReply, error) {
		t, err := s.memoryOf(tx.View(), req.Agent)
		if err != nil {
			return LoadReply{}, err
		}
		reply, err := s.loadMemory(tx.View(), t, &req)
		if err != nil || len(reply.Items) == 0 {
			return reply, err
		}
		change := tiersRecord{Time: s.Workspace.opts.Now()}
		for i := range reply.Items {
			change.Used = append(change.Used, reply.Items[i].ID)
		}
		t.put(tx, change)
		return reply, nil
	})
	reply.Sequence = receipt.Seq
	return reply, err
}

// loadMemory reads what is asked for: as it was before this use.
func (s *Session) loadMemory(v storage.View, t *tiers, req *MemoryLoad) (LoadReply, error) {
	reply := LoadReply{Agent: t.agent, Items: []MemoryItem{}}
	wanted := req.Tiers
	if len(wanted) == 0 {
		wanted = []layers.Tier{layers.TierHot}
	}
	var asked map[string]bool
	if len(req.IDs) > 0 {
		asked = make(map[string]bool, len(req.IDs))
		for i, id := range req.IDs {
			if _, ok := t.at[id]; !ok {
				return reply, &NotFoundError{Path: fmt.Sprintf("ids[%d]", i), Message: "the agent has no such item"}
			}
			asked[id] = true
		}
	}
	found, err := t.read(v, s.Workspace.opts.Memory, s.Workspace.opts.Now(), func(e *tierEntry) bool {
		if asked != nil {
			return asked[e.ID]
		}
		return slices.Contains(wanted, e.Tier)
	})
	if err != nil {
		return reply, err
	}
	slices.SortStableFunc(found, func(a, b MemoryItem) int { return cmp.Compare(b.Importance, a.Importance) })
	most := loadable(found)
	if req.Limit > 0 {
		most = min(most, req.Limit)
	}
	reply.More = len(found) - most
	found = found[:most]
	reply.Items = append(reply.Items, found...)
	return reply, nil
}

// loadable returns how many items fit into a reply.
func loadable(items []MemoryItem) int {
	bytes := 0
	for i := range items {
		if bytes += len(items[i].Content); bytes > maxLoadBytes {
			return i + 1
		}
	}
	return len(items)
}

// read returns the items that are wanted with their contents, as they were saved.
// What was forgotten is left out.
func (t *tiers) read(v storage.View, policy layers.MemoryPolicy, now int64, wanted func(*tierEntry) bool) ([]MemoryItem, error) {
	var out []MemoryItem
	for i := range t.items {
		e := &t.items[i]
		if !wanted(e) {
			continue
		}
		body, ok, err := itemOf(v, e)
		if err != nil {
			return nil, err
		}
		if !ok || body.Agent != t.agent {
			continue
		}
		out = append(out, e.shown(body, policy, now))
	}
	return out, nil
}

// shown is an item with its content.
func (e *tierEntry) shown(body itemRecord, policy layers.MemoryPolicy, now int64) MemoryItem {
	return MemoryItem{
		ID: e.ID, Type: e.Type, Tier: e.Tier, Content: body.Content, Tokens: body.Tokens, Importance: e.importance(policy, now),
		Uses: e.Uses, Created: e.Created, LastUsed: e.Last, Archived: e.Archived,
	}
}

// RetierMemory gives an agent's items the tiers of their importance now, as the
// end of each task does.
func (s *Session) RetierMemory(ctx context.Context, agent, key string) (MemoryReply, error) {
	ws := s.Workspace
	reply, receipt, err := write(ctx, ws, "memory/retier", s.ID, key, agent, func(tx *storage.Tx) (reply MemoryReply, err error) {
		t, err := s.memoryOf(tx.View(), agent)
		if err != nil {
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
	reply.Sequence = receipt.Seq
	return reply, err
}

// TierStats is what an agent has in a tier.
type TierStats struct {
	Tier   layers.Tier
	Items  int
	Tokens int64
}

// AgentStats is what an agent has.
type AgentStats struct {
	Agent    string
	Tiers    []TierStats // all three, HOT first
	Items    int
	Tokens   int64
	Archived int
}

// MemoryStats counts what an agent has; with no agent, what each agent of the
// workspace has, in the order in which they first saved something.
func (s *Session) MemoryStats(agent string) (stats []AgentStats, seq int64, err error) {
	stats = []AgentStats{}
	err = s.Workspace.view(0, func(v storage.View) error {
		seq = v.Seq()
		if agent != "" {
			t, err := s.memoryAt(v, agent)
			if err != nil {
				return err
			}
			one, err := t.stats(v)
			stats = append(stats, one)
			return err
		}
		entries, err := v.List(listAgents, 0, maxAgentsListed)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			record, ok, err := v.Latest(kindTiers, entry.ID)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			t, err := s.Workspace.tiersAt(v, record.Parent, false)
			if err != nil {
				return err
			}
			one, err := t.stats(v)
			if err != nil {
				return err
			}
			stats = append(stats, one)
		}
		return nil
	})
	return stats, seq, err
}

func (t *tiers) stats(v storage.View) (AgentStats, error) {
	out := AgentStats{Agent: t.agent}
	for _, tier := range layers.Tiers() {
		out.Tiers = append(out.Tiers, TierStats{Tier: tier})
	}
	for i := range t.items {
		e := &t.items[i]
		body, ok, err := itemOf(v, e)
		if err != nil {
			return out, err
		}
		if !ok {
			continue
		}
		at := &out.Tiers[slices.Index(layers.Tiers(), e.Tier)]
		at.Items++
		at.Tokens += int64(body.Tokens)
		out.Items++
		out.Tokens += int64(body.Tokens)
		if e.Archived {
			out.Archived++
		}
	}
	return out, nil
}
