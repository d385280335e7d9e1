package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Candidates returns the sequences of the documents that hold one of the terms
// or more, up to maxSeq, newest first. At most limit are returned: the newest.
// When there are fewer, the answer is complete. It returns ErrBehind when the
// watermark is below maxSeq.
func (ix *Index) Candidates(ctx context.Context, terms []string, maxSeq int64, limit int) ([]int64, error) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	if err := ix.usable(); err != nil {
		return nil, fmt.Errorf("search index: %w", err)
	}
	if maxSeq > ix.Watermark() {
		return nil, fmt.Errorf("search index: %d of %d: %w", ix.Watermark(), maxSeq, ErrBehind)
	}
	if limit <= 0 || len(terms) == 0 {
		return nil, nil
	}
	var found []int64
	err := guarded("search", func() error {
		reader, err := ix.engine.Reader()
		if err != nil {
			return err
		}
		defer reader.Close()
		snapshot, ok := reader.(*scorch.IndexSnapshot)
		if !ok {
			return fmt.Errorf("unknown reader: %w", ErrDamaged)
		}
		segments, err := ix.segments(snapshot)
		if err != nil {
			return err
		}
		for _, s := range segments {
			if found, err = s.search(ctx, terms, maxSeq, found); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && isDamage(err) {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
			ix.suspect.Store(&err)
		}
		return nil, fmt.Errorf("search index: %w", err)
	}
	newestFirst := func(a, b int64) int {
		if a > b {
			return -1
		}
		return 1
	}
	if len(terms) > 1 {
		slices.Sort(found)
		found = slices.Compact(found)
		slices.Reverse(found)
		return found[:min(limit, len(found))], nil
	}
	if len(found) > limit {
		found = newest(found, limit)
	}
	slices.SortFunc(found, newestFirst)
	return found, nil
}

// segmentView is a segment and the sequences of its documents.
type segmentView struct {
	snapshot  *scorch.SegmentSnapshot
	sequences []int64
}

// segments returns the segments of a snapshot. The sequences of a segment never
// change, so they are read once: looking up the ids of 40,000 postings would
// take longer than everything else.
func (ix *Index) segments(snapshot *scorch.IndexSnapshot) ([]segmentView, error) {
	ix.cacheMu.Lock()
	defer ix.cacheMu.Unlock()
	all := snapshot.Segments()
	views := make([]segmentView, len(all))
	for i, s := range all {
		sequences, ok := ix.cache[s.Id()]
		if !ok {
			n := s.Segment().Count()
			sequences = make([]int64, n)
			for k := range n {
				id, err := s.DocID(k)
				if err != nil {
					return nil, err
				}
				if sequences[k], err = sequence(id); err != nil {
					return nil, err
				}
			}
			ix.cache[s.Id()] = sequences
		}
		views[i] = segmentView{snapshot: s, sequences: sequences}
	}
	if len(ix.cache) > 2*len(all)+16 {
		kept := make(map[uint64][]int64, len(all))
		for _, v := range views {
			kept[v.snapshot.Id()] = v.sequences
		}
		ix.cache = kept
	}
	return views, nil
}

// search appends the sequences of the documents that hold one of the terms.
func (s segmentView) search(ctx context.Context, terms []string, maxSeq int64, found []int64) ([]int64, error) {
	dictionary, err := s.snapshot.Segment().Dictionary(fieldTerms)
	if err != nil {
		return nil, err
	}
	var (
		postings segment.PostingsList
		iterator segment.PostingsIterator
	)
	for _, term := range terms {
		if postings, err = dictionary.PostingsList([]byte(term), s.snapshot.Deleted(), postings); err != nil {
			return nil, err
		}
		iterator = postings.Iterator(false, false, false, iterator)
		for n := 0; ; n++ {
			if n&0xfff == 0 {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
			}
			posting, err := iterator.Next()
			if err != nil {
				return nil, err
			}
			if posting == nil {
				break
			}
			number := posting.Number()
			if number >= uint64(len(s.sequences)) {
				return nil, fmt.Errorf("posting of no document: %w", ErrDamaged)
			}
			if seq := s.sequences[number]; seq <= maxSeq {
				found = append(found, seq)
			}
		}
	}
	return found, nil
}

// newest returns the k largest of the values, in no order (Hoare's quickselect).
func newest(values []int64, k int) []int64 {
	lo, hi := 0, len(values)-1
	for lo < hi {
		pivot := values[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for values[i] > pivot {
				i++
			}
			for values[j] < pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case k-1 <= j:
			hi = j
		case k-1 >= i:
			lo = i
		default:
			return values[:k]
		}
	}
	return values[:k]
}
