package digest

import (
	"strings"

	"hexapla/layers"
)

// capTopic bounds a header's topic in tokens, so that the topic and the
// one-line summary fit into a rendered header beside id, time and outcome.
const capTopic = 12

// noText is the topic of a conversation in which nothing was said.
const noText = "no text"

// Header makes a conversation's header by rule (requirement H3): the topic from
// what the user asked, the summary from what the assistant answered, the key
// entities by weight (edited before asked about before read), and the outcome.
//
// An outcome of ongoing or error that the conversation states is kept. Otherwise it is
// inferred: ongoing while the assistant has not answered, error when its last
// check failed or it says that it did not succeed, else completed.
func Header(conv Exchange, c layers.Counter) layers.Header {
	s := surveyOf(conv.Conversation, c)
	h := layers.Header{
		ID:          conv.Conversation.ID,
		Timestamp:   s.first,
		Topic:       topicOf(s, c),
		KeyEntities: keyEntities(s),
		Outcome:     outcomeOf(conv.Conversation, s),
		TokenCount:  conv.Tokens,
		Source:      layers.SourceRule,
	}
	h.Summary = lineOf(s, h.Topic, c)
	h, _ = TrimHeader(h, c)
	return h
}

// topicOf finds what a conversation is about.
func topicOf(s *survey, c layers.Counter) string {
	topic := requestWith(s.query, capTopic, c)
	if topic == "" || weak(topic) {
		if first := s.firstIntent(); first != "" {
			topic = first
		} else if topic == "" && len(s.steps) > 0 && s.steps[0].result.Summary != "" {
			topic = s.steps[0].result.Summary
		}
	}
	if topic == "" {
		topic = oneLine(cutAtRune(s.query, 300))
	}
	if topic == "" {
		topic = noText
	}
	if topic == noText {
		return topic
	}
	return oneLiner(capital(topic), capTopic, c)
}

// lineOf is the one-line summary: what came of it.
func lineOf(s *survey, topic string, c layers.Counter) string {
	best, score := "", -100
	if text := s.answer(); text != "" {
		for i, x := range sentences(text) {
			if i >= 80 {
				break
			}
			if strings.HasSuffix(x.text, "?") {
				continue
			}
			n := resultScore(x, i)
			if strings.Count(x.text, " ") < 2 {
				n -= 6
			}
			if len(x.text) < 5*layers.CapHeaderSummary {
				n += 2 // it will stand there whole
			}
			if n > score {
				best, score = x.text, n
			}
		}
	}
	if best != "" && score > -6 {
		if line := strings.TrimRight(withoutPlaces(withoutLeadIn(best, false)), " .:,;"); line != "" {
			return oneLiner(capital(line), layers.CapHeaderSummary, c)
		}
	}
	for i := len(s.steps) - 1; i >= 0; i-- {
		if st := s.steps[i]; st.call.change != "" && len(st.call.files) > 0 {
			return oneLiner(pastOf(st.call.change)+" "+baseName(st.call.files[0]), layers.CapHeaderSummary, c)
		}
	}
	if n := len(s.steps); n > 0 && s.steps[n-1].result.Summary != "" {
		return oneLiner(withoutCounts(s.steps[n-1]), layers.CapHeaderSummary, c)
	}
	return ""
}

// withoutCounts tells a step without the numbers that a compressed result
// counts.
func withoutCounts(st step) string {
	k := st.call
	switch {
	case k.command != "":
		s := quoted(k.command, maxCommandBytes)
		if st.failed {
			s += " failed"
		}
		return s
	case len(k.files) > 0:
		return k.tool + " " + baseName(k.files[0])
	case k.pattern != "":
		return k.tool + " " + quoted(oneLine(cutAtRune(k.pattern, 200)), 40)
	}
	return k.tool
}

func pastOf(change string) string {
	switch change {
	case "create":
		return "Created"
	case "delete":
		return "Deleted"
	case "refactor":
		return "Refactored"
	}
	return "Edited"
}

