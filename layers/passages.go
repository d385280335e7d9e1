package layers

import (
	"cmp"
	"slices"
	"strings"
)

// Passage is a turn, said at any time in any session, that a query is about.
type Passage struct {
	ID      string // of the turn
	Place   int64  // of its conversation among all; those of one stand together
	Seq     int64
	Heading Form   // of its conversation, once for all its passages
	Forms   []Form // richest first
}

// quote gives what is left of the room to passages, those that answer best first,
// and returns the tokens that they take. A turn that the stream shows is none.
func (b *builder) quote(left int) (used int) {
	b.passages = nil
	if !b.in.Fill || b.bare || len(b.in.Passages) == 0 {
		return 0
	}
	inView := map[string]bool{}
	for c := range b.in.Stream {
		for k, form := range b.plan.forms[c] {
			if form != gone {
				inView[b.in.Stream[c].Pieces[k].ID] = true
			}
		}
	}
	headed := map[int64]bool{}
	for i := range b.in.Passages {
		passage := &b.in.Passages[i]
		if inView[passage.ID] {
			continue
		}
		heading := 0
		if !headed[passage.Place] {
			heading = passage.Heading.Tokens
		}
		for _, form := range passage.Forms {
			if used+heading+form.Tokens <= left {
				used += heading + form.Tokens
				headed[passage.Place] = true
				b.passages = append(b.passages, quoted{passage, form})
				break
			}
		}
	}
	slices.SortFunc(b.passages, func(a, c quoted) int {
		return cmp.Or(cmp.Compare(a.Place, c.Place), cmp.Compare(a.Seq, c.Seq))
	})
	return used
}

// passageShare is what a pack keeps for passages, at most what all of them take.
func (b *builder) passageShare(room int) int {
	if !b.in.Fill || b.bare || !b.chat() {
		return 0
	}
	share, all := room*b.in.Policy.FillPassagesPercent/100, 0
	for i := range b.in.Passages {
		if all >= share {
			break
		}
		all += b.in.Passages[i].Forms[0].Tokens
	}
	return min(share, all)
}

// chat tells that no tool was called in the stream: what was said is all there is
// then, while in work with tools what was done last counts for more.
func (b *builder) chat() bool {
	for i := range b.in.Stream {
		for k := range b.in.Stream[i].Pieces {
			if piece := &b.in.Stream[i].Pieces[k]; piece.Result != nil || len(piece.Calls) > 0 {
				return false
			}
		}
	}
	return true
}

// quoted is a passage in the form that it is shown in.
type quoted struct {
	*Passage
	form Form
}

// conversation is the id of the one that a passage is of.
func (p *Passage) conversation() string {
	id, _, _ := strings.Cut(p.ID, "#")
	return id
}

// passageSection is the section of passages, in the order in which they were said.
func (b *builder) passageSection() Section {
	s := Section{Name: SectionRetrieved, Layer: int(LayerArchive), Allowance: b.allowance.retrieved}
	for i, q := range b.passages {
		if i == 0 || b.passages[i-1].Place != q.Place {
			s.Items = append(s.Items, Item{ID: q.conversation(), Form: q.Heading})
		}
		s.Items = append(s.Items, Item{ID: q.ID, Form: q.form})
	}
	return s
}

// listPassages lists the passages: those that are shown, and those for which there
// was no room or that the stream shows.
func (l *lister) listPassages() {
	shown := map[string]Form{}
	for _, q := range l.b.passages {
		shown[q.ID] = q.form
	}
	for i, q := range l.b.passages {
		if i == 0 || l.b.passages[i-1].Place != q.Place {
			l.add(Candidate{ID: q.conversation(), Section: SectionRetrieved, Layer: int(LayerArchive), Full: q.Heading, Shown: q.Heading, Reason: Included})
		}
	}
	if !l.b.in.Fill || l.b.bare {
		return
	}
	for i := range l.b.in.Passages {
		passage := &l.b.in.Passages[i]
		c := Candidate{ID: passage.ID, Section: SectionRetrieved, Layer: int(LayerArchive), Full: passage.Forms[0], Shown: shown[passage.ID], Reason: Included}
		if c.Shown.Text != passage.Forms[0].Text {
			c.Reason = DropBudget
		}
		l.add(c)
	}
}
