package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/layers/terms"
	"hexapla/storage"
)

// ErrForgotten says that what was asked for was there and has been forgotten.
var ErrForgotten = fmt.Errorf("was forgotten: %w", ErrNotFound)

// ForgetTarget names what is to be forgotten.
type ForgetTarget struct {
	Conversation string
	Turn         int // a turn of it; 0 means the whole conversation
}

// Forgotten tells what was taken away.
type Forgotten struct {
	Conversations []string // with those that edits made of one another
	Records       int
	Blobs         int
	Sequence      int64
}

// forgetting is what is known of what is being forgotten.
type forgetting struct {
	ws      *Workspace
	view    storage.View
	session string
	gone    map[string]bool // conversations
	turn    int             // of the only one, that alone is to go; 0 for all
	first   int64           // sequence of the first record that goes
	spans   []gap           // while they were in progress
	said    map[string]bool // in layer 0, by the model
	words   map[string]bool // that nothing else uses
	texts   []string        // of the turns
	blobs   map[string]bool // that nothing else refers to
	rows    map[string]kindRow
	done    Forgotten
	turns   map[string]int // turns that go, with their tokens
	bytes   int64          // of blobs
}

// names tells whether an id is of what is being forgotten.
func (f *forgetting) names(id string) bool {
	r := parseRef(id)
	if !f.gone[r.conversation] {
		return false
	}
	number, _, _ := strings.Cut(r.turn, "/")
	number, _, _ = strings.Cut(number, ":")
	return f.turn == 0 || number == strconv.Itoa(f.turn)
}

// during tells whether a sequence lies in the time of it, in its session.
func (f *forgetting) during(session string, seq int64) bool {
	if session != f.session {
		return false
	}
	for _, span := range f.spans {
		if span.From <= seq && seq < span.To {
			return true
		}
	}
	return false
}

// quotes tells whether a text has a word that only what is forgotten has.
func (f *forgetting) quotes(text string) bool {
	if text == "" || len(f.words) == 0 {
		return false
	}
	found := false
	eachWord(text, func(word string) { found = found || f.words[word] })
	return found
}

// shortestQuote is how long a text must be to count as taken from a turn.
const shortestQuote = 16

// has tells whether a text stands in a turn.
func (f *forgetting) has(text string) bool {
	if text = strings.TrimSpace(text); len(text) < shortestQuote {
		return false
	}
	for _, of := range f.texts {
		if strings.Contains(of, text) {
			return true
		}
	}
	return false
}

func eachWord(text string, fn func(string)) {
	doc := terms.NewDoc(text, digest.EntitiesOf(text)).Encode()
	_ = terms.Names(doc, func(name []byte, entity bool) { fn(string(name)) }) // it was encoded just now
}

// newForgetting reads what there is to forget as of a view.
func newForgetting(ctx context.Context, ws *Workspace, v storage.View, target ForgetTarget) (*forgetting, error) {
	f := &forgetting{
		ws: ws, view: v, gone: map[string]bool{}, turn: target.Turn,
		said: map[string]bool{}, words: map[string]bool{}, blobs: map[string]bool{}, rows: map[string]kindRow{}, turns: map[string]int{},
	}
	for _, row := range kindRows() {
		f.rows[row.kind] = row
	}
	at, _, err := lookUp(v, target.Conversation)
	if err != nil {
		return nil, err
	}
	if at.version != 0 || at.turn != "" {
		return nil, invalid("conversation", "must be the id of a conversation")
	}
	body, _, ok, err := latest[conversationRecord](v, kindConversation, at.conversation)
	if err == nil && !ok {
		err = notFound("conversation", target.Conversation)
	}
	if err != nil {
		return nil, err
	}
	f.session = body.Session // which need not be the one that asks
	f.gone[at.conversation] = true
	if f.turn != 0 {
		if _, ok, err := v.Latest(kindTurn, turnID(at.conversation, f.turn)); err != nil {
			return nil, err
		} else if !ok {
			return nil, notFound("turn", turnID(at.conversation, f.turn))
		}
	} else if err := f.addSuperseded(); err != nil {
		return nil, err
	}
	if err := f.findSpans(); err != nil {
		return nil, err
	}
	if err := f.gather(ctx); err != nil {
		return nil, err
	}
	return f, f.spare(ctx)
}

// addSuperseded adds the conversations that edits made of one another: they have
// turns in common.
func (f *forgetting) addSuperseded() error {
	entries, err := f.view.List(listSuperseded, 0, f.view.ListLen(listSuperseded))
	if err != nil {
		return err
	}
	for more := true; more; {
		more = false
		for _, entry := range entries {
			by, ok, err := superseded(f.view, entry.ID)
			if err != nil {
				return err
			}
			if ok && f.gone[by] && !f.gone[entry.ID] {
				f.gone[entry.ID], more = true, true
			}
		}
	}
	return nil
}