func resultScore(x sentence, i int) int {
	text := withoutLeadIn(x.text, false)
	score := 0
	if resultCue(text) {
		score += 4
	}
	score += min(decisionCue(text), 4)
	if announcement(x.text) && !pastVerb(text) {
		score -= 5
	}
	if l := strings.ToLower(x.text); strings.HasPrefix(l, "so no") || strings.HasPrefix(l, "so yes") || strings.HasPrefix(l, "in short") || strings.HasPrefix(l, "yes") || strings.HasPrefix(l, "no,") {
		score += 4 // the answer to a question
	}
	if pastVerb(text) {
		score += 3
	} else if x.item {
		score--
	}
	if hasPrefixFold(text, "when ") || hasPrefixFold(text, "if ") || hasPrefixFold(x.text, "now when ") {
		score -= 2
	}
	if strings.HasSuffix(x.text, "?") {
		score -= 5
	}
	words := len(strings.Fields(text))
	if x.lead {
		score--
		if words < 8 {
			score -= 2
		}
	}
	if x.heading {
		score--
		if words < 4 || genericHeading(text) {
			score -= 5
		}
	}
	if x.item && strings.HasPrefix(text, "`") {
		score -= 2 // a list of things, not a sentence
	}
	if words < 4 || words < 8 && strings.Contains(text, " pass") {
		score -= 3
	}
	if l := strings.ToLower(text); strings.Contains(l, "let me") || strings.Contains(l, "clear picture") || strings.Contains(l, "here's ") || strings.Contains(l, "i can now") {
		score -= 5
	}
	return score - min(i/2, 4)
}

// withoutPlaces leaves out parentheses that hold nothing but a place in a file,
// such as "(`a.go:12-20`)".
func withoutPlaces(s string) string {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '(')
		if i < 0 {
			return s
		}
		i += from
		n := strings.IndexByte(s[i:], ')')
		if n < 0 {
			return s
		}
		body := strings.Trim(s[i+1:i+n], "`")
		path, _, _ := strings.Cut(body, ":")
		if n < 120 && isFile(path, 0, true) || hasPrefixFold(body, "line") && strings.ContainsAny(body, "0123456789") && len(body) < 20 {
			s = strings.TrimRight(s[:i], " ") + s[i+n+1:]
			from = min(i, len(s))
			continue
		}
		from = i + 1
	}
}

// genericHeading names a part of a text, not its matter.
func genericHeading(s string) bool {
	l := strings.ToLower(s)
	for _, cue := range [...]string{"summary", "changes", "option", "analysis", "overview", "current situation", "next steps", "what ", "how ", "files ", "key ", "the problem", "the issue", "notes", "test plan"} {
		if strings.HasPrefix(l, cue) {
			return true
		}
	}
	return false
}

// oneLiner cuts a sentence to max tokens by words.
func oneLiner(s string, max int, c layers.Counter) string {
	s = oneLine(s)
	if c.Count(s) <= max {
		return s
	}
	return byWords(cutAtRune(s, max*32+64), max, c)
}

// outcomeOf infers how a conversation stands.
func outcomeOf(conv layers.Conversation, s *survey) layers.Outcome {
	switch {
	case conv.Outcome == layers.OutcomeError, conv.Outcome == layers.OutcomeOngoing:
		return conv.Outcome
	case s.final == "" || s.interrupted:
		if conv.Outcome == layers.OutcomeCompleted {
			break
		}
		return layers.OutcomeOngoing
	}
	if strings.HasPrefix(s.final, "API Error") || s.lastCheckFailed() && !resolved(s.final) {
		return layers.OutcomeError
	}
	if failureCue(firstSentences(s.final, 3)) && len(s.edits()) == 0 && len(s.steps) > 0 {
		return layers.OutcomeError
	}
	return layers.OutcomeCompleted
}

// lastCheckFailed tells whether a test or check failed last and no file was
// changed since.
func (s *survey) lastCheckFailed() bool {
	list := s.commands()
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].kind != kindTest && list[i].kind != kindCheck {
			continue
		}
		if !list[i].failed {
			return false
		}
		for _, st := range s.edits() {
			if st.turn > list[i].turn {
				return false
			}
		}
		return true
	}
	return false
}

// resolved tells whether an answer says that it works in the end.
func resolved(final string) bool {
	l := strings.ToLower(final)
	for _, cue := range [...]string{"all tests pass", "tests pass", "now passes", "passes now", "unrelated", "pre-existing", "preexisting", "already failing", "expected fail", "works now", "works correctly", "flaky", "fixed"} {
		if strings.Contains(l, cue) {
			return true
		}
	}
	return false
}

func firstSentences(text string, n int) string {
	var out []string
	for _, x := range sentences(cutAtRune(text, 2000)) {
		if len(out) == n {
			break
		}
		out = append(out, x.text)
	}
	return strings.Join(out, " ")
}
