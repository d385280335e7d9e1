package storage

import (
	"errors"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// Commits are found by their time: the times bucket has a key for each commit
// that brought a sequence, its time and its newest sequence. Times never fall
// from one commit to the next, whatever the clock does, so both parts of the keys
// rise together. What a program wrote that did not note times counts as of the
// next commit whose time is known.

// SeqAt returns the newest sequence of the snapshot that was committed at or
// before a time in Unix milliseconds. The error is ErrNotFound when there is
// none whose time is known; it names the first that is.
func (sn *Snapshot) SeqAt(ms int64) (seq int64, err error) {
	if err := sn.r.enter(); err != nil {
		return 0, err
	}
	defer sn.r.exit(debug.SetPanicOnFault(true), &err)
	none := fmt.Errorf("sequence of a time: %w", ErrNotFound)
	times := sn.r.times()
	if times == nil || ms < 0 {
		return 0, none
	}
	cursor := times.Cursor()
	key, value := cursor.Seek(number(ms + 1))
	if key == nil {
		key, value = cursor.Last()
	} else {
		key, value = cursor.Prev()
	}
	for key != nil {
		_, seq, err := openTime(key, value)
		if err != nil {
			return 0, fmt.Errorf("sequence of a time: %w", ErrDamaged)
		}
		if seq <= sn.seq { // the transaction may see a commit that is not told yet
			return seq, nil
		}
		key, value = cursor.Prev()
	}
	return 0, none
}

// times returns the bucket, nil where no commit has noted its time yet: a store
// of an earlier program gets it with its next write.
func (r *reader) times() *bolt.Bucket {
	return r.optional(bucketTimes)
}

// putTime notes when the batch is committed, if it brings a sequence.
func (b *batch) putTime() (err error) {
	if b.state.seq == b.s.state.seq {
		return nil
	}
	defer caught(debug.SetPanicOnFault(true), &err)
	times, err := b.tx.CreateBucketIfNotExists([]byte(bucketTimes.String()))
	if err != nil {
		return err
	}
	times.FillPercent = 0.95
	now := max(b.s.opts.Now(), 0)
	if last, _ := times.Cursor().Last(); len(last) == 16 {
		now = max(now, toNumber(last)) // damaged or not, it is what must not be passed
	}
	key := appendNumber(number(now), b.state.seq)
	return times.Put(key, sealed(bucketTimes, key, nil))
}

func openTime(key, value []byte) (ms, seq int64, err error) {
	if _, err := unseal(bucketTimes, key, value); err != nil || len(key) != 16 {
		return 0, 0, errors.Join(errSeal, err)
	}
	return toNumber(key[:8]), toNumber(key[8:]), nil
}

// lastDay returns the day of the newest commit whose time is known, in days since
// 1970; 0 if there is none.
func lastDay(h *handle) (day int64, err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	tx, err := h.db.Begin(false)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	times := tx.Bucket([]byte(bucketTimes.String()))
	if times == nil {
		return 0, nil
	}
	last, _ := times.Cursor().Last()
	if len(last) != 16 {
		return 0, nil
	}
	return toNumber(last[:8]) / dayMillis, nil
}
