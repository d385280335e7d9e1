// Package terms turns text into the terms that search works on, and does the
// arithmetic of ranking: analysis of code and prose, the compact form in which
// a document's terms are kept beside its record, matching a query against that
// form without decoding it, and BM25.
//
// It guarantees that everything is a pure function of its arguments and the
// same on every platform, that no input makes it panic, and that the work and
// the result are bounded.
//
// It keeps no text, knows no store and no index, and understands no language
// but a little English: other scripts are matched by whole words, and Chinese,
// Japanese and Korean by pairs of characters.
package terms

import (
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"

	"hexapla/layers"
)

// Bounds of a document.
const (
	MaxText     = 1 << 20 // bytes of a text that are analysed; the rest is ignored
	MaxTerms    = 4096    // distinct terms; later ones are ignored
	MaxTerm     = 64      // bytes of a term
	MaxEntities = 512     // distinct entities; later ones are ignored
	MaxEntity   = 120     // bytes of an entity; longer ones end in a hash
)

// Prefixes of the entities of a Doc.
const (
	EntityFile     = "file:"
	EntityFunction = "func:"
	EntityConcept  = "concept:"
	EntityError    = "error:"
)

// Doc is what search knows of a document.
type Doc struct {
	Length   int        // occurrences of all terms
	Terms    []TermFreq // by term, without duplicates
	Entities []string   // by name, without duplicates, each with its prefix
}

// TermFreq is a term and how often it occurs.
type TermFreq struct {
	Term string
	Freq int // at least 1
}

// NewDoc analyses a text and takes in the entities that were found in it.
func NewDoc(text string, entities layers.Entities) Doc {
	counts := make(map[string]int, 64) // term to index in doc.Terms
	var doc Doc
	walk(text, func(term []byte) {
		if i, ok := counts[string(term)]; ok {
			doc.Terms[i].Freq++
			doc.Length++
			return
		}
		if len(doc.Terms) == MaxTerms {
			return
		}
		s := string(term)
		counts[s] = len(doc.Terms)
		doc.Terms = append(doc.Terms, TermFreq{Term: s, Freq: 1})
		doc.Length++
	})
	slices.SortFunc(doc.Terms, func(a, b TermFreq) int { return strings.Compare(a.Term, b.Term) })
	doc.Entities = Entities(entities)
	return doc
}

// Entities returns the names by which a Doc knows entities: lower-case, with a
// prefix, sorted, without duplicates. At most MaxEntities are returned; files
// go before functions, errors and concepts.
func Entities(entities layers.Entities) []string {
	var out []string
	add := func(prefix string, names []string) {
		for _, name := range names {
			if len(out) == 2*MaxEntities {
				return
			}
			if e := entity(prefix, name); e != "" {
				out = append(out, e)
			}
		}
	}
	add(EntityFile, entities.Files)
	add(EntityFunction, entities.Functions)
	add(EntityError, entities.Errors)
	add(EntityConcept, entities.Concepts)
	seen := make(map[string]bool, len(out))
	kept := out[:0]
	for _, e := range out {
		if !seen[e] && len(kept) < MaxEntities {
			seen[e] = true
			kept = append(kept, e)
		}
	}
	slices.Sort(kept)
	return kept
}

// entity normalises one name; "" if nothing is left of it.
func entity(prefix, name string) string {
	name = strings.ToLower(strings.TrimSpace(strings.ToValidUTF8(name, "")))
	if prefix == EntityFile {
		name = strings.ReplaceAll(name, `\`, "/")
		for strings.HasPrefix(name, "./") {
			name = name[2:]
		}
	}
	if name == "" {
		return ""
	}
	e := prefix + name
	if len(e) <= MaxEntity {
		return e
	}
	h := fnv.New64a()
	h.Write([]byte(e))
	cut := MaxEntity - 17
	for !utf8.RuneStart(e[cut]) {
		cut--
	}
	const hex = "0123456789abcdef"
	b := append([]byte(e[:cut]), '~')
	for sum, shift := h.Sum64(), 60; shift >= 0; shift -= 4 {
		b = append(b, hex[sum>>shift&15])
	}
	return string(b)
}
