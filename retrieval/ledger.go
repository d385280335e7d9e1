package retrieval

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"hexapla/storage"
)

// Statistics are taken at boundaries: after the first 64 documents of the
// workspace, and then each time there are half as many again. A view is scored
// with the newest boundary that it has left an eighth behind; the slack lets
// Run count in the background before the numbers are wanted. So the statistics
// of a view depend on the view alone, and a step costs one pass over the
// documents, three passes for all steps together.
const (
	firstBoundary = 64
	markEvery     = 4096 // documents after which the ledger takes a mark to resume from
)

func nextBoundary(b int) int { return b + b/2 }

// effective returns how many documents a view must have to be scored with the
// boundary b.
func effective(b int) int { return b + b/8 }

// mark says which sequence the document with an ordinal has.
type mark struct {
	ordinal int
	seq     int64
}

// ledger counts the documents of the workspace in order of their sequences and
// remembers where boundaries lie. What it holds are facts of the store.
type ledger struct {
	mu     sync.Mutex
	loaded bool
	marks  []mark // boundaries, their effective ordinals, and every markEvery documents
	at     mark   // counted so far
	next   int    // ordinal of the next mark
	saved  int    // marks that are stored
}

const marksTable = "retrieval/marks"

// reset forgets everything.
func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loaded, l.marks, l.at, l.next, l.saved = true, nil, mark{}, nextMark(0), 0
}

// nextMark returns the smallest ordinal above n that gets a mark.
func nextMark(n int) int {
	next := (n/markEvery + 1) * markEvery
	for b := firstBoundary; ; b = nextBoundary(b) {
		if b > n {
			return min(next, b)
		}
		if e := effective(b); e > n {
			next = min(next, e)
		}
	}
}

// advance counts the documents up to the view's sequence and calls note with
// each record on the way, in order.
func (l *ledger) advance(ctx context.Context, view storage.View, note func(storage.Record)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loaded {
		l.marks = nil
		if data, ok := view.Table(marksTable); ok {
			l.marks = decodeMarks(data)
		}
		l.at = mark{}
		if n := len(l.marks); n > 0 {
			l.at = l.marks[n-1]
		}
		l.next, l.saved, l.loaded = nextMark(l.at.ordinal), len(l.marks), true
	}
	if view.Seq() <= l.at.seq {
		return nil
	}
	n := 0
	err := view.Scan(l.at.seq, view.Seq(), func(r storage.Record, encoded []byte) error {
		if n++; n%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		note(r)
		l.at.seq = r.Seq
		if len(encoded) == 0 {
			return nil
		}
		if l.at.ordinal++; l.at.ordinal == l.next {
			l.marks = append(l.marks, l.at)
			l.next = nextMark(l.at.ordinal)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count documents: %w", err)
	}
	l.at.seq = view.Seq()
	return nil
}

// find returns the sequence of the document with an ordinal that has a mark.
func (l *ledger) find(ordinal int) (int64, bool) {
	i, ok := slices.BinarySearchFunc(l.marks, ordinal, func(m mark, o int) int { return m.ordinal - o })
	if !ok {
		return 0, false
	}
	return l.marks[i].seq, true
}

// boundary returns the number and the sequence of the boundary whose statistics
// hold at a sequence, which must have been counted; number -1 if there is none.
func (l *ledger) boundary(seq int64) (number int, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number = -1
	for k, b := 0, firstBoundary; ; k, b = k+1, nextBoundary(b) {
		from, ok := l.find(effective(b))
		if !ok || from > seq {
			return number, at
		}
		number = k
		at, _ = l.find(b)
	}
}

// reached returns the number and the sequence of the newest boundary counted.
func (l *ledger) reached() (number int, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number = -1
	for k, b := 0, firstBoundary; ; k, b = k+1, nextBoundary(b) {
		seq, ok := l.find(b)
		if !ok {
			return number, at
		}
		number, at = k, seq
	}
}

// unsaved returns the marks for storing, if there are new ones.
func (l *ledger) unsaved() ([]byte, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.marks) == l.saved {
		return nil, 0
	}
	b := []byte{tableVersion}
	b = binary.AppendUvarint(b, uint64(len(l.marks)))
	last := mark{}
	for _, m := range l.marks {
		b = binary.AppendUvarint(b, uint64(m.ordinal-last.ordinal))
		b = binary.AppendUvarint(b, uint64(m.seq-last.seq))
		last = m
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), len(l.marks)
}

// stored notes that the first n marks are stored.
func (l *ledger) stored(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saved = n
}

// decodeMarks reads stored marks; nil if they are none.
func decodeMarks(b []byte) []mark {
	head, _, ok := decodeSummed(b, 1)
	if !ok || head[0] > uint64(len(b)) {
		return nil
	}
	values, rest, ok := decodeSummed(b, 1+2*int(head[0]))
	if !ok || len(rest) != 0 {
		return nil
	}
	marks := make([]mark, head[0])
	last := mark{}
	for i := range marks {
		last.ordinal += int(values[1+2*i])
		last.seq += int64(values[2+2*i])
		marks[i] = last
	}
	return marks
}
