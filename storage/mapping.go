package storage

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"slices"

	"hexapla/layers"
)

// Fate is what becomes of a value when a store is mapped.
type Fate int

// Fates of a value.
const (
	Keep    Fate = iota // as it is
	Replace             // by what stands beside the fate
	Drop
)

// Mapping says what becomes of each value of a store. A nil function keeps all
// of its values. The functions are called once for each value, in the order of
// the fields and of the keys; what they are given must not be changed, and not
// be kept. They must not call the store.
type Mapping struct {
	// Record is asked for every record, with its terms, nil for none. Replace
	// puts other content under the same kind, id and parent. What is dropped
	// leaves its sequence taken: reading it gives ErrErased. It is no version of
	// anything any more, is mentioned by nothing and leaves its lists, in which
	// later places move up.
	Record func(r Record, terms []byte) (Fate, Content)
	// Mention is asked for postings of records that stay; Replace is no answer.
	Mention func(m Mention, seq int64) Fate
	// Counter returns the new value of a counter of Tx.Add.
	Counter func(name string, value int64) int64
	// Reply is asked for what writes with a key answered. Drop keeps the key,
	// so that the write is still not done again: its receipt has no reply.
	Reply func(seq int64, reply []byte) (Fate, []byte)
	// Table is asked for derived tables.
	Table func(name string, data []byte) (Fate, []byte)
	// Audit is asked for the bodies of audit entries. An entry keeps its number
	// and its checksum.
	Audit func(entry int64, body []byte) (Fate, []byte)
	// List gives lists other names. Lists that come to have the same name become
	// one, in the order of sequences. Only Erase can do this.
	List func(name string) string
	// Blob is asked for blobs. Replace enters other content under its own hash,
	// which is for Record to put into the records; the old one is gone. It may read
	// blobs of the store.
	Blob func(ref layers.BlobRef) (Fate, BlobContent)
	// DropDamaged drops values that are not what was written. Otherwise they
	// stay, damaged as they are.
	DropDamaged bool
}

// empty tells that a mapping keeps everything.
func (m *Mapping) empty() bool {
	return m.Record == nil && m.Mention == nil && m.Counter == nil && m.Reply == nil && m.List == nil && m.Table == nil &&
		m.Audit == nil && m.Blob == nil && !m.DropDamaged
}

// Content is what a record is to have instead.
type Content struct {
	Body, Terms []byte
	// ID and Parent take the place of the record's where they are not "". With
	// another id it is a version of what has that one, of which the first stands in
	// lists. Only Erase can change ids.
	ID, Parent string
	// Mentions are all that the record is found by; nil leaves what there is. Only
	// Erase can add any.
	Mentions []Mention
}

// BlobContent is what a blob is to be instead.
type BlobContent struct {
	Data []byte
	MIME string // "" leaves it as it is
}

// change is what a mapping made of one key. Slices may alias pages.
type change struct {
	bucket      bucket
	key, value  []byte // as they are
	to, content []byte // as they will be; a nil key drops
	blob        *StagedBlob
	elsewhere   bool // to lies out of the order of the keys
}

// same tells that nothing changes.
func (c *change) same() bool { return bytes.Equal(c.key, c.to) && bytes.Equal(c.value, c.content) }

// mapper goes through a transaction with a mapping.
type mapper struct {
	r       *reader
	m       Mapping
	emit    func(change) error
	newest  int64
	dropped map[int64]bool  // records
	gone    map[string]bool // audit entries, by key
	damaged int
	list    []byte                     // prefix of the list that is being walked
	left    int64                      // places that it has lost so far
	moved   map[int64]string           // ids of records that have other ones
	found   map[int64]map[Mention]bool // what records are found by that is not there yet
	merged  map[Mention][]int64        // versions of what records moved to, by kind and id
	later   map[int64]bool             // of those all but the first, which alone is in lists
}

