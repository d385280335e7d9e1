package storage

import (
	"errors"
	"io/fs"
	"path"
	"sync"
	"time"
)

// orphanGrace is how old a blob without an entry must be to be removed where
// nothing was erased: who stages a blob adds it later.
const orphanGrace = 24 * time.Hour

// stagedBlobs are the blobs beside store.db that this process staged. Those that
// were staged since an erase began hold nothing of what it erases, and a write is
// on its way with them. The zero value is ready.
type stagedBlobs struct {
	mu    sync.Mutex
	names map[string]bool
}

func (b *stagedBlobs) add(sha string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.names == nil || len(b.names) >= maxStaged {
		b.names = map[string]bool{}
	}
	b.names[sha] = true
}

// maxStaged bounds the names that are kept; a write whose blob is forgotten may
// be refused by an erase.
const maxStaged = 10_000

// begin forgets all that were staged before.
func (b *stagedBlobs) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names = nil
}

func (b *stagedBlobs) since(sha string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.names[sha]
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// sweepBlobs removes blob files that the store has no entry for and that are of
// an age, and tells how many. It runs where no write does, so that none is being
// added; a write that comes later with one that was staged before is refused.
func (s *Store) sweepBlobs(age time.Duration) (swept int, err error) {
	folders, err := fs.ReadDir(s.root.FS(), blobDir)
	if isMissing(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	tx, err := beginRead(s.handle)
	if err != nil {
		return 0, err
	}
	defer func() { _ = endRead(tx) }()
	r := &reader{tx: tx, logf: s.opts.Logf}
	for _, folder := range folders {
		dir := path.Join(blobDir, folder.Name())
		if !folder.IsDir() || dir == blobTemp {
			continue
		}
		files, err := fs.ReadDir(s.root.FS(), dir)
		if err != nil {
			return swept, err
		}
		before := swept
		for _, file := range files {
			if _, ok := blobKey(file.Name()); !ok {
				continue
			}
			if s.staged.since(file.Name()) {
				continue
			}
			if known, err := r.hasBlob(file.Name()); err != nil || known {
				if err != nil {
					return swept, err
				}
				continue
			}
			info, err := file.Info()
			if err != nil || time.Since(info.ModTime()) < age {
				continue
			}
			if err := s.root.Remove(path.Join(dir, file.Name())); err != nil && !isMissing(err) {
				return swept, err
			}
			swept++
		}
		if swept > before {
			if err := syncDir(s.root, dir); err != nil {
				return swept, err
			}
		}
	}
	return swept, nil
}
