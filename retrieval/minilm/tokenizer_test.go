package minilm

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// small is a vocabulary of few tokens.
func small(t testing.TB) (*tokenizer, []string) {
	t.Helper()
	names := strings.Fields("[PAD] [UNK] [CLS] [SEP] [MASK] un ##aff ##able cafe 中 国 ! [ cls ] a ##b no")
	raw := strings.Join(names, "\n") + "\n"
	tok, err := newTokenizer(parseVocabulary([]byte(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return tok, names
}

// TestTokens: the tokens of BERT's uncased WordPiece.
func TestTokens(t *testing.T) {
	t.Parallel()
	tok, names := small(t)
	for text, want := range map[string]string{
		"":                        "[CLS] [SEP]",
		"UNaffable":               "[CLS] un ##aff ##able [SEP]",
		"Café":                    "[CLS] cafe [SEP]",
		"cafe\u0301":              "[CLS] cafe [SEP]",
		"中国":                      "[CLS] 中 国 [SEP]",
		"no!no":                   "[CLS] no ! no [SEP]",
		"no\u200b\x00 \ufffdno\t": "[CLS] no no [SEP]",
		"unx no":                  "[CLS] [UNK] no [SEP]",
		"no[SEP]no":               "[CLS] no [SEP] no [SEP]",
		"[cls]":                   "[CLS] [ cls ] [SEP]",
		strings.Repeat("a", 101):  "[CLS] [UNK] [SEP]",
		"a a a a a a a a":         "[CLS] a a a a a a [SEP]",
	} {
		var got []string
		for _, id := range tok.tokens(text, 8) {
			got = append(got, names[id])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}

// FuzzTokens: whatever the text, the tokens are in bounds and framed.
func FuzzTokens(f *testing.F) {
	f.Add("unaffable [SEP] 中 caf\u00e9\xff")
	f.Add("[[CLS][")
	f.Fuzz(func(t *testing.T, text string) {
		tok, names := small(t)
		ids := tok.tokens(text, 16)
		if len(ids) < 2 || len(ids) > 16 || ids[0] != tok.begin || ids[len(ids)-1] != tok.end {
			t.Fatalf("%v", ids)
		}
		for _, id := range ids {
			if id < 0 || int(id) >= len(names) {
				t.Fatalf("%v", ids)
			}
		}
		if utf8.ValidString(text) && !slices.Equal(ids, tok.tokens(text, 16)) {
			t.Fatal("twice is not the same")
		}
	})
}

// FuzzHeads: whatever the header, what it promises lies within the file.
func FuzzHeads(f *testing.F) {
	f.Add([]byte(`{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`), int64(24))
	f.Add([]byte(`{"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`), int64(100))
	f.Fuzz(func(t *testing.T, raw []byte, size int64) {
		heads, err := parseHeads(raw, size)
		if err != nil {
			return
		}
		for _, h := range heads {
			if h.Offsets[0] < 0 || h.Offsets[1] > size || h.Offsets[1] < h.Offsets[0] {
				t.Fatalf("%+v of %d", h, size)
			}
		}
	})
}
