package session

import (
	"fmt"

	"hexapla/layers"
	"hexapla/layers/digest"
	"hexapla/storage"
)

// Where a change is known from.
const (
	ChangeByCall         = "call"         // a tool call that worked
	ChangeByHousekeeping = "housekeeping" // only the model said so
)

// changeRecord is the body of a change record: what happened to one file. Its
// first version is written with the turn that shows it, or with housekeeping; a
// later one has what the model said of it since.
type changeRecord struct {
	digest.FileChange
	Impact       string `json:"impact,omitempty"` // as the model says: low, medium or high
	Conversation string `json:"conversation"`
	Turn         int    `json:"turn"` // with the result of the call, or the newest when the model spoke
	Time         int64  `json:"time"` // of that turn, Unix ms as the client claims
	Session      string `json:"session"`
	Agent        string `json:"agent,omitempty"`
	Model        string `json:"model,omitempty"`
	Source       string `json:"source"`
}

// changeVersion is a change with its record's id.
type changeVersion struct {
	id     string
	record changeRecord
}

// mentionChanged is the kind of posting by which changes are found by their
// file.
const mentionChanged = "changed"

// maxSaidChanges bounds the files that one housekeeping can change.
const maxSaidChanges = 200

// changeBy is a change of a conversation with who made it.
func changeBy(conversation, session string, by sessionRecord, change digest.FileChange, turn int, time int64, source string) changeRecord {
	return changeRecord{
		FileChange: change, Conversation: conversation, Turn: turn, Time: time,
		Session: session, Agent: by.Agent, Model: by.Model, Source: source,
	}
}

// putChanges writes what the calls changed whose results a turn has. It runs
// before the turn itself is written: turns behind the first change of a
// workspace have all of their changes as records, which changesBefore goes by.
func putChanges(tx *storage.Tx, at placement, p *preparedTurn, number int) []changeVersion {
	var out []changeVersion
	for k := range p.outputs {
		for n, change := range p.outputs[k].changes {
			c := changeVersion{
				id:     changeID(outputID(at.id, number, k), n),
				record: changeBy(at.id, at.record.Session, at.by, change, number, p.turn.Time, ChangeByCall),
			}
			putChange(tx, c)
			out = append(out, c)
		}
	}
	return out
}

func changeID(of string, n int) string { return fmt.Sprintf("%s:%d", of, n+1) }

// putChange writes the first version of a change.
func putChange(tx *storage.Tx, c changeVersion) {
	mentions := c.record.mentions()
	tx.Put(storage.Draft{
		Kind: kindChange, ID: c.id, Parent: c.record.Conversation, Body: encode(c.record),
		Lists: []string{listChanges, listOfChanges(c.record.Conversation)}, Mentions: mentions,
	})
}

// mentions are the names that a change is found by.
func (c *changeRecord) mentions() []storage.Mention {
	names := []string{c.File}
	if c.From != "" {
		names = append(names, c.From)
	}
	var mentions []storage.Mention
	for _, name := range withTails(names) {
		mentions = append(mentions, storage.Mention{Kind: mentionChanged, Name: name})
	}
	return mentions
}

// believeCalls writes what a conversation's calls changed if the client recorded
// no results at all.
func (ws *Workspace) believeCalls(tx *storage.Tx, c *completion, turns []layers.Turn) error {
	changes := believed(c.id, turns, ws.standard())
	if len(changes) == 0 {
		return nil
	}
	by, _, _, err := latest[sessionRecord](tx.View(), kindSession, c.record.Session)
	if err != nil {
		return err
	}
	for _, change := range changes {
		change.record.Session, change.record.Agent, change.record.Model = c.record.Session, by.Agent, by.Model
		putChange(tx, change)
		c.changed = append(c.changed, change)
	}
	return nil
}

