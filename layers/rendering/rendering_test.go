package rendering_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
	"hexapla/layers/rendering"
)

// lines counts each line by its length; it adds up over whole lines.
type lines struct{}

func (lines) Name() string   { return "lines" }
func (lines) Estimate() bool { return false }
func (lines) Count(s string) (n int) {
	for line := range strings.Lines(s) {
		n += (len(line) + 3) / 4
	}
	return n
}

func form(detail, text string) layers.Form {
	return layers.Form{Detail: detail, Text: text, Tokens: lines{}.Count(text)}
}

// book is a layers.Source made of fixed texts.
type book struct {
	headers int
	said    int64
}

func (b *book) CurrentContext(seq int64, _ int) (layers.Form, error) {
	return form(layers.FormFull, fmt.Sprintf("# Current context\nas of %d\n", seq)), nil
}
func (b *book) Said(int64) (int64, error) { return b.said, nil }
func (b *book) Headers(_ int64, room int, rollup bool) (items []layers.Item, err error) {
	if rollup {
		return []layers.Item{{ID: "rollup", Form: form(layers.FormRollup, "all before\n")}}, nil
	}
	for i := range min(b.headers, room/20) {
		items = append(items, layers.Item{ID: fmt.Sprint("h", i), Form: form(string(layers.DetailHeader), fmt.Sprintf("h%d header of it\n", i))})
	}
	return items, nil
}
func (b *book) Summaries(_ int64, room int) (items []layers.Item, err error) {
	for i := range min(b.headers, 3, room/40) {
		items = append(items, layers.Item{ID: fmt.Sprint("h", i), Form: form(string(layers.DetailSummary), fmt.Sprintf("h%d summary of it\n decided: much\n", i))})
	}
	return items, nil
}
func (b *book) Names(layers.NamesRequest) (layers.Form, error) {
	return form(layers.FormRoster, "# Names\nreader.go\n"), nil
}
func (b *book) Digest(_ layers.StreamConversation, before, _ int) (layers.Form, error) {
	return form(layers.FormDigest, fmt.Sprintf("digest of %d\n", before)), nil
}

// shorten gives a piece its shorter forms.
func shorten(p layers.Piece, full string) layers.Piece {
	p.Forms = []layers.Form{form(layers.FormFull, full)}
	if short := form(layers.FormLine, "### "+p.ID+": line\n"); short.Tokens < p.Forms[0].Tokens {
		p.Forms = append(p.Forms, short)
	}
	return p
}

// storyteller draws the pieces of conversations with tools. Unless it is plain,
// much of it is as it should not be: calls without results, results without
// calls, ids twice or absent, names and arguments that providers refuse.
type storyteller struct {
	t     *rapid.T
	seq   int64
	plain bool
}

func (s *storyteller) odd(label string) bool {
	return !s.plain && rapid.IntRange(0, 7).Draw(s.t, label) == 0
}

func (s *storyteller) padding() string {
	return strings.Repeat("word after word\n", rapid.IntRange(0, 12).Draw(s.t, "padding"))
}

func (s *storyteller) answer(id string) layers.Piece {
	s.seq++
	p := layers.Piece{ID: id, Seq: s.seq, Answer: true}
	full := "### " + id + " assistant\n" + s.padding()
	for i := range rapid.SampledFrom([]int{1, 2, 3, 0}).Draw(s.t, "calls") {
		c := layers.ToolCall{ID: fmt.Sprintf("toolu_%d_%d", s.seq, i), Name: "Read", Input: fmt.Sprintf(`{"file":"a%d.go"}`, i)}
		switch {
		case s.odd("id"):
			c.ID = rapid.SampledFrom([]string{"", "same", "with space", strings.Repeat("x", 80)}).Draw(s.t, "odd id")
		case s.odd("name"):
			c.Name = rapid.SampledFrom([]string{"", "two words", "9lives", "-x", strings.Repeat("n", 65)}).Draw(s.t, "odd name")
		case s.odd("input"):
			c.Input = rapid.SampledFrom([]string{`[1]`, `{"a":1,"a":2}`, `not json`, `{"n":12345678901234567890}`}).Draw(s.t, "odd input")
		}
		full += c.Line()
		p.Calls = append(p.Calls, c)
	}
	if s.odd("cut") {
		full = strings.Replace(full, `"}`, `..`, 1)
	}
	return shorten(p, full)
}

