package session

import (
	"sync"

	"hexapla/layers"
	"hexapla/layers/history"
)

// maxMessageCache is how many bytes of messages are remembered with what was
// read and counted of them; a full cache is emptied.
const maxMessageCache = 16 << 20

// messageCache remembers what was read of messages: a client sends the same list
// again and again, a little longer each time. The zero value is ready.
type messageCache struct {
	mu       sync.Mutex
	entries  map[string]map[string]history.Message // by counter, then by the message's bytes
	archived map[string]string                     // names of messages that are archived, by their bytes
	bytes    int
}

// read reads a message. The error is answer.ErrMessage; one that is larger than
// any text may be is not read.
func (c *messageCache) read(raw []byte, counter layers.Counter) (history.Message, error) {
	c.mu.Lock()
	m, ok := c.entries[counter.Name()][string(raw)]
	c.mu.Unlock()
	if ok {
		return m, nil
	}
	if len(raw) > maxTextSize {
		return m, &TooLargeError{Path: "messages", Limit: maxTextSize}
	}
	m, err := history.Read(raw, counter)
	if err != nil || len(raw) > maxMessageCache/4 {
		return m, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take(len(raw))
	if c.entries[counter.Name()] == nil {
		c.entries[counter.Name()] = map[string]history.Message{}
	}
	c.entries[counter.Name()][string(raw)] = m
	return m, nil
}

// take makes room for the bytes of a message.
func (c *messageCache) take(bytes int) {
	if c.bytes += bytes; c.entries == nil || c.bytes > maxMessageCache {
		c.entries, c.archived, c.bytes = map[string]map[string]history.Message{}, map[string]string{}, bytes
	}
}

// archivedAs returns the name of a message that is known to be archived.
func (c *messageCache) archivedAs(raw []byte) (id string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, ok = c.archived[string(raw)]
	return id, ok
}

// archivedNow notes that a message is archived on disk.
func (c *messageCache) archivedNow(raw []byte, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.archived[string(raw)]; known || len(raw) > maxMessageCache/4 {
		return
	}
	c.take(len(raw))
	c.archived[string(raw)] = id
}
