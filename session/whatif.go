package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"hexapla/layers"
)

// maxWhatIf bounds the combinations of budgets and models in one WhatIf.
const maxWhatIf = 32

// WhatIfRequest asks what packs would be like. The request's own budget total
// and model do not count.
type WhatIfRequest struct {
	PackRequest
	Totals []int    // tokens
	Models []string // the session's when empty
}

// WhatIfPack tells of one pack. Pack has no candidates.
type WhatIfPack struct {
	Total    int
	Model    string
	Checksum string // of the pack that BuildPack would give
	Pack     *layers.Pack
	TooSmall *layers.BudgetError // in place of the pack; nil if there is one
}

// WhatIf builds packs of several totals for several models, all of the same
// moment: for each model, in the order given, every total. What they are built
// of is read once for all models whose tokens are counted alike. Like
// ExplainPack it leaves no trace. Errors are those of BuildPack, but a total
// that is too small is told in its place.
func (s *Session) WhatIf(ctx context.Context, req WhatIfRequest) ([]WhatIfPack, error) {
	s.fill(&req.PackRequest)
	if len(req.Models) == 0 {
		req.Models = []string{req.Model}
	}
	if err := req.check(); err != nil {
		return nil, err
	}
	ws := s.Workspace
	snapshot, err := ws.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Release()
	if err := ws.resolve(snapshot, &req.PackRequest); err != nil {
		return nil, err
	}
	out := make([]WhatIfPack, 0, len(req.Models)*len(req.Totals))
	first := map[string]int{} // index of the first pack by the counter's name
	for _, model := range req.Models {
		if model == "" {
			model = s.Model()
		}
		one := req.PackRequest
		one.Model, one.Prices = model, nil
		s.fill(&one)
		counter := fmt.Sprint(ws.counter(model).Name(), *one.Prices)
		if req.Unit == UnitProvider {
			counter += " " + model // each has its own calibration
		}
		if at, ok := first[counter]; ok {
			for _, same := range out[at : at+len(req.Totals)] {
				same.Model = model
				out = append(out, same)
			}
			continue
		}
		first[counter] = len(out)
		p, in, err := ws.packInput(ctx, snapshot, s.ID, one)
		if err != nil {
			return nil, err
		}
		packs, err := p.predict(ctx, in, model, req.Totals, one.Budget.Reserved)
		if err != nil {
			return nil, err
		}
		out = append(out, packs...)
	}
	return out, nil
}

// predict builds a pack of each total, as many at once as there are processors.
// The answers are in the order of the totals, whichever was ready first.
func (p *packer) predict(ctx context.Context, in layers.Input, model string, totals []int, reserved int) ([]WhatIfPack, error) {
	out := make([]WhatIfPack, len(totals))
	errs := make([]error, len(totals))
	order := make([]int, len(totals)) // the large ones first, so that none is alone at the end
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(totals[b], totals[a]) })
	var next atomic.Int64
	work := func() {
		sums, ok := p.ws.sums.Get().(*layers.Digester)
		if !ok {
			sums = new(layers.Digester)
		}
		defer p.ws.sums.Put(sums)
		for n := int(next.Add(1)) - 1; n < len(order); n = int(next.Add(1)) - 1 {
			i := order[n]
			answer := &out[i]
			answer.Total, answer.Model = totals[i], model
			if errs[i] = ctx.Err(); errs[i] != nil {
				return
			}
			answer.Pack, errs[i] = build(p.withBudget(in, layers.Budget{Total: totals[i], Reserved: reserved}))
			switch {
			case errs[i] == nil:
				answer.Checksum = sums.Checksum(answer.Pack)
			case errors.As(errs[i], &answer.TooSmall):
				errs[i] = nil
			}
		}
	}
	var others sync.WaitGroup
	var panicked atomic.Pointer[any] // what another goroutine met is met by the caller
	for range min(runtime.GOMAXPROCS(0), len(totals)) - 1 {
		others.Go(func() {
			defer func() {
				if met := recover(); met != nil {
					panicked.Store(&met)
				}
			}()
			work()
		})
	}
	work()
	others.Wait()
	if met := panicked.Load(); met != nil {
		panic(*met)
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// check checks every combination as BuildPack would.
func (r *WhatIfRequest) check() error {
	switch n := len(r.Totals) * len(r.Models); {
	case len(r.Totals) == 0:
		return invalid("budgets", "must not be empty")
	case n > maxWhatIf:
		return &InvalidError{Path: "budgets", Message: fmt.Sprintf("%d combinations of budgets and models, at most %d", n, maxWhatIf), Limit: maxWhatIf}
	}
	for i, total := range r.Totals {
		one := r.PackRequest
		one.Budget.Total = total
		var bad *InvalidError
		err := one.check()
		if asInvalid(err, &bad) && bad.Path == "budget.total" {
			bad.Path = fmt.Sprintf("budgets[%d]", i)
		}
		if asInvalid(err, &bad) && bad.Path == "budget.reserved" {
			bad.Path = "reserved"
		}
		if err != nil {
			return err
		}
	}
	return nil
}
