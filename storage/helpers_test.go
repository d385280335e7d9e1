package storage_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hexapla/storage"
)

// childRole tells the test binary, started by one of its own tests, to be a
// child that may be killed, and which.
const childRole = "STORAGE_TEST_CHILD"

func TestMain(m *testing.M) {
	role := os.Getenv(childRole)
	if role == "" {
		os.Exit(m.Run())
	}
	child, ok := map[string]func(args []string) error{
		"writer": writerChild,
		"holder": holderChild,
		"reader": readerChild,
		"full":   fullChild,
		"denied": deniedChild,
		"steps":  stepsChild,
		"eraser": eraserChild,
	}[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such child:", role)
		os.Exit(3)
	}
	if err := child(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a running child.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// command is this test binary in a role, behind a wrapper such as strace.
func command(t testing.TB, wrapper []string, role string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := append(append(append([]string{}, wrapper...), self), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	return cmd
}

func startChild(t testing.TB, role string, args ...string) *process {
	t.Helper()
	p := &process{cmd: command(t, nil, role, args...)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.in.Close()
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// expect reads one line.
func (p *process) expect(t testing.TB, line string) {
	t.Helper()
	if !p.out.Scan() || p.out.Text() != line {
		t.Fatalf("the child says %q, expected %q", p.out.Text(), line)
	}
}

// openAt opens a store that is closed when the test ends.
func openAt(t testing.TB, dir string) *storage.Store {
	t.Helper()
	return openWith(t, storage.Options{Dir: dir})
}

func openWith(t testing.TB, opts storage.Options) *storage.Store {
	t.Helper()
	if opts.Logf == nil {
		opts.Logf = t.Logf
	}
	s, err := storage.Open(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func closeStore(t testing.TB, s *storage.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// write commits drafts in one write.
func write(t testing.TB, s *storage.Store, drafts ...storage.Draft) storage.Receipt {
	t.Helper()
	receipt, err := s.Write(context.Background(), storage.Op{}, putting(drafts...))
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func putting(drafts ...storage.Draft) func(*storage.Tx) ([]byte, error) {
	return func(tx *storage.Tx) ([]byte, error) {
		for _, d := range drafts {
			tx.Put(d)
		}
		return nil, nil
	}
}

func draft(kind, id, body string, lists ...string) storage.Draft {
	return storage.Draft{Kind: kind, ID: id, Body: []byte(body), Lists: lists}
}

// viewing runs fn on the newest state.
func viewing(t testing.TB, s *storage.Store, fn func(storage.View)) {
	t.Helper()
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	fn(snapshot.View())
}

// sound verifies a store as a whole.
func sound(t testing.TB, s *storage.Store) {
	t.Helper()
	report, err := s.Verify(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range report.Problems {
		t.Error(problem)
	}
}

func dataFile(dir string) string { return filepath.Join(dir, "store.db") }

// filesOf returns the names and contents of a folder's files.
func filesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
