package digest

import (
	"sort"
	"strings"

	"hexapla/layers"
)

// Shares of layer 0 in tokens.
const (
	capNarrative = 110
	capObjective = 40
	capState     = 44
)

// CurrentContext makes layer 0 by rule (requirement H1): the story from the
// first conversation over the milestones to the newest, the objective from
// the conversation in progress or the last query, achievements from
// conversations that changed or decided something, active entities by recency
// and frequency, the state from the last edits and checks, and next steps from
// todo lists and open questions. Rendered it has at most 300 tokens.
func CurrentContext(in Story, c layers.Counter) layers.CurrentContext {
	var s *survey
	if in.Ongoing != nil {
		s = surveyOf(in.Ongoing.Conversation, c)
	}
	prev, trios := in.Previous, in.Trios
	var told []string // sentences of the story so far
	if continues(prev, trios) {
		for _, x := range sentences(prev.OverallNarrative) {
			told = append(told, ended(x.text))
		}
		trios = newerThan(trios, prev.LastUpdated)
	} else {
		prev = nil
	}
	cc := layers.CurrentContext{
		OverallNarrative: narrative(told, trios, s, c),
		CurrentObjective: objective(prev, in.Trios, s, c),
		KeyAchievements:  achievements(prev, trios, c),
		ActiveEntities:   activeEntities(prev, in.Trios, s),
		ContextualState:  state(prev, in.Trios, s, c),
		NextSteps:        nextSteps(prev, in.Trios, s, c),
		Source:           layers.SourceRule,
	}
	if in.Previous != nil {
		cc.LastUpdated = in.Previous.LastUpdated
	}
	for i := range in.Trios {
		cc.LastUpdated = max(cc.LastUpdated, in.Trios[i].Header.Timestamp)
	}
	if s != nil {
		cc.LastUpdated = max(cc.LastUpdated, s.last)
	}
	cc, _ = TrimCurrentContext(cc, c)
	return cc
}

// continues tells whether the previous version is the base of the new one.
func continues(prev *layers.CurrentContext, trios []Trio) bool {
	if prev == nil || isBlank(prev.OverallNarrative) {
		return false
	}
	return prev.Source == layers.SourceHousekeeping || len(trios) == 0 || trios[0].Header.Timestamp > prev.LastUpdated
}

func newerThan(trios []Trio, t int64) []Trio {
	var out []Trio
	for _, x := range trios {
		if x.Header.Timestamp > t {
			out = append(out, x)
		}
	}
	return out
}

// narrative tells the story in sentences: the first, the last, and between
// them those of most weight that fit, in order.
func narrative(told []string, trios []Trio, s *survey, c layers.Counter) string {
	type point struct {
		text   string
		weight int
	}
	trios = withContent(trios)
	var points []point
	for i, text := range told {
		points = append(points, point{text, 3 + min(weightOf(text), 4) + i*2/max(len(told), 1)})
	}
	for i := range trios {
		w := milestone(&trios[i]) + i*4/max(len(trios), 1) // recent ones matter more
		points = append(points, point{"", w})
	}
	if len(points) == 0 {
		return ""
	}
	n := len(points)
	text := func(i int) string {
		if points[i].text == "" {
			points[i].text = chapter(&trios[i-len(told)], c)
		}
		return points[i].text
	}
	order := make([]int, 0, n)
	for i := range points {
		if i != 0 && i != n-1 {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return points[order[a]].weight > points[order[b]].weight })
	order = append([]int{0, n - 1}, order[:min(len(order), 16)]...)
	taken := make([]bool, n)
	seen := gathering{max: 64}
	left := capNarrative
	for _, i := range order {
		t := text(i)
		if taken[i] || t == "" || seen.has(t) {
			continue
		}
		if k := c.Count(t) + 1; k <= left {
			taken[i] = true
			seen.add(t)
			left -= k
		}
		if left < 6 {
			break
		}
	}
	var out []string
	for i := range points {
		if taken[i] {
			out = append(out, points[i].text)
		}
	}
	return strings.Join(out, " ")
}

// withContent leaves out conversations in which nothing was said or done, such
// as commands of the client, unless there are no others.
func withContent(trios []Trio) []Trio {
	var out []Trio
	for _, t := range trios {
		if t.Header.Summary != "" || len(t.Summary.CodeChanges)+len(t.Summary.KeyDecisions) > 0 || t.Header.Topic != noText && !strings.HasPrefix(t.Header.Topic, "/") {
			out = append(out, t)
		}
	}
	if out == nil {
		return trios
	}
	return out
}

