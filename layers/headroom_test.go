package layers_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
)

// loop is a stream of conversations that each have a query and calls of one size.
type loop struct {
	in   layers.Input
	size int
}

func newLoop(total, size, opening int) *loop {
	policy := layers.DefaultPolicy()
	policy.OpeningFoldPercent = opening
	return &loop{size: size, in: layers.Input{
		Session: "s", Layout: layers.LayoutStablePrefix, Policy: policy, Count: words{}, Source: &book{}, WindowSeq: 1,
		Budget: layers.Budget{Total: total}, Prices: layers.CachePrices{Write: 1.25, Read: 0.1},
	}}
}

// add appends a piece, in a new conversation if it is a query.
func (l *loop) add(kind string) {
	l.in.Sequence++
	if kind == "query" {
		if n := len(l.in.Stream); n > 0 {
			last := &l.in.Stream[n-1]
			last.Done, last.Close, last.Summary = true, form(string(layers.DetailHeader), 20, "clo"), form(string(layers.DetailSummary), 60, "sum")
		}
		l.in.Stream = append(l.in.Stream, layers.StreamConversation{ID: fmt.Sprintf("c%d", len(l.in.Stream)+1)})
	}
	c := &l.in.Stream[len(l.in.Stream)-1]
	p := piece(fmt.Sprintf("%s#%d", c.ID, len(c.Pieces)+1), l.in.Sequence, l.size)
	p.User, p.Answer = kind == "query", kind == "answer"
	c.Pieces = append(c.Pieces, p)
}

func (l *loop) pack(t interface{ Fatal(...any) }) *layers.Pack {
	pack, err := layers.Build(l.in)
	if err != nil {
		t.Fatal(err)
	}
	return pack
}

// TestH22_NearnessIsTold: where calls are all alike, a pack says exactly how many
// more there are to the next fold.
func TestH22_NearnessIsTold(t *testing.T) {
	t.Parallel()
	l := newLoop(9000, 150, 0)
	l.add("query")
	if h := l.pack(t).Headroom; h.Known || h.Tokens <= 0 {
		t.Fatalf("before the first call: %+v", h)
	}
	expected, folds := -1, 0 // call at which the next fold is expected
	var epoch int64
	for call := 1; call < 120; call++ {
		l.add("answer")
		l.add("tool")
		pack := l.pack(t)
		if h := pack.Headroom; !h.Known || h.Tokens < 0 {
			t.Fatalf("call %d: %+v", call, h)
		}
		if epoch != 0 && pack.Epoch != epoch {
			folds++
			// A call is two pieces, of which the first alone may not fit.
			if d := call - expected; d < 0 || d > 1 {
				t.Fatalf("a fold at call %d, expected at %d", call, expected)
			}
		}
		epoch, expected = pack.Epoch, call+pack.Headroom.Calls+1
	}
	if folds < 3 {
		t.Fatalf("%d folds: the test sees nothing", folds)
	}
}

// TestH22_FoldsAtAnOpening: with OpeningFoldPercent a query that opens a
// conversation folds what a conversation like those before would make fold in its
// middle, where the gate says that it pays. So the tool loop is not folded.
func TestH22_FoldsAtAnOpening(t *testing.T) {
	t.Parallel()
	const calls = 12
	count := func(opening int) (inLoop, atOpening int) {
		l := newLoop(9000, 150, opening)
		var before *layers.Pack
		for range 9 {
			for k := range 2*calls + 1 {
				kind := []string{"tool", "answer"}[k%2]
				if k == 0 {
					kind = "query"
				}
				l.add(kind)
				pack := l.pack(t)
				switch {
				case before == nil || pack.Epoch == before.Epoch:
					if before != nil && k > 0 && !strings.HasPrefix(pack.Text, before.Text) {
						t.Fatal("no fold, yet the prefix moved")
					}
				case k == 0:
					atOpening++
					if pack.EpochReason == layers.EpochOpening && pack.Gate.Decision != layers.GatePays {
						t.Fatalf("%+v", pack.Gate)
					}
				default:
					inLoop++
				}
				before = pack
			}
		}
		return inLoop, atOpening
	}
	late, _ := count(0)
	early, opening := count(100)
	if late == 0 || early != 0 || opening == 0 {
		t.Fatalf("%d folds in tool loops, with folds at openings %d and %d at openings", late, early, opening)
	}
}

// TestH22_OpeningFoldLaws: whatever the stream, folds at openings keep the laws of
// packs, and are where a query opened a conversation. That there are any is what
// TestH22_FoldsAtAnOpening shows.
func TestH22_OpeningFoldLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		if c := rapid.IntRange(in.Start, len(in.Stream)-1).Draw(t, "newest"); rapid.Bool().Draw(t, "at its opening") {
			in.Stream = in.Stream[:c+1]
			in.Stream[c] = layers.StreamConversation{ID: in.Stream[c].ID, Pieces: in.Stream[c].Pieces[:1]}
		}
		in.Policy.OpeningFoldPercent = rapid.IntRange(1, 1000).Draw(t, "opening")
		in.Prices = layers.CachePrices{Write: 1, Read: 1} // any fold pays
		pack, err := layers.Build(in)
		if err != nil {
			return
		}
		checkPack(t, in, pack)
		if pack.EpochReason != layers.EpochOpening {
			return
		}
		for _, c := range in.Stream[1:] {
			if c.Pieces[0].Seq == pack.Epoch {
				return
			}
		}
		t.Fatalf("a fold at an opening at %d, where none is", pack.Epoch)
	})
}
