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
	return rapid.Map(
		// rapid prefers short slices; half of these are long.
		rapid.OneOf(rapid.SliceOfN(part, 0, maxLen), rapid.SliceOfN(part, maxLen/2, maxLen)),
		func(p []string) string { return strings.Join(p, "") },
	)
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

// Runs long enough for the heap, of what tiktoken-go needs a square of the time
// for, so a few KB only.
func TestLongPieces(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, unit := range []string{"a", "e", " ", "\n", "\t", "\r\n", "=", "-", "_", "*", "/", "🎉", "👍🏽", "é", "的", "ab", "xyz", " \n", "\xff", "\u0301", "'", "'s", "AbC", "ʰ"} {
				for _, size := range []int{95, 96, 97, 98, 128, 1000, 2051} {
					same(t, name, strings.Repeat(unit, size/len(unit)+1))
				}
			}
			rapid.Check(t, func(rt *rapid.T) {
				alphabet := rapid.SampledFrom([]string{"ab", "etaoinshrdlu", "abcdefghijklmnopqrstuvwxyz", "=-_*#", "的一是不了人我在有他", "🎉🚀👍", " \t", "aAbBcC"}).Draw(rt, "alphabet")
				text := rapid.StringOfN(rapid.SampledFrom([]rune(alphabet)), 60, 900, -1).Draw(rt, "text")
				if err := differs(t, name, text); err != "" {
					rt.Fatal(err)
				}
			})
		})
	}
}

// A section that ends in a newline, followed by one that starts with neither
// white space nor '/', has the sum of their counts (design.md §4).
func TestCountsAddUp(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, generator := encoding(t, name), nasty(16)
			rapid.Check(t, func(rt *rapid.T) {
				for range 20 {
					first := generator.Draw(rt, "first") + "\n"
					second := strings.TrimLeftFunc(generator.Draw(rt, "second"), func(r rune) bool { return r == '/' || unicode.IsSpace(r) })
					if sum, whole := e.Count(first)+e.Count(second), e.Count(first+second); sum != whole {
						rt.Fatalf("%q + %q: %d in parts, %d as a whole", first, second, sum, whole)
					}
				}
			})
		})
	}
}

func TestDecodeRefusesWhatIsNoToken(t *testing.T) {
	t.Parallel()
	for _, name := range names {
		e := encoding(t, name)
		if _, err := e.Decode([]uint32{1, 1<<32 - 1}); err == nil || !strings.Contains(err.Error(), "at 1") {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := e.Decode(nil); got != "" || err != nil {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

func FuzzAsTiktoken(f *testing.F) {
	for _, seed := range []string{"it's HTTPServer's  \n\n /x", "e\u0301A\u0301 ǅ'LL 1234\u00a0中文", "\xff\xe4\xb8 '\xf0\x9f\x8e\x89'S", strings.Repeat("=", 150), "<|endoftext|>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1000 {
			s = s[:1000]
		}
		for _, name := range names {
			same(t, name, s)
		}
	})
}
