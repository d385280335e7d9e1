package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/layers"
	"hexapla/storage"
)

// canary is the text that the write with a number puts into everything that a
// store keeps, and that must be found nowhere once it was erased.
func canary(i int) string { return fmt.Sprintf("canary-%04d-bird", i) }

// plant writes a canary as bodies, terms, a mention, a reply, a table, an audit
// entry, a blob in the file and one beside it. Of the blobs only the record says
// whose they are.
func plant(ctx context.Context, s *storage.Store, i int) error {
	text := canary(i)
	small, err := s.StageBlob(ctx, []byte("small "+text), "text/plain")
	if err != nil {
		return err
	}
	large, err := s.StageBlob(ctx, []byte(strings.Repeat("large "+text+" ", 400)), "text/plain")
	if err != nil {
		return err
	}
	if err := s.PutTable(fmt.Sprint("table/", i), []byte("table "+text)); err != nil {
		return err
	}
	s.AppendAudit(fmt.Sprint("sum", i), []byte("audit "+text))
	_, err = s.Write(ctx, storage.Op{Key: fmt.Sprint("key", i)}, func(tx *storage.Tx) ([]byte, error) {
		tx.AddBlob(small)
		tx.AddBlob(large)
		id := tx.NextID("n")
		tx.Put(storage.Draft{
			Kind: "turn", ID: id, Parent: fmt.Sprint("group", i), Body: []byte(strings.Repeat("body "+text+" ", 1+i%5*100)), Terms: []byte("terms " + text),
			Lists: []string{"all", fmt.Sprint("of/", i%3)}, Mentions: []storage.Mention{{Kind: "name", Name: text}, {Kind: "name", Name: "common"}},
		})
		tx.Put(storage.Draft{Kind: "turn", ID: id, Parent: fmt.Sprint("group", i), Body: []byte("second version " + text)})
		tx.Put(storage.Draft{Kind: "blobs", ID: id, Parent: fmt.Sprint("group", i), Body: []byte(small.Ref.SHA256 + " " + large.Ref.SHA256)})
		tx.Put(storage.Draft{Kind: "shared", ID: "shared", Body: fmt.Appendf(nil, "%d wrote", i)})
		tx.Add("writes", 1)
		return []byte("reply " + text), nil
	})
	return err
}

// without is the mapping that takes canaries out.
func without(s *storage.Store, gone ...int) storage.Mapping {
	text := func(b []byte) storage.Fate {
		for _, i := range gone {
			if bytes.Contains(b, []byte(canary(i))) {
				return storage.Drop
			}
		}
		return storage.Keep
	}
	blobs := map[string]bool{}
	return storage.Mapping{
		Record: func(r storage.Record, terms []byte) (storage.Fate, storage.Content) {
			for _, i := range gone {
				if r.Parent == fmt.Sprint("group", i) {
					if r.Kind == "blobs" {
						for _, sha := range strings.Fields(string(r.Body)) {
							blobs[sha] = true
						}
					}
					return storage.Drop, storage.Content{}
				}
			}
			return storage.Keep, storage.Content{}
		},
		Reply: func(_ int64, reply []byte) (storage.Fate, []byte) { return text(reply), nil },
		Table: func(_ string, data []byte) (storage.Fate, []byte) { return text(data), nil },
		Audit: func(_ int64, body []byte) (storage.Fate, []byte) {
			if text(body) == storage.Drop {
				return storage.Replace, []byte("redacted")
			}
			return storage.Keep, nil
		},
		Blob: func(ref layers.BlobRef) (storage.Fate, storage.BlobContent) {
			if blobs[ref.SHA256] {
				return storage.Drop, storage.BlobContent{}
			}
			return storage.Keep, storage.BlobContent{}
		},
	}
}

// holds tells which files of a folder hold a text.
func holds(t testing.TB, dir, text string) (files []string) {
	t.Helper()
	for name, data := range filesOf(t, dir) {
		if strings.Contains(data, text) || strings.Contains(name, text) {
			files = append(files, filepath.Base(name))
		}
	}
	return files
}

