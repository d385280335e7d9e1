//go:build unix

package storage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"hexapla/storage"
)

func setFileLimit(limit *syscall.Rlimit) error {
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, limit)
}

// TestS6_Full fills the store up to a limit on the size of files, which needs no
// rights and acts like a full disk.
func TestS6_Full(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := command(t, nil, "full", dir).CombinedOutput()
	var n int
	if _, scanErr := fmt.Sscanf(string(out), "full %d\n", &n); err != nil || scanErr != nil || n < 10 {
		t.Fatalf("%v: %s", err, out)
	}
	// With room again, everything is there and writing goes on.
	s := openAt(t, dir)
	sound(t, s)
	if _, err := killedWrite(t.Context(), s, 0, n); err != nil {
		t.Error(err)
	}
	viewing(t, s, func(v storage.View) {
		if got := v.ListLen("all"); got != n+1 {
			t.Errorf("%d writes are there, expected %d", got, n+1)
		}
	})
}

// deniedChild gives up its rights, opens the store in args[0], which it may only
// read, and says what it may do.
func deniedChild(args []string) error {
	if os.Geteuid() == 0 {
		if err := syscall.Setgid(65534); err != nil {
			return err
		}
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	ctx := context.Background()
	s, err := storage.Open(ctx, storage.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	if !errors.Is(s.ReadOnly(), storage.ErrReadOnly) {
		return fmt.Errorf("not read-only: %w", s.ReadOnly())
	}
	if _, err := s.Write(ctx, storage.Op{}, putting()); !errors.Is(err, storage.ErrReadOnly) {
		return fmt.Errorf("write: %w", err)
	}
	if s.Seq() != 1 {
		return fmt.Errorf("at %d", s.Seq())
	}
	fmt.Println("read-only")
	return s.Close()
}

// TestS8_Denied: a folder that may not be written is read, and is not taken for
// damage.
func TestS8_Denied(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "denied") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700); os.RemoveAll(dir) })
	s := openAt(t, dir)
	write(t, s, draft("k", "a", ""))
	closeStore(t, s)
	for name, mode := range map[string]os.FileMode{"store.db": 0o444, "manifest.json": 0o444, "lock": 0o444, ".": 0o555} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	out, err := command(t, nil, "denied", dir).CombinedOutput()
	if err != nil || string(out) != "read-only\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// strace returns the command line of strace with a fault at one of the system
// calls of a kind, or skips. The trace goes to a file.
func strace(t *testing.T, log, call, fault string) []string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err == nil {
		err = exec.Command(path, "-o", "/dev/null", "true").Run()
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("strace is needed: %v", err)
		}
		t.Skipf("strace cannot be used: %v", err)
	}
	return []string{path, "-f", "-o", log, "-e", "trace=" + call, "-e", "inject=" + call + ":" + fault}
}
