package storage

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

const (
	dayMillis      = 24 * 60 * 60 * 1000
	snapshotSuffix = ".db"
)

// rollOver starts a copy of the store in the background when a commit is the
// first of a day, by Options.Now, and there were others on earlier days. It runs
// in the writer's goroutine.
func (s *Store) rollOver(before state) {
	day := s.opts.Now() / dayMillis
	if s.opts.Snapshots <= 0 || day <= s.day {
		return
	}
	s.mu.Lock()
	settling := s.settling
	s.mu.Unlock()
	if settling { // hold would wait for this goroutine; the next commit does it
		return
	}
	s.day = day
	if before.seq == 0 || !s.rolling.TryLock() {
		return
	}
	h, err := s.hold() // an erase waits for its end, and then removes it
	if err != nil {
		s.rolling.Unlock()
		return
	}
	s.copies.Go(func() {
		defer s.rolling.Unlock()
		defer s.release()
		if err := s.roll(h, day); err != nil {
			s.opts.Logf("storage: no snapshot of this day: %v", err)
		}
	})
}

// roll writes the snapshot of a day, verifies it and removes those that are too
// many.
func (s *Store) roll(h *handle, day int64) error {
	if err := s.root.MkdirAll(snapshotDir, 0o700); err != nil {
		return err
	}
	temp := path.Join(snapshotDir, "copy"+tempSuffix)
	err := s.writeCopy(h, temp)
	if err == nil {
		_, err = s.inspect(temp)
	}
	name := path.Join(snapshotDir, time.UnixMilli(day*dayMillis).UTC().Format(time.DateOnly)+snapshotSuffix)
	if err == nil {
		err = s.root.Rename(temp, name)
	}
	if err != nil {
		_ = s.root.Remove(temp) // the first error counts
		return err
	}
	names, err := snapshotNames(s.root.FS())
	if err != nil {
		return err
	}
	for len(names) > s.opts.Snapshots {
		if err := s.root.Remove(path.Join(snapshotDir, names[len(names)-1])); err != nil {
			return err
		}
		names = names[:len(names)-1]
	}
	return syncDir(s.root, snapshotDir)
}

// writeCopy writes the newest commit of an open file into another.
func (s *Store) writeCopy(h *handle, name string) (err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	tx, err := h.db.Begin(false)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	f, err := s.root.Create(name)
	if err != nil {
		return err
	}
	_, err = tx.WriteTo(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// inspect opens a copy and reads all of it.
func (s *Store) inspect(name string) (id identity, err error) {
	if err := s.guardNamed(name); err != nil {
		return id, err
	}
	h, err := openHandle(s.root, name, boltOptions{readOnly: true, timeout: time.Second})
	if err != nil {
		return id, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if id, err = readIdentity(h); err != nil {
		return id, err
	}
	defer caught(debug.SetPanicOnFault(true), &err)
	tx, err := h.db.Begin(false)
	if err != nil {
		return id, err
	}
	defer func() { _ = tx.Rollback() }()
	m := newMapper(&reader{tx: tx, logf: s.opts.Logf}, Mapping{}, id.state.seq, func(change) error { return nil })
	if err := m.run(); err != nil {
		return id, err
	}
	if m.damaged > 0 {
		s.opts.Logf("storage: %d values of the copy are damaged, as they are in the store", m.damaged)
	}
	return id, nil
}

// snapshotNames lists snapshots, the newest first.
func snapshotNames(folder fs.FS) (names []string, err error) {
	entries, err := fs.ReadDir(folder, snapshotDir)
	if err != nil && !isMissing(err) {
		return nil, err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), snapshotSuffix) {
			names = append(names, entry.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(b, a) })
	return names, nil
}
