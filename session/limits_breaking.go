package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"hexapla/layers/limits"
	"hexapla/session/contextconfig"
	"hexapla/storage"
)

// Bounds of a context that is broken down.
const (
	maxUnits      = 10_000
	maxUnitID     = 256      // bytes
	maxUnitsBytes = 16 << 20 // of all texts
	maxTask       = 1000     // bytes
)

// BreakRequest asks for a context to be broken down to its limit.
type BreakRequest struct {
	LimitsRequest
	Units []limits.Unit // oldest first
	About string        // what it is about; "" for what its newest units are
	Task  string        // that a handover says is to be gone on with
	// Trigger has the context given up at once: TriggerReset or TriggerMilestone.
	Trigger string
	Key     string `json:"-"`
	// Watch is told of phases as they come; it may be nil.
	Watch func(LimitPhase) `json:"-"`
}

// LimitPhase is a phase with what it is about.
type LimitPhase struct {
	limits.Phase
	Strategy limits.Strategy
	Tokens   int
	Limit    limits.Limit
	Priority int // the highest in the context, 0 for none
	Progress limits.Progress
}

// BreakReply is what a context was broken down to.
type BreakReply struct {
	limits.Result
	Agent    string
	Estimate bool   // tokens are estimated
	Trigger  string // of a recovery; "" for none
	Archived []string
	Codes    []string
	Reward   float64
	Pressure Pressure
	Task     bool // a cleanup task is due from here on
	Progress limits.Progress
	Sequence int64
}

// LimitError says that a context cannot be brought within its limit, and that the
// settings want that to be an error. It is in the log.
type LimitError struct {
	Code   string
	Limit  int
	Tokens int
}

// Error names the numbers.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: %d tokens cannot be brought within the limit of %d", e.Code, e.Tokens, e.Limit)
}

func (r *BreakRequest) check() error {
	switch {
	case len(r.Units) == 0:
		return invalid("units", "must not be empty")
	case len(r.Units) > maxUnits:
		return &InvalidError{Path: "units", Message: "too many", Limit: maxUnits}
	case len(r.Task) > maxTask:
		return &InvalidError{Path: "task", Message: "too long", Limit: maxTask}
	case len(r.About) > maxTextSize:
		return &TooLargeError{Path: "about", Limit: maxTextSize}
	}
	ids, bytes := make(map[string]bool, len(r.Units)), 0
	for i := range r.Units {
		u := &r.Units[i]
		path := func(member string) string { return fmt.Sprintf("units[%d].%s", i, member) }
		bytes += len(u.Text)
		switch {
		case !slices.Contains(limits.Kinds(), u.Kind):
			return invalid(path("type"), "must be one of %q", limits.Kinds())
		case u.Priority < 0 || u.Priority > limits.MaxPriority:
			return &InvalidError{Path: path("priority"), Message: "out of range", Limit: limits.MaxPriority}
		case len(u.ID) > maxUnitID:
			return &InvalidError{Path: path("id"), Message: "too long", Limit: maxUnitID}
		case len(u.Name) > maxUnitID:
			return &InvalidError{Path: path("name"), Message: "too long", Limit: maxUnitID}
		case u.ID != "" && ids[u.ID]:
			return invalid(path("id"), "stands there twice")
		case bytes > maxUnitsBytes:
			return &TooLargeError{Path: path("content"), Limit: maxUnitsBytes}
		}
		ids[u.ID] = true
	}
	return nil
}

