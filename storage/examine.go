package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"time"
)

// Levels of a finding.
const (
	LevelFine    = "fine"
	LevelWarning = "warning"
	LevelDamage  = "damage"
)

// Finding is what one check of a store found.
type Finding struct {
	Check string `json:"check"`
	Level string `json:"level"`
	Text  string `json:"text"`           // what is so; names no content
	Next  string `json:"next,omitempty"` // what to do; "" where all is fine
}

// Examine checks the store in a folder without changing anything. With blobs set
// the content of every blob is read. bbolt may end the process at a damaged page:
// do it in a child process.
func Examine(ctx context.Context, opts Options, blobs bool) []Finding {
	e := &examination{opts: opts.withDefaults()}
	e.opts.ReadOnly = true
	root, err := os.OpenRoot(opts.Dir)
	if err != nil {
		e.add("folder", LevelDamage, "cannot be opened: "+err.Error(), "look at the folder's rights")
		return e.found
	}
	defer root.Close()
	e.root = root
	e.manifest()
	e.rights()
	e.leftovers()
	e.copies()
	e.store(ctx, blobs)
	return e.found
}

type examination struct {
	opts  Options
	root  *os.Root
	found []Finding
}

func (e *examination) add(check, level, text, next string) {
	e.found = append(e.found, Finding{check, level, text, next})
}

func (e *examination) manifest() {
	m, err := readManifest(e.root)
	switch {
	case err != nil:
		e.add("manifest", LevelWarning, err.Error(), "look at the folder's rights")
	case m == nil:
		e.add("manifest", LevelWarning, "is missing", "the next start writes it, if the store is sound")
	case m.StoreUUID == "":
		e.add("manifest", LevelWarning, "cannot be read", "the next start writes it, if the store is sound")
	default:
		e.add("manifest", LevelFine, fmt.Sprintf("closed at sequence %d", m.LastSeq), "")
	}
}

// rights looks for what others may read.
func (e *examination) rights() {
	if runtime.GOOS == "windows" {
		return
	}
	open := 0
	err := fs.WalkDir(e.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.HasPrefix(name, IndexDir+"/") { // its folder is what guards it
			return nil
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			open++
		}
		return err
	})
	switch {
	case err != nil:
		e.add("rights", LevelWarning, err.Error(), "look at the folder's rights")
	case open > 0:
		e.add("rights", LevelWarning, fmt.Sprintf("%d files or folders are open to others", open), "chmod -R go= the folder")
	default:
		e.add("rights", LevelFine, "for the owner alone", "")
	}
}

func (e *examination) leftovers() {
	var left []string
	for _, name := range []string{dataFile + tempSuffix, manifestFile + tempSuffix, repairFile, destroyFile} {
		if _, err := e.root.Lstat(name); err == nil {
			left = append(left, name)
		}
	}
	if len(left) > 0 {
		e.add("leftovers", LevelWarning, "something was interrupted: "+strings.Join(left, ", "), "the next start clears it up")
		return
	}
	e.add("leftovers", LevelFine, "none", "")
}

func (e *examination) copies() {
	names, err := snapshotNames(e.root.FS())
	if err != nil {
		e.add("snapshots", LevelWarning, err.Error(), "look at the folder's rights")
	}
	bad := 0
	for _, name := range names {
		f, err := e.root.Open(path.Join(snapshotDir, name))
		if err == nil {
			var info fs.FileInfo
			if info, err = f.Stat(); err == nil {
				err = guardFile(f, info.Size())
			}
			f.Close()
		}
		if err != nil {
			bad++
		}
	}
	if bad > 0 {
		e.add("snapshots", LevelWarning, fmt.Sprintf("%d of %d are damaged", bad, len(names)), "remove them; the next day of work makes another")
	} else {
		e.add("snapshots", LevelFine, fmt.Sprint(len(names)), "")
	}
	if entries, err := fs.ReadDir(e.root.FS(), quarantineDir); err == nil && len(entries) > 0 {
		e.add("quarantine", LevelWarning, fmt.Sprintf("%d damaged stores are kept", len(entries)), "remove them when nothing is missed")
	}
}

// store opens the store and reads all of it.
func (e *examination) store(ctx context.Context, blobs bool) {
	s, err := Open(ctx, e.opts)
	var locked *LockedError
	switch {
	case errors.As(err, &locked):
		e.add("store", LevelWarning, "is in use, so it was not read: "+locked.Error(), "close the editor that has it open and ask again")
		return
	case errors.Is(err, ErrSchemaTooNew):
		e.add("store", LevelWarning, err.Error(), "use the newer program")
		return
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrNotFound):
		e.add("store", LevelDamage, err.Error(), "hexapla repair --dry-run")
		return
	case err != nil:
		e.add("store", LevelWarning, "cannot be opened: "+err.Error(), "look at the folder's rights and the disk")
		return
	}
	defer s.Close()
	start := time.Now()
	report, err := s.Verify(ctx, blobs)
	what := fmt.Sprintf("%d records, %d blobs", report.Records, report.Blobs)
	if blobs {
		what += " with their content"
	}
	switch {
	case err != nil:
		e.add("store", LevelDamage, err.Error(), "hexapla repair --dry-run")
	case len(report.Problems) > 0:
		for _, problem := range report.Problems {
			e.add("store", LevelDamage, problem, "hexapla repair --dry-run")
		}
	default:
		e.add("store", LevelFine, fmt.Sprintf("%s, read in %d ms", what, time.Since(start).Milliseconds()), "")
	}
	if pending, err := s.Erasing(); err == nil && pending {
		e.add("erase", LevelWarning, "something was erased, and its bytes are not gone yet", "the next start finishes it; make room if the disk is full")
	}
}
