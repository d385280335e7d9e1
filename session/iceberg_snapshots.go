package session

import (
	"context"
	"encoding/json"
	"fmt"

	"hexapla/layers/iceberg"
	"hexapla/storage"
)

// tiersFacts is what the audit log keeps of messages in tiers: numbers, and no word
// of them.
type tiersFacts struct {
	User     string      `json:"user,omitempty"`
	Built    bool        `json:"built"`
	Original int         `json:"original"`
	Kept     int         `json:"kept"`    // messages
	Removed  int         `json:"removed"` // messages
	Tiers    []tierFacts `json:"tiers"`
	Chosen   Chosen      `json:"chosen"`
	Warnings []string    `json:"warnings,omitempty"` // kinds
	Micros   int64       `json:"micros"`             // µs that it took
}

type tierFacts struct {
	Tier   iceberg.Tier `json:"tier"`
	Items  int          `json:"items"`
	Tokens int          `json:"tokens"`
}

// snapshot notes a build in the audit log. It does not wait for the disk.
func (s *Session) snapshot(req *TiersRequest, reply *TiersReply, micros int64) {
	ws := s.Workspace
	ws.retiring.RLock()
	defer ws.retiring.RUnlock()
	if ws.retired {
		return
	}
	facts := &tiersFacts{
		User: req.User, Built: reply.Built, Original: reply.Original, Kept: len(reply.Kept), Removed: len(reply.Removed),
		Chosen: reply.Chosen, Micros: micros,
	}
	for _, tier := range reply.Tiers {
		facts.Tiers = append(facts.Tiers, tierFacts{tier.Tier, tier.Items, tier.Tokens})
	}
	for _, w := range reply.Warnings {
		facts.Warnings = append(facts.Warnings, w.Kind)
	}
	ws.store.AppendAudit(reply.Checksum, encode(auditRecord{
		Session: s.ID, Checksum: reply.Checksum, Sequence: reply.Sequence, Time: ws.opts.Now(), Tokens: reply.Tokens, Settings: ws.settings, Tiers: facts,
	}))
}

// TierSnapshot is a build that was noted.
type TierSnapshot struct {
	Entry    int64
	Session  string
	Checksum string
	Time     int64 // Unix ms
	Sequence int64
	Tokens   int
	tiersFacts
}

// SnapshotFilter chooses builds.
type SnapshotFilter struct {
	Session string  // "" for all of the workspace
	User    *string // nil for any
	Since   *int64  // Unix milliseconds, included
	Until   *int64  // Unix milliseconds, not included
	Before  int64   // entries with a smaller number; 0 means the newest
	Limit   int
}

func (f *SnapshotFilter) passes(r *auditRecord) bool {
	return r.Tiers != nil && (f.Session == "" || r.Session == f.Session) && (f.User == nil || r.Tiers.User == *f.User) &&
		(f.Since == nil || r.Time >= *f.Since) && (f.Until == nil || r.Time < *f.Until)
}

// TierSnapshots lists builds, newest first. more is the number to go on before; 0 at
// the end.
func (s *Session) TierSnapshots(ctx context.Context, filter SnapshotFilter) (found []TierSnapshot, more int64, err error) {
	err = s.Workspace.view(0, func(v storage.View) error {
		var failed error
		v.AuditRange(filter.Before, 0, func(entry int64, body []byte) bool {
			if failed = ctx.Err(); failed != nil {
				return false
			}
			var r auditRecord
			if err := json.Unmarshal(body, &r); err != nil {
				failed = fmt.Errorf("read audit entry %d: %w", entry, err)
				return false
			}
			if !filter.passes(&r) {
				return true
			}
			if len(found) == filter.Limit {
				more = found[len(found)-1].Entry
				return false
			}
			found = append(found, TierSnapshot{entry, r.Session, r.Checksum, r.Time, r.Sequence, r.Tokens, *r.Tiers})
			return true
		})
		return failed
	})
	return found, more, err
}

// TierComparison is what two strategies make of the same messages.
type TierComparison struct {
	A, B  TiersReply
	OnlyA []int // indices of messages that A keeps and B does not
	OnlyB []int
}

// CompareTiers builds the same messages by two strategies. Nothing is stored.
func (s *Session) CompareTiers(ctx context.Context, req TiersRequest, a, b Strategy) (TierComparison, error) {
	req.Strategy = Strategy{}
	if err := req.check(); err != nil {
		return TierComparison{}, err
	}
	if err := a.check("a."); err != nil {
		return TierComparison{}, err
	}
	if err := b.check("b."); err != nil {
		return TierComparison{}, err
	}
	var c TierComparison
	var err error
	for _, one := range []struct {
		strategy Strategy
		reply    *TiersReply
	}{{a, &c.A}, {b, &c.B}} {
		req.Strategy = one.strategy
		if *one.reply, err = s.planTiers(ctx, &req); err != nil {
			return TierComparison{}, err
		}
	}
	c.OnlyA, c.OnlyB = without(c.A.Kept, c.B.Kept), without(c.B.Kept, c.A.Kept)
	return c, nil
}

// without returns what one ascending list has and another has not.
func without(list, other []int) []int {
	out := []int{}
	at := 0
	for _, i := range list {
		for at < len(other) && other[at] < i {
			at++
		}
		if at == len(other) || other[at] != i {
			out = append(out, i)
		}
	}
	return out
}
