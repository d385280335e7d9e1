package storage

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// auditDelay is how long an audit entry waits for a commit to join.
	auditDelay = 100 * time.Millisecond
	// Bounds of what waits, which only matter while the disk refuses writes.
	auditWaiting      = 4096
	auditWaitingBytes = 64 << 20
	// maxAuditBody and maxChecksum bound one entry, in bytes.
	maxAuditBody = 16 << 20
	maxChecksum  = 1 << 10
	// pageAudit is how many entries are read before the callback runs.
	pageAudit = 64
)

// auditEntry is one entry of the audit log.
type auditEntry struct {
	entry    int64
	checksum string
	body     []byte
}

// auditQueue holds the entries that are not on disk yet. Their numbers follow
// each other.
type auditQueue struct {
	mu      sync.Mutex
	last    int64 // newest number
	waiting []auditEntry
	bytes   int
	armed   bool // a flush has been called for
}

// AppendAudit adds an entry to the audit log, to be found by its checksum. It
// does not wait: the entry is in every snapshot that is taken from now on, and
// on disk with the next commit or about 100 ms later. A crash before that loses
// it. The log keeps its newest entries (Options.AuditEntries and what follows it).
// A store that takes no writes drops the entry.
func (s *Store) AppendAudit(checksum string, body []byte) {
	if len(body) > maxAuditBody || len(checksum) > maxChecksum {
		s.opts.Logf("storage: audit entry of %d bytes dropped", len(body))
		return
	}
	if s.ReadOnly() != nil {
		s.opts.Logf("storage: audit entry dropped, the store is read-only")
		return
	}
	a := &s.audit
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	a.waiting = append(a.waiting, auditEntry{a.last, checksum, bytes.Clone(body)})
	a.bytes += len(body)
	dropped := 0
	for len(a.waiting) > auditWaiting || a.bytes > auditWaitingBytes {
		a.bytes -= len(a.waiting[0].body)
		a.waiting = a.waiting[1:]
		dropped++
	}
	if dropped > 0 {
		s.opts.Logf("storage: %d audit entries dropped, the disk does not take them", dropped)
	}
	if !a.armed {
		a.armed = true
		time.AfterFunc(auditDelay, s.queue.wake)
	}
}

// peek returns what waits and the newest number. The slice is not changed later.
func (a *auditQueue) peek() ([]auditEntry, int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting[:len(a.waiting):len(a.waiting)], a.last
}

// drop forgets entries up to a number, which are on disk.
func (a *auditQueue) drop(last int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for n < len(a.waiting) && a.waiting[n].entry <= last {
		a.bytes -= len(a.waiting[n].body)
		n++
	}
	a.waiting = append([]auditEntry(nil), a.waiting[n:]...)
}

// disarm lets the next entry call for a flush again.
func (a *auditQueue) disarm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.armed = false
}

// flushAudit writes what waits, when the store is closed.
func (s *Store) flushAudit() {
	s.runBatch(nil)
	if waiting, _ := s.audit.peek(); len(waiting) > 0 {
		s.opts.Logf("storage: %d audit entries were not written", len(waiting))
	}
}

// openAudit decodes an entry; body aliases value.
func openAudit(key, value []byte) (checksum string, body []byte, err error) {
	value, err = unseal(bucketAudit, key, value)
	if err != nil || len(key) != 8 {
		return "", nil, fmt.Errorf("audit entry: %w", ErrDamaged)
	}
	text, body, ok := cutText(value)
	if !ok {
		return "", nil, fmt.Errorf("audit entry: %w", ErrDamaged)
	}
	return string(text), body, nil
}

// lastAudit returns the number of the newest entry, 0 if there is none.
func lastAudit(h *handle) (entry int64, err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	tx, err := h.db.Begin(false)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	key, _ := tx.Bucket([]byte(bucketAudit.String())).Cursor().Last()
	if len(key) != 8 {
		return 0, nil
	}
	return toNumber(key), nil
}

// AuditRange calls fn for entries with a number below before, 0 meaning all,
// newest first, until fn returns false or limit entries were given, 0 meaning no
// limit. Damaged entries are left out.
func (v View) AuditRange(before int64, limit int, fn func(entry int64, body []byte) bool) {
	if v.r.enter() != nil {
		return
	}
	if before <= 0 || before > v.r.lastAudit+1 {
		before = v.r.lastAudit + 1
	}
	given := 0
	give := func(e auditEntry) bool {
		given++
		return fn(e.entry, e.body) && (limit <= 0 || given < limit)
	}
	for i := len(v.r.pending) - 1; i >= 0; i-- {
		e := v.r.pending[i]
		if e.entry >= before {
			continue
		}
		before = e.entry
		e.body = bytes.Clone(e.body)
		if !give(e) {
			return
		}
	}
	for {
		page, next, err := v.auditPage(before)
		if err != nil {
			v.failed(err)
			return
		}
		for _, e := range page {
			if !give(e) {
				return
			}
		}
		if next == 0 {
			return
		}
		before = next
	}
}

// auditPage reads entries below a number, newest first. next is the number to go
// on below, 0 at the end.
func (v View) auditPage(before int64) (page []auditEntry, next int64, err error) {
	if err := v.r.enter(); err != nil {
		return nil, 0, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	cursor := v.r.bucket(bucketAudit).Cursor()
	key, value := cursor.Seek(number(before))
	if key == nil {
		key, value = cursor.Last()
	} else {
		key, value = cursor.Prev()
	}
	next = before
	for range pageAudit {
		if len(key) != 8 || toNumber(key) >= next {
			return page, 0, nil // the end, or damaged pages that lead in a circle
		}
		next = toNumber(key)
		if checksum, body, err := openAudit(key, value); err != nil {
			v.r.warn("audit entry %d is damaged", next)
		} else {
			page = append(page, auditEntry{next, checksum, bytes.Clone(body)})
		}
		key, value = cursor.Prev()
	}
	return page, next, nil
}

// AuditByChecksum returns the newest entry with a checksum.
func (v View) AuditByChecksum(checksum string) (entry int64, body []byte, ok bool) {
	if v.r.enter() != nil || checksum == "" || len(checksum) > maxChecksum {
		return 0, nil, false
	}
	for i := len(v.r.pending) - 1; i >= 0; i-- {
		if e := v.r.pending[i]; e.checksum == checksum {
			return e.entry, bytes.Clone(e.body), true
		}
	}
	entry, body, err := v.auditBySum(checksum)
	if err != nil {
		v.r.warn("audit entry by checksum: %v", err)
		return 0, nil, false
	}
	return entry, body, entry > 0
}

func (v View) auditBySum(checksum string) (entry int64, body []byte, err error) {
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	sealed := v.r.bucket(bucketAuditSums).Get([]byte(checksum))
	if sealed == nil {
		return 0, nil, nil
	}
	key, err := unseal(bucketAuditSums, []byte(checksum), sealed)
	if err != nil || len(key) != 8 {
		return 0, nil, fmt.Errorf("checksum: %w", ErrDamaged)
	}
	found, text, err := openAudit(key, v.r.bucket(bucketAudit).Get(key))
	if err != nil {
		return 0, nil, err
	}
	if found != checksum {
		return 0, nil, fmt.Errorf("checksum: %w", ErrDamaged)
	}
	return toNumber(key), bytes.Clone(text), nil
}
