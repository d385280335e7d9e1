package storage_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"hexapla/storage"
)

const pageBytes = 4096

// pages is the content of a store.db of which tests know the layout.
type pages []byte

func (p pages) at(id uint64) []byte { return p[id*pageBytes : (id+1)*pageBytes] }

func (p pages) count(id uint64) int { return int(binary.NativeEndian.Uint16(p.at(id)[10:])) }

func (p pages) is(id uint64, flags uint16) bool {
	return binary.NativeEndian.Uint16(p.at(id)[8:]) == flags
}

func (p pages) element(id uint64, i int) []byte { return p.at(id)[16+16*i:] }

func (p pages) child(id uint64, i int) uint64 {
	return binary.NativeEndian.Uint64(p.element(id, i)[8:])
}

func (p pages) point(id uint64, i int, to uint64) {
	binary.NativeEndian.PutUint64(p.element(id, i)[8:], to)
}

// value returns what element i of a leaf page stands for.
func (p pages) value(id uint64, i int) []byte {
	element := p.element(id, i)
	order := binary.NativeEndian
	return element[order.Uint32(element[4:])+order.Uint32(element[8:]):][:order.Uint32(element[12:])]
}

// key returns the key of element i of a leaf page.
func (p pages) key(id uint64, i int) string {
	element := p.element(id, i)
	order := binary.NativeEndian
	return string(element[order.Uint32(element[4:]):][:order.Uint32(element[8:])])
}

// meta returns the page of the root bucket and that of the free list.
func (p pages) meta() (root, free uint64) {
	order := binary.NativeEndian
	newest := p[16:]
	if second := p[pageBytes+16:]; order.Uint64(second[48:]) > order.Uint64(newest[48:]) {
		newest = second
	}
	return order.Uint64(newest[16:]), order.Uint64(newest[32:])
}

