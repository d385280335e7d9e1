package session

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"hexapla/internal/billing"
	"hexapla/layers"
	"hexapla/layers/models"
)

// Packs are figures of the packs of a window. Measured are those whose audit
// entry says how they were built; entries of older programs do not, and count in
// Count, Tokens and, as far as they tell, Violations and Forced alone.
type Packs struct {
	Count, Measured int
	Tokens          int64 // of all
	Violations      int   // packs over their budget
	Forced          int   // things left out or reduced for want of room; a range is one

	// Of the measured ones.

	MeasuredTokens int64
	FullTokens     int64 // of the same prompts with the full history
	Bytes, Common  int64 // of the texts; of those, the first that were those of the pack before
	// Bills of the input in plain input tokens, and of the same prompts with the
	// full history.
	Billed, BilledFull float64
	// The same in US dollars, of the packs of models with known prices.
	Priced               int
	Dollars, DollarsFull float64
	Latency              Percentiles
}

// Percentiles are a distribution in milliseconds, by the nearest rank.
type Percentiles struct {
	Count         int
	P50, P95, P99 float64
}

// auditFacts is what figures need of an audit entry.
type auditFacts struct {
	Session  string `json:"session"`
	Sequence int64  `json:"sequence"`
	Time     int64  `json:"time"`
	Request  struct {
		Budget layers.Budget `json:"budget"`
		Model  string        `json:"model"`
		AsOf   int64         `json:"asOf"`
		Unit   string        `json:"unit"`
	} `json:"request"`
	Tokens   int             `json:"tokens"`
	Dropped  json.RawMessage `json:"dropped"` // only read where nothing was measured
	Measures *packMeasures   `json:"measures"`
	Tiers    json.RawMessage `json:"tiers"` // only of what was no pack
}

// auditSlack is how many entries from before a window are looked at before the
// search ends: packs that are built side by side are written in any order, and
// clocks are set back.
const auditSlack = 16

// packs adds up the packs of the window, and finds the window's sequences.
func (w *survey) packs() (Packs, error) {
	v := w.snapshot.View()
	sum := packSum{prices: w.session.Workspace.opts.Models}
	var before, behind bool // packs that are older and newer than the window
	var oldest, newestIn, newestBefore, firstEntry int64
	older := 0
	var failed error
	v.AuditRange(0, 0, func(entry int64, body []byte) bool {
		if failed = w.ctx.Err(); failed != nil {
			return false
		}
		var f auditFacts
		if err := json.Unmarshal(body, &f); err != nil {
			failed = fmt.Errorf("read audit entry %d: %w", entry, err)
			return false
		}
		firstEntry = entry
		if f.Tiers != nil {
			return true
		}
		where := w.place(&f)
		if f.Request.AsOf == 0 { // others tell nothing of when their sequence was
			oldest = f.Sequence
			switch where {
			case 0:
				newestIn = max(newestIn, f.Sequence)
			case 1:
				behind = true
			case -1:
				before = true
				newestBefore = max(newestBefore, f.Sequence)
			}
		}
		if where < 0 {
			older++
			return older < auditSlack
		}
		if where == 0 && (!w.req.OnlySession || f.Session == w.session.ID) {
			if failed = sum.add(&f); failed != nil {
				return false
			}
			if w.last == 0 {
				w.last = f.Time
			}
			w.first = f.Time
		}
		return true
	})
	if failed != nil {
		return Packs{}, failed
	}
	w.from, w.to = 0, v.Seq()
	switch {
	case w.req.byTime:
		if w.req.Since != 0 {
			w.from = newestBefore
			if !before && firstEntry > 1 { // the log was cut: what is older than it has no time
				w.from = oldest
			}
		}
		if behind || newestIn == 0 {
			w.to = max(newestIn, w.from)
		}
	default:
		if w.req.FromSeq > 0 {
			w.from = min(w.req.FromSeq-1, v.Seq())
		}
		if w.req.ToSeq > 0 {
			w.to = min(w.req.ToSeq, v.Seq())
		}
	}
	return sum.packs(), nil
}

// place tells whether a pack lies before, in (0) or behind the window.
func (w *survey) place(f *auditFacts) int {
	at, from, to := f.Sequence, w.req.FromSeq, w.req.ToSeq
	if w.req.byTime {
		at, from, to = f.Time, w.req.Since, w.req.Until
		if to != 0 {
			to--
		}
	}
	switch {
	case at < from && (w.req.byTime || f.Request.AsOf == 0):
		return -1
	case at < from, to != 0 && at > to:
		return 1
	}
	return 0
}

// packSum adds up packs.
type packSum struct {
	prices models.Table
	Packs
	micros []int64
}

func (s *packSum) add(f *auditFacts) error {
	s.Count++
	s.Tokens += int64(f.Tokens)
	m := f.Measures
	if m == nil {
		if (f.Request.Unit == "" || f.Request.Unit == UnitCounted) && f.Tokens+f.Request.Budget.Reserved > f.Request.Budget.Total {
			s.Violations++
		}
		var dropped []struct{ Reason string }
		if err := json.Unmarshal(f.Dropped, &dropped); err != nil && f.Dropped != nil {
			return fmt.Errorf("read drops of a pack: %w", err)
		}
		for _, d := range dropped {
			if d.Reason == layers.DropBudget {
				s.Forced++
			}
		}
		return nil
	}
	if f.Tokens > m.Available {
		s.Violations++
	}
	s.Forced += m.Forced
	s.Measured++
	s.MeasuredTokens += int64(f.Tokens)
	s.FullTokens += m.Full
	s.Bytes += int64(m.Bytes)
	s.Common += int64(m.Common)
	pack := billing.Pack(f.Tokens, m.CommonTokens)
	full := billing.Charge{Read: m.FullBefore, Write: m.Full - m.FullBefore}
	if model, known := s.prices.Lookup(f.Request.Model); known {
		s.Billed += pack.EquivalentsAt(model.Prices)
		s.BilledFull += full.EquivalentsAt(model.Prices)
		s.Dollars += pack.Dollars(model.Prices)
		s.DollarsFull += full.Dollars(model.Prices)
		s.Priced++
	} else {
		s.Billed += pack.Equivalents()
		s.BilledFull += full.Equivalents()
	}
	s.micros = append(s.micros, m.Micros)
	return nil
}

func (s *packSum) packs() Packs {
	slices.Sort(s.micros)
	at := func(q float64) float64 {
		if len(s.micros) == 0 {
			return 0
		}
		rank := int(math.Ceil(q * float64(len(s.micros))))
		return float64(s.micros[max(rank-1, 0)]) / 1000
	}
	s.Latency = Percentiles{Count: len(s.micros), P50: at(0.50), P95: at(0.95), P99: at(0.99)}
	return s.Packs
}