// believed are the changes by calls without results, if no result is there.
func believed(conversation string, turns []layers.Turn, counter layers.Counter) []changeVersion {
	waiting := pending{calls: map[string]digest.MadeCall{}}
	var out []changeVersion
	for i := range turns {
		turn := &turns[i]
		if len(turn.Results) > 0 {
			return nil
		}
		waiting.take(turn)
		for k, call := range turn.Calls {
			made := digest.MadeCall{Call: call, Said: turn.Text, Query: waiting.query}
			for n, change := range digest.FileChanges(made, nil, counter) {
				out = append(out, changeVersion{
					id:     changeID(outputID(conversation, turn.Number, k), n),
					record: changeBy(conversation, "", sessionRecord{}, change, turn.Number, turn.Time, ChangeByCall),
				})
			}
		}
	}
	return out
}

// sayChanges writes what the model says of changes. Of a file that the
// conversation changed already it is a new version of the newest change;
// otherwise it is a change of its own.
func sayChanges(tx *storage.Tx, c completion, turns []layers.Turn) error {
	if len(c.housekeeping.LLM.CodeChanges) == 0 {
		return nil
	}
	v := tx.View()
	known, err := changesOf(v, c.id)
	if err != nil {
		return err
	}
	known = append(known, c.changed...)
	by, _, _, err := latest[sessionRecord](v, kindSession, c.record.Session)
	if err != nil {
		return err
	}
	last := layers.Turn{}
	if n := len(turns); n > 0 {
		last = turns[n-1]
	}
	news, again := mergeSaid(known, c.housekeeping.LLM.CodeChanges, changeBy(c.id, c.record.Session, by, digest.FileChange{}, last.Number, last.Time, ChangeByHousekeeping))
	for _, change := range again {
		tx.Put(storage.Draft{Kind: kindChange, ID: change.id, Parent: c.id, Body: encode(change.record)})
	}
	for _, change := range news {
		putChange(tx, change)
	}
	return nil
}

// mergeSaid brings together the changes that are known of a conversation, oldest
// first, with what the model says of them: changes that only it knows, shaped
// after base, and new versions of those that were known.
func mergeSaid(known []changeVersion, said []layers.CodeChange, base changeRecord) (news, again []changeVersion) {
	files := 0
	told := 0 // of known, by the model alone
	for i := range known {
		if known[i].record.Source == ChangeByHousekeeping {
			told++
		}
	}
	for _, change := range said {
		for _, file := range change.Files {
			if files++; file == "" || len(file) > maxURI || files > maxSaidChanges {
				continue
			}
			at := newestOf(known, file)
			if at < 0 {
				record := base
				record.File, record.Type = file, saidType(change.ChangeType, "modify")
				record.Summary, record.Impact = oneLine(change.Summary), change.Impact
				c := changeVersion{id: changeID(base.Conversation+"#said", told), record: record}
				told++
				news, known = append(news, c), append(known, c)
				continue
			}
			was := known[at].record
			now := &known[at].record
			now.Summary = either(oneLine(change.Summary), was.Summary)
			now.Impact = either(change.Impact, was.Impact)
			if was.Source == ChangeByHousekeeping || was.Type == "modify" && change.ChangeType == "refactor" {
				now.Type = saidType(change.ChangeType, was.Type)
			}
			if *now != was && !isNew(news, known[at].id) {
				again = append(again, known[at])
			}
		}
	}
	return news, again
}

func isNew(news []changeVersion, id string) bool {
	for i := range news {
		if news[i].id == id {
			return true
		}
	}
	return false
}

// newestOf returns the index of the newest change of a file, -1 if there is none.
func newestOf(known []changeVersion, file string) int {
	for i := len(known) - 1; i >= 0; i-- {
		if digest.SameFile(known[i].record.File, file) {
			return i
		}
	}
	return -1
}

// saidType is a change's type as the model gives it, if it is one.
func saidType(said, other string) string {
	switch said {
	case "create", "modify", "delete", "refactor", "rename":
		return said
	}
	return other
}

// changesOf returns the changes of a conversation in their newest version,
// oldest first.
func changesOf(v storage.View, conversation string) ([]changeVersion, error) {
	list := listOfChanges(conversation)
	entries, err := v.List(list, 0, v.ListLen(list))
	if err != nil {
		return nil, err
	}
	var out []changeVersion
	for _, entry := range entries {
		body, _, ok, err := latest[changeRecord](v, kindChange, entry.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, changeVersion{entry.ID, body})
		}
	}
	return out, nil
}
