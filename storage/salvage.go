package storage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// place is where a value lies in a damaged file.
type place struct {
	at   int64
	size int
}

// salvage reads what can be read of a damaged store.db without trusting its
// structure: it goes through all pages, whether anything points to them or not,
// and takes each key and value whose checksum says that they belong together. A
// checksum covers the bucket too, so it also tells where a value belongs.
type salvage struct {
	f     io.ReaderAt
	size  int64
	found [buckets]map[string]place
	bare  map[string]bool // keys without a value: versions and mentions
	state state
	uuid  string
	key   []byte
}

// Salvaged counts what a salvage found.
type Salvaged struct {
	Records int   // with their content
	Lost    int64 // sequences of which only the number is known
	Blobs   int
	Audit   int
	Newest  int64 // sequence
}

func newSalvage(f io.ReaderAt, size int64) *salvage {
	s := &salvage{f: f, size: size, bare: map[string]bool{}}
	for b := range buckets {
		s.found[b] = map[string]place{}
	}
	return s
}

// scan goes through all pages. Without a valid meta page the size of a page is
// that of nearly all machines.
func (s *salvage) scan(ctx context.Context) error {
	pageSize := int64(4096)
	if meta, ok := readMetas(s.f); ok {
		pageSize = meta.pageSize
	}
	head := make([]byte, boltPageHeader)
	order := binary.NativeEndian
	for id := int64(2); (id+1)*pageSize <= s.size; id++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := s.f.ReadAt(head, id*pageSize); err != nil {
			continue // a bad sector costs its page
		}
		if order.Uint64(head) != uint64(id) || order.Uint16(head[8:]) != boltLeafPage {
			continue
		}
		pages := min(int64(order.Uint32(head[12:]))+1, (s.size-id*pageSize)/pageSize)
		page := make([]byte, min(pages*pageSize, MaxBody+(1<<20)))
		n, err := s.f.ReadAt(page, id*pageSize)
		if err != nil && err != io.EOF {
			continue
		}
		s.leaf(page[:n], id*pageSize, int(order.Uint16(head[10:])))
	}
	return nil
}

// leaf takes the elements of a leaf page, which begins with its header.
func (s *salvage) leaf(page []byte, at int64, count int) {
	order := binary.NativeEndian
	for i := range count {
		head := boltPageHeader + i*boltElement
		if head+boltElement > len(page) {
			return
		}
		element := page[head:]
		key := int64(head) + int64(order.Uint32(element[4:]))
		value := key + int64(order.Uint32(element[8:]))
		end := value + int64(order.Uint32(element[12:]))
		if key < int64(head) || value < key || end < value || end > int64(len(page)) {
			continue
		}
		if order.Uint32(element)&boltBucketFlag != 0 {
			// A small bucket is a leaf page in the value.
			if inline := page[value:end]; len(inline) > boltBucketHeader+boltPageHeader && order.Uint64(inline) == 0 {
				inline = inline[boltBucketHeader:]
				s.leaf(inline, at+value+boltBucketHeader, int(order.Uint16(inline[10:])))
			}
			continue
		}
		s.take(page[key:value], page[value:end], at+value)
	}
}

// take finds out what a key and its value are.
func (s *salvage) take(key, value []byte, at int64) {
	if len(value) == 0 {
		s.bare[string(key)] = true
		return
	}
	for b := range buckets {
		content, err := unseal(b, key, value)
		if err != nil {
			continue
		}
		here := place{at, len(value)}
		known, ok := s.found[b][string(key)]
		switch {
		case b == bucketMeta:
			s.meta(string(key), content)
			return
		case ok && (b == bucketCounters || b == bucketAuditSums) && len(content) == 8:
			// Pages that are free have older ones: numbers only grow.
			if before, err := s.value(b, []byte(key), known); err == nil && len(before) == 8 && toNumber(before) > toNumber(content) {
				return
			}
		}
		s.found[b][string(key)] = here
		return
	}
}

func (s *salvage) meta(key string, content []byte) {
	switch key {
	case metaUUID:
		s.uuid = string(content)
	case metaKey:
		if len(content) == keySize {
			s.key = content
		}
	case metaState:
		if st, err := decodeState(content); err == nil && st.commit > s.state.commit {
			s.state = st
		}
	}
}

// value reads a value again.
func (s *salvage) value(b bucket, key []byte, p place) ([]byte, error) {
	data := make([]byte, p.size)
	if _, err := s.f.ReadAt(data, p.at); err != nil {
		return nil, err
	}
	return unseal(b, key, data)
}

// write makes a store of what was found. fallback is the UUID where none was.
func (s *salvage) write(root *os.Root, name, fallback string) (done Salvaged, err error) {
	for key := range s.found[bucketRecords] {
		if len(key) == 8 {
			s.state.seq = max(s.state.seq, toNumber([]byte(key)))
		}
	}
	s.state.commit++
	h, err := openHandle(root, name, boltOptions{})
	if err != nil {
		return done, err
	}
	h.db.NoSync = true
	if err = s.fill(h, cmp.Or(s.uuid, fallback, newUUID()), &done); err == nil {
		err = h.db.Sync()
	}
	if closed := h.close(); err == nil {
		err = closed
	}
	done.Newest = s.state.seq
	return done, err
}

