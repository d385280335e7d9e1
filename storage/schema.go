package storage

import (
	"encoding/binary"
	"fmt"
)

// The schema of store.db. A store says which schema wrote it (format) and the
// oldest schema whose programs can read and write it.
//
//	1: first schema
const (
	schemaFormat    = 1
	schemaMinReader = 1
	schemaMinWriter = 1
)

// bucket is a bucket of store.db. Keys and values:
//
//	meta       "schema" → format, minReader, minWriter; "uuid"; "state"; "key"
//	records    sequence → kind, id, parent, body
//	terms      sequence → encoded terms
//	versions   kind, id, newest sequence first → nothing
//	lists      list, ordinal → sequence, id
//	mentions   kind, name, newest sequence first → nothing
//	counters   name → number
//	keys       key of a write → digest, sequence, reply
//	tables     name → data
//	audit      entry → checksum, body
//	auditsums  checksum → newest entry
//	blobs      sha256 → size, MIME, content if it is small
//	times      commit's time in Unix ms, its newest sequence → nothing, sealed
//	writers    first sequence of a row of records → who wrote them
//
// Every value that is not empty is sealed (codec.go).
type bucket byte

const (
	bucketMeta bucket = iota
	bucketRecords
	bucketTerms
	bucketVersions
	bucketLists
	bucketMentions
	bucketCounters
	bucketKeys
	bucketTables
	bucketAudit
	bucketAuditSums
	bucketBlobs
	bucketTimes   // came later; see bucket.required
	bucketWriters // as well
	buckets       // how many there are
)

// String returns the name in the file.
func (b bucket) String() string {
	return [buckets]string{
		"meta", "records", "terms", "versions", "lists", "mentions",
		"counters", "keys", "tables", "audit", "auditsums", "blobs", "times", "writers",
	}[b]
}

// appendOnly tells whether keys only ever come at the end, so that pages can be
// filled.
func (b bucket) appendOnly() bool {
	return b == bucketRecords || b == bucketTerms || b == bucketAudit
}

// required tells whether every store has the bucket. One that does not is made
// by the first write that needs it; programs that do not know it pass it over.
func (b bucket) required() bool { return b != bucketTimes && b != bucketWriters }

// Keys in the meta bucket.
const (
	metaSchema = "schema"
	metaUUID   = "uuid"
	metaState  = "state"
	metaKey    = "key" // came later: absent in stores that no program since has opened for writing
)

// schema says who can read and write a store.
type schema struct {
	format, minReader, minWriter uint32
}

func (s schema) encode() []byte {
	b := binary.BigEndian.AppendUint32(nil, s.format)
	b = binary.BigEndian.AppendUint32(b, s.minReader)
	return binary.BigEndian.AppendUint32(b, s.minWriter)
}

// decodeSchema accepts more than it knows: a later schema may say more.
func decodeSchema(b []byte) (schema, error) {
	if len(b) < 12 {
		return schema{}, corrupt("schema of %d bytes", len(b))
	}
	return schema{
		format:    binary.BigEndian.Uint32(b),
		minReader: binary.BigEndian.Uint32(b[4:]),
		minWriter: binary.BigEndian.Uint32(b[8:]),
	}, nil
}

// allows tells whether this program may read, or also write, such a store.
func (s schema) allows(write bool) error {
	need := s.minReader
	if write {
		need = max(need, s.minWriter)
	}
	if need > schemaFormat {
		return fmt.Errorf("%w: schema %d needs a program of schema %d, this is %d", ErrSchemaTooNew, s.format, need, schemaFormat)
	}
	return nil
}

// state is what every commit changes.
type state struct {
	seq    int64 // newest sequence
	commit int64 // number of the commit, by which its outcome is found out
}

func (s state) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(s.seq))
	return binary.BigEndian.AppendUint64(b, uint64(s.commit))
}

func decodeState(b []byte) (state, error) {
	if len(b) != 16 {
		return state{}, corrupt("state of %d bytes", len(b))
	}
	return state{seq: int64(binary.BigEndian.Uint64(b)), commit: int64(binary.BigEndian.Uint64(b[8:]))}, nil
}
