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
	mu      sync.Mutex
	entries map[string]map[string]history.Message // by counter, then by the message's bytes
	bytes   int
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
	if c.bytes += len(raw); c.entries == nil || c.bytes > maxMessageCache {
		c.entries, c.bytes = map[string]map[string]history.Message{}, len(raw)
	}
	if c.entries[counter.Name()] == nil {
		c.entries[counter.Name()] = map[string]history.Message{}
	}
	c.entries[counter.Name()][string(raw)] = m
	return m, nil
}
