package layers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
)

// words counts four bytes as one token; it adds up over texts whose lengths are
// multiples of four, which is all that these tests make.
type words struct{}

func (words) Count(s string) int { return len(s) / 4 }
func (words) Name() string       { return "words" }
func (words) Estimate() bool     { return false }

func form(detail string, tokens int, mark string) layers.Form {
	text := "#" + mark + strings.Repeat(".", max(0, tokens*4-len(mark)-2)) + "\n"
	return layers.Form{Detail: detail, Text: text, Tokens: len(text) / 4}
}

// book is a Source made of fixed texts.
type book struct {
	headers   int // conversations before the stream
	said      int64
	digestCap int
}

func (b *book) CurrentContext(seq int64, room int) (layers.Form, error) {
	return form(layers.FormFull, max(min(room, 200), 2), fmt.Sprintf("cc%03d", seq%1000)), nil
}
func (b *book) Said(seq int64) (int64, error) { return b.said, nil }

func (b *book) Headers(_ int64, room int, rollup bool) ([]layers.Item, error) {
	if b.headers == 0 && !rollup {
		return nil, nil
	}
	if rollup || room < 20+b.headers*20 {
		return []layers.Item{{ID: "rollup", Form: form(layers.FormRollup, 20, "rol")}}, nil
	}
	var items []layers.Item
	for i := range b.headers {
		items = append(items, layers.Item{ID: fmt.Sprintf("h%d", i), Form: form(string(layers.DetailHeader), 20, "hea")})
	}
	return items, nil
}

func (b *book) Summaries(_ int64, room int) ([]layers.Item, error) {
	var items []layers.Item
	for i := 0; i < min(b.headers, 5); i++ {
		if room -= 100; room < 0 {
			break
		}
		items = append(items, layers.Item{ID: fmt.Sprintf("h%d", i), Form: form(string(layers.DetailSummary), 100, "sum")})
	}
	return items, nil
}

func (b *book) Names(r layers.NamesRequest) (layers.Form, error) {
	return form(layers.FormRoster, r.Room, fmt.Sprintf("nam%d.%d", r.Conversation, r.Piece)), nil
}

func (b *book) Digest(_ layers.StreamConversation, before, room int) (layers.Form, error) {
	return form(layers.FormDigest, room, fmt.Sprintf("d%02d", before%100)), nil
}

// piece makes a piece whose forms shrink.
func piece(id string, seq int64, size int) layers.Piece {
	p := layers.Piece{ID: id, Seq: seq}
	for _, f := range []struct {
		detail string
		most   int
	}{{layers.FormFull, size}, {layers.FormExcerpt, size / 4}, {layers.FormBrief, size / 10}, {layers.FormLine, 6}} {
		next := form(f.detail, max(f.most, 6), id)
		if n := len(p.Forms); n > 0 && next.Tokens >= p.Forms[n-1].Tokens {
			continue
		}
		p.Forms = append(p.Forms, next)
	}
	return p
}

