package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime/debug"

	"hexapla/layers"
)

// Backup writes the store's newest commit to w: a file that can stand as
// store.db. What lies in blobs is to be copied after it; blobs are never changed.
// Copying store.db itself while it is open is not safe.
func (s *Store) Backup(ctx context.Context, w io.Writer) (err error) {
	h, err := s.hold()
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer s.release()
	defer caught(debug.SetPanicOnFault(true), &err)
	tx, err := h.db.Begin(false)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err = tx.WriteTo(writer{ctx, w}); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// writer is a writer that ends with a context.
type writer struct {
	ctx context.Context
	w   io.Writer
}

func (w writer) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(b)
}

// BackupTo writes the store to a folder that FetchBackup reads: store.db as of
// now, and the blobs beside it. Blobs that are there are not written again.
func (s *Store) BackupTo(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer to.Close()
	temp := dataFile + tempSuffix
	f, err := to.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	err = s.Backup(ctx, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = copyBlobs(ctx, s.root, to)
	}
	if err == nil {
		err = to.Rename(temp, dataFile)
	}
	if err == nil {
		err = syncDir(to, ".")
	}
	if err != nil {
		return fmt.Errorf("backup: %w", fromDisk(err))
	}
	return nil
}

// backupSnapshot is the name that a backup has among the snapshots.
const backupSnapshot = "backup" + snapshotSuffix

// FetchBackup brings a backup into a store's folder, which it makes where there
// is none: the blobs to the others, store.db among the snapshots, under the name
// that it returns and that Repair takes.
func FetchBackup(ctx context.Context, opts Options, dir string) (string, error) {
	opts = opts.withDefaults()
	from, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("fetch backup: %w", err)
	}
	defer from.Close()
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return "", fmt.Errorf("fetch backup: %w", err)
	}
	root, err := os.OpenRoot(opts.Dir)
	if err != nil {
		return "", fmt.Errorf("fetch backup: %w", err)
	}
	defer root.Close()
	lock, err := takeLock(ctx, root, false, opts.Timeout)
	if err != nil {
		return "", fmt.Errorf("fetch backup: %w", err)
	}
	defer lock.Close()
	if err = copyBlobs(ctx, from, root); err == nil {
		err = root.MkdirAll(snapshotDir, 0o700)
	}
	if err == nil {
		err = copyBetween(from, dataFile, root, path.Join(snapshotDir, backupSnapshot))
	}
	if err != nil {
		return "", fmt.Errorf("fetch backup: %w", fromDisk(err))
	}
	return backupSnapshot, nil
}

// copyBlobs copies the blob files that are not there yet.
func copyBlobs(ctx context.Context, from, to *os.Root) error {
	err := fs.WalkDir(from.FS(), blobDir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if d.IsDir() {
			if name == blobTemp {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if known, err := to.Stat(name); err == nil && known.Size() == info.Size() {
			return nil
		}
		if err := to.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		return copyBetween(from, name, to, name)
	})
	if isMissing(err) {
		return nil
	}
	return err
}

func copyBetween(from *os.Root, source string, to *os.Root, target string) error {
	in, err := from.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// Blobs lists the blobs of the store as it is now, in the order of their hashes;
// those whose entry is damaged are left out.
func (v View) Blobs() (refs []layers.BlobRef) {
	if v.r.enter() != nil {
		return nil
	}
	var err error
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	cursor := v.r.bucket(bucketBlobs).Cursor()
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		if ref, _, err := openBlob(key, value); err == nil {
			refs = append(refs, ref)
		}
	}
	return refs
}
