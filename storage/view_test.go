package storage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"hexapla/storage"
	"hexapla/storage/storagetest"
)

// TestAsOf reads versions, lists and postings at every past sequence.
func TestAsOf(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	const n = 60 // record i is version i/3 of k(i%3), and joins two lists
	for i := range n {
		id := fmt.Sprint("k", i%3)
		write(t, s, storage.Draft{
			Kind: "kind", ID: id, Body: []byte(fmt.Sprint(i)),
			Lists: []string{"all", "of/" + id, "all"}, Mentions: []storage.Mention{{"file", "a.go"}, {"file", fmt.Sprintf("a%d", i%2)}},
		}, draft("place", fmt.Sprint("p", i), "", "places"))
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	for seq := range int64(2*n + 1) {
		v, err := snapshot.At(seq)
		if err != nil || v.Seq() != seq {
			t.Fatal(err)
		}
		for k := range int64(3) {
			record, ok, err := v.Latest("kind", fmt.Sprint("k", k))
			expected := int64(-1) // its i
			for i := range int64(n) {
				if i%3 == k && 2*i+1 <= seq {
					expected = i
				}
			}
			if err != nil || ok != (expected >= 0) || ok && string(record.Body) != fmt.Sprint(expected) {
				t.Fatalf("at %d: k%d is %q, %v, %v, expected %d", seq, k, record.Body, ok, err, expected)
			}
		}
		if got, expected := v.ListLen("all"), int(min(3, (seq+1)/2)); got != expected {
			t.Fatalf("at %d: list of %d, expected %d", seq, got, expected)
		}
		if got, expected := v.ListLen("places"), int(seq/2); got != expected {
			t.Fatalf("at %d: places %d, expected %d", seq, got, expected)
		}
		entries, err := v.List("places", -5, 1000)
		if err != nil || len(entries) != int(seq/2) {
			t.Fatalf("at %d: %d places, %v", seq, len(entries), err)
		}
		for i, entry := range entries {
			if entry.Seq != int64(2*i+2) || entry.ID != fmt.Sprint("p", i) {
				t.Fatalf("at %d: place %d is %+v", seq, i, entry)
			}
		}
		var got, expected []int64
		if err := v.Mentions("file", "a.go", false, func(_, _ string, at int64) bool { got = append(got, at); return true }); err != nil {
			t.Fatal(err)
		}
		for i := int64(n - 1); i >= 0; i-- {
			if 2*i+1 <= seq {
				expected = append(expected, 2*i+1)
			}
		}
		if !slices.Equal(got, expected) {
			t.Fatalf("at %d: mentioned at %v, expected %v", seq, got, expected)
		}
		if _, err := v.Get(seq + 1); !errors.Is(err, storage.ErrNotFound) {
			t.Fatalf("at %d: the next record: %v", seq, err)
		}
	}
	for _, seq := range []int64{-1, 2*n + 1} {
		if _, err := snapshot.At(seq); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("at %d: %v", seq, err)
		}
	}
}

func TestListRanges(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	for i := range 10 {
		write(t, s, draft("k", fmt.Sprint(i), "", "list", "list2"))
	}
	viewing(t, s, func(v storage.View) {
		for _, row := range []struct{ from, to, first, n int }{
			{0, 10, 0, 10}, {3, 5, 3, 2}, {9, 100, 9, 1}, {-1, 1, 0, 1}, {5, 5, 0, 0}, {6, 5, 0, 0}, {10, 20, 0, 0},
		} {
			entries, err := v.List("list", row.from, row.to)
			if err != nil || len(entries) != row.n || row.n > 0 && entries[0].ID != fmt.Sprint(row.first) {
				t.Errorf("[%d, %d): %v, %v", row.from, row.to, entries, err)
			}
		}
		for _, name := range []string{"", "lis", "list1", "list3", "zzz"} {
			if n := v.ListLen(name); n != 0 {
				t.Errorf("list %q has %d places", name, n)
			}
		}
	})
}

func TestMentionsByPrefix(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	names := []string{"src/a.go", "src/b.go", "src", "srd", "src/a.go", "src/a.go2"}
	for i, name := range names {
		write(t, s, storage.Draft{Kind: "k", ID: fmt.Sprint(i), Mentions: []storage.Mention{{"file", name}, {"func", "src/x"}}})
	}
	for i := range 600 { // several pages
		write(t, s, storage.Draft{Kind: "k", ID: fmt.Sprint("m", i), Mentions: []storage.Mention{{"many", fmt.Sprintf("n%d", i%2)}}})
	}
	collect := func(v storage.View, kind, name string, prefix bool, limit int) (got []string) {
		err := v.Mentions(kind, name, prefix, func(k, n string, seq int64) bool {
			if k != kind {
				t.Errorf("kind %q", k)
			}
			got = append(got, fmt.Sprintf("%s@%d", n, seq))
			return len(got) != limit
		})
		if err != nil {
			t.Error(err)
		}
		return got
	}
	viewing(t, s, func(v storage.View) {
		for _, row := range []struct {
			name     string
			prefix   bool
			limit    int
			expected string
		}{
			{"src/a.go", false, 0, "src/a.go@5 src/a.go@1"},
			{"src/", true, 0, "src/a.go@5 src/a.go@1 src/a.go2@6 src/b.go@2"},
			{"src", true, 3, "src@3 src/a.go@5 src/a.go@1"},
			{"", true, 0, "src@3 src/a.go@5 src/a.go@1 src/a.go2@6 src/b.go@2 srd@4"},
			{"", false, 0, ""},
			{"zzz", true, 0, ""},
		} {
			if got := strings.Join(collect(v, "file", row.name, row.prefix, row.limit), " "); got != row.expected {
				t.Errorf("%q: got %q, expected %q", row.name, got, row.expected)
			}
		}
		many := collect(v, "many", "n", true, 0)
		if len(many) != 600 || many[0] != "n0@605" || many[299] != "n0@7" || many[300] != "n1@606" {
			t.Errorf("%d postings: %.60v", len(many), many)
		}
	})
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Release()
	v, _ := snapshot.At(106)
	if many := collect(v, "many", "n", true, 0); len(many) != 100 || many[0] != "n0@105" {
		t.Errorf("as of 106: %d postings", len(many))
	}
}

