package history

// ReasonOlder is the reason of messages that are older than what is kept.
const ReasonOlder Reason = "older"

// Always is what stays of a list whatever else goes: the system prompts, the newest
// message with what belongs to it, and the user's newest words.
func (l *List) Always() Outcome {
	keep, why := l.always(), make([]Reason, len(l.Units))
	return l.outcome(keep, why)
}

func (l *List) always() []bool {
	keep := make([]bool, len(l.Units))
	newest := l.newest()
	for i := range l.Units {
		keep[i] = l.Units[i].System || i == newest
	}
	for i := len(l.Units) - 1; i >= 0; i-- { // what the newest belongs to may have begun before
		if u := &l.Units[i]; u.Opens && (!u.Broken || i == newest) {
			keep[i] = true
			break
		}
	}
	return keep
}

// Recent chooses what stays by how new it is: what [List.Always] names, and of the
// other units the newest, one after another, as long as they are at most so many
// messages, and tokens, together; a negative number of messages bounds nothing. What
// stays may begin with an answer, so a message of the user's must stand in front.
func (l *List) Recent(messages, tokens int) Outcome {
	keep, why := l.always(), make([]Reason, len(l.Units))
	for i := len(l.Units) - 1; i >= 0; i-- {
		u := &l.Units[i]
		switch {
		case keep[i]:
			continue
		case u.Broken:
			why[i] = ReasonBroken
			continue
		case messages >= 0 && len(u.Messages) > messages, u.Tokens > tokens:
			messages, tokens = 0, -1 // nothing older
			why[i] = ReasonOlder
			continue
		}
		keep[i] = true
		tokens -= u.Tokens
		if messages > 0 {
			messages -= len(u.Messages)
		}
	}
	return l.outcome(keep, why)
}
