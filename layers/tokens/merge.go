package tokens

// Byte pair encoding of one piece: of all neighbouring parts whose joined bytes
// are a token, the pair of the lowest rank is joined, the leftmost of equals
// first, until no pair is a token.
//
// Short pieces are merged by scanning for the minimum, which is quadratic but
// quick; longer ones with a heap, in n log n.

// shortPiece is the longest piece, in bytes, that is merged by scanning.
const shortPiece = 96

// keepPiece bounds the buffers that a merger keeps between pieces, in bytes of
// the piece they serve.
const keepPiece = 64 << 10

// merger holds the buffers of a merge. The zero value is ready. It is not safe
// for concurrent use.
type merger struct {
	starts [shortPiece + 1]int32  // of the parts, relative to the piece; the end last
	ranks  [shortPiece + 1]uint32 // of each part joined with the next
	long   longMerge
}

// parts merges s[i:j] and returns the number of parts. With emit set it calls
// emit with the bounds of each.
func (m *merger) parts(v *vocabulary, s string, i, j int, emit func(i, j int)) int {
	if j-i > shortPiece {
		return m.long.parts(v, s[i:j], func(a, b int) { emit(i+a, i+b) }, emit != nil)
	}
	n := m.short(v, s, i, j)
	if emit != nil {
		for k := range n {
			emit(i+int(m.starts[k]), i+int(m.starts[k+1]))
		}
	}
	return n
}

func (m *merger) short(v *vocabulary, s string, i, j int) int {
	n := j - i
	starts, ranks := m.starts[:n+1], m.ranks[:n]
	for k := range n {
		starts[k] = int32(k)
	}
	starts[n] = int32(n)
	for k := range n - 1 {
		ranks[k] = v.pairs[uint(s[i+k])<<8|uint(s[i+k+1])]
	}
	ranks[n-1] = noRank
	for {
		best, at := noRank, 0
		for k, r := range ranks[:n] {
			if r < best {
				best, at = r, k
			}
		}
		if best == noRank {
			return n
		}
		copy(starts[at+1:n], starts[at+2:n+1])
		copy(ranks[at+1:n-1], ranks[at+2:n])
		n--
		ranks[at] = noRank
		if at+2 <= n {
			ranks[at] = v.rank(s, i+int(starts[at]), i+int(starts[at+2]))
		}
		if at > 0 {
			ranks[at-1] = v.rank(s, i+int(starts[at-1]), i+int(starts[at+1]))
		}
	}
}

// longMerge merges a piece of any length. Parts are known by their first byte.
type longMerge struct {
	next, prev []int32  // starts of the neighbouring parts
	ranks      []uint32 // of the part joined with the next; noRank also for no part
	heap       []uint64 // rank<<32 | start; stale where ranks says otherwise
}

func (m *longMerge) parts(v *vocabulary, piece string, emit func(i, j int), wanted bool) int {
	n := len(piece)
	m.grow(n)
	next, prev, ranks, heap := m.next[:n+1], m.prev[:n+1], m.ranks[:n+1], m.heap[:0]
	for k := range n {
		next[k], prev[k], ranks[k] = int32(k+1), int32(k-1), noRank
		if k+1 < n {
			if r := v.pairs[uint(piece[k])<<8|uint(piece[k+1])]; r != noRank {
				ranks[k] = r
				heap = append(heap, uint64(r)<<32|uint64(k))
			}
		}
	}
	next[n], prev[n], ranks[n] = int32(n), int32(n-1), noRank
	for k := len(heap)/2 - 1; k >= 0; k-- {
		siftDown(heap, k)
	}
	count := n
	for len(heap) > 0 {
		top := heap[0]
		last := len(heap) - 1
		heap[0] = heap[last]
		heap = heap[:last]
		siftDown(heap, 0)
		rank, at := uint32(top>>32), int(uint32(top))
		if ranks[at] != rank {
			continue
		}
		count--
		gone := next[at]
		after := next[gone]
		next[at], prev[after] = after, int32(at)
		ranks[gone], ranks[at] = noRank, noRank
		if int(after) < n {
			if r := v.rank(piece, at, int(next[after])); r != noRank {
				ranks[at] = r
				heap = push(heap, uint64(r)<<32|uint64(at))
			}
		}
		if before := prev[at]; before >= 0 {
			r := v.rank(piece, int(before), int(after))
			ranks[before] = r
			if r != noRank {
				heap = push(heap, uint64(r)<<32|uint64(before))
			}
		}
	}
	m.heap = heap
	if wanted {
		for k := 0; k < n; k = int(next[k]) {
			emit(k, int(next[k]))
		}
	}
	if n > keepPiece {
		*m = longMerge{}
	}
	return count
}

func (m *longMerge) grow(n int) {
	if len(m.next) > n {
		return
	}
	*m = longMerge{
		next:  make([]int32, n+1),
		prev:  make([]int32, n+1),
		ranks: make([]uint32, n+1),
		heap:  make([]uint64, 0, n+1),
	}
}

func push(heap []uint64, x uint64) []uint64 {
	heap = append(heap, x)
	k := len(heap) - 1
	for k > 0 {
		up := (k - 1) / 4
		if heap[up] <= x {
			break
		}
		heap[k] = heap[up]
		k = up
	}
	heap[k] = x
	return heap
}

// siftDown restores the order of a heap of four children a node from k down.
func siftDown(heap []uint64, k int) {
	if k >= len(heap) {
		return
	}
	x := heap[k]
	for {
		child := 4*k + 1
		if child >= len(heap) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(heap)); c++ {
			if heap[c] < heap[least] {
				least = c
			}
		}
		if heap[least] >= x {
			break
		}
		heap[k] = heap[least]
		k = least
	}
	heap[k] = x
}