func (s *storyteller) results(id string, calls []layers.ToolCall) (out []layers.Piece) {
	for i, c := range calls {
		if s.odd("missing") {
			continue
		}
		s.seq++
		p := layers.Piece{ID: fmt.Sprintf("%s/%d", id, i+1), Seq: s.seq, Result: &layers.CallResult{CallID: c.ID, Failed: s.odd("failed")}}
		if s.odd("unknown") {
			p.Result.CallID = rapid.SampledFrom([]string{"", "nobody", "same"}).Draw(s.t, "odd result")
		}
		p = shorten(p, "### "+p.ID+" tool\n"+s.padding())
		if s.odd("fresh") {
			p.Fresh = []layers.Form{form(layers.FormFull, p.Forms[0].Text+"and more of it\n")}
		}
		out = append(out, p)
	}
	if s.odd("reversed") {
		slices.Reverse(out)
	}
	return out
}

func (s *storyteller) user(id string) layers.Piece {
	s.seq++
	return shorten(layers.Piece{ID: id, Seq: s.seq, User: true}, "### "+id+" user\n"+s.padding()+"please\n")
}

func (s *storyteller) conversation(id string, done bool) layers.StreamConversation {
	c := layers.StreamConversation{ID: id, Done: done}
	if done {
		c.Close = form(string(layers.DetailHeader), id+" header\n")
		c.Summary = form(string(layers.DetailSummary), id+" summary\n")
	}
	number := 1
	next := func() string { number++; return fmt.Sprintf("%s#%d", id, number-1) }
	c.Pieces = append(c.Pieces, s.user(next()))
	for range rapid.SampledFrom([]int{1, 2, 5, 0}).Draw(s.t, "rounds") {
		answer := s.answer(next())
		c.Pieces = append(c.Pieces, answer)
		if s.odd("served") {
			s.seq++
			c.Pieces = append(c.Pieces, shorten(layers.Piece{ID: fmt.Sprint("served:", s.seq), Seq: s.seq, Served: true}, "### retrieved c1 summary\nc1: it\n"))
		}
		c.Pieces = append(c.Pieces, s.results(next(), answer.Calls)...)
		if s.odd("feedback") {
			c.Pieces = append(c.Pieces, s.user(next()))
		}
	}
	return c
}

// drawInput draws what a pack is made of.
func drawInput(t *rapid.T) layers.Input {
	policy := layers.DefaultPolicy()
	in := layers.Input{
		Session: "s", Layout: layers.LayoutStablePrefix, Policy: policy, Count: lines{}, Sequence: 1 << 40,
		Source: &book{headers: rapid.IntRange(0, 12).Draw(t, "headers"), said: int64(rapid.IntRange(0, 1).Draw(t, "said")) << 39},
		Budget: layers.Budget{Total: rapid.SampledFrom([]int{80, 300, 1200, 4000}).Draw(t, "total")},
		Fill:   rapid.IntRange(0, 3).Draw(t, "fill") == 0,
	}
	if rapid.Bool().Draw(t, "narrative") {
		in.Layout = layers.LayoutNarrativeFirst
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "system") {
		in.System = append(in.System, layers.Item{ID: fmt.Sprint(i), Form: form(layers.FormFull, fmt.Sprintf("# System\npart %d\n", i))})
	}
	s := &storyteller{t: t, plain: rapid.Bool().Draw(t, "plain")}
	n := rapid.IntRange(1, 4).Draw(t, "conversations")
	for i := range n {
		in.Stream = append(in.Stream, s.conversation(fmt.Sprint("c", i+1), i < n-1 || s.odd("done")))
	}
	return in
}

func build(t *rapid.T, in layers.Input) *layers.Pack {
	pack, err := layers.Build(in)
	var small *layers.BudgetError
	if errors.As(err, &small) {
		t.Skip("the budget is too small")
	}
	if err != nil {
		t.Fatal(err)
	}
	return pack
}

// TestRenderings: of any pack, each rendering has its provider's shape, all of
// the pack's text and nothing else, its tokens, and calls paired with results.
func TestRenderings(t *testing.T) {
	t.Parallel()
	schemas := schemas(t)
	exchanges := 0
	rapid.Check(t, func(rt *rapid.T) {
		pack := build(rt, drawInput(rt))
		for _, format := range rendering.Formats() {
			r, err := rendering.Render(pack, format)
			if err != nil {
				rt.Fatal(err)
			}
			checkBody(rt, schemas[format], r)
			again, err := rendering.Render(pack, format)
			if err != nil || !bytes.Equal(r.Body, again.Body) {
				rt.Fatalf("%s: rendered twice, other bytes (%v)", format, err)
			}
			all := messages(t, r)
			checkRoles(rt, format, all)
			if slices.ContainsFunc(all, func(m message) bool { return len(m.calls) > 0 }) {
				exchanges++
			}
			sum, joined := 0, everyText(all)
			for _, text := range joined {
				sum += lines{}.Count(text)
			}
			if sum != r.Tokens || r.Tokens != pack.Used() {
				rt.Fatalf("%s: the texts have %d tokens, the rendering says %d, the pack %d", format, sum, r.Tokens, pack.Used())
			}
			got, want := strings.SplitAfter(strings.Join(joined, ""), "\n"), strings.SplitAfter(pack.Text, "\n")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				rt.Fatalf("%s: the texts are not the pack's:\n%s\n---\n%s", format, r.Body, pack.Text)
			}
			if format == rendering.AnthropicMessages {
				checkCacheControl(rt, pack, r)
			}
		}
	})
	if exchanges == 0 && !testing.Short() {
		t.Error("no rendering had an exchange with a tool")
	}
}

