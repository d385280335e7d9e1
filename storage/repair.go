package storage

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"time"
)

// Remedy is a way to get a damaged store working again.
type Remedy string

// Remedies, in the order in which they are tried: each loses more than the one
// before.
const (
	RemedyNone     Remedy = "none"     // the store is sound
	RemedyMetaPage Remedy = "metaPage" // the other meta page: the last commit is lost
	RemedySalvage  Remedy = "salvage"  // every value that can still be read
	RemedySnapshot Remedy = "snapshot" // what was written since the newest sound snapshot is lost
	RemedyEmpty    Remedy = "empty"    // everything; only when it is asked for by name
)

// RepairOptions say what Repair may do.
type RepairOptions struct {
	// Only is the one remedy to try; "" tries all but RemedyEmpty.
	Only Remedy
	// Snapshot is the file in the folder snapshots that is to be restored; ""
	// means the newest sound one.
	Snapshot string
	// Apply puts the result in the place of the store; otherwise it is only told
	// what would be done.
	Apply bool
}

// Repaired tells what Repair did, or would do.
type Repaired struct {
	Remedy     Remedy
	Problem    string // what is wrong with the store; "" if nothing is
	Seq        int64  // newest sequence afterwards
	LastKnown  int64  // newest sequence when the store was last closed, as its manifest says; 0 if it does not
	Salvaged   *Salvaged
	Quarantine string // where the damaged files are, below the store's folder; "" if nothing was done
	Tried      []string
}

// Repair finds the remedy that loses least for a store that cannot be opened,
// and with Apply puts it in force. The damaged store.db is never changed: it is
// copied to quarantine/<time>/ before anything takes its place. It needs the
// store's lock. bbolt may end the process at a damaged page: do it in a child
// process.
func Repair(ctx context.Context, opts Options, how RepairOptions) (done Repaired, err error) {
	opts = opts.withDefaults()
	root, err := os.OpenRoot(opts.Dir)
	if err != nil {
		if isMissing(err) {
			err = ErrNotFound
		}
		return done, fmt.Errorf("repair: %w", err)
	}
	s := newStore(opts, root)
	defer func() { err = errors.Join(err, s.letGo()) }()
	if s.lock, err = takeLock(ctx, root, false, opts.Timeout); err != nil {
		return done, fmt.Errorf("repair: %w", err)
	}
	done, err = s.repair(ctx, how)
	if err != nil {
		return done, fmt.Errorf("repair: %w", err)
	}
	return done, nil
}

const repairFile = "repair" + tempSuffix

func (s *Store) repair(ctx context.Context, how RepairOptions) (done Repaired, err error) {
	known, err := readManifest(s.root)
	if err != nil {
		return done, err
	}
	if known != nil {
		done.LastKnown = known.LastSeq
	}
	id, err := s.inspect(dataFile)
	switch {
	case errors.Is(err, ErrSchemaTooNew), isDenied(err):
		return done, err // neither is damage
	case err == nil:
		err = id.schema.allows(true)
		if err != nil {
			return done, err
		}
		if known != nil && known.StoreUUID != "" && known.StoreUUID != id.uuid {
			err = corrupt("it is not the store that the manifest names")
		}
	}
	if err == nil && how.Only == "" {
		done.Remedy, done.Seq = RemedyNone, id.state.seq
		return done, nil
	}
	if err != nil {
		done.Problem = err.Error()
	}
	defer func() { _ = s.root.Remove(repairFile) }()
	for _, remedy := range []Remedy{RemedyMetaPage, RemedySalvage, RemedySnapshot, RemedyEmpty} {
		if how.Only == "" && remedy == RemedyEmpty || how.Only != "" && how.Only != remedy {
			continue
		}
		if err := s.root.Remove(repairFile); err != nil && !isMissing(err) {
			return done, err
		}
		err := s.remedy(ctx, remedy, known, how, &done)
		if err == nil {
			id, err = s.inspect(repairFile)
		}
		if err == nil && known != nil && known.StoreUUID != "" && id.uuid != known.StoreUUID && remedy != RemedyEmpty {
			err = corrupt("it is another store")
		}
		if err != nil {
			done.Tried = append(done.Tried, fmt.Sprintf("%s: %v", remedy, err))
			if isFull(fromDisk(err)) || ctx.Err() != nil {
				return done, fromDisk(err)
			}
			continue
		}
		done.Remedy, done.Seq = remedy, id.state.seq
		if how.Apply {
			err = s.applyRepair(&done, id)
		}
		return done, err
	}
	return done, corrupt("no remedy is left")
}

