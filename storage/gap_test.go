package storage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hexapla/storage"
)

// TestS10_KeysThatAreZero: sums are of values, and a key that was zeroed is not
// found. No list becomes shorter for it, no counter begins anew and no write is
// done twice: it is damage.
func TestS10_KeysThatAreZero(t *testing.T) {
	t.Parallel()
	const lists, each = 3, 20
	dir := t.TempDir()
	s := openAt(t, dir)
	key := func(i int) string { return fmt.Sprint("key", i) }
	for i := range lists * each {
		if _, err := s.Write(t.Context(), storage.Op{Key: key(i)}, func(tx *storage.Tx) ([]byte, error) {
			tx.Put(draft("k", fmt.Sprint(i), "a body", fmt.Sprint("list", i%lists)))
			tx.Add(fmt.Sprint("counter", i%lists), 1)
			return nil, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	whole, err := os.ReadFile(dataFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	refused, damaged, unhurt := 0, 0, 0
	for at := 2 * 4096; at < len(whole); at += 800 {
		harmed := t.TempDir()
		data := append([]byte(nil), whole...)
		clear(data[at:min(at+40+at%500, len(data))])
		overwrite(t, harmed, data)
		if err := os.WriteFile(filepath.Join(harmed, "manifest.json"), manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := storage.Open(t.Context(), storage.Options{Dir: harmed, Logf: func(string, ...any) {}})
		if err != nil {
			refused++
			continue
		}
		told := false
		for i := range lists {
			snapshot, err := s.Snapshot() // of its own, as a fault is kept
			if err != nil {
				t.Fatal(err)
			}
			v := snapshot.View()
			n, count := v.ListLen(fmt.Sprint("list", i)), v.Counter(fmt.Sprint("counter", i))
			if v.Err() != nil {
				told = true
			} else if n != each || count != each {
				t.Errorf("zeros at %d: list %d has %d entries, its counter says %d", at, i, n, count)
			}
			snapshot.Release()
		}
		for i := range lists * each {
			receipt, err := s.Write(t.Context(), storage.Op{Key: key(i)}, func(*storage.Tx) ([]byte, error) { return nil, nil })
			if err != nil {
				told = true
			} else if !receipt.Repeated {
				t.Errorf("zeros at %d: write %d is done again", at, i)
			}
		}
		if told {
			damaged++
		} else {
			unhurt++
		}
		_ = s.Close() // its file is damaged
	}
	t.Logf("refused %d, damaged %d, unhurt %d", refused, damaged, unhurt)
	if damaged < 5 || unhurt < 5 {
		t.Error("the zeros met only one side")
	}
}
