package session

import (
	"container/list"
	"context"
	"strings"
	"sync"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// maxThreads bounds the conversations whose pieces are kept in memory.
const maxThreads = 64

// threadCache keeps the pieces of conversations that packs were built of, that
// were shown in full, or that are likely to be (prefetch): those used last.
// A turn changes only with its conversation's version, so an entry only grows.
// The zero value is ready.
type threadCache struct {
	mu      sync.Mutex
	entries map[threadKey]*list.Element // of *thread
	recent  list.List                   // newest first
}

type threadKey struct {
	conversation, counter string
	version               int // how many edits there were
}

// thread is a conversation's pieces as far as they were read.
type thread struct {
	key threadKey

	mu      sync.Mutex
	turns   int // turns that were read
	pieces  []layers.Piece
	outputs []output
	calls   map[string]layers.ToolCall // that wait for their result, by id
}

// output is a tool output among a conversation's pieces.
type output struct {
	id      string // of its piece
	seq     int64
	attempt digest.Attempt
	until   int64 // at which its conversation ended without an error; 0 if it did not
	tried   bool  // whether there is an attempt
	about   digest.Subject
	blob    layers.BlobRef
	errors  []string // error patterns in it
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
	pieces, _, err := ws.thread(v, conversation, counter)
	return pieces, err
}

// thread returns a conversation's pieces and the tool outputs among them, as of
// a view. The caller must not change them.
func (ws *Workspace) thread(v storage.View, conversation string, counter layers.Counter) ([]layers.Piece, []output, error) {
	// The edited turn comes right behind the version that tells of it.
	before, err := v.At(max(v.Seq()-1, 0))
	if err != nil {
		return nil, nil, err
	}
	t := ws.threads.get(threadKey{conversation, counter.Name(), before.ListLen(listOfVersions(conversation))})
	t.mu.Lock()
	defer t.mu.Unlock()
	name := listOfTurns(conversation)
	if n := v.ListLen(name); n > t.turns {
		entries, err := v.List(name, t.turns, n)
		if err != nil {
			return nil, nil, err
		}
		shape, err := ws.shapeOf(v, conversation)
		if err != nil {
			return nil, nil, err
		}
		for _, entry := range entries {
			body, err := turnAt(v, entry)
			if err != nil {
				return nil, nil, err
			}
			s := ws.shaper(counter, shape.at(entry.Seq))
			t.add(s.pieces(conversation, &body.Turn, entry.Seq), &body.Turn)
		}
	}
	pieces, outputs := len(t.pieces), len(t.outputs)
	for pieces > 0 && t.pieces[pieces-1].Seq > v.Seq() {
		pieces--
	}
	for outputs > 0 && t.outputs[outputs-1].seq > v.Seq() {
		outputs--
	}
	return t.pieces[:pieces:pieces], t.outputs[:outputs:outputs], nil
}

// add appends a turn.
func (t *thread) add(pieces []layers.Piece, turn *layers.Turn) {
	t.turns++
	t.pieces = append(t.pieces, pieces...)
	for _, call := range turn.Calls {
		if t.calls == nil {
			t.calls = map[string]layers.ToolCall{}
		}
		t.calls[call.ID] = call
	}
	results := turn.Results
	for i := range pieces {
		if pieces[i].Result == nil || len(results) == 0 {
			continue
		}
		result := &results[0]
		results = results[1:]
		call, ok := t.calls[result.CallID]
		if !ok {
			call = layers.ToolCall{Name: result.Tool}
		}
		delete(t.calls, result.CallID)
		out := output{id: pieces[i].ID, seq: pieces[i].Seq, about: digest.About(call), blob: result.Blob, errors: result.Compressed.ErrorPatterns}
		out.attempt, out.tried = digest.AttemptOf(call, result)
		t.outputs = append(t.outputs, out)
	}
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
