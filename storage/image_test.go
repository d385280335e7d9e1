//go:build linux

package storage_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// imageRounds is an environment variable: how many images the test makes of a
// disk that lost its power.
const imageRounds = "STORAGE_IMAGES"

// TestS3_PowerLoss records what a process writes, and makes of it what a disk may
// have after its power failed at some moment: what was synced, and of what was
// not any part, in sectors of 512 bytes or 4 KiB; names of files as well. Every
// image opens and has everything that was acknowledged by then, also those of
// the store's creation.
func TestS3_PowerLoss(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	log := dir + ".trace"
	wrapper := strace(t, log, "none", "error=EIO")[:4] // strace -f -o log
	wrapper = append(wrapper, "-y", "-xx", "-s", "1000000", "-e", "trace=openat,pwrite64,write,fdatasync,fsync,ftruncate,renameat,renameat2,unlinkat")
	if out, err := command(t, wrapper, "steps", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	calls := parseTrace(t, string(text), dir)
	random := rand.New(rand.NewPCG(11, 12))
	acked := 0
	for round := range count(t, imageRounds, 100) {
		at := random.IntN(len(calls) + 1)
		sector := []int{512, 4096}[round%2]
		d := &disk{names: map[string]*inode{}, durable: map[string]*inode{}}
		var said strings.Builder
		for _, c := range calls[:at] {
			if c.name == "ack" {
				said.Write(c.data)
				continue
			}
			d.do(c)
		}
		image := filepath.Join(t.TempDir(), "image")
		d.crash(t, random, sector, image)
		checkSteps(t, image, said.String(), fmt.Sprintf("image %d: after call %d of %d, sectors of %d", round, at, len(calls), sector))
		acked += strings.Count(said.String(), "yes")
		if t.Failed() {
			t.FailNow()
		}
		os.RemoveAll(image)
	}
	t.Logf("%d calls, %d acknowledged writes looked for", len(calls), acked)
}

// tracedCall is a call that changes files. Paths are relative to the store.
type tracedCall struct {
	name     string
	path, to string
	data     []byte
	offset   int64
	truncate bool
}

var (
	tracedLine  = regexp.MustCompile(`^\d+ +(\w+)\((.*)\) += (-?\d+)`)
	tracedText  = regexp.MustCompile(`"((?:\\x[0-9a-f]{2})*)"`)
	tracedPath  = regexp.MustCompile(`<((?:\\x[0-9a-f]{2})*)>`)
	tracedHalf  = regexp.MustCompile(`^(\d+) +(.*) <unfinished \.\.\.>$`)
	tracedOther = regexp.MustCompile(`^(\d+) +<\.\.\. \w+ resumed>(.*)$`)
)

func parseTrace(t *testing.T, text, dir string) (calls []tracedCall) {
	t.Helper()
	decode := func(s string) []byte {
		b := make([]byte, 0, len(s)/4)
		for ; len(s) >= 4; s = s[4:] {
			n, err := strconv.ParseUint(s[2:4], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			b = append(b, byte(n))
		}
		return b
	}
	halves := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if half := tracedHalf.FindStringSubmatch(line); half != nil {
			halves[half[1]] = half[2]
			continue
		}
		if rest := tracedOther.FindStringSubmatch(line); rest != nil {
			line = rest[1] + " " + halves[rest[1]] + rest[2]
		}
		m := tracedLine.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(m[3], "-") {
			continue
		}
		args := m[2]
		var paths, texts []string
		for _, p := range tracedPath.FindAllStringSubmatch(args, -1) {
			paths = append(paths, string(decode(p[1])))
		}
		for _, s := range tracedText.FindAllStringSubmatch(args, -1) {
			texts = append(texts, string(decode(s[1])))
		}
		c := tracedCall{name: m[1]}
		inside := func(path string) (string, bool) {
			rel, err := filepath.Rel(dir, path)
			return rel, err == nil && !strings.HasPrefix(rel, "..")
		}
		numbers := strings.Split(args, ", ")
		last, _ := strconv.ParseInt(numbers[len(numbers)-1], 10, 64)
		ok := len(paths) > 0
		switch m[1] {
		case "openat":
			if ok = ok && len(texts) > 0 && strings.Contains(args, "O_CREAT"); ok {
				c.truncate = strings.Contains(args, "O_TRUNC")
				c.path, ok = inside(filepath.Join(paths[0], texts[0]))
			}
		case "write", "pwrite64":
			if strings.HasPrefix(args, "1<") {
				c.name, c.data = "ack", []byte(texts[0])
				calls = append(calls, c)
				continue
			}
			if ok {
				c.data = []byte(texts[0])
				c.offset = -1
				if m[1] == "pwrite64" {
					c.offset = last
				}
				c.path, ok = inside(paths[0])
			}
		case "ftruncate":
			c.offset = last
			c.path, ok = inside(paths[0])
		case "fsync", "fdatasync":
			c.path, ok = inside(paths[0])
		case "renameat", "renameat2":
			var ok2 bool
			c.path, ok = inside(filepath.Join(paths[0], texts[0]))
			c.to, ok2 = inside(filepath.Join(paths[1], texts[1]))
			ok = ok && ok2
		case "unlinkat":
			c.path, ok = inside(filepath.Join(paths[0], texts[0]))
		}
		if ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// inode is a file: what is on disk for sure, and the writes since.
type inode struct {
	now, synced []byte
	pending     []tracedCall
}

// disk is a file system that keeps for sure what was synced alone.
type disk struct {
	names, durable map[string]*inode
	changes        []tracedCall // of names, with the inode found by path at the time
	moved          []*inode
}

func (n *inode) write(to []byte, c tracedCall) []byte {
	if c.name == "ftruncate" {
		return append(to, make([]byte, max(0, int(c.offset)-len(to)))...)[:c.offset]
	}
	if end := int(c.offset) + len(c.data); end > len(to) {
		to = append(to, make([]byte, end-len(to))...)
	}
	copy(to[c.offset:], c.data)
	return to
}

func (d *disk) do(c tracedCall) {
	file := d.names[c.path]
	switch c.name {
	case "openat":
		if file == nil {
			file = &inode{}
			d.names[c.path] = file
			d.note(c, file)
		} else if c.truncate {
			d.do(tracedCall{name: "ftruncate", path: c.path})
		}
	case "write", "pwrite64", "ftruncate":
		if file == nil {
			return
		}
		if c.offset < 0 {
			c.offset = int64(len(file.now))
		}
		file.now = file.write(file.now, c)
		file.pending = append(file.pending, c)
	case "fsync", "fdatasync":
		if file != nil {
			file.synced, file.pending = bytes.Clone(file.now), nil
			return
		}
		d.settle(func(change tracedCall) bool {
			return filepath.Dir(change.path) == c.path || change.to != "" && filepath.Dir(change.to) == c.path
		})
	case "renameat", "renameat2":
		if file != nil {
			delete(d.names, c.path)
			d.names[c.to] = file
			d.note(c, file)
		}
	case "unlinkat":
		if file != nil {
			delete(d.names, c.path)
			d.note(c, file)
		}
	}
}

func (d *disk) note(c tracedCall, file *inode) {
	d.changes, d.moved = append(d.changes, c), append(d.moved, file)
}

// settle makes changes of names durable that are kept; the others stay open.
func (d *disk) settle(keep func(tracedCall) bool) {
	var changes []tracedCall
	var moved []*inode
	for i, c := range d.changes {
		if !keep(c) {
			changes, moved = append(changes, c), append(moved, d.moved[i])
			continue
		}
		switch c.name {
		case "openat":
			d.durable[c.path] = d.moved[i]
		case "unlinkat":
			delete(d.durable, c.path)
		default:
			delete(d.durable, c.path)
			d.durable[c.to] = d.moved[i]
		}
	}
	d.changes, d.moved = changes, moved
}

// crash writes what is left after the power failed: of the changes of names in
// each folder a beginning, of the writes that were not synced any sectors.
func (d *disk) crash(t *testing.T, random *rand.Rand, sector int, dir string) {
	t.Helper()
	stopped := map[string]bool{}
	d.settle(func(c tracedCall) bool {
		folders := []string{filepath.Dir(c.path), filepath.Dir(c.to)}
		if stopped[folders[0]] || c.to != "" && stopped[folders[1]] || random.IntN(3) == 0 {
			stopped[folders[0]] = true
			stopped[folders[1]] = stopped[folders[1]] || c.to != ""
			return false
		}
		return true
	})
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(d.durable)) {
		file := d.durable[name]
		data := bytes.Clone(file.synced)
		share := random.IntN(5) // of four quarters
		for _, c := range file.pending {
			if c.name == "ftruncate" {
				if random.IntN(4) < share {
					data = file.write(data, c)
				}
				continue
			}
			for at := 0; at < len(c.data); {
				n := min(sector-(int(c.offset)+at)%sector, len(c.data)-at)
				if random.IntN(4) < share {
					data = file.write(data, tracedCall{offset: c.offset + int64(at), data: c.data[at : at+n]})
				}
				at += n
			}
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestS3_TraceIsReplayed: the model of the disk ends with what the real one has.
func TestS3_TraceIsReplayed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	log := dir + ".trace"
	wrapper := append(strace(t, log, "none", "error=EIO")[:4], "-y", "-xx", "-s", "1000000", "-e", "trace=openat,pwrite64,write,fdatasync,fsync,ftruncate,renameat,renameat2,unlinkat")
	if _, err := command(t, wrapper, "steps", dir).Output(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{names: map[string]*inode{}, durable: map[string]*inode{}}
	for _, c := range parseTrace(t, string(text), dir) {
		if c.name != "ack" {
			d.do(c)
		}
	}
	got := map[string]string{}
	for name, file := range d.names {
		got[filepath.Join(dir, name)] = string(file.now)
	}
	if want := filesOf(t, dir); !maps.Equal(got, want) {
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: %d bytes, expected %d", name, len(got[name]), len(want[name]))
			}
		}
		t.Errorf("%d files, expected %d", len(got), len(want))
	}
}
