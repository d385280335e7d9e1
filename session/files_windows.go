package session

import (
	"errors"
	"syscall"
)

// tooManyFiles tells whether an error is the limit on open files.
func tooManyFiles(err error) bool {
	return errors.Is(err, syscall.Errno(4)) // ERROR_TOO_MANY_OPEN_FILES
}
