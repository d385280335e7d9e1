package storage

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
)

// Limits of one write.
const (
	// MaxName bounds kinds, ids, names and keys, in bytes.
	MaxName = 8 << 10
	// MaxBody bounds bodies, terms, tables and replies, in bytes.
	MaxBody = 64 << 20
)

// Draft is a record that is to be written. Its slices must not be changed until
// Put returns.
type Draft struct {
	Kind, ID, Parent string
	Body             []byte
	// Lists that the record joins at their ends, if it is the first version of
	// its kind and id.
	Lists []string
	// Mentions are the names that it is found by.
	Mentions []Mention
	// Terms are kept beside the record for searching; nil for none.
	Terms []byte
}

// Tx collects what a Write puts. It belongs to the goroutine of build, and to
// build's time: later calls do nothing.
type Tx struct {
	b        *batch
	view     View
	seq      int64 // of the newest put
	puts     []put
	blobs    []StagedBlob
	counters map[string]int64 // key → new value
	bytes    int
	err      error // the first thing that cannot be written
	closed   bool
}

// put is a draft that has been encoded.
type put struct {
	key      []byte // sequence
	record   []byte // sealed
	terms    []byte // sealed; nil for none
	seq      int64
	kind, id string
	lists    []string
	mentions []Mention
}

func newTx(b *batch) *Tx {
	return &Tx{b: b, view: View{r: b.r, seq: b.state.seq}, seq: b.state.seq}
}

// View shows the state before this write, with all earlier writes. What the
// write itself puts is not in it.
func (tx *Tx) View() View {
	if tx.closed {
		return View{}
	}
	return tx.view
}

// Put writes a record and returns its sequence. What cannot be written fails the
// Write: an empty kind or id, or a part over its limit (ErrTooLarge).
func (tx *Tx) Put(d Draft) int64 {
	if tx.closed {
		return 0
	}
	if err := d.check(); err != nil {
		tx.fail(err)
	}
	if tx.err != nil {
		return 0
	}
	tx.seq++
	p := put{key: number(tx.seq), seq: tx.seq, kind: d.Kind, id: d.ID, lists: d.Lists, mentions: d.Mentions}
	p.record = sealRecord(p.key, &d)
	if d.Terms != nil {
		p.terms = sealed(bucketTerms, p.key, d.Terms)
	}
	tx.bytes += len(p.record) + len(p.terms)
	tx.puts = append(tx.puts, p)
	return tx.seq
}

func (d *Draft) check() error {
	if d.Kind == "" || d.ID == "" {
		return errors.New("put: kind or id is empty")
	}
	if len(d.Body) > MaxBody || len(d.Terms) > MaxBody {
		return fmt.Errorf("put: body or terms: %w", ErrTooLarge)
	}
	long := max(len(d.Kind), len(d.ID), len(d.Parent))
	for _, list := range d.Lists {
		long = max(long, len(list))
	}
	for _, m := range d.Mentions {
		long = max(long, len(m.Kind)+len(m.Name))
	}
	// The key of a version has kind and id, and a NUL takes two bytes in it.
	if long > MaxName || len(d.Kind)+len(d.ID) > MaxName {
		return fmt.Errorf("put: name of %d bytes: %w", long, ErrTooLarge)
	}
	return nil
}

// AddBlob makes a staged blob part of the store and tells whether it is new to
// it. A blob that is staged and never added cannot be read.
func (tx *Tx) AddBlob(blob StagedBlob) (added bool) {
	if tx.closed || tx.err != nil {
		return false
	}
	if len(blob.Ref.SHA256) != sha256.Size*2 {
		tx.fail(errors.New("add blob: it was not staged"))
		return false
	}
	for i := range tx.blobs {
		if tx.blobs[i].Ref.SHA256 == blob.Ref.SHA256 {
			return false
		}
	}
	known, err := tx.b.r.hasBlob(blob.Ref.SHA256)
	if err != nil {
		tx.fail(err)
		return false
	}
	if blob.Ref.Size > inlineBlob {
		// An erase may have removed it since it was staged.
		if _, err := tx.b.s.root.Stat(blobPath(blob.Ref.SHA256)); err != nil {
			tx.fail(fmt.Errorf("add blob: %w: %w", ErrBlobDamaged, err))
			return false
		}
	}
	tx.blobs = append(tx.blobs, blob)
	tx.bytes += len(blob.data)
	return !known
}

// Add adds to a counter, which View.Counter reads.
func (tx *Tx) Add(counter string, delta int64) {
	tx.count(counterKey(counter), delta)
}

