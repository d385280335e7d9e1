//go:build linux || darwin

package daemon

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const supported = true

// ours reports whether a file belongs to the user whom the process runs as.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// inherited is how many descriptors Detach looks at; editors leave a few open.
const inherited = 1024

// Detach lets no descriptor beyond the first keep pass to programs that are
// started from here on, and returns what a process needs to be started in to
// belong to no other: a session of its own.
func Detach(keep int) *syscall.SysProcAttr {
	for fd := keep; fd < inherited; fd++ {
		unix.CloseOnExec(fd) // an error means that there is none of the number
	}
	return &syscall.SysProcAttr{Setsid: true}
}
