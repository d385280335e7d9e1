package storage

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
)

// Record is one version of something. Versions of the same Kind and ID replace
// each other; all are kept.
type Record struct {
	Seq    int64
	Kind   string
	ID     string
	Parent string
	Body   []byte
	// Damaged marks a record of which Scan could read the sequence alone.
	Damaged bool
}

// Erased tells that nothing is left of the record but its sequence. Scan gives
// such records.
func (r *Record) Erased() bool { return r.Kind == "" && !r.Damaged }

// View is the state of a store as of a sequence. It is a small value, valid
// until the snapshot that it is of is released, or until the build function
// whose transaction it is of returns. Views of a snapshot may be read by several
// goroutines.
//
// Versioned are records, lists and postings. Counters, tables and the audit log
// are not: a view shows them as they are now.
type View struct {
	r   *reader
	seq int64
}

// Seq returns the newest sequence that the view shows.
func (v View) Seq() int64 { return v.seq }

// At returns the state as of a sequence that the view shows, else ErrNotFound.
func (v View) At(seq int64) (View, error) {
	if seq < 0 || seq > v.seq {
		return View{}, fmt.Errorf("sequence %d of %d: %w", seq, v.seq, ErrNotFound)
	}
	return View{r: v.r, seq: seq}, nil
}

// Err returns the first fault that a method without an error result met, nil if
// there was none. It is to be asked where a wrong 0 would matter; a Write asks
// by itself.
func (v View) Err() error {
	if v.r == nil {
		return ErrClosed
	}
	return v.r.failed()
}

// Get returns a record by its sequence. Errors: ErrNotFound, ErrErased,
// ErrDamaged, ErrCorrupt, ErrClosed.
func (v View) Get(seq int64) (record Record, err error) {
	if err := v.r.enter(); err != nil {
		return Record{}, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	if seq <= 0 || seq > v.seq {
		return Record{}, fmt.Errorf("record %d: %w", seq, ErrNotFound)
	}
	return v.r.get(seq)
}

func (r *reader) get(seq int64) (Record, error) {
	key := number(seq)
	value := r.bucket(bucketRecords).Get(key)
	if value == nil {
		return Record{}, fmt.Errorf("record %d: %w", seq, ErrNotFound)
	}
	record, err := openRecord(key, value)
	if err != nil {
		return Record{}, fmt.Errorf("record %d: %w", seq, ErrDamaged)
	}
	if record.Erased() {
		return Record{}, fmt.Errorf("record %d: %w", seq, ErrErased)
	}
	return record, nil
}

// Latest returns the newest version of something that the view shows; false if
// there is none. Errors as Get, but not ErrNotFound.
func (v View) Latest(kind, id string) (record Record, ok bool, err error) {
	if err := v.r.enter(); err != nil {
		return Record{}, false, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	prefix := versionPrefix(kind, id)
	key, _ := v.r.bucket(bucketVersions).Cursor().Seek(appendNewest(prefix, v.seq))
	if len(key) != len(prefix)+8 || !bytes.HasPrefix(key, prefix) {
		return Record{}, false, nil
	}
	record, err = v.r.get(newest(key[len(prefix):]))
	if errors.Is(err, ErrNotFound) || err == nil && (record.Kind != kind || record.ID != id) {
		err = fmt.Errorf("version %d: %w", newest(key[len(prefix):]), ErrDamaged)
	}
	if err != nil {
		return Record{}, false, err
	}
	return record, true, nil
}

// Terms returns the terms that a record was written with; false if it has none
// or the view does not show it.
func (v View) Terms(seq int64) (terms []byte, ok bool, err error) {
	if err := v.r.enter(); err != nil {
		return nil, false, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	if seq <= 0 || seq > v.seq {
		return nil, false, nil
	}
	key := number(seq)
	value := v.r.bucket(bucketTerms).Get(key)
	if value == nil {
		return nil, false, nil
	}
	value, err = unseal(bucketTerms, key, value)
	if err != nil {
		return nil, false, fmt.Errorf("terms of record %d: %w", seq, ErrDamaged)
	}
	return bytes.Clone(value), true, nil
}

// Counter returns the value of a counter as it is now; 0 if there is none.
func (v View) Counter(name string) int64 {
	n, err := v.counter(counterKey(name))
	if err != nil {
		v.failed(err)
	}
	return n
}

func (v View) counter(key []byte) (n int64, err error) {
	if err := v.r.enter(); err != nil {
		return 0, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	value := v.r.bucket(bucketCounters).Get(key)
	if value == nil {
		_, err := gap(bucketCounters, v.r.bucket(bucketCounters).Cursor(), key)
		return 0, err
	}
	value, err = unseal(bucketCounters, key, value)
	if err != nil || len(value) != 8 {
		return 0, fmt.Errorf("counter: %w", ErrDamaged)
	}
	return toNumber(value), nil
}

// Issued returns the newest number that Tx.NextID gave for a prefix, as it is
// now.
func (v View) Issued(prefix string) (int64, error) { return v.counter(idKey(prefix)) }

// Ever tells whether there is a version of something now, also where the view is
// older.
func (v View) Ever(kind, id string) (ever bool, err error) {
	if err := v.r.enter(); err != nil {
		return false, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	prefix := versionPrefix(kind, id)
	key, _ := v.r.bucket(bucketVersions).Cursor().Seek(prefix)
	return len(key) == len(prefix)+8 && bytes.HasPrefix(key, prefix), nil
}

// failed keeps an error that the caller cannot be given.
func (v View) failed(err error) {
	if v.r != nil && !errors.Is(err, ErrClosed) {
		v.r.fail(err)
	}
}

// Table returns a derived table as it is now; false if there is none or it is
// damaged, in which case it is to be derived again.
func (v View) Table(name string) ([]byte, bool) {
	data, ok, err := v.table(name)
	if err != nil {
		v.r.warn("table %q: %v", name, err)
	}
	return data, ok
}

func (v View) table(name string) (data []byte, ok bool, err error) {
	if v.r.enter() != nil {
		return nil, false, nil
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	key := []byte(name)
	value := v.r.bucket(bucketTables).Get(key)
	if value == nil {
		return nil, false, nil
	}
	if value, err = unseal(bucketTables, key, value); err != nil {
		return nil, false, err
	}
	return bytes.Clone(value), true, nil
}

func (r *reader) warn(format string, args ...any) {
	r.logf("storage: %s", fmt.Sprintf(format, args...))
}

// Counters of Add and of NextID do not meet.
func counterKey(name string) []byte { return append([]byte{'n'}, name...) }
func idKey(prefix string) []byte    { return append([]byte{'i'}, prefix...) }
