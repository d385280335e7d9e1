package session

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"hexapla/layers"
	"hexapla/storage"
)

// maxThreads bounds the conversations whose pieces are kept in memory.
const maxThreads = 64

// threadCache keeps the pieces of conversations that packs were built of.
// Turns never change, so an entry only grows. The zero value is ready.
type threadCache struct {
	mu      sync.Mutex
	entries map[threadKey]*list.Element // of *thread
	recent  list.List                   // newest first
}

type threadKey struct{ conversation, counter string }

// thread is a conversation's pieces as far as they were read.
type thread struct {
	key threadKey

	mu     sync.Mutex
	turns  int // turns that were read
	pieces []layers.Piece
}

func (c *threadCache) get(key threadKey) *thread {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[threadKey]*list.Element{}
	}
	if e, ok := c.entries[key]; ok {
		c.recent.MoveToFront(e)
		return e.Value.(*thread)
	}
	t := &thread{key: key}
	c.entries[key] = c.recent.PushFront(t)
	for c.recent.Len() > maxThreads {
		oldest := c.recent.Back()
		delete(c.entries, oldest.Value.(*thread).key)
		c.recent.Remove(oldest)
	}
	return t
}

// pieces returns a conversation's pieces as of a view. The caller must not
// change them.
func (ws *Workspace) pieces(v storage.View, conversation string, counter layers.Counter) ([]layers.Piece, error) {
	t := ws.threads.get(threadKey{conversation, counter.Name()})
	t.mu.Lock()
	defer t.mu.Unlock()
	name := listOfTurns(conversation)
	if n := v.ListLen(name); n > t.turns {
		entries, err := v.List(name, t.turns, n)
		if err != nil {
			return nil, err
		}
		s := &shaper{counter: counter, policy: ws.opts.Policy, read: ws.readText}
		for _, entry := range entries {
			record, err := v.Get(entry.Seq)
			if err != nil {
				return nil, err
			}
			var body turnRecord
			if err := json.Unmarshal(record.Body, &body); err != nil {
				return nil, fmt.Errorf("read turn %q: %w", entry.ID, err)
			}
			t.pieces = append(t.pieces, s.pieces(conversation, &body.Turn, entry.Seq)...)
			t.turns++
		}
	}
	end := len(t.pieces)
	for end > 0 && t.pieces[end-1].Seq > v.Seq() {
		end--
	}
	return t.pieces[:end:end], nil
}

// readText returns a tool output as text that can stand in a pack.
func (ws *Workspace) readText(ref layers.BlobRef) (string, bool) {
	data, _, err := ws.store.ReadBlob(context.Background(), ref.SHA256, 0, maxTextSize)
	if err != nil {
		ws.opts.Logf("workspace %s: blob %.12s: %v", ws.ID, ref.SHA256, err)
		return "", false
	}
	return strings.ReplaceAll(asText(string(data)), "\r\n", "\n"), true
}
