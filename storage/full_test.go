//go:build linux

package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"hexapla/storage"
)

// TestS6_EraseOnAFullDisk fills a small file system. What is there can be read
// and erased: at once, thanks to the ballast, or as soon as there is room. It
// needs the right to mount.
func TestS6_EraseOnAFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=80m"); err != nil {
		t.Skipf("a file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(disk, "store")
	s := openAt(t, dir)
	const n = 3
	for i := range n {
		if err := plant(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 160 { // ballast is for stores of some size
		if err := s.PutTable(fmt.Sprintf("some/%03d", i), make([]byte, 128<<10)); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	s = openAt(t, dir) // makes the ballast
	filler := 0
	for ; ; filler++ {
		staged, err := s.StageBlob(t.Context(), bytes.Repeat([]byte{byte(filler)}, 1<<20), "")
		if errors.Is(err, storage.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) { tx.AddBlob(staged); return nil, nil })
		if errors.Is(err, storage.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	viewing(t, s, func(v storage.View) {
		if r, err := v.Get(1); err != nil || !bytes.Contains(r.Body, []byte(canary(0))) {
			t.Errorf("reading: %v, %v", r, err)
		}
	})
	err := s.Erase(t.Context(), without(s, 1), nil)
	if err != nil && (!errors.Is(err, storage.ErrFull) || !errors.Is(err, storage.ErrUnfinished)) {
		t.Fatal(err)
	}
	viewing(t, s, func(v storage.View) {
		if _, getErr := v.Get(5); !errors.Is(getErr, storage.ErrErased) {
			t.Errorf("it can be read after %v: %v", err, getErr)
		}
	})
	t.Logf("%d MiB of blobs, the erase said: %v", filler, err)
	if err != nil { // room comes
		closeStore(t, s)
		if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, "size=160m"); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, dir)
	}
	if pending, err := s.Erasing(); err != nil || pending {
		t.Errorf("erasing: %v, %v", pending, err)
	}
	if files := holds(t, dir, canary(1)); len(files) > 0 {
		t.Errorf("it is still in %v", files)
	}
}
