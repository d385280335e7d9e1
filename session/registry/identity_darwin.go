package registry

import "syscall"

// identify looks at what a path leads to, through links.
func identify(path string) (Identity, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return Identity{}, err
	}
	return Identity{Device: uint64(st.Dev), Inode: st.Ino, Born: st.Birthtimespec.Nano()}, nil
}
