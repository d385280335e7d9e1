// Package index keeps a disposable inverted index of a workspace's searchable
// records: which terms occur in the record with which sequence. It is built on
// Bleve's scorch and only proposes candidates; scores, texts and everything
// that is shown come from the store.
//
// It guarantees that Candidates is complete and exact for everything up to the
// watermark, that watermark and documents are written together, and that no
// damage of its files costs more than a rebuild: a folder that cannot be
// trusted is moved to quarantine and an empty index takes its place.
//
// It never reads the store, never serves text, and never treats a time-out or a
// refused permission as damage. The caller holds the workspace's store while an
// index is open, so that two processes never heal the same folder.
package index

import "errors"

// Errors that callers tell apart.
var (
	// ErrLocked says that another process has the index open.
	ErrLocked = errors.New("index is locked")
	// ErrClosed says that the index has been closed.
	ErrClosed = errors.New("index is closed")
	// ErrFailed says that the index could not be written, for want of space or
	// because of an I/O error. It stays unusable until it is opened again.
	ErrFailed = errors.New("index has failed")
	// ErrBehind says that the index does not reach to where it was asked.
	ErrBehind = errors.New("index is behind")
	// ErrDamaged says that the index gave nonsense. Reset makes it usable.
	ErrDamaged = errors.New("index is damaged")
)
