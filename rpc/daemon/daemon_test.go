//go:build linux || darwin

package daemon

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPermitted: who is not the same user, or is not known, is not served.
func TestPermitted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uid, self int
		err       error
		want      bool
	}{
		{1000, 1000, nil, true}, {0, 0, nil, true}, {0, 1000, nil, false}, {1000, 0, nil, false}, {1001, 1000, nil, false},
		{1000, 1000, errors.New("cannot say"), false}, {0, 0, errors.New("cannot say"), false},
	} {
		if got := permitted(c.uid, c.self, c.err); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestReleases: the wire version decides, then the version by its numbers.
func TestReleases(t *testing.T) {
	t.Parallel()
	order := []Release{
		{Wire: 1, Version: "0.9.0"}, {Wire: 1, Version: "0.9.1"}, {Wire: 1, Version: "0.10.0"}, {Wire: 1, Version: "1.0"}, {Wire: 2, Version: "0.1.0"},
	}
	for i, a := range order {
		for k, b := range order {
			if got := a.OlderThan(b); got != (i < k) {
				t.Errorf("%v older than %v: %v", a, b, got)
			}
		}
	}
	if (Release{Wire: 1, Version: "1.0", Build: "a"}).OlderThan(Release{Wire: 1, Version: "1.0.0", Build: "b"}) {
		t.Error("builds have no order")
	}
}

// TestC9_SocketsFolder: folders that are too long, missing, links or open to
// others are passed over, and without any there is an error.
func TestC9_SocketsFolder(t *testing.T) {
	t.Parallel()
	base, err := os.MkdirTemp("/tmp", "hexapla-place-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	at := func(name string) string { return filepath.Join(base, name) }
	for _, dir := range []string{at("open"), at("target"), at(strings.Repeat("l", 90))} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(at("open"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("target"), at("link")); err != nil {
		t.Fatal(err)
	}
	bad := []string{at(strings.Repeat("l", 90)), at("open"), at("link"), at("missing/below")}
	place := Place{Data: at("data"), Sockets: append(bad, at("good"))}
	path, err := place.socket()
	if err != nil || path != filepath.Join(at("good"), place.id()+".sock") || len(path) >= maxSocketPath {
		t.Errorf("%q, %v", path, err)
	}
	for _, dir := range bad {
		if path, err := (Place{Data: at("data"), Sockets: []string{dir}}).socket(); err == nil {
			t.Errorf("%s: %s", dir, path)
		}
	}
	if _, err := (Place{Data: at("data"), Sockets: []string{at("open")}}).socket(); !errors.Is(err, ErrForeign) {
		t.Error(err)
	}
}

// TestR6_LogIsBounded: a log and the one before it never take more than 10 MiB,
// and are the user's alone.
func TestR6_LogIsBounded(t *testing.T) {
	t.Parallel()
	place := Place{Data: t.TempDir()}
	l, err := OpenLog(place, "daemon.log")
	if err != nil {
		t.Fatal(err)
	}
	record := bytes.Repeat([]byte("x"), 1<<20-1)
	record = append(record, '\n')
	for range 23 {
		if _, err := l.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(place.Folder())
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	total := int64(0)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
		total += info.Size()
	}
	if total > 10<<20 || total < 5<<20 {
		t.Errorf("%d bytes", total)
	}
}

// TestE6_Starts: the third start within a minute is a safe one, unless one
// before it ended in order or the clock jumped.
func TestE6_Starts(t *testing.T) {
	t.Parallel()
	place := Place{Data: t.TempDir()}
	if _, err := place.folder(); err != nil {
		t.Fatal(err)
	}
	s := NewStarts(place)
	for i, c := range []struct {
		now  int64
		end  bool
		want bool
	}{
		{1000, false, false}, {2000, false, false}, {3000, false, true}, {4000, true, true}, {5000, false, false}, {6000, false, false},
		{66_001, false, false}, {67_000, false, false}, {68_000, false, true}, {10, false, false},
	} {
		if got := s.Begin(c.now); got != c.want {
			t.Errorf("start %d at %d: safe %v", i, c.now, got)
		}
		if c.end {
			s.End()
		}
	}
}

// FuzzGreeting: any first line is read without a byte too many, or refused.
func FuzzGreeting(f *testing.F) {
	f.Add([]byte("{\"hexapla\":\"serve\",\"wire\":1,\"version\":\"0.1.0\",\"data\":\"x\"}\nrest"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("{\"wire\":99999999999999999999}\n"))
	f.Add(bytes.Repeat([]byte("a"), maxLine+2))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := bytes.NewReader(input)
		var h hello
		err := readLine(r, &h)
		line, _, whole := bytes.Cut(input, []byte("\n"))
		switch read := len(input) - r.Len(); {
		case whole && len(line) <= maxLine && read != len(line)+1:
			t.Errorf("read %d bytes for a line of %d", read, len(line)+1)
		case !whole && len(input) <= maxLine && err != io.EOF && err != io.ErrUnexpectedEOF:
			t.Errorf("cut: %v", err)
		case read > maxLine+1:
			t.Errorf("read %d bytes", read)
		}
		d := daemon{Options: Options{Place: Place{Data: "/x"}, Release: Release{Wire: Wire}}}
		if err == nil && d.judge(h) == "" && h.Data != d.Place.id() {
			t.Errorf("served %+v", h)
		}
	})
}
