package registry

import "golang.org/x/sys/unix"

// identify looks at what a path leads to, through links. It waits for no network
// file system that has the attributes in its cache.
func identify(path string) (Identity, error) {
	var st unix.Statx_t
	for {
		err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO|unix.STATX_BTIME, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Identity{}, err
		}
		break
	}
	id := Identity{Device: uint64(st.Dev_major)<<32 | uint64(st.Dev_minor), Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		id.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return id, nil
}
