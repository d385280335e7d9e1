package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Reason is why a message was removed.
type Reason string

// Reasons.
const (
	ReasonBudget  Reason = "budget"  // others are worth more
	ReasonOpening Reason = "opening" // it stood before the first words of the user that are kept
	ReasonBroken  Reason = "broken"  // a result without its call, or a call without its result
)

// Removal is a message that was removed.
type Removal struct {
	Message int // index
	Reason  Reason
}

// Outcome is which messages stay and which go; each index is in one of the two.
type Outcome struct {
	Kept    []int
	Removed []Removal
	Tokens  int // of the kept ones
}

// TooSmallError says that what always stays does not fit.
type TooSmallError struct {
	Budget int // as asked
	Needed int // the smallest that works
}

// Error names both.
func (e *TooSmallError) Error() string {
	return fmt.Sprintf("budget: %d tokens are too few; system prompts and the newest message take %d", e.Budget, e.Needed)
}

// Prune chooses what stays in a budget of tokens: the system prompts, the newest
// message with what belongs to it, the user's newest words, then what has the
// highest scores (requirement P2). A list without problems that fits stays as it
// is. The error is a *TooSmallError.
func (l *List) Prune(budget int) (Outcome, error) {
	keep := make([]bool, len(l.Units))
	why := make([]Reason, len(l.Units))
	used, newest := 0, l.newest()
	take := func(i int) {
		if !keep[i] {
			keep[i] = true
			used += l.Units[i].Tokens
		}
	}
	for i := range l.Units {
		if l.Units[i].System || i == newest {
			take(i)
		}
	}
	if used > budget {
		return Outcome{}, &TooSmallError{budget, used}
	}
	fits := func(i int) bool { return used+l.Units[i].Tokens <= budget }
	if newest >= 0 && !l.Units[newest].Opens {
		for i := newest - 1; i >= 0; i-- {
			if u := &l.Units[i]; u.Opens && !u.Broken {
				if fits(i) {
					take(i)
				}
				break
			}
		}
	}
	order := make([]int, 0, len(l.Units))
	for i := range l.Units {
		switch {
		case keep[i]:
		case l.Units[i].Broken:
			why[i] = ReasonBroken
		default:
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(l.Units[b].Score, l.Units[a].Score), cmp.Compare(b, a))
	})
	fill := func(from int) {
		for _, i := range order {
			if i >= from && !keep[i] && fits(i) {
				take(i)
			}
		}
	}
	fill(0)
	if opening := l.opening(keep); opening > 0 {
		for i := range opening {
			if keep[i] && !l.Units[i].System && i != newest {
				keep[i], why[i] = false, ReasonOpening
				used -= l.Units[i].Tokens
			}
		}
		fill(opening)
	}
	return l.outcome(keep, why), nil
}

// newest is the unit of the newest message, -1 if there is none.
func (l *List) newest() int {
	last := len(l.Messages) - 1
	for i := len(l.Units) - 1; i >= 0; i-- {
		if slices.Contains(l.Units[i].Messages, last) {
			return i
		}
	}
	return -1
}

// opening is the first unit that stays of the user's own words; 0 where there is
// none, or nothing to put right.
func (l *List) opening(keep []bool) int {
	for i := range l.Units {
		if keep[i] && l.Units[i].Opens {
			return i
		}
	}
	return 0
}

func (l *List) outcome(keep []bool, why []Reason) Outcome {
	var out Outcome
	unit := make([]int, len(l.Messages))
	for i := range l.Units {
		for _, m := range l.Units[i].Messages {
			unit[m] = i
		}
	}
	for m := range l.Messages {
		switch i := unit[m]; {
		case keep[i]:
			out.Kept = append(out.Kept, m)
			out.Tokens += l.Messages[m].Tokens
		case why[i] == "":
			out.Removed = append(out.Removed, Removal{m, ReasonBudget})
		default:
			out.Removed = append(out.Removed, Removal{m, why[i]})
		}
	}
	return out
}