// checkPlanted looks that everything of the writes that stay is there, and
// nothing of those that are gone.
func checkPlanted(t testing.TB, s *storage.Store, n int, gone map[int]bool) {
	t.Helper()
	viewing(t, s, func(v storage.View) {
		if v.Seq() != int64(4*n) {
			t.Errorf("at %d, expected %d", v.Seq(), 4*n)
		}
		kept := 0
		for i := range n {
			first := int64(4*i + 1)
			id := fmt.Sprint("n", i+1)
			r, err := v.Get(first)
			latest, ok, latestErr := v.Latest("turn", id)
			found := 0
			mentionErr := v.Mentions("name", canary(i), false, func(_, _ string, seq int64) bool {
				if seq != first {
					t.Errorf("%d is mentioned by %d", i, seq)
				}
				found++
				return true
			})
			if mentionErr != nil || latestErr != nil {
				t.Fatal(mentionErr, latestErr)
			}
			_, table := v.Table(fmt.Sprint("table/", i))
			_, audit, known := v.AuditByChecksum(fmt.Sprint("sum", i))
			if gone[i] {
				if !errors.Is(err, storage.ErrErased) || !errors.Is(err, storage.ErrNotFound) || ok || found != 0 || table || !known || string(audit) != "redacted" {
					t.Errorf("%d is erased: %v %v %d %v %v %q", i, err, ok, found, table, known, audit)
				}
				continue
			}
			kept++
			if err != nil || r.ID != id || !ok || string(latest.Body) != "second version "+canary(i) || latest.Seq != first+1 || found != 1 || !table || string(audit) != "audit "+canary(i) {
				t.Errorf("%d stays: %v %v %v %d %v %q", i, err, ok, latest, found, table, audit)
			}
			links, _, err := v.Latest("blobs", id)
			if err != nil {
				t.Fatal(err)
			}
			for _, sha := range strings.Fields(string(links.Body)) {
				if data, _, err := s.ReadBlob(t.Context(), sha, 0, -1); err != nil || !strings.Contains(string(data), canary(i)) {
					t.Errorf("%d stays: blob: %v", i, err)
				}
			}
		}
		entries, err := v.List("all", 0, v.ListLen("all"))
		if err != nil || len(entries) != kept {
			t.Errorf("the list has %d of %d, %v", len(entries), kept, err)
		}
		if shared, ok, err := v.Latest("shared", "shared"); n > 0 && (!ok || err != nil || string(shared.Body) != fmt.Sprint(n-1, " wrote")) {
			t.Errorf("shared: %v %v %v", shared, ok, err)
		}
		if got := v.Counter("writes"); got != int64(n) {
			t.Errorf("counter: %d", got)
		}
	})
	for i := range n {
		again, err := s.Write(t.Context(), storage.Op{Key: fmt.Sprint("key", i)}, func(*storage.Tx) ([]byte, error) {
			return nil, errors.New("must not be done again")
		})
		reply := "reply " + canary(i)
		if gone[i] {
			reply = ""
		}
		if err != nil || !again.Repeated || string(again.Reply) != reply || again.Seq != int64(4*i+4) {
			t.Errorf("%d again: %+v, %v", i, again, err)
		}
	}
	sound(t, s)
}

// TestCompact: a store that is written anew is the same store, in less room.
func TestCompact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	const n = 12
	for i := range n {
		if err := plant(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 { // room that is given back
		if err := s.PutTable("big", bytes.Repeat([]byte{byte(i)}, 100_000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutTable("big", nil); err != nil {
		t.Fatal(err)
	}
	uuid := s.UUID()
	held, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan storage.Rewritten)
	go func() {
		r, err := s.Compact(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	for range 100 { // a reader goes on
		if r, err := held.View().Get(1); err != nil || r.ID != "n1" {
			t.Fatalf("got %v, %v", r, err)
		}
	}
	held.Release()
	if r := <-done; r.After >= r.Before || r.Damaged != 0 {
		t.Errorf("got %+v", r)
	}
	checkPlanted(t, s, n, nil)
	if err := plant(t.Context(), s, n); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	s = openAt(t, dir)
	if s.UUID() != uuid {
		t.Error("another store")
	}
	checkPlanted(t, s, n+1, nil)
}

// TestRewrite maps every kind of value, and holds the file to it.
func TestRewrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	const n = 6
	for i := range n {
		if err := plant(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s) // writes the audit entries
	s = openAt(t, dir)
	upper := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("bird"), []byte("BIRD")) }
	m := storage.Mapping{
		Record: func(r storage.Record, terms []byte) (storage.Fate, storage.Content) {
			if terms != nil {
				terms = upper(terms)
			}
			return storage.Replace, storage.Content{Body: upper(r.Body), Terms: terms}
		},
		Mention: func(m storage.Mention, _ int64) storage.Fate {
			if m.Name == "common" {
				return storage.Keep
			}
			return storage.Drop
		},
		Counter: func(name string, n int64) int64 { return n + 1 },
		Reply:   func(_ int64, b []byte) (storage.Fate, []byte) { return storage.Replace, upper(b) },
		Table:   func(_ string, b []byte) (storage.Fate, []byte) { return storage.Replace, upper(b) },
		Audit:   func(_ int64, b []byte) (storage.Fate, []byte) { return storage.Replace, upper(b) },
	}
	if _, err := s.Rewrite(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	viewing(t, s, func(v storage.View) {
		body, _, _ := v.Latest("turn", "n1")
		terms, _, _ := v.Terms(1)
		table, _ := v.Table("table/0")
		_, audit, _ := v.AuditByChecksum("sum0")
		for _, text := range []string{string(body.Body), string(terms), string(table), string(audit)} {
			if !strings.HasSuffix(text, "canary-0000-BIRD") {
				t.Errorf("got %q", text)
			}
		}
		if v.Counter("writes") != n+1 || v.ListLen("all") != n {
			t.Errorf("counter %d, list %d", v.Counter("writes"), v.ListLen("all"))
		}
		var found int
		if err := v.Mentions("name", "", true, func(_, name string, _ int64) bool { found++; return name == "common" }); err != nil || found != n {
			t.Errorf("%d mentions, %v", found, err)
		}
	})
	if data, err := os.ReadFile(dataFile(dir)); err != nil || bytes.Contains(data, []byte("body canary-0000-bird")) {
		t.Errorf("the old text is still in the file: %v", err)
	}
	sound(t, s)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Rewrite(stopped, m); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	checkNoLeftovers(t, dir)
}

func checkNoLeftovers(t testing.TB, dir string) {
	t.Helper()
	names := maps.Keys(filesOf(t, dir))
	for name := range names {
		if strings.HasSuffix(name, ".new") || strings.Contains(name, "blobs/tmp/") {
			t.Errorf("%s was left", name)
		}
	}
}
