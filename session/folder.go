package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"hexapla/storage"
)

// ErrResources says that the process may not open what another workspace takes.
var ErrResources = errors.New("too many open files")

// spareFiles is how many more files a process must be able to open for another
// workspace: some ten for its store and index, and as many for those that are open
// to go on with.
const spareFiles = 32

// prepareFolder looks at what lies where a workspace's store is or will be, before
// anything of it is opened, and takes from it the rights of others. Nothing in the
// data folder may be a link: a planted one would have a store written elsewhere.
// The data folder itself may be reached by links, which are the user's. Errors:
// storage.ErrCorrupt, which names no path, ErrResources, and what the disk says.
func prepareFolder(dataDir, id string) error {
	if err := spare(); err != nil {
		return err
	}
	root, err := os.OpenRoot(dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it will be made
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{workspacesDir, path.Join(workspacesDir, id)} {
		if err := ownFolder(root, name); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
	}
	// Files below blobs are many, and each is opened by os.Root; their folder is
	// what keeps others out.
	return fs.WalkDir(root.FS(), path.Join(workspacesDir, id), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil // it went meanwhile, or is not ours to look into
			}
			return err
		}
		if err := own(root, name, d); err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "blobs" {
			return fs.SkipDir
		}
		return nil
	})
}

func ownFolder(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: what stands for its folder is none", storage.ErrCorrupt)
	}
	return own(root, name, fs.FileInfoToDirEntry(info))
}

// own refuses links and narrows permissions. That these cannot be changed is no
// error: the folder may be there for reading alone.
func own(root *os.Root, name string, d fs.DirEntry) error {
	if d.Type()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%w: there is a link in its folder", storage.ErrCorrupt)
	}
	info, err := d.Info()
	if err != nil {
		return nil // it went meanwhile
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		_ = root.Chmod(name, mode&^0o077)
	}
	return nil
}

// spare tells whether the process can open enough files for one more workspace.
func spare() error {
	var open []*os.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	for range spareFiles {
		f, err := os.Open(os.DevNull)
		if tooManyFiles(err) {
			return ErrResources
		}
		if err != nil {
			return nil // something else, which opening will tell
		}
		open = append(open, f)
	}
	return nil
}

// workspaceDir is the folder of a workspace's store.
func workspaceDir(dataDir, id string) string { return filepath.Join(dataDir, workspacesDir, id) }
