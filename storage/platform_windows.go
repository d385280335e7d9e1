package storage

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// mapAhead is 0 here: bbolt would make the file as large as its mapping.
const mapAhead = 0

// fullErrors are the errors that mean that there is no more room.
func fullErrors() []error {
	return []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED, syscall.ENOSPC}
}

// tryLock takes a lock on an open file without waiting. What is locked lies far
// beyond the end of the file, so that others can read who holds it.
func tryLock(f *os.File, shared bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, nil
	default:
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
}

// syncDir does nothing: names are durable with the files here.
func syncDir(*os.Root, string) error { return nil }
