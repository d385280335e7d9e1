package storage

import (
	"errors"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// Who wrote a record is kept once for all records that follow each other from
// the same writer: the writers bucket has a key for the first sequence of each
// such row. What was written before the first key, or by a program that did not
// tell, is of a writer that is not known.

// Writer returns who wrote the record of a sequence, "" if it is not known. The
// error is ErrDamaged where it cannot be read.
func (v View) Writer(seq int64) (by string, err error) {
	if err := v.r.enter(); err != nil {
		return "", err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	writers := v.r.optional(bucketWriters)
	if writers == nil {
		return "", nil
	}
	_, by, err = writerAt(writers, seq)
	return by, err
}

// writerAt returns the row that a sequence is in.
func writerAt(writers *bolt.Bucket, seq int64) (from int64, by string, err error) {
	cursor := writers.Cursor()
	key, value := cursor.Seek(number(seq + 1))
	if key == nil {
		key, value = cursor.Last()
	} else {
		key, value = cursor.Prev()
	}
	if key == nil {
		return 0, "", nil
	}
	return openWriter(key, value)
}

func openWriter(key, value []byte) (from int64, by string, err error) {
	name, err := unseal(bucketWriters, key, value)
	if err != nil || len(key) != 8 {
		return 0, "", fmt.Errorf("writer: %w", errors.Join(ErrDamaged, err))
	}
	return toNumber(key), string(name), nil
}

// optional returns a bucket that came later, nil in a store that has none yet.
func (r *reader) optional(b bucket) *bolt.Bucket {
	if r.tx.Bucket([]byte(b.String())) == nil {
		return nil
	}
	return r.bucket(b)
}

// putWriter notes who wrote the records from a sequence on.
func (b *batch) putWriter(from int64, by string) error {
	if len(by) > MaxName {
		by = by[:MaxName]
	}
	writers := b.r.optional(bucketWriters)
	if writers == nil {
		if by == "" {
			return nil
		}
		var err error
		if writers, err = b.tx.CreateBucketIfNotExists([]byte(bucketWriters.String())); err != nil {
			return err
		}
	}
	_, before, err := writerAt(writers, from)
	if err == nil && before == by {
		return nil
	}
	key := number(from)
	return writers.Put(key, sealed(bucketWriters, key, []byte(by)))
}

func (v *verifier) writers(newest int64) error {
	if v.r.optional(bucketWriters) == nil {
		return nil
	}
	return v.each(bucketWriters, func(key, value []byte) error {
		from, _, err := openWriter(key, value)
		if err == nil && (from < 1 || from > newest) {
			err = fmt.Errorf("sequence %d, the newest is %d", from, newest)
		}
		return err
	})
}
