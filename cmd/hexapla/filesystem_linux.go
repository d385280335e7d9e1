package main

import "golang.org/x/sys/unix"

// networkOf names the network file system that a folder lies on; "" if it lies on
// none.
func networkOf(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	return networkKind(int64(st.Type))
}

// networkKind names file systems whose locks and mappings cannot be relied on. The
// numbers are those of statfs(2). FUSE is not among them: most of it is local.
func networkKind(magic int64) string {
	switch uint32(magic) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "SMB"
	case unix.V9FS_MAGIC:
		return "9P"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS"
	case unix.CODA_SUPER_MAGIC:
		return "Coda"
	case unix.NCP_SUPER_MAGIC:
		return "NCP"
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph"
	case 0x0BD00BD0:
		return "Lustre"
	case 0x47504653:
		return "GPFS"
	}
	return ""
}