func newMapper(r *reader, m Mapping, newest int64, emit func(change) error) *mapper {
	return &mapper{r: r, m: m, emit: emit, newest: newest, dropped: map[int64]bool{}, gone: map[string]bool{}, moved: map[int64]string{}, found: map[int64]map[Mention]bool{},
		merged: map[Mention][]int64{}, later: map[int64]bool{}}
}

// run emits every key of the store with what becomes of it.
func (w *mapper) run() error {
	for b := range buckets {
		if b == bucketTerms { // with the records
			continue
		}
		if w.r.tx.Bucket([]byte(b.String())) == nil && !b.required() {
			continue
		}
		if err := w.bucket(b); err != nil {
			return err
		}
	}
	return nil
}

func (w *mapper) bucket(b bucket) error {
	if b == bucketRecords {
		return w.records()
	}
	cursor := w.r.bucket(b).Cursor()
	var before []byte
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		if before != nil && bytes.Compare(key, before) <= 0 {
			return corrupt("%s: keys are out of order", b)
		}
		before = key
		c := change{bucket: b, key: key, value: value, to: key, content: value}
		if err := w.one(&c); err != nil {
			return err
		}
		if err := w.emit(c); err != nil {
			return err
		}
	}
	switch b {
	case bucketMentions:
		return w.newMentions()
	case bucketVersions:
		for _, versions := range w.merged {
			if len(versions) == 0 {
				continue
			}
			first := slices.Min(versions)
			for _, seq := range versions {
				w.later[seq] = seq != first
			}
		}
	}
	return nil
}

// records maps records together with their terms.
func (w *mapper) records() error {
	cursor := w.r.bucket(bucketRecords).Cursor()
	terms := walker{cursor: w.r.bucket(bucketTerms).Cursor()}
	before := int64(0)
	for key, value := cursor.First(); key != nil; key, value = cursor.Next() {
		if len(key) != 8 || toNumber(key) <= before {
			return corrupt("records: keys are out of order")
		}
		before = toNumber(key)
		record := change{bucket: bucketRecords, key: key, value: value, to: key, content: value}
		words := change{bucket: bucketTerms, key: key, value: terms.at(key), to: key}
		words.content = words.value
		w.record(&record, &words)
		if err := w.emit(record); err != nil {
			return err
		}
		if words.value == nil && words.content == nil {
			continue
		}
		if words.content == nil {
			words.to = nil
		}
		if err := w.emit(words); err != nil {
			return err
		}
	}
	return nil
}

func (w *mapper) record(record, words *change) {
	r, err := openRecord(record.key, record.value)
	var text []byte
	if words.value != nil {
		var bad error
		if text, bad = unseal(bucketTerms, words.key, words.value); bad != nil {
			w.damaged++
			if w.m.DropDamaged {
				words.content, text = nil, nil
			}
		}
	}
	fate, content := Keep, Content{}
	switch {
	case err != nil:
		w.damaged++
		if w.m.DropDamaged {
			fate = Drop
		}
	case r.Erased():
	case w.m.Record != nil:
		fate, content = w.m.Record(r, text)
	}
	switch fate {
	case Drop:
		w.dropped[toNumber(record.key)] = true
		record.content = sealRecord(record.key, &Draft{})
		words.content = nil
	case Replace:
		as := Draft{Kind: r.Kind, ID: cmp.Or(content.ID, r.ID), Parent: cmp.Or(content.Parent, r.Parent), Body: content.Body}
		record.content = sealRecord(record.key, &as)
		if as.ID != r.ID {
			w.moved[r.Seq] = as.ID
			w.merged[Mention{r.Kind, as.ID}] = nil
		}
		if content.Mentions != nil {
			w.found[r.Seq] = map[Mention]bool{}
			for _, m := range content.Mentions {
				w.found[r.Seq][m] = true
			}
		}
		words.content = nil
		if content.Terms != nil {
			words.content = sealed(bucketTerms, words.key, content.Terms)
		}
	}
}

