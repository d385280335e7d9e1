package terms

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrEncoding says that bytes are not an encoded Doc of a known version.
var ErrEncoding = errors.New("not an encoded document")

// codecVersion is the first byte of an encoded Doc.
const codecVersion = 1

// An encoded Doc is
//
//	version byte
//	uvarint length
//	uvarint bytes of the term section
//	term section:   uvarint count, then per term    shared byte, rest byte, rest, uvarint freq
//	entity section: uvarint count, then per entity  shared byte, rest byte, rest
//
// shared is how many bytes a name has in common with the one before it.

// Encode returns the compact form of d, whose terms and entities must be
// sorted and within the bounds, as NewDoc makes them.
func (d Doc) Encode() []byte {
	section := make([]byte, 0, 8*len(d.Terms)+8)
	section = binary.AppendUvarint(section, uint64(len(d.Terms)))
	previous := ""
	for _, t := range d.Terms {
		section = appendName(section, previous, t.Term)
		section = binary.AppendUvarint(section, uint64(t.Freq))
		previous = t.Term
	}
	out := make([]byte, 0, len(section)+16+24*len(d.Entities))
	out = append(out, codecVersion)
	out = binary.AppendUvarint(out, uint64(d.Length))
	out = binary.AppendUvarint(out, uint64(len(section)))
	out = append(out, section...)
	out = binary.AppendUvarint(out, uint64(len(d.Entities)))
	previous = ""
	for _, e := range d.Entities {
		out = appendName(out, previous, e)
		previous = e
	}
	return out
}

func appendName(dst []byte, previous, name string) []byte {
	shared := commonPrefix(previous, name)
	dst = append(dst, byte(shared), byte(len(name)-shared))
	return append(dst, name[shared:]...)
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// Decode reads what Encode wrote. It returns ErrEncoding for anything else,
// and never panics.
func Decode(b []byte) (Doc, error) {
	var d Doc
	r, err := newReader(b)
	if err != nil {
		return Doc{}, err
	}
	d.Length = r.length
	n := r.count(MaxTerms)
	d.Terms = make([]TermFreq, 0, min(n, len(b)/4+1))
	previous := ""
	for range n {
		term := r.name(previous, MaxTerm)
		freq := r.uvarint()
		if r.failed || (len(d.Terms) > 0 && term <= previous) || freq < 1 || freq > uint64(d.Length) {
			return Doc{}, fmt.Errorf("decode terms: %w", ErrEncoding)
		}
		d.Terms = append(d.Terms, TermFreq{Term: term, Freq: int(freq)})
		previous = term
	}
	if !r.endOfTerms() {
		return Doc{}, fmt.Errorf("decode terms: %w", ErrEncoding)
	}
	n = r.count(MaxEntities)
	previous = ""
	for range n {
		e := r.name(previous, MaxEntity)
		if r.failed || (len(d.Entities) > 0 && e <= previous) {
			return Doc{}, fmt.Errorf("decode terms: %w", ErrEncoding)
		}
		d.Entities = append(d.Entities, e)
		previous = e
	}
	if r.failed || len(r.rest) != 0 {
		return Doc{}, fmt.Errorf("decode terms: %w", ErrEncoding)
	}
	return d, nil
}

// Names calls visit with each term and then each entity of an encoded Doc, in
// order. The bytes are only valid during the call. It returns ErrEncoding for
// bytes that are no encoded Doc; names before the damage have been visited.
func Names(encoded []byte, visit func(name []byte, entity bool)) error {
	r, err := newReader(encoded)
	if err != nil {
		return err
	}
	buffer := make([]byte, 0, MaxEntity)
	for _, entity := range [...]bool{false, true} {
		limit, count := MaxTerm, MaxTerms
		if entity {
			limit, count = MaxEntity, MaxEntities
			if !r.endOfTerms() {
				return fmt.Errorf("read terms: %w", ErrEncoding)
			}
		}
		buffer = buffer[:0]
		for range r.count(count) {
			shared, rest := r.entry()
			if !entity {
				r.uvarint()
			}
			if r.failed || shared > len(buffer) || shared+len(rest) > limit {
				return fmt.Errorf("read terms: %w", ErrEncoding)
			}
			buffer = append(buffer[:shared], rest...)
			visit(buffer, entity)
		}
	}
	if r.failed {
		return fmt.Errorf("read terms: %w", ErrEncoding)
	}
	return nil
}

// Length returns the length of an encoded Doc.
func Length(encoded []byte) (int, error) {
	r, err := newReader(encoded)
	return r.length, err
}

// reader walks an encoded Doc. After a failure every read gives zero.
type reader struct {
	rest   []byte
	after  int // bytes after the term section
	length int
	failed bool
}

// maxLength bounds the length that an encoded Doc may claim.
const maxLength = 1 << 30

// newReader reads the head of an encoded Doc and stands at the term section.
func newReader(b []byte) (reader, error) {
	if len(b) == 0 || b[0] != codecVersion {
		return reader{}, fmt.Errorf("decode terms: version: %w", ErrEncoding)
	}
	r := reader{rest: b[1:]}
	length, section := r.uvarint(), r.uvarint()
	if r.failed || length > maxLength || section > uint64(len(r.rest)) {
		return reader{}, fmt.Errorf("decode terms: head: %w", ErrEncoding)
	}
	r.length = int(length)
	r.after = len(r.rest) - int(section)
	return r, nil
}

// endOfTerms tells whether exactly the term section has been read.
func (r *reader) endOfTerms() bool { return !r.failed && len(r.rest) == r.after }

// skipTerms goes on to the entity section.
func (r *reader) skipTerms() {
	if len(r.rest) < r.after {
		r.failed = true
		return
	}
	r.rest = r.rest[len(r.rest)-r.after:]
}

func (r *reader) uvarint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.failed = true
		r.rest = nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) count(limit int) int {
	n := r.uvarint()
	if n > uint64(limit) {
		r.failed = true
		return 0
	}
	return int(n)
}

// entry reads a front-coded name.
func (r *reader) entry() (shared int, rest []byte) {
	if len(r.rest) < 2 || len(r.rest) < 2+int(r.rest[1]) {
		r.failed = true
		r.rest = nil
		return 0, nil
	}
	shared, n := int(r.rest[0]), int(r.rest[1])
	rest = r.rest[2 : 2+n]
	r.rest = r.rest[2+n:]
	return shared, rest
}

func (r *reader) name(previous string, limit int) string {
	shared, rest := r.entry()
	if shared > len(previous) || shared+len(rest) > limit || shared+len(rest) == 0 {
		r.failed = true
		return ""
	}
	return previous[:shared] + string(rest)
}
