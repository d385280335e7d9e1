package storage_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hexapla/storage"
)

// TestS10_DamagedFile reads damaged copies of a store in a child process, which must
// neither die nor hand out wrong bytes, and never take a cut file for a store.
func TestS10_DamagedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	for i := range 40 {
		if _, err := killedWrite(t.Context(), s, 0, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutTable("table", make([]byte, 10_000)); err != nil {
		t.Fatal(err)
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
	const page = 4096
	pages := len(whole) / page
	random := rand.New(rand.NewPCG(3, 4))
	type damage struct {
		name    string
		harm    func(data []byte) []byte
		refused bool // must be
	}
	var all []damage
	for _, size := range []int{1, 15, 100, page - 1, page, page + 100, 2*page - 1, 2 * page, 3*page + 1, 5 * page, len(whole) / 2} {
		all = append(all, damage{fmt.Sprint("cut to ", size), func(d []byte) []byte { return d[:size] }, true})
	}
	for _, meta := range []int{0, 1} {
		all = append(all, damage{fmt.Sprint("meta page ", meta, " empty"), func(d []byte) []byte { clear(d[meta*page : (meta+1)*page]); return d }, false})
	}
	all = append(all, damage{"both meta pages", func(d []byte) []byte { clear(d[:2*page]); return d }, true})
	for p := 2; p < pages; p += 1 + pages/60 {
		all = append(all, damage{fmt.Sprint("page ", p, " empty"), func(d []byte) []byte { clear(d[p*page : (p+1)*page]); return d }, false})
		all = append(all, damage{fmt.Sprint("page ", p, " is another"), func(d []byte) []byte {
			copy(d[p*page:(p+1)*page], d[(pages/2)*page:])
			return d
		}, false})
		all = append(all, damage{fmt.Sprint("page ", p, " head"), func(d []byte) []byte {
			for i := range 64 {
				d[p*page+i] ^= byte(1 << random.IntN(16))
			}
			return d
		}, false})
	}
	for n := range 120 {
		all = append(all, damage{fmt.Sprint("flips ", n), func(d []byte) []byte {
			for range 1 + n*2 {
				d[2*page+random.IntN(len(d)-2*page)] ^= byte(1 << random.IntN(8))
			}
			return d
		}, false})
	}
	child := startChild(t, "reader")
	verdicts := map[string]int{}
	for i, one := range all {
		at := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		overwrite(t, at, one.harm(append([]byte(nil), whole...)))
		if err := os.WriteFile(filepath.Join(at, "manifest.json"), manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(child.in, at)
		if !child.out.Scan() {
			t.Fatalf("%s: the child died", one.name)
		}
		verdict, why, _ := strings.Cut(child.out.Text(), " ")
		verdicts[verdict]++
		if verdict != "refused" && (one.refused || verdict != "damaged" && verdict != "sound") {
			t.Errorf("%s: %s %s", one.name, verdict, why)
		}
		if one.refused && !strings.Contains(why, storage.ErrCorrupt.Error()) {
			t.Errorf("%s: %s", one.name, why)
		}
		os.RemoveAll(at)
	}
	t.Log(verdicts)
}

// TestS11_DamagedValues: a damaged value costs what it stands for, no more.
func TestS11_DamagedValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	for i := range 5 {
		d := draft("k", fmt.Sprint(i), "a body", "list")
		d.Terms = []byte("terms")
		write(t, s, d)
	}
	_, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) { tx.Add("n", 1); return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutTable("t", []byte("table")); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	path := dataFile(dir)
	for _, harm := range []error{
		storage.FlipRecord(path, 2), storage.FlipTerms(path, 3), storage.FlipTable(path, "t"), storage.FlipCounter(path, "n"), storage.FlipPlace(path, "list", 3),
	} {
		if harm != nil {
			t.Fatal(harm)
		}
	}
	s = openAt(t, dir)
	viewing(t, s, func(v storage.View) {
		if _, err := v.Get(2); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("get: %v", err)
		}
		if _, _, err := v.Latest("k", "1"); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("latest: %v", err)
		}
		if r, ok, err := v.Latest("k", "2"); !ok || err != nil || string(r.Body) != "a body" {
			t.Errorf("another: %v, %v, %v", r, ok, err)
		}
		if _, _, err := v.Terms(3); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("terms: %v", err)
		}
		var got []string
		if err := v.Scan(0, 5, func(r storage.Record, terms []byte) error {
			got = append(got, fmt.Sprintf("%d%s%s%v", r.Seq, r.ID, terms, r.Damaged))
			return nil
		}); err != nil {
			t.Error(err)
		}
		if text := strings.Join(got, " "); text != "10termsfalse 2true 32false 43termsfalse 54termsfalse" {
			t.Errorf("scan: %s", text)
		}
		if _, ok := v.Table("t"); ok || v.Err() != nil {
			t.Errorf("table: %v", v.Err())
		}
		if entries, err := v.List("list", 0, 3); err != nil || len(entries) != 3 {
			t.Errorf("list: %v, %v", entries, err)
		}
		if _, err := v.List("list", 3, 5); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("list: %v", err)
		}
		if n := v.Counter("n"); n != 0 || !errors.Is(v.Err(), storage.ErrDamaged) {
			t.Errorf("counter: %d, %v", n, v.Err())
		}
	})
	// A write that was told less than there is must not stand.
	_, err = s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) {
		tx.Put(draft("k", fmt.Sprint("n is ", tx.View().Counter("n")), ""))
		return nil, nil
	})
	if !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("a write over a damaged counter: %v", err)
	}
	_, err = s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) { tx.Add("n", 1); return nil, nil })
	if !errors.Is(err, storage.ErrDamaged) {
		t.Errorf("adding to a damaged counter: %v", err)
	}
	write(t, s, draft("k", "another", ""))
	report, err := s.Verify(t.Context(), true)
	if err != nil || len(report.Problems) != 5 || report.Records != 6 {
		t.Errorf("verify: %+v, %v", report, err)
	}
}

// TestS12_VerifyFinds: what is missing is found, too.
func TestS12_VerifyFinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openAt(t, dir)
	for i := range 5 {
		write(t, s, draft("k", fmt.Sprint(i), "a body", "list"))
	}
	staged, err := s.StageBlob(t.Context(), make([]byte, 5000), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) { tx.AddBlob(staged); return nil, nil }); err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	closeStore(t, s)
	if err := storage.DropPlace(dataFile(dir), "list", 2); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, dir)
	viewing(t, s, func(v storage.View) {
		if _, err := v.List("list", 0, 5); !errors.Is(err, storage.ErrDamaged) {
			t.Errorf("list: %v", err)
		}
	})
	report, err := s.Verify(t.Context(), true)
	if err != nil || len(report.Problems) != 2 || report.Blobs != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
	if report, err = s.Verify(t.Context(), false); err != nil || len(report.Problems) != 1 {
		t.Errorf("without blobs: %+v, %v", report, err)
	}
}