// deepTree writes a store in which the tree of one bucket has two levels of
// branch pages, and returns the bucket's place in the root bucket.
func deepTree(t *testing.T, dir string) (data pages, bucket int, top uint64) {
	t.Helper()
	s := openAt(t, dir)
	long := strings.Repeat("x", 200)
	for i := range 6 {
		var drafts []storage.Draft
		for j := range 500 {
			drafts = append(drafts, draft("note", fmt.Sprint(long, i, "-", j), "a body", "all"))
		}
		write(t, s, drafts...)
	}
	_, err := s.Write(t.Context(), storage.Op{}, func(tx *storage.Tx) ([]byte, error) { tx.Add("n", 1); return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	data, err = os.ReadFile(dataFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	root, _ := data.meta()
	if !data.is(root, 2) {
		t.Fatal("the root bucket has more than one page")
	}
	for i := range data.count(root) {
		top := binary.NativeEndian.Uint64(data.value(root, i))
		if top != 0 && data.is(top, 1) && data.count(top) > 3 && data.is(data.child(top, 0), 1) {
			return data, i, top
		}
	}
	t.Fatal("no tree is deep")
	return nil, 0, 0
}

// TestS10_DamagedTree: pages that lead in a circle, or to where they must not lead,
// are refused. bbolt would not survive some of them.
func TestS10_DamagedTree(t *testing.T) {
	t.Parallel()
	whole, bucket, top := deepTree(t, t.TempDir())
	root, free := whole.meta()
	branch, other, last := whole.child(top, 1), whole.child(top, 2), whole.count(top)-1
	leaf, lastLeaf := whole.child(branch, 0), whole.count(branch)-1
	if whole.count(free) < 2 {
		t.Fatal("no pages are free")
	}
	order := binary.NativeEndian
	freed := order.Uint64(whole.at(free)[16:])
	outside := uint64(len(whole) / pageBytes)
	inline, tree := -1, -1 // other buckets
	for i := range whole.count(root) {
		if at := order.Uint64(whole.value(root, i)); at == 0 && whole.key(root, i) == "counters" {
			inline = i
		} else if at != 0 && i != bucket {
			tree = i
		}
	}
	if inline < 0 || tree < 0 {
		t.Fatal("buckets are missing")
	}
	child := startChild(t, "reader")
	for _, one := range []struct {
		name string
		harm func(p pages)
	}{
		{"sound", func(pages) {}},
		{"branch points to itself", func(p pages) { p.point(branch, 1, branch) }},
		{"branch points to its parent", func(p pages) { p.point(branch, 1, top) }},
		{"branch points to its neighbor", func(p pages) { p.point(branch, 1, other) }},
		{"branch points to the root bucket", func(p pages) { p.point(branch, 1, root) }},
		{"branch points to the free list", func(p pages) { p.point(branch, 1, free) }},
		{"branch points to a free page", func(p pages) { p.point(branch, 1, freed) }},
		{"branch points to a meta page", func(p pages) { p.point(branch, 1, 1) }},
		{"branch points outside", func(p pages) { p.point(branch, 1, outside) }},
		{"branch points far outside", func(p pages) { p.point(branch, 1, ^uint64(0)) }},
		{"branch points to a leaf page twice", func(p pages) { p.point(branch, 1, leaf) }},
		{"first of a branch points to it", func(p pages) { p.point(branch, 0, branch) }},
		{"last of a branch points to it", func(p pages) { p.point(branch, lastLeaf, branch) }},
		{"top points to itself", func(p pages) { p.point(top, 1, top) }},
		{"first of the top points to it", func(p pages) { p.point(top, 0, top) }},
		{"last of the top points to it", func(p pages) { p.point(top, last, top) }},
		{"top points to a branch twice", func(p pages) { p.point(top, 1, other) }},
		{"top points to a leaf page", func(p pages) { p.point(top, 1, leaf) }},
		{"first of the top points to a leaf page", func(p pages) { p.point(top, 0, leaf) }},
		{"top points outside", func(p pages) { p.point(top, 1, outside) }},
		{"branch has another number", func(p pages) { order.PutUint64(p.at(branch), other) }},
		{"branch is a leaf page", func(p pages) { order.PutUint16(p.at(branch)[8:], 2) }},
		{"branch has no type", func(p pages) { order.PutUint16(p.at(branch)[8:], 0) }},
		{"branch has no elements", func(p pages) { order.PutUint16(p.at(branch)[10:], 0) }},
		{"branch has too many elements", func(p pages) { order.PutUint16(p.at(branch)[10:], 0xFFFF) }},
		{"branch goes on into other pages", func(p pages) { order.PutUint32(p.at(branch)[12:], 1000) }},
		{"branch goes on beyond the end", func(p pages) { order.PutUint32(p.at(branch)[12:], ^uint32(0)) }},
		{"key lies outside", func(p pages) { order.PutUint32(p.element(branch, 1), ^uint32(0)) }},
		{"bucket points to the root bucket", func(p pages) { order.PutUint64(p.value(root, bucket), root) }},
		{"bucket points to another", func(p pages) { copy(p.value(root, bucket)[:8], p.value(root, tree)) }},
		{"bucket points into its tree", func(p pages) { order.PutUint64(p.value(root, tree), branch) }},
		{"bucket points outside", func(p pages) { order.PutUint64(p.value(root, bucket), outside) }},
		{"bucket is cut", func(p pages) { order.PutUint32(p.element(root, bucket)[12:], 8) }},
		{"bucket is long", func(p pages) { order.PutUint32(p.element(root, bucket)[12:], ^uint32(0)) }},
		{"small bucket is a branch page", func(p pages) { order.PutUint16(p.value(root, inline)[16+8:], 1) }},
		{"small bucket has too many elements", func(p pages) { order.PutUint16(p.value(root, inline)[16+10:], 0xFFFF) }},
		{"key of a small bucket lies outside", func(p pages) { order.PutUint32(p.value(root, inline)[32+4:], 5000) }},
		{"key of a small bucket is long", func(p pages) { order.PutUint32(p.value(root, inline)[32+8:], 5000) }},
		{"value of a small bucket is long", func(p pages) { order.PutUint32(p.value(root, inline)[32+12:], 5000) }},
		{"bucket is no longer small", func(p pages) { order.PutUint64(p.value(root, bucket), 0) }},
		{"free list has a page twice", func(p pages) { copy(p.at(free)[24:32], p.at(free)[16:24]) }},
		{"free list has a page in use", func(p pages) { order.PutUint64(p.at(free)[16:], branch) }},
		{"free list has a page outside", func(p pages) { order.PutUint64(p.at(free)[16:], outside) }},
		{"free list is long", func(p pages) { order.PutUint16(p.at(free)[10:], 0xFFFE) }},
		{"free list is endless", func(p pages) {
			order.PutUint16(p.at(free)[10:], 0xFFFF)
			order.PutUint64(p.at(free)[16:], 1<<40)
		}},
		{"free list is none", func(p pages) { order.PutUint16(p.at(free)[8:], 2) }},
	} {
		at := filepath.Join(t.TempDir(), "store")
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		data := append(pages(nil), whole...)
		one.harm(data)
		overwrite(t, at, data)
		fmt.Fprintln(child.in, at)
		if !child.out.Scan() {
			t.Errorf("%s: the child died", one.name)
			child = startChild(t, "reader")
			continue
		}
		if says := child.out.Text(); one.name == "sound" {
			if !strings.HasPrefix(says, "sound ") {
				t.Errorf("%s: %s", one.name, says)
			}
		} else if !strings.HasPrefix(says, "refused ") || !strings.Contains(says, storage.ErrCorrupt.Error()) {
			t.Errorf("%s: %s", one.name, says)
		}
	}
}

// TestManyFree: a free list of more than 65,534 pages has another form.
func TestManyFree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: 1024, NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	name := []byte("bucket")
	for _, change := range []func(tx *bolt.Tx) error{
		func(tx *bolt.Tx) error {
			b, err := tx.CreateBucket(name)
			if err != nil {
				return err
			}
			return b.Put(name, make([]byte, 70_000<<10))
		},
		func(tx *bolt.Tx) error { return tx.DeleteBucket(name) },
	} {
		if err := db.Update(change); err != nil {
			t.Fatal(err)
		}
		if err := storage.Guard(path); err != nil {
			t.Fatal(err)
		}
	}
	if free := db.Stats().FreePageN + db.Stats().PendingPageN; free < 0xFFFF {
		t.Errorf("only %d pages are free", free)
	}
}

// TestSoundTrees: what bbolt writes is never refused, whatever it is.
func TestSoundTrees(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1024, 4096, 65536} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "db")
			db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: size, NoSync: true, FreelistType: bolt.FreelistMapType})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			random := rand.New(rand.NewPCG(5, uint64(size)))
			key := func(n int) []byte {
				k := fmt.Appendf(nil, "%06d", random.IntN(n))
				switch random.IntN(40) {
				case 0:
					k = append(k, make([]byte, random.IntN(32_000))...)
				case 1, 2, 3:
					k = append(k, make([]byte, random.IntN(2000))...)
				}
				return k
			}
			for round := range 60 {
				err := db.Update(func(tx *bolt.Tx) error {
					for range random.IntN(4) {
						if _, err := tx.CreateBucketIfNotExists(key(60)); err != nil {
							return err
						}
					}
					return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
						if random.IntN(3) > 0 {
							return nil
						}
						for range random.IntN(300) {
							if err := b.Put(key(5000), make([]byte, random.IntN(300))); err != nil {
								return err
							}
						}
						cursor := b.Cursor()
						deletes := random.IntN(400)
						for k, _ := cursor.Seek(key(5000)); k != nil && deletes > 0; k, _ = cursor.Next() {
							if err := cursor.Delete(); err != nil {
								return err
							}
							deletes--
						}
						return nil
					})
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := storage.Guard(path); err != nil {
					t.Fatalf("round %d: %v", round, err)
				}
			}
		})
	}
}
