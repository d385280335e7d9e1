package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/storage"
)

// repairChild tries every remedy on the stores that it is told on its input and
// says what came of it.
func repairStore(t testing.TB, dir string, how storage.RepairOptions) (storage.Repaired, error) {
	t.Helper()
	return storage.Repair(t.Context(), storage.Options{Dir: dir}, how)
}

// TestS9_RepairLadder: each kind of damage finds the remedy that loses least, the
// damaged file is kept as it was, and an empty store comes only when it is asked
// for.
func TestS9_RepairLadder(t *testing.T) {
	t.Parallel()
	template := t.TempDir()
	s := openWith(t, storage.Options{Dir: template, Snapshots: 2, Now: func() int64 { return 20_000 * day }})
	const n = 8
	for i := range n {
		if err := plant(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	s = openWith(t, storage.Options{Dir: template, Snapshots: 2, Now: func() int64 { return 20_001 * day }})
	if err := plant(t.Context(), s, n); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	whole, err := os.ReadFile(dataFile(template))
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		harm   func(data []byte) []byte
		gone   []string // files that go as well
		only   storage.Remedy
		remedy storage.Remedy // "" for none
		least  int64          // sequence
	}{
		"sound":                   {harm: func(d []byte) []byte { return d }, remedy: storage.RemedyNone, least: 4*n + 4},
		"empty":                   {harm: func([]byte) []byte { return nil }, remedy: storage.RemedySnapshot, least: 4 * n},
		"empty, no snapshot":      {harm: func([]byte) []byte { return nil }, gone: []string{"snapshots"}},
		"empty, given up":         {harm: func([]byte) []byte { return nil }, gone: []string{"snapshots"}, only: storage.RemedyEmpty, remedy: storage.RemedyEmpty},
		"missing":                 {gone: []string{"store.db"}, remedy: storage.RemedySnapshot, least: 4 * n},
		"both meta pages":         {harm: func(d []byte) []byte { clear(d[:8192]); return d }, remedy: storage.RemedySalvage, least: 4*n + 4},
		"cut in the middle":       {harm: func(d []byte) []byte { return d[:len(d)/2] }, remedy: storage.RemedySalvage, least: 1},
		"foreign":                 {harm: func(d []byte) []byte { return bytes.Repeat([]byte("something else. "), 4096) }, remedy: storage.RemedySnapshot, least: 4 * n},
		"restored though sound":   {harm: func(d []byte) []byte { return d }, only: storage.RemedySnapshot, remedy: storage.RemedySnapshot, least: 4 * n},
		"salvaged though sound":   {harm: func(d []byte) []byte { return d }, only: storage.RemedySalvage, remedy: storage.RemedySalvage, least: 4*n + 4},
		"one commit back, sound":  {harm: func(d []byte) []byte { return d }, only: storage.RemedyMetaPage, remedy: storage.RemedyMetaPage, least: 4 * n},
		"the root page is zeroed": {harm: func(d []byte) []byte { clear(d[4096*rootPage(d) : 4096*rootPage(d)+4096]); return d }, least: 4 * n, remedy: "any"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			if err := os.CopyFS(dir, os.DirFS(template)); err != nil {
				t.Fatal(err)
			}
			if row.harm != nil {
				overwrite(t, dir, row.harm(bytes.Clone(whole)))
			}
			for _, name := range row.gone {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			before := filesOf(t, dir)
			plan, err := repairStore(t, dir, storage.RepairOptions{Only: row.only})
			if row.remedy == "" {
				if !errors.Is(err, storage.ErrCorrupt) {
					t.Errorf("got %+v, %v", plan, err)
				}
				return
			}
			if err != nil || plan.Remedy != row.remedy && row.remedy != "any" || plan.Seq < row.least {
				t.Fatalf("got %+v, %v", plan, err)
			}
			after := filesOf(t, dir)
			delete(before, filepath.Join(dir, "lock"))
			delete(after, filepath.Join(dir, "lock"))
			if !maps.Equal(before, after) {
				t.Error("a dry run changed something")
			}
			done, err := repairStore(t, dir, storage.RepairOptions{Only: row.only, Apply: true})
			if err != nil || done.Remedy != plan.Remedy {
				t.Fatalf("got %+v, %v", done, err)
			}
			if done.Remedy != storage.RemedyNone && row.harm != nil {
				if kept, err := os.ReadFile(filepath.Join(dir, done.Quarantine, "store.db")); err != nil || string(kept) != before[dataFile(dir)] {
					t.Errorf("the damaged file was not kept: %v", err)
				}
			}
			s := openAt(t, dir)
			if s.Seq() != plan.Seq {
				t.Errorf("at %d, expected %d", s.Seq(), plan.Seq)
			}
			sound(t, s)
			if plan.Seq == 4*n+4 && done.Remedy == storage.RemedySalvage {
				for i := range n + 1 {
					if again, err := s.Write(t.Context(), storage.Op{Key: fmt.Sprint("key", i)}, nil); err != nil || !again.Repeated {
						t.Errorf("write %d is not known any more: %v", i, err)
					}
				}
			}
			if err := plant(t.Context(), s, 100); err != nil {
				t.Error(err)
			}
			checkNoLeftovers(t, dir)
		})
	}
}

// rootPage is the page of the newest tree of buckets.
func rootPage(d []byte) int {
	at := 16
	if txid := func(at int) uint64 { return uint64(d[at+48]) | uint64(d[at+49])<<8 }; txid(4096+16) > txid(16) {
		at += 4096
	}
	return int(d[at+16]) | int(d[at+17])<<8
}

// TestS11_SalvageNeverLies: whatever is done to a file, what a salvage finds is
// what was written.
func TestS11_SalvageNeverLies(t *testing.T) {
	t.Parallel()
	template := t.TempDir()
	s := openAt(t, template)
	const n = 10
	for i := range n {
		if err := plant(t.Context(), s, i); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	whole, err := os.ReadFile(dataFile(template))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(template, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 8))
	records := 0
	rounds := count(t, "STORAGE_CORPUS", 200) / 4
	for round := range rounds {
		dir := t.TempDir()
		data := bytes.Clone(whole)
		for range 1 + random.IntN(40) {
			at := random.IntN(len(data))
			switch random.IntN(3) {
			case 0:
				data[at] ^= byte(1 << random.IntN(8))
			case 1:
				clear(data[at:min(at+random.IntN(3000), len(data))])
			case 2:
				copy(data[at:], data[random.IntN(len(data)):][:min(500, len(data)-at)])
			}
		}
		if random.IntN(3) == 0 {
			data = data[:random.IntN(len(data))]
		}
		overwrite(t, dir, data)
		if err := os.WriteFile(filepath.Join(dir, "manifest.json"), manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		done, err := repairStore(t, dir, storage.RepairOptions{Only: storage.RemedySalvage, Apply: true})
		if errors.Is(err, storage.ErrCorrupt) {
			continue
		}
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		s := openAt(t, dir)
		viewing(t, s, func(v storage.View) {
			if err := v.Scan(0, v.Seq(), func(r storage.Record, terms []byte) error {
				if r.Erased() {
					return nil
				}
				records++
				i := (r.Seq - 1) / 4
				if r.Damaged || r.Kind == "turn" && (!strings.Contains(string(r.Body), canary(int(i))) || r.ID != fmt.Sprint("n", i+1)) {
					t.Errorf("round %d: record %d is not what was written", round, r.Seq)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		report, err := s.Verify(t.Context(), false)
		if err != nil || len(report.Problems) > 0 {
			t.Fatalf("round %d: %+v %v %v", round, done, report.Problems, err)
		}
		closeStore(t, s)
	}
	t.Logf("%d files, %d of %d records", rounds, records, rounds*4*n)
}
