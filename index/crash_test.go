package index_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"hexapla/index"
)

// crashDir names the folder in which the test binary, run as a child, indexes
// documents until it is killed.
const crashDir = "HEXAPLA_TEST_INDEX_DIR"

// killRounds is an environment variable: how many kills TestX4_Killed does, 6
// without it.
const killRounds = "INDEX_KILL_ROUNDS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := indexForEver(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func indexForEver(dir string) error {
	ix, err := index.Open(context.Background(), index.Options{Dir: dir, StoreUUID: uuid})
	if err != nil {
		return err
	}
	docs := numbered(100_000)
	for at := ix.Watermark(); int(at)+20 <= len(docs); at += 20 {
		if err := ix.Apply(context.Background(), docs[at:at+20], at, at+20); err != nil {
			return err
		}
		fmt.Println(at + 20)
	}
	return errors.New("not killed in time")
}

// TestX4_Killed kills a process that is indexing, again and again on the same
// folder. Whatever watermark is found, the index holds exactly what it says.
func TestX4_Killed(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	last := int64(0)
	rounds := 6
	if text := os.Getenv(killRounds); text != "" {
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	patience := 1 // grows while nothing is on disk: on a busy machine writing is behind
	for trial := 0; trial < rounds || last == 0 && trial < rounds+8; trial++ {
		child := exec.Command(self)
		child.Env = append(os.Environ(), crashDir+"="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < patience*(5+20*(trial%6)) && lines.Scan(); n++ {
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait()

		ix := open(t, options(dir, t))
		at := ix.Watermark()
		got := candidates(t, ix, at, 1_000_000, "all")
		if int64(len(got)) != at || (at > 0 && (got[0] != at || got[len(got)-1] != 1)) || ix.Docs() != at {
			t.Errorf("trial %d: %d candidates and %d documents at watermark %d", trial, len(got), ix.Docs(), at)
		}
		if at < last {
			t.Errorf("trial %d: the watermark went back from %d to %d", trial, last, at)
		}
		if last = at; trial+1 >= rounds {
			patience *= 2
		}
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	}
	if last == 0 {
		t.Error("nothing was ever written: the test says little")
	}
}

// TestX7_WriteBehindThatFails takes the folder away under an open index: batches
// still work in memory, but cannot be written any more.
func TestX7_WriteBehindThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ix := open(t, options(dir, t))
	apply(t, ix, 10, numbered(10)...)
	if err := os.Rename(filepath.Join(dir, "live"), filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(20 * time.Second)
	for at := int64(11); ; at++ {
		err := ix.Apply(context.Background(), []index.Doc{{Seq: at, Kind: "turn", Terms: []string{"more"}}}, at-1, at)
		if errors.Is(err, index.ErrFailed) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-deadline:
			t.Fatal("the index never noticed")
		default:
		}
	}
	if _, err := ix.Candidates(context.Background(), []string{"all"}, 10, 10); !errors.Is(err, index.ErrFailed) {
		t.Errorf("a search afterwards: %v", err)
	}
	if err := ix.Reset(context.Background()); err != nil {
		t.Fatalf("reset: %v", err)
	}
	apply(t, ix, 3, numbered(3)...)
	if got := candidates(t, ix, 3, 10, "all"); len(got) != 3 {
		t.Errorf("after Reset: %v", got)
	}
}
