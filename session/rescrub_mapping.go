package session

import (
	"encoding/json"
	"reflect"
	"strings"

	"hexapla/layers"
	"hexapla/storage"
)

// mapping is what a rescrub does to the store, but for what is made anew of what
// that leaves.
func (r *rescrubbing) mapping() storage.Mapping {
	return storage.Mapping{
		DropDamaged: true, // what cannot be read cannot be shown to hold nothing
		Record: func(record storage.Record, _ []byte) (storage.Fate, storage.Content) {
			if content, ok := r.records[record.Seq]; ok {
				return storage.Replace, content
			}
			return storage.Keep, storage.Content{}
		},
		Counter: func(name string, value int64) int64 {
			switch name {
			case counterTokens:
				value += r.tokens
			case counterBlobs:
				value += r.count
			case counterBlobBytes:
				value += r.bytes
			}
			return max(value, 0)
		},
		Reply: func(_ int64, reply []byte) (storage.Fate, []byte) {
			if r.inReply(reply) {
				return storage.Drop, nil
			}
			return storage.Keep, nil
		},
		List: r.list,
		Table: func(name string, data []byte) (storage.Fate, []byte) {
			switch {
			case strings.HasPrefix(name, "policy/"):
				return storage.Keep, nil // settings of ours
			case strings.HasPrefix(name, systemTable):
				if clean := r.system(data); clean != nil {
					return storage.Replace, clean
				}
				return storage.Keep, nil
			}
			return storage.Drop, nil // statistics of words; they are taken again
		},
		Audit: func(_ int64, body []byte) (storage.Fate, []byte) { return r.entry(body) },
		Blob:  r.blob,
	}
}

func (r *rescrubbing) blob(ref layers.BlobRef) (storage.Fate, storage.BlobContent) {
	to, ok := r.blobs[ref.SHA256]
	switch {
	case !ok:
		return storage.Keep, storage.BlobContent{}
	case to.gone:
		return storage.Drop, storage.BlobContent{}
	}
	data, _, err := r.ws.store.ReadBlob(r.ctx, ref.SHA256, 0, maxTextSize)
	if err != nil { // it was read a moment ago
		r.failed = err // the next pass ends the erase
		return storage.Keep, storage.BlobContent{}
	}
	if clean := r.cleanContent(data); clean != nil {
		data = clean
	}
	return storage.Replace, storage.BlobContent{Data: data, MIME: to.ref.MIME}
}

// systemTable begins the names of tables that hold system branches of packs.
const systemTable = "system/"

// system is what a table with a system branch will be; nil if it stays.
func (r *rescrubbing) system(data []byte) []byte {
	clean := walkRaw(data, func(text string) string { return r.scrub("system", text) }, r.strings("system"))
	if string(clean) == string(data) {
		return nil
	}
	return clean
}

// strings maps the strings in a value of JSON that is at a kind of place.
func (r *rescrubbing) strings(kind string) func(any) any {
	var each func(any) any
	each = func(value any) any {
		switch v := value.(type) {
		case string:
			return r.scrub(kind, v)
		case []any:
			for i := range v {
				v[i] = each(v[i])
			}
		case map[string]any:
			for name := range v {
				v[name] = each(v[name])
			}
		}
		return value
	}
	return each
}

func (r *rescrubbing) readTables() error {
	return r.view.Tables(func(name string, data []byte) bool {
		if strings.HasPrefix(name, systemTable) && r.system(data) != nil {
			r.systems[name] = true
		}
		return r.ctx.Err() == nil
	})
}

// inReply tells whether what a write answered has a secret, or names an output
// that has another hash now. It is taken out then: a client that repeats the write
// sends other bytes than then, or learns that its answer is gone.
func (r *rescrubbing) inReply(reply []byte) bool {
	found := false
	eachString(reply, func(text string) {
		if _, moved := r.blobs[text]; moved || r.scrub("reply", text) != text {
			found = true
		}
	})
	return found
}

func (r *rescrubbing) readReplies() error {
	err := r.view.Replies(func(_ int64, reply []byte) bool {
		if r.inReply(reply) {
			r.done.Replies++
		}
		return r.ctx.Err() == nil
	})
	if err == nil {
		err = r.ctx.Err()
	}
	return err
}

// entry is what becomes of an entry of the audit log. Checksums stay: they are of
// what was sent.
func (r *rescrubbing) entry(body []byte) (storage.Fate, []byte) {
	var record auditRecord
	if json.Unmarshal(body, &record) != nil {
		return storage.Drop, nil
	}
	was := encode(record)
	hashes := [...]*string{&record.Checksum, &record.Previous, &record.System, &record.Settings}
	var kept [len(hashes)]string
	for i, hash := range hashes {
		kept[i], *hash = *hash, ""
	}
	bare := encode(record)
	walkTexts(reflect.ValueOf(&record).Elem(), func(text string) string { return r.scrub("audit", text) }, func(v any) any { return v })
	changed := string(encode(record)) != string(bare)
	for i, hash := range hashes {
		*hash = kept[i]
	}
	if changed || r.first > 0 && record.Sequence >= r.first || r.systems[record.System] {
		record.Redacted = true
	}
	after := encode(record)
	if string(after) == string(was) {
		return storage.Keep, nil
	}
	return storage.Replace, after
}

func (r *rescrubbing) readAudit() error {
	var failed error
	r.view.AuditRange(0, 0, func(_ int64, body []byte) bool {
		if failed = r.ctx.Err(); failed != nil {
			return false
		}
		fate, clean := r.entry(body)
		if fate == storage.Keep {
			return true
		}
		r.done.Audit++
		var before, after auditRecord
		if json.Unmarshal(body, &before) == nil && json.Unmarshal(clean, &after) == nil && after.Redacted && !before.Redacted {
			if r.done.Redacted++; len(r.done.Packs) < maxPacksTold {
				r.done.Packs = append(r.done.Packs, after.Checksum)
			}
		}
		return true
	})
	return failed
}
