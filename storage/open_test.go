package storage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"hexapla/storage"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data", "workspace")
	s := openAt(t, dir)
	staged, err := s.StageBlob(t.Context(), make([]byte, 10_000), "x/y")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
		tx.AddBlob(staged)
		tx.Put(draft("k", "a", ""))
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	uuid := s.UUID()
	closeStore(t, s)

	sha := staged.Ref.SHA256
	expected := map[string]os.FileMode{
		".": 0o700, "store.db": 0o600, "manifest.json": 0o600, "lock": 0o600,
		"blobs": 0o700, "blobs/tmp": 0o700, "blobs/" + sha[:2]: 0o700, "blobs/" + sha[:2] + "/" + sha: 0o600,
	}
	got := map[string]os.FileMode{}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		name, _ := filepath.Rel(dir, path)
		got[filepath.ToSlash(name)] = info.Mode().Perm()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && !maps.Equal(got, expected) {
		t.Errorf("got %v, expected %v", got, expected)
	}
	if info, err := os.Stat(filepath.Dir(dir)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the parent: %v, %v", info.Mode(), err)
	}

	var manifest struct {
		StoreUUID string
		CreatedAt time.Time
		LastSeq   int64
	}
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &manifest); err != nil || manifest.StoreUUID != uuid || manifest.LastSeq != 1 || manifest.CreatedAt.IsZero() {
		t.Errorf("the manifest is %s, %v", text, err)
	}

	s = openAt(t, dir)
	if s.UUID() != uuid || s.Seq() != 1 {
		t.Errorf("opened again: %s at %d", s.UUID(), s.Seq())
	}
	other := openAt(t, t.TempDir())
	if other.UUID() == uuid {
		t.Error("two stores have one UUID")
	}
}

