package storage

import (
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

// syncDir does nothing: names are durable with the files here.
func syncDir(*os.Root, string) error { return nil }
