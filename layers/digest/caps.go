package digest

import (
	"strings"

	"hexapla/layers"
)

// TrimHeader enforces the caps of a header: its summary in 12 tokens, its
// rendering in 40. It returns the names of the fields that it shortened, in
// order of their names. The id is never shortened; an id that alone is over the cap
// cannot be helped.
func TrimHeader(h layers.Header, c layers.Counter) (layers.Header, []string) {
	var t trimmed
	if s := oneLiner(h.Summary, layers.CapHeaderSummary, c); s != oneLine(h.Summary) {
		h.Summary = s
		t.note("summary")
	}
	over := func() bool { return c.Count(RenderHeader(h)) > layers.CapHeader }
	entities := h.KeyEntities
	h.KeyEntities = nil // they are shown in what room is left
	for n := capTopic; over() && n >= 4; n -= 2 {
		if s := oneLiner(h.Topic, n, c); s != h.Topic {
			h.Topic = s
			t.note("topic")
		}
	}
	if !over() {
		h.KeyEntities = entities
		for over() && len(h.KeyEntities) > 0 {
			h.KeyEntities = h.KeyEntities[:len(h.KeyEntities)-1]
		}
	}
	if len(h.KeyEntities) < len(entities) {
		t.note("keyEntities")
	}
	for n := layers.CapHeaderSummary - 2; over() && n >= 0; n -= 2 {
		h.Summary = oneLiner(h.Summary, n, c)
		t.note("summary")
	}
	if over() {
		h.Topic, h.Summary = "", ""
		t.note("topic")
	}
	return h, t.names()
}

// TrimSummary enforces the cap of 120 tokens on a rendered summary. Lists are
// shortened first, from their ends, then the content by Trim; what was
// decided and changed keeps a place as long as it can. It returns the names of
// the fields that it shortened.
func TrimSummary(s layers.Summary, c layers.Counter) (layers.Summary, []string) {
	var t trimmed
	s.KeyDecisions = cloned(s.KeyDecisions)
	s.OpenQuestions = cloned(s.OpenQuestions)
	s.CodeChanges = clonedChanges(s.CodeChanges)
	excess := func() int { return c.Count(RenderSummary(s, s.ConversationID)) - layers.CapSummary }
	content := func(floor int) {
		if x := excess(); x > 0 {
			n := c.Count(s.Content)
			if room := max(n-x-1, floor); room < n {
				s.Content, _ = Trim(oneLine(s.Content), room, c)
				t.note("content")
			}
		}
	}
	lists := func(decisions, questions, files, item int) {
		if excess() > 0 {
			s.KeyDecisions = t.list("keyDecisions", s.KeyDecisions, decisions, item, c)
		}
		if excess() > 0 {
			s.OpenQuestions = t.list("openQuestions", s.OpenQuestions, questions, item, c)
		}
		if excess() > 0 {
			s.CodeChanges = t.changes(s.CodeChanges, files, item, c)
		}
	}
	if excess() <= 0 {
		return s, nil
	}
	lists(3, 2, 6, 36)
	lists(2, 1, 4, 26)
	lists(1, 1, 3, 26) // one whole decision says more than two stubs
	content(64)
	content(48)
	lists(1, 1, 2, 14)
	content(30)
	lists(1, 0, 1, 8)
	lists(0, 0, 0, 0)
	content(0)
	return s, t.names()
}

