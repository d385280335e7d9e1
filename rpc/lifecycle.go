package rpc

import (
	"sync"

	"hexapla/rpc/wire"
)

// State is where a connection stands in LSP's lifecycle. It only moves
// forward, except that a failed initialize leads back to StateCreated.
type State int

// States of a connection.
const (
	// StateCreated: nothing but initialize and exit is accepted.
	StateCreated State = iota
	// StateInitializing: initialize was received. Requests are accepted; they
	// wait for its end.
	StateInitializing
	// StateInitialized: the client confirmed. Notifications and log messages
	// may be sent to it.
	StateInitialized
	// StateShutdown: nothing but exit is accepted.
	StateShutdown
	// StateExited: the connection ends.
	StateExited
)

// String returns the state's name.
func (s State) String() string {
	return [...]string{"created", "initializing", "initialized", "shutdown", "exited"}[s]
}

// lifecycle is the state machine of one connection.
type lifecycle struct {
	mu        sync.Mutex
	state     State
	answered  bool // initialize succeeded
	confirmed bool // the client sent initialized
	after     State
}

// initialize is asked when the request arrives.
func (l *lifecycle) initialize() *Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case StateCreated:
		l.state = StateInitializing
		return nil
	case StateInitializing, StateInitialized:
		return NewError(wire.KindInvalidRequest, "initialize came twice")
	}
	return shuttingDown()
}

// answer tells how initialize ended. It reports whether the client already
// confirmed.
func (l *lifecycle) answer(ok bool) (listening bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered = ok
	if l.state == StateInitializing {
		switch {
		case !ok:
			l.state, l.confirmed = StateCreated, false
		case l.confirmed:
			l.state = StateInitialized
		}
	}
	return l.state == StateInitialized
}

// confirm is told of the notification initialized. It reports whether the
// client listens from now on.
func (l *lifecycle) confirm() (listening bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != StateInitializing {
		return false
	}
	l.confirmed = true
	if l.answered {
		l.state = StateInitialized
	}
	return l.answered
}

// admit is asked when any other request arrives.
func (l *lifecycle) admit() *Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case StateCreated:
		return notInitialized()
	case StateShutdown, StateExited:
		return shuttingDown()
	}
	return nil
}

// serving is asked when an admitted request is about to run: initialize may
// have failed since.
func (l *lifecycle) serving() *Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.answered {
		return notInitialized()
	}
	return nil
}

// shutdown is asked when the request arrives.
func (l *lifecycle) shutdown() *Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case StateInitializing, StateInitialized:
		l.state = StateShutdown
		return nil
	case StateCreated:
		return notInitialized()
	}
	return shuttingDown()
}

// exit is told of the notification exit and returns the process's exit code.
func (l *lifecycle) exit() (code int, orderly bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != StateExited {
		l.after, l.state = l.state, StateExited
	}
	if l.after == StateShutdown {
		return 0, true
	}
	return 1, false
}

func (l *lifecycle) current() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

func notInitialized() *Error {
	return NewError(wire.KindNotInitialized, "the first request must be initialize")
}

func shuttingDown() *Error {
	return NewError(wire.KindShuttingDown, "the server is shutting down")
}
