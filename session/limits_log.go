package session

import (
	"cmp"
	"slices"

	"hexapla/layers/limits"
	"hexapla/layers/terms"
	"hexapla/storage"
)

// Codes of what goes wrong with limits (requirement B12).
const (
	CodeTokenLimit = "TOKEN_LIMIT_EXCEEDED" // a context was over its limit
	CodeBreaker    = "BREAKER_FAILED"       // no strategy brought it back
	CodeRecovery   = "RECOVERY_TRIGGERED"   // it was given up
)

// What made a context be given up (requirement B6).
const (
	TriggerChain     = "chainFailed"
	TriggerOverHits  = "overHits"
	TriggerReset     = "reset"
	TriggerMilestone = "milestone"
)

// Bounds of what counts toward loops and tasks.
const (
	pressureTime   = 3_600_000 // ms
	maxOverHits    = 2         // in that time; one more has the context given up
	cleanupAfter   = 3         // warnings in that time
	maxPressureLog = 1000      // records that are looked at
)

// limitRecord is the body of a limit record: what became of one context. It has
// numbers and names, and no content. Names of members are on disk.
type limitRecord struct {
	Session   string      `json:"session"`
	Agent     string      `json:"agent,omitempty"`
	LLM       string      `json:"llm,omitempty"`
	Time      int64       `json:"time"` // Unix ms
	Pack      bool        `json:"pack,omitempty"`
	Trigger   string      `json:"trigger,omitempty"` // of a recovery
	Recovery  string      `json:"recovery,omitempty"`
	Limit     int         `json:"limit"`
	Warning   int         `json:"warning"`
	Before    limitState  `json:"before"`
	After     limitState  `json:"after"`
	Steps     []limitStep `json:"steps,omitempty"`
	Success   bool        `json:"success"`
	Coherence float64     `json:"coherence"`
	Preserved float64     `json:"preserved"`
	Micros    int64       `json:"micros"`
	Reward    float64     `json:"reward"`
	Codes     []string    `json:"codes,omitempty"`
	Task      bool        `json:"task,omitempty"` // it raised a cleanup task
}

// limitState is a context in numbers.
type limitState struct {
	Units  int `json:"units"`
	Tokens int `json:"tokens"`
	P1     int `json:"p1"` // units of priority 1
}

type limitStep struct {
	Round     int     `json:"round"`
	Strategy  string  `json:"strategy"`
	Before    int     `json:"before"`
	After     int     `json:"after"`
	Coherence float64 `json:"coherence"`
	Undone    bool    `json:"undone,omitempty"`
}

const listLimits = "limits"

func listOfLimits(session string) string { return "session/" + session + "/limits" }

// Pressure is how often a session's contexts were near their limit and over it in
// the last hour.
type Pressure struct {
	Warnings int  // contexts over their warning mark
	OverHits int  // contexts over their limit, since the last recovery
	Task     bool // a cleanup task was raised
}

// LoopFactor is how far over-limit events speak for a loop, 0 to 1; at 1 the
// context is given up.
func (p Pressure) LoopFactor() float64 {
	return terms.Round(min(1, float64(p.OverHits)/(maxOverHits+1)))
}

// pressureOf reads the last hour of a session's log.
func pressureOf(v storage.View, session string, now int64) (p Pressure, err error) {
	list := listOfLimits(session)
	n := v.ListLen(list)
	entries, err := v.List(list, max(0, n-maxPressureLog), n)
	if err != nil {
		return p, err
	}
	recovered := false
	for i := len(entries) - 1; i >= 0; i-- {
		body, _, ok, err := latest[limitRecord](v, kindLimit, entries[i].ID)
		if err != nil {
			return p, err
		}
		if !ok || body.Time < now-pressureTime {
			break
		}
		recovered = recovered || body.Recovery != ""
		p.Task = p.Task || body.Task
		if body.Before.Tokens > body.Warning {
			p.Warnings++
		}
		if slices.Contains(body.Codes, CodeTokenLimit) && !recovered {
			p.OverHits++
		}
	}
	return p, nil
}

// LimitErrorFilter chooses entries of the error log.
type LimitErrorFilter struct {
	OnlySession bool
	Code, Agent string // "" for all
	Since       int64  // Unix ms; 0 for all
	Until       int64  // Unix ms; 0 for all
	Before      int    // entries before this number; 0 for the newest
	Limit       int
}

// LimitEntry is one breaking.
type LimitEntry struct {
	Entry    int // number in the log, from 1
	Sequence int64
	limitRecord
}

// LimitPattern is a kind of error that came more than once.
type LimitPattern struct {
	Code, Agent, LLM, Trigger string
	Count                     int
	First, Last               int64 // Unix ms
}

// maxPatternLog is how many entries, the newest, patterns are looked for in.
const maxPatternLog = 10_000

