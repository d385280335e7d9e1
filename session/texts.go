package session

import (
	"encoding/json"
	"fmt"
	"reflect"

	"hexapla/layers"
	"hexapla/layers/tokens"
)

// recordKind is a kind of records with the type of its body.
type recordKind struct {
	name string
	body reflect.Type
}

// recordKinds lists every kind of records that is written, in no order that means
// anything. A kind that is missing here fails a test: its texts could be neither
// looked through nor taken out.
func recordKinds() []recordKind {
	return []recordKind{
		{kindSession, reflect.TypeFor[sessionRecord]()},
		{kindConversation, reflect.TypeFor[conversationRecord]()},
		{kindTurn, reflect.TypeFor[turnRecord]()},
		{kindOutput, reflect.TypeFor[outputRecord]()},
		{kindTrio, reflect.TypeFor[trioRecord]()},
		{kindContext, reflect.TypeFor[layers.CurrentContext]()},
		{kindTool, reflect.TypeFor[toolRecord]()},
		{kindServed, reflect.TypeFor[servedRecord]()},
		{kindArchive, reflect.TypeFor[archiveRecord]()},
		{kindHousekeeping, reflect.TypeFor[layers.Housekeeping]()},
		{kindUsage, reflect.TypeFor[tokens.Sample]()},
		{kindPin, reflect.TypeFor[pinRecord]()},
		{kindChange, reflect.TypeFor[changeRecord]()},
		{kindLine, reflect.TypeFor[lineRecord]()},
		{kindVersion, reflect.TypeFor[versionRecord]()},
		{kindAlias, reflect.TypeFor[aliasRecord]()},
		{kindEdit, reflect.TypeFor[struct{}]()},
		{kindQueue, reflect.TypeFor[queueRecord]()},
		{kindLearned, reflect.TypeFor[learnedRecord]()},
		{kindLearningReset, reflect.TypeFor[resetRecord]()},
	}
}

// MapTexts returns the body of a record of a kind with all its texts mapped: every
// string in it, also ids and names of kinds, which a map may leave as they are.
// What a record says beside its body (parent, lists, mentions, terms) is derived
// from the texts and is the caller's to derive anew; blobs are apart. changed tells
// whether any text is another. A kind that is not known, or a body that cannot be
// read, is an error.
func MapTexts(kind string, body []byte, text func(string) string) (mapped []byte, changed bool, err error) {
	for _, known := range recordKinds() {
		if known.name != kind {
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
