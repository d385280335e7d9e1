package session

import (
	"context"
	"errors"
	"math"

	"hexapla/layers"
	"hexapla/layers/tokens"
	"hexapla/storage"
)

// UsageReport is what the provider says of one prompt.
type UsageReport struct {
	Model        string `json:"model"`        // the session's when empty
	PromptTokens int    `json:"promptTokens"` // plain, written to the cache and read from it
	Checksum     string `json:"checksum"`     // of the pack that was sent
	Counted      int    `json:"counted"`      // tokens that were counted of it, where it was no pack of ours
	// Of PromptTokens, those that were written to the provider's cache and read
	// from it.
	CacheWriteTokens int    `json:"cacheWriteTokens,omitempty"`
	CacheReadTokens  int    `json:"cacheReadTokens,omitempty"`
	OutputTokens     int    `json:"outputTokens,omitempty"`
	User             string `json:"user,omitempty"` // whose month it counts for
	Key              string `json:"-"`
}

// UsageReply is what has been learned of a model.
type UsageReply struct {
	Model    string
	Fit      tokens.Fit
	MicroUSD int64        // what prompt and answer cost
	Known    bool         `json:"-"` // whether the model's prices are known; otherwise they are the default's
	Budget   BudgetStatus `json:"-"` // after the report
	Crossed  bool         `json:"-"` // another rule is in force than before it, or nothing is left since
	Sequence int64        `json:"-"`
}

// usageNewest is how many of a model's reports are looked at.
const usageNewest = 64

// ReportUsage records what the provider counted of a prompt: for the budgets of its
// session and user and, where it is known what was counted of it here, so that
// budgets in the provider's tokens can be planned.
func (s *Session) ReportUsage(ctx context.Context, req UsageReport) (UsageReply, error) {
	switch {
	case req.PromptTokens <= 0 || req.PromptTokens > maxBudget:
		return UsageReply{}, &InvalidError{Path: "promptTokens", Message: "must be positive and at most the limit", Limit: maxBudget}
	case req.Counted < 0 || req.Counted > maxBudget:
		return UsageReply{}, &InvalidError{Path: "countedTokens", Message: "must not be negative, and at most the limit", Limit: maxBudget}
	case req.Checksum != "" && req.Counted != 0:
		return UsageReply{}, invalid("checksum", "give either the checksum of the pack that was sent or countedTokens")
	case req.CacheWriteTokens < 0 || req.CacheWriteTokens > req.PromptTokens:
		return UsageReply{}, &InvalidError{Path: "cacheWriteTokens", Message: "must not be negative, and at most promptTokens", Limit: int64(req.PromptTokens)}
	case req.CacheReadTokens < 0 || req.CacheReadTokens > req.PromptTokens-req.CacheWriteTokens:
		return UsageReply{}, &InvalidError{Path: "cacheReadTokens", Message: "must not be negative, and with cacheWriteTokens at most promptTokens", Limit: int64(req.PromptTokens)}
	case req.OutputTokens < 0 || req.OutputTokens > maxBudget:
		return UsageReply{}, &InvalidError{Path: "outputTokens", Message: "must not be negative, and at most the limit", Limit: maxBudget}
	}
	req.Model = either(req.Model, s.Model())
	before, err := s.Budget(req.User, "")
	if err != nil {
		return UsageReply{}, err
	}
	ws, span := s.Workspace, s.trace("hexapla.budget.report", true)
	if req.Checksum != "" {
		err := ws.view(0, func(v storage.View) error {
			record, err := auditRecordOf(v, req.Checksum)
			req.Counted = record.Tokens
			return err
		})
		if err != nil {
			return UsageReply{}, err
		}
	}
	reply, receipt, err := write(ctx, ws, "budget/report", s.ID, req.Key, req, func(tx *storage.Tx) (UsageReply, error) {
		sample := tokens.Sample{Counted: req.Counted, Prompt: req.PromptTokens}
		samples, err := usageOf(tx.View(), req.Model)
		if err != nil {
			return UsageReply{}, err
		}
		if req.Counted > 0 {
			samples = append(samples, sample)
			tx.Put(storage.Draft{
				Kind: kindUsage, ID: "usage:" + tx.NextID("u"), Parent: s.ID, Body: encode(sample), Lists: []string{listOfUsage(req.Model)},
			})
		}
		reply := UsageReply{Model: req.Model, Fit: ws.fit(samples, req.Model)}
		if reply.MicroUSD, err = s.spend(tx, &req); err != nil {
			return reply, err
		}
		return reply, nil
	})
	if err != nil {
		return UsageReply{}, err
	}
	reply.Sequence = receipt.Seq
	_, reply.Known = ws.opts.Models.Lookup(req.Model)
	if status, err := s.Budget(req.User, ""); err == nil { // the report is on disk, whether it can be read or not
		reply.Budget = status
		reply.Crossed = status.Range != before.Range || status.Exceeded != before.Exceeded
	}
	if !receipt.Repeated {
		span.usage(&req, &reply)
	}
	return reply, nil
}

