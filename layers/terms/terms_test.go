package terms_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"hexapla/layers"
	"hexapla/layers/terms"

	"pgregory.net/rapid"
)

func TestAnalyze(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"words are lower-case and stemmed", "Parsing the Parsers, parsed caches!", "pars parser pars cach"},
		{"function words go", "what is it that you were doing", ""},
		{"genitives and negations", "Caroline's dog doesn't bark, we’ve seen O'Brien", "carolin dog bark seen obrien brien"},
		{"camel case", "parseConfig HTTPServer", "parseconfig pars config httpserver http server"},
		{"snake, kebab and camel agree on the whole", "stable_prefix stable-prefix stablePrefix",
			"stableprefix stabl prefix stableprefix stabl prefix stableprefix stabl prefix"},
		{"capitals in the plural", "parseURLs", "parseurls pars url"},
		{"digits stay with their word", "sha256Sum utf8", "sha256sum sha256 sum utf8"},
		{"dotted names", "fmt.Println(main.go)", "fmt.println fmt println main.go main"},
		{"paths", "see ./a1/b2/c3/dd.go:12", "see a1/b2/c3/dd.go b2/c3/dd.go c3/dd.go a1 b2 c3 dd.go dd 12"},
		{"Windows paths", `src\util\x1.go`, "src/util/x1.go util/x1.go src util x1.go x1"},
		{"two segments", "layers/terms", "layers/terms layer term"},
		{"versions", "go1.26 v2.6.1 1.26", "go1.26 go1 26 v2.6.1 v2 1.26"},
		{"addresses, digests, long numbers go", "0xdeadbeef 550e8400-e29b-41d4-a716-446655440000 da39a3ee5e6b4b0d3255 1700000000000 8080",
			"8080"},
		{"encoded bytes go", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9 key", "kei"},
		{"initials", "e.g. the U.S. embassy", "eg embassi"},
		{"other scripts", "Привет МИР café", "привет мир café"},
		{"CJK by pairs", "日本語 xyz 中", "日本 本語 xyz 中"},
		{"hangul and latin together", "한국어test", "한국 국어 test"},
		{"bytes that are no text", "ok\xff\xfezebra\x00yak", "zebra yak"},
		{"nothing", " \n\t./-'", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(terms.Analyze(c.text), " "); got != c.want {
				t.Errorf("Analyze(%q)\n got %s\nwant %s", c.text, got, c.want)
			}
		})
	}
}

func TestStemsOfInflectionsAgree(t *testing.T) {
	t.Parallel()
	for _, group := range []string{
		"connect connected connecting connection connections", "configure configured configuring",
		"index indexes indexed indexing", "retry retries retried", "relational relate", "hopeful hopefulness",
		"generalize generalization", "tokenizer tokenizers tokenize", "running run runs", "adjustable adjustment",
	} {
		words := strings.Fields(group)
		want := terms.Analyze(words[0])
		for _, w := range words[1:] {
			if got := terms.Analyze(w); !slices.Equal(got, want) {
				t.Errorf("%s: %v, but %s: %v", words[0], want, w, got)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 20_000 {
		b.WriteString("w")
		for n := i; n > 0; n /= 26 {
			b.WriteByte(byte('a' + n%26))
		}
		b.WriteString("q ")
	}
	for _, text := range []string{b.String(), strings.Repeat("a", 1<<21), strings.Repeat("aB9_", 1<<19), strings.Repeat("a/", 1<<20),
		strings.Repeat("a.b", 1<<18), strings.Repeat("中", 1<<18), strings.Repeat("'", 1<<20), strings.Repeat("ʼА", 1<<18)} {
		doc := terms.NewDoc(text, layers.Entities{})
		if len(doc.Terms) > terms.MaxTerms {
			t.Errorf("%.10q…: %d terms", text, len(doc.Terms))
		}
		for _, term := range doc.Terms {
			if len(term.Term) > terms.MaxTerm {
				t.Errorf("%.10q…: a term of %d bytes", text, len(term.Term))
			}
		}
	}
	long := layers.Entities{Errors: []string{strings.Repeat("é", 200), strings.Repeat("é", 201)}}
	got := terms.Entities(long)
	if len(got) != 2 || len(got[0]) > terms.MaxEntity || !utf8.ValidString(got[0]) {
		t.Errorf("long entities: %q", got)
	}
}

func TestEntities(t *testing.T) {
	t.Parallel()
	got := terms.Entities(layers.Entities{
		Files: []string{`./Cmd\Main.go`, "cmd/main.go", " "}, Functions: []string{"Run"},
		Concepts: []string{"Cache", "cache"}, Errors: []string{"no such file"},
	})
	want := []string{"concept:cache", "error:no such file", "file:cmd/main.go", "func:run"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// drawDoc makes a Doc from words of a small alphabet, so that prefixes are
// shared often.
func drawDoc(t *rapid.T, label string) terms.Doc {
	words := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,5}[xyz]?`), 0, 40).Draw(t, label)
	files := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,3}(/[ab]{1,3})?\.go`), 0, 8).Draw(t, label+" files")
	return terms.NewDoc(strings.Join(words, " "), layers.Entities{Files: files})
}

func TestEncodeDecode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := terms.NewDoc(rapid.String().Draw(t, "text"), layers.Entities{Errors: rapid.SliceOf(rapid.String()).Draw(t, "errors")})
		encoded := doc.Encode()
		got, err := terms.Decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if got.Length != doc.Length || !slices.Equal(got.Terms, doc.Terms) || !slices.Equal(got.Entities, doc.Entities) {
			t.Fatalf("got %+v, want %+v", got, doc)
		}
		if n, err := terms.Length(encoded); err != nil || n != doc.Length {
			t.Fatalf("Length = %d, %v", n, err)
		}
		for cut := range encoded {
			if _, err := terms.Decode(encoded[:cut]); err == nil {
				t.Fatalf("decoded %d of %d bytes", cut, len(encoded))
			}
		}
	})
}

