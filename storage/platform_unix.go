//go:build unix

package storage

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// mapAhead is the least address space that a store is mapped into, so that a
// growing store need not be mapped anew, for which bbolt waits until no reader
// is left. It costs no memory.
const mapAhead = (1 << 30) * (strconv.IntSize / 64)

// fullErrors are the errors that mean that there is no more room.
func fullErrors() []error {
	return []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
}

// tryLock takes a lock on an open file without waiting. The lock ends with the
// file's last descriptor, thus with the process.
func tryLock(f *os.File, shared bool) (bool, error) {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// syncDir makes the names in a folder durable.
func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if closed := dir.Close(); err == nil {
		err = closed
	}
	return err
}
