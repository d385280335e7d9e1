package registry

import (
	"errors"
	"io/fs"
)

// Identity is what makes a folder this one and no other, whatever its name.
type Identity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// Born is when it was made, in nanoseconds since 1970; 0 where the file
	// system does not tell. Numbers of inodes are given out again, times are not.
	Born int64 `json:"born,omitempty"`
}

func (i Identity) known() bool { return i != Identity{} }

// same tells whether two identities are of one folder.
func (i Identity) same(other Identity) bool {
	return i.known() && i.Device == other.Device && i.sameNode(other)
}

// sameNode leaves the device out: some systems number devices anew at each start.
func (i Identity) sameNode(other Identity) bool {
	return i.Inode == other.Inode && (i.Born == other.Born || i.Born == 0 || other.Born == 0)
}

// look tells which folder a path leads to now, and whether there is certainly none.
func look(path string) (id Identity, missing bool) {
	if path == "" {
		return Identity{}, false
	}
	id, err := identify(path)
	return id, errors.Is(err, fs.ErrNotExist)
}
