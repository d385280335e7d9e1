package layers

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// mostProbes bounds the totals that one EntersAt tries.
const mostProbes = 1500

// EntersAt finds for the candidates of a pack, which was built of in with
// Explain, the budget total at which they come in: with Candidate.EntersAt
// tokens the candidate is shown in some detail, with one token less it is not,
// or no pack can be built at all.
//
// What is shown does not always grow with the budget: a larger one may lay the
// stream out anew at another piece. Totals are tried on a grid and between two
// that differ by halving. Of a candidate that is out, EntersAt is the smallest
// total above the pack's own that was tried and shows it; of one that is in, the
// smallest from which on every total that was tried, up to the pack's own, shows
// it. It stays 0 where no total up to largest shows the candidate, and where it
// took too many tries to tell.
//
// Only the most candidates of most tokens are looked at; all of them share the
// tries. Errors are those of the Source and of ctx.
func EntersAt(ctx context.Context, in Input, pack *Pack, most, largest int) error {
	in.Explain = false
	f := &finder{ctx: ctx, in: in, own: in.Budget.Total, largest: max(largest, in.Budget.Total), index: map[candidateKey]int{}}
	order := make([]int, len(pack.Candidates))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(pack.Candidates[b].Full.Tokens, pack.Candidates[a].Full.Tokens)
	})
	looked := make([]bool, len(order))
	for _, i := range order[:min(most, len(order))] {
		looked[i] = true
	}
	keys := keysOf(pack.Candidates)
	for i, key := range keys {
		if looked[i] {
			f.index[key] = len(f.wanted)
			f.wanted = append(f.wanted, i)
		}
	}
	if err := f.grid(pack); err != nil {
		return err
	}
	if err := f.halve(); err != nil {
		return err
	}
	for k, i := range f.wanted {
		at, found, err := f.verified(k, &pack.Candidates[i])
		if err != nil {
			return err
		}
		if found {
			pack.Candidates[i].EntersAt = at
		}
	}
	return nil
}

// candidateKey names a candidate in packs of the same stream with different
// budgets.
type candidateKey struct {
	id, section, detail string
	n                   int // which one, where several have the same names
}

func keysOf(candidates []Candidate) []candidateKey {
	seen := make(map[candidateKey]int, len(candidates))
	out := make([]candidateKey, len(candidates))
	for i := range candidates {
		c := &candidates[i]
		key := candidateKey{id: c.ID, section: c.Section, detail: c.Full.Detail}
		switch {
		case key.detail == FormDigest:
			key.section = "" // it moves with what it stands for
		case c.Layer == int(LayerCurrentContext):
			key.detail = "" // it may be cut to its heading
		}
		n := seen[key]
		seen[key]++
		key.n = n
		out[i] = key
	}
	return out
}

// finder tries totals.
type finder struct {
	ctx     context.Context
	in      Input
	own     int // the pack's total
	largest int
	wanted  []int                // indices of the candidates that are looked at
	index   map[candidateKey]int // of wanted
	probes  []probe              // in order of total
}

// probe is what a total shows.
type probe struct {
	total int
	shown []bool // by wanted
}

// grid tries totals from the smallest that works up, in steps of a quarter,
// and in larger ones where they are many times the pack's own.
func (f *finder) grid(pack *Pack) error {
	at := probe{total: f.own, shown: make([]bool, len(f.wanted))}
	for k, i := range f.wanted {
		at.shown[k] = pack.Candidates[i].In()
	}
	f.probes = append(f.probes, at)
	smallest := f.own
	var small *BudgetError
	in := f.in
	in.Budget.Total = in.Budget.Reserved + 1
	if _, err := Build(in); errors.As(err, &small) {
		smallest = small.Smallest
	} else if err != nil {
		return err
	} else {
		smallest = in.Budget.Total
	}
	f.probes = slices.Insert(f.probes, 0, probe{total: smallest - 1, shown: make([]bool, len(f.wanted))})
	for total := smallest; total < f.own; total += max(1, total/8) {
		if err := f.try(total); err != nil {
			return err
		}
	}
	missing := slices.Clone(at.shown)
	for total := f.own; total < f.largest && slices.Contains(missing, false); {
		step := total / 4
		if total > 16*f.own {
			step = total
		}
		total = min(total+max(step, 1), f.largest)
		if err := f.try(total); err != nil {
			return err
		}
		n, _ := f.find(total)
		for k, shown := range f.probes[n].shown {
			missing[k] = missing[k] || shown
		}
	}
	return nil
}

