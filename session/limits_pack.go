package session

import (
	"context"
	"errors"

	"hexapla/layers"
	"hexapla/layers/limits"
	"hexapla/storage"
)

// PackLimit is what a limit did to a pack.
type PackLimit struct {
	limits.Limit
	Used   int  // tokens of the pack
	Warned bool // what must be there takes it over the warning mark
	Over   bool // and over the limit
	Broken bool // the stream was folded, and the pack is smaller than the one before
	Before int  // tokens of the pack before, 0 if there is none
	// Progress is how an editor shows it.
	Progress limits.Progress
	Pressure Pressure // as far as it is known: where Over
}

// withinLimit has build make a pack under the limit of the session's agent, if one
// is set. The packer itself is what breaks a pack down: it lays its stream out anew
// when it would pass the warning mark, in its own order and at its own moments, so
// that prefixes stay. Only where what must be there needs more room does it get it:
// up to the limit, and over it, unless the settings want an error, up to what the
// client asked for. limit is nil where none is set.
func (s *Session) withinLimit(req *PackRequest, build func() error) (limit *PackLimit, err error) {
	state := s.context.State()
	if !state.Set {
		return nil, build()
	}
	limit = &PackLimit{Progress: state.Config.Progress}
	err = s.Workspace.view(0, func(v storage.View) (err error) {
		_, limit.Limit, _, err = s.limitsOf(v, LimitsRequest{})
		return err
	})
	if err != nil {
		return nil, err
	}
	asked := req.Budget.Total
	for _, total := range []int{limit.Warning, limit.Tokens} {
		if req.Budget.Total = min(asked, total); total <= 0 {
			continue
		}
		var small *layers.BudgetError
		if err = build(); err == nil || asked <= total || !errors.As(err, &small) {
			return limit, err
		}
		if limit.Warned = true; total == limit.Tokens {
			limit.Over = true
			if state.Config.RecoveryMode == limits.Fail {
				return limit, &LimitError{Code: CodeTokenLimit, Limit: limit.Tokens, Tokens: small.Smallest}
			}
			req.Budget.Total = min(asked, small.Smallest)
		}
	}
	return limit, build()
}

// told completes what a limit did to a pack, beside the session's pack before, and
// notes one over its limit in the log.
func (l *PackLimit) told(ctx context.Context, s *Session, pack *layers.Pack, before *layers.Pack) {
	l.Used = pack.Used()
	l.Warned = l.Warned || l.Used > l.Warning
	if before != nil {
		l.Before = before.Used()
		l.Broken = before.Epoch != pack.Epoch && l.Used < l.Before
	}
	if !l.Over {
		return
	}
	ws := s.Workspace
	body := limitRecord{
		Session: s.ID, LLM: l.Type, Time: ws.opts.Now(), Pack: true, Limit: l.Tokens, Warning: l.Warning,
		Before: limitState{Tokens: l.Used}, After: limitState{Tokens: l.Used}, Coherence: 1, Preserved: 1, Codes: []string{CodeTokenLimit},
	}
	_, _, err := write(ctx, ws, "pack/build", s.ID, "", nil, func(tx *storage.Tx) (_ struct{}, err error) {
		record, _, _, err := latest[sessionRecord](tx.View(), kindSession, s.ID)
		if err != nil {
			return struct{}{}, err
		}
		body.Agent = record.Agent
		l.Pressure, err = ws.putLimit(tx, &body)
		return struct{}{}, err
	})
	if err != nil { // the pack is good all the same
		ws.opts.Logf("workspace %s: a pack over its limit was not noted: %v", ws.ID, err)
	}
}