// drawInput draws a workspace with some conversations and a budget.
func drawInput(t *rapid.T) layers.Input {
	policy := layers.DefaultPolicy()
	opened := rapid.IntRange(1, 30).Draw(t, "opened")
	base := policy.WindowBase(opened)
	in := layers.Input{
		Session: "s", Layout: layers.LayoutStablePrefix, Policy: policy, Count: words{}, Sequence: 1 << 40,
		Start:  policy.WindowStart(opened) - 1 - base,
		Source: &book{headers: base + rapid.IntRange(0, 40).Draw(t, "others")},
		Budget: layers.Budget{Total: rapid.IntRange(1, 40000).Draw(t, "total"), Reserved: rapid.IntRange(0, 500).Draw(t, "reserved")},
	}
	in.Fill = rapid.IntRange(0, 3).Draw(t, "fill") == 0
	if rapid.Bool().Draw(t, "narrative") {
		in.Layout = layers.LayoutNarrativeFirst
	}
	if rapid.Bool().Draw(t, "system") {
		in.System = []layers.Item{{ID: "tools", Form: form(layers.FormFull, 50, "sys")}}
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "pins") {
		in.Pins = append(in.Pins, layers.Item{ID: fmt.Sprintf("p%d", i), Form: form(layers.FormFull, 30, fmt.Sprintf("pin%d", i))})
	}
	in.Memory.SharePercent = rapid.SampledFrom([]int{0, 10, 50}).Draw(t, "memory share")
	for i := range rapid.IntRange(0, 6).Draw(t, "memory items") {
		item := layers.RankedItem{Rank: float64(rapid.IntRange(0, 3).Draw(t, "rank"))}
		item.ID, item.Form = fmt.Sprintf("i%d", i), form(layers.FormFull, rapid.IntRange(4, 400).Draw(t, "memory size"), fmt.Sprintf("mem%d", i))
		if i < 3 {
			in.Memory.Front = append(in.Memory.Front, item)
		} else {
			in.Memory.Since = append(in.Memory.Since, item)
		}
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "passages") {
		place := int64(rapid.IntRange(1, opened).Draw(t, "passage of"))
		in.Passages = append(in.Passages, layers.Passage{
			ID: fmt.Sprintf("c%d#%d", place, 1+i), Place: place, Seq: int64(i), Heading: form(layers.FormHeading, 8, fmt.Sprintf("head%d", place)),
			Forms: []layers.Form{form(layers.FormFull, rapid.IntRange(4, 900).Draw(t, "passage"), fmt.Sprintf("pas%d", i)), form(layers.FormExcerpt, 12, fmt.Sprintf("cut%d", i))},
		})
	}
	seq := int64(0)
	for c := base; c < opened; c++ {
		conversation := layers.StreamConversation{
			ID: fmt.Sprintf("c%d", c), Done: c < opened-1 || rapid.Bool().Draw(t, "done"),
		}
		if conversation.Done {
			conversation.Close = form(string(layers.DetailHeader), 30, "clo")
			conversation.Summary = form(string(layers.DetailSummary), 90, "sum")
		}
		turns := rapid.IntRange(1, 12).Draw(t, "turns")
		for k := range turns {
			seq++
			p := piece(fmt.Sprintf("c%d#%d", c, k+1), seq, rapid.IntRange(4, 900).Draw(t, "size"))
			p.Names.Tokens = rapid.IntRange(0, 60).Draw(t, "names")
			switch {
			case k == 0:
				p.User = true
			case k%2 == 1:
				p.Answer = true
			default:
				p.Fresh = []layers.Form{form(layers.FormFull, rapid.IntRange(900, 4000).Draw(t, "fresh"), "fre")}
			}
			conversation.Pieces = append(conversation.Pieces, p)
			if k > 0 && k%2 == 0 {
				drawOutput(t, &in, &conversation, k)
			}
		}
		in.Stream = append(in.Stream, conversation)
	}
	in.WindowSeq = in.Stream[in.Start].Pieces[0].Seq
	if rapid.Bool().Draw(t, "profiles") {
		drawProfiles(t, &in)
	}
	return in
}

// drawProfiles draws a policy for each conversation, and perhaps one that was set
// by hand to count at once.
func drawProfiles(t *rapid.T, in *layers.Input) {
	span := func(seq int64) layers.ProfileSpan {
		s := layers.ProfileSpan{Seq: seq, Name: layers.ProfileDebugging, Policy: in.Policy}
		s.Policy.LowWaterPercent = rapid.IntRange(5, 90).Draw(t, "low water")
		s.Policy.OpenErrors = in.Policy.OpenErrors + rapid.IntRange(0, 3).Draw(t, "open errors")
		return s
	}
	now := rapid.IntRange(-1, len(in.Stream)-1).Draw(t, "set in conversation")
	for c := range in.Stream {
		pieces := in.Stream[c].Pieces
		in.Stream[c].Profile = len(in.Profiles)
		in.Profiles = append(in.Profiles, span(pieces[0].Seq))
		if c == now && c >= in.Start {
			at := pieces[rapid.IntRange(0, len(pieces)-1).Draw(t, "set before")].Seq
			in.Profiles = append(in.Profiles, span(at))
			if at > pieces[0].Seq { // something lies before it
				in.Start, in.StartSeq, in.WindowSeq = c, at, at
			}
		}
	}
}

