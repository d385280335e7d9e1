package storage

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// errSeal says that a value does not belong to its key, or is not what was
// written.
var errSeal = errors.New("checksum differs")

const sealSize = 4

// sum is the CRC32C of the bucket, the key and the value, so that a value that
// got under another key is noticed too.
func sum(b bucket, key, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli) // made once by the library
	crc := crc32.Update(0, table, []byte{byte(b)})
	crc = crc32.Update(crc, table, key)
	return crc32.Update(crc, table, value)
}

// seal puts the checksum into the first bytes of buf, which were left free for
// it, and returns buf.
func seal(b bucket, key, buf []byte) []byte {
	binary.LittleEndian.PutUint32(buf, sum(b, key, buf[sealSize:]))
	return buf
}

// sealed returns a copy of value with its checksum.
func sealed(b bucket, key, value []byte) []byte {
	buf := make([]byte, sealSize, sealSize+len(value))
	return seal(b, key, append(buf, value...))
}

// unseal returns the value without its checksum; it aliases buf.
func unseal(b bucket, key, buf []byte) ([]byte, error) {
	if len(buf) < sealSize || binary.LittleEndian.Uint32(buf) != sum(b, key, buf[sealSize:]) {
		return nil, errSeal
	}
	return buf[sealSize:], nil
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func appendNumber(dst []byte, n int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(n)) }

// appendNewest appends a sequence so that newer ones sort first.
func appendNewest(dst []byte, seq int64) []byte {
	return binary.BigEndian.AppendUint64(dst, ^uint64(seq))
}

func newest(b []byte) int64 { return int64(^binary.BigEndian.Uint64(b)) }

func toNumber(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

// appendName appends a name so that names sort as their bytes do, none is the
// beginning of another, and the encoding of a name's beginning without the two
// closing bytes is the beginning of its encoding: 0x00 is written as 0x00 0xFF,
// and 0x00 0x01 closes.
func appendName(dst []byte, name string) []byte {
	return append(appendNameOpen(dst, name), 0, 1)
}

func appendNameOpen(dst []byte, name string) []byte {
	for i := range len(name) {
		dst = append(dst, name[i])
		if name[i] == 0 {
			dst = append(dst, 0xFF)
		}
	}
	return dst
}

// cutName reads a name that appendName wrote.
func cutName(b []byte) (name string, rest []byte, ok bool) {
	var buf []byte
	for i := 0; i+1 < len(b); i++ {
		switch {
		case b[i] != 0:
			buf = append(buf, b[i])
		case b[i+1] == 1:
			return string(buf), b[i+2:], true
		case b[i+1] == 0xFF:
			buf = append(buf, 0)
			i++
		default:
			return "", nil, false
		}
	}
	return "", nil, false
}

func versionPrefix(kind, id string) []byte {
	key := make([]byte, 0, len(kind)+len(id)+4+8)
	return appendName(appendName(key, kind), id)
}

func listPrefix(list string) []byte {
	return appendName(make([]byte, 0, len(list)+2+8), list)
}

// appendText appends a text with its length.
func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func cutText(b []byte) (text, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	return b[size : size+int(n)], b[size+int(n):], true
}

// sealRecord encodes a record for the records bucket.
func sealRecord(key []byte, d *Draft) []byte {
	size := sealSize + 3*binary.MaxVarintLen16 + len(d.Kind) + len(d.ID) + len(d.Parent) + len(d.Body)
	buf := make([]byte, sealSize, size)
	buf = appendText(buf, d.Kind)
	buf = appendText(buf, d.ID)
	buf = appendText(buf, d.Parent)
	return seal(bucketRecords, key, append(buf, d.Body...))
}

// openRecord decodes a value of the records bucket. The record shares no memory
// with value.
func openRecord(key, value []byte) (Record, error) {
	value, err := unseal(bucketRecords, key, value)
	if err != nil || len(key) != 8 {
		return Record{}, errSeal
	}
	kind, rest, ok := cutText(value)
	id, rest, ok2 := cutText(rest)
	parent, body, ok3 := cutText(rest)
	if !ok || !ok2 || !ok3 {
		return Record{}, errSeal
	}
	return Record{
		Seq: toNumber(key), Kind: string(kind), ID: string(id), Parent: string(parent),
		Body: append([]byte{}, body...),
	}, nil
}
