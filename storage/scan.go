package storage

import (
	"bytes"
	"context"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// A page of a scan: what is read before the callback runs.
const (
	pageRecords = 256
	pageBytes   = 1 << 20
)

// Scan calls fn with the records from < Seq ≤ to in the order of sequences, with
// their terms, nil if they have none. A damaged record is given with its
// sequence alone and marked; a scan never ends because of one. fn's error ends
// the scan and is returned. fn may keep what it is given.
func (v View) Scan(from, to int64, fn func(record Record, terms []byte) error) error {
	to = min(to, v.seq)
	for from < to {
		page, err := v.page(from, to)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		for i := range page {
			if err := fn(page[i].record, page[i].terms); err != nil {
				return err
			}
		}
		from = page[len(page)-1].record.Seq
	}
	return nil
}

// Scan is View.Scan without a snapshot that lasts: each page is read in one of
// its own. Records do not change, so the result is the same.
func (s *Store) Scan(ctx context.Context, from, to int64, fn func(record Record, terms []byte) error) error {
	to = min(to, s.seq.Load())
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		snapshot, err := s.Snapshot()
		if err != nil {
			return err
		}
		page, err := snapshot.View().page(from, to)
		snapshot.Release()
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		for i := range page {
			if err := fn(page[i].record, page[i].terms); err != nil {
				return err
			}
		}
		from = page[len(page)-1].record.Seq
	}
	return nil
}

// scanned is one record of a page.
type scanned struct {
	record Record
	terms  []byte
}

func (v View) page(from, to int64) (page []scanned, err error) {
	if err := v.r.enter(); err != nil {
		return nil, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	records := v.r.bucket(bucketRecords).Cursor()
	terms := walker{cursor: v.r.bucket(bucketTerms).Cursor()}
	size := 0
	last := max(from, 0)
	key, value := records.Seek(number(last + 1))
	for key != nil && len(page) < pageRecords && size < pageBytes {
		if len(key) != 8 {
			return nil, corrupt("key of a record has %d bytes", len(key))
		}
		seq := toNumber(key)
		if seq > to {
			break
		}
		if seq <= last { // damaged pages may lead in a circle
			return nil, corrupt("record %d follows record %d", seq, last)
		}
		last = seq
		one := scanned{}
		if one.record, err = openRecord(key, value); err != nil {
			v.r.warn("record %d is damaged", seq)
			one.record, err = Record{Seq: seq, Damaged: true}, nil
		} else if sealed := terms.at(key); sealed != nil {
			text, err := unseal(bucketTerms, key, sealed)
			if err != nil {
				v.r.warn("terms of record %d are damaged", seq)
			}
			one.terms = bytes.Clone(text)
		}
		size += len(one.record.Body) + len(one.terms)
		page = append(page, one)
		key, value = records.Next()
	}
	return page, nil
}

// walker finds rising keys without searching for each.
type walker struct {
	cursor     *bolt.Cursor
	key, value []byte
	started    bool
}

// at returns the value at a key, nil if there is none. Keys must rise from call
// to call.
func (w *walker) at(key []byte) []byte {
	if !w.started {
		w.key, w.value = w.cursor.Seek(key)
		w.started = true
	}
	for w.key != nil && bytes.Compare(w.key, key) < 0 {
		before := w.key
		w.key, w.value = w.cursor.Next()
		if bytes.Compare(w.key, before) <= 0 { // the end, or damage
			w.key, w.value = nil, nil
		}
	}
	if bytes.Equal(w.key, key) {
		return w.value
	}
	return nil
}

// Replies calls fn with what writes with a key answered, as it is now, until fn
// returns false. Damaged ones, and those that were dropped, are left out. body
// must not be changed or kept.
func (v View) Replies(fn func(seq int64, reply []byte) bool) (err error) {
	if err := v.r.enter(); err != nil {
		return err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	cursor := v.r.bucket(bucketKeys).Cursor()
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		value, err := unseal(bucketKeys, key, value)
		if err != nil || len(value) <= 40 {
			continue
		}
		if !fn(toNumber(value[32:]), value[40:]) {
			return nil
		}
	}
	return nil
}

// Tables calls fn with the names of all tables and what is in them, as they are
// now, in order of the names. Damaged ones are left out. data must not be changed
// or kept.
func (v View) Tables(fn func(name string, data []byte) bool) (err error) {
	if err := v.r.enter(); err != nil {
		return err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	cursor := v.r.bucket(bucketTables).Cursor()
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		value, err := unseal(bucketTables, key, value)
		if err == nil && !fn(string(key), value) {
			return nil
		}
	}
	return nil
}
