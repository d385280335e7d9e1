//go:build unix

package contextconfig

import (
	"os"
	"syscall"
)

// open opens a file that is no link, without waiting for anybody.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
}
