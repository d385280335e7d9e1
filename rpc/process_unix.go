//go:build unix

package rpc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// signalProcess asks with signal 0; a process that may not be signalled is
// there all the same.
func signalProcess(pid int) bool {
	err := unix.Kill(pid, 0)
	return err == nil || errors.Is(err, unix.EPERM)
}

// ClaimStdout moves standard output to a private descriptor, which it returns,
// and lets descriptor 1 point at standard error: a stray print of a dependency
// cannot break the protocol. It also makes writes to a closed pipe fail instead
// of killing the process. It is for main, once, before anything is written.
func ClaimStdout() (*os.File, error) {
	signal.Ignore(unix.SIGPIPE)
	private, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("claim stdout: %w", err)
	}
	if err := unix.Dup2(2, 1); err != nil {
		_ = unix.Close(private)
		return nil, fmt.Errorf("claim stdout: %w", err)
	}
	return os.NewFile(uintptr(private), "protocol"), nil
}
