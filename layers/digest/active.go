package digest

import (
	"sort"
	"strings"

	"hexapla/layers"
)

// activeEntities weighs names by recency and frequency: a conversation that
// lies k back counts 1000/(k+1).
func activeEntities(prev *layers.CurrentContext, trios []Trio, s *survey) layers.ActiveEntities {
	r := &ranked{}
	if s != nil {
		own := s.rank()
		sort.SliceStable(own.list, func(a, b int) bool { return own.list[a].weight > own.list[b].weight })
		for i, x := range own.list {
			if i == 24 {
				break
			}
			r.add(x.name, 400+40*min(x.weight, 40), x.file)
		}
	}
	for back := 0; back < len(trios) && back < 60; back++ {
		t := &trios[len(trios)-1-back]
		for i, name := range t.Header.KeyEntities {
			r.add(name, (1000-60*min(i, 10))/(back+1), isFile(name, 0, true))
		}
		for _, ch := range t.Summary.CodeChanges {
			for _, f := range ch.Files {
				r.add(f, 500/(back+1), true)
			}
		}
	}
	if prev != nil {
		for _, f := range prev.ActiveEntities.Files {
			r.add(f, 100, true)
		}
		for _, f := range prev.ActiveEntities.Functions {
			r.add(f, 100, false)
		}
		for _, f := range prev.ActiveEntities.Concepts {
			r.add(f, 100, false)
		}
	}
	out := layers.ActiveEntities{Files: []string{}, Functions: []string{}, Concepts: []string{}}
	for _, name := range r.top(len(r.list)) {
		switch {
		case isFile(name, 0, true):
			if len(out.Files) < 8 {
				out.Files = append(out.Files, name)
			}
		case plainIdentifier(name) && (compound(name) || isUpper(name[0])) && !brand(name):
			if len(out.Functions) < 8 {
				out.Functions = append(out.Functions, name)
			}
		default:
			if len(out.Concepts) < 6 {
				out.Concepts = append(out.Concepts, name)
			}
		}
	}
	return out
}

// state tells where the work stands.
func state(prev *layers.CurrentContext, trios []Trio, s *survey, c layers.Counter) string {
	if s != nil && (len(s.steps) > 0 || s.final != "") {
		return s.state(c)
	}
	if len(trios) == 0 {
		if prev != nil {
			return prev.ContextualState
		}
		return ""
	}
	last := &trios[len(trios)-1]
	text := oneLine(last.Header.ID) + " " + string(last.Header.Outcome)
	if line := oneLine(last.Header.Summary); line != "" {
		text += ": " + line
	}
	if s != nil && s.query != "" {
		text += "; the user has replied"
	}
	return ended(oneLiner(text, capState, c))
}

func (s *survey) state(c layers.Counter) string {
	var parts []string
	if edits := s.edits(); len(edits) > 0 {
		last := edits[len(edits)-1]
		word := "last edit: "
		switch last.call.change {
		case "create":
			word = "last created: "
		case "delete":
			word = "last deleted: "
		}
		parts = append(parts, word+strings.Join(shownPaths(last.call.files[:1]), ""))
	}
	list := s.commands()
	if n := len(list); n > 0 {
		last := list[n-1]
		text := quoted(last.text, 48)
		if last.failed {
			text = "failing: " + text
			if last.detail != "" {
				text += ": " + cutWords(last.detail, 120)
			}
		} else {
			text = "passed: " + text
		}
		parts = append(parts, text)
	}
	switch {
	case s.interrupted:
		parts = append(parts, "interrupted by the user")
	case s.final != "" && strings.HasSuffix(strings.TrimSpace(s.final), "?"):
		parts = append(parts, "waiting for the user's answer")
	case len(s.steps) > 0 && !s.steps[len(s.steps)-1].answered:
		parts = append(parts, withoutCounts(s.steps[len(s.steps)-1])+" is running")
	case len(parts) == 0 && len(s.steps) > 0:
		parts = append(parts, "last step: "+withoutCounts(s.steps[len(s.steps)-1]))
	}
	if len(parts) == 0 {
		return ""
	}
	return ended(oneLiner(capital(strings.Join(parts, "; ")), capState, c))
}

// nextSteps come from the todo list, failing checks and open questions.
func nextSteps(prev *layers.CurrentContext, trios []Trio, s *survey, c layers.Counter) []string {
	g := gathering{max: maxSteps}
	if s != nil {
		for _, status := range [...]string{"in_progress", "pending"} {
			for _, t := range s.todos {
				if t.status == status {
					g.add(oneLiner(t.text, 18, c))
				}
			}
		}
		if list := s.commands(); len(list) > 0 && list[len(list)-1].failed {
			g.add("get " + quoted(list[len(list)-1].text, 48) + " to pass")
		}
		for _, q := range questionsOf(s, c) {
			g.add(q)
		}
	}
	if s == nil || s.query == "" {
		for i := len(trios) - 1; i >= 0 && i >= len(trios)-2; i-- {
			for _, q := range trios[i].Summary.OpenQuestions {
				g.add(oneLiner(q, 22, c))
			}
		}
		if prev != nil && len(trios) == 0 {
			for _, step := range prev.NextSteps {
				g.add(step)
			}
		}
	}
	if g.list == nil {
		return []string{}
	}
	return g.list
}
