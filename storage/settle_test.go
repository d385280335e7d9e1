package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hexapla/storage"
)

// failing makes the commits whose numbers are in before or after fail before or
// after they were done. Number 1 is the first after it is armed.
type failing struct {
	armed         atomic.Bool
	n             atomic.Int64
	before, after []int64
	cause         error
}

func (f *failing) commit(real func() error) error {
	if !f.armed.Load() {
		return real()
	}
	n := f.n.Add(1)
	for _, at := range f.before {
		if n == at {
			return f.cause
		}
	}
	err := real()
	for _, at := range f.after {
		if n == at && err == nil {
			return f.cause
		}
	}
	return err
}

// TestS5_CommitFails: an error of a commit means that it is not known what happened.
// The store finds out, and says that, and goes on; if the disk fails again it
// takes no more writes.
func TestS5_CommitFails(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before, after []int64
		cause         error
		is            error // of the write; nil if it was done after all
		done          bool  // what is in the store afterwards, after opening anew
		readOnly      bool
	}{
		"not done":                   {before: []int64{1}, cause: syscall.EIO, is: syscall.EIO},
		"done":                       {after: []int64{1}, cause: syscall.EIO, done: true},
		"not done, then again":       {before: []int64{1, 2}, cause: syscall.EIO, is: syscall.EIO, readOnly: true},
		"done, then not":             {after: []int64{1}, before: []int64{2}, cause: syscall.EIO, is: storage.ErrUnknown, done: true, readOnly: true},
		"done, then again":           {after: []int64{1, 2}, cause: syscall.EIO, is: storage.ErrUnknown, done: true, readOnly: true},
		"full":                       {before: []int64{1}, cause: syscall.ENOSPC, is: storage.ErrFull},
		"full at the last sync":      {after: []int64{1}, cause: syscall.ENOSPC, done: true},
		"full, as bbolt says it":     {before: []int64{1}, cause: fmt.Errorf("file resize error: %s", syscall.EFBIG), is: storage.ErrFull},
		"done, full at the next one": {after: []int64{1}, before: []int64{2}, cause: syscall.ENOSPC, is: storage.ErrUnknown, done: true, readOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			f := &failing{before: row.before, after: row.after, cause: row.cause}
			s := openWith(t, storage.Options{Dir: dir}.WithCommit(f.commit))
			write(t, s, draft("k", "before", "", "list"))
			f.armed.Store(true)
			op := storage.Op{Key: "key"}
			receipt, err := s.Write(t.Context(), op, putting(draft("k", "a", "", "list")))
			if !errors.Is(err, row.is) || row.is == nil && (err != nil || receipt.Seq != 2) {
				t.Fatalf("got %+v, %v", receipt, err)
			}
			if errors.Is(err, storage.ErrUnknown) != (row.is == storage.ErrUnknown) {
				t.Errorf("unknown or not: %v", err)
			}
			if got := s.ReadOnly(); (got != nil) != row.readOnly || got != nil && !errors.Is(got, storage.ErrReadOnly) {
				t.Errorf("read-only: %v", got)
			}
			told := row.done && row.is == nil
			viewing(t, s, func(v storage.View) {
				if _, ok, err := v.Latest("k", "a"); ok != told || err != nil {
					t.Errorf("visible: %v, %v", ok, err)
				}
				if n := v.ListLen("list"); (n == 2) != told {
					t.Errorf("list of %d", n)
				}
				if _, ok, err := v.Latest("k", "before"); !ok || err != nil {
					t.Errorf("what was before: %v, %v", ok, err)
				}
			})
			receipt, err = s.Write(t.Context(), op, putting(draft("k", "a", "", "list")))
			if row.readOnly {
				if !errors.Is(err, storage.ErrReadOnly) {
					t.Errorf("the next write: %v", err)
				}
			} else if err != nil || receipt.Seq != 2 || receipt.Repeated != row.done {
				t.Errorf("the next write: %+v, %v", receipt, err)
			}
			closeStore(t, s)

			s = openAt(t, dir)
			receipt, err = s.Write(t.Context(), op, putting(draft("k", "a", "", "list")))
			if err != nil || receipt.Seq != 2 || receipt.Repeated != (row.done || !row.readOnly) {
				t.Errorf("after opening anew: %+v, %v", receipt, err)
			}
			sound(t, s)
		})
	}
}

// TestS5_CommitFailsUnderReaders: the file is opened anew when the last snapshot is
// released, and until then no new one is given.
func TestS5_CommitFailsUnderReaders(t *testing.T) {
	t.Parallel()
	f := &failing{after: []int64{1}, cause: syscall.EIO}
	s := openWith(t, storage.Options{Dir: t.TempDir()}.WithCommit(f.commit))
	write(t, s, draft("k", "a", "one"))
	old, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	f.armed.Store(true)
	written := make(chan error)
	go func() {
		_, err := s.Write(t.Context(), storage.Op{}, putting(draft("k", "a", "two")))
		written <- err
	}()
	for range 50 {
		if r, err := old.View().Get(1); err != nil || string(r.Body) != "one" {
			t.Fatalf("got %v, %v", r, err)
		}
	}
	old.Release()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	viewing(t, s, func(v storage.View) {
		if r, _, err := v.Latest("k", "a"); err != nil || string(r.Body) != "two" {
			t.Errorf("got %q, %v", r.Body, err)
		}
	})
	sound(t, s)
}