func (ws *Workspace) fit(samples []tokens.Sample, model string) tokens.Fit {
	num, den := tokens.Factor(ws.opts.Tokens.ForModel(model))
	return tokens.Calibrate(samples, float64(num)/float64(den))
}

// usageOf returns the newest reports of a model as of a view, oldest first.
func usageOf(v storage.View, model string) ([]tokens.Sample, error) {
	list := listOfUsage(model)
	n := v.ListLen(list)
	entries, err := v.List(list, max(0, n-usageNewest), n)
	if err != nil {
		return nil, err
	}
	samples := make([]tokens.Sample, 0, len(entries)+1)
	for _, entry := range entries {
		sample, _, ok, err := latest[tokens.Sample](v, kindUsage, entry.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			samples = append(samples, sample)
		}
	}
	return samples, nil
}

// calibrate learns from the reports up to the pack's view what a token of the
// provider's is, if the request's budget is in those.
func (p *packer) calibrate(req PackRequest) error {
	if req.Unit != UnitProvider {
		return nil
	}
	samples, err := usageOf(p.view, req.Model)
	if err != nil {
		return err
	}
	fit := p.ws.fit(samples, req.Model)
	p.usage = &fit
	return nil
}

// withBudget gives an input a budget in the request's unit. One in the
// provider's tokens becomes one in counted ones, with the error band kept free.
// What every prompt has beyond the pack has been learned; reserved is what comes
// on top of that.
func (p *packer) withBudget(in layers.Input, budget layers.Budget) layers.Input {
	in.Budget, in.Calibration = budget, nil
	if p.usage == nil {
		return in
	}
	in.Budget = layers.Budget{Total: p.usage.Fitting(budget.Total - budget.Reserved)}
	in.Calibration = &layers.Calibration{
		Factor: p.usage.Factor, Band: p.usage.Band, Overhead: p.usage.Overhead, Samples: p.usage.Samples,
		Limit: budget.Total, Reserved: budget.Reserved,
	}
	return in
}

// build builds a pack. An error tells the budget in its own unit.
func build(in layers.Input) (*layers.Pack, error) {
	pack, err := layers.Build(in)
	var small *layers.BudgetError
	if in.Calibration != nil && errors.As(err, &small) {
		err = &layers.BudgetError{Total: in.Calibration.Limit, Smallest: inProvider(in.Calibration, small.Smallest), Needs: small.Needs}
	}
	return pack, err
}

// inProvider returns the smallest total in the provider's tokens that plans at
// least so many counted ones.
func inProvider(c *layers.Calibration, counted int) int {
	fit := tokens.Fit{Factor: c.Factor, Overhead: c.Overhead, Band: c.Band}
	total := int(math.Ceil(float64(fit.Predict(counted))*(1+c.Band))) + c.Reserved
	for fit.Fitting(total-c.Reserved) < counted {
		total++
	}
	for total > c.Reserved+1 && fit.Fitting(total-1-c.Reserved) >= counted {
		total--
	}
	return total
}
