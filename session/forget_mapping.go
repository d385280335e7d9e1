package session

import (
	"encoding/json"
	"strings"

	"hexapla/layers"
	"hexapla/storage"
)

// mapping is what forgetting does to the store.
func (f *forgetting) mapping() storage.Mapping {
	changed := map[int64]bool{} // records that lose their mentions
	return storage.Mapping{
		DropDamaged: true, // what cannot be read cannot be shown to hold nothing
		Record: func(r storage.Record, words []byte) (storage.Fate, storage.Content) {
			row, ok := f.rows[r.Kind]
			if !ok {
				return storage.Keep, storage.Content{}
			}
			fate, content := storage.Keep, storage.Content{}
			var err error
			switch {
			case row.cut != nil:
				fate, content, err = row.cut(f, r)
			case f.turn == 0 && f.gone[row.of(r)]:
				fate = storage.Drop
			}
			if err != nil {
				fate = storage.Drop
				f.ws.opts.Logf("workspace %s: forget: record %d cannot be read and goes: %v", f.ws.ID, r.Seq, err)
			}
			if fate == storage.Replace && r.Kind == kindTurn {
				changed[r.Seq] = true
			} else if fate == storage.Replace {
				content.Terms = words
			}
			if fate != storage.Keep {
				f.done.Records++
			}
			return fate, content
		},
		Mention: func(_ storage.Mention, seq int64) storage.Fate {
			if changed[seq] {
				return storage.Drop
			}
			return storage.Keep
		},
		Counter: f.count,
		Reply: func(seq int64, reply []byte) (storage.Fate, []byte) {
			if f.within(seq) || f.inText(reply) {
				return storage.Drop, nil
			}
			return storage.Keep, nil
		},
		Table: func(name string, _ []byte) (storage.Fate, []byte) {
			if strings.HasPrefix(name, "policy/") || strings.HasPrefix(name, "system/") {
				return storage.Keep, nil
			}
			return storage.Drop, nil // statistics of words; they are taken again
		},
		Audit: f.cutAudit,
		Blob: func(ref layers.BlobRef) (storage.Fate, storage.BlobContent) {
			if !f.blobs[ref.SHA256] {
				return storage.Keep, storage.BlobContent{}
			}
			f.done.Blobs++
			f.bytes += ref.Size
			return storage.Drop, storage.BlobContent{}
		},
	}
}

// count takes what goes out of a counter. Blobs are counted by what is known
// before they are mapped.
func (f *forgetting) count(name string, value int64) int64 {
	switch name {
	case counterTurns:
		if f.turn == 0 {
			value -= int64(len(f.turns))
		}
	case counterTokens:
		for _, tokens := range f.turns {
			value -= int64(tokens)
		}
	case counterBlobs:
		value -= int64(len(f.blobs))
	}
	return max(value, 0)
}

// within tells whether a write took place in the time of what is forgotten.
func (f *forgetting) within(seq int64) bool {
	for _, span := range f.spans {
		if span.From <= seq && seq < span.To {
			return true
		}
	}
	return false
}

// inText tells whether a JSON text speaks of what is forgotten.
func (f *forgetting) inText(body []byte) bool {
	found := false
	eachString(body, func(text string) {
		found = found || f.names(text) || f.quotes(text)
	})
	return found
}

// cutAudit marks the packs that were built since, and takes inputs that are, or
// quote, what is forgotten. Ids and numbers of tokens stay.
func (f *forgetting) cutAudit(entry int64, body []byte) (storage.Fate, []byte) {
	var record auditRecord
	if json.Unmarshal(body, &record) != nil {
		return storage.Drop, nil
	}
	changed := false
	if !record.Redacted && record.Sequence >= f.first {
		record.Redacted, changed = true, true
	}
	if in := record.Request.Input; in != nil {
		mine := f.during(record.Session, record.Sequence) || f.quotes(in.Content)
		for _, text := range f.texts {
			mine = mine || text == in.Content
		}
		if mine {
			record.Request.Input, record.Redacted, changed = nil, true, true
		}
	}
	if f.quotes(record.Request.Task) {
		record.Request.Task, record.Redacted, changed = "", true, true
	}
	if !changed {
		return storage.Keep, nil
	}
	return storage.Replace, encode(record)
}
