package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"hexapla/layers/iceberg"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) tiersBuild(ctx context.Context, p *wire.TiersBuildParams) (*wire.TiersBuildResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	req := messagesInTiers(&p.TierMessages)
	req.Key = p.Key
	if req.Strategy, err = strategyFromWire(&p.TierStrategy, ""); err != nil {
		return nil, err
	}
	reply, err := s.BuildTiers(ctx, req)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.TiersBuildResult{
		TierBuild: tierBuildToWire(&reply), Messages: list(reply.Messages), Removed: removedToWire(reply.Removed), Sequence: reply.Sequence,
	}
	if reply.Context != nil {
		out.ContextAt = &reply.ContextAt
	}
	if len(reply.Removed) > 0 {
		b.recorded(p.Session, wire.MethodTiersBuild, reply.Sequence, "")
	}
	return out, nil
}

func (b *backend) tiersCompare(ctx context.Context, p *wire.TiersCompareParams) (*wire.TiersCompareResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	first, err := strategyFromWire(&p.A, "a.")
	if err != nil {
		return nil, err
	}
	second, err := strategyFromWire(&p.B, "b.")
	if err != nil {
		return nil, err
	}
	c, err := s.CompareTiers(ctx, messagesInTiers(&p.TierMessages), first, second)
	if err != nil {
		return nil, historyError(err)
	}
	return &wire.TiersCompareResult{
		A: tierBuildToWire(&c.A), B: tierBuildToWire(&c.B), OnlyA: c.OnlyA, OnlyB: c.OnlyB, MoreTokens: c.B.Tokens - c.A.Tokens,
	}, nil
}

const (
	defaultSnapshots = 20
	maxSnapshots     = 200
)

func (b *backend) tiersSnapshots(ctx context.Context, p *wire.TiersSnapshotsParams) (*wire.TiersSnapshotsResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	filter := session.SnapshotFilter{User: p.User, Limit: p.Limit}
	if p.OnlySession {
		filter.Session = s.ID
	}
	if filter.Since, err = boundFromWire("since", p.Since); err != nil {
		return nil, err
	}
	if filter.Until, err = boundFromWire("until", p.Until); err != nil {
		return nil, err
	}
	if filter.Limit < 0 || filter.Limit > maxSnapshots {
		e := InvalidParams("limit", "limit: out of range")
		e.Data.Limit = maxSnapshots
		return nil, e
	}
	if filter.Limit == 0 {
		filter.Limit = defaultSnapshots
	}
	if p.Cursor != "" {
		if filter.Before, err = strconv.ParseInt(p.Cursor, 10, 64); err != nil || filter.Before <= 0 {
			return nil, InvalidParams("cursor", "cursor: is not a cursor of this method")
		}
	}
	found, more, err := s.TierSnapshots(ctx, filter)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.TiersSnapshotsResult{Snapshots: []wire.TierSnapshot{}}
	for _, snapshot := range found {
		shown := wire.TierSnapshot{
			Session: snapshot.Session, User: snapshot.User, Time: timeToWire(snapshot.Time), Sequence: snapshot.Sequence, Checksum: snapshot.Checksum,
			Built: snapshot.Built, Strategy: choiceToWire(&snapshot.Chosen), Kept: snapshot.Kept, Removed: snapshot.Removed,
			OriginalTokens: snapshot.Original, Tokens: snapshot.Tokens, Warnings: list(snapshot.Warnings), Ms: float64(snapshot.Micros) / 1000,
		}
		for _, tier := range snapshot.Tiers {
			shown.Tiers = append(shown.Tiers, wire.TierContent{Tier: int(tier.Tier), Name: tier.Tier.Name(), Items: tier.Items, Tokens: tier.Tokens})
		}
		out.Snapshots = append(out.Snapshots, shown)
	}
	if more > 0 {
		out.Cursor = strconv.FormatInt(more, 10)
	}
	return out, nil
}

func (b *backend) budgetStatus(_ context.Context, p *wire.BudgetStatusParams) (*wire.BudgetStatusResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	status, err := s.Budget(p.User, p.Month)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.BudgetStatusResult{
		Used: spentToWire(&status.Session), MonthUsed: spentToWire(&status.Month), Month: status.Month.Month, Limits: []wire.BudgetUse{},
		Binding: useToWire(status.Binding), BudgetPercent: status.Left, Exceeded: status.Exceeded, Range: status.Range, Rule: ruleToWire(status.Rule), Sequence: status.Sequence,
	}
	for _, use := range status.Limits {
		out.Limits = append(out.Limits, *useToWire(&use))
	}
	return out, nil
}

func messagesInTiers(p *wire.TierMessages) session.TiersRequest {
	return session.TiersRequest{
		HistoryRequest: session.HistoryRequest{Messages: p.Messages, System: p.System, Model: p.Model, Limit: p.Limit, Budget: p.Budget},
		Agent:          p.Agent, User: p.User,
	}
}

