package digest

import (
	"sort"
	"strings"

	"hexapla/layers"
)

// Shares of a summary's content in tokens: what was asked, what was done, and
// how the checks went. What one leaves unused is free for the lists.
const (
	capAsked  = 26
	capDone   = 48
	capChecks = 26
)

// Summary makes a conversation's summary by rule (requirement H4): what was
// asked, what was done, how the checks went; decisions by cue phrases; file
// changes from the tool calls that worked; questions that were left open. Rendered it
// has at most 120 tokens.
func Summary(conv Exchange, c layers.Counter) layers.Summary {
	s := surveyOf(conv.Conversation, c)
	asked := askedOf(s, c)
	checks := checksOf(s, c)
	done, used := doneOf(s, capDone, checks != "", c)
	var parts []string
	if done != "" && asked != "" {
		if s.final != "" {
			done = doneLabel + done
		} else {
			done = nowLabel + done
		}
	}
	for _, p := range [...]string{asked, done, checks} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	out := layers.Summary{
		ConversationID: conv.Conversation.ID,
		Content:        strings.Join(parts, " "),
		KeyDecisions:   decisionsOf(s, used, c),
		CodeChanges:    changesOf(s, c),
		OpenQuestions:  questionsOf(s, c),
		Retrievable:    true,
		Source:         layers.SourceRule,
	}
	for i := range out.CodeChanges {
		if why := &out.CodeChanges[i].Summary; repeats(*why, out.KeyDecisions) || repeats(*why, parts) {
			*why = ""
		}
	}
	out, _ = TrimSummary(out, c)
	return out
}

// Labels in the content of a summary made by rule.
const (
	askedLabel = "Asked: "
	doneLabel  = "Result: "
	nowLabel   = "Now: " // the assistant has not answered yet
)

// repeats tells whether a text stands in the list already.
func repeats(s string, list []string) bool {
	s = strings.ToLower(strings.TrimRight(s, "… "))
	for _, x := range list {
		if s != "" && strings.Contains(strings.ToLower(x), s) {
			return true
		}
	}
	return false
}

func askedOf(s *survey, c layers.Counter) string {
	text := requestWith(s.query, capAsked, c)
	if text == "" {
		return ""
	}
	return askedLabel + ended(text)
}

// ended closes a sentence.
func ended(s string) string {
	s = strings.TrimRight(s, " ,;:")
	if s == "" || strings.HasSuffix(s, "…") {
		return s
	}
	switch s[len(s)-1] {
	case '.', '!', '?':
		return s
	}
	return s + "."
}

// doneOf picks the sentences of the answer that tell results, in their order,
// and returns which it took.
func doneOf(s *survey, room int, checked bool, c layers.Counter) (string, []string) {
	list := sentences(s.answer())
	if len(list) > 80 {
		list = list[:80]
	}
	type pick struct {
		at    int
		score int
		text  string
	}
	var picks []pick
	for i, x := range list {
		score := resultScore(x, i)
		if i < 2 {
			score += 2
		}
		if l := strings.ToLower(x.text); checked && (strings.Contains(l, " pass") && len(l) < 80 || strings.Contains(l, "no lint")) {
			continue
		}
		if score < 1 || x.heading || x.lead || strings.Count(x.text, " ") < 2 || strings.HasSuffix(x.text, "?") {
			continue
		}
		text := withoutPlaces(strings.TrimSpace(withoutLeadIn(x.text, false)))
		picks = append(picks, pick{i, score, text})
	}
	if len(picks) == 0 { // an answer without results: what it begins with
		for i, x := range list {
			text := strings.TrimRight(withoutLeadIn(x.text, false), " :")
			score := resultScore(x, i)
			if weak(text) || strings.HasSuffix(x.text, "?") || score < -5 {
				continue
			}
			picks = append(picks, pick{i, score, text})
		}
	}
	sort.SliceStable(picks, func(a, b int) bool { return picks[a].score > picks[b].score })
	var taken []pick
	left := room
	for i, p := range picks {
		if len(taken) == 4 || left < 6 {
			break
		}
		text := ended(capital(p.text))
		n := c.Count(text)
		if n > left {
			if i > 0 {
				continue
			}
			text = ended(oneLiner(capital(p.text), left-1, c))
			n = c.Count(text)
		}
		left -= n
		taken = append(taken, pick{p.at, p.score, text})
	}
	sort.Slice(taken, func(a, b int) bool { return taken[a].at < taken[b].at })
	var out, used []string
	for _, p := range taken {
		out = append(out, p.text)
		used = append(used, list[p.at].text)
	}
	return strings.Join(out, " "), used
}

