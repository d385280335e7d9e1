package layers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Work counts what the calls of tools in a conversation did. A call that failed
// counts as what it did as well.
type Work struct {
	Calls    int `json:"calls"` // of all kinds but plans, thoughts and questions
	Edits    int `json:"edits,omitempty"`
	Tests    int `json:"tests,omitempty"` // and builds, linters, type checks
	Failed   int `json:"failed,omitempty"`
	Reads    int `json:"reads,omitempty"`
	Searches int `json:"searches,omitempty"` // in files and in the web, and lists of files
	Upkeep   int `json:"upkeep,omitempty"`   // version control
	Commands int `json:"commands,omitempty"` // of no other kind
}

func (w Work) plus(o Work) Work {
	return Work{
		Calls: w.Calls + o.Calls, Edits: w.Edits + o.Edits, Tests: w.Tests + o.Tests, Failed: w.Failed + o.Failed,
		Reads: w.Reads + o.Reads, Searches: w.Searches + o.Searches, Upkeep: w.Upkeep + o.Upkeep, Commands: w.Commands + o.Commands,
	}
}

// ProfileScore is how much work speaks for a profile, from 0 to 100.
type ProfileScore struct {
	Profile ProfileName
	Score   int
}

// ProfileChoice is the profile that the work of a session's conversations comes
// to.
type ProfileChoice struct {
	Profile ProfileName
	Reason  string         // names the counts that decided
	Scores  []ProfileScore // of all that can be pointed to, by the newest conversations
}

// Reach is how many of the newest conversations a choice looks at.
func (p *Profiles) Reach() int { return p.LookBack + p.Conversations + p.InARow - 2 }

// Choose returns the profile for the conversation after those with the work
// given, oldest first, of which the newest Reach count.
//
// At the end of each conversation the newest Conversations together point to the
// profile with the highest score, to balanced if none reaches LeastScore, and to
// nothing if they have fewer than LeastCalls calls. The newest profile that
// InARow conversations one after another pointed to is chosen, so that one
// conversation of another kind changes nothing; balanced if there is none within
// LookBack.
func (p *Profiles) Choose(work []Work) ProfileChoice {
	work = work[max(0, len(work)-p.Reach()):]
	choice := ProfileChoice{Profile: ProfileBalanced, Scores: p.scores(p.recent(work, len(work)))}
	if len(work) == 0 {
		choice.Reason = "no conversation is complete yet"
		return choice
	}
	var last ProfileName
	run := 0
	for end := len(work); end > 0; end-- {
		sum := p.recent(work, end)
		pointed := p.pointed(sum)
		if pointed == "" || pointed != last {
			run = 0
		}
		if last = pointed; pointed != "" {
			run++
		}
		if run < p.InARow {
			continue
		}
		// The counts are those of the newest conversation of the run.
		newest := end + run - 1
		choice.Profile, choice.Reason = pointed, p.reason(pointed, p.recent(work, newest), min(newest, p.Conversations))
		if kept := len(work) - newest; kept > 0 {
			choice.Reason += fmt.Sprintf("; no other was pointed to %s in the %s since", inARow(p.InARow), conversations(kept))
		}
		return choice
	}
	choice.Reason = fmt.Sprintf("no profile was pointed to %s in the last %s", inARow(p.InARow), conversations(len(work)))
	return choice
}

// recent adds up the work of the newest conversations before an end.
func (p *Profiles) recent(work []Work, end int) (sum Work) {
	for _, w := range work[max(0, end-p.Conversations):end] {
		sum = sum.plus(w)
	}
	return sum
}

// pointed returns the profile that work points to, "" if it is too little.
func (p *Profiles) pointed(sum Work) ProfileName {
	if sum.Calls < p.LeastCalls {
		return ""
	}
	best := ProfileScore{ProfileBalanced, p.LeastScore - 1}
	for _, s := range p.scores(sum) {
		if s.Score > best.Score {
			best = s
		}
	}
	return best.Profile
}

// scores returns the score of each profile, in the order in which ties are
// decided.
func (p *Profiles) scores(sum Work) []ProfileScore {
	out := make([]ProfileScore, 0, len(detectedProfiles))
	for _, name := range detectedProfiles {
		own, _ := p.Of(name)
		score := 0
		for _, part := range own.Weights.parts(sum) {
			score += part.weight * part.count
		}
		out = append(out, ProfileScore{name, min(max(score/max(sum.Calls, 1), 0), 100)})
	}
	return out
}

// part is what one kind of calls counts for a profile.
type part struct {
	weight, count int
	did           string
}

func (w *Weights) parts(sum Work) []part {
	return []part{
		{w.Edits, sum.Edits, "changed files"}, {w.Tests, sum.Tests, "ran tests or checks"}, {w.Failed, sum.Failed, "failed"},
		{w.Reads, sum.Reads, "read files"}, {w.Searches, sum.Searches, "searched"}, {w.Upkeep, sum.Upkeep, "used version control"},
		{w.Commands, sum.Commands, "ran other commands"},
	}
}

// reason names the counts that speak for a profile, what counts most first.
func (p *Profiles) reason(name ProfileName, sum Work, n int) string {
	of := fmt.Sprintf("%d calls of the last %s", sum.Calls, conversations(n))
	own, ok := p.Of(name)
	if !ok {
		return fmt.Sprintf("the %s speak for no profile with a score of %d", of, p.LeastScore)
	}
	parts := own.Weights.parts(sum)
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.weight*b.count, a.weight*a.count) })
	var b strings.Builder
	for _, part := range parts {
		switch {
		case part.weight*part.count <= 0:
		case b.Len() == 0:
			fmt.Fprintf(&b, "%d of %s %s", part.count, of, part.did)
		default:
			fmt.Fprintf(&b, ", %d %s", part.count, part.did)
		}
	}
	return b.String()
}

func conversations(n int) string {
	if n == 1 {
		return "conversation"
	}
	return fmt.Sprintf("%d conversations", n)
}

func inARow(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}