// LimitErrors lists what went wrong with limits, newest first, with the number of
// an entry to go on before, 0 at the end, and the patterns in all that the filter
// lets through, whatever its Before and Limit.
func (s *Session) LimitErrors(f LimitErrorFilter) (list []LimitEntry, patterns []LimitPattern, more int, seq int64, err error) {
	known := map[LimitPattern]int{} // without counts, to the index in patterns
	err = s.eachLimit(f.OnlySession, maxPatternLog, func(e LimitEntry) bool {
		if len(e.Codes) == 0 || f.Agent != "" && e.Agent != f.Agent || f.Since != 0 && e.Time < f.Since || f.Until != 0 && e.Time > f.Until ||
			f.Code != "" && !slices.Contains(e.Codes, f.Code) {
			return true
		}
		for _, code := range e.Codes {
			if f.Code != "" && code != f.Code {
				continue
			}
			key := LimitPattern{Code: code, Agent: e.Agent, LLM: e.LLM}
			if code == CodeRecovery {
				key.Trigger = e.Trigger
			}
			at, ok := known[key]
			if !ok {
				at = len(patterns)
				known[key] = at
				patterns = append(patterns, key)
				patterns[at].Last = e.Time
			}
			patterns[at].Count++
			patterns[at].First = e.Time
		}
		if f.Before != 0 && e.Entry >= f.Before {
			return true
		}
		if len(list) < f.Limit {
			list = append(list, e)
		} else if more == 0 {
			more = list[len(list)-1].Entry
		}
		return true
	}, &seq)
	slices.SortStableFunc(patterns, func(a, b LimitPattern) int { return cmp.Compare(b.Count, a.Count) })
	return list, patterns, more, seq, err
}

// LimitOutcomes lists all breakings, oldest first, from a number on: what a model of
// strategies can learn from.
func (s *Session) LimitOutcomes(from, most int) (list []LimitEntry, more int, seq int64, err error) {
	err = s.Workspace.view(0, func(v storage.View) error {
		seq = v.Seq()
		n := v.ListLen(listLimits)
		first := max(from-1, 0)
		last := min(first+most, n)
		if first >= last {
			return nil
		}
		entries, err := v.List(listLimits, first, last)
		if err != nil {
			return err
		}
		for i, entry := range entries {
			body, at, ok, err := latest[limitRecord](v, kindLimit, entry.ID)
			if err != nil {
				return err
			}
			if ok {
				list = append(list, LimitEntry{Entry: first + i + 1, Sequence: at, limitRecord: body})
			}
		}
		if last < n {
			more = last + 1
		}
		return nil
	})
	return list, more, seq, err
}

// eachLimit visits the newest breakings, newest first, of the session or of the
// workspace, until visit says no.
func (s *Session) eachLimit(own bool, most int, visit func(LimitEntry) bool, seq *int64) error {
	return s.Workspace.view(0, func(v storage.View) error {
		*seq = v.Seq()
		list := listLimits
		if own {
			list = listOfLimits(s.ID)
		}
		n := v.ListLen(list)
		from := max(0, n-most)
		entries, err := v.List(list, from, n)
		if err != nil {
			return err
		}
		for i := len(entries) - 1; i >= 0; i-- {
			body, at, ok, err := latest[limitRecord](v, kindLimit, entries[i].ID)
			if err != nil {
				return err
			}
			if ok && !visit(LimitEntry{Entry: from + i + 1, Sequence: at, limitRecord: body}) {
				break
			}
		}
		return nil
	})
}

// Action names the strategies of a breaking that held, and its recovery.
func (e *LimitEntry) Action() []string {
	var out []string
	for _, step := range e.Steps {
		if !step.Undone {
			out = append(out, step.Strategy)
		}
	}
	if e.Recovery != "" {
		out = append(out, "recovery:"+e.Recovery)
	}
	return out
}

// putLimit writes a breaking into the log. body is completed with what the log says
// of the hour before.
func (ws *Workspace) putLimit(tx *storage.Tx, body *limitRecord) (Pressure, error) {
	p, err := pressureOf(tx.View(), body.Session, body.Time)
	if err != nil {
		return p, err
	}
	if body.Before.Tokens > body.Warning {
		p.Warnings++
	}
	if slices.Contains(body.Codes, CodeTokenLimit) {
		p.OverHits++
	}
	body.Task = p.Warnings >= cleanupAfter && !p.Task
	p.Task = body.Task
	tx.Put(storage.Draft{
		Kind: kindLimit, ID: tx.NextID("l"), Parent: body.Session, Body: encode(body), Lists: []string{listLimits, listOfLimits(body.Session)},
	})
	return p, nil
}

// outcomeOf is what a reward is computed from.
func outcomeOf(r *limits.Result, micros int64) limits.Outcome {
	return limits.Outcome{
		Success: r.Success, UsedRecovery: r.Recovery != "", CoherenceDelta: terms.Round(r.Coherence - 1),
		TokensReduced: max(r.Before-r.After, 0), OriginalTokens: r.Before, Millis: micros / 1000, PriorityPreserved: r.Preserved(),
	}
}