// drawOutput makes of piece k of a conversation an output that may have failed,
// and that may repeat pieces before it.
func drawOutput(t *rapid.T, in *layers.Input, conversation *layers.StreamConversation, k int) {
	p := &conversation.Pieces[k]
	if rapid.IntRange(0, 3).Draw(t, "failed") == 0 {
		e := layers.OpenError{ID: p.ID, Seq: p.Seq, Form: form(layers.FormLine, rapid.IntRange(2, 70).Draw(t, "told"), "err")}
		if rapid.Bool().Draw(t, "resolved") {
			e.Until = p.Seq + int64(rapid.IntRange(1, 30).Draw(t, "later"))
		}
		in.Errors = append(in.Errors, e)
	}
	for range rapid.IntRange(0, 2).Draw(t, "repeats") {
		most := p.Forms[0].Tokens - 1
		if most < 3 {
			return
		}
		r := layers.Repeat{Piece: k, Form: form(layers.FormChanged, rapid.IntRange(3, most).Draw(t, "changed"), p.ID)}
		r.BaseConversation = rapid.IntRange(0, len(in.Stream)).Draw(t, "base conversation")
		if r.BaseConversation < len(in.Stream) {
			r.BasePiece = rapid.IntRange(0, len(in.Stream[r.BaseConversation].Pieces)-1).Draw(t, "base")
		} else {
			r.BasePiece = rapid.IntRange(0, k-1).Draw(t, "base")
		}
		conversation.Repeats = append(conversation.Repeats, r)
	}
}

// TestRepeatsGoByWhatIsInView: a piece is shown as what is new since another one
// only where that one stands in the pack in full.
func TestRepeatsGoByWhatIsInView(t *testing.T) {
	t.Parallel()
	seen := 0
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		pack, err := layers.Build(in)
		if err != nil {
			return
		}
		details := detailsOf(pack)
		for c := range in.Stream {
			conversation := &in.Stream[c]
			for k := range conversation.Pieces {
				if details[conversation.Pieces[k].ID] != layers.FormChanged {
					continue
				}
				seen++
				ok := false
				for _, r := range conversation.Repeats {
					base := in.Stream[min(r.BaseConversation, len(in.Stream)-1)].Pieces[r.BasePiece].ID
					ok = ok || r.Piece == k && details[base] == layers.FormFull
				}
				if !ok {
					t.Fatalf("%s is shown as what is new since something that is not in view", conversation.Pieces[k].ID)
				}
			}
		}
	})
	if seen == 0 && !testing.Short() {
		t.Fatal("nothing was repeated")
	}
}

// detailsOf returns in what detail a pack shows pieces.
func detailsOf(pack *layers.Pack) map[string]string {
	out := map[string]string{}
	for _, s := range pack.Sections {
		for _, item := range s.Items {
			if s.Name != layers.SectionErrors && strings.Contains(item.ID, "#") {
				out[item.ID] = item.Form.Detail
			}
		}
	}
	return out
}

// TestOpenErrorsStay: whatever the budget, the newest errors that nothing has
// resolved are told, by their own piece or in a line.
func TestOpenErrorsStay(t *testing.T) {
	t.Parallel()
	lines := 0
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		pack, err := layers.Build(in)
		if err != nil {
			return
		}
		details, line := detailsOf(pack), map[string]bool{}
		for _, s := range pack.Sections {
			for _, item := range s.Items {
				line[item.ID] = line[item.ID] || s.Name == layers.SectionErrors
			}
		}
		newest := in.Errors[max(0, len(in.Errors)-in.Policy.OpenErrors):]
		for _, e := range newest {
			if line[e.ID] {
				lines++
				continue
			}
			switch details[e.ID] {
			case layers.FormFull, layers.FormExcerpt, layers.FormBrief, layers.FormChanged:
			default:
				if e.Until == 0 {
					t.Fatalf("the open error of %s is not told: %q", e.ID, details[e.ID])
				}
			}
		}
	})
	if lines == 0 && !testing.Short() { // which tries a fifth
		t.Fatal("no error was out of view")
	}
}

