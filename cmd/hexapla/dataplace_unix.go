//go:build unix

package main

import (
	"os"
	"syscall"
)

// keepPrivate has whatever this process makes belong to the user alone: some of
// what libraries write is made with rights for everybody.
func keepPrivate() { syscall.Umask(0o077) }

// ownedByUs says what is wrong with whose a data folder is; "" if nothing is.
func ownedByUs(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return "" // opening will tell
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return "belongs to another user, who could read and change what is in it"
	}
	return ""
}

// replaceable says why others may rename what lies in a folder; "" if they may
// not. The superuser may do anything, and who may only add to a folder (/tmp) does
// not rename what is not his.
func replaceable(dir string) string {
	info, err := os.Stat(dir)
	if err != nil {
		return ""
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&os.ModeSticky == 0 {
		return "all users may change"
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return "belongs to another user"
	}
	return ""
}
