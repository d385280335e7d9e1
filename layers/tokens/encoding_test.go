package tokens_test

import (
	"strings"
	"testing"
	"unicode"

	loader "github.com/pkoukk/tiktoken-go-loader"
	"pgregory.net/rapid"
)

// The embedded files hold the loader's ranks: all of them, at their ranks, and
// nothing else.
func TestRanksAreTheLoaders(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		e := encoding(t, name)
		for want, rank := range ranks {
			got, err := e.Decode([]uint32{uint32(rank)})
			if err != nil || got != want {
				t.Fatalf("%s: rank %d is %q (%v), want %q", name, rank, got, err, want)
			}
		}
		if _, err := e.Decode([]uint32{uint32(len(ranks))}); err == nil {
			t.Errorf("%s: more tokens than the loader has", name)
		}
	}
}

func TestKnownTexts(t *testing.T) {
	t.Parallel()
	texts := []string{
		"", " ", "  ", "\n", "\r\n", " \n", "\n ", "\n\n  \n x", "\t\tx", "a", "'", "'s", "'S", "'ſ", "'re", "'RE", "'r", "'l", "'ll", "'lL", "'LLx",
		"it's", "IT'S", "we'Ve", "don't", "'tis", "x's's", "a's b", "o'clock", "x'", "x' ", "'' 's",
		"Hello, world!", "HTTPServer fooBar FOOBar fooBAR", "camelCaseAndURLs", "x=1234567890;", "v1.2.3", "½¾⅓ ١٢٣٤ Ⅷ",
		"naïve café", "e\u0301e\u0301 \u0301 \u0301a\u0301A", "\u0301A", "\u0301Aa", "\u0301", "a\u0301\u0301B", "!\u0301a", "\u0301\u0301AB",
		"あAいBうc", "AあB", "中文字符,测试。", "ＡＢｃ", "ǅaǅA", "ʰAʰ", "Привет, МИР", "مرحبا", "🎉🎉 👨‍👩‍👧", "\u200b\ufeff", "\u00a0x", "\u3000\u3000x", "\u2028\u2029", "\u0085x",
		"a//b", "//\n/x", "!/\r\n/", " !\n\n", "/*\n*/", "http://x/y?z", " \u0301", "\r\n\r\n/", "x  \r\n  y", "   x", " \t x", "foo   \n   bar   ",
		"<|endoftext|>", "<|fim_prefix|>a", "\x00\x01\x7f", "\xff", "a\xffb", "\xe4\xb8", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80\xff\xfe ", "\ufffd",
		strings.Repeat("=", 200), strings.Repeat("ab", 300), strings.Repeat(" ", 97) + "x", strings.Repeat("é", 60),
		"supercalifragilisticexpialidocious" + strings.Repeat("antidisestablishmentarianism", 8),
	}
	for _, name := range names {
		for _, s := range texts {
			same(t, name, s)
		}
	}
}

// nasty generates strings of the code points at which the patterns turn: of
// every category that they name, neighbours of those, quotes, line ends, blanks,
// and bytes that are not UTF-8.
func nasty(maxLen int) *rapid.Generator[string] {
	tables := []*unicode.RangeTable{
		unicode.Lu, unicode.Ll, unicode.Lt, unicode.Lm, unicode.Lo,
		unicode.Mn, unicode.Mc, unicode.Me, unicode.Nd, unicode.Nl, unicode.No,
		unicode.Zs, unicode.Zl, unicode.Zp, unicode.White_Space, unicode.Cc, unicode.Cf, unicode.Co,
		unicode.P, unicode.S,
	}
	var parts []*rapid.Generator[string]
	for _, table := range tables {
		parts = append(parts, rapid.Map(rapid.RuneFrom(nil, table), func(r rune) string { return string(r) }))
	}
	anyRune := rapid.Map(rapid.Int32Range(0, unicode.MaxRune), func(r int32) string { return string(rune(r)) })
	fixed := rapid.SampledFrom([]string{
		" ", "  ", "\n", "\r\n", "\r", "\t", "/", "'", "'s", "'S", "'T", "'re", "'VE", "'m", "'lL", "'d", "'ſ", "'K",
		"a", "b", "A", "B", "the", "The", "THE", " the", "1", "12", "123", "_", "-", ".", "!", "\u0301", "\u00a0", "あ", "ʰ", "ǅ",
		"\xff", "\x80", "\xe4\xb8", "\xf0\x9f", "\ufffd", "\u0085", "\u200d", "🎉", "ß", "İ", "K",
	})
	parts = append(parts, anyRune, fixed, fixed, fixed, fixed, fixed, fixed)
	part := rapid.OneOf(parts...)
	return rapid.Map(rapid.SliceOfN(part, 0, maxLen), func(p []string) string { return strings.Join(p, "") })
}

func TestNastyStrings(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			generator := nasty(24)
			rapid.Check(t, func(rt *rapid.T) {
				// Many draws in one check: rapid runs 100 by default.
				for range 30 {
					if err := differs(t, name, generator.Draw(rt, "s")); err != "" {
						rt.Fatal(err)
					}
				}
			})
		})
	}
}
