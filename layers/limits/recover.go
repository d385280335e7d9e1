package limits

import (
	"encoding/json"
	"slices"
	"strings"
)

// MaxHandover is the tokens of a handover summary at most.
const MaxHandover = 500

// Recover gives up a context that cannot be broken down (requirement B6), in the
// mode that is set: for a fresh start a handover summary with priority 1, and what
// fits of the units of priority 1 beside it, newest first; truncated, the newest
// units that fit, those of priority 1 first. With Fail the result has no units and
// no success. task is what the handover says is to be gone on with; it may be empty.
func (b *Breaker) Recover(units []Unit, about, task string, limit Limit, watch Watch) Result {
	r := b.start(units, about, limit)
	out := Result{Before: r.tokens, Limit: limit, Recovery: b.Config.RecoveryMode}
	watch.tell(PhaseRecovery, "", r.tokens)
	given := r.parts
	var front []part
	if out.Recovery == FreshStart {
		front = []part{r.handover(given, task, &out)}
	}
	r.parts = nil
	if out.Recovery != Fail {
		r.parts = r.newest(given, front, out.Recovery == Truncate)
		out.Success = true
	}
	r.finish(&out)
	out.Success = out.Success && out.After <= limit.Tokens
	if len(r.parts) > 0 {
		out.Coherence = r.coherence()
	}
	if out.Recovery == FreshStart {
		watch.tell(PhaseHandover, "", out.After)
	}
	return out
}

// handover is the first unit of a fresh start. It stands for all units.
func (r *run) handover(given []part, task string, out *Result) part {
	const before, after = "Resuming from overflow:\n", "Continue the task.\n"
	end := after
	if task = strings.Join(strings.Fields(task), " "); task != "" {
		end = "Continue task " + task + ".\n"
	}
	room := min(MaxHandover, r.limit.Warning) - r.Counter.Count(before) - r.Counter.Count(end)
	p := part{Unit: Unit{ID: r.name("handover-fresh"), Kind: KindSummary, Priority: PriorityP1}}
	out.Handover = r.Summarize(r.units, room)
	p.Text = before + out.Handover + end
	p.Tokens = r.Counter.Count(p.Text)
	for i := range given {
		p.of = append(p.of, become(given[i].of, ActionSummarized, "")...)
	}
	return p
}

// newest puts the newest units behind those in front, as many as fit: those of
// priority 1, then, if all may stay, the others.
func (r *run) newest(given, front []part, all bool) []part {
	left := r.limit.Warning - tokensOf(front)
	stay := make([]bool, len(given))
	for _, p1 := range []bool{true, false} {
		if !p1 && !all {
			break
		}
		for i := len(given) - 1; i >= 0; i-- {
			if given[i].protected() != p1 {
				continue
			}
			if given[i].Tokens > left {
				if !p1 {
					break // without a gap
				}
				continue
			}
			left -= given[i].Tokens
			stay[i] = true
		}
	}
	out := slices.Clone(front)
	for i := range given {
		if stay[i] {
			out = append(out, given[i])
		}
	}
	return out
}

func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil { // a string always encodes
		return `""`
	}
	return string(b)
}