// TestBudgetNeverExceeded is H10 and H11: whatever the history and the budget,
// a pack keeps within the budget, its parts add up, and where it cannot, the
// error names the smallest budget that works.
func TestBudgetNeverExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		pack, err := layers.Build(in)
		var small *layers.BudgetError
		if errors.As(err, &small) {
			checkSmallest(t, in, small.Smallest)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		checkPack(t, in, pack)
	})
}

func checkSmallest(t *rapid.T, in layers.Input, smallest int) {
	if smallest <= in.Budget.Total {
		t.Fatalf("a total of %d does not work, yet the smallest is said to be %d", in.Budget.Total, smallest)
	}
	in.Budget.Total = smallest
	pack, err := layers.Build(in)
	if err != nil {
		t.Fatalf("the smallest total that was named does not work: %v", err)
	}
	checkPack(t, in, pack)
	in.Budget.Total--
	if _, err := layers.Build(in); err == nil {
		t.Fatalf("a total of %d works, one less than the smallest", in.Budget.Total)
	}
}

func checkPack(t *rapid.T, in layers.Input, pack *layers.Pack) {
	if used := pack.Used() + in.Budget.Reserved; used > in.Budget.Total {
		t.Fatalf("pack uses %d of %d tokens", used, in.Budget.Total)
	}
	if got := (words{}).Count(pack.Text); got != pack.Used() {
		t.Fatalf("text has %d tokens, the parts add up to %d", got, pack.Used())
	}
	if pack.Branches.System+pack.Branches.Context+pack.Branches.Input != pack.Text {
		t.Fatal("the branches are not the text")
	}
	current := false
	var joined strings.Builder
	for _, s := range pack.Sections {
		joined.WriteString(s.Text)
		current = current || s.Name == layers.SectionCurrentContext
		n := 0
		for _, item := range s.Items {
			n += item.Form.Tokens
		}
		if n != s.Tokens {
			t.Fatalf("section %s says %d tokens, its items have %d", s.Name, s.Tokens, n)
		}
	}
	if joined.String() != pack.Text {
		t.Fatal("the sections are not the text")
	}
	var parsed struct {
		Branches struct{ ContextPrompt, SystemPrompt, UserInput string }
		Sections []struct{ Text string }
		Text     string
	}
	if err := json.Unmarshal(pack.AppendCanonical(nil), &parsed); err != nil {
		t.Fatal(err)
	}
	if b := parsed.Branches; b.SystemPrompt != pack.Branches.System || b.ContextPrompt != pack.Branches.Context || b.UserInput != pack.Branches.Input {
		t.Fatal("the branches on the wire are not the pack's")
	}
	if parsed.Text != pack.Text || len(parsed.Sections) != len(pack.Sections) {
		t.Fatal("the text on the wire is not the pack's")
	}
	if !current {
		t.Fatal("layer 0 is not in the pack")
	}
	for _, pin := range in.Pins {
		if !strings.Contains(pack.Text, pin.Form.Text) {
			t.Fatalf("pin %s is not in the pack", pin.ID)
		}
	}
	last := in.Stream[len(in.Stream)-1]
	if query := last.Pieces[0].Forms[0].Text; !last.Done && !strings.Contains(pack.Text, query) {
		t.Fatal("the query in progress is not in the pack, or is shortened")
	}
}

// TestSameInputsSameBytes is H12.
func TestSameInputsSameBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		first, err := layers.Build(in)
		second, err2 := layers.Build(in)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("once %v, once %v", err, err2)
		}
		if err != nil {
			return
		}
		a, b := first.AppendCanonical(nil), second.AppendCanonical(nil)
		if layers.Checksum(a) != layers.Checksum(b) {
			t.Fatal("two packs of the same inputs differ")
		}
	})
}

