package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hexapla/layers"
	"hexapla/storage"
)

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

// loadedAt is what is kept of a load under its key: what it gave is made again of
// that, as far as it was not forgotten since.
type loadedAt struct {
	Sequence int64 `json:"sequence"` // before the load
	Time     int64 `json:"time"`     // Unix ms
}

// LoadMemory returns items of an agent and counts their use: one small record.
func (s *Session) LoadMemory(ctx context.Context, req MemoryLoad) (LoadReply, error) {
	if err := req.check(); err != nil {
		return LoadReply{}, err
	}
	ws, now := s.Workspace, s.Workspace.opts.Now()
	if req.Peek {
		return s.peekMemory(&req, now)
	}
	if err := s.warm(&req); err != nil {
		return LoadReply{}, err
	}
	var reply LoadReply
	var t *tiers
	done, receipt, err := write(ctx, ws, "memory/load", s.ID, req.Key, req, func(tx *storage.Tx) (at loadedAt, err error) {
		v := tx.View()
		at = loadedAt{v.Seq(), now}
		if t, err = s.memoryOf(v, req.Agent); err != nil {
			return at, err
		}
		if reply, err = s.loadMemory(v, t, &req, now, ws.itemIn); err != nil || len(reply.Items) == 0 {
			return at, err
		}
		change := tiersRecord{Time: now, Used: make([]string, 0, len(reply.Items))}
		for i := range reply.Items {
			change.Used = append(change.Used, reply.Items[i].ID)
		}
		t.put(tx, change)
		return at, nil
	})
	ws.keepTiers(t, receipt, err)
	if err == nil && receipt.Repeated {
		err = ws.view(done.Sequence, func(v storage.View) error {
			t, err := s.known(v, req.Agent, tiersOf)
			if err == nil {
				reply, err = s.loadMemory(v, t, &req, done.Time, ws.itemAt)
			}
			return err
		})
	}
	if err != nil {
		return LoadReply{}, err
	}
	reply.Sequence = receipt.Seq
	return reply, nil
}

func (s *Session) peekMemory(req *MemoryLoad, now int64) (reply LoadReply, err error) {
	err = s.Workspace.view(0, func(v storage.View) error {
		t, err := s.memoryAt(v, req.Agent)
		if err == nil {
			reply, err = s.loadMemory(v, t, req, now, s.Workspace.itemAt)
		}
		reply.Sequence = v.Seq()
		return err
	})
	return reply, err
}

// warm reads what a load will ask for, so that other writes do not wait for that.
// What is wrong with the load is found by its write, which may be a repeated one.
func (s *Session) warm(req *MemoryLoad) error {
	return s.Workspace.view(0, func(v storage.View) error {
		t, err := s.memoryAt(v, req.Agent)
		if err != nil {
			return nil
		}
		wanted, err := t.wanted(req)
		if err != nil {
			return nil
		}
		for i := range t.items {
			if e := &t.items[i]; wanted(e) {
				if _, _, err := s.Workspace.itemAt(v, e); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// wanted tells which items a load asks for.
func (t *tiers) wanted(req *MemoryLoad) (func(*tierEntry) bool, error) {
	if len(req.IDs) == 0 {
		tiers := req.Tiers
		if len(tiers) == 0 {
			tiers = []layers.Tier{layers.TierHot}
		}
		return func(e *tierEntry) bool { return slices.Contains(tiers, e.Tier) }, nil
	}
	asked := make(map[string]bool, len(req.IDs))
	for i, id := range req.IDs {
		if _, ok := t.at[id]; !ok {
			return nil, &NotFoundError{Path: fmt.Sprintf("ids[%d]", i), Message: "the agent has no such item"}
		}
		asked[id] = true
	}
	return func(e *tierEntry) bool { return asked[e.ID] }, nil
}

// loadMemory reads what is asked for: as it was before this use.
func (s *Session) loadMemory(v storage.View, t *tiers, req *MemoryLoad, now int64, itemOf readItem) (LoadReply, error) {
	reply := LoadReply{Agent: t.agent, Items: []MemoryItem{}}
	wanted, err := t.wanted(req)
	if err != nil {
		return reply, err
	}
	found, err := t.read(v, s.Workspace.opts.Memory, now, wanted, itemOf)
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
func (t *tiers) read(v storage.View, policy layers.MemoryPolicy, now int64, wanted func(*tierEntry) bool, itemOf readItem) ([]MemoryItem, error) {
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
			one, err := t.stats(v, s.Workspace.itemAt)
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
			one, err := t.stats(v, s.Workspace.itemAt)
			if err != nil {
				return err
			}
			stats = append(stats, one)
		}
		return nil
	})
	return stats, seq, err
}

func (t *tiers) stats(v storage.View, itemOf readItem) (AgentStats, error) {
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
