package storage

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// Report is what Verify found.
type Report struct {
	Records  int
	Blobs    int
	Problems []string // what is wrong, at most 100 lines; names no content
}

const maxProblems = 100

// Verify reads the whole store and checks it: bbolt's own structure, every
// checksum, and that records, versions, lists and postings agree; with blobs set
// also the content of every blob. It takes the place of a write, so nothing is
// written meanwhile. The error says that it could not be done; what is wrong
// with the store is in the report.
//
// bbolt's check runs in goroutines of its own, in which a damaged page may end
// the process. To examine a store that may be damaged, do it in a child process.
func (s *Store) Verify(ctx context.Context, blobs bool) (report Report, err error) {
	v := &verifier{ctx: ctx, report: &report}
	if s.ReadOnly() != nil {
		err = s.verify(v)
	} else {
		req := newRequest(ctx)
		req.alone = func() error { return s.verify(v) }
		err = s.submit(req)
	}
	for _, sha := range v.blobs {
		if err != nil || !blobs {
			break
		}
		if _, _, readErr := s.ReadBlob(ctx, sha, 0, 0); errors.Is(readErr, ErrBlobDamaged) {
			v.problem("%v", readErr)
		} else {
			err = readErr
		}
	}
	if err != nil {
		return report, fmt.Errorf("verify: %w", err)
	}
	return report, nil
}

func (s *Store) verify(v *verifier) error {
	h, err := s.hold()
	if err != nil {
		return err
	}
	defer s.release()
	tx, err := beginRead(h)
	if err != nil {
		return err
	}
	defer func() { _ = endRead(tx) }()
	v.r = &reader{tx: tx, logf: s.opts.Logf}
	for problem := range tx.Check() {
		v.problem("structure: %v", problem)
	}
	return v.all(s.seq.Load())
}

// verifier walks through the buckets of one transaction.
type verifier struct {
	ctx    context.Context
	r      *reader
	report *Report
	blobs  []string
	seen   int
}

func (v *verifier) problem(format string, args ...any) {
	if len(v.report.Problems) < maxProblems {
		v.report.Problems = append(v.report.Problems, fmt.Sprintf(format, args...))
	}
}

// all checks every bucket; newest is the newest sequence.
func (v *verifier) all(newest int64) (err error) {
	defer caught(debug.SetPanicOnFault(true), &err)
	if err := v.records(newest); err != nil {
		return err
	}
	for _, check := range []struct {
		bucket bucket
		one    func(key, value []byte) error
	}{
		{bucketTerms, v.terms},
		{bucketVersions, v.version},
		{bucketMentions, v.mention},
		{bucketCounters, v.sealed(bucketCounters)},
		{bucketKeys, v.sealed(bucketKeys)},
		{bucketTables, v.sealed(bucketTables)},
		{bucketAudit, v.audit},
		{bucketAuditSums, v.auditSum},
		{bucketBlobs, v.blob},
	} {
		if err := v.each(check.bucket, check.one); err != nil {
			return err
		}
	}
	if err := v.times(newest); err != nil {
		return err
	}
	if err := v.writers(newest); err != nil {
		return err
	}
	return v.lists()
}

// times checks that sequences rise with the times of their commits.
func (v *verifier) times(newest int64) error {
	if v.r.times() == nil {
		return nil
	}
	before := int64(0)
	return v.each(bucketTimes, func(key, value []byte) error {
		_, seq, err := openTime(key, value)
		if err != nil {
			return fmt.Errorf("key %x: %w", key, err)
		}
		if seq <= before || seq > newest {
			return fmt.Errorf("sequence %d follows %d, the newest is %d", seq, before, newest)
		}
		before = seq
		return nil
	})
}

// each calls one for all keys of a bucket; what it returns is a problem.
func (v *verifier) each(b bucket, one func(key, value []byte) error) error {
	var before []byte
	return v.r.bucket(b).ForEach(func(key, value []byte) error {
		if before != nil && bytes.Compare(key, before) <= 0 { // damaged pages may lead in a circle
			return corrupt("%s: keys are out of order", b)
		}
		before = key
		if v.seen++; v.seen%1024 == 0 {
			if err := v.ctx.Err(); err != nil {
				return err
			}
		}
		if err := one(key, value); err != nil {
			v.problem("%s: %v", b, err)
		}
		return nil
	})
}

