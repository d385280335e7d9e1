package needs

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hexapla/layers/digest"
)

func TestOfCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, paths, identifiers string }{
		{`{"file_path":"/home/a/project/reader.go","old_string":"\tlastLine := readLine(r)"}`, "/home/a/project/reader.go", "lastLine readLine"},
		{`{"command":"go test ./internal/... -run TestClose"}`, "./internal", "TestClose"},
		{`{"command":"git show 6f0ea30b28 -- go.mod"}`, "go.mod", "6f0ea30b28"},
		{`{"pattern":"MAX_SIZE|fmt.Println","path":"cmd"}`, "", "MAX_SIZE"},
		{`{"n":3.14,"a":["plain words, e.g. these."],"v":"1.2.3"}`, "", ""},
		{`cat src/main.rs`, "src/main.rs", ""},
		{``, "", ""},
	} {
		got := OfCall(c.in)
		if p, i := strings.Join(got.Paths, " "), strings.Join(got.Identifiers, " "); p != c.paths || i != c.identifiers {
			t.Errorf("%s: paths %q, identifiers %q", c.in, p, i)
		}
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	n := digest.NamesOf("a/b.go c/d.go readLine writeLine")
	known := Known(n, "see a/b.go: writeLine()")
	if !slices.Equal(known.Paths, []string{"a/b.go"}) || !slices.Equal(known.Identifiers, []string{"writeLine"}) {
		t.Errorf("%+v", known)
	}
	if got := In(n.Paths, "c/d.go and a/b.go"); got != 2 {
		t.Errorf("%d", got)
	}
}

// FuzzOfCall: any text is taken, and a name is a part of it.
func FuzzOfCall(f *testing.F) {
	f.Add(`{"a":"b/c.go"}`)
	f.Add("x_y/z\xff")
	f.Fuzz(func(t *testing.T, text string) {
		n := digest.NamesOf(text)
		for _, name := range append(n.Paths, n.Identifiers...) {
			if !strings.Contains(text, name) || utf8.ValidString(text) && !utf8.ValidString(name) {
				t.Errorf("%q is not in %q", name, text)
			}
		}
		OfCall(text)
	})
}
