package retrieval

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"hexapla/index/vectorlog"
	"hexapla/retrieval/vectors"
	"hexapla/storage"
)

// Encoder makes vectors of texts. The same text has the same vector on every
// machine.
type Encoder interface {
	// ID names what vectors depend on besides the text.
	ID() string
	// Dimensions of a vector.
	Dimensions() int
	// Embed returns a text's vector; it takes some milliseconds to 100.
	Embed(ctx context.Context, text string) ([]float32, error)
}

// EncoderOptions let an Engine compare turns with the query by an Encoder, as far
// as it has embedded them.
type EncoderOptions struct {
	// Await returns the Encoder when it can be used, or nil if there is none.
	Await func(ctx context.Context) Encoder
	// Dir is where vectors are kept.
	Dir string
	// Text is what a turn says; false if it says nothing.
	Text func(storage.Record) (string, bool)
	// Now is in Unix milliseconds: vectors of queries are kept for five minutes.
	Now func() int64
}

// encoding is an Encoder with the vectors that it has made.
type encoding struct {
	encoder Encoder
	options *EncoderOptions
	store   *storage.Store
	log     *vectorlog.Log
	queries queryCache

	advancing sync.Mutex
}

// RunEncoder embeds the turns of the store with Options.Encoder until ctx ends,
// and then closes the file of vectors. Without an encoder it returns at once.
// Searches go by built-in word vectors until it has come up to their view.
func (e *Engine) RunEncoder(ctx context.Context) error {
	o := e.options.Encoder
	if o.Await == nil {
		return nil
	}
	encoder := o.Await(ctx)
	if encoder == nil {
		return ctx.Err()
	}
	log, err := vectorlog.Open(vectorlog.Options{
		Dir: o.Dir, StoreUUID: e.store.UUID(), Model: encoder.ID(), Dimensions: encoder.Dimensions(), Logf: e.options.Logf,
	})
	if err != nil {
		e.options.Logf("retrieval: %v; turns are compared by built-in vectors", err)
		return err
	}
	defer log.Close()
	n := &encoding{encoder: encoder, options: &o, store: e.store, log: log, queries: queryCache{now: o.Now}}
	if log.Watermark() > e.store.Seq() {
		// An older copy of the store has been put back.
		if err := log.Purge(); err != nil {
			e.options.Logf("retrieval: %v", err)
			return err
		}
	}
	e.encoding.Store(n)
	defer e.encoding.Store(nil)
	for {
		changed := e.store.Changed()
		if _, err := n.advance(ctx, e.store.Seq(), false); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			e.options.Logf("retrieval: embed turns: %v; from here on they are compared by built-in vectors", err)
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			if err := pause(ctx, coalesce); err != nil {
				return err
			}
		}
	}
}

// Encoded tells up to which sequence turns have vectors of the encoder, and its
// name; "" if there is none.
func (e *Engine) Encoded() (model string, watermark int64) {
	n := e.encoding.Load()
	if n == nil {
		return "", 0
	}
	return n.encoder.ID(), n.log.Watermark()
}

// How turns are embedded.
const (
	embedSpan  = 256 // sequences that are looked through at once
	embedTurns = 8   // embedded and kept together; so many a search embeds itself, where they were just recorded
)

// turnText is a turn that is to be embedded.
type turnText struct {
	seq  int64
	text string
}

// advance embeds the turns up to a sequence, and tells whether it got there. With
// inline it does so only if there are few.
func (n *encoding) advance(ctx context.Context, to int64, inline bool) (bool, error) {
	for {
		from := n.log.Watermark()
		if from >= to {
			return true, nil
		}
		if inline && to-from > embedSpan {
			return false, nil
		}
		turns, end, err := n.turns(ctx, from, min(from+embedSpan, to))
		if err != nil || inline && end < to {
			return false, err
		}
		if err := n.embed(ctx, turns, from, end); err != nil {
			return false, err
		}
	}
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

// turns returns the first embedTurns turns above a sequence, and up to where they
// are all.
func (n *encoding) turns(ctx context.Context, from, to int64) (all []turnText, end int64, err error) {
	end = to
	err = n.store.Scan(ctx, from, to, func(r storage.Record, _ []byte) error {
		if r.Kind != kindTurn || r.Damaged {
			return nil
		}
		if text, ok := n.options.Text(r); ok {
			if len(all) == embedTurns {
				end = all[len(all)-1].seq
				return errEnough
			}
			all = append(all, turnText{r.Seq, text})
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return all, end, err
}

// embed appends the vectors of the turns between two sequences, unless that has
// been done meanwhile.
func (n *encoding) embed(ctx context.Context, turns []turnText, from, end int64) error {
	n.advancing.Lock()
	defer n.advancing.Unlock()
	if n.log.Watermark() != from {
		return nil
	}
	rows := make([]vectorlog.Row, 0, len(turns))
	for _, t := range turns {
		v, err := n.encoder.Embed(ctx, t.text)
		if err != nil {
			return err
		}
		if q, ok := vectors.Quantise(v); ok {
			rows = append(rows, vectorlog.Row{Seq: t.seq, Square: vectors.Square(q), Vector: q})
		}
	}
	return n.log.Append(rows, end)
}

// query returns the vector of a query; nil if it has none.
func (n *encoding) query(ctx context.Context, text string) (vectors.Vector, error) {
	if v, ok := n.queries.get(text); ok {
		return v, nil
	}
	numbers, err := n.encoder.Embed(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("embed query: %w", err)
	}
	v, _ := vectors.Quantise(numbers)
	n.queries.put(text, v)
	return v, nil
}

// Bounds of the cache of queries.
const (
	queryLife  = 5 * 60_000 // ms
	maxQueries = 256
)

// queryCache keeps the vectors of queries for a while: the same query is asked
// again with other parameters.
type queryCache struct {
	now func() int64

	mu    sync.Mutex
	known map[string]cachedQuery
	order []string // of known, the oldest first
}

type cachedQuery struct {
	vector vectors.Vector
	until  int64
}

func (c *queryCache) get(text string) (vectors.Vector, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	q, ok := c.known[text]
	return q.vector, ok
}

func (c *queryCache) put(text string, v vectors.Vector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	if _, ok := c.known[text]; ok {
		return
	}
	if len(c.order) == maxQueries {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
	if c.known == nil {
		c.known = make(map[string]cachedQuery)
	}
	c.known[text] = cachedQuery{v, c.now() + queryLife}
	c.order = append(c.order, text)
}

// expire must be called with mu held. All live equally long, so that the oldest
// go first.
func (c *queryCache) expire() {
	now := c.now()
	for len(c.order) > 0 {
		// A clock that was put back ends nothing before its time by much.
		if until := c.known[c.order[0]].until; now < until && now >= until-queryLife {
			return
		}
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
}