// TrimCurrentContext enforces the cap of 300 tokens on the rendered layer 0.
// Lists are shortened first, then the texts by Trim; the objective goes last. It
// returns the names of the fields that it shortened.
func TrimCurrentContext(cc layers.CurrentContext, c layers.Counter) (layers.CurrentContext, []string) {
	var t trimmed
	cc.KeyAchievements = cloned(cc.KeyAchievements)
	cc.NextSteps = cloned(cc.NextSteps)
	cc.ActiveEntities.Files = cloned(cc.ActiveEntities.Files)
	cc.ActiveEntities.Functions = cloned(cc.ActiveEntities.Functions)
	cc.ActiveEntities.Concepts = cloned(cc.ActiveEntities.Concepts)
	excess := func() int { return c.Count(RenderCurrentContext(cc)) - layers.CapCurrentContext }
	text := func(name string, field *string, floor int) {
		if x := excess(); x > 0 {
			n := c.Count(*field)
			if room := max(n-x-1, floor); room < n {
				*field, _ = Trim(oneLine(*field), room, c)
				t.note(name)
			}
		}
	}
	step := func(files, achievements, steps, item, narrative, other int) {
		e := &cc.ActiveEntities
		if excess() > 0 {
			e.Concepts = t.list("activeEntities", e.Concepts, files/2, item, c)
		}
		if excess() > 0 {
			e.Functions = t.whole("activeEntities", e.Functions, files)
		}
		if excess() > 0 {
			e.Files = t.whole("activeEntities", e.Files, files)
		}
		if excess() > 0 {
			cc.NextSteps = t.list("nextSteps", cc.NextSteps, steps, item, c)
		}
		for excess() > 0 && len(cc.KeyAchievements) > achievements { // the oldest goes first
			cc.KeyAchievements = cc.KeyAchievements[1:]
			t.note("keyAchievements")
		}
		if excess() > 0 {
			cc.KeyAchievements = t.list("keyAchievements", cc.KeyAchievements, achievements, item, c)
		}
		text("overallNarrative", &cc.OverallNarrative, narrative)
		text("contextualState", &cc.ContextualState, other)
		text("currentObjective", &cc.CurrentObjective, other*2)
	}
	if excess() <= 0 {
		return cc, nil
	}
	step(8, 5, 4, 24, 120, 48)
	step(6, 4, 3, 18, 90, 36)
	step(4, 3, 2, 14, 60, 24)
	step(2, 1, 1, 10, 30, 16)
	step(0, 0, 0, 0, 0, 10)
	step(0, 0, 0, 0, 0, 0)
	return cc, t.names()
}

// trimmed gathers the names of shortened fields in order of their names.
type trimmed struct{ fields []string }

func (t *trimmed) note(name string) {
	for i, f := range t.fields {
		if f == name {
			return
		}
		if f > name {
			t.fields = append(t.fields[:i:i], append([]string{name}, t.fields[i:]...)...)
			return
		}
	}
	t.fields = append(t.fields, name)
}

func (t *trimmed) names() []string { return t.fields }

// whole keeps at most n items as they are: a cut name names something else.
func (t *trimmed) whole(name string, list []string, n int) []string {
	if len(list) > n {
		list = list[:n]
		t.note(name)
	}
	return list
}

// list keeps at most n items of at most item tokens each.
func (t *trimmed) list(name string, list []string, n, item int, c layers.Counter) []string {
	if len(list) > n {
		list = list[:n]
		t.note(name)
	}
	for i := range list {
		if s := oneLiner(list[i], item, c); s != oneLine(list[i]) {
			list[i] = s
			t.note(name)
		}
	}
	return list
}

// changes keeps at most n files of each change, whole paths only, and shortens
// what is said about them to item tokens.
func (t *trimmed) changes(list []layers.CodeChange, n, item int, c layers.Counter) []layers.CodeChange {
	if n == 0 {
		if len(list) > 0 {
			t.note("codeChanges")
		}
		return list[:0]
	}
	if len(list) > n {
		list = list[:n]
		t.note("codeChanges")
	}
	for i := range list {
		if len(list[i].Files) > n {
			list[i].Files = list[i].Files[:n]
			t.note("codeChanges")
		}
		if s := oneLiner(list[i].Summary, item/2, c); s != oneLine(list[i].Summary) {
			list[i].Summary = s
			t.note("codeChanges")
		}
		if len(list[i].ChangeType) > 16 {
			list[i].ChangeType = cutAtRune(list[i].ChangeType, 16)
			t.note("codeChanges")
		}
	}
	return list
}

func cloned(list []string) []string {
	return append(make([]string, 0, len(list)), list...)
}

func clonedChanges(list []layers.CodeChange) []layers.CodeChange {
	out := make([]layers.CodeChange, len(list))
	for i, ch := range list {
		ch.Files = cloned(ch.Files)
		out[i] = ch
	}
	return out
}

// isBlank tells whether a text has no visible character.
func isBlank(s string) bool { return strings.TrimSpace(s) == "" }
