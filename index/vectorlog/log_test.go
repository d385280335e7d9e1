package vectorlog_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"hexapla/index/vectorlog"
)

const dimensions = 8

func options(dir string) vectorlog.Options {
	return vectorlog.Options{Dir: dir, StoreUUID: "s", Model: "m", Dimensions: dimensions}
}

func open(t interface {
	Helper()
	Fatal(...any)
}, opts vectorlog.Options) *vectorlog.Log {
	t.Helper()
	l, err := vectorlog.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func row(seq int64) vectorlog.Row {
	return vectorlog.Row{Seq: seq, Square: int32(seq) * 3, Vector: bytes.Repeat([]byte{byte(seq)}, dimensions)}
}

func sequences(t interface {
	Helper()
	Fatal(...any)
}, l *vectorlog.Log, to int64) (all []int64) {
	t.Helper()
	err := l.Scan(to, func(r vectorlog.Row) {
		if want := row(r.Seq); r.Square != want.Square || !bytes.Equal(r.Vector, want.Vector) {
			t.Fatal("another row than was appended: ", r)
		}
		all = append(all, r.Seq)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestB8_LogLaws: however often it is opened again, a log has the rows that were
// appended above each watermark, up to the sequence that is asked for.
func TestB8_LogLaws(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		if err := os.RemoveAll(filepath.Join(dir, "vectors")); err != nil {
			t.Fatal(err)
		}
		l := open(t, options(dir))
		defer func() { l.Close() }()
		var want []int64
		mark := int64(0)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "again") {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = open(t, options(dir))
				mark = l.Watermark()
				if n := len(want); n > 0 && mark != want[n-1] || n == 0 && mark != 0 {
					t.Fatalf("watermark %d of %v", mark, want)
				}
			}
			from := max(mark-2, 0)
			to := mark + rapid.Int64Range(1, 6).Draw(t, "span")
			var rows []vectorlog.Row
			for seq := from + 1; seq <= to; seq++ {
				if rapid.Bool().Draw(t, "has") {
					rows = append(rows, row(seq))
					if seq > mark {
						want = append(want, seq)
					}
				}
			}
			if err := l.Append(rows, to); err != nil {
				t.Fatal(err)
			}
			mark = to
		}
		asked := rapid.Int64Range(0, mark+1).Draw(t, "to")
		n := 0
		for n < len(want) && want[n] <= asked {
			n++
		}
		got := sequences(t, l, asked)
		if len(got) != n || l.Len() != len(want) {
			t.Fatalf("%v up to %d of %v", got, asked, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%v of %v", got, want)
			}
		}
	})
}

// TestB8_DamagedLog: wherever a byte is other than it was, or is missing, the log
// opens with nothing but rows that were appended, and goes on.
func TestB8_DamagedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "vectors")
	l := open(t, options(dir))
	if err := l.Append([]vectorlog.Row{row(2), row(5), row(9)}, 9); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(name string, at int, damaged []byte) {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, options(dir))
		defer l.Close()
		got := sequences(t, l, 100)
		if len(got) == 3 || len(got) > 0 && got[0] != 2 || len(got) > 1 && got[1] != 5 {
			t.Fatalf("%s at %d: %v", name, at, got)
		}
		if last := append([]int64{0}, got...); l.Watermark() != last[len(got)] {
			t.Fatalf("%s at %d: watermark %d", name, at, l.Watermark())
		}
		if err := l.Append([]vectorlog.Row{row(20)}, 20); err != nil {
			t.Fatalf("%s at %d: %v", name, at, err)
		}
	}
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << (at % 8)
		try("flipped", at, damaged)
		try("cut", at, whole[:at])
	}
}

// TestB8_OfAnother: a log of another store, model or geometry is begun anew, and
// a purged one has no byte of what it had.
func TestB8_OfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, change := range []func(*vectorlog.Options){
		func(o *vectorlog.Options) { o.StoreUUID = "another" },
		func(o *vectorlog.Options) { o.Model = "another" },
		func(o *vectorlog.Options) { o.Dimensions = 16 },
		func(*vectorlog.Options) {},
	} {
		l := open(t, options(dir))
		if err := l.Append([]vectorlog.Row{row(1)}, 1); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			if err := l.Purge(); err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(filepath.Join(dir, "vectors"))
			if err != nil || bytes.Contains(raw, row(1).Vector) || l.Watermark() != 0 {
				t.Errorf("purged: %d bytes, %v", len(raw), err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := l.Append(nil, 9); !errors.Is(err, vectorlog.ErrClosed) {
			t.Errorf("%v", err)
		}
		opts := options(dir)
		change(&opts)
		other := open(t, opts)
		if other.Len() != 0 || other.Watermark() != 0 {
			t.Errorf("change %d: %d rows", i, other.Len())
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
