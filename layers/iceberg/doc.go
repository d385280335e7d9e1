// Package iceberg is the table that says how much of the four tiers a model call
// gets, by how much of the budget is left.
//
// Tier 1 is what is always there: system prompts, layer 0 and what the user asks
// now. Tier 2 are memory items, tier 3 the files that messages refer to, tier 4 the
// messages before. The table is the specification's; other rules can take its
// place.
//
// It guarantees that a table covers every share from 0 to 100 percent once, that a
// share has one rule, and that tier 1 is no part of any rule: nothing can leave it
// out. It does not know where budgets come from, counts nothing and reads nothing.
package iceberg

import (
	"fmt"
	"math"
)

// Tier is one of the four.
type Tier int

// Tiers.
const (
	Always  Tier = 1 // system prompts, layer 0, what is asked now
	Memory  Tier = 2 // memory items
	Files   Tier = 3 // files that messages refer to
	History Tier = 4 // the messages before
)

// All lists the tiers.
func All() []Tier { return []Tier{Always, Memory, Files, History} }

// Name is what a tier is called.
func (t Tier) Name() string {
	switch t {
	case Always:
		return "always"
	case Memory:
		return "memory"
	case Files:
		return "files"
	case History:
		return "history"
	}
	return ""
}

// FileMode is how files are shown.
type FileMode string

// Modes, from least to most.
const (
	FilesNone    FileMode = "none"
	FilesOutline FileMode = "outline"
	FilesFull    FileMode = "full"
)

// FileModes lists the modes.
func FileModes() []FileMode { return []FileMode{FilesNone, FilesOutline, FilesFull} }

// Unbounded is the number of items or messages that leaves none out.
const Unbounded = -1

// Rule is what the tiers hold in a range of budgets.
type Rule struct {
	Below    int      `json:"below"` // percent that is left at most, not included; Top for the last rule
	Items    int      `json:"items"` // memory items, or Unbounded
	Files    FileMode `json:"files"`
	Messages int      `json:"messages"` // of the history, or Unbounded
}

// Top is Below of the last rule.
const Top = 101

// MaxRules bounds a table.
const MaxRules = 20

// Rules is a table, by Below.
type Rules []Rule

// Default is the specification's table.
func Default() Rules {
	return Rules{
		{Below: 40, Items: 1, Files: FilesNone, Messages: 0},
		{Below: 60, Items: 3, Files: FilesOutline, Messages: 2},
		{Below: 80, Items: Unbounded, Files: FilesFull, Messages: 5},
		{Below: Top, Items: Unbounded, Files: FilesFull, Messages: 10},
	}
}

// RuleError says which number of a table is wrong.
type RuleError struct {
	Rule    int
	Member  string
	Message string
	Limit   int // that was passed; 0 if there is none
}

// Error names rule and member.
func (e *RuleError) Error() string {
	return fmt.Sprintf("rules[%d].%s: %s", e.Rule, e.Member, e.Message)
}

// Check returns a *RuleError for the first number that is wrong.
func (r Rules) Check() error {
	before := 0
	for i, rule := range r {
		bad := func(member, message string, limit int) error { return &RuleError{i, member, message, limit} }
		last := i == len(r)-1
		switch {
		case i >= MaxRules:
			return bad("below", "too many rules", MaxRules)
		case last && rule.Below != Top:
			return bad("below", "must be absent in the last rule, which holds for all that is left", 0)
		case !last && (rule.Below <= before || rule.Below > 100):
			return bad("below", "must be more than that of the rule before, and at most 100", 100)
		case rule.Items < Unbounded:
			return bad("items", "must not be negative", 0)
		case rule.Messages < Unbounded:
			return bad("messages", "must not be negative", 0)
		case rule.Files != FilesNone && rule.Files != FilesOutline && rule.Files != FilesFull:
			return bad("files", fmt.Sprintf("must be one of %q", FileModes()), 0)
		}
		before = rule.Below
	}
	if len(r) == 0 {
		return &RuleError{0, "below", "there must be a rule", 0}
	}
	return nil
}

// Of returns the rule of a share that is left, in percent, and what its range is
// called.
func (r Rules) Of(percent float64) (rule Rule, name string) {
	before := 0
	for _, rule = range r {
		if percent < float64(rule.Below) || rule.Below == Top {
			break
		}
		before = rule.Below
	}
	switch {
	case rule.Below == Top && before == 0:
		return rule, "all"
	case rule.Below == Top:
		return rule, fmt.Sprintf(">=%d%%", before)
	case before == 0:
		return rule, fmt.Sprintf("<%d%%", rule.Below)
	}
	return rule, fmt.Sprintf("%d-%d%%", before, rule.Below)
}

// With returns a rule with tiers forced in: they hold what they hold in the rule
// for the most that is left.
func (r Rules) With(rule Rule, forced []Tier) Rule {
	full := r[len(r)-1]
	for _, tier := range forced {
		switch tier {
		case Memory:
			rule.Items = more(rule.Items, full.Items)
		case Files:
			if rank(full.Files) > rank(rule.Files) {
				rule.Files = full.Files
			}
		case History:
			rule.Messages = more(rule.Messages, full.Messages)
		}
	}
	return rule
}

func more(a, b int) int {
	if a == Unbounded || b == Unbounded {
		return Unbounded
	}
	return max(a, b)
}

func rank(m FileMode) int {
	switch m {
	case FilesFull:
		return 2
	case FilesOutline:
		return 1
	}
	return 0
}

// Left is how much of a limit is left, in percent with three decimals: 0 when it is
// used up.
func Left(used, limit int64) float64 {
	if used >= limit {
		return 0
	}
	return math.Round(float64(limit-max(used, 0))/float64(limit)*100_000) / 1000
}
