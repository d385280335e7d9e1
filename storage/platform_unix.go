//go:build unix

package storage

import (
	"os"
	"strconv"
	"syscall"
)

// mapAhead is the least address space that a store is mapped into, so that a
// growing store need not be mapped anew, for which bbolt waits until no reader
// is left. It costs no memory.
const mapAhead = (1 << 30) * (strconv.IntSize / 64)

// fullErrors are the errors that mean that there is no more room.
func fullErrors() []error {
	return []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
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
