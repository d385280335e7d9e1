package storage

import (
	"bytes"
	"os"

	bolt "go.etcd.io/bbolt"
)

// WithCommit has a store commit through a function, which tests use to make
// commits fail.
func (o Options) WithCommit(commit func(real func() error) error) Options {
	o.commit = func(tx *bolt.Tx) error { return commit(tx.Commit) }
	return o
}

// Schema numbers, and a way to write others.
const SchemaFormat = schemaFormat

// SetSchema changes the schema that a closed store's file claims.
func SetSchema(path string, format, minReader, minWriter uint32) error {
	return editBucket(path, bucketMeta, []byte(metaSchema), func([]byte) []byte {
		key := []byte(metaSchema)
		return sealed(bucketMeta, key, append(schema{format, minReader, minWriter}.encode(), "more"...))
	})
}

// Guard looks at a file as Open does before bbolt reads it.
func Guard(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return guardFile(f, info.Size())
}

// FlipRecord changes one byte of a record in a closed store's file.
func FlipRecord(path string, seq int64) error {
	return editBucket(path, bucketRecords, number(seq), flip)
}

// FlipTerms changes one byte of a record's terms.
func FlipTerms(path string, seq int64) error {
	return editBucket(path, bucketTerms, number(seq), flip)
}

// FlipTable changes one byte of a table.
func FlipTable(path, name string) error {
	return editBucket(path, bucketTables, []byte(name), flip)
}

// FlipCounter changes one byte of a counter.
func FlipCounter(path, name string) error {
	return editBucket(path, bucketCounters, counterKey(name), flip)
}

// FlipPlace changes one byte of a place in a list.
func FlipPlace(path, list string, place int) error {
	return editBucket(path, bucketLists, appendNumber(listPrefix(list), int64(place)), flip)
}

// FlipBlob changes one byte of what the store knows of a blob.
func FlipBlob(path, sha string) error {
	key, _ := blobKey(sha)
	return editBucket(path, bucketBlobs, key, flip)
}

// DropPlace removes what a list has at a place.
func DropPlace(path, list string, place int) error {
	return editBucket(path, bucketLists, appendNumber(listPrefix(list), int64(place)), func([]byte) []byte { return nil })
}

func flip(value []byte) []byte {
	value[len(value)-1] ^= 0x20
	return value
}

func editBucket(path string, b bucket, key []byte, edit func([]byte) []byte) error {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bolt.Tx) error {
		bucket := tx.Bucket([]byte(b.String()))
		value := edit(append([]byte(nil), bucket.Get(key)...))
		if value == nil {
			return bucket.Delete(key)
		}
		return bucket.Put(key, value)
	})
}

// DropTimes removes the times of commits from a closed store's file, as a program
// that did not note them left it.
func DropTimes(path string) error {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(bucketTimes.String())) })
}

// ReadRecord decodes a value of the records bucket whose checksum fits.
func ReadRecord(key, content []byte) (Record, error) {
	return openRecord(key, sealed(bucketRecords, key, content))
}

// RecordContent is what of a draft is stored beside the checksum.
func RecordContent(key []byte, d Draft) []byte { return sealRecord(key, &d)[sealSize:] }

// ReadSchema and ReadState decode values of the meta bucket.
func ReadSchema(b []byte) error { _, err := decodeSchema(b); return err }

// ReadState decodes what every commit changes.
func ReadState(b []byte) error { _, err := decodeState(b); return err }

// GuardBytes looks at the content of a file as Open does before bbolt reads it.
func GuardBytes(data []byte) error { return guardFile(bytes.NewReader(data), int64(len(data))) }
