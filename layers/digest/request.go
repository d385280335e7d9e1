package digest

import (
	"strings"

	"hexapla/layers"
)

// requestWith picks the sentence of a query that asks for something, without
// its polite beginning, and what follows it while there is room.
func requestWith(query string, room int, c layers.Counter) string {
	list := sentences(query)
	if len(list) > 60 {
		list = list[:60]
	}
	best, score := 0, -100
	for i, x := range list {
		if n := requestScore(x, i, len(list)); n > score {
			best, score = i, n
		}
	}
	if len(list) == 0 {
		return oneLiner(cutAtRune(query, 400), room, c)
	}
	text := strings.TrimRight(withoutLeadIn(list[best].text, false), " .:,;")
	for _, x := range list[best+1:] {
		if left := room - c.Count(text); x.heading || left < 8 {
			break
		} else if next := oneLiner(x.text, left-2, c); len(next) < len(x.text) && left < 12 {
			break
		} else if next != "" {
			text = ended(text) + " " + next
		}
	}
	return oneLiner(strings.TrimRight(text, " .:,;"), room, c)
}

func requestScore(x sentence, i, n int) int {
	text := withoutLeadIn(x.text, false)
	l := strings.ToLower(x.text)
	score := 0
	first, _, _ := strings.Cut(strings.ToLower(text), " ")
	if requestVerb(strings.Trim(first, ",.:?!")) {
		score += 3
	}
	for _, cue := range [...]string{"i'd like", "i would like", "can you", "could you", "can we", "please", "need to", "we should", "should be", "let's", "i want", "help me", "how do", "how can", "why "} {
		if strings.Contains(l, cue) {
			score += 3
			break
		}
	}
	if strings.HasSuffix(x.text, "?") {
		score += 2
	}
	score += min(weightOf(text), 2)
	switch {
	case i == 0:
		score += 3
	case i == n-1:
		score++
	}
	words := len(strings.Fields(text))
	switch {
	case words < 3:
		score -= 4
	case words > 45:
		score--
	}
	if weak(text) {
		score -= 3
	}
	if x.heading || x.item {
		score--
	}
	if x.lead && words < 6 {
		score -= 2
	}
	return score
}

// firstIntent is what the assistant first said it would do.
func (s *survey) firstIntent() string {
	for _, t := range s.texts {
		for _, x := range sentences(cutAtRune(t.text, 2000)) {
			text := withoutLeadIn(x.text, false)
			if !x.heading && !weak(text) && !strings.HasSuffix(text, "?") {
				return strings.TrimRight(text, " .:,;")
			}
		}
	}
	return ""
}