func (v *verifier) records(newest int64) error {
	next := int64(1)
	err := v.each(bucketRecords, func(key, value []byte) error {
		v.report.Records++
		record, err := openRecord(key, value)
		if err != nil {
			next++
			return fmt.Errorf("key %x: %w", key, err)
		}
		seq := record.Seq
		expected := next
		next = seq + 1
		if seq != expected {
			return fmt.Errorf("sequence %d follows %d", seq, expected-1)
		}
		if record.Erased() {
			return nil
		}
		if v.r.bucket(bucketVersions).Get(appendNewest(versionPrefix(record.Kind, record.ID), seq)) == nil {
			return fmt.Errorf("record %d is no version of anything", seq)
		}
		return nil
	})
	if next-1 != newest {
		v.problem("records: the last is %d, must be %d", next-1, newest)
	}
	return err
}

func (v *verifier) terms(key, value []byte) error {
	if _, err := unseal(bucketTerms, key, value); err != nil {
		return fmt.Errorf("key %x: %w", key, err)
	}
	if v.r.bucket(bucketRecords).Get(key) == nil {
		return fmt.Errorf("key %x: there is no such record", key)
	}
	return nil
}

func (v *verifier) version(key, _ []byte) error {
	kind, rest, ok := cutName(key)
	id, rest, ok2 := cutName(rest)
	if !ok || !ok2 || len(rest) != 8 {
		return errors.New("a key cannot be read")
	}
	seq := newest(rest)
	record, err := v.r.get(seq)
	if errors.Is(err, ErrDamaged) {
		return nil // told already
	}
	if err != nil || record.Kind != kind || record.ID != id {
		return fmt.Errorf("record %d is not what it is a version of", seq)
	}
	return nil
}

func (v *verifier) mention(key, _ []byte) error {
	_, rest, ok := cutName(key)
	_, rest, ok2 := cutName(rest)
	if !ok || !ok2 || len(rest) != 8 {
		return errors.New("a key cannot be read")
	}
	if v.r.bucket(bucketRecords).Get(number(newest(rest))) == nil {
		return fmt.Errorf("there is no record %d", newest(rest))
	}
	return nil
}

func (v *verifier) sealed(b bucket) func(key, value []byte) error {
	return func(key, value []byte) error {
		if _, err := unseal(b, key, value); err != nil {
			return fmt.Errorf("key %x: %w", key, err)
		}
		return nil
	}
}

func (v *verifier) audit(key, value []byte) error {
	_, _, err := openAudit(key, value)
	return err
}

func (v *verifier) auditSum(key, value []byte) error {
	at, err := unseal(bucketAuditSums, key, value)
	if err != nil {
		return err
	}
	checksum, _, err := openAudit(at, v.r.bucket(bucketAudit).Get(at))
	if err == nil && checksum != string(key) {
		err = fmt.Errorf("entry %x has another checksum", at)
	}
	return err
}

func (v *verifier) blob(key, value []byte) error {
	v.report.Blobs++
	_, _, err := openBlob(key, value)
	if err != nil {
		return fmt.Errorf("key %x: %w", key, err)
	}
	v.blobs = append(v.blobs, hex.EncodeToString(key))
	return nil
}

// lists checks that places are counted from 0, in the order of sequences, and
// that each is the first version of what is listed.
func (v *verifier) lists() error {
	var list []byte
	place, before := int64(0), int64(0)
	versions := v.r.bucket(bucketVersions).Cursor()
	return v.each(bucketLists, func(key, value []byte) error {
		if len(key) < 8 {
			return errors.New("a key cannot be read")
		}
		if name := key[:len(key)-8]; !bytes.Equal(name, list) {
			list, place, before = name, 0, 0
		}
		at := toNumber(key[len(key)-8:])
		expected := place
		place = at + 1
		if at != expected {
			return fmt.Errorf("place %d follows %d", at, expected-1)
		}
		entry, err := openEntry(key, value)
		if err != nil {
			return err
		}
		if entry.Seq <= before {
			return fmt.Errorf("sequence %d follows %d", entry.Seq, before)
		}
		before = entry.Seq
		record, err := v.r.get(entry.Seq)
		if errors.Is(err, ErrDamaged) {
			return nil // told already
		}
		if err != nil || record.ID != entry.ID {
			return fmt.Errorf("record %d is not what is listed", entry.Seq)
		}
		if first := firstVersion(versions, versionPrefix(record.Kind, record.ID)); first != entry.Seq {
			return fmt.Errorf("record %d is not the first version", entry.Seq)
		}
		return nil
	})
}

// firstVersion returns the oldest sequence of something; 0 if there is none.
func firstVersion(cursor *bolt.Cursor, prefix []byte) int64 {
	end := appendNewest(bytes.Clone(prefix), 0)
	key, _ := cursor.Seek(end)
	if key == nil {
		key, _ = cursor.Last()
	} else if !bytes.Equal(key, end) {
		key, _ = cursor.Prev()
	}
	if len(key) != len(prefix)+8 || !bytes.HasPrefix(key, prefix) {
		return 0
	}
	return newest(key[len(prefix):])
}
