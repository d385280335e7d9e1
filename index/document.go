package index

import (
	"fmt"
	"strconv"

	bindex "github.com/blevesearch/bleve_index_api"
)

// Doc is what is indexed of a record.
type Doc struct {
	Seq   int64    // of the record, above 0
	Kind  string   // of the record
	Terms []string // without duplicates; nothing is analysed here
}

// Fields of the index. They hold postings and nothing else: no text, no
// frequencies, no positions, no columns.
const (
	fieldID    = "_id"
	fieldTerms = "t"
	fieldKind  = "k"
)

// idDigits is the width of a document id: a sequence in base 32.
const idDigits = 13

// documentID encodes a sequence so that ids sort newest first.
func documentID(seq int64) string {
	s := strconv.FormatUint(uint64(1<<63-1-seq), 32)
	return "0000000000000"[:idDigits-len(s)] + s
}

// sequence reads a document id.
func sequence(id []byte) (int64, error) {
	v, err := strconv.ParseUint(string(id), 32, 63)
	if err != nil || len(id) != idDigits {
		return 0, fmt.Errorf("read document id: %w", ErrDamaged)
	}
	return 1<<63 - 1 - int64(v), nil
}

// document is a Doc as scorch wants it.
type document struct {
	id     string
	fields [3]field
}

func newDocument(d Doc) *document {
	id := documentID(d.Seq)
	doc := &document{id: id}
	doc.fields[0] = field{name: fieldID, value: []byte(id), terms: []string{id}, options: bindex.IndexField | bindex.StoreField}
	doc.fields[1] = field{name: fieldTerms, terms: d.Terms, options: bindex.IndexField | bindex.SkipFreqNorm}
	doc.fields[2] = field{name: fieldKind, terms: []string{d.Kind}, options: bindex.IndexField | bindex.SkipFreqNorm}
	return doc
}

func (d *document) ID() string { return d.id }

func (d *document) Size() int {
	n := len(d.id)
	for i := range d.fields {
		for _, t := range d.fields[i].terms {
			n += len(t)
		}
	}
	return n
}

func (d *document) VisitFields(visit bindex.FieldVisitor) {
	for i := range d.fields {
		visit(&d.fields[i])
	}
}

func (d *document) VisitComposite(bindex.CompositeFieldVisitor) {}
func (d *document) HasComposite() bool                          { return false }
func (d *document) NumPlainTextBytes() uint64                   { return 0 }
func (d *document) AddIDField()                                 {}
func (d *document) StoredFieldsBytes() uint64                   { return uint64(len(d.id)) }
func (d *document) Indexed() bool                               { return true }

// field is a list of terms that somebody else has analysed.
type field struct {
	name    string
	value   []byte
	terms   []string
	options bindex.FieldIndexingOptions
	freqs   bindex.TokenFrequencies
}

func (f *field) Name() string                         { return f.name }
func (f *field) Value() []byte                        { return f.value }
func (f *field) ArrayPositions() []uint64             { return nil }
func (f *field) EncodedFieldType() byte               { return 't' }
func (f *field) Options() bindex.FieldIndexingOptions { return f.options }
func (f *field) AnalyzedLength() int                  { return len(f.terms) }
func (f *field) NumPlainTextBytes() uint64            { return 0 }

func (f *field) Analyze() {
	f.freqs = make(bindex.TokenFrequencies, len(f.terms))
	all := make([]bindex.TokenFreq, len(f.terms))
	for i, t := range f.terms {
		all[i].Term = []byte(t)
		all[i].SetFrequency(1)
		f.freqs[t] = &all[i]
	}
}

func (f *field) AnalyzedTokenFrequencies() bindex.TokenFrequencies { return f.freqs }
