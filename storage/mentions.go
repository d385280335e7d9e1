package storage

import (
	"bytes"
	"runtime/debug"
)

// Mention is a name that a record speaks of: a posting of the reference index
// (requirement H5). Storage knows no kinds; "file", "function", "concept" and
// "error" are in use.
type Mention struct {
	Kind, Name string
}

// pageMentions is how many postings are read before the callback runs.
const pageMentions = 256

// posting is one record that mentions a name.
type posting struct {
	name string
	seq  int64
}

// Mentions calls fn for the records that mention a name, or with prefix set any
// name that begins so: names in the order of their bytes, for each name the
// newest record first. It ends when fn returns false. Errors: ErrCorrupt,
// ErrClosed.
func (v View) Mentions(kind, name string, prefix bool, fn func(kind, name string, seq int64) bool) error {
	within := appendName(nil, kind)
	start := len(within)
	var at []byte
	if prefix {
		within = appendNameOpen(within, name)
		at = bytes.Clone(within)
	} else {
		within = appendName(within, name)
		at = appendNewest(bytes.Clone(within), v.seq)
	}
	for at != nil {
		page, next, err := v.postings(at, within, start)
		if err != nil {
			return err
		}
		for _, p := range page {
			if !fn(kind, p.name, p.seq) {
				return nil
			}
		}
		at = next
	}
	return nil
}

// postings reads a page of postings whose keys begin with within, from a key on,
// and returns the key to go on from, nil at the end. Names stand behind the
// first start bytes of a key.
func (v View) postings(at, within []byte, start int) (page []posting, next []byte, err error) {
	if err := v.r.enter(); err != nil {
		return nil, nil, err
	}
	defer v.r.exit(debug.SetPanicOnFault(true), &err)
	cursor := v.r.bucket(bucketMentions).Cursor()
	var last []byte // the encoded name of the posting before
	var name string
	key, _ := cursor.Seek(at)
	for read := 0; key != nil && bytes.HasPrefix(key, within); read++ {
		if read == pageMentions {
			return page, bytes.Clone(key), nil
		}
		if len(key) < start+8 {
			return nil, nil, corrupt("key of a posting has %d bytes", len(key))
		}
		if encoded := key[start : len(key)-8]; last == nil || !bytes.Equal(encoded, last) {
			text, rest, ok := cutName(encoded)
			if !ok || len(rest) != 0 {
				return nil, nil, corrupt("name of a posting cannot be read")
			}
			name, last = text, encoded
		}
		if seq := newest(key[len(key)-8:]); seq <= v.seq {
			page = append(page, posting{name, seq})
		}
		before := key
		key, _ = cursor.Next()
		if key != nil && bytes.Compare(key, before) <= 0 { // damaged pages may lead in a circle
			return nil, nil, corrupt("postings are out of order")
		}
	}
	return page, nil, nil
}
