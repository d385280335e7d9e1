package tokens_test

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hexapla/internal/shareddata"
	"hexapla/layers"
	"hexapla/layers/tokens"
)

// perByte is a counter that Prefix and Suffix know nothing about: one token
// for each four bytes begun. It adds up the bytes that it is given.
type perByte struct{ given *int }

func (c perByte) Count(s string) int {
	*c.given += len(s)
	return (len(s) + 3) / 4
}
func (perByte) Name() string   { return "bytes" }
func (perByte) Estimate() bool { return true }

func counters(t testing.TB) []layers.Counter {
	r := registry()
	return []layers.Counter{
		encoding(t, tokens.O200k), encoding(t, tokens.Cl100k), r.ForModel("claude-opus-4"),
		r.Cached(r.ForModel("gpt-4")), perByte{new(int)},
	}
}

// holds says what is wrong with a cut, or nothing.
func holds(c layers.Counter, s, cut string, limit int, rest string) string {
	switch {
	case c.Count(cut) > max(limit, 0):
		return "too long"
	case utf8.ValidString(s) && !(utf8.ValidString(cut) && utf8.ValidString(rest)):
		return "cut inside a code point"
	case cut != s && c.Count(s) <= limit && c.Name() != "bytes" && utf8.ValidString(s) && len(s) < 64:
		return "cut though the whole fits"
	}
	return ""
}

func TestCutsFit(t *testing.T) {
	t.Parallel()
	generator := nasty(30)
	rapid.Check(t, func(rt *rapid.T) {
		s := strings.Repeat(generator.Draw(rt, "s"), rapid.IntRange(1, 12).Draw(rt, "times"))
		limit := rapid.IntRange(-1, 60).Draw(rt, "limit")
		for _, c := range counters(t) {
			prefix := tokens.Prefix(c, s, limit)
			if !strings.HasPrefix(s, prefix) {
				rt.Fatalf("%s: %q is no prefix of %q", c.Name(), prefix, s)
			}
			if fault := holds(c, s, prefix, limit, s[len(prefix):]); fault != "" {
				rt.Fatalf("%s: prefix %q of %q for %d: %s", c.Name(), prefix, s, limit, fault)
			}
			suffix := tokens.Suffix(c, s, limit)
			if !strings.HasSuffix(s, suffix) {
				rt.Fatalf("%s: %q is no suffix of %q", c.Name(), suffix, s)
			}
			if fault := holds(c, s, suffix, limit, s[:len(s)-len(suffix)]); fault != "" {
				rt.Fatalf("%s: suffix %q of %q for %d: %s", c.Name(), suffix, s, limit, fault)
			}
		}
	})
}

// On recorded text the cuts leave less than a word unused.
func TestCutsAreLong(t *testing.T) {
	t.Parallel()
	root := shareddata.Dir(t)
	for _, file := range []string{"aider/chat-history.md", "pi/large-session.jsonl"} {
		text, err := content(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range counters(t) {
			for _, limit := range []int{1, 10, 100, 1000, 20000} {
				prefix, suffix := tokens.Prefix(c, text, limit), tokens.Suffix(c, text, limit)
				if n := c.Count(prefix); n > limit || n < limit-min(24, limit-1) {
					t.Errorf("%s %s: prefix for %d has %d", file, c.Name(), limit, n)
				}
				if n := c.Count(suffix); n > limit || n < limit-min(24, limit-1) {
					t.Errorf("%s %s: suffix for %d has %d", file, c.Name(), limit, n)
				}
			}
		}
	}
}

func TestCutsOfOnePiece(t *testing.T) {
	t.Parallel()
	for _, c := range counters(t)[:4] {
		for _, unit := range []string{"a", "=", " ", "\n", "🎉", "的", "xy", "\xff"} {
			s := strings.Repeat(unit, 5000/len(unit))
			for _, limit := range []int{1, 3, 17, 50} {
				for side, cut := range map[string]string{"prefix": tokens.Prefix(c, s, limit), "suffix": tokens.Suffix(c, s, limit)} {
					if n := c.Count(cut); n > limit || n*2 < limit && unit != "🎉" {
						t.Errorf("%s: %s of %q for %d has %d tokens, %d bytes", c.Name(), side, unit, limit, n, len(cut))
					}
				}
			}
		}
	}
}

func TestCutsEndAtWords(t *testing.T) {
	t.Parallel()
	c := encoding(t, tokens.O200k)
	const s = "The handler returns an error.\nThe caller retries it twice.\n"
	if got := tokens.Prefix(c, s, 7); got != "The handler returns an error.\n" && got != "The handler returns an error.\nThe" {
		t.Errorf("prefix %q", got)
	}
	if got := tokens.Suffix(c, s, 3); got != " twice.\n" && got != " it twice.\n" {
		t.Errorf("suffix %q", got)
	}
	for limit, want := range map[int]string{-1: "", 0: "", 100: s} {
		if got := tokens.Prefix(c, s, limit); got != want {
			t.Errorf("prefix for %d: %q", limit, got)
		}
		if got := tokens.Suffix(c, s, limit); got != want {
			t.Errorf("suffix for %d: %q", limit, got)
		}
	}
}

// What an unknown counter is asked to count depends on the limit, not on the
// length of the text.
func TestCutsCountLittle(t *testing.T) {
	t.Parallel()
	s := strings.Repeat("word ", 2<<20)
	for side, cut := range map[string]func(layers.Counter, string, int) string{"prefix": tokens.Prefix, "suffix": tokens.Suffix} {
		c := perByte{new(int)}
		if got := cut(c, s, 100); len(got) != 400 {
			t.Errorf("%s of %d bytes", side, len(got))
		}
		if *c.given > 20000 {
			t.Errorf("%s: counted %d bytes for 400", side, *c.given)
		}
	}
}

// BenchmarkCut takes 100 tokens of 10 MiB.
func BenchmarkCut(b *testing.B) {
	c := encoding(b, tokens.O200k)
	for name, s := range map[string]string{
		"words": strings.Repeat("some words of text, and more of it\n", 10<<20/35),
		"one":   strings.Repeat("a", 10<<20),
	} {
		b.Run("prefix/"+name, func(b *testing.B) {
			for b.Loop() {
				tokens.Prefix(c, s, 100)
			}
		})
		b.Run("suffix/"+name, func(b *testing.B) {
			for b.Loop() {
				tokens.Suffix(c, s, 100)
			}
		})
	}
}