func (s *salvage) fill(h *handle, uuid string, done *Salvaged) error {
	tx, err := h.begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	r := &reader{tx: tx}
	for b := range buckets {
		if _, err := tx.CreateBucket([]byte(b.String())); err != nil {
			return err
		}
	}
	put := func(b bucket, key, value []byte) {
		if err == nil {
			err = r.bucket(b).Put(key, value)
		}
	}
	meta := func(key string, value []byte) { put(bucketMeta, []byte(key), sealed(bucketMeta, []byte(key), value)) }
	meta(metaSchema, schema{schemaFormat, schemaMinReader, schemaMinWriter}.encode())
	meta(metaUUID, []byte(uuid))
	meta(metaState, s.state.encode())
	if s.key != nil { // else the next start makes one
		meta(metaKey, s.key)
	}
	kept, versions := map[int64]bool{}, map[string]bool{}
	for seq := int64(1); seq <= s.state.seq && err == nil; seq++ {
		key := number(seq)
		p, ok := s.found[bucketRecords][string(key)]
		record := Record{}
		if ok {
			content, readErr := s.value(bucketRecords, key, p)
			if readErr == nil {
				value := sealed(bucketRecords, key, content)
				record, readErr = openRecord(key, value)
				put(bucketRecords, key, value)
			}
			ok = readErr == nil
		}
		if !ok {
			done.Lost++
			put(bucketRecords, key, sealRecord(key, &Draft{}))
			continue
		}
		if record.Erased() {
			continue
		}
		done.Records++
		kept[seq] = true
		version := appendNewest(versionPrefix(record.Kind, record.ID), seq)
		versions[string(version)] = true
		put(bucketVersions, version, nil)
		if p, ok := s.found[bucketTerms][string(key)]; ok {
			if content, readErr := s.value(bucketTerms, key, p); readErr == nil {
				put(bucketTerms, key, sealed(bucketTerms, key, content))
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.bare)) {
		_, rest, ok := cutName([]byte(key))
		_, rest, ok2 := cutName(rest)
		if ok && ok2 && len(rest) == 8 && !versions[key] && kept[newest(rest)] {
			put(bucketMentions, []byte(key), nil)
		}
	}
	for _, b := range []bucket{bucketCounters, bucketKeys, bucketTables, bucketAudit, bucketAuditSums, bucketBlobs, bucketTimes, bucketWriters} {
		for _, key := range slices.Sorted(maps.Keys(s.found[b])) {
			content, readErr := s.value(b, []byte(key), s.found[b][key])
			if readErr != nil || !s.belongs(b, []byte(key), content) {
				continue
			}
			switch b {
			case bucketBlobs:
				done.Blobs++
			case bucketAudit:
				done.Audit++
			}
			put(b, []byte(key), sealed(b, []byte(key), content))
		}
	}
	s.lists(r, kept, put)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// belongs tells whether a value can be used: pages that are free may have some
// that were taken back.
func (s *salvage) belongs(b bucket, key, content []byte) bool {
	switch b {
	case bucketKeys:
		return len(content) >= 40 && toNumber(content[32:]) <= s.state.seq
	case bucketTables: // derived ones may be of another state
		return bytes.HasPrefix(key, []byte("policy/")) || bytes.HasPrefix(key, []byte("system/"))
	case bucketAuditSums:
		_, ok := s.found[bucketAudit][string(content)]
		return ok
	case bucketWriters:
		return len(key) == 8 && toNumber(key) <= s.state.seq
	case bucketTimes:
		return len(key) == 16 && toNumber(key[8:]) <= s.state.seq
	case bucketCounters:
		return string(key) != auditSizeKey
	}
	return true
}

// lists writes the places of lists whose records are there, without gaps.
func (s *salvage) lists(r *reader, kept map[int64]bool, put func(bucket, []byte, []byte)) {
	var list []byte
	place, before := int64(0), int64(0)
	for _, key := range slices.Sorted(maps.Keys(s.found[bucketLists])) {
		if len(key) < 8 {
			continue
		}
		prefix := []byte(key[:len(key)-8])
		if !bytes.Equal(prefix, list) {
			list, place, before = prefix, 0, 0
		}
		content, err := s.value(bucketLists, []byte(key), s.found[bucketLists][key])
		if err != nil {
			continue
		}
		entry, err := openEntry([]byte(key), sealed(bucketLists, []byte(key), content))
		if err != nil || !kept[entry.Seq] || entry.Seq <= before {
			continue
		}
		record, err := r.get(entry.Seq)
		if err != nil || record.ID != entry.ID || firstVersion(r.bucket(bucketVersions).Cursor(), versionPrefix(record.Kind, record.ID)) != entry.Seq {
			continue
		}
		to := appendNumber(bytes.Clone(prefix), place)
		put(bucketLists, to, sealEntry(to, entry))
		place, before = place+1, entry.Seq
	}
}

// String tells it in a line.
func (s Salvaged) String() string {
	return fmt.Sprintf("%d records, %d lost, %d blobs, %d audit entries, up to sequence %d", s.Records, s.Lost, s.Blobs, s.Audit, s.Newest)
}
