package storage

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"math/bits"
)

// Layout of a bbolt file, in the byte order of the machine. Every page begins
// with its id (8 bytes), flags (2), count (2) and the number of pages that
// belong to it beyond the first (4). A meta page goes on with magic, version,
// page size and flags (4 each), the root bucket's page and sequence (8 each),
// the free list's page (8), the number of pages (8), the transaction (8) and
// an FNV-1a sum of those 56 bytes. Pages 0 and 1 are meta pages.
const (
	boltMagic      = 0xED0CDAED
	boltVersion    = 2
	boltPageHeader = 16
	boltMetaSummed = 56
	boltNoFreelist = ^uint64(0)

	boltBranchPage   = 0x01
	boltLeafPage     = 0x02
	boltFreelistPage = 0x10

	boltSmallestPage = 1 << 10
	boltLargestPage  = 1 << 24
)

type boltMeta struct {
	pageSize             int64
	root, freelist, high uint64
	transaction          uint64
}

// guardFile looks at a bbolt file before it is mapped into memory. bbolt trusts
// the file: a cut one, or one whose pages lead in a circle, would end the
// process in a way that cannot be recovered; an empty one would be made a new
// store. It returns ErrCorrupt for a file that must not be opened. What it costs
// follows the number of branch pages, about one in a hundred, and of free pages.
//
// It says nothing of damage that comes later: the file stays mapped, and what
// changes in it while it is open is seen by bbolt alone.
func guardFile(f io.ReaderAt, size int64) error {
	if size == 0 {
		return corrupt("store.db is empty")
	}
	meta, ok := readMetas(f)
	if !ok {
		return corrupt("store.db has no valid meta page")
	}
	switch pages := uint64(size / meta.pageSize); {
	case meta.high > pages:
		return corrupt("store.db has %d pages, must have %d", pages, meta.high)
	case meta.high < 4 || meta.root < 2 || meta.root >= meta.high:
		return corrupt("the root of store.db lies outside")
	}
	return guardTrees(f, meta)
}

// readMetas returns the meta page that bbolt would use: of the valid ones that
// with the higher transaction. The second lies one page in; if the first is
// damaged the size of a page is not known, and all sizes are tried.
func readMetas(f io.ReaderAt) (meta boltMeta, ok bool) {
	if first, ok := readMeta(f, 0); ok {
		if second, ok := readMeta(f, first.pageSize); ok && second.transaction > first.transaction {
			return second, true
		}
		return first, true
	}
	for at := int64(boltSmallestPage); at <= boltLargestPage; at *= 2 {
		if meta, ok := readMeta(f, at); ok && meta.pageSize == at {
			return meta, true
		}
	}
	return boltMeta{}, false
}

func readMeta(f io.ReaderAt, at int64) (boltMeta, bool) {
	var page [boltPageHeader + boltMetaSummed + 8]byte
	if _, err := f.ReadAt(page[:], at); err != nil {
		return boltMeta{}, false
	}
	m := page[boltPageHeader:]
	hash := fnv.New64a()
	hash.Write(m[:boltMetaSummed])
	order := binary.NativeEndian
	if order.Uint32(m) != boltMagic || order.Uint32(m[4:]) != boltVersion || order.Uint64(m[boltMetaSummed:]) != hash.Sum64() {
		return boltMeta{}, false
	}
	size := order.Uint32(m[8:])
	if size < boltSmallestPage || size > boltLargestPage || bits.OnesCount32(size) != 1 {
		return boltMeta{}, false
	}
	return boltMeta{
		pageSize: int64(size), root: order.Uint64(m[16:]), freelist: order.Uint64(m[32:]),
		high: order.Uint64(m[40:]), transaction: order.Uint64(m[48:]),
	}, true
}