// TestNarrow: a folder and files that others may read are closed to them.
func TestNarrow(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir := t.TempDir()
	closeStore(t, openAt(t, dir))
	for name, mode := range map[string]os.FileMode{".": 0o755, "store.db": 0o644, "lock": 0o666} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	openAt(t, dir)
	for name, mode := range map[string]os.FileMode{".": 0o700, "store.db": 0o600, "lock": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// TestS4_InterruptedCreation: whatever an interrupted first start left, the next
// start makes a good store.
func TestS4_InterruptedCreation(t *testing.T) {
	t.Parallel()
	place := func(name string, data string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"lock alone":        place("lock", ""),
		"empty database":    place("store.db.new", ""),
		"part of database":  place("store.db.new", "part of a bbolt file"),
		"part of manifest":  place("manifest.json.new", "{"),
		"part of a blob":    place("blobs/tmp/ABC", "part"),
		"no manifest yet":   func(t *testing.T, dir string) { closeStore(t, openAt(t, dir)); remove(t, dir, "manifest.json") },
		"manifest is cut":   func(t *testing.T, dir string) { closeStore(t, openAt(t, dir)); place("manifest.json", "{")(t, dir) },
		"both, store is in": func(t *testing.T, dir string) { closeStore(t, openAt(t, dir)); place("store.db.new", "")(t, dir) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			prepare(t, dir)
			for round := range 2 {
				s := openAt(t, dir)
				write(t, s, draft("k", fmt.Sprint(round), "", "list"))
				sound(t, s)
				closeStore(t, s)
			}
			for _, name := range []string{"store.db.new", "manifest.json.new", "blobs/tmp/ABC"} {
				if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestS9_NeverANewStore: where there was a store, none is created, and nothing is
// changed.
func TestS9_NeverANewStore(t *testing.T) {
	t.Parallel()
	foreign := func(t *testing.T, dir string) { // a bbolt file of another program
		remove(t, dir, "store.db")
		db, err := bolt.Open(dataFile(dir), 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, harm := range map[string]func(t *testing.T, dir string){
		"removed":               func(t *testing.T, dir string) { remove(t, dir, "store.db") },
		"removed with manifest": func(t *testing.T, dir string) { remove(t, dir, "store.db"); remove(t, dir, "manifest.json") },
		"emptied":               func(t *testing.T, dir string) { truncate(t, dir, 0) },
		"emptied, no manifest":  func(t *testing.T, dir string) { truncate(t, dir, 0); remove(t, dir, "manifest.json") },
		"foreign":               foreign,
		"text": func(t *testing.T, dir string) {
			overwrite(t, dir, []byte("not a database, but long enough to be read as one"))
		},
		"a folder": func(t *testing.T, dir string) { remove(t, dir, "store.db"); os.Mkdir(dataFile(dir), 0o700) },
		"another store": func(t *testing.T, dir string) {
			other := t.TempDir()
			closeStore(t, openAt(t, other))
			data, err := os.ReadFile(dataFile(other))
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, dir, data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openAt(t, dir)
			staged, err := s.StageBlob(t.Context(), make([]byte, 10_000), "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
				tx.AddBlob(staged)
				return nil, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			write(t, s, draft("k", "a", ""))
			closeStore(t, s)
			harm(t, dir)
			before := filesOf(t, dir)
			delete(before, filepath.Join(dir, "lock"))
			for range 2 {
				_, err := storage.Open(t.Context(), storage.Options{Dir: dir})
				if !errors.Is(err, storage.ErrCorrupt) {
					t.Errorf("got %v", err)
				}
			}
			after := filesOf(t, dir)
			delete(after, filepath.Join(dir, "lock"))
			if !maps.Equal(before, after) {
				t.Error("files were changed")
			}
		})
	}
}

func truncate(t *testing.T, dir string, size int64) {
	t.Helper()
	if err := os.Truncate(dataFile(dir), size); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, dir string, data []byte) {
	t.Helper()
	if err := os.WriteFile(dataFile(dir), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestS18_SchemaTooNew(t *testing.T) {
	t.Parallel()
	next := uint32(storage.SchemaFormat + 1)
	for name, row := range map[string]struct {
		format, minReader, minWriter uint32
		write, read                  error
	}{
		"newer, but all may":         {next, 1, 1, nil, nil},
		"newer, older ones may read": {next, 1, next, storage.ErrSchemaTooNew, nil},
		"newer":                      {next, next, next, storage.ErrSchemaTooNew, storage.ErrSchemaTooNew},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openAt(t, dir)
			write(t, s, draft("k", "a", "body"))
			closeStore(t, s)
			if err := storage.SetSchema(dataFile(dir), row.format, row.minReader, row.minWriter); err != nil {
				t.Fatal(err)
			}
			before := filesOf(t, dir)
			for _, readOnly := range []bool{true, false} {
				expected := row.write
				if readOnly {
					expected = row.read
				}
				s, err := storage.Open(t.Context(), storage.Options{Dir: dir, ReadOnly: readOnly})
				if !errors.Is(err, expected) {
					t.Errorf("read-only %v: %v", readOnly, err)
				}
				if expected != nil || readOnly {
					if after := filesOf(t, dir); after[dataFile(dir)] != before[dataFile(dir)] {
						t.Errorf("read-only %v: the file was changed", readOnly)
					}
				}
				if err == nil {
					viewing(t, s, func(v storage.View) {
						if r, err := v.Get(1); err != nil || string(r.Body) != "body" {
							t.Errorf("got %v, %v", r, err)
						}
					})
					closeStore(t, s)
				}
			}
		})
	}
	t.Run("manifest", func(t *testing.T) {
		dir := t.TempDir()
		closeStore(t, openAt(t, dir))
		if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(fmt.Sprintf(`{"format":%d,"minReader":%d}`, next, next)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := storage.Open(t.Context(), storage.Options{Dir: dir}); !errors.Is(err, storage.ErrSchemaTooNew) {
			t.Errorf("got %v", err)
		}
	})
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, missing := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := storage.Open(t.Context(), storage.Options{Dir: missing, ReadOnly: true}); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("no store: %v", err)
		}
	}
	s := openAt(t, dir)
	write(t, s, draft("k", "a", "body"))
	closeStore(t, s)
	before := filesOf(t, dir)
	first := openWith(t, storage.Options{Dir: dir, ReadOnly: true})
	second := openWith(t, storage.Options{Dir: dir, ReadOnly: true}) // readers share
	if _, err := first.Write(t.Context(), storage.Op{}, putting()); !errors.Is(err, storage.ErrReadOnly) {
		t.Errorf("write: %v", err)
	}
	if err := first.PutTable("a", nil); !errors.Is(err, storage.ErrReadOnly) {
		t.Errorf("table: %v", err)
	}
	if _, err := first.StageBlob(t.Context(), nil, ""); !errors.Is(err, storage.ErrReadOnly) {
		t.Errorf("stage: %v", err)
	}
	first.AppendAudit("sum", nil)
	viewing(t, second, func(v storage.View) {
		if r, err := v.Get(1); err != nil || string(r.Body) != "body" {
			t.Errorf("got %v, %v", r, err)
		}
	})
	sound(t, second)
	if _, err := storage.Open(t.Context(), storage.Options{Dir: dir, Timeout: time.Millisecond}); !errors.Is(err, storage.ErrLocked) {
		t.Errorf("a writer beside readers: %v", err)
	}
	closeStore(t, first)
	closeStore(t, second)
	if !maps.Equal(before, filesOf(t, dir)) {
		t.Error("files were changed")
	}
}

func TestLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder := startChild(t, "holder", dir)
	holder.expect(t, "open")
	_, err := storage.Open(t.Context(), storage.Options{Dir: dir, Timeout: 30 * time.Millisecond})
	var locked *storage.LockedError
	if !errors.Is(err, storage.ErrLocked) || !errors.As(err, &locked) || locked.PID != holder.cmd.Process.Pid {
		t.Errorf("got %v, the holder is %d", err, holder.cmd.Process.Pid)
	}
	if _, err := storage.Open(t.Context(), storage.Options{Dir: dir, Timeout: time.Millisecond, ReadOnly: true}); !errors.Is(err, storage.ErrLocked) {
		t.Errorf("a reader: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := storage.Open(ctx, storage.Options{Dir: dir, Timeout: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// Who waits gets the store when it is free.
	opened := make(chan error)
	go func() {
		s, err := storage.Open(context.Background(), storage.Options{Dir: dir, Timeout: time.Minute})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	holder.in.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}

	s := openAt(t, dir)
	_, err = storage.Open(t.Context(), storage.Options{Dir: dir, Timeout: time.Millisecond})
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("twice in one process: %v", err)
	}
	closeStore(t, s)
	if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
		t.Errorf("the lock file: %v", err)
	}
	closeStore(t, openAt(t, dir))

	// A stranger that uses bbolt and not our lock.
	db, err := bolt.Open(dataFile(dir), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := storage.Open(t.Context(), storage.Options{Dir: dir, Timeout: time.Millisecond}); !errors.Is(err, storage.ErrLocked) {
		t.Errorf("a stranger holds it: %v", err)
	}
}

// TestS15_Gone: a file that was removed or replaced gets no writes, and nothing is
// created in its place.
func TestS15_Gone(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(dir string) error{
		"folder removed": os.RemoveAll,
		"file removed":   func(dir string) error { return os.Remove(dataFile(dir)) },
		"folder renamed": func(dir string) error { return os.Rename(dir, dir+".old") },
		"file replaced": func(dir string) error {
			data, err := os.ReadFile(dataFile(dir))
			if err == nil {
				err = os.Remove(dataFile(dir))
			}
			if err == nil {
				err = os.WriteFile(dataFile(dir), data, 0o600)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("an open file cannot be removed")
			}
			dir := filepath.Join(t.TempDir(), "store")
			s := openAt(t, dir)
			write(t, s, draft("k", "a", "body"))
			if err := harm(dir); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Write(t.Context(), storage.Op{}, putting(draft("k", "b", ""))); !errors.Is(err, storage.ErrGone) {
				t.Errorf("write: %v", err)
			}
			viewing(t, s, func(v storage.View) {
				if r, err := v.Get(1); err != nil || string(r.Body) != "body" {
					t.Errorf("got %v, %v", r, err)
				}
			})
			if err := s.Close(); !errors.Is(err, storage.ErrGone) {
				t.Errorf("close: %v", err)
			}
			if name != "file replaced" {
				if _, err := os.Stat(dataFile(dir)); !errors.Is(err, os.ErrNotExist) {
					t.Error("there is a file again")
				}
			}
		})
	}
}

// TestHeldSnapshot: Close does not pull the file from under a reader.
func TestHeldSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	write(t, s, draft("k", "a", "body"))
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	closing := make(chan error)
	go func() { closing <- s.Close() }()
	for range 100 {
		if r, err := snapshot.View().Get(1); err != nil || string(r.Body) != "body" {
			t.Fatalf("got %v, %v", r, err)
		}
	}
	snapshot.Release()
	if err := <-closing; err != nil {
		t.Error(err)
	}
	closeStore(t, openAt(t, dir))
}
