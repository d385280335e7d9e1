// Package storagetest gives stores to tests. Such a store is a real one, in a
// folder of the test, and is verified as a whole when the test ends: bbolt's
// structure, every checksum, the agreement of records, lists and postings, and
// the content of every blob.
package storagetest

import (
	"context"
	"errors"
	"testing"

	"hexapla/storage"
)

// New returns an empty store. It is verified and closed when the test ends; if
// the test closed it, it is opened again for that.
func New(t testing.TB) *storage.Store {
	t.Helper()
	return Open(t, storage.Options{Dir: t.TempDir()})
}

// Open is New with options.
func Open(t testing.TB, opts storage.Options) *storage.Store {
	t.Helper()
	if opts.Logf == nil {
		opts.Logf = t.Logf
	}
	store, err := storage.Open(context.Background(), opts)
	if err != nil {
		t.Fatalf("open a store for the test: %v", err)
	}
	t.Cleanup(func() { check(t, store, opts) })
	return store
}

func check(t testing.TB, store *storage.Store, opts storage.Options) {
	ctx := context.Background()
	report, err := store.Verify(ctx, true)
	if errors.Is(err, storage.ErrClosed) {
		if store, err = storage.Open(ctx, opts); err != nil {
			t.Errorf("open the store to verify it: %v", err)
			return
		}
		report, err = store.Verify(ctx, true)
	}
	if err != nil {
		t.Error(err)
	}
	for _, problem := range report.Problems {
		t.Errorf("the store is not sound: %s", problem)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