// milestone weighs a conversation by what it changed and decided.
func milestone(t *Trio) int {
	w := min(len(t.Summary.KeyDecisions), 2)
	for _, ch := range t.Summary.CodeChanges {
		w += 2
		if ch.Impact == "high" || ch.ChangeType == "create" {
			w += 2
		}
	}
	if t.Header.Outcome == layers.OutcomeError {
		w++
	}
	if weak(t.Header.Topic) {
		w -= 2
	}
	return min(w, 8)
}

// chapter tells a conversation in a sentence: what came of it, or what it was
// about.
func chapter(t *Trio, c layers.Counter) string {
	text := resultOf(t)
	topic := strings.TrimRight(oneLine(t.Header.Topic), ".")
	switch {
	case text == "":
		text = topic
	case t.Header.Outcome == layers.OutcomeError && topic != "":
		text = topic + " (failed): " + text
	case weightOf(text) < 2 && !weak(topic) && !strings.HasPrefix(text, strings.TrimRight(topic, "….")):
		text = topic + ": " + text
	}
	return ended(oneLiner(text, 24, c))
}

// resultOf is the sentence of a summary that tells what came of it: the first
// one that does not repeat the question.
func resultOf(t *Trio) string {
	content := cutAtRune(t.Summary.Content, 2000)
	if _, after, ok := strings.Cut(content, doneLabel); ok {
		content = after
	} else if _, after, ok := strings.Cut(content, nowLabel); ok {
		content = after
	} else if strings.HasPrefix(content, askedLabel) {
		content = ""
	}
	best, score := "", -1
	for _, x := range sentences(content) {
		if x.heading || weak(x.text) || strings.HasPrefix(x.text, "`") || verdict(x.text) || strings.HasSuffix(x.text, "?") {
			continue
		}
		n := weightOf(x.text)
		if pastVerb(x.text) {
			n += 2
		}
		if strings.Contains(strings.ToLower(x.text), "tests pass") || strings.HasSuffix(x.text, "…") {
			n -= 2
		}
		if n > score {
			best, score = x.text, n
		}
	}
	if best == "" {
		best = oneLine(t.Header.Summary)
	}
	return best
}

// verdict tells whether a sentence of a summary tells how checks went.
func verdict(s string) bool {
	return strings.HasPrefix(s, "Passed") || strings.HasPrefix(s, "Failed: ")
}

// askedIn is what the user asked, as a summary tells it.
func askedIn(t *Trio) string {
	if text, ok := strings.CutPrefix(t.Summary.Content, askedLabel); ok {
		text, _, _ = strings.Cut(text, doneLabel)
		text, _, _ = strings.Cut(text, nowLabel)
		return strings.TrimSpace(cutAtRune(text, 600))
	}
	return oneLine(t.Header.Topic)
}

func objective(prev *layers.CurrentContext, trios []Trio, s *survey, c layers.Counter) string {
	if s != nil && s.query != "" {
		queries := append([]string{s.query}, s.follow...)
		for i := len(queries) - 1; i >= 0; i-- {
			if text := requestWith(queries[i], capObjective, c); text != "" && !weak(text) {
				return ended(capital(text))
			}
		}
	}
	base := ""
	for i := len(trios) - 1; i >= 0 && i > len(trios)-6; i-- {
		text := askedIn(&trios[i])
		if base == "" || weak(base) {
			base = text
		}
	}
	if base == "" && prev != nil {
		base = prev.CurrentObjective
	}
	if s != nil {
		if topic := topicOf(s, c); base == "" || !weak(topic) {
			base = topic
		}
	}
	if base == "" {
		return ""
	}
	return ended(oneLiner(capital(base), capObjective, c))
}

// achievements are the results of conversations that changed or decided
// something, oldest first.
func achievements(prev *layers.CurrentContext, trios []Trio, c layers.Counter) []string {
	g := gathering{max: maxAchievements}
	for i := len(trios) - 1; i >= 0 && !g.full(); i-- {
		t := &trios[i]
		if t.Header.Outcome != layers.OutcomeCompleted || len(t.Summary.CodeChanges) == 0 && len(t.Summary.KeyDecisions) == 0 {
			continue
		}
		line := resultOf(t)
		if len(t.Summary.KeyDecisions) > 0 && (line == "" || len(t.Summary.CodeChanges) == 0) {
			line = t.Summary.KeyDecisions[0]
		}
		g.add(oneLiner(strings.TrimRight(line, "."), 16, c))
	}
	if prev != nil {
		for i := len(prev.KeyAchievements) - 1; i >= 0; i-- {
			g.add(prev.KeyAchievements[i])
		}
	}
	out := make([]string, 0, len(g.list))
	for i := len(g.list) - 1; i >= 0; i-- {
		out = append(out, g.list[i])
	}
	return out
}
