package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const dataFile = "store.db"

// How the file grows: by a quarter, within these bounds. Each growth costs one
// sync more.
const (
	smallestGrowth = 64 << 10
	largestGrowth  = 16 << 20
)

// handle is an open store.db.
type handle struct {
	db   *bolt.DB
	file *os.File
	info os.FileInfo // which file it is
	// stuck says that bbolt panicked while it held its locks: waiting for them
	// would never end.
	stuck bool
}

// boltOptions says how store.db is opened.
type boltOptions struct {
	readOnly bool
	maxBytes int64
	timeout  time.Duration // for bbolt's own lock
}

// openHandle opens a file of the store's folder with bbolt. The file must have
// passed the guard or be new. A panic or fault while bbolt reads the file is
// ErrCorrupt; the mapping that bbolt made is then lost to the process.
func openHandle(root *os.Root, name string, opts boltOptions) (h *handle, err error) {
	h = new(handle)
	ahead := int64(mapAhead)
	if info, err := root.Stat(name); err == nil && ahead > 0 {
		ahead = max(ahead, 4*info.Size())
	}
	options := &bolt.Options{
		Timeout:         max(opts.timeout, time.Millisecond), // 0 would wait for ever
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: int(ahead),
		ReadOnly:        opts.readOnly,
		MaxSize:         int(opts.maxBytes),
		NoStatistics:    true,
		NoSync:          skipSync,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := root.OpenFile(name, flag, mode)
			h.file = f
			return f, err
		},
	}
	defer func(old bool) {
		debug.SetPanicOnFault(old)
		if p := recover(); p != nil {
			err = corrupt("%v", p)
		}
		if err != nil && h.file != nil {
			h.file.Close() // closed already, unless bbolt panicked
			h = nil
		}
	}(debug.SetPanicOnFault(true))
	h.db, err = bolt.Open(name, 0o600, options)
	if err != nil {
		return h, openError(err)
	}
	h.info, err = h.file.Stat()
	if err != nil {
		h.db.Close()
		return h, err
	}
	return h, nil
}

// openError says what an error of bbolt's Open means. Only what proves that the
// file is damaged counts as such.
func openError(err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("open store.db: %w", &LockedError{})
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return fmt.Errorf("open store.db: %w: %w", ErrCorrupt, err)
	default:
		return fmt.Errorf("open store.db: %w", fromDisk(err))
	}
}

// begin starts a write transaction.
func (h *handle) begin() (*bolt.Tx, error) {
	tx, err := h.db.Begin(true)
	if err != nil {
		return nil, err
	}
	h.db.AllocSize = int(min(max(tx.Size()/4, smallestGrowth), largestGrowth))
	return tx, nil
}

// there tells whether the path still leads to the file that is open. Writing to
// another would go unseen, or split the store in two.
func (h *handle) there(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, h.info) {
		return ErrGone
	}
	return err
}

// close waits for all transactions. Of a handle that is stuck it closes the file
// alone; the mapping stays until the process ends.
func (h *handle) close() (err error) {
	if h.stuck {
		return h.file.Close()
	}
	defer caught(debug.SetPanicOnFault(true), &err)
	return h.db.Close()
}

// caught ends a section in which bbolt may meet a damaged page: it turns a
// panic or a fault into ErrCorrupt. It must be deferred directly, with the
// result of debug.SetPanicOnFault(true).
func caught(old bool, err *error) {
	debug.SetPanicOnFault(old)
	if p := recover(); p != nil {
		*err = corrupt("%v", p)
	}
}
