package limits

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hexapla/layers/excerpt"
	"hexapla/layers/minify"
	"hexapla/layers/terms"
)

// cutNames is the percent of a log's room that goes to the names in what is cut.
const cutNames = 30

func numbered(name string, n int) string { return name + "-" + strconv.Itoa(n) }

// over is how many tokens have to go.
func (r *run) over() int { return tokensOf(r.parts) - r.limit.Warning }

// summarizeOld puts a summary in the place of the oldest units, as few as will
// do. Those of priority 1 and placeholders stay where they are.
func (r *run) summarizeOld(s Strategy) bool {
	end := int(float64(len(r.parts)) * r.Config.OldThreshold)
	over, saved := r.over(), -r.Config.SummaryLength
	var old []int
	for i := range end {
		if p := &r.parts[i]; !p.protected() && p.Kind != KindPlaceholder {
			if saved >= over {
				break
			}
			old = append(old, i)
			saved += p.Tokens
		}
	}
	if len(old) == 0 || saved <= 0 && len(old) < 2 {
		return false
	}
	gone := make([]Unit, len(old))
	sum := part{Unit: Unit{ID: "", Kind: KindSummary}}
	for k, i := range old {
		p := &r.parts[i]
		gone[k] = p.Unit
		sum.of = append(sum.of, become(p.of, ActionSummarized, s)...)
		if p.Priority != PriorityNone && (sum.Priority == PriorityNone || p.Priority < sum.Priority) {
			sum.Priority = p.Priority
		}
	}
	sum.Text = r.Summarize(gone, r.Config.SummaryLength)
	if sum.Text == "" {
		return false
	}
	sum.Tokens = r.Counter.Count(sum.Text)
	sum.ID = r.name("summary-old")
	r.replace(old, sum)
	return true
}

// replace puts a part in the place of the first of others.
func (r *run) replace(gone []int, by part) {
	out := make([]part, 0, len(r.parts)+1-len(gone))
	at := 0
	for i := range r.parts {
		switch {
		case at < len(gone) && gone[at] == i:
			if at == 0 {
				out = append(out, by)
			}
			at++
		default:
			out = append(out, r.parts[i])
		}
	}
	r.parts = out
}

func become(of []source, action Action, s Strategy) []source {
	out := slices.Clone(of)
	for i := range out {
		out[i].action, out[i].strategy = action, s
	}
	return out
}

// score sets the relevance of each part: its nearness to what the context is
// about, stretched from the least to the most near of them, with the boost of
// priority 1.
func (r *run) score() {
	groups := make([][]string, len(r.parts))
	for i := range r.parts {
		groups[i] = []string{r.parts[i].Text}
	}
	near := r.Meaning.Near(r.about, groups)
	if len(near) == 0 {
		return
	}
	low, high := slices.Min(near), slices.Max(near)
	for i := range r.parts {
		p := &r.parts[i]
		p.relevance = 1
		if high > low {
			p.relevance = terms.Round((near[i] - low) / (high - low))
		}
		if p.protected() {
			p.relevance = terms.Round(min(1, p.relevance*r.Config.PriorityBoost))
		}
	}
}

// least returns the parts that may go, least relevant first: of equals the one of
// lower priority, then the older one.
func (r *run) least(may func(i int) bool) []int {
	var order []int
	for i := range r.parts {
		if p := &r.parts[i]; !p.protected() && p.Kind != KindPlaceholder && p.Kind != KindSummary && may(i) {
			order = append(order, i)
		}
	}
	rank := func(p *part) int { // 3 goes before none, none before 2
		switch p.Priority {
		case MaxPriority:
			return 0
		case PriorityNone:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(r.parts[a].relevance, r.parts[b].relevance), cmp.Compare(rank(&r.parts[a]), rank(&r.parts[b])), cmp.Compare(a, b))
	})
	return order
}

// prioritizeRecent discards what is neither recent nor relevant, least relevant
// first, as little as will do.
func (r *run) prioritizeRecent(s Strategy) bool {
	r.score()
	first := len(r.parts) - r.recent(len(r.parts))
	order := r.least(func(i int) bool { return i < first && r.parts[i].relevance < r.Config.RelThreshold })
	return r.discard(order, s)
}

// discardLowRel discards the least relevant units, up to the share that is set,
// as little as will do. The newest stays.
func (r *run) discardLowRel(s Strategy) bool {
	r.score()
	last := len(r.parts) - 1
	order := r.least(func(i int) bool { return i < last })
	return r.discard(order[:min(len(order), int(float64(len(r.parts))*r.Config.DiscardPercent))], s)
}

// linkedIDs is how many units a linked placeholder names.
const linkedIDs = 10

