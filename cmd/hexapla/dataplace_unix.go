//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// keepPrivate has whatever this process makes belong to the user alone: some of
// what libraries write is made with rights for everybody.
func keepPrivate() { syscall.Umask(0o077) }

// ownedByUs refuses a data folder of another user, who could read and change what
// is in it.
func ownedByUs(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return nil // opening will tell
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return errors.New("data folder: it belongs to another user")
	}
	return nil
}