// TestMatchIsDecode checks the merge that looks at shared prefixes only against
// what decoding gives.
func TestMatchIsDecode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc, wanted := drawDoc(t, "doc"), drawDoc(t, "query")
		var words []string
		for _, w := range wanted.Terms {
			words = append(words, w.Term)
		}
		query := terms.NewQuery(append(words, words...), wanted.Entities)
		var m terms.Match
		if err := query.Match(doc.Encode(), &m); err != nil {
			t.Fatal(err)
		}
		for i, term := range query.Terms() {
			want := 0
			if k := slices.IndexFunc(doc.Terms, func(f terms.TermFreq) bool { return f.Term == term }); k >= 0 {
				want = doc.Terms[k].Freq
			}
			if int(m.Freq[i]) != want {
				t.Fatalf("%s: %d, want %d in %v for %v", term, m.Freq[i], want, doc.Terms, query.Terms())
			}
		}
		for i, e := range query.Entities() {
			if m.Shared[i] != slices.Contains(doc.Entities, e) {
				t.Fatalf("%s: %v in %v", e, m.Shared[i], doc.Entities)
			}
		}
		if m.Length != doc.Length || m.Entities != len(doc.Entities) {
			t.Fatalf("length %d, %d entities; want %d, %d", m.Length, m.Entities, doc.Length, len(doc.Entities))
		}
		var names []string
		if err := terms.Names(doc.Encode(), func(name []byte, _ bool) { names = append(names, string(name)) }); err != nil {
			t.Fatal(err)
		}
		if len(names) != len(doc.Terms)+len(doc.Entities) {
			t.Fatalf("names: %v", names)
		}
	})
}

func FuzzDecode(f *testing.F) {
	doc := terms.NewDoc("parse the config in cmd/main.go", layers.Entities{Files: []string{"cmd/main.go"}})
	f.Add(doc.Encode())
	f.Add([]byte{1, 2, 3})
	f.Add([]byte{1, 5, 6, 1, 0, 1, 'a', 1, 0})
	query := terms.NewQuery([]string{"pars", "config", "a"}, []string{"file:cmd/main.go"})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := terms.Decode(b)
		var m terms.Match
		matchErr := query.Match(b, &m)
		namesErr := terms.Names(b, func([]byte, bool) {})
		if err != nil {
			return
		}
		if matchErr != nil || namesErr != nil {
			t.Fatalf("decodes, but: %v, %v", matchErr, namesErr)
		}
		again, err := terms.Decode(got.Encode())
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v, %v, want %+v", again, err, got)
		}
	})
}

func FuzzAnalyze(f *testing.F) {
	f.Add("parseConfig in ./a/b.go: don't 中文")
	f.Add(`\\a\..\'-_`)
	f.Fuzz(func(t *testing.T, text string) {
		doc := terms.NewDoc(text, layers.Entities{Concepts: []string{text}})
		if _, err := terms.Decode(doc.Encode()); err != nil {
			t.Fatalf("%+v: %v", doc, err)
		}
		if got := terms.Analyze(text); len(got) < len(doc.Terms) {
			t.Fatalf("%d terms, but the document has %d", len(got), len(doc.Terms))
		}
	})
}

func TestBM25(t *testing.T) {
	t.Parallel()
	if idf := terms.IDF(10, 10); idf <= 0 {
		t.Errorf("a term in every document: idf %v", idf)
	}
	if a, b := terms.IDF(100, 1), terms.IDF(100, 50); a <= b {
		t.Errorf("rare %v, common %v", a, b)
	}
	for _, df := range []int{-1, 0, 5} {
		if idf := terms.IDF(0, df); idf < 0 {
			t.Errorf("IDF(0, %d) = %v", df, idf)
		}
	}
	// Worked by hand: tf 2 in a document of average length:
	// 1 · 2·1.9 / (2 + 0.9) = 1.310345.
	if got := terms.Round(terms.BM25(1, 2, 10, 10)); got != 1.310345 {
		t.Errorf("got %v", got)
	}
	if terms.BM25(1, 0, 10, 10) != 0 || terms.BM25(1, 1, 10, 0) != 1 {
		t.Error("edges")
	}
	if short, long := terms.BM25(1, 1, 5, 10), terms.BM25(1, 1, 20, 10); short <= long {
		t.Errorf("short %v, long %v", short, long)
	}
}

func BenchmarkNewDoc(b *testing.B) {
	text := strings.Repeat("The parser in layers/terms/analyze.go calls parseConfig(ctx) and returns ErrNotFound when nothing is there. ", 12)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		terms.NewDoc(text, layers.Entities{})
	}
}

func BenchmarkMatch(b *testing.B) {
	var text strings.Builder
	for i := range 150 {
		text.WriteString(string(rune('a'+i%26)) + "word" + string(rune('a'+i/26)) + " ")
	}
	encoded := terms.NewDoc(text.String(), layers.Entities{}).Encode()
	query := terms.NewQuery(terms.Analyze("awordb kwordc mwordd other words nothing"), nil)
	var m terms.Match
	b.ReportAllocs()
	for b.Loop() {
		if err := query.Match(encoded, &m); err != nil {
			b.Fatal(err)
		}
	}
}
