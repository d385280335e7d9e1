//go:build unix

package registry

import "syscall"

// readOnlyErrors are what a file system says that takes no writes.
func readOnlyErrors() []error {
	return []error{syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}
}