// remedy makes a new file by one of the ways.
func (s *Store) remedy(ctx context.Context, remedy Remedy, known *manifest, how RepairOptions, done *Repaired) error {
	switch remedy {
	case RemedyMetaPage:
		return s.otherMeta()
	case RemedySalvage:
		f, err := s.root.Open(dataFile)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		found := newSalvage(f, info.Size())
		if err := found.scan(ctx); err != nil {
			return err
		}
		if len(found.found[bucketRecords]) == 0 && info.Size() < 1<<10 {
			return corrupt("nothing can be read")
		}
		if found.uuid == "" && len(found.found[bucketRecords]) == 0 {
			return corrupt("nothing can be read")
		}
		fallback := ""
		if known != nil {
			fallback = known.StoreUUID
		}
		salvaged, err := found.write(s.root, repairFile, fallback)
		done.Salvaged = &salvaged
		return err
	case RemedySnapshot:
		return s.fromSnapshot(how.Snapshot)
	case RemedyEmpty:
		return writeEmpty(s.root, repairFile, s.opts.MaxBytes, s.opts.Random)
	}
	return fmt.Errorf("no remedy %q", remedy)
}

// otherMeta makes a copy that ends one commit earlier.
func (s *Store) otherMeta() error {
	if err := s.copyFile(dataFile, repairFile); err != nil {
		return err
	}
	f, err := s.root.OpenFile(repairFile, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	first, ok := readMeta(f, 0)
	if !ok {
		return corrupt("there is no other meta page")
	}
	second, ok := readMeta(f, first.pageSize)
	if !ok {
		return corrupt("there is no other meta page")
	}
	older, newer := first.pageSize, int64(0)
	if second.transaction > first.transaction {
		older, newer = newer, older
	}
	page := make([]byte, first.pageSize)
	if _, err := f.ReadAt(page, older); err != nil {
		return err
	}
	binary.NativeEndian.PutUint64(page, uint64(newer/first.pageSize)) // a page has its number
	if _, err := f.WriteAt(page, newer); err != nil {
		return err
	}
	return f.Sync()
}

func (s *Store) fromSnapshot(name string) error {
	names, err := snapshotNames(s.root.FS())
	if err != nil {
		return err
	}
	for _, one := range names {
		if name != "" && name != one {
			continue
		}
		if _, err := s.inspect(path.Join(snapshotDir, one)); err != nil {
			s.opts.Logf("storage: snapshot %s: %v", one, err)
			continue
		}
		return s.copyFile(path.Join(snapshotDir, one), repairFile)
	}
	return corrupt("there is no sound snapshot")
}

func (s *Store) copyFile(from, to string) error { return copyBetween(s.root, from, s.root, to) }

// applyRepair puts the damaged file into quarantine and the new one in its place.
func (s *Store) applyRepair(done *Repaired, id identity) error {
	aside := path.Join(quarantineDir, time.UnixMilli(s.opts.Now()).UTC().Format("20060102T150405.000Z"))
	if err := s.root.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	for _, name := range []string{dataFile, manifestFile} {
		if err := s.copyFile(name, path.Join(aside, name)); err != nil && !isMissing(err) {
			return err
		}
	}
	why, err := json.MarshalIndent(done, "", "  ")
	if err == nil {
		err = writeSynced(s.root, path.Join(aside, "why.json"), append(why, '\n'))
	}
	for _, dir := range []string{aside, quarantineDir, "."} {
		if err == nil {
			err = syncDir(s.root, dir)
		}
	}
	if err != nil {
		return err
	}
	done.Quarantine = aside
	// The index is of another state; it is made anew.
	if err := s.root.RemoveAll(IndexDir); err != nil && !isMissing(err) {
		return err
	}
	if info, err := s.root.Lstat(dataFile); err == nil && info.IsDir() {
		return corrupt("store.db is a folder")
	}
	if err := s.root.Rename(repairFile, dataFile); err != nil {
		return err
	}
	if err := syncDir(s.root, "."); err != nil {
		return err
	}
	_ = s.root.Remove(path.Join(snapshotDir, backupSnapshot)) // a copy of what is in force now
	return writeManifest(s.root, manifest{
		Format: schemaFormat, MinReader: schemaMinReader, StoreUUID: id.uuid,
		CreatedAt: time.UnixMilli(s.opts.Now()).UTC().Format(time.RFC3339), LastSeq: id.state.seq,
	})
}
