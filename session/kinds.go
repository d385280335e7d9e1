package session

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"hexapla/layers"
	"hexapla/layers/tokens"
	"hexapla/storage"
)

// kindRow says what the records of a kind hold and what forgetting does to them.
type kindRow struct {
	kind string
	body reflect.Type // of the record's body
	// of names the conversation that a record is made of; "" where it is made of
	// several, or of none.
	of func(storage.Record) string
	// cut takes out of a record what comes from what is being forgotten; nil
	// drops a record that is made of it and keeps the others.
	cut func(*forgetting, storage.Record) (storage.Fate, storage.Content, error)
}

// kindRows is the one table of what the records of a store are made of. What is
// not in it could be neither looked through nor taken out; a test fails for it.
func kindRows() []kindRow {
	return []kindRow{
		{kind: kindConversation, body: reflect.TypeFor[conversationRecord](), of: ofID},
		{kind: kindTurn, body: reflect.TypeFor[turnRecord](), of: ofParent, cut: (*forgetting).cutTurn},
		{kind: kindOutput, body: reflect.TypeFor[outputRecord](), of: ofParent, cut: (*forgetting).cutOfTurn},
		{kind: kindChange, body: reflect.TypeFor[changeRecord](), of: ofParent, cut: (*forgetting).cutChange},
		{kind: kindTrio, body: reflect.TypeFor[trioRecord](), of: ofID, cut: (*forgetting).dropMade},
		{kind: kindHousekeeping, body: reflect.TypeFor[layers.Housekeeping](), of: ofID, cut: (*forgetting).dropMade},
		{kind: kindArchive, body: reflect.TypeFor[archiveRecord](), of: ofID},
		{kind: kindVersion, body: reflect.TypeFor[versionRecord](), of: ofParent, cut: (*forgetting).cutVersion},
		{kind: kindEdit, body: reflect.TypeFor[struct{}](), of: ofParent},
		{kind: kindAlias, body: reflect.TypeFor[aliasRecord](), of: ofParent},
		{kind: kindLearningReset, body: reflect.TypeFor[resetRecord](), of: ofID},
		{kind: kindPin, body: reflect.TypeFor[pinRecord](), of: ofParent, cut: (*forgetting).cutPin},
		{kind: kindItem, body: reflect.TypeFor[itemRecord](), of: ofParent, cut: (*forgetting).cutItem},
		{kind: kindTiers, body: reflect.TypeFor[tiersRecord](), of: ofNone, cut: keepRecord},           // ids, times and names of ours
		{kind: kindCheckpoint, body: reflect.TypeFor[checkpointRecord](), of: ofNone, cut: keepRecord}, // numbers
		{kind: kindMessage, body: reflect.TypeFor[messageRecord](), of: ofParent, cut: (*forgetting).cutMessage},
		{kind: kindLimit, body: reflect.TypeFor[limitRecord](), of: ofNone, cut: keepRecord}, // numbers, and names of the session
		{kind: kindSession, body: reflect.TypeFor[sessionRecord](), of: ofNone, cut: (*forgetting).cutSession},
		{kind: kindContext, body: reflect.TypeFor[layers.CurrentContext](), of: ofNone, cut: (*forgetting).cutContext},
		{kind: kindServed, body: reflect.TypeFor[servedRecord](), of: ofNone, cut: (*forgetting).cutServed},
		{kind: kindQueue, body: reflect.TypeFor[queueRecord](), of: ofNone, cut: (*forgetting).cutQueue},
		{kind: kindLearned, body: reflect.TypeFor[learnedRecord](), of: ofNone, cut: (*forgetting).cutLearned},
		{kind: kindLine, body: reflect.TypeFor[lineRecord](), of: ofNone, cut: (*forgetting).cutLine},
		{kind: kindTool, body: reflect.TypeFor[toolRecord](), of: ofNone, cut: (*forgetting).cutTool},
		{kind: kindUsage, body: reflect.TypeFor[tokens.Sample](), of: ofNone, cut: keepRecord},   // numbers of tokens
		{kind: kindSpent, body: reflect.TypeFor[spentRecord](), of: ofNone, cut: keepRecord},     // numbers of tokens, and a user
		{kind: kindProfile, body: reflect.TypeFor[profileRecord](), of: ofNone, cut: keepRecord}, // a name of ours
	}
}

func ofID(r storage.Record) string     { return conversationOf(r.ID) }
func ofParent(r storage.Record) string { return conversationOf(r.Parent) }
func ofNone(storage.Record) string     { return "" }

func keepRecord(*forgetting, storage.Record) (storage.Fate, storage.Content, error) {
	return storage.Keep, storage.Content{}, nil
}

// conversationOf is the conversation of the id of one, of a version, a turn or
// an output.
func conversationOf(id string) string {
	id, _, _ = strings.Cut(id, "#")
	id, _, _ = strings.Cut(id, "@")
	return id
}

// MapTexts returns the body of a record of a kind with all its texts mapped: every
// string in it, also ids and names of kinds, which a map may leave as they are.
// What a record says beside its body (parent, lists, mentions, terms) is derived
// from the texts and is the caller's to derive anew; blobs are apart. changed tells
// whether any text is another. A kind that is not known, or a body that cannot be
// read, is an error.
func MapTexts(kind string, body []byte, text func(string) string) (mapped []byte, changed bool, err error) {
	for _, known := range kindRows() {
		if known.kind != kind {
			continue
		}
		value := reflect.New(known.body)
		if err := json.Unmarshal(body, value.Interface()); err != nil {
			return nil, false, fmt.Errorf("read %s: %w", kind, err)
		}
		walkTexts(value.Elem(), func(s string) string {
			out := text(s)
			changed = changed || out != s
			return out
		}, func(v any) any { return v })
		if !changed {
			return body, false, nil
		}
		return encode(value.Interface()), true, nil
	}
	return nil, false, fmt.Errorf("records of kind %q are not known", kind)
}
