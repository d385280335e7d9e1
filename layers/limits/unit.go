package limits

import (
	"hexapla/layers"
)

// Kind is what a unit is.
type Kind string

// Kinds of units.
const (
	KindMessage     Kind = "message"
	KindText        Kind = "text"
	KindCode        Kind = "code"
	KindPlan        Kind = "plan_ref" // of a plan; verbatim unless a ratio says otherwise
	KindLog         Kind = "log"
	KindSummary     Kind = "summary"
	KindPlaceholder Kind = "placeholder"
	KindOther       Kind = "other"
)

// Kinds returns all kinds. The caller owns the slice.
func Kinds() []Kind {
	return []Kind{KindMessage, KindText, KindCode, KindPlan, KindLog, KindSummary, KindPlaceholder, KindOther}
}

// Priorities of units: 1 is protected, 3 goes first among equals, 0 is none.
const (
	PriorityNone = 0
	PriorityP1   = 1
	MaxPriority  = 3
)

// Unit is one piece of a context.
type Unit struct {
	ID       string
	Kind     Kind
	Name     string // a file's name, by which code is known; may be empty
	Text     string
	Priority int
	Tokens   int `json:"-"` // set by Count
}

// Action is what became of a unit.
type Action string

// Actions.
const (
	ActionKept       Action = "kept"
	ActionCompressed Action = "compressed"
	ActionSummarized Action = "summarized"
	ActionDiscarded  Action = "discarded"
)

// Fate is what became of a unit that was given.
type Fate struct {
	Action   Action
	Strategy Strategy // "" for one that was kept, and for what a recovery let go
	Unit     int      // index of the unit that holds it or stands for it
}

// Count counts the tokens of units and returns their sum.
func Count(units []Unit, c layers.Counter) (sum int) {
	for i := range units {
		units[i].Tokens = c.Count(units[i].Text)
		sum += units[i].Tokens
	}
	return sum
}

// Meaning tells how near texts are.
type Meaning interface {
	// Near tells how near each group of texts is to another, each group taken
	// together: at most 1, which is the same. The order of texts does not count.
	Near(about []string, groups [][]string) []float64
}

// part is a unit on its way through the chain.
type part struct {
	Unit
	of []source // what it is made of, in order
	// relevance is that to what the context is about, 0 to 1.
	relevance float64
}

// source is a unit that was given, and what became of it.
type source struct {
	unit     int
	action   Action
	strategy Strategy
}

func (p *part) protected() bool { return p.Priority == PriorityP1 }

func tokensOf(parts []part) (sum int) {
	for i := range parts {
		sum += parts[i].Tokens
	}
	return sum
}
