package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"hexapla/layers/limits"
	"hexapla/rpc/wire"
	"hexapla/session"
	"hexapla/session/contextconfig"
)

func targetFromWire(p *wire.LimitTarget) session.LimitsRequest {
	return session.LimitsRequest{Agent: p.Agent, LLM: p.LLM, P1: p.P1, Limit: p.Limit}
}

func limitToWire(l *limits.Limit) wire.LimitInForce {
	return wire.LimitInForce{Limit: l.Tokens, Warning: l.Warning, Source: l.Source, LLM: l.Type, P1: l.P1}
}

func packLimitToWire(l *session.PackLimit) *wire.PackLimit {
	if l == nil {
		return nil
	}
	return &wire.PackLimit{LimitInForce: limitToWire(&l.Limit), Used: l.Used, Warned: l.Warned, Over: l.Over, Broken: l.Broken}
}

func pressureToWire(p session.Pressure) wire.LimitPressure {
	return wire.LimitPressure{Warnings: p.Warnings, OverHits: p.OverHits, LoopFactor: p.LoopFactor()}
}

func retryToWire(tool string, r limits.Retry) wire.RetryPolicy {
	return wire.RetryPolicy{Tool: tool, MaxAttempts: r.MaxAttempts, BackoffBaseSeconds: r.BaseSeconds, MaxDelaySeconds: r.MaxSeconds}
}

func progressToWire(p limits.Progress) wire.LimitProgress {
	return wire.LimitProgress{Show: p.Show, DetailLevel: p.Detail, AutoHideSeconds: p.AutoHideSeconds, HighlightP1: p.HighlightP1}
}

func brokenToWire(r *session.BreakReply) *wire.LimitsBreakResult {
	out := &wire.LimitsBreakResult{
		LimitInForce: limitToWire(&r.Limit), Agent: r.Agent, Units: make([]wire.LimitUnit, 0, len(r.Units)), Fates: make([]wire.LimitFate, 0, len(r.Fates)),
		Steps: []wire.LimitStep{}, Before: r.Before, After: r.After, Estimate: r.Estimate, Success: r.Success, Coherence: r.Coherence, PriorityPreserved: r.Preserved(),
		Recovery: string(r.Recovery), Trigger: r.Trigger, Handover: r.Handover, Errors: list(r.Codes), Reward: r.Reward,
		Pressure: pressureToWire(r.Pressure), Sequence: r.Sequence,
	}
	for i := range r.Units {
		u := &r.Units[i]
		out.Units = append(out.Units, wire.LimitUnit{ID: u.ID, Type: string(u.Kind), Name: u.Name, Content: u.Text, Priority: u.Priority, Tokens: u.Tokens})
	}
	for i, f := range r.Fates {
		fate := wire.LimitFate{Action: string(f.Action), Strategy: string(f.Strategy), Archived: r.Archived[i]}
		if f.Unit >= 0 {
			fate.Unit = &f.Unit
		}
		out.Fates = append(out.Fates, fate)
	}
	for _, s := range r.Steps {
		out.Steps = append(out.Steps, wire.LimitStep{
			Round: s.Round, Strategy: string(s.Strategy), Before: s.Before, After: s.After, Coherence: s.Coherence, Undone: s.Undone,
		})
	}
	return out
}

// Sizes of what is told with the last phase.
const (
	maxArchivedTold = 1000
	maxHandoverTold = 400 // bytes
)

func detailsToWire(r *session.BreakReply) *wire.LimitDetails {
	out := &wire.LimitDetails{Before: r.Before, After: r.After, Strategies: []string{}, Archived: []string{}, Errors: list(r.Codes), Handover: r.Handover}
	if len(out.Handover) > maxHandoverTold {
		cut := maxHandoverTold
		for cut > 0 && out.Handover[cut]&0xc0 == 0x80 {
			cut--
		}
		out.Handover = out.Handover[:cut] + "…"
	}
	for _, s := range r.Steps {
		if !s.Undone {
			out.Strategies = append(out.Strategies, string(s.Strategy))
		}
	}
	for i, f := range r.Fates {
		switch f.Action {
		case limits.ActionDiscarded:
			out.Discarded++
		case limits.ActionSummarized:
			out.Summarized++
		case limits.ActionCompressed:
			out.Compressed++
		}
		if name := r.Archived[i]; name != "" && len(out.Archived) < maxArchivedTold {
			out.Archived = append(out.Archived, name)
		}
	}
	return out
}

func phaseToWire(p *wire.LimitsBreakParams, phase *session.LimitPhase, details *wire.LimitDetails) wire.LimitsParams {
	out := wire.LimitsParams{
		Session: p.Session, Phase: string(phase.Name), Progress: phase.Phase.Progress, Message: phase.Message, Icon: phase.Icon, Color: phase.Color,
		Tokens: phase.Tokens, Limit: phase.Limit.Tokens, Details: details, Show: progressToWire(phase.Progress),
	}
	if n := phase.Priority; n > 0 {
		badge := &wire.LimitPriority{Priority: n, Label: fmt.Sprintf("P%d", n), Color: limits.BadgeColor(n)}
		if n <= len(p.PriorityAreas) && p.PriorityAreas[n-1] != "" {
			badge.Label += ": " + p.PriorityAreas[n-1]
		}
		out.Priority = badge
	}
	return out
}

// taskToWire is the task that is due because of a breaking, nil for none.
func taskToWire(r *session.BreakReply) *wire.LimitTask {
	if !r.Task {
		return nil
	}
	task := cleanupTask(r.Pressure.Warnings)
	return &task
}

func cleanupTask(warnings int) wire.LimitTask {
	return wire.LimitTask{
		Kind: "contextCleanup", Title: "Context Cleanup", Warnings: warnings,
		Reason: fmt.Sprintf("%d contexts of this session were near their limit within an hour: close what is done, unpin what is not needed, or raise the limit", warnings),
	}
}

// pageFromWire reads how many entries are asked for, and the number of one to go on
// at, 0 for none.
func pageFromWire(asked int, cursor string, usual, most int) (limit, entry int, err error) {
	if asked < 0 || asked > most {
		e := InvalidParams("limit", "limit: out of range")
		e.Data.Limit = int64(most)
		return 0, 0, e
	}
	if asked == 0 {
		asked = usual
	}
	if cursor != "" {
		if entry, err = strconv.Atoi(cursor); err != nil || entry <= 0 {
			return 0, 0, InvalidParams("cursor", "cursor: is not a cursor of this method")
		}
	}
	return asked, entry, nil
}

func cursorToWire(entry int) string {
	if entry == 0 {
		return ""
	}
	return strconv.Itoa(entry)
}

// readContextConfig checks initializationOptions.context_config and returns it as
// the document that it is a part of; nil where it is absent.
func readContextConfig(raw json.RawMessage) ([]byte, error) {
	if absentNull(raw) == nil {
		return nil, nil
	}
	document := []byte(`{"context_config":` + string(raw) + `}`)
	_, err := contextconfig.Read(contextconfig.NameClient, document, limits.Default())
	var bad *contextconfig.Error
	if errors.As(err, &bad) {
		e := InvalidParams(contextconfig.NameClient, bad.Error())
		if bad.Key != "" {
			e.Data.Path += "." + bad.Key
		}
		e.Data.Limit = bad.Limit
		return nil, e
	}
	return document, err
}
