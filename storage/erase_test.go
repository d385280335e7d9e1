package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hexapla/storage"
)

// count reads how often something is done from the environment.
func count(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// eraseRounds is an environment variable: how many erases the test does.
const eraseRounds = "STORAGE_ERASE_ROUNDS"

// TestY10_EraseLeavesNoBytes erases things one after another and looks for their
// bytes in every file of the folder.
func TestY10_EraseLeavesNoBytes(t *testing.T) {
	t.Parallel()
	rounds := count(t, eraseRounds, 20)
	dir := t.TempDir()
	s := openAt(t, dir)
	random := rand.New(rand.NewPCG(5, 6))
	n, gone := 0, map[int]bool{}
	for range 10 {
		if err := plant(t.Context(), s, n); err != nil {
			t.Fatal(err)
		}
		n++
	}
	for range rounds {
		one := random.IntN(n)
		for gone[one] {
			one = random.IntN(n)
		}
		if len(holds(t, dir, canary(one))) == 0 {
			t.Fatalf("%d is in no file before it is erased", one)
		}
		// A copy, a quarantined file and a blob that no write came for hold it too.
		for _, name := range []string{"snapshots/2026-01-01.db", "quarantine/1/store.db"} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(canary(one)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.StageBlob(t.Context(), []byte(strings.Repeat(canary(one), 500)), ""); err != nil {
			t.Fatal(err)
		}
		finished := false
		if err := s.Erase(t.Context(), without(s, one), func() error { finished = true; return nil }); err != nil {
			t.Fatal(err)
		}
		gone[one] = true
		if files := holds(t, dir, canary(one)); len(files) > 0 || !finished {
			t.Fatalf("%d is still in %v; finished: %v", one, files, finished)
		}
		if err := plant(t.Context(), s, n); err != nil {
			t.Fatal(err)
		}
		n++
	}
	checkPlanted(t, s, n, gone)
	closeStore(t, s)
	s = openAt(t, dir)
	checkPlanted(t, s, n, gone)
	if pending, err := s.Erasing(); pending || err != nil {
		t.Errorf("erasing: %v, %v", pending, err)
	}
}

// TestEraseNothing: a mapping that changes nothing commits nothing.
func TestEraseNothing(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	if err := plant(t.Context(), s, 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Erase(t.Context(), without(s, 7), func() error { return errors.New("called") }); err != nil {
		t.Error(err)
	}
	refused := errors.New("refused")
	plan := func(storage.View) (storage.Mapping, error) { return without(s, 0), refused }
	if err := s.EraseBy(t.Context(), plan, nil); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	checkPlanted(t, s, 1, nil)
}

// eraserChild erases a canary from the store in args[0] and says when it is
// gone.
func eraserChild(args []string) error {
	ctx := context.Background()
	s, err := storage.Open(ctx, storage.Options{Dir: args[0]})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("open")
	if len(args) > 1 { // a rewrite that changes every body
		_, err := s.Rewrite(ctx, migration())
		if err == nil {
			fmt.Println("migrated")
		}
		return err
	}
	if err := s.Erase(ctx, without(s, 2), nil); err != nil {
		return err
	}
	fmt.Println("erased")
	return nil
}

// TestY11_KilledErase kills an erase, or fails it, at its system calls in turn:
// at a sample of them, or at all if killRounds is set. Afterwards the store is
// whole and either has all of it or, once it was answered or begun, nothing in
// any file.
func TestY11_KilledErase(t *testing.T) {
	t.Parallel()
	const n = 5
	template := filepath.Join(t.TempDir(), "store")
	s := openAt(t, template)
	for i := range n {
		if err := plant(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	var begun, whole atomic.Int64
	for _, c := range []struct{ call string }{{"fdatasync"}, {"pwrite64"}, {"fsync"}, {"renameat"}, {"unlinkat"}, {"ftruncate"}} {
		for i, fault := range []string{"signal=SIGKILL", "error=EIO", "error=ENOSPC"} {
			t.Run(c.call+" "+fault, func(t *testing.T) {
				t.Parallel()
				step := 5 + i
				if os.Getenv(killRounds) != "" {
					step = 1
				}
				for when := 1; when < 200; when += step {
					dir := filepath.Join(t.TempDir(), "store")
					if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
						t.Fatal(err)
					}
					log := dir + ".trace"
					wrapper := strace(t, log, c.call, fmt.Sprintf("%s:when=%d", fault, when))
					out, err := command(t, wrapper, "eraser", dir).Output()
					var exit *exec.ExitError
					if err != nil && !errors.As(err, &exit) {
						t.Fatal(err)
					}
					trace, err := os.ReadFile(log)
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Contains(trace, []byte("INJECTED")) && !bytes.Contains(trace, []byte("killed by SIGKILL")) {
						return // there are not so many calls
					}
					what := fmt.Sprintf("%s %s at %d", c.call, fault, when)
					s := openWith(t, storage.Options{Dir: dir, Logf: func(string, ...any) {}})
					left := holds(t, dir, canary(2))
					erased := bytes.Contains(out, []byte("erased"))
					if pending, err := s.Erasing(); pending || err != nil {
						t.Errorf("%s: erasing: %v, %v", what, pending, err)
					}
					gone := map[int]bool{}
					viewing(t, s, func(v storage.View) {
						if _, err := v.Get(9); errors.Is(err, storage.ErrErased) {
							gone[2] = true
						}
					})
					if gone[2] && len(left) > 0 || erased && !gone[2] {
						t.Errorf("%s: said %q, gone %v, left in %v", what, out, gone[2], left)
					}
					checkPlanted(t, s, n, gone)
					checkNoLeftovers(t, dir)
					closeStore(t, s)
					if gone[2] {
						begun.Add(1)
					} else {
						whole.Add(1)
					}
					if t.Failed() {
						t.Fatal(what)
					}
				}
			})
		}
	}
	t.Cleanup(func() {
		t.Logf("%d erases came through, %d had not begun", begun.Load(), whole.Load())
		if begun.Load() == 0 || whole.Load() == 0 {
			t.Error("faults met only one side")
		}
	})
}

// TestS14_SweepBesideStaging: a write never refers to a blob that is not there,
// however staging, adding and removing blobs without an entry meet.
func TestS14_SweepBesideStaging(t *testing.T) {
	t.Parallel()
	s := openAt(t, t.TempDir())
	rounds := count(t, "STORAGE_SWEEP_ROUNDS", 150)
	var writers sync.WaitGroup
	var refused atomic.Int64
	stop := make(chan bool)
	writers.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			gone := func(storage.View) (storage.Mapping, error) {
				return storage.Mapping{Table: func(string, []byte) (storage.Fate, []byte) { return storage.Drop, nil }}, nil
			}
			if err := s.PutTable("t", []byte{byte(i)}); err != nil {
				t.Error(err)
			}
			if err := s.EraseBy(context.Background(), gone, nil); err != nil {
				t.Error(err)
			}
		}
	})
	var adders sync.WaitGroup
	for w := range 4 {
		adders.Go(func() {
			for i := range rounds {
				data := bytes.Repeat([]byte(fmt.Sprintf("%d of %d ", i%20, w%2)), 1000)
				staged, err := s.StageBlob(t.Context(), data, "")
				if err != nil {
					t.Error(err)
					return
				}
				_, err = s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
					tx.AddBlob(staged)
					tx.Put(draft("k", staged.Ref.SHA256, ""))
					return nil, nil
				})
				if errors.Is(err, storage.ErrBlobDamaged) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			}
		})
	}
	adders.Wait()
	close(stop)
	writers.Wait()
	sound(t, s) // reads every blob
	t.Logf("%d writes came too late and were refused", refused.Load())
}