// TestStreamOnlyGrowsBetweenFolds is H2's decision: within a tool loop a pack
// is the one before plus what was appended, until a fold.
func TestStreamOnlyGrowsBetweenFolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := layers.Input{
			Session: "s", Layout: layers.LayoutStablePrefix, Policy: layers.DefaultPolicy(), Count: words{},
			Source: &book{headers: rapid.IntRange(0, 10).Draw(t, "headers")}, Budget: layers.Budget{Total: rapid.IntRange(3000, 20000).Draw(t, "total")},
			WindowSeq: 1, Stream: []layers.StreamConversation{{ID: "c1"}},
		}
		var before *layers.Pack
		folds, calls := 0, rapid.IntRange(2, 60).Draw(t, "calls")
		for k := range calls {
			p := piece(fmt.Sprintf("c1#%d", k+1), int64(k+1), rapid.IntRange(4, 900).Draw(t, "size"))
			p.User, p.Answer = k == 0, k%2 == 1
			in.Stream[0].Pieces = append(in.Stream[0].Pieces, p)
			in.Sequence = p.Seq
			pack, err := layers.Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if before != nil && before.Epoch == pack.Epoch {
				if !strings.HasPrefix(pack.Text, before.Text) {
					t.Fatalf("call %d: not the pack before plus what was appended, and no fold", k)
				}
			} else if before != nil {
				folds++
				if pack.EpochReason != layers.EpochBudget {
					t.Fatalf("call %d: a fold for the reason %q", k, pack.EpochReason)
				}
			}
			before = pack
		}
		if folds > calls/2 {
			t.Fatalf("%d folds in %d calls: a fold does not make room", folds, calls)
		}
	})
}

// TestHousekeepingMovesNoPrefix: what the model says between two folds stands
// behind everything that a provider has cached.
func TestHousekeepingMovesNoPrefix(t *testing.T) {
	t.Parallel()
	source := &book{}
	p1, p2 := piece("c1#1", 1, 100), piece("c1#2", 2, 100)
	p1.User, p2.Answer = true, true
	in := layers.Input{
		Session: "s", Layout: layers.LayoutStablePrefix, Policy: layers.DefaultPolicy(), Count: words{}, Sequence: 2, WindowSeq: 1,
		Source: source, Budget: layers.Budget{Total: 4000},
		Stream: []layers.StreamConversation{{ID: "c1", Pieces: []layers.Piece{p1, p2}}},
	}
	before, err := layers.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	source.said = 3
	in.Sequence = 3
	after, err := layers.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if before.StableBytes != after.StableBytes || before.Text[:before.StableBytes] != after.Text[:after.StableBytes] {
		t.Fatal("housekeeping moved the stable prefix")
	}
	if len(after.Text) <= len(before.Text) {
		t.Fatal("the new layer 0 is not in the pack")
	}
}

// TestWindow is H2's window: five to nine completed conversations beside the
// one in progress, five demoted at once.
func TestWindow(t *testing.T) {
	t.Parallel()
	p := layers.DefaultPolicy()
	base := 0
	for n := 1; n <= 200; n++ {
		got := p.WindowBase(n)
		if step := got - base; step != 0 && step != p.WindowStep {
			t.Fatalf("opening conversation %d demotes %d", n, step)
		}
		if got != base && p.WindowStart(n) != n {
			t.Fatalf("conversation %d moved the window, not %d", n, p.WindowStart(n))
		}
		base = got
		if in := n - base; n > 10 && (in < 6 || in > 10) {
			t.Fatalf("with %d opened, layer 1 holds %d", n, in)
		}
	}
}

// TestShares is H10: the shares add up to the budget.
func TestShares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.IntRange(0, 1_000_000).Draw(t, "budget")
		a, b, d, e, f := layers.DefaultPolicy().Shares(c)
		if a+b+d+e+f != c {
			t.Fatalf("shares of %d add up to %d", c, a+b+d+e+f)
		}
	})
	a, b, c, d, e := layers.DefaultPolicy().Shares(1000)
	if a != 150 || b != 250 || c != 100 || d != 350 || e != 150 {
		t.Fatalf("shares of 1000: %d %d %d %d %d", a, b, c, d, e)
	}
}
