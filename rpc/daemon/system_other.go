//go:build !linux && !darwin

package daemon

import (
	"io/fs"
	"net"
	"syscall"
)

const supported = false

func ours(fs.FileInfo) bool { return false }

func peerUID(*net.UnixConn) (int, error) { return 0, ErrUnsupported }

// Detach does nothing here.
func Detach(int) *syscall.SysProcAttr { return nil }
