package storage

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Layout of the pages of a bbolt file beyond their header. A branch page has
// count elements of 16 bytes: place of the key as seen from the element (4),
// size of the key (4), page below (8). Those of a leaf page are flags, place of
// the key, sizes of key and value (4 each). A bucket is a value in a leaf page:
// the root page of its tree and a sequence (8 each); if the root is 0, a leaf
// page follows in the value itself. The free list is count numbers of pages (8
// each); a count of 65535 says that the true count is the first of them.
const (
	boltElement      = 16
	boltBucketHeader = 16
	boltBucketFlag   = 0x01
	boltManyFree     = 0xFFFF

	boltDeepest = 64 // branch pages fan out, no tree comes near
)

// treeGuard walks the tree of the buckets, the tree of each bucket, and the free
// list. bbolt follows pages without a bound: a page that leads back to itself
// would let the stack or the memory overflow, which ends the process.
//
// It reads all branch pages, the pages that hold the buckets, and two leaf pages
// of each tree, which tell its depth; in a sound file all leaf pages lie equally
// deep. It finds every page that is pointed to twice, that lies outside, or that
// is free as well. It does not read the other leaf pages: what is damaged in
// them bbolt survives, unless one has become a branch page that leads back.
// Buckets in buckets are not looked for, a store has none.
type treeGuard struct {
	f     io.ReaderAt
	meta  boltMeta
	taken []uint64 // a bit for each page that something points to
}

// boltPage is a branch or leaf page.
type boltPage struct {
	id       uint64
	branch   bool
	beyond   uint64 // pages beyond the first
	size     int64  // in bytes, with the pages beyond
	count    int
	elements []byte
}

func guardTrees(f io.ReaderAt, meta boltMeta) error {
	g := &treeGuard{f: f, meta: meta, taken: make([]uint64, meta.high/64+1)}
	if err := g.freeList(); err != nil {
		return err
	}
	leaves, err := g.tree(meta.root, true)
	if err != nil {
		return err
	}
	for _, id := range leaves {
		if err := g.buckets(id); err != nil {
			return err
		}
	}
	return nil
}

// freeList marks the free pages.
func (g *treeGuard) freeList() error {
	id := g.meta.freelist
	if id == boltNoFreelist {
		return nil
	}
	if err := g.take(id, 1); err != nil {
		return err
	}
	at := int64(id) * g.meta.pageSize
	head := make([]byte, boltPageHeader+8)
	if err := g.readAt(head, at); err != nil {
		return err
	}
	order := binary.NativeEndian
	flags, count, beyond := order.Uint16(head[8:]), uint64(order.Uint16(head[10:])), uint64(order.Uint32(head[12:]))
	if order.Uint64(head) != id || flags != boltFreelistPage || beyond >= g.meta.high-id {
		return corrupt("the free list of store.db is damaged")
	}
	if err := g.take(id+1, beyond); err != nil {
		return err
	}
	at += boltPageHeader
	room := uint64((int64(beyond)+1)*g.meta.pageSize-boltPageHeader) / 8
	if count == boltManyFree {
		count = order.Uint64(head[boltPageHeader:])
		at += 8
		room--
	}
	if count > room {
		return corrupt("the free list of store.db has %d pages, there is room for %d", count, room)
	}
	buf := make([]byte, min(count*8, 64<<10))
	for count > 0 {
		n := min(count, uint64(len(buf)/8))
		some := buf[:n*8]
		if err := g.readAt(some, at); err != nil {
			return err
		}
		for ; len(some) > 0; some = some[8:] {
			if err := g.take(order.Uint64(some), 1); err != nil {
				return err
			}
		}
		count -= n
		at += int64(n) * 8
	}
	return nil
}

// tree walks the branch pages of a tree, level by level, and marks all its
// pages. If it is told to, it returns the leaf pages.
func (g *treeGuard) tree(root uint64, keep bool) ([]uint64, error) {
	if err := g.take(root, 1); err != nil {
		return nil, err
	}
	depth, err := g.depth(root, false)
	if err != nil {
		return nil, err
	}
	if right, err := g.depth(root, true); err != nil {
		return nil, err
	} else if right != depth {
		return nil, corrupt("the tree at page %d of store.db is %d deep at one end and %d at the other", root, depth, right)
	}
	level := []uint64{root}
	for ; depth > 0; depth-- {
		var below []uint64
		slices.Sort(level) // for the disk
		for _, id := range level {
			children, err := g.branch(id)
			if err != nil {
				return nil, err
			}
			if keep || depth > 1 {
				below = append(below, children...)
			}
		}
		level = below
	}
	return level, nil
}

// branch marks what a branch page points to, and returns it.
func (g *treeGuard) branch(id uint64) ([]uint64, error) {
	page, err := g.read(id)
	if err != nil {
		return nil, err
	}
	if !page.branch {
		return nil, corrupt("page %d of store.db must be a branch page", id)
	}
	if err := g.take(id+1, page.beyond); err != nil {
		return nil, err
	}
	children := make([]uint64, page.count)
	for i := range children {
		child, err := page.child(i)
		if err == nil {
			err = g.take(child, 1)
		}
		if err != nil {
			return nil, fmt.Errorf("%w, says page %d", err, id)
		}
		children[i] = child
	}
	return children, nil
}