func strategyFromWire(p *wire.TierStrategy, path string) (session.Strategy, error) {
	out := session.Strategy{Percent: p.BudgetPercent}
	for _, tier := range p.Force {
		out.Force = append(out.Force, iceberg.Tier(tier))
	}
	if p.Rules == nil {
		return out, nil
	}
	out.Rules = rulesFromWire(p.Rules)
	if err := out.Rules.Check(); err != nil {
		return out, domainError(session.RuleProblem(path, err))
	}
	return out, nil
}

func rulesFromWire(rules []wire.TierRule) iceberg.Rules {
	bound := func(n *int) int {
		switch {
		case n == nil:
			return iceberg.Unbounded
		case *n < 0:
			return iceberg.Unbounded - 1 // which the check refuses
		}
		return *n
	}
	out := make(iceberg.Rules, 0, len(rules))
	for i, rule := range rules {
		r := iceberg.Rule{Below: rule.Below, Items: bound(rule.Items), Files: iceberg.FileMode(rule.Files), Messages: bound(rule.Messages)}
		switch {
		case rule.Below == iceberg.Top:
			r.Below = 0 // what the last rule has is not to be named
		case rule.Below == 0 && i == len(rules)-1:
			r.Below = iceberg.Top
		}
		out = append(out, r)
	}
	return out
}

// readTierRules reads initializationOptions.tiers; nil stands for the default.
func readTierRules(raw json.RawMessage) (iceberg.Rules, error) {
	if raw == nil {
		return nil, nil
	}
	const path = "initializationOptions.tiers"
	var settings struct {
		Rules []wire.TierRule `json:"rules"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&settings); err != nil {
		return nil, InvalidParams(path, path+": must be an object with rules")
	}
	if settings.Rules == nil {
		return nil, nil
	}
	rules := rulesFromWire(settings.Rules)
	err := rules.Check()
	if err == nil {
		return rules, nil
	}
	err = session.RuleProblem(path+".", err)
	e := InvalidParams(path, err.Error())
	var bad *session.InvalidError
	if errors.As(err, &bad) {
		e.Data.Path, e.Data.Limit = bad.Path, bad.Limit
	}
	return nil, e
}

func tierBuildToWire(r *session.TiersReply) wire.TierBuild {
	out := wire.TierBuild{
		Built: r.Built, Strategy: choiceToWire(&r.Chosen), Kept: list(r.Kept), OriginalTokens: r.Original, Tokens: r.Tokens, ReductionPercent: r.Reduction(),
		Budget: r.Budget, Estimate: r.Estimate, Warnings: []wire.TierWarning{}, Checksum: r.Checksum,
	}
	for _, tier := range r.Tiers {
		shown := wire.TierContent{Tier: int(tier.Tier), Name: tier.Tier.Name(), Items: tier.Items, Tokens: tier.Tokens}
		for _, part := range tier.Parts {
			shown.Parts = append(shown.Parts, wire.TierPart(part))
		}
		out.Tiers = append(out.Tiers, shown)
	}
	for _, w := range r.Warnings {
		out.Warnings = append(out.Warnings, wire.TierWarning{Kind: w.Kind, Path: w.Path, Message: w.Message, SmallestTotal: w.Smallest})
	}
	return out
}

func choiceToWire(c *session.Chosen) *wire.TierChoice {
	if c.Range == "" {
		return nil
	}
	out := &wire.TierChoice{
		Range: c.Range, Rule: ruleToWire(c.Rule), Rules: c.Rules, Forced: []int{}, BudgetPercent: c.Percent, Given: c.Given, Binding: useToWire(c.Binding),
	}
	for _, tier := range c.Forced {
		out.Forced = append(out.Forced, int(tier))
	}
	slices.Sort(out.Forced)
	out.Forced = slices.Compact(out.Forced)
	return out
}

func ruleToWire(r iceberg.Rule) wire.TierRule {
	bound := func(n int) *int {
		if n == iceberg.Unbounded {
			return nil
		}
		return &n
	}
	out := wire.TierRule{Below: r.Below, Items: bound(r.Items), Files: string(r.Files), Messages: bound(r.Messages)}
	if r.Below == iceberg.Top {
		out.Below = 0
	}
	return out
}

func useToWire(u *session.BudgetUse) *wire.BudgetUse {
	if u == nil {
		return nil
	}
	return &wire.BudgetUse{Scope: string(u.Scope), Unit: string(u.Unit), Used: u.Used, Limit: u.Limit, LeftPercent: u.Left}
}

func spentToWire(s *session.Spent) wire.BudgetSpent {
	return wire.BudgetSpent{
		Reports: s.Reports, InputTokens: s.Input, OutputTokens: s.Output, Tokens: s.Tokens(), MicroUSD: s.MicroUSD, Unpriced: s.Unpriced,
	}
}
