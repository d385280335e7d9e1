package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hexapla/storage"
)

// migration is a mapping that changes every record.
func migration() storage.Mapping {
	return storage.Mapping{Record: func(r storage.Record, terms []byte) (storage.Fate, storage.Content) {
		return storage.Replace, storage.Content{Body: append([]byte("new "), r.Body...), Terms: terms}
	}}
}

// TestS19_KilledMigration kills or fails the writing anew of a store at its
// system calls in turn: afterwards all of it is old or all of it is new, and it
// can be done again.
func TestS19_KilledMigration(t *testing.T) {
	t.Parallel()
	template := filepath.Join(t.TempDir(), "store")
	s := openAt(t, template)
	for i := range 4 {
		if err := plant(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	for _, call := range []string{"fdatasync", "pwrite64", "fsync", "renameat"} {
		for i, fault := range []string{"signal=SIGKILL", "error=ENOSPC"} {
			t.Run(call+" "+fault, func(t *testing.T) {
				t.Parallel()
				step := 6 + i
				if os.Getenv(killRounds) != "" {
					step = 1
				}
				for when := 1; when < 200; when += step {
					dir := filepath.Join(t.TempDir(), "store")
					if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
						t.Fatal(err)
					}
					log := dir + ".trace"
					out, err := command(t, strace(t, log, call, fmt.Sprintf("%s:when=%d", fault, when)), "eraser", dir, "migrate").Output()
					var exit *exec.ExitError
					if err != nil && !errors.As(err, &exit) {
						t.Fatal(err)
					}
					trace, err := os.ReadFile(log)
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Contains(trace, []byte("INJECTED")) && !bytes.Contains(trace, []byte("killed by SIGKILL")) {
						return
					}
					s := openWith(t, storage.Options{Dir: dir, Logf: func(string, ...any) {}})
					changed, all := 0, 0
					viewing(t, s, func(v storage.View) {
						if err := v.Scan(0, v.Seq(), func(r storage.Record, _ []byte) error {
							all++
							if bytes.HasPrefix(r.Body, []byte("new ")) {
								changed++
							}
							return nil
						}); err != nil {
							t.Fatal(err)
						}
					})
					if changed != 0 && changed != all || changed == 0 && bytes.Contains(out, []byte("migrated")) {
						t.Fatalf("%s %s at %d: %d of %d are new; said %q", call, fault, when, changed, all, out)
					}
					sound(t, s)
					checkNoLeftovers(t, dir)
					if _, err := s.Rewrite(t.Context(), migration()); err != nil {
						t.Error(err)
					}
					closeStore(t, s)
				}
			})
		}
	}
}

// TestS12_BlobHeals: a blob that is missing, cut, changed or another's is never
// handed out, the others are, and staging the same content heals it.
func TestS12_BlobHeals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	for i := range 3 {
		if err := plant(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	large := func(i int) []byte { return []byte(strings.Repeat("large "+canary(i)+" ", 400)) }
	path := func(i int) string {
		staged, err := s.StageBlob(t.Context(), large(i), "text/plain")
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "blobs", staged.Ref.SHA256[:2], staged.Ref.SHA256)
	}
	first, second := path(0), path(1)
	sha := filepath.Base(first)
	random := rand.New(rand.NewPCG(9, 10))
	for round := range count(t, "STORAGE_CORPUS", 200) {
		data := large(0)
		switch round % 5 {
		case 0:
			data = data[:random.IntN(len(data))]
		case 1:
			data[random.IntN(len(data))] ^= byte(1 << random.IntN(8))
		case 2:
			clear(data[random.IntN(len(data)):])
		case 3:
			data = large(1)
		case 4:
			data = append(data, byte(round))
		}
		if err := os.WriteFile(first, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if round%7 == 0 {
			if err := os.Remove(first); err != nil {
				t.Fatal(err)
			}
		}
		if got, _, err := s.ReadBlob(t.Context(), sha, 0, -1); !errors.Is(err, storage.ErrBlobDamaged) && string(got) != string(large(0)) {
			t.Fatalf("round %d: wrong bytes, %v", round, err)
		}
		if got, _, err := s.ReadBlob(t.Context(), filepath.Base(second), 0, -1); err != nil || string(got) != string(large(1)) {
			t.Fatalf("round %d: the other: %v", round, err)
		}
		path(0)
		if got, _, err := s.ReadBlob(t.Context(), sha, 0, -1); err != nil || string(got) != string(large(0)) {
			t.Fatalf("round %d: not healed: %v", round, err)
		}
	}
}

// TestS13_Orphans: blobs that no write came for go with a compaction once they
// are a day old, and not before.
func TestS13_Orphans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	if err := plant(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	orphan := func(text string) string {
		staged, err := s.StageBlob(t.Context(), []byte(strings.Repeat(text, 5000)), "")
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, "blobs", staged.Ref.SHA256[:2], staged.Ref.SHA256)
	}
	fresh, old := orphan("fresh"), orphan("old")
	closeStore(t, s)
	yesterday := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir)
	if _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("a blob that may be on its way is gone: %v", err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old one is there: %v", err)
	}
	checkPlanted(t, s, 1, nil)
}
