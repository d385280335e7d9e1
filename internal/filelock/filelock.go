// Package filelock takes advisory locks on open files, flock on Unix and
// LockFileEx on Windows. A lock ends with the file's last descriptor, thus with
// the process at the latest.
//
// It guarantees that one exclusive lock excludes all others on the same file. It
// does not wait, does not create or remove files, and is no better on a network
// file system than that file system is.
package filelock
