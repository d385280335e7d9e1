package storage

import (
	"context"
	"fmt"
	"io/fs"
	"os"
)

// destroyFile says that everything in the folder is to go. It is written first,
// and goes last.
const destroyFile = "destroy"

// Destroy removes everything that is in a store's folder but the lock, which
// nobody may take meanwhile. It asks for no sound store: it is how one that is
// beyond repair is given up. The next Open creates an empty one. Once it has
// begun, an Open after a crash finishes it. Errors: ErrLocked, ErrNotFound for a
// folder that is not there, or what the disk says.
func Destroy(ctx context.Context, opts Options) error {
	opts = opts.withDefaults()
	root, err := os.OpenRoot(opts.Dir)
	if isMissing(err) {
		return fmt.Errorf("destroy store: %w", ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("destroy store: %w", err)
	}
	defer root.Close()
	lock, err := takeLock(ctx, root, false, opts.Timeout)
	if err != nil {
		return fmt.Errorf("destroy store: %w", err)
	}
	defer lock.Close()
	if err = writeSynced(root, destroyFile, nil); err == nil {
		err = syncDir(root, ".")
	}
	if err == nil {
		err = goOnDestroying(root)
	}
	if err != nil {
		return fmt.Errorf("destroy store: %w", err)
	}
	return nil
}

// goOnDestroying does what a mark of Destroy asks for, if there is one. The
// caller holds the lock.
func goOnDestroying(root *os.Root) error {
	if _, err := root.Lstat(destroyFile); err != nil {
		if isMissing(err) {
			return nil
		}
		return err
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if name := entry.Name(); name != lockFile && name != destroyFile {
			if err := root.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	if err := syncDir(root, "."); err != nil {
		return err
	}
	if err := root.Remove(destroyFile); err != nil {
		return err
	}
	return syncDir(root, ".")
}
