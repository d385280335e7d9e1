package retrieval_test

import (
	"testing"

	"hexapla/retrieval"
)

// FuzzTables: stored tables of any content are tables or none. A table that lies
// is the matter of TestDamagedTables.
func FuzzTables(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0})
	f.Add([]byte{2, 1, 1, 1, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f})
	f.Fuzz(func(t *testing.T, content []byte) { retrieval.ReadTables(content) })
}
