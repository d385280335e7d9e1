//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"hexapla/rpc/wire"
	"hexapla/session"
)

// soakShare is an environment variable: which share of a day of use TestSoak
// goes through, 1 for all of it; 0.0005 without it.
const soakShare = "SOAK_SHARE"

// A day of use.
const (
	soakAppends  = 200_000
	soakPacks    = 50_000
	soakRestarts = 2_000 // of editors
	soakKills    = 50    // of the daemon
	soakHours    = 24
)

// TestSoak goes through a day of an editor's use, or a share of it: appends and
// packs in two workspaces, editors that leave and come back, a daemon that is
// killed. At the end all that was acknowledged is there once, the daemon holds as
// many files and goroutines as at the beginning, its memory has not grown with
// the hours, and a compacted file is little more than what it holds.
func TestSoak(t *testing.T) {
	t.Parallel()
	share := 0.0005
	if text := os.Getenv(soakShare); text != "" {
		var err error
		if share, err = strconv.ParseFloat(text, 64); err != nil || share <= 0 || share > 1 {
			t.Fatalf("%s=%q: must be in (0,1]", soakShare, text)
		}
	}
	of := func(day int) int { return max(1, int(share*float64(day))) }
	appends, packs, restarts, kills := of(soakAppends), of(soakPacks), of(soakRestarts), of(soakKills)
	p := newPost(t)
	uris := []string{"file:///projects/one", "file:///projects/two"}
	windows := []*window{p.open(uris[0], "s0"), p.open(uris[1], "s1"), p.open(uris[0], "s2")}
	atStart := descriptors(t, p.daemons()[0])
	goroutines := p.dump("first") // and another daemon takes over
	want := make([][]string, len(uris))
	var memory []float64 // MiB, of each daemon at its end
	passed := func(i, times int) bool { return i*times/appends != (i+1)*times/appends }
	for i := range appends {
		k := i % len(windows)
		w := windows[k]
		n := item(1, i)
		if _, err := w.record(fmt.Sprintf("The test of internal/part%d/reader.go fails in %s, please look why.", i%40, n), ""); err != nil {
			t.Fatalf("append %d: %v", i, err)
		}
		want[k%2] = append(want[k%2], n)
		if passed(i, packs) {
			if err := w.Call(w.ctx(), wire.MethodPackBuild, wire.PackBuildParams{Session: w.session, Budget: wire.Budget{Total: 8000}}, nil); err != nil {
				t.Fatalf("pack at %d: %v", i, err)
			}
		}
		if passed(i, restarts) {
			w.leave()
			windows[k] = p.open(uris[k%2], fmt.Sprint("s", k))
		}
		if passed(i, kills) {
			for _, pid := range p.daemons() {
				memory = append(memory, anonymous(t, pid))
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, w := range windows { // so that the daemon has them all
		w.mustRecord("Good night.")
	}
	atEnd := descriptors(t, p.daemons()[0])
	if atEnd > atStart+5 {
		t.Errorf("the daemon has %d files open, %d at the beginning", atEnd, atStart)
	}
	for k, uri := range uris {
		sameItems(t, p.stored(uri), want[k])
	}
	now := p.dump("last")
	if now > goroutines+5 {
		t.Errorf("the daemon has %d goroutines, %d at the beginning", now, goroutines)
	}
	for _, w := range windows {
		w.leave()
	}
	p.end()
	// In the first half what is kept of a store grows with it.
	settled := memory[len(memory)/2:]
	slope := slopeOf(settled) * float64(len(memory)) / soakHours / share
	t.Logf("%d appends, %d packs, %d restarts, %d kills; files %d, then %d; goroutines %d, then %d; memory of the daemons %.1f MiB, %.2f MiB an hour in the second half",
		appends, packs, restarts, kills, atStart, atEnd, goroutines, now, memory, slope)
	if len(settled) >= 10 && slope > 1 {
		t.Errorf("memory grows by %.2f MiB an hour", slope)
	}
	if out, err := p.command("compact", "--all").CombinedOutput(); err != nil {
		t.Fatalf("compact: %v: %s", err, out)
	}
	for _, uri := range uris {
		path := filepath.Join(p.data, "workspaces", session.WorkspaceID(uri), "store.db")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		live := liveBytes(t, path)
		t.Logf("compacted: %d KiB for %d KiB", info.Size()>>10, live>>10)
		if info.Size() > live*3/2 && info.Size() > 1<<20 {
			t.Errorf("%d bytes hold %d", info.Size(), live)
		}
	}
}

// descriptors counts the open files of a process, without the segments of
// indexes, of which there are some for each power of ten of what was recorded.
func descriptors(t *testing.T, pid int) (n int) {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if to, err := os.Readlink(filepath.Join(folder, entry.Name())); err == nil && !strings.HasSuffix(to, ".zap") {
			n++
		}
	}
	return n
}

// anonymous returns the memory of a process that is not the content of files, in
// MiB.
func anonymous(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib / 1024
}

var goroutineLine = regexp.MustCompile(`(?m)^goroutine \d+ .*:$`)

// dump has the daemon die with the stacks of its goroutines in its crash file,
// and counts them.
func (p *post) dump(which string) int {
	p.t.Helper()
	pids := p.daemons()
	if len(pids) != 1 {
		p.t.Fatalf("daemons: %v", pids)
	}
	if err := syscall.Kill(pids[0], syscall.SIGQUIT); err != nil {
		p.t.Fatal(err)
	}
	p.until("the daemon is gone", func() bool { return !alive(pids[0]) })
	most := 0
	err := filepath.WalkDir(filepath.Join(p.data, "daemon"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if at := bytes.LastIndex(text, []byte("SIGQUIT")); at >= 0 {
			most = max(most, len(goroutineLine.FindAll(text[at:], -1)))
		}
		return err
	})
	if err != nil || most == 0 {
		p.t.Fatalf("%s: no stacks of goroutines in the daemon's files: %v", which, err)
	}
	return most
}

// slopeOf is the least-squares slope of values against their index.
func slopeOf(values []float64) float64 {
	n := float64(len(values))
	var sx, sy, sxx, sxy float64
	for i, y := range values {
		x := float64(i)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if d := n*sxx - sx*sx; d != 0 {
		return (n*sxy - sx*sy) / d
	}
	return 0
}

// liveBytes is how many bytes of a store's pages are in use: keys, values, and the
// 16 bytes that bbolt keeps of each.
func liveBytes(t *testing.T, path string) (n int64) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
			stats := b.Stats()
			n += int64(stats.LeafInuse + stats.BranchInuse)
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