// BreakContext breaks a context down to its limit, or gives it up where that does
// not help, where it was over its limit too often, or where it is asked to. What
// was taken out or changed is archived, and the breaking is in the log, when it
// returns. A *LimitError comes after that. The units are not changed.
func (s *Session) BreakContext(ctx context.Context, req BreakRequest) (BreakReply, error) {
	if err := req.check(); err != nil {
		return BreakReply{}, err
	}
	ws := s.Workspace
	var limit limits.Limit
	var pressure Pressure
	var state contextconfig.State
	reply := BreakReply{}
	now := ws.opts.Now()
	err := ws.view(0, func(v storage.View) (err error) {
		if state, limit, reply.Agent, err = s.limitsOf(v, req.LimitsRequest); err != nil {
			return err
		}
		pressure, err = pressureOf(v, s.ID, now)
		return err
	})
	if err != nil {
		return BreakReply{}, err
	}
	reply.Progress = state.Config.Progress
	b := s.breaker(state.Config)
	reply.Estimate = b.Counter.Estimate()
	start := ws.opts.Ticks()
	run := func(trigger string) { s.breakOrRecover(b, &req, limit, trigger, &reply) }
	run(dueTo(&req, limits.Count(req.Units, b.Counter), limit, pressure, b.Config.RecoveryMode))
	micros := ws.opts.Ticks() - start
	reply.Reward = outcomeOf(&reply.Result, micros).Reward()
	type written struct {
		Trigger  string
		Reward   float64
		Pressure Pressure
	}
	var raws [][]byte
	if raws, err = s.archivable(&req, &reply); err != nil {
		return BreakReply{}, err
	}
	for ; len(raws) > archivedAtOne; raws = raws[archivedAtOne:] { // the last write has the key
		if _, _, err := write(ctx, ws, "limits/break", s.ID, "", nil, func(tx *storage.Tx) (struct{}, error) {
			return struct{}{}, s.putUnits(tx, raws[:archivedAtOne])
		}); err != nil {
			return BreakReply{}, err
		}
	}
	was, receipt, err := write(ctx, ws, "limits/break", s.ID, req.Key, req, func(tx *storage.Tx) (written, error) {
		if err := s.putUnits(tx, raws); err != nil {
			return written{}, err
		}
		body := s.limitRecordOf(&req, &reply, now, micros)
		p, err := ws.putLimit(tx, &body)
		return written{reply.Trigger, reply.Reward, p}, err
	})
	if err != nil {
		return BreakReply{}, err
	}
	if was.Trigger != reply.Trigger { // it was sent before, when other things had happened
		run(was.Trigger)
	}
	reply.Reward, reply.Pressure, reply.Sequence = was.Reward, was.Pressure, receipt.Seq
	reply.Task = was.Pressure.Task && !receipt.Repeated
	if reply.Recovery == limits.Fail {
		return reply, &LimitError{Code: CodeBreaker, Limit: limit.Tokens, Tokens: reply.Before}
	}
	return reply, nil
}

// dueTo tells why a context is given up before anything is tried; "" for no reason.
func dueTo(req *BreakRequest, tokens int, limit limits.Limit, p Pressure, mode limits.RecoveryMode) string {
	switch {
	case req.Trigger != "":
		return req.Trigger
	case tokens > limit.Tokens && p.OverHits >= maxOverHits && mode != limits.Fail:
		return TriggerOverHits
	}
	return ""
}

// breakOrRecover sets what became of a context.
func (s *Session) breakOrRecover(b *limits.Breaker, req *BreakRequest, limit limits.Limit, trigger string, reply *BreakReply) {
	highest := 0
	for i := range req.Units {
		if p := req.Units[i].Priority; p != 0 && (highest == 0 || p < highest) {
			highest = p
		}
	}
	tell := func(phase limits.PhaseName, strategy limits.Strategy, tokens int) {
		if req.Watch == nil {
			return
		}
		shown := limits.Shown{Tokens: tokens, Old: int(float64(tokens) * b.Config.OldThreshold), Summary: b.Config.SummaryLength, Limit: limit, P1: highest == limits.PriorityP1}
		req.Watch(LimitPhase{Phase: limits.PhaseAt(phase, shown), Strategy: strategy, Tokens: tokens, Limit: limit, Priority: highest, Progress: b.Config.Progress})
	}
	units := slices.Clone(req.Units)
	reply.Codes, reply.Trigger = nil, trigger
	if trigger == "" || trigger == TriggerChain {
		reply.Result = b.Break(units, req.About, limit, tell)
		if reply.Before > limit.Tokens {
			reply.Codes = append(reply.Codes, CodeTokenLimit)
		}
		if reply.Success {
			if len(reply.Steps) > 0 {
				tell(limits.PhaseSuccess, "", reply.After)
			}
			return
		}
		reply.Codes = append(reply.Codes, CodeBreaker)
		reply.Trigger = TriggerChain
	}
	if b.Config.RecoveryMode == limits.Fail && req.Trigger != "" {
		b.Config.RecoveryMode = limits.FreshStart // it was asked for
	}
	steps := reply.Steps
	reply.Result = b.Recover(units, req.About, req.Task, limit, tell)
	if reply.Steps = nil; reply.Trigger == TriggerChain {
		reply.Steps = steps
	}
	if trigger == TriggerOverHits || reply.Before > limit.Tokens && reply.Trigger != TriggerChain {
		reply.Codes = append(reply.Codes, CodeTokenLimit)
	}
	reply.Codes = append(reply.Codes, CodeRecovery)
	if reply.Recovery == limits.Fail {
		tell(limits.PhaseFailed, "", reply.Before)
	}
}