func TestScanAndTerms(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	const n = 700 // several pages
	for i := 0; i < n; i += 100 {
		_, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
			for j := i; j < i+100; j++ {
				d := draft("k", fmt.Sprint(j), strings.Repeat("b", j))
				switch j % 3 {
				case 1:
					d.Terms = []byte(fmt.Sprint("t", j))
				case 2:
					d.Terms = []byte{}
				}
				tx.Put(d)
			}
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(from, to int64) func(r storage.Record, terms []byte) error {
		next := max(from, 0)
		t.Cleanup(func() {
			if expected := max(min(to, n), max(from, 0)); next != expected {
				t.Errorf("(%d, %d] ended at %d", from, to, next)
			}
		})
		return func(r storage.Record, terms []byte) error {
			next++
			j := next - 1
			expected := ""
			if j%3 == 1 {
				expected = fmt.Sprint("t", j)
			}
			if r.Seq != next || r.ID != fmt.Sprint(j) || len(r.Body) != int(j) || string(terms) != expected || (terms == nil) != (j%3 == 0) || r.Damaged {
				t.Errorf("record %d: %+v, terms %q", next, r.ID, terms)
			}
			return nil
		}
	}
	for _, row := range [][2]int64{{0, n}, {0, 1}, {10, 10}, {255, 257}, {5, 2}, {-3, 4}, {690, 10_000}, {699, 700}, {700, 701}} {
		viewing(t, s, func(v storage.View) {
			if err := v.Scan(row[0], row[1], check(row[0], row[1])); err != nil {
				t.Error(err)
			}
		})
		if err := s.Scan(t.Context(), row[0], row[1], check(row[0], row[1])); err != nil {
			t.Error(err)
		}
	}
	stop := errors.New("stop")
	viewing(t, s, func(v storage.View) {
		if err := v.Scan(0, n, func(r storage.Record, _ []byte) error {
			if r.Seq == 5 {
				return stop
			}
			return nil
		}); err != stop {
			t.Errorf("got %v", err)
		}
		for seq, expected := range map[int64]string{0: "-", 1: "-", 2: "t1", 3: "", n + 1: "-"} {
			terms, ok, err := v.Terms(seq)
			if err != nil || ok != (expected != "-") || ok && string(terms) != expected {
				t.Errorf("terms of %d: %q, %v, %v", seq, terms, ok, err)
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Scan(ctx, 0, n, func(storage.Record, []byte) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestSnapshotStands: a snapshot does not change while the store does, and can
// be read by several goroutines.
func TestSnapshotStands(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	for i := range 50 {
		write(t, s, draft("k", "a", fmt.Sprint(i)), draft("l", fmt.Sprint(i), "", "list"))
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	v := snapshot.View()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				record, ok, err := v.Latest("k", "a")
				if err != nil || !ok || string(record.Body) != "49" || v.ListLen("list") != 50 {
					t.Errorf("got %q, %v, %v", record.Body, ok, err)
					return
				}
				for i := range record.Body { // ours to change
					record.Body[i] = 'x'
				}
			}
		})
	}
	for i := range 100 {
		write(t, s, draft("k", "a", fmt.Sprint("later", i)), draft("l", fmt.Sprint("later", i), "", "list"))
	}
	all.Wait()
	snapshot.Release()
	snapshot.Release()
	if _, err := v.Get(1); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("get after release: %v", err)
	}
	if _, _, err := v.Latest("k", "a"); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("latest after release: %v", err)
	}
	if _, err := v.List("list", 0, 1); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("list after release: %v", err)
	}
	if err := v.Scan(0, 1, nil); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("scan after release: %v", err)
	}
	if err := v.Mentions("file", "", true, nil); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("mentions after release: %v", err)
	}
	if _, _, err := v.Terms(1); !errors.Is(err, storage.ErrClosed) {
		t.Errorf("terms after release: %v", err)
	}
	if _, ok := v.Table("a"); ok || v.ListLen("list") != 0 || v.Counter("a") != 0 {
		t.Error("it still answers")
	}
	v.AuditRange(0, 0, func(int64, []byte) bool { t.Error("audit after release"); return false })
}

// TestZeroView: a view that was never taken says so.
func TestZeroView(t *testing.T) {
	t.Parallel()
	var v storage.View
	if _, err := v.Get(1); !errors.Is(err, storage.ErrClosed) {
		t.Error(err)
	}
	if v.ListLen("a") != 0 || v.Counter("a") != 0 || !errors.Is(v.Err(), storage.ErrClosed) {
		t.Error("it answers")
	}
	if _, ok := v.Table("a"); ok {
		t.Error("it has a table")
	}
	if _, _, ok := v.AuditByChecksum("a"); ok {
		t.Error("it has an audit log")
	}
}