// depth follows the first or the last elements down to a leaf page, and counts
// the branch pages.
func (g *treeGuard) depth(root uint64, last bool) (int, error) {
	id := root
	for depth := range boltDeepest {
		page, err := g.read(id)
		if err != nil {
			return 0, err
		}
		if !page.branch {
			return depth, nil
		}
		at := 0
		if last {
			at = page.count - 1
		}
		if id, err = page.child(at); err != nil {
			return 0, err
		}
	}
	return 0, corrupt("the tree at page %d of store.db has no end", root)
}

// buckets walks the trees of the buckets in a leaf page.
func (g *treeGuard) buckets(id uint64) error {
	page, err := g.read(id)
	if err != nil {
		return err
	}
	if page.branch {
		return corrupt("page %d of store.db must be a leaf page", id)
	}
	if err := g.take(id+1, page.beyond); err != nil {
		return err
	}
	order := binary.NativeEndian
	for i := range page.count {
		begin, end := leafValue(page.elements, i)
		if end > page.size {
			return corrupt("element %d of page %d of store.db lies outside of it", i, id)
		}
		if order.Uint32(page.elements[i*boltElement:])&boltBucketFlag == 0 {
			continue
		}
		if err := g.bucket(int64(id)*g.meta.pageSize+begin, end-begin); err != nil {
			return err
		}
	}
	return nil
}

// bucket walks the tree of a bucket.
func (g *treeGuard) bucket(at, size int64) error {
	head := make([]byte, min(size, boltBucketHeader+boltPageHeader))
	if len(head) < boltBucketHeader {
		return corrupt("a bucket of store.db is cut")
	}
	if err := g.readAt(head, at); err != nil {
		return err
	}
	order := binary.NativeEndian
	if root := order.Uint64(head); root != 0 {
		_, err := g.tree(root, false)
		return err
	}
	inline := head[boltBucketHeader:]
	if len(inline) < boltPageHeader || order.Uint16(inline[8:]) != boltLeafPage {
		return corrupt("a small bucket of store.db is damaged")
	}
	// bbolt copies such a page to the heap. A key outside of it would point to
	// something else there, which ends the process when memory is collected.
	elements := make([]byte, int(order.Uint16(inline[10:]))*boltElement)
	if int64(len(head)+len(elements)) > size {
		return corrupt("a small bucket of store.db is cut")
	}
	if err := g.readAt(elements, at+int64(len(head))); err != nil {
		return err
	}
	for i := range len(elements) / boltElement {
		if _, end := leafValue(elements, i); end > size-boltBucketHeader {
			return corrupt("element %d of a small bucket of store.db lies outside of it", i)
		}
	}
	return nil
}

// leafValue tells where the value of an element begins and ends, as seen from
// the begin of its leaf page.
func leafValue(elements []byte, i int) (begin, end int64) {
	order := binary.NativeEndian
	at := i * boltElement
	element := elements[at:]
	begin = int64(boltPageHeader+at) + int64(order.Uint32(element[4:])) + int64(order.Uint32(element[8:]))
	return begin, begin + int64(order.Uint32(element[12:]))
}

// take marks pages, none of which may be marked.
func (g *treeGuard) take(id, n uint64) error {
	if id < 2 || id > g.meta.high || n > g.meta.high-id {
		return corrupt("page %d of store.db lies outside", id)
	}
	for end := id + n; id < end; id++ {
		if g.taken[id/64]&(1<<(id%64)) != 0 {
			return corrupt("page %d of store.db has two uses", id)
		}
		g.taken[id/64] |= 1 << (id % 64)
	}
	return nil
}

// read reads the header and the elements of a branch or leaf page.
func (g *treeGuard) read(id uint64) (boltPage, error) {
	if id < 2 || id >= g.meta.high {
		return boltPage{}, corrupt("page %d of store.db lies outside", id)
	}
	at := int64(id) * g.meta.pageSize
	data := make([]byte, g.meta.pageSize)
	if err := g.readAt(data, at); err != nil {
		return boltPage{}, err
	}
	order := binary.NativeEndian
	flags := order.Uint16(data[8:])
	page := boltPage{
		id: id, branch: flags == boltBranchPage,
		count: int(order.Uint16(data[10:])), beyond: uint64(order.Uint32(data[12:])),
	}
	page.size = (int64(page.beyond) + 1) * g.meta.pageSize
	end := boltPageHeader + int64(page.count)*boltElement
	switch {
	case order.Uint64(data) != id, flags != boltBranchPage && flags != boltLeafPage, page.beyond >= g.meta.high-id:
		return boltPage{}, corrupt("page %d of store.db must be a branch or leaf page", id)
	case end > page.size, page.branch && page.count == 0:
		return boltPage{}, corrupt("page %d of store.db cannot have %d elements", id, page.count)
	}
	if more := end - g.meta.pageSize; more > 0 {
		data = append(data, make([]byte, more)...)
		if err := g.readAt(data[g.meta.pageSize:], at+g.meta.pageSize); err != nil {
			return boltPage{}, err
		}
	}
	page.elements = data[boltPageHeader:end]
	return page, nil
}

// child returns the page that an element of a branch page points to.
func (p *boltPage) child(i int) (uint64, error) {
	order := binary.NativeEndian
	element := p.elements[i*boltElement:]
	end := boltPageHeader + int64(i)*boltElement + int64(order.Uint32(element)) + int64(order.Uint32(element[4:]))
	if end > p.size {
		return 0, corrupt("element %d of page %d of store.db lies outside of it", i, p.id)
	}
	return order.Uint64(element[8:]), nil
}

func (g *treeGuard) readAt(b []byte, at int64) error {
	if _, err := g.f.ReadAt(b, at); err != nil {
		return fmt.Errorf("read store.db at %d: %w", at, err)
	}
	return nil
}