func (s *Session) limitRecordOf(req *BreakRequest, reply *BreakReply, now, micros int64) limitRecord {
	body := limitRecord{
		Session: s.ID, Agent: reply.Agent, LLM: reply.Limit.Type, Time: now, Trigger: reply.Trigger, Recovery: string(reply.Recovery),
		Limit: reply.Limit.Tokens, Warning: reply.Limit.Warning, Success: reply.Success, Coherence: reply.Coherence, Preserved: reply.Preserved(),
		Before: limitState{len(req.Units), reply.Before, reply.P1}, After: limitState{len(reply.Units), reply.After, 0},
		Micros: micros, Reward: reply.Reward, Codes: reply.Codes,
	}
	for i := range reply.Units {
		if reply.Units[i].Priority == limits.PriorityP1 {
			body.After.P1++
		}
	}
	for _, step := range reply.Steps {
		body.Steps = append(body.Steps, limitStep{step.Round, string(step.Strategy), step.Before, step.After, step.Coherence, step.Undone})
	}
	return body
}

// unitRecord is an archived unit as hexapla/history/get gives it back.
type unitRecord struct {
	ID       string `json:"id,omitempty"`
	Type     string `json:"type"`
	Name     string `json:"name,omitempty"`
	Content  string `json:"content"`
	Priority int    `json:"priority,omitempty"`
}

// archivable names what is archived of a context, and returns it: the units that
// are not in the result as they were.
func (s *Session) archivable(req *BreakRequest, reply *BreakReply) (raws [][]byte, err error) {
	key := s.Workspace.store.Key(historyKey)
	reply.Archived = make([]string, len(req.Units))
	for i := range req.Units {
		u := &req.Units[i]
		if reply.Fates[i].Action == limits.ActionKept || u.Text == "" {
			continue
		}
		raw, err := json.Marshal(unitRecord{u.ID, string(u.Kind), u.Name, u.Text, u.Priority})
		if err != nil {
			return nil, fmt.Errorf("archive unit: %w", err)
		}
		reply.Archived[i] = messageID(key, raw)
		raws = append(raws, raw)
	}
	return raws, nil
}

// putUnits archives units that are not archived yet.
func (s *Session) putUnits(tx *storage.Tx, raws [][]byte) error {
	during, _, err := ongoing(tx.View(), s.ID)
	if err != nil {
		return err
	}
	return s.putMessages(tx, during, raws)
}

// putMessages archives messages that are not archived yet.
func (s *Session) putMessages(tx *storage.Tx, during string, raws [][]byte) error {
	key, put := s.Workspace.store.Key(historyKey), map[string]bool{}
	for _, raw := range raws {
		id := messageID(key, raw)
		if put[id] {
			continue
		}
		put[id] = true
		_, known, err := tx.View().Latest(kindMessage, id)
		if err != nil {
			return err
		}
		if !known {
			tx.Put(storage.Draft{Kind: kindMessage, ID: id, Parent: during, Body: encode(messageRecord{Message: string(raw)})})
		}
	}
	return nil
}
