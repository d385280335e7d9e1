package session

import (
	"fmt"
	"strings"

	"hexapla/layers"
	"hexapla/storage"
)

// Standing is where a thing was given to the model.
type Standing struct {
	Section string // of the newest pack; "" for an answer to a context request
	ID      string // of the pack's item; of a conversation in several, the first
}

// given is a thing that the model was given: in which detail, and in how many
// tokens.
type given struct {
	detail layers.Detail
	tokens int
	place  Standing
}

// covers tells that what was given is no less than an answer in a detail and of
// some tokens. What was cut says less than the whole in the same detail.
func (g given) covers(detail layers.Detail, tokens int) bool {
	return rankOf(g.detail) >= rankOf(detail) && g.tokens >= tokens
}

// reAsked tells that what is asked for was given already: the pack before shows
// it, or it was served in the conversation, in no less detail and tokens than it
// has now. What was served as the most that fitted is asked for again by the
// same words. It returns what was given.
func reAsked(pack, served given, detail layers.Detail, now shown) (given, bool) {
	mixed := detail == layers.DetailMixed
	if mixed {
		detail = now.detail
	}
	switch {
	case pack.covers(detail, now.tokens):
		return pack, true
	case served.covers(detail, now.tokens), mixed && served.detail != "":
		return served, true
	}
	return given{}, false
}

// rankOf orders details from least to most.
func rankOf(d layers.Detail) int {
	switch d {
	case layers.DetailHeader:
		return 1
	case layers.DetailSummary:
		return 2
	case layers.DetailFull, layers.DetailMixed:
		return 3
	}
	return 0
}

// givenBy returns what a pack shows, by the ids that a context request may name:
// turns and outputs in full, conversations of which every piece is in full, and
// headers and summaries.
func givenBy(pack *layers.Pack) map[string]given {
	out := map[string]given{}
	full := map[string]given{} // conversations, by their pieces in full
	less := map[string]bool{}  // conversations of which something is missing
	put := func(id string, detail layers.Detail, tokens int, place Standing) {
		g := given{detail, tokens, place}
		if rankOf(g.detail) >= rankOf(out[id].detail) {
			out[id] = g
		}
	}
	for i := range pack.Sections {
		for _, item := range pack.Sections[i].Items {
			conversation, _, piece := strings.Cut(item.ID, "#")
			place := Standing{pack.Sections[i].Name, item.ID}
			switch {
			case piece && item.Form.Detail == layers.FormFull:
				put(item.ID, layers.DetailFull, item.Form.Tokens, place)
				whole, ok := full[conversation]
				if !ok {
					whole = given{detail: layers.DetailFull, place: place}
				}
				whole.tokens += item.Form.Tokens
				full[conversation] = whole
			case piece:
				less[conversation] = true
			case item.Form.Detail == string(layers.DetailHeader), item.Form.Detail == string(layers.DetailSummary):
				put(item.ID, layers.Detail(item.Form.Detail), item.Form.Tokens, place)
			}
		}
	}
	for _, drop := range pack.Dropped {
		conversation, _, _ := strings.Cut(drop.ID, "#")
		less[conversation] = true
	}
	for i := range pack.Sections {
		for _, item := range pack.Sections[i].Items {
			conversation, _, piece := strings.Cut(item.ID, "#")
			if g, ok := full[conversation]; ok && piece && !less[conversation] {
				put(conversation, g.detail, g.tokens, g.place)
			}
		}
	}
	return out
}

// packShown is what a pack shows.
type packShown struct {
	sequence int64
	given    map[string]given
	answers  map[string]bool // answers to context requests that are in full
}

func shownBy(pack *layers.Pack) packShown {
	out := packShown{sequence: pack.Sequence, given: givenBy(pack), answers: map[string]bool{}}
	for i := range pack.Sections {
		for _, item := range pack.Sections[i].Items {
			if strings.HasPrefix(item.ID, "served:") && item.Form.Detail == layers.FormFull {
				out.answers[item.ID] = true
			}
		}
	}
	return out
}

// hot returns the items of a pack that show, in full, what context requests were
// answered with in full, by what that is. After an edit there are none until the
// next pack.
func (s *Session) hot(v storage.View, pack packShown) (map[string]string, error) {
	edited, err := newestEdit(v)
	if err != nil || edited > pack.sequence || pack.sequence == 0 {
		return nil, err
	}
	list := listOfServed(s.ID)
	n := v.ListLen(list)
	entries, err := v.List(list, max(0, n-maxServed), n)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, entry := range entries {
		body, _, _, err := latest[servedRecord](v, kindServed, entry.ID)
		if err != nil {
			return nil, err
		}
		for i, item := range body.Items {
			piece := servedPiece(entry.ID, i)
			if item.Detail == layers.DetailFull && pack.answers[piece] {
				at, _, err := lookUp(v, item.ID)
				if err == nil {
					out[at.String()] = piece
				}
			}
		}
	}
	return out, nil
}

// servedPiece is the id of one item of an answer in a pack.
func servedPiece(answer string, i int) string { return fmt.Sprintf("%s:%d", answer, i+1) }

// inContext returns the item of the pack before that shows something in full,
// "" if none does.
func (a *serving) inContext(name string, tokens int) string {
	if piece := a.hot[name]; piece != "" {
		return piece
	}
	if a.hot != nil && a.inPack.given[name].covers(layers.DetailFull, tokens) {
		return name
	}
	return ""
}

// maxReAsked bounds the answers that are looked at to find out whether something
// was given before.
const maxReAsked = 64

// givenBefore returns what the pack before shows and what context requests were
// answered with since the session's newest conversation opened.
func (s *Session) givenBefore(v storage.View) (shown packShown, served map[string]given, err error) {
	s.mu.Lock()
	shown = s.shown
	s.mu.Unlock()
	l, err := lineOf(v, s.ID)
	if err != nil {
		return shown, nil, err
	}
	newest, err := l.newest(1)
	if err != nil || len(newest) == 0 {
		return shown, nil, err
	}
	list := listOfServed(s.ID)
	n := v.ListLen(list)
	entries, err := v.List(list, max(0, n-maxReAsked), n)
	if err != nil {
		return shown, nil, err
	}
	served = map[string]given{}
	for _, entry := range l.without(entries) {
		if entry.Seq < newest[0].Seq {
			continue
		}
		body, _, _, err := latest[servedRecord](v, kindServed, entry.ID)
		if err != nil {
			return shown, nil, err
		}
		for i, item := range body.Items {
			g := given{item.Detail, item.Tokens, Standing{ID: fmt.Sprintf("%s:%d", entry.ID, i+1)}}
			if rankOf(g.detail) >= rankOf(served[item.ID].detail) {
				served[item.ID] = g
			}
		}
	}
	return shown, served, nil
}
