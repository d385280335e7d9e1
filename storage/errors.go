package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"
)

// Errors that callers tell apart with errors.Is. A write that failed with any of
// them but ErrUnknown and ErrUnfinished took no effect.
var (
	// ErrNotFound says that there is no such record, blob, sequence or store.
	ErrNotFound = errors.New("not found")
	// ErrErased says that a record was there and nothing of it was left. It is an
	// ErrNotFound.
	ErrErased = fmt.Errorf("erased: %w", ErrNotFound)
	// ErrUnfinished says that what was to be erased cannot be read any more, but
	// that its bytes are still in files. The next Erase, or the next Open, goes on.
	ErrUnfinished = errors.New("erased, but its bytes are not gone yet")
	// ErrBusy says that snapshots were held for too long for the file to be
	// replaced. Nothing is lost; the same call may succeed later.
	ErrBusy = errors.New("store is busy")
	// ErrClosed says that the store, snapshot or transaction is no longer open.
	ErrClosed = errors.New("store is closed")
	// ErrLocked says that another process, or another Store of this process,
	// has the store open. The error is a *LockedError.
	ErrLocked = errors.New("store is locked")
	// ErrSchemaTooNew says that a newer version wrote the store. Its files were
	// not touched.
	ErrSchemaTooNew = errors.New("store was written by a newer version")
	// ErrCorrupt says that the store as a whole cannot be trusted: it is cut,
	// empty, foreign, missing although there was one, or its structure is
	// damaged. It was left as it is.
	ErrCorrupt = errors.New("store is corrupt")
	// ErrKeyReused says that the key of a write was used before for another
	// content.
	ErrKeyReused = errors.New("key was used for another write")
	// ErrDamaged says that a record is not what was written.
	ErrDamaged = errors.New("record is damaged")
	// ErrBlobDamaged says that a blob is missing, cut or not what was written.
	// Staging the same content again heals it.
	ErrBlobDamaged = errors.New("blob is damaged")
	// ErrFull says that the disk, a quota or Options.MaxBytes is used up.
	// Reading goes on.
	ErrFull = errors.New("storage is full")
	// ErrReadOnly says that the store takes no writes: it was opened so, its
	// folder does not allow it, or the disk failed twice.
	ErrReadOnly = errors.New("store is read-only")
	// ErrTooLarge says that a part of a write is over its limit.
	ErrTooLarge = errors.New("too large")
	// ErrGone says that the store's file was removed or replaced while it was
	// open. Nothing is written to what is there now.
	ErrGone = errors.New("store is gone")
	// ErrUnknown says that the disk failed in the middle of a commit and it
	// could not be found out whether the write took effect.
	ErrUnknown = errors.New("outcome of the write is unknown")
)

// LockedError says who holds a store.
type LockedError struct {
	PID int // process that holds the lock; 0 if it is not known
}

// Error names the holder.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return "store is locked by another process"
	}
	return fmt.Sprintf("store is locked by process %d", e.PID)
}

// Is makes errors.Is(err, ErrLocked) true.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// isFull tells whether an error means that there is no more room. bbolt drops
// the cause of some of its errors and keeps only the text.
func isFull(err error) bool {
	if errors.Is(err, berrors.ErrMaxSizeReached) {
		return true
	}
	for _, cause := range fullErrors() {
		if errors.Is(err, cause) || err != nil && strings.Contains(err.Error(), cause.Error()) {
			return true
		}
	}
	return false
}

// fromDisk marks an error that means that there is no more room.
func fromDisk(err error) error {
	if isFull(err) && !errors.Is(err, ErrFull) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// isDenied tells whether the folder or the file system does not allow writing.
func isDenied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}