// NextID returns prefix with the next number, from 1: "c1", "c2". A number that
// a failed write took is given again.
func (tx *Tx) NextID(prefix string) string {
	return prefix + strconv.FormatInt(tx.count(idKey(prefix), 1), 10)
}

func (tx *Tx) count(key []byte, delta int64) int64 {
	if tx.closed || tx.err != nil {
		return 0
	}
	if len(key) > MaxName {
		tx.fail(fmt.Errorf("counter: %w", ErrTooLarge))
		return 0
	}
	n, ok := tx.counters[string(key)]
	if !ok {
		var err error
		if n, err = tx.view.counter(key); err != nil {
			tx.fail(err)
			return 0
		}
	}
	n += delta
	if tx.counters == nil {
		tx.counters = map[string]int64{}
	}
	tx.counters[string(key)] = n
	return n
}

func (tx *Tx) fail(err error) {
	if tx.err == nil {
		tx.err = err
	}
}

// build runs the caller's function; a panic in it is an error.
func (tx *Tx) build(build func(*Tx) ([]byte, error)) (reply []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			tx.b.s.opts.Logf("storage: build panicked: %v\n%s", p, debug.Stack())
			err = fmt.Errorf("build panicked: %v", p)
		}
	}()
	defer func() { tx.closed = true }()
	reply, err = build(tx)
	if err == nil && len(reply) > MaxBody {
		err = fmt.Errorf("reply: %w", ErrTooLarge)
	}
	return reply, err
}

// writeKey is what the key of a write is kept under.
func writeKey(key string) []byte {
	hash := sha256.Sum256([]byte(key))
	return hash[:]
}

// apply carries a write into the transaction of bbolt. After an error the
// transaction is spoilt.
func (b *batch) apply(tx *Tx, key []byte, op Op, reply []byte) (err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	for i := range tx.puts {
		if err := b.applyPut(&tx.puts[i]); err != nil {
			return err
		}
	}
	for i := range tx.blobs {
		if err := b.applyBlob(&tx.blobs[i]); err != nil {
			return err
		}
	}
	counters := b.r.bucket(bucketCounters)
	for _, name := range slices.Sorted(maps.Keys(tx.counters)) {
		if err := counters.Put([]byte(name), sealed(bucketCounters, []byte(name), number(tx.counters[name]))); err != nil {
			return err
		}
	}
	if key != nil {
		value := make([]byte, sealSize, sealSize+len(op.Digest)+8+len(reply))
		value = append(value, op.Digest[:]...)
		value = appendNumber(value, tx.seq)
		value = seal(bucketKeys, key, append(value, reply...))
		if err := b.r.bucket(bucketKeys).Put(key, value); err != nil {
			return err
		}
	}
	if len(tx.puts) > 0 {
		if err := b.putWriter(tx.puts[0].seq, op.By); err != nil {
			return err
		}
	}
	if len(tx.puts) > 0 || len(tx.blobs) > 0 || len(tx.counters) > 0 || key != nil {
		b.dirty = true
	}
	b.state.seq = tx.seq
	b.bytes += tx.bytes + len(reply)
	return nil
}

func (b *batch) applyPut(p *put) error {
	if err := b.r.bucket(bucketRecords).Put(p.key, p.record); err != nil {
		return err
	}
	if p.terms != nil {
		if err := b.r.bucket(bucketTerms).Put(p.key, p.terms); err != nil {
			return err
		}
	}
	prefix := versionPrefix(p.kind, p.id)
	if len(p.lists) > 0 {
		known, _ := b.versions.Seek(prefix)
		if len(known) != len(prefix)+8 || !bytes.HasPrefix(known, prefix) {
			if err := b.joinLists(p); err != nil {
				return err
			}
		}
	}
	if err := b.r.bucket(bucketVersions).Put(appendNewest(prefix, p.seq), nil); err != nil {
		return err
	}
	for _, m := range p.mentions {
		if err := b.r.bucket(bucketMentions).Put(mentionKey(m, p.seq), nil); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) joinLists(p *put) error {
	for i, list := range p.lists {
		if slices.Contains(p.lists[:i], list) {
			continue
		}
		prefix := listPrefix(list)
		n, err := wholeLen(b.lists, prefix)
		if err != nil {
			return err
		}
		key := appendNumber(prefix, int64(n))
		if err := b.r.bucket(bucketLists).Put(key, sealEntry(key, ListEntry{Seq: p.seq, ID: p.id})); err != nil {
			return err
		}
	}
	return nil
}

func mentionKey(m Mention, seq int64) []byte {
	key := make([]byte, 0, len(m.Kind)+len(m.Name)+4+8)
	return appendNewest(appendName(appendName(key, m.Kind), m.Name), seq)
}
