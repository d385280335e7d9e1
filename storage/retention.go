package storage

import (
	"bytes"
	"runtime/debug"
	"time"
)

// auditSizeKey is the counter of the bytes that the audit log takes. Those of
// Tx have other first letters.
const auditSizeKey = "a"

// putAudit writes what waits into the batch, and removes what is over the log's
// bounds.
func (b *batch) putAudit() (err error) {
	b.s.audit.disarm()
	waiting, last := b.s.audit.peek()
	if len(waiting) == 0 {
		return nil
	}
	defer caught(debug.SetPanicOnFault(true), &err)
	b.dirty, b.audit = true, last
	size, now := b.auditSize(), b.auditNow()
	entries, sums := b.r.bucket(bucketAudit), b.r.bucket(bucketAuditSums)
	for i := range waiting {
		e := &waiting[i]
		key := number(e.entry)
		value := appendText(make([]byte, sealSize, sealSize+len(e.checksum)+len(e.body)+3), e.checksum)
		value = append(value, e.body...)
		size += int64(len(value))
		if err := entries.Put(key, seal(bucketAudit, key, value)); err != nil {
			return err
		}
		if e.checksum == "" {
			continue
		}
		if err := sums.Put([]byte(e.checksum), sealed(bucketAuditSums, []byte(e.checksum), key)); err != nil {
			return err
		}
	}
	if size, err = b.forgetAudit(last, size, now); err != nil {
		return err
	}
	key := []byte(auditSizeKey)
	return b.r.bucket(bucketCounters).Put(key, sealed(bucketCounters, key, number(size)))
}

// auditSize returns the bytes that the log takes. A store of an earlier program,
// or one whose counter is damaged, is measured.
func (b *batch) auditSize() int64 {
	key := []byte(auditSizeKey)
	if value := b.r.bucket(bucketCounters).Get(key); value != nil {
		if value, err := unseal(bucketCounters, key, value); err == nil && len(value) == 8 {
			return toNumber(value)
		}
	}
	size := int64(0)
	cursor := b.r.bucket(bucketAudit).Cursor()
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		size += int64(len(value))
	}
	return size
}

// auditNow is the time by which entries are old. A clock that is suddenly far ahead
// is believed when the entry before says so as well: entries that go because it
// was wrong would not come back with the right time.
func (b *batch) auditNow() int64 {
	now := b.s.opts.Now()
	if b.s.opts.AuditTime == nil {
		return now
	}
	key, value := b.r.bucket(bucketAudit).Cursor().Last()
	if key == nil {
		return now
	}
	_, body, err := openAudit(key, value)
	if err != nil {
		return now
	}
	return min(now, b.s.opts.AuditTime(body)+clockStep.Milliseconds())
}

// clockStep is how far apart two audit entries may be for the time of the second
// to be believed at once.
const clockStep = 24 * time.Hour

// forgetAudit removes the oldest entries of a log of so many bytes while it is
// over a bound, and returns the bytes that are left. It removes a bounded number
// at once: more are only there when a bound was lowered.
func (b *batch) forgetAudit(last, size, now int64) (left int64, err error) {
	opts := &b.s.opts
	entries, sums := b.r.bucket(bucketAudit), b.r.bucket(bucketAuditSums)
	for range auditWaiting + 1 {
		key, value := entries.Cursor().First()
		if key == nil || toNumber(key) >= last {
			return size, nil
		}
		checksum, body, err := openAudit(key, value)
		old := err == nil && opts.AuditTime != nil && opts.AuditTime(body) < now-opts.AuditAge.Milliseconds()
		if toNumber(key) > last-int64(opts.AuditEntries) && size <= opts.AuditBytes && !old {
			return size, nil
		}
		size -= int64(len(value))
		if err == nil && checksum != "" {
			at, err := unseal(bucketAuditSums, []byte(checksum), sums.Get([]byte(checksum)))
			if err == nil && bytes.Equal(at, key) {
				if err := sums.Delete([]byte(checksum)); err != nil {
					return size, err
				}
			}
		}
		if err := entries.Delete(bytes.Clone(key)); err != nil {
			return size, err
		}
	}
	return size, nil
}

// AuditOldest returns the oldest entry of the log that can be read; entry is 0 if
// there is none. Entries are numbered from 1, so that a larger number says that
// there were older ones.
func (v View) AuditOldest() (entry int64, body []byte) {
	if v.r.enter() != nil {
		return 0, nil
	}
	entry, body, err := v.firstAudit()
	if err != nil {
		v.failed(err)
		return 0, nil
	}
	if entry == 0 && len(v.r.pending) > 0 {
		return v.r.pending[0].entry, bytes.Clone(v.r.pending[0].body)
	}
	return entry, body
}

func (v View) firstAudit() (entry int64, body []byte, err error) {
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	cursor := v.r.bucket(bucketAudit).Cursor()
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		if _, body, err := openAudit(key, value); err == nil {
			return toNumber(key), bytes.Clone(body), nil
		}
	}
	return 0, nil, nil
}