// findSpans finds when each was in progress: until the session's next one.
func (f *forgetting) findSpans() error {
	entries, err := f.view.List(listOfSession(f.session), 0, f.view.ListLen(listOfSession(f.session)))
	if err != nil {
		return err
	}
	for i, entry := range entries {
		if !f.gone[entry.ID] {
			continue
		}
		f.done.Conversations = append(f.done.Conversations, entry.ID)
		span := gap{From: entry.Seq, To: f.view.Seq() + 1}
		if i+1 < len(entries) {
			span.To = entries[i+1].Seq
		}
		if f.turn != 0 {
			turns, err := f.view.List(listOfTurns(entry.ID), f.turn-1, f.turn+1)
			if err != nil || len(turns) == 0 {
				return errors.Join(err, notFound("turn", turnID(entry.ID, f.turn)))
			}
			span.From = turns[0].Seq
			if len(turns) > 1 {
				span.To = turns[1].Seq
			}
		}
		f.spans = append(f.spans, span)
		if f.first == 0 || span.From < f.first {
			f.first = span.From
		}
	}
	return nil
}

// gather reads what goes: its words, its blobs, what the model said.
func (f *forgetting) gather(ctx context.Context) error {
	return f.view.Scan(0, f.view.Seq(), func(r storage.Record, encoded []byte) error {
		if !f.isSource(&r) {
			return ctx.Err()
		}
		for _, sha := range blobsOf(&r) {
			f.blobs[sha] = true
		}
		switch r.Kind {
		case kindTurn:
			body, err := read[turnRecord](r)
			if err != nil {
				return err
			}
			f.texts = append(f.texts, body.Text)
			for _, result := range body.Results {
				f.texts = append(f.texts, result.Content)
			}
			f.turns[r.ID] = body.Tokens // the newest version counts
		case kindHousekeeping:
			eachString(r.Body, func(text string) { f.said[text] = true })
		}
		if len(encoded) > 0 {
			return terms.Names(encoded, func(name []byte, _ bool) { f.words[string(name)] = true })
		}
		eachString(r.Body, func(text string) { eachWord(text, func(word string) { f.words[word] = true }) })
		return nil
	})
}

// isSource tells whether a record is of what is forgotten itself.
func (f *forgetting) isSource(r *storage.Record) bool {
	switch r.Kind {
	case kindTurn, kindOutput:
		return f.names(r.ID)
	case kindTool:
		return f.during(r.Parent, r.Seq)
	case kindHousekeeping, kindTrio:
		return f.turn == 0 && f.gone[conversationOf(r.ID)]
	}
	return false
}

// spare takes out of words and blobs what other conversations have as well.
func (f *forgetting) spare(ctx context.Context) error {
	return f.view.Scan(0, f.view.Seq(), func(r storage.Record, encoded []byte) error {
		if err := ctx.Err(); err != nil || f.isSource(&r) || r.Damaged {
			return err
		}
		switch r.Kind {
		case kindTurn, kindOutput:
		case kindTrio:
			if f.gone[conversationOf(r.ID)] {
				return nil
			}
		case kindTool:
			if !f.during(r.Parent, r.Seq) {
				delete(f.blobs, r.ID)
			}
			return nil
		default:
			return nil
		}
		for _, sha := range blobsOf(&r) {
			delete(f.blobs, sha)
		}
		if len(encoded) == 0 {
			return nil
		}
		return terms.Names(encoded, func(name []byte, _ bool) { delete(f.words, string(name)) })
	})
}

// blobsOf names the blobs that a record refers to.
func blobsOf(r *storage.Record) (shas []string) {
	var body struct {
		Blob    layers.BlobRef      `json:"blob"`
		Results []layers.ToolResult `json:"results"`
	}
	switch r.Kind {
	case kindTool:
		return []string{r.ID}
	case kindTurn, kindOutput:
		if json.Unmarshal(r.Body, &body) != nil {
			return nil
		}
	default:
		return nil
	}
	if body.Blob.SHA256 != "" {
		shas = append(shas, body.Blob.SHA256)
	}
	for _, result := range body.Results {
		if result.Blob.SHA256 != "" {
			shas = append(shas, result.Blob.SHA256)
		}
	}
	return shas
}

// eachString calls fn with every string in a JSON text.
func eachString(body []byte, fn func(string)) {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return
	}
	stringsOf(value, fn)
}
