package tokens

import (
	"strings"

	"hexapla/layers"
)

// ForModel returns the counter for a model's name. Models of OpenAI are counted
// exactly: GPT-4 (but not GPT-4o and later), GPT-3.5 and the second and third
// embedding models with cl100k_base; GPT-4o, 4.1, 4.5, 5 and later, gpt-oss, the
// o series and codex models with o200k_base. An empty name means o200k_base.
// A provider's prefix ("openai/", "ft:") is passed over.
//
// For every other model the result is an estimate on o200k_base with a Factor;
// see Factor for the rule and the figures.
func (r *Registry) ForModel(model string) layers.Counter {
	if model == "" {
		return &r.o200k
	}
	name := strings.ToLower(model)
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = strings.TrimPrefix(name, "ft:")
	if !strings.Contains(name, "claude") && !strings.Contains(name, "gemini") {
		switch {
		case family(name, "gpt-4"), family(name, "gpt-3.5"), family(name, "gpt-35"),
			family(name, "gpt-3.5-turbo"), family(name, "gpt-35-turbo"),
			family(name, "text-embedding-ada-002"), family(name, "text-embedding-3"):
			return &r.cl100k
		case family(name, "gpt-2"), family(name, "gpt-3"):
			// Their encodings are not carried.
		case strings.HasPrefix(name, "gpt-"), strings.HasPrefix(name, "chatgpt-"), strings.HasPrefix(name, "codex-"),
			len(name) >= 2 && name[0] == 'o' && name[1] >= '1' && name[1] <= '9':
			return &r.o200k
		}
	}
	num, den := defaultFactor(name)
	return &scaled{base: &r.o200k, name: "estimate:" + O200k, num: num, den: den}
}

// family tells whether name is the family's name, alone or followed by a
// version: "gpt-4", "gpt-4-0613", "gpt-4:org", but not "gpt-4o" or "gpt-4.1".
func family(name, of string) bool {
	rest, ok := strings.CutPrefix(name, of)
	return ok && (rest == "" || rest[0] == '-' || rest[0] == ':' || rest[0] == '@')
}

// Factor returns by what fraction a counter's sum is to be multiplied to get the
// tokens that the model's provider is expected to bill. It is 1/1 for an exact
// counter.
//
// Count itself is never multiplied: rounding each section would break the rule
// that the count of the whole is the sum of the counts of its sections
// (design.md §4). So sections and packs are counted, cached and stored in tokens
// of the base encoding, which all models share, and only a total is converted,
// once: a provider's limit into base tokens with FromModel before a pack is
// planned, or a sum into the provider's tokens with ToModel for a report.
//
// The factors that ForModel gives are for planning until the provider's usage
// has been seen (Calibrated), and err towards too many tokens.
func Factor(c layers.Counter) (num, den int) {
	if f, ok := c.(interface{ Factor() (num, den int) }); ok {
		return f.Factor()
	}
	return 1, 1
}

func defaultFactor(name string) (num, den int) {
	switch {
	case strings.Contains(name, "claude"):
		return 6, 5
	case strings.Contains(name, "gemini"):
		return 11, 10
	}
	return 5, 4
}

// Calibrated returns c with another factor, for a model whose usage has been
// compared with the counts. Both must be positive; otherwise c is returned as it
// is. Estimate and Name do not change.
func Calibrated(c layers.Counter, num, den int) layers.Counter {
	base := encodingOf(c)
	if base == nil || num <= 0 || den <= 0 {
		return c
	}
	s := &scaled{base: c, name: c.Name(), num: num, den: den, exact: !c.Estimate()}
	if inner, ok := c.(*scaled); ok {
		s.base = inner.base
	}
	return s
}

// ToModel converts a sum of counts into the provider's tokens, rounded up.
func ToModel(c layers.Counter, n int) int {
	num, den := Factor(c)
	return muldiv(n, num, den, den-1)
}

// FromModel converts a limit in the provider's tokens into the largest sum n of
// counts with ToModel(c, n) ≤ limit.
func FromModel(c layers.Counter, limit int) int {
	num, den := Factor(c)
	return muldiv(limit, den, num, 0)
}

// muldiv returns (n·a + add) / b without overflow for n up to 2^62 / a.
func muldiv(n, a, b, add int) int {
	if n <= 0 {
		return 0
	}
	whole, rest := n/b, n%b
	return whole*a + (rest*a+add)/b
}

// scaled is a counter with a factor.
type scaled struct {
	base     layers.Counter
	name     string
	num, den int
	exact    bool
}

func (s *scaled) Count(text string) int    { return s.base.Count(text) }
func (s *scaled) Name() string             { return s.name }
func (s *scaled) Estimate() bool           { return !s.exact }
func (s *scaled) Factor() (num, den int)   { return s.num, s.den }
func (s *scaled) encoding() *Encoding      { return encodingOf(s.base) }
func (e *Encoding) encoding() *Encoding    { return e }
func (c *cachedCount) encoding() *Encoding { return encodingOf(c.base) }

// encodingOf returns the encoding under a counter of this package, or nil.
func encodingOf(c layers.Counter) *Encoding {
	if u, ok := c.(interface{ encoding() *Encoding }); ok {
		return u.encoding()
	}
	return nil
}
