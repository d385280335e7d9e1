package session

import (
	"errors"
	"fmt"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrNotFound says that there is no such session, conversation, pack or
	// cursor in the workspace.
	ErrNotFound = errors.New("not found")
	// ErrConversationDone says that turns were sent to a completed
	// conversation.
	ErrConversationDone = errors.New("conversation is completed")
	// ErrStateChanged says that a cursor belongs to an older state.
	ErrStateChanged = errors.New("state changed")
	// ErrClosed says that the service has been closed.
	ErrClosed = errors.New("service is closed")
)

// InvalidError says that a parameter is out of range.
type InvalidError struct {
	Path    string // the parameter, such as "turns[2].role"
	Message string
	Limit   int64 // the limit that was passed; 0 if there is none
}

// Error names the parameter and what is wrong with it.
func (e *InvalidError) Error() string { return e.Path + ": " + e.Message }

// TooLargeError says that a text is over its limit.
type TooLargeError struct {
	Path  string
	Limit int64 // bytes
}

// Error names the parameter and the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: over the limit of %d bytes", e.Path, e.Limit)
}

// NotFoundError is an ErrNotFound that tells what is not there.
type NotFoundError struct {
	Path    string // the parameter that asked for it
	Message string // names no content
}

// Error names the parameter and what is not there.
func (e *NotFoundError) Error() string { return e.Path + ": " + e.Message }

// Unwrap makes it an ErrNotFound.
func (e *NotFoundError) Unwrap() error { return ErrNotFound }

func invalid(path, format string, args ...any) error {
	return &InvalidError{Path: path, Message: fmt.Sprintf(format, args...)}
}

func notFound(what, id string) error {
	return fmt.Errorf("%s %q: %w", what, id, ErrNotFound)
}

func asInvalid(err error, target **InvalidError) bool { return errors.As(err, target) }
