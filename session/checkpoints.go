package session

import (
	"context"
	"fmt"
	"slices"

	"hexapla/layers"
	"hexapla/storage"
)

// checkpointRecord is the body of a checkpoint: the agent's memory as of the
// record's own sequence. What it counts is for lists of checkpoints.
type checkpointRecord struct {
	Agent    string `json:"agent"`
	Time     int64  `json:"time"` // Unix ms
	Hot      int    `json:"hot"`
	Warm     int    `json:"warm"`
	Cold     int    `json:"cold"`
	Archived int    `json:"archived"` // by this flash save
}

func listOfCheckpoints(agent string) string { return "checkpoints/" + agent }

// FlashSave asks for a checkpoint of an agent's memory.
type FlashSave struct {
	Agent string      `json:"agent,omitempty"` // the session's when empty
	Items []ItemDraft `json:"items,omitempty"` // to be saved in the same write
	// Tokens is what the agent's context takes of Limit. A save that is not due yet
	// writes nothing. With no limit it is always due.
	Tokens int    `json:"tokens,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Key    string `json:"-"`
}

// FlashReply is the receipt of a flash save.
type FlashReply struct {
	Due        bool
	Percent    int // of the limit; 0 where none was given
	Checkpoint Checkpoint
	Items      []SavedItem  // as they were sent
	Hot        []MemoryItem // to go on with
	Change     *MemoryChange
	Sequence   int64 `json:"-"`
}

// Checkpoint is a state of an agent's memory that can be had again.
type Checkpoint struct {
	ID       string
	Time     int64 // Unix ms
	Hot      int
	Warm     int
	Cold     int
	Archived int // by the flash save that made it
	Sequence int64
}

// maxContext bounds the tokens of a context and of its limit.
const maxContext = 1_000_000_000

// FlashSaveMemory saves what the agent holds, gives all items their tiers, archives
// the COLD ones, and makes a checkpoint of that: one write, all of it or nothing.
func (s *Session) FlashSaveMemory(ctx context.Context, req FlashSave) (FlashReply, error) {
	ws, reply := s.Workspace, FlashReply{Due: true}
	switch {
	case req.Tokens < 0 || req.Tokens > maxContext:
		return reply, &InvalidError{Path: "tokens", Message: fmt.Sprintf("must be from 0 to %d", maxContext), Limit: maxContext}
	case req.Limit < 0 || req.Limit > maxContext:
		return reply, &InvalidError{Path: "limit", Message: fmt.Sprintf("must be from 0 to %d", maxContext), Limit: maxContext}
	case req.Tokens > 0 && req.Limit == 0:
		return reply, invalid("limit", "is missing: tokens alone do not tell how full a context is")
	}
	save := MemorySave{Agent: req.Agent, Items: req.Items}
	if len(req.Items) > 0 {
		if err := save.check(ws.opts.Memory); err != nil {
			return reply, err
		}
	}
	if req.Limit > 0 {
		reply.Percent = int(int64(req.Tokens) * 100 / int64(req.Limit))
		reply.Due = reply.Percent >= ws.opts.Memory.FlashPercent
	}
	if !reply.Due {
		err := ws.view(0, func(v storage.View) error {
			t, err := s.memoryOf(v, req.Agent)
			if err == nil {
				reply.Change, reply.Sequence = t.changed(nil), v.Seq()
			}
			return err
		})
		return reply, err
	}
	percent := reply.Percent
	tokens := save.count(ws.standard())
	var t *tiers
	reply, receipt, err := write(ctx, ws, "memory/flashSave", s.ID, req.Key, req, func(tx *storage.Tx) (reply FlashReply, err error) {
		reply, t, err = s.flashSave(tx, &save, tokens)
		reply.Percent = percent
		return reply, err
	})
	ws.keepTiers(t, receipt, err)
	reply.Sequence = receipt.Seq
	return reply, err
}

func (s *Session) flashSave(tx *storage.Tx, save *MemorySave, tokens []int) (reply FlashReply, t *tiers, err error) {
	v, policy, now := tx.View(), s.Workspace.opts.Memory, s.Workspace.opts.Now()
	reply = FlashReply{Due: true, Hot: []MemoryItem{}}
	t, err = s.memoryOf(v, save.Agent)
	if len(save.Items) > 0 { // which makes an agent known
		var saved MemoryReply
		if saved, t, err = s.saveMemory(tx, save, tokens); err == nil {
			reply.Items = saved.Items
		}
	}
	if err != nil {
		return reply, t, err
	}
	sent := make(map[string]int, len(reply.Items))
	for i, item := range reply.Items {
		sent[item.ID] = i
	}
	moved, _ := t.retier(policy, now)
	for _, move := range moved {
		t.items[t.at[move.ID]].Tier = move.To
	}
	ck := checkpointRecord{Agent: t.agent, Time: now}
	for i := range t.items {
		e := &t.items[i]
		switch e.Tier {
		case layers.TierHot:
			body, ok := itemRecord{}, true
			if k, now := sent[e.ID]; now { // which the view does not show yet
				body.Content, body.Tokens = save.Items[k].Content, tokens[k]
			} else if body, ok, err = s.Workspace.itemIn(v, e); err != nil {
				return reply, t, err
			}
			if ok {
				reply.Hot = append(reply.Hot, e.shown(body, policy, now))
			}
		case layers.TierCold:
			if !e.Archived {
				e.Archived = true
				ck.Archived++
			}
		}
	}
	reply.Change = t.changed(moved)
	ck.Hot, ck.Warm, ck.Cold = reply.Change.Hot, reply.Change.Warm, reply.Change.Cold
	t.put(tx, tiersRecord{Whole: true, Time: now, Set: slices.Clone(t.items)})
	id := tx.NextID("k")
	seq := tx.Put(storage.Draft{Kind: kindCheckpoint, ID: id, Parent: t.agent, Body: encode(ck), Lists: []string{listOfCheckpoints(t.agent)}})
	reply.Checkpoint = ck.shown(id, seq)
	reply.Hot = reply.Hot[:loadable(reply.Hot)]
	return reply, t, nil
}

func (c *checkpointRecord) shown(id string, seq int64) Checkpoint {
	return Checkpoint{ID: id, Time: c.Time, Hot: c.Hot, Warm: c.Warm, Cold: c.Cold, Archived: c.Archived, Sequence: seq}
}

// Limits of lists of checkpoints.
const (
	defaultCheckpoints = 50
	maxCheckpoints     = 1000
)

// Checkpoints lists an agent's checkpoints, newest first, and how many there are.
func (s *Session) Checkpoints(agent string, limit int) (list []Checkpoint, total int, seq int64, err error) {
	switch {
	case limit < 0 || limit > maxCheckpoints:
		return nil, 0, 0, &InvalidError{Path: "limit", Message: fmt.Sprintf("must be from 0 to %d", maxCheckpoints), Limit: maxCheckpoints}
	case limit == 0:
		limit = defaultCheckpoints
	}
	list = []Checkpoint{}
	err = s.Workspace.view(0, func(v storage.View) error {
		seq = v.Seq()
		t, err := s.memoryAt(v, agent)
		if err != nil {
			return err
		}
		total = v.ListLen(listOfCheckpoints(t.agent))
		entries, err := v.List(listOfCheckpoints(t.agent), total-limit, total)
		if err != nil {
			return err
		}
		for _, entry := range slices.Backward(entries) {
			body, at, ok, err := latest[checkpointRecord](v, kindCheckpoint, entry.ID)
			if err != nil {
				return err
			}
			if ok {
				list = append(list, body.shown(entry.ID, at))
			}
		}
		return v.Err()
	})
	return list, total, seq, err
}

// checkpoint returns an agent's memory as of a checkpoint, and the view of then.
func (t *tiers) checkpoint(v storage.View, id string) (*tiers, storage.View, error) {
	body, seq, ok, err := latest[checkpointRecord](v, kindCheckpoint, id)
	if err == nil && (!ok || body.Agent != t.agent) {
		err = &NotFoundError{Path: "checkpoint", Message: "the agent has no such checkpoint"}
	}
	if err != nil {
		return nil, v, err
	}
	if v, err = v.At(seq); err != nil {
		return nil, v, err
	}
	then, err := tiersOf(v, t.agent)
	return then, v, err
}

// RestoreMemory puts an agent's memory back to what it was at a checkpoint: items
// that were removed or changed since are as they were, those that came since go.
// Older checkpoints and the one of now stay, so that it can be taken back. What was
// forgotten does not come back.
func (s *Session) RestoreMemory(ctx context.Context, agent, checkpoint, key string) (MemoryReply, error) {
	ws := s.Workspace
	reply, receipt, err := write(ctx, ws, "memory/restore", s.ID, key, []string{agent, checkpoint}, func(tx *storage.Tx) (reply MemoryReply, err error) {
		v := tx.View()
		t, err := s.memoryOf(v, agent)
		if err != nil {
			return reply, err
		}
		then, old, err := t.checkpoint(v, checkpoint)
		if err != nil {
			return reply, err
		}
		change := tiersRecord{Whole: true, Time: ws.opts.Now()}
		for _, e := range then.items {
			body, ok, err := itemOf(old, &e)
			if err != nil {
				return reply, err
			}
			if !ok {
				continue
			}
			if at, kept := t.at[e.ID]; !kept || t.items[at].Seq != e.Seq {
				e.Seq = tx.Put(storage.Draft{Kind: kindItem, ID: e.ID, Body: encode(body)})
			}
			change.Set = append(change.Set, e)
		}
		for _, e := range t.items {
			if _, kept := then.at[e.ID]; !kept {
				reply.Removed++
				tx.Put(storage.Draft{Kind: kindItem, ID: e.ID, Body: encode(itemRecord{Agent: t.agent, Type: e.Type, Created: e.Created, Removed: true})})
			}
		}
		var moved []TierMove
		for _, e := range change.Set {
			if at, ok := t.at[e.ID]; ok && t.items[at].Tier != e.Tier {
				moved = append(moved, TierMove{e.ID, t.items[at].Tier, e.Tier})
			}
		}
		t.put(tx, change)
		reply.Change = t.changed(moved)
		return reply, nil
	})
	reply.Sequence = receipt.Seq
	return reply, err
}
