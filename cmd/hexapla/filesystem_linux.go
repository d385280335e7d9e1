package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// networkOf names the network file system that a folder lies on; "" if it lies on
// none.
func networkOf(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	if uint32(st.Type) == unix.FUSE_SUPER_MAGIC {
		return networkMount(dir)
	}
	return networkKind(int64(st.Type))
}

// networkPrograms are programs that mount with FUSE what lies on other machines.
var networkPrograms = [...]string{
	"sshfs", "rclone", "s3fs", "gcsfuse", "goofys", "blobfuse", "blobfuse2", "juicefs", "davfs", "davfs2", "curlftpfs", "smbnetfs", "smb-network",
	"glusterfs", "ceph", "ceph-fuse", "google-drive-ocamlfuse", "onedriver", "gvfsd-fuse", "afpfs", "afpfs-ng", "moosefs", "mfs", "prl_fsd",
}

// networkMount names the program that mounts a folder from another machine; "" if
// the folder is none of theirs.
func networkMount(dir string) string {
	var st unix.Stat_t
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || unix.Stat(dir, &st) != nil {
		return ""
	}
	return programOf(string(mounts), fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
}

// programOf finds a device in a list of mounts, proc_pid_mountinfo(5), and names
// the program of the network that it is of.
func programOf(mounts, device string) string {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		fields, kinds := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kinds) < 1 || fields[2] != device {
			continue
		}
		if program, ok := strings.CutPrefix(kinds[0], "fuse."); ok && slices.Contains(networkPrograms[:], program) {
			return program
		}
	}
	return ""
}

// networkKind names file systems whose locks and mappings cannot be relied on. The
// numbers are those of statfs(2). FUSE is not among them: most of it is local, and
// networkMount tells what is not.
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
