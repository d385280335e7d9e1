package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// Lessons: what happened to a conversation after it was done. The names are on
// disk; do not change them.
const (
	lessonAsked    = "asked"    // a context request named it
	lessonReAsked  = "reAsked"  // the same, though it had been given
	lessonServed   = "served"   // it was found for the query of a context request
	lessonUsed     = "used"     // the model named it in contextUsed
	lessonUnused   = "unused"   // it was served, and contextUsed names others
	lessonReturned = "returned" // a query of the user names it or is about the same things
)

// worth is what a lesson says for and against a conversation, in thousandths of
// an occurrence. That the server found it says nothing yet.
func worth(lesson string) (good, bad int64) {
	switch lesson {
	case lessonUsed, lessonReAsked:
		return 1000, 0
	case lessonAsked, lessonReturned:
		return 500, 0
	case lessonUnused:
		return 0, 1000
	}
	return 0, 0
}

const (
	// lessonHalf is how many conversations must have been opened since a lesson
	// for it to count half.
	lessonHalf = 64
	// lessonPrior is what is assumed before the first lesson, for a conversation
	// and against it, in thousandths.
	lessonPrior = 1000
	// maxLessons bounds the records that tell of one conversation: the newest
	// count.
	maxLessons = 64
)

// learnedRecord is the body of a learned record: what one write taught. It is in
// the list of each conversation that it speaks of.
type learnedRecord struct {
	Opened  int      `json:"opened"` // conversations of the workspace opened before
	Lessons []lesson `json:"lessons"`
}

type lesson struct {
	Conversation string `json:"conversation"`
	What         string `json:"what"`
}

// resetRecord is the body of a learning reset: lessons before it do not count.
type resetRecord struct{}

// wholeWorkspace is the id of a reset that is of all conversations.
const wholeWorkspace = "workspace"

const listLearned = "learned"

func listOfLearned(conversation string) string { return "learned/" + conversation }

// lessons collects what a write teaches. The zero value is ready.
type lessons struct{ list []lesson }

// add takes in a lesson about a conversation, named by its id or by that of one
// of its turns or outputs.
func (l *lessons) add(what, id string) {
	conversation, _, _ := strings.Cut(id, "#")
	one := lesson{Conversation: conversation, What: what}
	if !slices.Contains(l.list, one) {
		l.list = append(l.list, one)
	}
}

// put writes the lessons, if there are any. Those about what is no conversation
// are left out.
func (l *lessons) put(tx *storage.Tx) error {
	v := tx.View()
	var kept []lesson
	lists := []string{listLearned}
	slices.SortFunc(l.list, func(a, b lesson) int {
		return cmp.Or(cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(a.What, b.What))
	})
	for i, one := range l.list {
		if i > 0 && kept != nil && kept[len(kept)-1].Conversation == one.Conversation {
			kept = append(kept, one)
			continue
		}
		if _, ok, err := v.Latest(kindConversation, one.Conversation); err != nil {
			return err
		} else if ok {
			kept = append(kept, one)
			lists = append(lists, listOfLearned(one.Conversation))
		}
	}
	if len(kept) > 0 {
		tx.Put(storage.Draft{
			Kind: kindLearned, ID: "learned:" + tx.NextID("l"), Lists: lists,
			Body: encode(learnedRecord{Opened: v.ListLen(listConversations), Lessons: kept}),
		})
	}
	return nil
}

