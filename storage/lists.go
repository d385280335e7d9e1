package storage

import (
	"bytes"
	"fmt"
	"runtime/debug"
	"sort"

	bolt "go.etcd.io/bbolt"
)

// ListEntry is one place in a list.
type ListEntry struct {
	Seq int64 // the record's first version, which joined the list
	ID  string
}

// ListLen returns how long a list is in the view; 0 if there is none. After a
// fault, which Err tells, it is 0.
func (v View) ListLen(list string) int {
	n, err := v.listLen(list)
	if err != nil {
		v.failed(err)
		return 0
	}
	return n
}

func (v View) listLen(list string) (n int, err error) {
	if err := v.r.enter(); err != nil {
		return 0, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	return v.r.listLen(listPrefix(list), v.seq)
}

// List returns the places [from, to) of a list, oldest first; what lies outside
// of the list is left out. Errors: ErrDamaged, ErrCorrupt, ErrClosed.
func (v View) List(list string, from, to int) (entries []ListEntry, err error) {
	if err := v.r.enter(); err != nil {
		return nil, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	prefix := listPrefix(list)
	n, err := v.r.listLen(prefix, v.seq)
	if err != nil {
		return nil, err
	}
	from, to = max(from, 0), min(to, n)
	if from >= to {
		return nil, nil
	}
	entries = make([]ListEntry, 0, to-from)
	cursor := v.r.bucket(bucketLists).Cursor()
	key, value := cursor.Seek(appendNumber(prefix, int64(from)))
	for i := from; i < to; i++ {
		if !bytes.Equal(key, appendNumber(prefix, int64(i))) {
			return nil, fmt.Errorf("list: place %d is missing: %w", i, ErrDamaged)
		}
		entry, err := openEntry(key, value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
		key, value = cursor.Next()
	}
	return entries, nil
}

// listLen returns the length of a list as of a sequence. Places are taken in the
// order of sequences, so an older length is found by halving.
func (r *reader) listLen(prefix []byte, seq int64) (int, error) {
	lists := r.bucket(bucketLists)
	n, err := wholeLen(lists.Cursor(), prefix)
	if n == 0 || err != nil {
		return 0, err
	}
	var failed error
	newer := func(i int) bool {
		key := appendNumber(prefix, int64(i))
		entry, err := openEntry(key, lists.Get(key))
		if err != nil {
			failed = err
		}
		return err != nil || entry.Seq > seq
	}
	if newer(n-1) && failed == nil { // a view of the newest state needs no search
		n = sort.Search(n-1, newer)
	}
	if failed != nil {
		return 0, failed
	}
	return n, nil
}

// wholeLen returns the length of a list with all that the transaction has.
func wholeLen(cursor *bolt.Cursor, prefix []byte) (int, error) {
	end := append(bytes.Clone(prefix), 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF)
	key, err := gap(bucketLists, cursor, end)
	if err != nil {
		return 0, fmt.Errorf("list: %w", err)
	}
	if len(key) != len(prefix)+8 || !bytes.HasPrefix(key, prefix) {
		return 0, nil
	}
	return int(toNumber(key[len(prefix):])) + 1, nil
}

// gap returns the key before one that is not there; nil if it would be the first.
// Sums are of values and of the keys that they stand under, so a damaged key is
// not noticed by who looks for it: it is not found. Therefore the entries on both
// sides must be whole and in their order, else the error is ErrDamaged.
func gap(b bucket, cursor *bolt.Cursor, key []byte) (before []byte, err error) {
	after, value := cursor.Seek(key)
	whole := after == nil || bytes.Compare(after, key) > 0 && sealHolds(b, after, value)
	if after == nil {
		before, value = cursor.Last()
	} else {
		before, value = cursor.Prev()
	}
	if !whole || before != nil && (bytes.Compare(before, key) >= 0 || !sealHolds(b, before, value)) {
		return nil, fmt.Errorf("a key of %s: %w", b, ErrDamaged)
	}
	return before, nil
}

func sealHolds(b bucket, key, value []byte) bool {
	_, err := unseal(b, key, value)
	return err == nil
}

func sealEntry(key []byte, entry ListEntry) []byte {
	buf := make([]byte, sealSize, sealSize+8+len(entry.ID))
	buf = appendNumber(buf, entry.Seq)
	return seal(bucketLists, key, append(buf, entry.ID...))
}

func openEntry(key, value []byte) (ListEntry, error) {
	value, err := unseal(bucketLists, key, value)
	if err != nil || len(value) < 8 {
		return ListEntry{}, fmt.Errorf("list: %w", ErrDamaged)
	}
	return ListEntry{Seq: toNumber(value), ID: string(value[8:])}, nil
}