func (f *finder) find(total int) (int, bool) {
	return slices.BinarySearchFunc(f.probes, total, func(p probe, total int) int { return cmp.Compare(p.total, total) })
}

// try lays a pack of a total out, unless that was done already.
func (f *finder) try(total int) error {
	at, known := f.find(total)
	if known {
		return nil
	}
	if err := f.ctx.Err(); err != nil {
		return err
	}
	in := f.in
	in.Budget.Total = total
	candidates, err := outline(in)
	if err != nil {
		return err
	}
	p := probe{total: total, shown: make([]bool, len(f.wanted))}
	for i, key := range keysOf(candidates) {
		if k, ok := f.index[key]; ok {
			p.shown[k] = candidates[i].In()
		}
	}
	f.probes = slices.Insert(f.probes, at, p)
	return nil
}

// border returns the indices of the probes between which a candidate comes in:
// it is not shown by the first and shown by the second, its neighbour.
func (f *finder) border(k int) (out, in int, ok bool) {
	own, _ := f.find(f.own)
	in = own
	if f.probes[own].shown[k] {
		for in > 0 && f.probes[in-1].shown[k] {
			in--
		}
		return in - 1, in, in > 0
	}
	for in < len(f.probes) && !f.probes[in].shown[k] {
		in++
	}
	return in - 1, in, in < len(f.probes)
}

// halve tries totals until every border is one token wide.
func (f *finder) halve() error {
	for len(f.probes) < mostProbes {
		var middles []int
		for k := range f.wanted {
			out, in, ok := f.border(k)
			if !ok {
				continue
			}
			if low, high := f.probes[out].total, f.probes[in].total; low+1 < high {
				middles = append(middles, low+(high-low)/2)
			}
		}
		if len(middles) == 0 {
			return nil
		}
		slices.Sort(middles)
		for _, total := range slices.Compact(middles) {
			if err := f.try(total); err != nil {
				return err
			}
		}
	}
	return nil
}

// verified returns the border of a candidate if it is one token wide. An
// outline takes the digest and the roster to have something to say, so where
// these come in is seen by building.
func (f *finder) verified(k int, c *Candidate) (int, bool, error) {
	out, in, ok := f.border(k)
	if !ok || f.probes[out].total+1 != f.probes[in].total {
		return 0, false, nil
	}
	at := f.probes[in].total
	if c.Full.Detail != FormDigest && c.Full.Detail != FormRoster {
		return at, true, nil
	}
	for _, total := range []int{at, at - 1} {
		full := f.in
		full.Budget.Total, full.Explain = total, true
		pack, err := Build(full)
		var small *BudgetError
		if errors.As(err, &small) {
			continue
		}
		if err != nil {
			return 0, false, err
		}
		if shows(pack, c) != (total == at) {
			return 0, false, nil
		}
	}
	return at, true, nil
}

// shows tells that a pack shows a digest or a roster.
func shows(pack *Pack, c *Candidate) bool {
	return slices.ContainsFunc(pack.Candidates, func(o Candidate) bool {
		return o.ID == c.ID && o.Full.Detail == c.Full.Detail && o.In()
	})
}

// outline lists the candidates of a pack without rendering it. A total that is
// too small gives none.
func outline(in Input) ([]Candidate, error) {
	b := &builder{in: in, room: in.Budget.Total - in.Budget.Reserved - in.frontTokens(), outline: true}
	fits, err := b.fit()
	if err != nil || !fits {
		return nil, err
	}
	if len(in.Stream) > 0 && b.digestAt(b.plan.foldAt[0]) >= 0 {
		b.digest = Form{Detail: FormDigest, Text: FormDigest}
	}
	if b.plan.names > 0 {
		b.roster = Form{Detail: FormRoster, Text: FormRoster}
	}
	return b.candidates()
}
