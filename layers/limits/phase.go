package limits

import (
	"fmt"
	"strconv"
)

// PhaseName is what a breaking is at.
type PhaseName string

// Phases (requirement B9).
const (
	PhaseDetection        PhaseName = "detection"
	PhaseSummarizeOld     PhaseName = "summarize_old"
	PhasePrioritizeRecent PhaseName = "prioritize_recent"
	PhaseContentChunking  PhaseName = "content_chunking"
	PhaseDiscardLowRel    PhaseName = "discard_low_rel"
	PhaseHybrid           PhaseName = "hybrid"
	PhaseSuccess          PhaseName = "success"
	PhaseRecovery         PhaseName = "recovery"
	PhaseHandover         PhaseName = "handover"
	PhaseFailed           PhaseName = "failed"
)

func phaseOf(s Strategy) PhaseName {
	if s == ContentChunking {
		return PhaseContentChunking
	}
	return PhaseName(s)
}

// Phase is what an editor shows of one.
type Phase struct {
	Name     PhaseName
	Icon     string // of VS Code's codicons
	Message  string
	Color    string // CSS
	Progress int    // percent of the limit that is used, at most 100; -1 where that says nothing
}

// Colours of progress bars.
const (
	ColorNormal   = "#007ACC"
	ColorP1       = "#4CAF50"
	ColorWarning  = "#FF9800"
	ColorRecovery = "#F44336"
)

// Shown is what a phase is told of.
type Shown struct {
	Tokens  int // of the context
	Old     int // tokens of what is old in it, about
	Summary int // tokens of the summary that may take its place
	Limit   Limit
	P1      bool // it has units of priority 1
}

// PhaseAt returns what to show of a phase.
func PhaseAt(name PhaseName, s Shown) Phase {
	tokens, limit, p1 := s.Tokens, s.Limit, s.P1
	p := Phase{Name: name, Color: ColorNormal, Progress: 100}
	if limit.Tokens > 0 {
		p.Progress = min(100, int((int64(tokens)*100+int64(limit.Tokens)/2)/int64(limit.Tokens)))
	}
	if p1 {
		p.Color = ColorP1
	}
	switch name {
	case PhaseDetection:
		p.Icon, p.Message, p.Color = "sync~spin", "Checking context length…", ColorWarning
	case PhaseSummarizeOld:
		p.Icon, p.Message = "compress", fmt.Sprintf("Summarizing old context… (est. %s → %d tokens)", short(s.Old), s.Summary)
	case PhasePrioritizeRecent:
		p.Icon, p.Message = "star", "Prioritizing recent messages…"
		if p1 {
			p.Message = "Prioritizing P1 units & recent messages…"
		}
	case PhaseContentChunking:
		p.Icon, p.Message = "code", "Chunking code & plan references…"
	case PhaseDiscardLowRel:
		p.Icon, p.Message = "clear-all", "Removing low-relevance units…"
	case PhaseHybrid:
		p.Icon, p.Message = "layers", "Applying hybrid compression…"
	case PhaseSuccess:
		p.Icon, p.Message = "check", fmt.Sprintf("Context reduced to %s / %s tokens", grouped(tokens), grouped(limit.Tokens))
	case PhaseRecovery:
		p.Icon, p.Message, p.Color, p.Progress = "refresh", "Overflow detected – starting fresh conversation", ColorRecovery, -1
	case PhaseHandover:
		p.Icon, p.Message, p.Color = "sync~complete", "Resumed from summary. Continuing task…", ColorRecovery
	case PhaseFailed:
		p.Icon, p.Message, p.Color, p.Progress = "error", fmt.Sprintf("Context is over its limit of %s tokens", grouped(limit.Tokens)), ColorRecovery, -1
	}
	return p
}

// short is a number of tokens as people say it: 2.1k.
func short(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

// grouped is a number with commas: 3,420.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// BadgeColor is the colour of the badge of a priority, in CSS.
func BadgeColor(priority int) string {
	switch priority {
	case PriorityP1:
		return ColorP1
	case 2:
		return "#FFEB3B"
	}
	return "#9E9E9E"
}
