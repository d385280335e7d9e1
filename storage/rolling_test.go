package storage_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"hexapla/storage"
)

const day = 24 * 60 * 60 * 1000

func snapshotsOf(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestS16_RollingSnapshots: a copy is made with the first commit of a day, two
// are kept, each is a store of its own, and an erase removes them.
func TestS16_RollingSnapshots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var now atomic.Int64
	now.Store(20_000 * day)
	opts := storage.Options{Dir: dir, Snapshots: 2, Now: now.Load}
	for d := range 4 {
		s := openWith(t, opts)
		for i := range 3 {
			if err := plant(t.Context(), s, 3*d+i); err != nil {
				t.Fatal(err)
			}
		}
		closeStore(t, s)
		now.Add(day)
	}
	if names := snapshotsOf(t, dir); !slices.Equal(names, []string{"2024-10-06.db", "2024-10-07.db"}) {
		t.Fatalf("there are %v", names)
	}
	other := t.TempDir()
	data, err := os.ReadFile(filepath.Join(dir, "snapshots", "2024-10-07.db"))
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, other, data)
	copied := openAt(t, other)
	viewing(t, copied, func(v storage.View) {
		if body, ok, err := v.Latest("turn", fmt.Sprint("n", 10)); !ok || err != nil || !bytes.Contains(body.Body, []byte(canary(9))) {
			t.Errorf("got %v, %v, %v", body, ok, err)
		}
	})
	s := openWith(t, opts)
	if err := s.Erase(t.Context(), without(s, 5), nil); err != nil {
		t.Fatal(err)
	}
	if files := holds(t, dir, canary(5)); len(files) > 0 || len(snapshotsOf(t, dir)) > 0 {
		t.Errorf("it is still in %v, snapshots are %v", files, snapshotsOf(t, dir))
	}
}

// TestS16_Backup: what is written while others write is a sound store.
func TestS16_Backup(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	for i := range 5 {
		if err := plant(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	go func() {
		var err error
		for i := 5; i < 40 && err == nil; i++ {
			err = plant(t.Context(), s, i)
		}
		done <- err
	}()
	for range 5 {
		var copied bytes.Buffer
		if err := s.Backup(t.Context(), &copied); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		overwrite(t, dir, copied.Bytes())
		c := openAt(t, dir)
		report, err := c.Verify(t.Context(), false)
		if err != nil || len(report.Problems) > 0 || report.Records < 20 {
			t.Errorf("%+v, %v", report, err)
		}
		closeStore(t, c)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestS16_FirstCommitOfADayFails: the commit that would start the day's snapshot
// fails. What became of it is found out all the same, and the next commit starts
// the snapshot.
func TestS16_FirstCommitOfADayFails(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]*failing{
		"done":     {after: []int64{1}, cause: syscall.EIO},
		"not done": {before: []int64{1}, cause: syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var now atomic.Int64
			now.Store(20_000 * day)
			s := openWith(t, storage.Options{Dir: dir, Snapshots: 2, Now: now.Load}.WithCommit(f.commit))
			write(t, s, draft("k", "a", "one"))
			f.armed.Store(true)
			now.Add(day)
			_, err := s.Write(t.Context(), storage.Op{}, putting(draft("k", "b", "two")))
			if done := f.after != nil; done != (err == nil) {
				t.Fatal(err)
			}
			write(t, s, draft("k", "c", "three"))
			closeStore(t, s)
			if names := snapshotsOf(t, dir); len(names) != 1 {
				t.Errorf("there are %v", names)
			}
		})
	}
}