// checksOf tells how the tests and checks ended: failures that stay, failures
// that were overcome, and what passes.
func checksOf(s *survey, c layers.Counter) string {
	list := s.commands()
	var bad, mended, good []string
	for i := len(list) - 1; i >= 0; i-- {
		k := list[i]
		name := quoted(k.text, 48)
		check := k.kind == kindTest || k.kind == kindCheck
		detail := ""
		if k.detail != "" {
			detail = ": " + cutWords(strings.ReplaceAll(k.detail, "`", "'"), 90)
		}
		switch {
		case k.failed && check:
			bad = append(bad, name+detail)
		case k.failed && len(bad) == 0 && i == len(list)-1:
			bad = append(bad, name+detail)
		case k.wasFailed && !k.failed:
			mended = append(mended, name+detail)
		case check && !k.failed:
			good = append(good, name)
		}
	}
	var parts []string
	// The verdict comes first, so that no cut can turn it around.
	if len(bad) > 0 {
		parts = append(parts, "Failed: "+bad[0])
	}
	if len(mended) > 0 {
		parts = append(parts, "Passed after failing: "+mended[0])
	}
	if len(good) > 0 && len(parts) < 2 {
		parts = append(parts, "Passed: "+strings.Join(head(good, 2), ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	text := ended(strings.Join(parts, ". "))
	for len(parts) > 1 && c.Count(text) > capChecks {
		parts = parts[:len(parts)-1]
		text = ended(strings.Join(parts, ". "))
	}
	return ended(oneLiner(text, capChecks, c))
}

// decision is a sentence by which something was decided.
type decision struct {
	at, score int
	text      string
}

// decisionsOf picks the sentences by which the assistant or the user decided
// something, in order, leaving out what the content tells already.
func decisionsOf(s *survey, used []string, c layers.Counter) []string {
	picks := s.decided(used)
	sort.SliceStable(picks, func(a, b int) bool { return picks[a].score > picks[b].score })
	if len(picks) > maxDecisions {
		picks = picks[:maxDecisions]
	}
	sort.Slice(picks, func(a, b int) bool { return picks[a].at < picks[b].at })
	out := []string{}
	for _, p := range picks {
		out = append(out, oneLiner(strings.TrimRight(capital(withoutPlaces(withoutLeadIn(p.text, false))), " .:;"), 22, c))
	}
	return out
}

// decided returns all sentences by which something was decided, in order, each
// once, but for those that were used.
func (s *survey) decided(used []string) []decision {
	var picks []decision
	told := gathering{max: 1 << 10}
	for _, u := range used {
		told.add(u)
	}
	at := 0
	look := func(text string, bonus int) {
		for _, x := range sentences(text) {
			at++
			if x.heading || x.lead || len(x.text) < 24 || len(x.text) > 320 || strings.HasSuffix(x.text, "?") || told.has(x.text) {
				continue
			}
			score := decisionCue(x.text)
			if score == 0 || announcement(x.text) && score < 3 {
				continue
			}
			told.add(x.text)
			picks = append(picks, decision{at, score + bonus, x.text})
		}
	}
	final := s.answer()
	for i, t := range s.texts {
		if i == len(s.texts)-1 && t.text == final {
			continue
		}
		look(cutAtRune(t.text, 4000), 0)
	}
	for _, f := range head(s.follow, 8) {
		look(cutAtRune(f, 1000), 2)
	}
	look(final, 1)
	return picks
}

// changesOf groups the files that were changed by the kind of change.
func changesOf(s *survey, c layers.Counter) []layers.CodeChange {
	type file struct {
		path, change string
		lines        int
		why          string
	}
	var files []file
	for _, st := range s.edits() {
		k := st.call
		for _, path := range k.files {
			at := -1
			for i := range files {
				if sameFile(files[i].path, path) {
					at = i
				}
			}
			if at < 0 {
				if len(files) >= 64 {
					continue
				}
				files = append(files, file{path: path, change: k.change})
				at = len(files) - 1
			}
			f := &files[at]
			f.lines += k.lines
			if k.change == "delete" || f.change == "delete" {
				f.change = k.change
			}
			if f.why == "" {
				f.why = intent(st.text)
			}
		}
	}
	if refactors(s) {
		for i := range files {
			if files[i].change == "modify" {
				files[i].change = "refactor"
			}
		}
	}
	out := []layers.CodeChange{}
	for _, change := range [...]string{"create", "modify", "refactor", "delete"} {
		group := layers.CodeChange{ChangeType: change}
		lines, why := 0, ""
		for _, f := range files {
			if f.change != change {
				continue
			}
			if len(group.Files) < maxChangedFiles {
				group.Files = append(group.Files, f.path)
			}
			lines += f.lines
			if weightOf(f.why) > weightOf(why) || why == "" {
				why = f.why
			}
		}
		if len(group.Files) == 0 {
			continue
		}
		group.Summary = oneLiner(why, 12, c)
		group.Impact = impact(len(group.Files), lines, change)
		out = append(out, group)
	}
	return out
}

// intent is what the assistant said it would do right before a call.
func intent(text string) string {
	best := ""
	for _, x := range sentences(cutAtRune(text, 3000)) {
		l := strings.ToLower(x.text)
		if announcement(x.text) || strings.Contains(l, "let me ") || strings.Contains(l, "i'll ") {
			if i := strings.Index(l, "let me "); i > 0 {
				best = x.text[i:]
			} else if i := strings.Index(l, "i'll "); i > 0 {
				best = x.text[i:]
			} else {
				best = x.text
			}
		}
	}
	best = strings.TrimRight(withoutLeadIn(best, false), " .:,;")
	first, _, _ := strings.Cut(strings.ToLower(best), " ")
	if weak(best) || !requestVerb(first) || oneOf(first, "check", "verify", "look", "see", "run", "find", "read", "show", "test") {
		return ""
	}
	return best
}

func refactors(s *survey) bool { return refactorCue(s.query) }

// refactorCue tells whether a text asks for a change that keeps what code does.
func refactorCue(text string) bool {
	l := strings.ToLower(cutAtRune(text, 2000))
	for _, cue := range [...]string{"refactor", "simplif", "rename", "clean up", "cleanup", "deduplicate", "restructure", "extract "} {
		if strings.Contains(l, cue) {
			return true
		}
	}
	return false
}

// impact estimates by size: a few lines in one file are low, many files or
// lines are high.
func impact(files, lines int, change string) string {
	switch {
	case files > 5 || lines > 300:
		return "high"
	case files == 1 && lines <= 12 && change != "delete":
		return "low"
	}
	return "medium"
}

// questionsOf collects what was left open: questions of the final answer, open
// points it names, and unfinished todos.
func questionsOf(s *survey, c layers.Counter) []string {
	g := gathering{max: maxQuestions}
	list := sentences(s.final)
	for i := len(list) - 1; i >= 0 && i >= len(list)-12; i-- {
		x := list[i]
		if !strings.HasSuffix(x.text, "?") || x.heading || len(x.text) > 400 || strings.Count(x.text, " ") < 2 {
			continue
		}
		text := x.text
		if weak(text) && i > 0 && !list[i-1].heading { // what "those" are stands before
			if both := list[i-1].text + " " + text; c.Count(both) <= 36 {
				text = both
			}
		}
		g.add(oneLiner(text, 36, c))
	}
	for _, x := range list {
		l := strings.ToLower(x.text)
		if strings.Contains(x.text, "TODO") || strings.Contains(l, "not yet ") || strings.Contains(l, "still need") || strings.Contains(l, "remaining:") || strings.Contains(l, "next step") && !x.heading {
			if !x.lead {
				g.add(oneLiner(strings.TrimRight(x.text, " ."), 24, c))
			}
		}
	}
	for _, t := range s.todos {
		if t.status != "completed" && t.status != "cancelled" {
			g.add(oneLiner(t.text, 16, c))
		}
	}
	if g.list == nil {
		return []string{}
	}
	return g.list
}
