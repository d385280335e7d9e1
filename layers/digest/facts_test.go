package digest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFactsOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		said       bool
		want       map[FactKind][]string
	}{
		{"a query", "### c1#1 user\nPlease fix readLine in src/reader.go. It was slow. Never touch go.mod!\n", true, map[FactKind][]string{
			FactInstruction: {"Please fix readLine in src/reader.go.", "Never touch go.mod!"},
			FactPath:        {"src/reader.go", "go.mod"}, FactIdentifier: {"readLine"},
		}},
		{"the same, not by the user", "Never touch go.mod!\n", false, map[FactKind][]string{FactPath: {"go.mod"}}},
		{"a call", "### c1#2 assistant\nI run `go vet ./cmd`.\ncall Bash {\"command\":\"cd /src && go test ./abc -run \\\"TestA_b\\\"\\nmake lint\",\"description\":\"x\"}\n", false, map[FactKind][]string{
			FactCommand:    {"go vet ./cmd", `go test ./abc -run "TestA_b"`, "make lint"},
			FactPath:       {"./cmd", "/src", "./abc"},
			FactIdentifier: {"TestA_b"},
		}},
		{"a call that is cut", "### c1#2 assistant\ncall Bash {\"command\":\"go build ./xyz && go te\n[99 bytes, 12 lines left out, with readLine]\n", false, map[FactKind][]string{
			FactCommand: {"go build ./xyz", "go te"}, FactPath: {"./xyz"}, FactIdentifier: {"readLine"},
		}},
		{"an output", "### c1#3 tool Bash failed\nreader.go:12:3: undefined: readLine\n    17→\tsize := 4096 // 1.5 KB, 250ms, 7\nexit status 2\n", false, map[FactKind][]string{
			FactError: {"undefined: readLine", "exit status 2"}, FactPath: {"reader.go"}, FactIdentifier: {"readLine"}, FactNumber: {"4096", "1.5", "250ms"},
		}},
	} {
		got := map[FactKind][]string{}
		for _, fact := range FactsOf(c.text, c.said) {
			got[fact.Kind] = append(got[fact.Kind], fact.Text)
		}
		for _, kind := range FactKinds() {
			if !slices.Equal(got[kind], c.want[kind]) {
				t.Errorf("%s: %s %q, want %q", c.name, kind, got[kind], c.want[kind])
			}
		}
	}
}

// TestSightings: what is found stands there as a whole word; the first of
// several is told.
func TestSightings(t *testing.T) {
	t.Parallel()
	const text = "reader reads 12.5 of 12, see src/reader.go; flush_all(flush)\ncall X {\"a\":\"say \\\"go on\\\"\\nnext_line\"}\n"
	for wanted, want := range map[string]bool{
		"reader": true, "read": false, "12": true, "12.5": true, "5": false, "src/reader.go": true, "reader.g": false,
		"flush": true, "flush_all": true, "all": false, `say "go on"`: true, "next_line": true, "nnext_line": false, "": false, "--": false,
	} {
		if at := Sightings(text, []string{wanted})[0]; at >= 0 != want {
			t.Errorf("%q: %d", wanted, at)
		}
	}
	if at := Sightings(text, []string{"flush"})[0]; !strings.HasPrefix(text[at:], "flush)") {
		t.Errorf("flush is found at %d", at)
	}
}

// TestFactsAreShown: whatever the text, each fact is listed once and stands in
// it.
func TestFactsAreShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"call Bash {\"command\":\"", "go test ./a/b.go", "\n", "\\n", `\"`, " 12.5", "é", "error: bad thing_1", "[1 bytes, 2 lines left out, with", "]\n", "Please fix it. ", "`make lint`", "$ git log",
		}))).Draw(t, "parts")
		text := strings.Join(parts, "")
		seen := map[Fact]bool{}
		var texts []string
		for _, fact := range FactsOf(text, rapid.Bool().Draw(t, "said")) {
			if seen[fact] {
				t.Fatalf("%+v twice", fact)
			}
			seen[fact] = true
			texts = append(texts, fact.Text)
		}
		for i, at := range Sightings(text, texts) {
			if at < 0 || !strings.HasPrefix(Readable(text)[at:], texts[i]) {
				t.Fatalf("%q is not in %q", texts[i], text)
			}
		}
	})
}
