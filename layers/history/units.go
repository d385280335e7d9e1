package history

// ProblemKind is something in a list that a provider would refuse.
type ProblemKind string

// Kinds of problems.
const (
	ProblemOrphan     ProblemKind = "orphanedResult" // a result whose call no message before it makes
	ProblemUnanswered ProblemKind = "unansweredCall" // a call that no message after it answers
)

// Problem is one in a list.
type Problem struct {
	Message int // index
	Kind    ProblemKind
}

// Unit is messages that stay or go together, in their order.
type Unit struct {
	Messages []int // indices
	Tokens   int
	Score    float64 // the highest of its messages
	System   bool
	Opens    bool // it is the user's own words
	Broken   bool // it holds an orphaned result or an unanswered call
}

// List is messages grouped into units.
type List struct {
	Messages []Message
	Units    []Unit // by their first messages
	Problems []Problem
	Tokens   int
}

// New groups messages.
func New(messages []Message) *List {
	l := &List{Messages: messages}
	n := len(messages)
	first := make([]int, n) // the first message of each one's unit, by way of others
	for i := range first {
		first[i] = i
	}
	find := func(i int) int {
		for first[i] != i {
			first[i] = first[first[i]]
			i = first[i]
		}
		return i
	}
	join := func(a, b int) {
		if a, b = find(a), find(b); a != b {
			first[max(a, b)] = min(a, b)
		}
	}
	broken := make([]bool, n)
	open := map[string][]int{} // messages with a call of a key that waits for its result, oldest first
	for i := range messages {
		m := &messages[i]
		for _, key := range m.results {
			waiting := open[key]
			if len(waiting) == 0 {
				broken[i] = true
				l.Problems = append(l.Problems, Problem{i, ProblemOrphan})
				continue
			}
			join(waiting[0], i)
			open[key] = waiting[1:]
		}
		for _, key := range m.calls {
			open[key] = append(open[key], i)
		}
		if m.leans && i+1 < n {
			join(i, i+1)
		}
	}
	// A call in the newest message is on its way.
	for i := range max(n-1, 0) {
		for _, key := range messages[i].calls {
			if waiting := open[key]; len(waiting) > 0 && waiting[0] == i {
				open[key] = waiting[1:]
				broken[i] = true
				l.Problems = append(l.Problems, Problem{i, ProblemUnanswered})
			}
		}
	}
	place := make([]int, n) // of units, by their first messages
	for i := range messages {
		m := &messages[i]
		at := find(i)
		if at == i {
			place[i] = len(l.Units)
			l.Units = append(l.Units, Unit{System: m.Role == RoleSystem, Opens: m.Role == RoleUser})
		}
		u := &l.Units[place[at]]
		u.Messages = append(u.Messages, i)
		u.Tokens += m.Tokens
		u.Score = max(u.Score, m.score(i, n).Total)
		u.Broken = u.Broken || broken[i]
		l.Tokens += m.Tokens
	}
	return l
}

// Score is that of a message, with its parts.
func (l *List) Score(i int) Score { return l.Messages[i].score(i, len(l.Messages)) }
