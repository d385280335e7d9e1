package storage

import (
	"errors"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// batchBytes bounds what one commit holds in memory; the write that passes it is
// the last one in.
const batchBytes = 32 << 20

// errAborted answers requests whose batch was broken off by another's build.
var errAborted = errors.New("another write ended the writer's goroutine; nothing was done")

// batch is a transaction of bbolt that several requests share.
type batch struct {
	s     *Store
	h     *handle
	tx    *bolt.Tx
	r     *reader
	state state // as it will be
	dirty bool  // there is something to commit
	bytes int
	audit int64 // newest audit entry that the batch writes
	err   error // what failed the batch as a whole
	done  []*request

	versions, lists *bolt.Cursor
}

// runBatch runs requests in one transaction, commits it and answers them.
func (s *Store) runBatch(reqs []*request) {
	b := &batch{s: s, state: s.state}
	finished, ran := false, 0
	defer func() {
		if !finished { // runtime.Goexit in a build
			b.rollback()
			s.queue.putBack(reqs[ran:])
			b.answer(errAborted)
		}
	}()
	if err := b.begin(); err != nil {
		finished = true
		b.rollback()
		for _, req := range reqs {
			if req.start() {
				req.answer(err)
			}
		}
		return
	}
	for _, req := range reqs {
		if b.bytes > batchBytes || b.err != nil {
			break
		}
		ran++
		if !req.start() {
			continue
		}
		b.done = append(b.done, req)
		req.err = req.run(b)
	}
	s.queue.putBack(reqs[ran:])
	finished = true
	b.finish()
}

func (b *batch) begin() (err error) {
	s := b.s
	if err := s.ReadOnly(); err != nil {
		return err
	}
	b.h = s.handle // only this goroutine replaces it
	if err := b.h.there(s.dataPath()); err != nil {
		return err
	}
	defer caught(debug.SetPanicOnFault(true), &err)
	if b.tx, err = b.h.begin(); err != nil {
		return err
	}
	b.r = &reader{tx: b.tx, logf: s.opts.Logf}
	b.r.pending, b.r.lastAudit = s.audit.peek()
	for bucket := range buckets {
		if bucket.appendOnly() {
			b.r.bucket(bucket).FillPercent = 0.95
		}
	}
	b.versions = b.r.bucket(bucketVersions).Cursor()
	b.lists = b.r.bucket(bucketLists).Cursor()
	return nil
}

// finish commits or gives up the batch and answers its requests.
func (b *batch) finish() {
	if b.err == nil {
		b.err = b.putAudit()
	}
	if b.err == nil {
		b.err = b.putTime()
	}
	if b.err != nil || !b.dirty {
		b.rollback()
		b.answer(b.err)
		return
	}
	b.state.commit++
	if acknowledgeEarly {
		b.answer(nil)
	}
	err := b.commit()
	if err != nil {
		err = b.s.settle(err, b.state)
	} else {
		b.s.publish(b.state)
	}
	if err == nil {
		b.s.audit.drop(b.audit)
	}
	b.answer(err)
}

// answer gives each request its result: its own error, else that of the batch.
func (b *batch) answer(err error) {
	for _, req := range b.done {
		if req.err == nil {
			req.err = err
		}
		if req.err != nil {
			req.receipt = Receipt{}
		}
		req.answer(req.err)
	}
	b.done = nil
}

func (b *batch) commit() (err error) {
	defer func() {
		b.r.done.Store(true)
		if err != nil {
			b.rollback() // bbolt did already, unless it panicked
		}
	}()
	defer caught(debug.SetPanicOnFault(true), &err)
	key := []byte(metaState)
	if err := b.r.bucket(bucketMeta).Put(key, sealed(bucketMeta, key, b.state.encode())); err != nil {
		return err
	}
	return b.s.opts.commit(b.tx)
}

// rollback ends the transaction. If bbolt panics in it, its locks stay held and
// the handle must not be used or closed any more.
func (b *batch) rollback() {
	if b.tx == nil {
		return
	}
	b.r.done.Store(true)
	err := endRead(b.tx)
	if errors.Is(err, ErrCorrupt) {
		b.h.stuck = true
		b.s.opts.Logf("storage: roll back: %v", err)
	}
}

// write runs one Write in the batch.
func (b *batch) write(req *request, op Op, build func(*Tx) ([]byte, error)) error {
	var key []byte
	if op.Key != "" {
		key = writeKey(op.Key)
		known, ok, err := b.repeated(key, op)
		if err != nil {
			return err
		}
		if ok {
			req.receipt = known
			return nil
		}
	}
	b.r.fault.Store(nil)
	tx := newTx(b)
	reply, err := tx.build(build)
	if err == nil {
		err = tx.err
	}
	if err == nil {
		err = b.r.failed() // it was told less than there is
	}
	if err != nil {
		return err
	}
	if err := b.apply(tx, key, op, reply); err != nil {
		// What was half applied cannot be taken out of the transaction.
		b.err = fmt.Errorf("apply: %w", err)
		return b.err
	}
	req.receipt = Receipt{Seq: b.state.seq, Reply: reply}
	return nil
}

// repeated returns the receipt of a write with the key if there was one.
func (b *batch) repeated(key []byte, op Op) (receipt Receipt, ok bool, err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	value := b.r.bucket(bucketKeys).Get(key)
	if value == nil {
		_, err := gap(bucketKeys, b.r.bucket(bucketKeys).Cursor(), key)
		return Receipt{}, false, err
	}
	value, err = unseal(bucketKeys, key, value)
	if err != nil || len(value) < 40 {
		return Receipt{}, false, fmt.Errorf("receipt of a write: %w", ErrDamaged)
	}
	if [32]byte(value) != op.Digest {
		return Receipt{}, false, ErrKeyReused
	}
	receipt = Receipt{Seq: toNumber(value[32:]), Repeated: true}
	if len(value) > 40 {
		receipt.Reply = append([]byte{}, value[40:]...)
	}
	return receipt, true, nil
}

func (b *batch) putTable(name string, data []byte) (err error) {
	defer func() { b.err = err }()
	defer caught(debug.SetPanicOnFault(true), &err)
	b.dirty = true
	b.bytes += len(data)
	tables, key := b.r.bucket(bucketTables), []byte(name)
	if data == nil {
		return tables.Delete(key)
	}
	return tables.Put(key, sealed(bucketTables, key, data))
}
