//go:build unix

package session

import (
	"errors"
	"syscall"
)

// tooManyFiles tells whether an error is the limit on open files, of the process
// or of the system.
func tooManyFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