// one maps a key of a bucket other than records and terms.
func (w *mapper) one(c *change) error {
	switch c.bucket {
	case bucketMeta, bucketTimes, bucketWriters:
		return nil
	case bucketVersions:
		w.version(c)
		return nil
	case bucketMentions:
		w.mention(c)
		return nil
	case bucketLists:
		w.place(c)
		return nil
	case bucketAuditSums:
		at, err := unseal(c.bucket, c.key, c.value)
		if err == nil && w.gone[string(at)] {
			c.to = nil
			return nil
		}
	case bucketBlobs:
		return w.blob(c)
	}
	value, err := unseal(c.bucket, c.key, c.value)
	if err != nil {
		w.harmed(c)
		return nil
	}
	fate, content := Keep, []byte(nil)
	switch c.bucket {
	case bucketCounters:
		if w.m.Counter != nil && c.key[0] == 'n' && len(value) == 8 {
			if n := w.m.Counter(string(c.key[1:]), toNumber(value)); n != toNumber(value) {
				fate, content = Replace, number(n)
			}
		}
	case bucketKeys:
		if w.m.Reply != nil && len(value) > 40 {
			if fate, content = w.m.Reply(toNumber(value[32:]), value[40:]); fate != Keep {
				content = append(bytes.Clone(value[:40]), content...)
				fate = Replace
			}
		}
	case bucketTables:
		if w.m.Table != nil {
			fate, content = w.m.Table(string(c.key), value)
		}
	case bucketAudit:
		fate, content = w.audit(c, value)
	}
	switch fate {
	case Drop:
		c.to = nil
	case Replace:
		c.content = sealed(c.bucket, c.key, content)
	}
	return nil
}

// harmed is what becomes of a value that is not what was written. The counters
// behind NextID must not give a number twice; there are fewer than records.
func (w *mapper) harmed(c *change) {
	w.damaged++
	switch {
	case !w.m.DropDamaged:
	case c.bucket == bucketCounters && len(c.key) > 0 && c.key[0] == 'i':
		c.content = sealed(bucketCounters, c.key, number(w.newest))
	default:
		c.to = nil
		if c.bucket == bucketAudit {
			w.gone[string(c.key)] = true
		}
	}
}

func (w *mapper) mention(c *change) {
	kind, rest, ok := cutName(c.key)
	name, rest, ok2 := cutName(rest)
	switch {
	case !ok || !ok2 || len(rest) != 8:
		w.harmed(c)
	case w.dropped[newest(rest)]:
		c.to = nil
	case w.found[newest(rest)] != nil:
		if m := (Mention{kind, name}); w.found[newest(rest)][m] {
			delete(w.found[newest(rest)], m)
		} else {
			c.to = nil
		}
	case w.m.Mention != nil && w.m.Mention(Mention{kind, name}, newest(rest)) == Drop:
		c.to = nil
	}
}

func (w *mapper) audit(c *change, value []byte) (Fate, []byte) {
	sum, body, ok := cutText(value)
	if !ok || w.m.Audit == nil {
		return Keep, nil
	}
	fate, content := w.m.Audit(toNumber(c.key), body)
	switch fate {
	case Drop:
		w.gone[string(c.key)] = true
	case Replace:
		content = append(appendText(nil, string(sum)), content...)
	}
	return fate, content
}

func (w *mapper) blob(c *change) error {
	ref, _, err := openBlob(c.key, c.value)
	if err != nil {
		w.harmed(c)
		return nil
	}
	if w.m.Blob == nil {
		return nil
	}
	switch fate, content := w.m.Blob(ref); {
	case fate == Drop:
		c.to = nil
	case fate == Replace && len(content.Data) > MaxBlob:
		return errors.Join(errors.New("replace blob"), ErrTooLarge)
	case fate == Replace:
		c.to = nil
		c.blob = newStaged(content.Data, cmp.Or(content.MIME, ref.MIME))
	}
	return nil
}

// blobOf names the blob of a key.
func blobOf(key []byte) string { return hex.EncodeToString(key) }
