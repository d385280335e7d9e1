package rpc

import (
	"context"
	"errors"
	"fmt"

	"hexapla/layers/limits"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func (b *backend) limitsStatus(_ context.Context, p *wire.LimitsStatusParams) (*wire.LimitsStatusResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	status, err := s.Limits(targetFromWire(&p.LimitTarget))
	if err != nil {
		return nil, domainError(err)
	}
	config := &status.Settings.Config
	out := &wire.LimitsStatusResult{
		LimitInForce: limitToWire(&status.Limit), Agent: status.Agent, Floor: config.MinLimit, Packs: status.Packs, Used: status.Used,
		Pressure: pressureToWire(status.Pressure), Chain: []string{}, RecoveryMode: string(config.RecoveryMode),
		Retry: []wire.RetryPolicy{retryToWire("", config.Retry)}, Progress: progressToWire(config.Progress),
		Settings: list(status.Settings.From), Problems: []wire.SettingProblem{}, Sequence: status.Sequence,
	}
	for _, strategy := range config.Chain {
		out.Chain = append(out.Chain, string(strategy))
	}
	for _, tool := range config.RetryPerTool {
		out.Retry = append(out.Retry, retryToWire(tool.Tool, tool.Retry))
	}
	for _, problem := range status.Settings.Problems {
		out.Problems = append(out.Problems, wire.SettingProblem{File: problem.File, Line: problem.Line, Column: problem.Column, Key: problem.Key, Message: problem.Message})
	}
	return out, nil
}

func (b *backend) limitsBreak(ctx context.Context, p *wire.LimitsBreakParams) (*wire.LimitsBreakResult, error) {
	return b.broken(ctx, p, wire.MethodLimitsBreak, "")
}

func (b *backend) limitsRecover(ctx context.Context, p *wire.LimitsRecoverParams) (*wire.LimitsRecoverResult, error) {
	if p.Trigger != session.TriggerReset && p.Trigger != session.TriggerMilestone {
		return nil, InvalidParams("trigger", `trigger: must be "reset" or "milestone"`)
	}
	result, err := b.broken(ctx, &p.LimitsBreakParams, wire.MethodLimitsRecover, p.Trigger)
	if err != nil {
		return nil, err
	}
	return &wire.LimitsRecoverResult{LimitsBreakResult: *result}, nil
}

// broken breaks a context down and tells clients of each phase. The last one comes
// when all is on disk.
func (b *backend) broken(ctx context.Context, p *wire.LimitsBreakParams, method, trigger string) (*wire.LimitsBreakResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	if len(p.PriorityAreas) > limits.MaxPriority {
		e := InvalidParams("priorityAreas", "priorityAreas: too many")
		e.Data.Limit = limits.MaxPriority
		return nil, e
	}
	req := session.BreakRequest{LimitsRequest: targetFromWire(&p.LimitTarget), About: p.About, Task: p.Task, Trigger: trigger, Key: p.Key}
	for i := range p.Units {
		u := &p.Units[i]
		req.Units = append(req.Units, limits.Unit{ID: u.ID, Kind: limits.Kind(u.Type), Name: u.Name, Text: u.Content, Priority: u.Priority})
	}
	var last *session.LimitPhase
	say := func(phase *session.LimitPhase, details *wire.LimitDetails) {
		if phase.Progress.Show {
			b.notify(p.Session, wire.EventLimits, phaseToWire(p, phase, details))
		}
	}
	req.Watch = func(phase session.LimitPhase) {
		if last != nil {
			say(last, nil)
		}
		last = &phase
	}
	reply, err := s.BreakContext(ctx, req)
	var over *session.LimitError
	if err != nil && !errors.As(err, &over) {
		return nil, domainError(err)
	}
	if last != nil {
		say(last, detailsToWire(&reply))
	}
	b.recorded(p.Session, method, reply.Sequence, "")
	task := taskToWire(&reply)
	if task != nil {
		b.notify(p.Session, wire.EventTask, wire.TaskParams{Session: p.Session, Agent: reply.Agent, LimitTask: *task, Sequence: reply.Sequence})
	}
	if over != nil {
		e := domainError(err).(*Error)
		e.Data.Committed = wire.CommittedYes // the log has it
		return nil, e
	}
	result := brokenToWire(&reply)
	result.Task = task
	return result, nil
}

func (b *backend) limitsErrors(_ context.Context, p *wire.LimitsErrorsParams) (*wire.LimitsErrorsResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	filter := session.LimitErrorFilter{OnlySession: p.OnlySession, Code: p.Code, Agent: p.Agent}
	switch p.Code {
	case "", session.CodeTokenLimit, session.CodeBreaker, session.CodeRecovery:
	default:
		return nil, InvalidParams("code", fmt.Sprintf("code: must be %q, %q or %q", session.CodeTokenLimit, session.CodeBreaker, session.CodeRecovery))
	}
	if filter.Since, err = timeFromWire("since", p.Since); err != nil {
		return nil, err
	}
	if filter.Until, err = timeFromWire("until", p.Until); err != nil {
		return nil, err
	}
	if filter.Limit, filter.Before, err = pageFromWire(p.Limit, p.Cursor, 50, 500); err != nil {
		return nil, err
	}
	entries, patterns, more, seq, err := s.LimitErrors(filter)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.LimitsErrorsResult{Errors: []wire.LimitError{}, Patterns: []wire.LimitPattern{}, Cursor: cursorToWire(more), Sequence: seq}
	for i := range entries {
		e := &entries[i]
		out.Errors = append(out.Errors, wire.LimitError{
			Entry: e.Entry, Time: timeToWire(e.Time), Session: e.Session, Agent: e.Agent, LLM: e.LLM, Codes: list(e.Codes), Pack: e.Pack,
			Trigger: e.Trigger, Limit: e.Limit, Before: e.Before.Tokens, After: e.After.Tokens, Action: list(e.Action()),
		})
	}
	for _, p := range patterns {
		out.Patterns = append(out.Patterns, wire.LimitPattern{
			Code: p.Code, Agent: p.Agent, LLM: p.LLM, Trigger: p.Trigger, Count: p.Count, First: timeToWire(p.First), Last: timeToWire(p.Last),
		})
	}
	return out, nil
}

func (b *backend) limitsRewards(_ context.Context, p *wire.LimitsRewardsParams) (*wire.LimitsRewardsResult, error) {
	s, err := b.service.Session(p.Session)
	if err != nil {
		return nil, domainError(err)
	}
	most, from, err := pageFromWire(p.Limit, p.Cursor, 1000, 10_000)
	if err != nil {
		return nil, err
	}
	entries, more, seq, err := s.LimitOutcomes(from, most)
	if err != nil {
		return nil, domainError(err)
	}
	out := &wire.LimitsRewardsResult{Rewards: []wire.LimitReward{}, Cursor: cursorToWire(more), Sequence: seq}
	for i := range entries {
		e := &entries[i]
		if e.Pack {
			continue // no strategy was chosen
		}
		before := wire.LimitState{Units: e.Before.Units, Tokens: e.Before.Tokens, P1: e.Before.P1, Limit: e.Limit, LLM: e.LLM, Coherence: 1}
		after := wire.LimitState{Units: e.After.Units, Tokens: e.After.Tokens, P1: e.After.P1, Limit: e.Limit, LLM: e.LLM, Coherence: e.Coherence}
		out.Rewards = append(out.Rewards, wire.LimitReward{StateBefore: before, Action: list(e.Action()), Reward: e.Reward, StateAfter: after})
	}
	return out, nil
}

// tellLimit tells clients of a pack that a limit had a part in.
func (b *backend) tellLimit(name string, l *session.PackLimit, sequence int64) {
	if l == nil || !l.Broken && !l.Over || !l.Progress.Show {
		return
	}
	tell := func(phase limits.PhaseName, tokens int, details *wire.LimitDetails) {
		shown := limits.PhaseAt(phase, limits.Shown{Tokens: tokens, Limit: l.Limit})
		b.notify(name, wire.EventLimits, wire.LimitsParams{
			Session: name, Phase: string(shown.Name), Progress: shown.Progress, Message: shown.Message, Icon: shown.Icon, Color: shown.Color,
			Tokens: tokens, Limit: l.Tokens, Pack: true, Details: details, Show: progressToWire(l.Progress),
		})
	}
	before := max(l.Before, l.Used)
	details := &wire.LimitDetails{Before: before, After: l.Used, Strategies: []string{}, Archived: []string{}, Errors: []string{}}
	tell(limits.PhaseDetection, before, nil)
	if !l.Over {
		tell(limits.PhaseSuccess, l.Used, details)
		return
	}
	details.Errors = append(details.Errors, session.CodeTokenLimit)
	tell(limits.PhaseFailed, l.Used, details)
	if l.Pressure.Task {
		b.notify(name, wire.EventTask, wire.TaskParams{Session: name, LimitTask: cleanupTask(l.Pressure.Warnings), Sequence: sequence})
	}
}
