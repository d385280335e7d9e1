package session

import (
	"strings"

	"hexapla/storage"
)

// kindRow says what forgetting does to the records of a kind.
type kindRow struct {
	kind string
	// of names the conversation that a record is made of; "" where it is made of
	// several, or of none.
	of func(storage.Record) string
	// cut takes out of a record what comes from what is being forgotten; nil
	// drops a record that is made of it and keeps the others.
	cut func(*forgetting, storage.Record) (storage.Fate, storage.Content, error)
}

// kindRows is the one table of what the records of a store are made of. What is
// not in it would outlive the conversation that it comes from.
func kindRows() []kindRow {
	return []kindRow{
		{kind: kindConversation, of: ofID},
		{kind: kindTurn, of: ofParent, cut: (*forgetting).cutTurn},
		{kind: kindOutput, of: ofParent, cut: (*forgetting).cutOfTurn},
		{kind: kindChange, of: ofParent, cut: (*forgetting).cutChange},
		{kind: kindTrio, of: ofID, cut: (*forgetting).dropMade},
		{kind: kindHousekeeping, of: ofID, cut: (*forgetting).dropMade},
		{kind: kindArchive, of: ofID},
		{kind: kindVersion, of: ofParent, cut: (*forgetting).cutVersion},
		{kind: kindEdit, of: ofParent},
		{kind: kindAlias, of: ofParent},
		{kind: kindLearningReset, of: ofID},
		{kind: kindPin, of: ofParent, cut: (*forgetting).cutPin},
		{kind: kindSession, of: ofNone, cut: (*forgetting).cutSession},
		{kind: kindContext, of: ofNone, cut: (*forgetting).cutContext},
		{kind: kindServed, of: ofNone, cut: (*forgetting).cutServed},
		{kind: kindQueue, of: ofNone, cut: (*forgetting).cutQueue},
		{kind: kindLearned, of: ofNone, cut: (*forgetting).cutLearned},
		{kind: kindLine, of: ofNone, cut: (*forgetting).cutLine},
		{kind: kindTool, of: ofNone, cut: (*forgetting).cutTool},
		{kind: kindUsage, of: ofNone, cut: keepRecord},   // numbers of tokens
		{kind: kindProfile, of: ofNone, cut: keepRecord}, // a name of ours
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
