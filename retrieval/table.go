package retrieval

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sort"
)

// class is a group of records that are compared with each other. A whole
// conversation is much longer than a turn, so each has its own frequencies and
// its own average length.
type class int

const (
	classLeaf  class = iota // turns, tool outputs and whatever else is indexed
	classWhole              // trios: whole conversations
	classes
)

func classOf(kind string) class {
	if kind == kindTrio {
		return classWhole
	}
	return classLeaf
}

// table holds document frequencies at a boundary: what all records up to a
// sequence have in common. It is a pure function of those records.
type table struct {
	seq     int64
	docs    [classes]int
	length  [classes]int64 // sum over documents
	entries []byte         // sorted by hash, entrySize bytes each
}

// entrySize: 6 bytes of hash, 3 of documents of each class.
const (
	entrySize   = 12
	maxEntryDoc = 1<<24 - 1
)

// nameHash hashes a term or an entity to 48 bits (FNV-1a). Among a million
// names the chance that any two collide is 0.2 %, and a collision only makes a
// frequency a little too high, everywhere alike.
func nameHash[T string | []byte](name T, entity bool) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	if entity {
		h = (h ^ 1) * prime
	}
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * prime
	}
	return (h ^ h>>48) & (1<<48 - 1)
}

// df returns the documents of each class that hold a name. A name that is not
// in the table occurs in at most one.
func (t *table) df(hash uint64) (df [classes]int) {
	n := len(t.entries) / entrySize
	i := sort.Search(n, func(i int) bool { return entryHash(t.entries[i*entrySize:]) >= hash })
	if i == n || entryHash(t.entries[i*entrySize:]) != hash {
		return df
	}
	e := t.entries[i*entrySize:]
	return [classes]int{int(e[6])<<16 | int(e[7])<<8 | int(e[8]), int(e[9])<<16 | int(e[10])<<8 | int(e[11])}
}

func entryHash(e []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(e))<<32 | uint64(binary.BigEndian.Uint32(e[2:]))
}

// average returns the average length of a class, 0 if it is empty.
func (t *table) average(c class) float64 {
	if t.docs[c] == 0 {
		return 0
	}
	return float64(t.length[c]) / float64(t.docs[c])
}

// counter gathers a table.
type counter struct {
	table  table
	counts map[uint64][classes]uint32
}

func newCounter() *counter { return &counter{counts: make(map[uint64][classes]uint32)} }

// add counts one document.
func (c *counter) add(kind string, length int, names []uint64) {
	k := classOf(kind)
	c.table.docs[k]++
	c.table.length[k] += int64(length)
	for _, h := range names {
		n := c.counts[h]
		n[k]++
		c.counts[h] = n
	}
}

// finish makes the table of all documents up to a sequence. Names that occur once are left out: they are half of
// all, and are told by their absence.
func (c *counter) finish(seq int64) *table {
	hashes := make([]uint64, 0, len(c.counts))
	for h, n := range c.counts {
		if n[classLeaf]+n[classWhole] > 1 {
			hashes = append(hashes, h)
		}
	}
	slices.Sort(hashes)
	t := c.table
	t.seq = seq
	t.entries = make([]byte, 0, len(hashes)*entrySize)
	for _, h := range hashes {
		n := c.counts[h]
		leaf, whole := min(n[classLeaf], maxEntryDoc), min(n[classWhole], maxEntryDoc)
		t.entries = append(t.entries, byte(h>>40), byte(h>>32), byte(h>>24), byte(h>>16), byte(h>>8), byte(h),
			byte(leaf>>16), byte(leaf>>8), byte(leaf), byte(whole>>16), byte(whole>>8), byte(whole))
	}
	return &t
}

// tableVersion is the first byte of a stored table. It changes with the
// analysis of terms.
const tableVersion = 1

// encode returns the stored form: version, sequence, documents and lengths by
// class (uvarints), entries, CRC-32.
func (t *table) encode() []byte {
	b := make([]byte, 0, 48+len(t.entries))
	b = append(b, tableVersion)
	b = binary.AppendUvarint(b, uint64(t.seq))
	for c := range classes {
		b = binary.AppendUvarint(b, uint64(t.docs[c]))
		b = binary.AppendUvarint(b, uint64(t.length[c]))
	}
	b = append(b, t.entries...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// decodeTable reads a stored table; false if it is none.
func decodeTable(b []byte) (*table, bool) {
	values, rest, ok := decodeSummed(b, 1+2*int(classes))
	if !ok || len(rest)%entrySize != 0 {
		return nil, false
	}
	t := &table{seq: int64(values[0]), entries: rest}
	for c := range classes {
		t.docs[c], t.length[c] = int(values[1+2*c]), int64(values[2+2*c])
	}
	return t, true
}

// decodeSummed checks version and sum and reads n leading uvarints.
func decodeSummed(b []byte, n int) (values []uint64, rest []byte, ok bool) {
	if len(b) < 5 || b[0] != tableVersion || crc32.ChecksumIEEE(b[:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return nil, nil, false
	}
	rest = b[1 : len(b)-4]
	for range n {
		v, k := binary.Uvarint(rest)
		if k <= 0 || v > 1<<62 {
			return nil, nil, false
		}
		values = append(values, v)
		rest = rest[k:]
	}
	return values, rest, true
}