// TestS5_BatchFails: writes that share a commit share its fate.
func TestS5_BatchFails(t *testing.T) {
	t.Parallel()
	f := &failing{before: []int64{2}, cause: syscall.EIO}
	s := openWith(t, storage.Options{Dir: t.TempDir()}.WithCommit(f.commit))
	begun, goOn := make(chan bool), make(chan bool)
	f.armed.Store(true)
	first := make(chan error)
	go func() {
		_, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
			close(begun)
			<-goOn
			tx.Put(draft("k", "first", ""))
			return nil, nil
		})
		first <- err
	}()
	<-begun
	const n = 8
	refused := errors.New("refused")
	results := make(chan error)
	queued := make(chan bool, n)
	for i := range n {
		go func() {
			queued <- true
			_, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
				tx.Put(draft("k", fmt.Sprint(i), ""))
				if i == 0 {
					return nil, refused
				}
				return nil, nil
			})
			results <- err
		}()
	}
	for range n {
		<-queued
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
	failed := 0
	for range n {
		if err := <-results; errors.Is(err, syscall.EIO) {
			failed++
		} else if err != nil && !errors.Is(err, refused) {
			t.Error(err)
		}
	}
	// At least one write was in the commit that failed; who was is in no other.
	viewing(t, s, func(v storage.View) {
		if failed == 0 || v.Seq() != int64(1+n-1-failed) {
			t.Errorf("%d failed, the store is at %d", failed, v.Seq())
		}
	})
	sound(t, s)
}

// TestS2_KillAtEachCall has the kernel fail or kill at the store's writes and syncs in
// turn, in a child process under strace: at a sample of them, or at all if
// killRounds is set.
func TestS2_KillAtEachCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call   string
		upTo   int // the child makes about so many
		sample int // every how many are tried
	}{
		{"fdatasync", 15, 2}, {"pwrite64", 34, 7}, {"fsync", 34, 7}, {"renameat", 9, 4}, {"ftruncate", 4, 3}, {"mkdirat", 8, 4},
	} {
		for i, fault := range []string{"error=EIO", "error=ENOSPC", "signal=SIGKILL"} {
			t.Run(c.call+" "+fault, func(t *testing.T) {
				t.Parallel()
				step, first := c.sample, 1+i
				if os.Getenv(killRounds) != "" {
					step, first = 1, 1
				}
				injected := 0
				// Calls are counted by thread: only the first is sure to come.
				for n := 1; n <= c.upTo; n++ {
					if n > 1 && (n-first)%step != 0 {
						continue
					}
					dir := filepath.Join(t.TempDir(), "store")
					what := fmt.Sprintf("%s %s at %d", c.call, fault, n)
					log := dir + ".trace"
					wrapper := strace(t, log, c.call, fmt.Sprintf("%s:when=%d", fault, n))
					out, err := command(t, wrapper, "steps", dir).Output()
					var exit *exec.ExitError
					if err != nil && !errors.As(err, &exit) {
						t.Fatal(err)
					}
					trace, err := os.ReadFile(log)
					if err != nil {
						t.Fatal(err)
					}
					if bytes.Contains(trace, []byte("INJECTED")) || bytes.Contains(trace, []byte("killed by SIGKILL")) {
						injected++
					}
					checkSteps(t, dir, string(out), what)
				}
				if injected == 0 {
					t.Error("nothing was injected")
				}
			})
		}
	}
}

// checkSteps compares what a stepsChild said with what is in its store, and does
// what is not there.
func checkSteps(t *testing.T, dir, said, what string) {
	t.Helper()
	s := openWith(t, storage.Options{Dir: dir, Logf: func(string, ...any) {}})
	answers := map[int]string{}
	for line := range strings.Lines(said) {
		var i int
		var answer string
		if _, err := fmt.Sscan(line, &i, &answer); err != nil {
			t.Fatalf("%s: the child says %q", what, line)
		}
		answers[i] = answer
	}
	before := s.Seq()
	for i := range steps {
		key := fmt.Sprintf("w0-%d", stepKey(i))
		there := false
		viewing(t, s, func(v storage.View) {
			_, ok, err := v.Latest("turn", key)
			there = ok
			if err != nil {
				t.Errorf("%s: write %d: %v", what, i, err)
			}
		})
		if answers[i] == "yes" && !there || answers[i] == "no" && there {
			t.Errorf("%s: write %d: the child says %s, it is there: %v\n%s", what, i, answers[i], there, said)
		}
		if _, err := killedWrite(t.Context(), s, 0, stepKey(i)); err != nil {
			t.Errorf("%s: write %d again: %v", what, i, err)
		}
	}
	if s.Seq() != 2*steps {
		t.Errorf("%s: at %d, then %d, expected %d", what, before, s.Seq(), 2*steps)
	}
	sound(t, s)
	closeStore(t, s)
}
