package registry

import "syscall"

// readOnlyErrors are what a disk says that takes no writes.
func readOnlyErrors() []error {
	return []error{syscall.Errno(19) /* ERROR_WRITE_PROTECT */, syscall.Errno(112) /* ERROR_DISK_FULL */}
}
