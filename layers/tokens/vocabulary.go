package tokens

import (
	_ "embed"
	"math/bits"
)

//go:generate go run internal/genranks/main.go ranks

//go:embed ranks/o200k_base.bin
var o200kRanks string

//go:embed ranks/cl100k_base.bin
var cl100kRanks string

// noRank stands for "these bytes are no token". It is larger than any rank, so
// that a plain minimum finds the pair to merge next.
const noRank = ^uint32(0)

// A slot of the hash table holds rank+1 in its low bits, so that 0 is an empty
// slot, and bits of the key's hash above them, so that most keys that differ are
// told apart without reading the blob.
const (
	slotRankBits = 18
	slotRankMask = 1<<slotRankBits - 1
)

// vocabulary maps byte strings to merge ranks. The tokens' bytes stay in the
// embedded blob; what is built is an open-addressed table of 4-byte slots and
// the tokens' offsets. It is immutable once built.
type vocabulary struct {
	blob    string
	offsets []uint32 // of the token's bytes in blob, by rank; one more as the end
	slots   []uint32
	shift   uint     // 64 - log2(len(slots))
	pairs   []uint32 // rank of each two bytes, by first<<8|second
	bytes   [256]uint32
	longest int // bytes of the longest token
}

// newVocabulary builds the table from a blob of length-prefixed tokens in rank
// order (see internal/genranks).
func newVocabulary(blob string) *vocabulary {
	count := 0
	for i := 0; i < len(blob); i += 1 + int(blob[i]) {
		count++
	}
	logSize := uint(bits.Len(uint(count)))
	v := &vocabulary{
		blob:    blob,
		offsets: make([]uint32, 0, count+1),
		slots:   make([]uint32, 1<<(logSize+1)),
		shift:   64 - (logSize + 1),
		pairs:   make([]uint32, 1<<16),
	}
	for i := range v.pairs {
		v.pairs[i] = noRank
	}
	mask := uint64(len(v.slots) - 1)
	for i := 0; i < len(blob); {
		size := int(blob[i])
		start, end := i+1, i+1+size
		rank := uint32(len(v.offsets))
		v.offsets = append(v.offsets, uint32(start))
		v.longest = max(v.longest, size)
		switch size {
		case 1:
			v.bytes[blob[start]] = rank
		case 2:
			v.pairs[uint(blob[start])<<8|uint(blob[start+1])] = rank
		}
		h := hash(blob, start, end)
		at := h >> v.shift
		for v.slots[at] != 0 {
			at = (at + 1) & mask
		}
		v.slots[at] = uint32(h)<<slotRankBits | (rank + 1)
		i = end
	}
	v.offsets = append(v.offsets, uint32(len(blob)+1))
	return v
}

// size is the number of tokens.
func (v *vocabulary) size() int { return len(v.offsets) - 1 }

// token returns the bytes of a rank below size.
func (v *vocabulary) token(rank uint32) string {
	return v.blob[v.offsets[rank] : v.offsets[rank+1]-1]
}

// rank returns the rank of s[i:j], or noRank.
func (v *vocabulary) rank(s string, i, j int) uint32 {
	switch size := j - i; {
	case size == 2:
		return v.pairs[uint(s[i])<<8|uint(s[i+1])]
	case size > v.longest:
		return noRank
	}
	return v.find(s, i, j, hash(s, i, j))
}

// find is rank for a key whose hash is known.
func (v *vocabulary) find(s string, i, j int, h uint64) uint32 {
	mask := uint64(len(v.slots) - 1)
	for at := h >> v.shift; ; at = (at + 1) & mask {
		slot := v.slots[at&mask]
		if slot == 0 {
			return noRank
		}
		if (slot^uint32(h)<<slotRankBits)>>slotRankBits != 0 {
			continue
		}
		rank := slot&slotRankMask - 1
		if v.token(rank) == s[i:j] {
			return rank
		}
	}
}

// Odd constants with well-spread bits (from the fractional part of the golden
// ratio and of the square roots of 2 and 3).
const (
	hashA = 0x9E3779B97F4A7C15
	hashB = 0x6A09E667F3BCC909
	hashC = 0xBB67AE8584CAA73B
)

// hash is the hash of s[i:j]. It is part of no file format.
func hash(s string, i, j int) uint64 {
	h := uint64(0)
	for j-i > 16 {
		h = mix(load8(s, i)^h, load8(s, i+8), 16)
		i += 16
	}
	lo, hi := words(s, i, j)
	return mix(lo^h, hi, j-i)
}

// mix hashes a key of up to 16 bytes given as two words.
func mix(lo, hi uint64, size int) uint64 {
	a, b := bits.Mul64(lo^hashA, hi^hashB^uint64(size)*hashC)
	return (a ^ b) * hashA
}

// words returns the at most 16 bytes of s[i:j] as two little-endian words,
// padded with zeros.
func words(s string, i, j int) (lo, hi uint64) {
	size := uint(j - i)
	if i+16 <= len(s) {
		lo = load8(s, i)
		if size <= 8 {
			return lo & (1<<(size*8) - 1), 0
		}
		return lo, load8(s, i+8) & (1<<(size*8-64) - 1)
	}
	for k := uint(0); k < size; k++ {
		if k < 8 {
			lo |= uint64(s[i+int(k)]) << (k * 8)
		} else {
			hi |= uint64(s[i+int(k)]) << (k*8 - 64)
		}
	}
	return lo, hi
}

// load8 reads eight bytes; the compiler makes one load of it.
func load8(s string, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// id is rank for any size.
func (v *vocabulary) id(s string, i, j int) uint32 {
	if j-i == 1 {
		return v.bytes[s[i]]
	}
	return v.rank(s, i, j)
}
