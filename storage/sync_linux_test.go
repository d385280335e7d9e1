package storage_test

import (
	"os"
	"syscall"
)

// syncData has the disk take what was written to a file, as bbolt does.
func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
