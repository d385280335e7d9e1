package layers

// Window is where layer 1 begins.
type Window struct {
	Base  int // conversations before it
	Start int // number, from 1, of the conversation whose opening moved it there; 1 if it never moved
	// Seq is the sequence at which it was moved in the middle of conversation
	// Start, 0 if its opening moved it.
	Seq int64
	// Gate is the newest decision, Decided the number of the conversation at
	// whose opening it was taken.
	Gate    Gate
	Decided int
}

// Windows says where layer 1 may begin. Its zero Active stands for the policy's
// ActiveMemory.
//
// Layer 1 grows from ActiveMemory completed conversations to ActiveMemory +
// WindowStep - 1 and then demotes WindowStep at once, so that its beginning,
// and with it the pack's prefix, moves once in WindowStep conversations.
type Windows struct {
	Policy Policy
	// Active returns the ActiveMemory, from 1 to MaxActiveMemory, for the step
	// after which so many conversations lie before layer 1. It must be a matter
	// of what was known when the conversation after those opened, so that it is
	// settled before the step is due and no change of it moves the window.
	Active func(base int) int
}

// MaxActiveMemory is the most that Policy.ActiveMemory may be.
const MaxActiveMemory = 10

func (w Windows) active(base int) int {
	if w.Active == nil {
		return w.Policy.ActiveMemory
	}
	return w.Active(base)
}

// Opens returns the number of the conversation whose opening may move the window
// to a base, which is a multiple of the step.
func (w Windows) Opens(base int) int {
	n := base + w.active(base) + 1
	if w.Active == nil {
		return n
	}
	// A step is not due before the one before it.
	for b := base - w.Policy.WindowStep; b > 0 && b > base-MaxActiveMemory; b -= w.Policy.WindowStep {
		n = max(n, b+w.active(b)+1)
	}
	return n
}

// newest returns the largest base, of multiples of a step, that n opened
// conversations may have moved the window to.
func (w Windows) newest(n, step int) int {
	base := max(n-2, 0) / step * step
	for base > 0 && w.Opens(base) > n {
		base -= step
	}
	return base
}

// Base returns how many of a session's conversations lie before layer 1 at the
// most when n have been opened, the newest of which may be in progress.
func (w Windows) Base(n int) int { return w.newest(n, w.Policy.WindowStep) }

// From returns the number of conversations that At need not know the sizes of,
// when n have been opened.
func (w Windows) From(n int) int {
	return w.newest(n, w.Policy.WindowStep*(w.Policy.WindowDeferrals+1))
}

// At returns where layer 1 begins when n conversations have been opened. sizes
// are those of the conversations from From(n) on that are complete.
//
// Base says where it may move. It does where the gate says that this pays, and
// after WindowDeferrals times in a row that it did not. So the window is a
// function of the conversations alone.
func (w Windows) At(n int, sizes []ConversationSize, prices CachePrices) Window {
	p := w.Policy
	from := w.From(n)
	at := Window{Base: from, Start: 1}
	if from > 0 {
		at.Start = w.Opens(from)
		at.Gate.Decision, at.Decided = GateForced, at.Start
	}
	sum := func(a, b int) (s ConversationSize) {
		for i := max(a-from, 0); i < min(b-from, len(sizes)); i++ {
			s.Tokens += sizes[i].Tokens
			s.Calls += sizes[i].Calls
		}
		return s
	}
	for base, last := from+p.WindowStep, w.Base(n); base <= last; base += p.WindowStep {
		opened := w.Opens(base)
		leave, keep, lately := sum(at.Base, base), sum(base, opened-1), sum(opened-1-p.WindowStep, opened-1)
		front := CapHeader*min(base, MaxHeaders) + CapSummary*p.Summaries
		at.Decided = opened
		at.Gate = Weigh(max(leave.Tokens-CapHeader*(base-at.Base), 0), keep.Tokens+front, lately.Calls, prices)
		if at.Gate.Decision == GatePays {
			at.Base, at.Start = base, opened
		}
	}
	return at
}

// Moved returns the window when n conversations have been opened, of which m
// were when it was moved by hand at a sequence, under an ActiveMemory of its own.
// then is the window at m, now the one at n without that.
func (w Windows) Moved(then, now Window, m int, seq int64, active int) Window {
	own := Windows{Policy: w.Policy}
	own.Policy.ActiveMemory = active
	base := max(then.Base, own.Base(m))
	if now.Start > m && now.Base > base {
		return now // it has moved on since
	}
	return Window{Base: base, Start: m, Seq: seq}
}

// WindowBase returns how many of a session's conversations lie before layer 1
// at the most when n have been opened, the newest of which may be in progress.
func (p Policy) WindowBase(n int) int { return Windows{Policy: p}.Base(n) }

// WindowStart returns the number, from 1, of the conversation whose opening
// may have made the window's base what it is for n conversations.
func (p Policy) WindowStart(n int) int {
	base := p.WindowBase(n)
	if base == 0 {
		return 1
	}
	return Windows{Policy: p}.Opens(base)
}

// WindowFrom is Windows.From for the policy alone.
func (p Policy) WindowFrom(n int) int { return Windows{Policy: p}.From(n) }

// Window is Windows.At for the policy alone.
func (p Policy) Window(n int, sizes []ConversationSize, prices CachePrices) Window {
	return Windows{Policy: p}.At(n, sizes, prices)
}
