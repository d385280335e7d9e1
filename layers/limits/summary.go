package limits

import (
	"cmp"
	"slices"
	"strings"

	"hexapla/layers/digest"
)

// Sizes of summaries.
const (
	// leastGist is the tokens that a unit's share of a summary has at least; where
	// that is too much for all of them, the nearest to the whole are told.
	leastGist = 16
	// leastWords is how many words a gist must have to say anything.
	leastWords = 3
	// namesShare is the part of a summary's room, one in so many, that goes to names
	// of what it stands for.
	namesShare = 3
	// maxNamesBytes is how much of the units is looked through for names.
	maxNamesBytes = 64 << 10
)

// Summarize says in at most room tokens what units come to: the gist of each, or of
// those that are nearest to the whole, a line each, and the names that stand in them
// most often. It is "" where there is no room for anything.
func (b *Breaker) Summarize(units []Unit, room int) string {
	if len(units) == 0 || room < leastGist {
		return ""
	}
	names := room / namesShare
	told := b.telling(units, max((room-names)/leastGist, 1))
	share := (room - names) / len(told)
	var out strings.Builder
	left := room - names
	for k, i := range told {
		// What one unit leaves goes to those behind it.
		share = max(left/(len(told)-k), leastGist)
		line := b.gist(&units[i], share-2)
		if line == "" {
			continue
		}
		line = "- " + line + "\n"
		n := b.Counter.Count(line)
		if n > left {
			break
		}
		left -= n
		out.WriteString(line)
	}
	var all strings.Builder
	for i := range units {
		if all.Len()+len(units[i].Text) > maxNamesBytes {
			continue
		}
		all.WriteString(units[i].Text)
		all.WriteByte('\n')
	}
	if list := digest.NamesWithin(all.String(), out.String(), names+left-4, b.Counter); list != "" {
		out.WriteString("- names:" + list + "\n")
	}
	for text := out.String(); ; {
		if text == "" || b.Counter.Count(text) <= room {
			return text
		}
		text = text[:strings.LastIndexByte(text[:len(text)-1], '\n')+1]
	}
}

// telling chooses the units that are told, in order: those of priority 1, then those
// that are nearest to the whole.
func (b *Breaker) telling(units []Unit, most int) []int {
	order := make([]int, len(units))
	for i := range order {
		order[i] = i
	}
	if len(units) <= most {
		return order
	}
	groups, whole := make([][]string, len(units)), make([]string, len(units))
	for i := range units {
		groups[i], whole[i] = []string{units[i].Text}, units[i].Text
	}
	near := b.Meaning.Near(whole, groups)
	rank := func(i int) int {
		if units[i].Priority == PriorityP1 {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(near[y], near[x])) })
	order = order[:most]
	slices.Sort(order)
	return order
}

// gist is a unit in one line of at most room tokens.
func (b *Breaker) gist(u *Unit, room int) string {
	text := u.Text
	switch u.Kind {
	case KindCode:
		input := ""
		if u.Name != "" {
			input = `{"file_path":` + quoted(u.Name) + `}`
		}
		text = digest.ToolResult(digest.ToolOutput{Tool: "Read", Input: input, Output: u.Text}, b.Counter).Summary
	case KindLog:
		text = digest.ToolResult(digest.ToolOutput{Tool: "Bash", Output: u.Text}, b.Counter).Summary
	}
	text, _ = digest.Trim(text, room, b.Counter)
	words := strings.Fields(text)
	if len(words) < leastWords {
		return ""
	}
	return strings.Join(words, " ")
}
