package limits

import (
	"slices"

	"hexapla/layers"
	"hexapla/layers/terms"
)

// Breaker breaks contexts down to their limits. It can be used again and again.
type Breaker struct {
	Config  Config
	Counter layers.Counter
	Meaning Meaning
}

// Step is one strategy that was tried.
type Step struct {
	Round    int // from 1
	Strategy Strategy
	Before   int // tokens
	After    int
	// Coherence is how near the context is to the one that was given, after the
	// step: at most 1.
	Coherence float64
	Undone    bool // it was too low, and the step was taken back
}

// Result is what a context was broken down to.
type Result struct {
	Units    []Unit // in order
	Fates    []Fate // of the units that were given
	Steps    []Step
	Before   int // tokens
	After    int
	Limit    Limit
	Success  bool // it is within the limit
	Recovery RecoveryMode
	// Coherence is how near the result is to what was given; 1 where nothing was
	// done.
	Coherence float64
	// Handover is the summary of a fresh start.
	Handover  string
	P1, P1Met int // units of priority 1 that were given, and that are there to the byte
}

// Preserved is the share of the units of priority 1 that are there, 1 without any.
func (r *Result) Preserved() float64 {
	if r.P1 == 0 {
		return 1
	}
	return terms.Round(float64(r.P1Met) / float64(r.P1))
}

// Watch is told of phases while they go on; it may be nil.
type Watch func(phase PhaseName, strategy Strategy, tokens int)

func (w Watch) tell(phase PhaseName, strategy Strategy, tokens int) {
	if w != nil {
		w(phase, strategy, tokens)
	}
}

// run is one breaking.
type run struct {
	*Breaker
	limit    Limit
	about    []string
	original []string
	parts    []part
	tokens   int
	names    map[string]bool // ids that are taken
	units    []Unit          // as given
}

// Break makes a context smaller until it is at its warning mark, strategy by
// strategy in the order that is set, for as many rounds as are set; about is what
// it is about, the newest units where that is empty. A context below the mark stays
// as it is. Units are counted.
func (b *Breaker) Break(units []Unit, about string, limit Limit, watch Watch) Result {
	r := b.start(units, about, limit)
	out := Result{Before: r.tokens, Limit: limit, Coherence: 1}
	if r.tokens > limit.Warning {
		watch.tell(PhaseDetection, "", r.tokens)
		out.Steps, out.Coherence = r.chain(watch)
	}
	r.finish(&out)
	out.Success = out.After <= limit.Tokens
	return out
}

func (b *Breaker) start(units []Unit, about string, limit Limit) *run {
	r := &run{Breaker: b, limit: limit, names: make(map[string]bool, len(units)), units: units}
	r.tokens = Count(units, b.Counter)
	r.parts = make([]part, len(units))
	for i := range units {
		r.parts[i] = part{Unit: units[i], of: []source{{unit: i, action: ActionKept}}}
		r.names[units[i].ID] = true
		r.original = append(r.original, units[i].Text)
	}
	r.about = []string{about}
	if about == "" && len(units) > 0 {
		r.about = r.original[len(units)-r.recent(len(units)):]
	}
	return r
}

// recent is how many of n units count as recent, at least one.
func (r *run) recent(n int) int {
	return max(ceil(float64(n)*r.Config.RecentBias), min(n, 1))
}

func ceil(x float64) int {
	n := int(x)
	if float64(n) < terms.Round(x) {
		n++
	}
	return n
}

// chain tries strategies, round by round.
func (r *run) chain(watch Watch) (steps []Step, coherence float64) {
	coherence = 1
	for round := 1; round <= r.Config.MaxIterations; round++ {
		changed := false
		for _, strategy := range r.Config.Chain {
			if r.tokens <= r.limit.Warning {
				return steps, coherence
			}
			watch.tell(phaseOf(strategy), strategy, r.tokens)
			parts, tokens := r.parts, r.tokens
			r.parts = slices.Clone(parts)
			if !r.try(strategy) {
				r.parts = parts
				continue
			}
			r.tokens = tokensOf(r.parts)
			if r.tokens >= tokens {
				r.parts, r.tokens = parts, tokens
				continue
			}
			step := Step{Round: round, Strategy: strategy, Before: tokens, After: r.tokens, Coherence: r.coherence()}
			if step.Coherence < r.leastCoherence(strategy) {
				step.Undone = true
				r.parts, r.tokens = parts, tokens
			} else {
				changed, coherence = true, step.Coherence
			}
			steps = append(steps, step)
		}
		if !changed {
			break
		}
	}
	return steps, coherence
}

// coherence is how near the context is to the one that was given.
func (r *run) coherence() float64 {
	texts := make([]string, len(r.parts))
	for i := range r.parts {
		texts[i] = r.parts[i].Text
	}
	return r.Meaning.Near(r.original, [][]string{texts})[0]
}

func (r *run) leastCoherence(s Strategy) float64 {
	switch s {
	case SummarizeOld, ContentChunking:
		return r.Config.SummaryCoherence
	}
	return r.Config.DiscardCoherence
}

// try runs a strategy and tells whether it changed anything.
func (r *run) try(s Strategy) bool {
	switch s {
	case SummarizeOld:
		return r.summarizeOld(s)
	case PrioritizeRecent:
		return r.prioritizeRecent(s)
	case ContentChunking:
		return r.chunk(s)
	case DiscardLowRel:
		return r.discardLowRel(s)
	case Hybrid:
		return r.hybrid(s)
	}
	return false
}

// finish writes down what there is and what became of each unit.
func (r *run) finish(out *Result) {
	out.Units = make([]Unit, len(r.parts))
	out.Fates = make([]Fate, len(r.units))
	for i := range out.Fates {
		out.Fates[i] = Fate{Action: ActionDiscarded, Unit: -1}
	}
	for i := range r.parts {
		p := &r.parts[i]
		out.Units[i] = p.Unit
		out.After += p.Tokens
		for _, s := range p.of {
			out.Fates[s.unit] = Fate{Action: s.action, Strategy: s.strategy, Unit: i}
		}
	}
	for i := range r.units {
		if r.units[i].Priority == PriorityP1 {
			out.P1++
			if out.Fates[i].Action == ActionKept {
				out.P1Met++
			}
		}
	}
}

// name returns an id that no unit has.
func (r *run) name(want string) string {
	id := want
	for n := 2; r.names[id]; n++ {
		id = numbered(want, n)
	}
	r.names[id] = true
	return id
}