// discard lets go of parts in an order until enough are gone, and puts one
// placeholder in their place.
func (r *run) discard(order []int, s Strategy) bool {
	over := r.over()
	var gone []int
	for _, i := range order {
		if over <= 0 {
			break
		}
		gone = append(gone, i)
		over -= r.parts[i].Tokens
	}
	if len(gone) == 0 {
		return false
	}
	place := part{Unit: Unit{Kind: KindPlaceholder}}
	for i := range r.parts { // the one of an earlier step is taken up
		if r.parts[i].Kind == KindPlaceholder && r.parts[i].of[0].action == ActionDiscarded {
			gone, place.ID = append(gone, i), r.parts[i].ID
		}
	}
	slices.Sort(gone)
	for _, i := range gone {
		p := &r.parts[i]
		if p.Kind == KindPlaceholder && p.ID == place.ID {
			place.of = append(place.of, p.of...)
			continue
		}
		place.of = append(place.of, become(p.of, ActionDiscarded, s)...)
	}
	slices.SortFunc(place.of, func(a, b source) int { return cmp.Compare(a.unit, b.unit) })
	if place.ID == "" {
		place.ID = r.name("discarded-placeholder")
	}
	place.Text = r.placeholder(place.of)
	place.Tokens = r.Counter.Count(place.Text)
	r.replace(gone, place)
	return true
}

// placeholder stands for what was discarded.
func (r *run) placeholder(of []source) string {
	if r.Config.Placeholder != PlaceholderLinked {
		return "[Omitted low-relevance prior context]\n"
	}
	var ids []string
	for _, s := range of {
		if id := r.units[s.unit].ID; id != "" && len(ids) < linkedIDs {
			ids = append(ids, id)
		}
	}
	text := "[Omitted – see archive"
	if len(ids) > 0 {
		text += ": " + strings.Join(ids, ", ")
	}
	if more := len(of) - len(ids); more > 0 && len(ids) > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "]\n"
}

// chunk compresses units by their kinds, oldest first, as few as will do.
func (r *run) chunk(s Strategy) bool {
	over, changed := r.over(), false
	for i := range r.parts {
		p := &r.parts[i]
		if over <= 0 {
			break
		}
		if p.protected() {
			continue
		}
		text := r.compress(&p.Unit)
		tokens := r.Counter.Count(text)
		if tokens >= p.Tokens || text == "" {
			continue
		}
		over -= p.Tokens - tokens
		p.Text, p.Tokens, changed = text, tokens, true
		action := ActionCompressed
		if p.of[0].action != ActionKept && p.of[0].action != ActionCompressed {
			continue // a summary of several stays one
		}
		p.of = become(p.of, action, s)
	}
	return changed
}

// compress makes a unit's text shorter by its kind. Code is minified and nothing
// else is done to it, so that it stays code.
func (r *run) compress(u *Unit) string {
	room := func(ratio float64) int { return int(float64(u.Tokens) * ratio) }
	ratios := &r.Config.Ratios
	switch u.Kind {
	case KindCode:
		if ratios.Code < 1 {
			text, _ := minify.Code(u.Text, languageOf(u))
			return text
		}
	case KindMessage, KindText:
		if ratios.Text < 1 {
			return r.shorten(u.Text, ratios.Text)
		}
	case KindPlan:
		if ratios.Plan < 1 {
			return r.shorten(u.Text, ratios.Plan)
		}
	case KindLog:
		if ratios.Log < 1 {
			return excerpt.Cut(u.Text, room(ratios.Log), cutNames, r.Counter)
		}
	case KindOther:
		if ratios.Other < 1 {
			return excerpt.Cut(u.Text, room(ratios.Other), cutNames, r.Counter)
		}
	}
	return u.Text // summaries and placeholders are short already
}

// languageOf is the language of code by its name, which may be that of a file or
// of the language.
func languageOf(u *Unit) minify.Language {
	if l := minify.LanguageOf(u.Name); l != "" {
		return l
	}
	name := strings.ToLower(u.Name)
	switch l := minify.Language(name); l {
	case minify.Go, minify.TypeScript, minify.Python, minify.Lua, minify.Rust, minify.Java:
		return l
	}
	if name == "javascript" {
		return minify.TypeScript
	}
	return minify.LanguageOf("x." + name) // py, rs, ts
}

// hybrid does all that the others do at once; what it costs in meaning is looked
// at for the whole.
func (r *run) hybrid(s Strategy) bool {
	changed := false
	for _, step := range []func(Strategy) bool{r.chunk, r.summarizeOld, r.prioritizeRecent, r.discardLowRel} {
		if r.over() <= 0 {
			break
		}
		changed = step(s) || changed
	}
	return changed
}
