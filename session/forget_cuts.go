package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hexapla/layers"
	"hexapla/storage"
)

// forgottenTurn is the text that stands where a turn was.
const forgottenTurn = "(forgotten)"

func read[T any](r storage.Record) (body T, err error) {
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return body, fmt.Errorf("read %s %q: %w", r.Kind, r.ID, err)
	}
	return body, nil
}

func asItIs() (storage.Fate, storage.Content, error) {
	return storage.Keep, storage.Content{}, nil
}

func toGo() (storage.Fate, storage.Content, error) {
	return storage.Drop, storage.Content{}, nil
}

func become(body any) (storage.Fate, storage.Content, error) {
	return storage.Replace, storage.Content{Body: encode(body)}, nil
}

// dropMade drops what is made of all turns of a conversation.
func (f *forgetting) dropMade(r storage.Record) (storage.Fate, storage.Content, error) {
	if f.gone[conversationOf(r.ID)] {
		return toGo()
	}
	return asItIs()
}

// cutTurn leaves of a single turn its place, and of a conversation nothing.
func (f *forgetting) cutTurn(r storage.Record) (storage.Fate, storage.Content, error) {
	switch {
	case !f.names(r.ID):
		return asItIs()
	case f.turn == 0:
		return toGo()
	}
	body, err := read[turnRecord](r)
	if err != nil {
		return storage.Drop, storage.Content{}, nil // what cannot be read cannot be shown to hold nothing
	}
	body.Turn = layers.Turn{Number: body.Number, Role: body.Role, Kind: body.Kind, Text: forgottenTurn, Time: body.Time}
	body.Tokens = f.ws.standard().Count(plainTurn(&body.Turn))
	return become(body)
}

func (f *forgetting) cutOfTurn(r storage.Record) (storage.Fate, storage.Content, error) {
	if f.names(r.ID) {
		return toGo()
	}
	return asItIs()
}

func (f *forgetting) cutChange(r storage.Record) (storage.Fate, storage.Content, error) {
	body, err := read[changeRecord](r)
	if !f.gone[body.Conversation] && err == nil {
		return asItIs()
	}
	if err != nil || f.turn == 0 || body.Turn == f.turn || f.quotes(string(r.Body)) {
		return toGo()
	}
	return asItIs()
}

// cutVersion takes the reason of an edit.
func (f *forgetting) cutVersion(r storage.Record) (storage.Fate, storage.Content, error) {
	if !f.gone[r.Parent] {
		return asItIs()
	}
	body, err := read[versionRecord](r)
	if err != nil || f.turn == 0 {
		return toGo()
	}
	body.Reason = ""
	return become(body)
}

// cutPin takes pins that were made in what is forgotten, or that quote it.
func (f *forgetting) cutPin(r storage.Record) (storage.Fate, storage.Content, error) {
	body, err := read[pinRecord](r)
	if err != nil || f.names(r.Parent) || f.has(body.Text) {
		return toGo()
	}
	return asItIs()
}

// cutItem takes memory items that were saved in what is forgotten, that stand in it,
// or that hold a text of it. A word in common takes none: items are kept on purpose.
func (f *forgetting) cutItem(r storage.Record) (storage.Fate, storage.Content, error) {
	body, err := read[itemRecord](r)
	if err != nil || f.names(r.Parent) || f.repeats(body.Content) {
		return toGo()
	}
	return asItIs()
}

// cutMessage takes archived messages that were removed from a list while what is
// forgotten was in progress, that quote it, or that hold a text of it. Lists are
// of the same words as conversations, so a message may stand for a turn.
func (f *forgetting) cutMessage(r storage.Record) (storage.Fate, storage.Content, error) {
	body, err := read[messageRecord](r)
	if err != nil || f.names(r.Parent) {
		return toGo()
	}
	found := false
	eachString([]byte(body.Message), func(text string) { found = found || f.quotes(text) || f.repeats(text) })
	if found {
		return toGo()
	}
	return asItIs()
}

// repeats tells whether a text stands in a turn, or holds one.
func (f *forgetting) repeats(text string) bool {
	return f.has(text) || slices.ContainsFunc(f.texts, func(of string) bool {
		of = strings.TrimSpace(of)
		return len(of) >= shortestQuote && strings.Contains(text, of)
	})
}