// checkCacheControl checks number, order and place of cache breakpoints.
func checkCacheControl(t *rapid.T, pack *layers.Pack, r rendering.Rendering) {
	var body anthropicBody
	decode(t, r.Body, &body)
	n, short, bytes := 0, false, 0
	see := func(b anthropicBlock) {
		bytes += len(b.Text)
		if b.CacheControl == nil {
			return
		}
		n++
		if b.CacheControl.TTL == "1h" && short {
			t.Fatalf("1h stands behind 5m")
		}
		short = short || b.CacheControl.TTL == ""
		if bytes > len(pack.Text) || !strings.HasSuffix(pack.Text[:bytes], b.Text) {
			t.Fatalf("a breakpoint does not stand where the text so far is the pack's")
		}
	}
	for _, b := range body.System {
		see(b)
	}
	for _, m := range body.Messages {
		for _, b := range m.Content {
			see(b)
		}
	}
	if n > len(pack.Breakpoints) || n > layers.MaxBreakpoints {
		t.Fatalf("%d breakpoints, the pack has %d", n, len(pack.Breakpoints))
	}
}

// TestBreakpoints: breakpoints rise, lie at borders of items, count what is
// before them, and stand where the next pack goes on.
func TestBreakpoints(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := drawInput(rt)
		in.Fill, in.Layout = false, layers.LayoutStablePrefix
		before := build(rt, in)
		if len(before.Breakpoints) > layers.MaxBreakpoints {
			rt.Fatalf("%d breakpoints", len(before.Breakpoints))
		}
		at := 0
		for _, b := range before.Breakpoints {
			if b.Bytes <= at || b.Bytes > len(before.Text) || (lines{}).Count(before.Text[:b.Bytes]) != b.Tokens {
				rt.Fatalf("breakpoint %+v behind %d", b, at)
			}
			at = b.Bytes
		}
		last := &in.Stream[len(in.Stream)-1]
		if last.Done {
			return
		}
		s := &storyteller{t: rt, seq: 1 << 20}
		answer := s.answer(last.ID + "#90")
		last.Pieces = append(last.Pieces, answer)
		last.Pieces = append(last.Pieces, s.results(last.ID+"#91", answer.Calls)...)
		in.Sequence++
		after := build(rt, in)
		if after.Epoch != before.Epoch || len(after.Breakpoints) < 2 {
			return // a fold, or nothing that is kept
		}
		if !strings.HasPrefix(after.Text, before.Text[:at]) {
			rt.Fatalf("the next pack does not repeat the %d bytes up to the last breakpoint", at)
		}
		checkBlocksRepeat(rt, before, after)
	})
}

// checkBlocksRepeat checks that the blocks up to each cache breakpoint of a
// rendering are the first blocks of the next one.
func checkBlocksRepeat(t *rapid.T, before, after *layers.Pack) {
	blocks := func(p *layers.Pack) (texts []string, kept int) {
		r, err := rendering.Render(p, rendering.AnthropicMessages)
		if err != nil {
			t.Fatal(err)
		}
		var body anthropicBody
		decode(t, r.Body, &body)
		add := func(b anthropicBlock) {
			texts = append(texts, b.Type+b.Text)
			if b.CacheControl != nil {
				kept = len(texts)
			}
		}
		for _, b := range body.System {
			add(b)
		}
		for _, m := range body.Messages {
			texts = append(texts, m.Role)
			for _, b := range m.Content {
				add(b)
			}
		}
		return texts, kept
	}
	old, kept := blocks(before)
	now, _ := blocks(after)
	if len(now) < kept || !slices.Equal(now[:kept], old[:kept]) {
		t.Fatalf("the blocks up to the last breakpoint are not repeated:\n%q\n%q", old[:kept], now)
	}
}

func TestUnknownFormat(t *testing.T) {
	t.Parallel()
	if _, err := rendering.Render(&layers.Pack{}, "morse"); !errors.Is(err, rendering.ErrFormat) {
		t.Errorf("morse: %v", err)
	}
	if rendering.Format("morse").Valid() || !rendering.Text.Valid() {
		t.Error("Valid does not agree with Formats")
	}
}
