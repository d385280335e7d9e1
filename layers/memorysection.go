package layers

import (
	"cmp"
	"slices"
)

// MemoryInput are the HOT memory items of the session's agent.
type MemoryInput struct {
	// Front are those as of when the window moved last, in the order in which they
	// were saved: they stand in front and stay as they are. Since are those that
	// became HOT or changed after that; they stand behind the stream.
	Front, Since []RankedItem
	// SharePercent is what all of them may take of the context. It is set aside, so
	// that what is saved moves nothing else; 0 where the agent never saved anything.
	SharePercent int
}

// RankedItem is an item with what it counts for where not all have room.
type RankedItem struct {
	Item
	Rank float64
}

// remember chooses the memory items that are shown in a room, those that count for
// most first, and returns their share of it and what they take. What gives way
// stays in the list without a text.
func (b *builder) remember(room int, bare bool) (share, used int) {
	b.memory, b.since = nil, nil
	m := &b.in.Memory
	share = room * m.SharePercent / 100
	if bare {
		share = 0
	}
	used = pickItems(&b.memory, m.Front, share)
	return share, used + pickItems(&b.since, m.Since, share-used)
}

// PickItems chooses the items that count for most of those that have room, and
// returns all of them in their order, with those that give way without a text.
func PickItems(items []RankedItem, room int) (picked []Item, used int) {
	used = pickItems(&picked, items, room)
	return picked, used
}

func pickItems(to *[]Item, items []RankedItem, room int) (used int) {
	order := make([]int, len(items))
	for i := range items {
		order[i] = i
		*to = append(*to, Item{ID: items[i].ID, Reason: DropBudget, From: items[i].Form, Form: Form{Detail: FormNone}})
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(items[b].Rank, items[a].Rank) })
	for _, i := range order {
		if tokens := items[i].Form.Tokens; used+tokens <= room {
			used += tokens
			(*to)[i] = items[i].Item
		}
	}
	return used
}

// memorySection is the section of memory items, in front of the stream or behind it.
func (b *builder) memorySection(items []Item) Section {
	return Section{Name: SectionMemory, Layer: -1, Allowance: max(b.room, 0) * b.in.Memory.SharePercent / 100, Items: items}
}

// memory lists the memory items.
func (l *lister) memory(items []Item) {
	for _, item := range items {
		c := Candidate{ID: item.ID, Section: SectionMemory, Layer: -1, Full: item.Form, Shown: item.Form, Reason: Included}
		if item.Reason != "" {
			c.Full, c.Reason = item.From, item.Reason
		}
		l.add(c)
	}
}