func (f *forgetting) cutSession(r storage.Record) (storage.Fate, storage.Content, error) {
	body, err := read[sessionRecord](r)
	if err != nil || !f.has(body.Title) {
		return storage.Keep, storage.Content{}, err
	}
	body.Title = ""
	return become(body)
}

// cutContext takes out of layer 0 what was said in what is forgotten, and every
// sentence with a word that is known from there alone. It concerns all sessions:
// a new one inherits the workspace's layer 0.
func (f *forgetting) cutContext(r storage.Record) (storage.Fate, storage.Content, error) {
	if r.Seq < f.first {
		return asItIs()
	}
	cc, err := read[layers.CurrentContext](r)
	if err != nil {
		return toGo()
	}
	for _, text := range []*string{&cc.OverallNarrative, &cc.CurrentObjective, &cc.ContextualState} {
		*text = f.strip(*text)
	}
	for _, list := range []*[]string{&cc.KeyAchievements, &cc.NextSteps, &cc.ActiveEntities.Files, &cc.ActiveEntities.Functions, &cc.ActiveEntities.Concepts} {
		left := []string{}
		for _, item := range *list {
			if !f.said[item] && !f.quotes(item) {
				left = append(left, item)
			}
		}
		*list = left
	}
	return become(cc)
}

// strip takes the sentences out of a text that come from what is forgotten.
func (f *forgetting) strip(text string) string {
	if f.said[text] {
		return ""
	}
	if !f.quotes(text) {
		return text
	}
	var left strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		for _, sentence := range strings.SplitAfter(line, ". ") {
			if !f.quotes(sentence) {
				left.WriteString(sentence)
			}
		}
	}
	return strings.TrimSpace(left.String())
}

// cutServed takes what was served of it, and what was asked while it was in
// progress.
func (f *forgetting) cutServed(r storage.Record) (storage.Fate, storage.Content, error) {
	body, err := read[servedRecord](r)
	if err != nil || f.during(r.Parent, r.Seq) {
		return toGo()
	}
	n := len(body.Items)
	body.Items = slices.DeleteFunc(body.Items, func(item servedItem) bool { return f.names(item.ID) || f.quotes(item.Query) })
	quoted := f.quotes(body.Query)
	if len(body.Items) == n && !quoted {
		return asItIs()
	}
	if quoted {
		body.Query = ""
	}
	return become(body)
}

func (f *forgetting) cutQueue(r storage.Record) (storage.Fate, storage.Content, error) {
	body, err := read[queueRecord](r)
	if err != nil {
		return toGo()
	}
	n := len(body.Waiting)
	body.Waiting = slices.DeleteFunc(body.Waiting, func(d Deferral) bool {
		return f.names(d.Asked) || f.quotes(d.Query) || f.during(r.ID, d.Sequence)
	})
	if len(body.Waiting) == n {
		return asItIs()
	}
	return become(body)
}

func (f *forgetting) cutLearned(r storage.Record) (storage.Fate, storage.Content, error) {
	body, err := read[learnedRecord](r)
	if err != nil {
		return toGo()
	}
	if f.turn != 0 {
		return asItIs()
	}
	n := len(body.Lessons)
	body.Lessons = slices.DeleteFunc(body.Lessons, func(l lesson) bool { return f.gone[l.Conversation] })
	switch len(body.Lessons) {
	case n:
		return asItIs()
	case 0:
		return toGo()
	}
	return become(body)
}

// cutLine counts the conversations that stay in each span of a session's line.
func (f *forgetting) cutLine(r storage.Record) (storage.Fate, storage.Content, error) {
	body, err := read[lineRecord](r)
	if err != nil || f.turn != 0 {
		return storage.Keep, storage.Content{}, err
	}
	for i := range body.Spans {
		entries, err := f.view.List(body.Spans[i].List, 0, body.Spans[i].Count)
		if err != nil {
			return storage.Keep, storage.Content{}, err
		}
		for _, entry := range entries {
			if f.gone[entry.ID] {
				body.Spans[i].Count--
			}
		}
	}
	return become(body)
}

// cutTool takes an output that was stored outside of a turn, if only what is
// forgotten refers to it.
func (f *forgetting) cutTool(r storage.Record) (storage.Fate, storage.Content, error) {
	if f.blobs[r.ID] {
		return toGo()
	}
	return asItIs()
}