// usedLessons are what the model's first account of the context that it used
// teaches: what it names was of use, what it was served since the conversation
// opened and does not name was not. Later accounts only add to what was of use.
func usedLessons(v storage.View, c completion, before, now []string) (lessons, error) {
	var l lessons
	known := map[string]bool{c.id: true}
	names := func(list []string, note func(conversation string)) {
		for _, text := range list[:min(len(list), maxRequestedIDs)] {
			for _, claim := range digest.ClaimsOf(text) {
				if claim.Kind == digest.ClaimID {
					conversation, _, _ := strings.Cut(claim.Text, "#")
					note(conversation)
				}
			}
		}
	}
	names(before, func(id string) { known[id] = true })
	names(now, func(id string) {
		if !known[id] {
			known[id] = true
			l.add(lessonUsed, id)
		}
	})
	if len(before) > 0 || len(now) == 0 {
		return l, nil
	}
	list := listOfServed(c.record.Session)
	n := v.ListLen(list)
	entries, err := v.List(list, max(0, n-maxReAsked), n)
	if err != nil {
		return l, err
	}
	for _, entry := range entries {
		if entry.Seq < c.record.Opened {
			continue
		}
		body, _, _, err := latest[servedRecord](v, kindServed, entry.ID)
		if err != nil {
			return l, err
		}
		for _, item := range body.Items {
			if conversation, _, _ := strings.Cut(item.ID, "#"); !known[conversation] {
				known[conversation] = true
				l.add(lessonUnused, conversation)
			}
		}
	}
	return l, nil
}

// Bounds of the search for what a query comes back to.
const (
	returnEntities = 8  // of a query that are looked up
	returnPlaces   = 32 // of an entity, the newest, that are looked at
	returnShared   = 2  // entities in common that make a return; an error counts two
	maxReturns     = 3  // conversations that one query comes back to by what it is about
)

// returnLessons are what a query that opens a conversation teaches: the user
// comes back to the conversations that it names, and to the three with which it
// has most files, functions and errors in common, two at least.
func returnLessons(v storage.View, query string) (lessons, error) {
	var l lessons
	query = strings.ToValidUTF8(query[:min(len(query), maxRelatedQuery)], "")
	for _, claim := range digest.ClaimsOf(query) {
		if claim.Kind == digest.ClaimID {
			l.add(lessonReturned, claim.Text)
		}
	}
	type shared struct {
		conversation string
		count        int
		newest       int64
	}
	var found []shared
	entities := digest.EntitiesOf(query)
	left := returnEntities
	for _, kind := range []struct {
		name  string
		names []string
		worth int
	}{{"error", entities.Errors, returnShared}, {"file", entities.Files, 1}, {"function", entities.Functions, 1}} {
		for _, name := range kind.names {
			if left--; left < 0 {
				break
			}
			sequences := make([]int64, 0, returnPlaces)
			err := v.Mentions(kind.name, name, false, func(_, _ string, seq int64) bool {
				sequences = append(sequences, seq)
				return len(sequences) < returnPlaces
			})
			if err != nil {
				return l, err
			}
			seen := map[string]bool{}
			for _, seq := range sequences {
				record, err := v.Get(seq)
				if err != nil {
					return l, err
				}
				// What a tool printed may speak of everything.
				if record.Kind != kindTurn || seen[record.Parent] {
					continue
				}
				seen[record.Parent] = true
				at := slices.IndexFunc(found, func(s shared) bool { return s.conversation == record.Parent })
				if at < 0 {
					at, found = len(found), append(found, shared{conversation: record.Parent})
				}
				found[at].count += kind.worth
				found[at].newest = max(found[at].newest, seq)
			}
		}
	}
	slices.SortFunc(found, func(a, b shared) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.newest, a.newest), cmp.Compare(a.conversation, b.conversation))
	})
	for _, s := range found[:min(len(found), maxReturns)] {
		if s.count >= returnShared {
			l.add(lessonReturned, s.conversation)
		}
	}
	return l, nil
}

// opensWith is the query with which turns open a conversation.
func opensWith(turns []preparedTurn) string {
	if len(turns) == 0 || turns[0].turn.Kind != layers.InputUserQuery {
		return ""
	}
	return turns[0].turn.Text
}

func decodeLearned(record storage.Record) (learnedRecord, error) {
	var body learnedRecord
	if err := json.Unmarshal(record.Body, &body); err != nil {
		return body, fmt.Errorf("read learned %q: %w", record.ID, err)
	}
	return body, nil
}
