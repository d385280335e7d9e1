//go:build !linux

package storage_test

import "os"

// syncData has the disk take what was written to a file, as bbolt does.
func syncData(f *os.File) error { return f.Sync() }
