package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"hexapla/layers"
	"hexapla/storage"
)

// HeldItem is an item that a client holds.
type HeldItem struct {
	ID     string
	SHA256 string // of the content, in hex
}

// MemoryDiff asks what a client must change to hold what is stored.
type MemoryDiff struct {
	Agent      string        // the session's when empty
	Held       []HeldItem    // what the client holds
	Checkpoint string        // compare with what this one has instead
	Tiers      []layers.Tier // HOT when empty
}

// MemoryDiffReply is the difference.
type MemoryDiffReply struct {
	Agent     string
	Added     []MemoryItem // are not held
	Changed   []MemoryItem // are held with another content
	Removed   []string     // are held and are not in the tiers any more, in the order sent
	Unchanged int
	More      int // items of Added and Changed that are left out; ask again when the others are held
	Sequence  int64
}

// DiffMemory compares by sha256 what a client holds, or a checkpoint has, with the
// agent's items in some tiers. It is no use of them.
func (s *Session) DiffMemory(req MemoryDiff) (reply MemoryDiffReply, err error) {
	if len(req.Held) > maxItems {
		return reply, &InvalidError{Path: "held", Message: "too many items", Limit: maxItems}
	}
	if len(req.Held) > 0 && req.Checkpoint != "" {
		return reply, invalid("checkpoint", "give held or a checkpoint, not both")
	}
	if err := checkTiers("tiers", req.Tiers); err != nil {
		return reply, err
	}
	if len(req.Tiers) == 0 {
		req.Tiers = []layers.Tier{layers.TierHot}
	}
	held := make(map[string]string, len(req.Held))
	for i, item := range req.Held {
		if sum, err := hex.DecodeString(item.SHA256); err != nil || len(sum) != sha256.Size || hex.EncodeToString(sum) != item.SHA256 {
			return reply, invalid(fmt.Sprintf("held[%d].sha256", i), "must be 64 digits in lower case hex")
		}
		if _, twice := held[item.ID]; twice {
			return reply, invalid(fmt.Sprintf("held[%d].id", i), "is there twice")
		}
		held[item.ID] = item.SHA256
	}
	err = s.Workspace.view(0, func(v storage.View) error {
		t, err := s.memoryAt(v, req.Agent)
		if err != nil {
			return err
		}
		if req.Checkpoint != "" {
			if req.Held, err = s.Workspace.heldAt(v, t, req.Checkpoint, req.Tiers); err != nil {
				return err
			}
			for _, item := range req.Held {
				held[item.ID] = item.SHA256
			}
		}
		reply = MemoryDiffReply{Agent: t.agent, Added: []MemoryItem{}, Changed: []MemoryItem{}, Removed: []string{}, Sequence: v.Seq()}
		now := s.Workspace.opts.Now()
		stored, bytes := map[string]bool{}, 0
		for i := range t.items {
			e := &t.items[i]
			if !slices.Contains(req.Tiers, e.Tier) {
				continue
			}
			sum, known := held[e.ID]
			have, ok := s.Workspace.itemSums.get(e.Seq)
			if ok && known && have == sum {
				stored[e.ID] = true
				reply.Unchanged++
				continue
			}
			body, ok, err := s.Workspace.itemAt(v, e)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			stored[e.ID] = true
			to := &reply.Added
			if known {
				have = sumOf(body.Content)
				s.Workspace.itemSums.put(e.Seq, have)
				if have == sum {
					reply.Unchanged++
					continue
				}
				to = &reply.Changed
			}
			if bytes > maxLoadBytes {
				reply.More++
				continue
			}
			bytes += len(body.Content)
			*to = append(*to, e.shown(body, s.Workspace.opts.Memory, now))
		}
		for _, item := range req.Held {
			if !stored[item.ID] {
				reply.Removed = append(reply.Removed, item.ID)
			}
		}
		return nil
	})
	return reply, err
}

func (ws *Workspace) heldAt(v storage.View, t *tiers, checkpoint string, tiers []layers.Tier) (held []HeldItem, err error) {
	then, old, err := t.checkpoint(v, checkpoint)
	if err != nil {
		return nil, err
	}
	for i := range then.items {
		e := &then.items[i]
		if !slices.Contains(tiers, e.Tier) {
			continue
		}
		body, ok, err := ws.itemAt(old, e)
		if err != nil {
			return nil, err
		}
		if ok {
			held = append(held, HeldItem{e.ID, sumOf(body.Content)})
		}
	}
	return held, nil
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// itemSums keeps the SHA-256 of contents of memory items, by the sequence of their
// records, so that a diff reads only what a client does not hold.
type itemSums struct {
	mu   sync.Mutex
	sums map[int64]string
}

func (c *itemSums) get(seq int64) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum, ok := c.sums[seq]
	return sum, ok
}

// put keeps a sum. As many as two agents' items are kept; then all go.
func (c *itemSums) put(seq int64, sum string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sums == nil || len(c.sums) >= 2*maxItems {
		c.sums = map[int64]string{}
	}
	c.sums[seq] = sum
}
