package layers_test

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
)

// TestStablePrefixStays is the law of stable prefixes: what a pack says will
// stay stands at the beginning of the next one, through turns, ends of
// conversations and housekeeping, in both layouts and however scarce room is,
// until there is another fold, or headers or summaries have to give way to what
// must be in the next pack. A pack that fills its budget says so of what
// stands in front of the memory alone.
func TestStablePrefixStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := &book{headers: rapid.IntRange(0, 10).Draw(t, "headers")}
		in := layers.Input{
			Session: "s", Layout: layers.LayoutStablePrefix, Policy: layers.DefaultPolicy(), Count: words{}, Source: source, WindowSeq: 1,
			System: []layers.Item{{ID: "tools", Form: form(layers.FormFull, 50, "sys")}},
			Pins:   []layers.Item{{ID: "p", Form: form(layers.FormFull, 30, "pin")}},
			Stream: []layers.StreamConversation{{ID: "c1"}},
			Fill:   rapid.IntRange(0, 4).Draw(t, "fill") == 0,
		}
		if rapid.Bool().Draw(t, "narrative") {
			in.Layout = layers.LayoutNarrativeFirst
		}
		total := rapid.IntRange(200, 12_000).Draw(t, "total")
		set := func() {
			p := layers.ProfileSpan{Seq: in.Sequence, Policy: in.Policy}
			p.Policy.LowWaterPercent = rapid.IntRange(5, 90).Draw(t, "low water")
			p.Policy.OpenErrors = rapid.IntRange(0, 9).Draw(t, "open errors")
			in.Profiles = append(in.Profiles, p)
		}
		set()
		in.Memory.SharePercent = rapid.SampledFrom([]int{0, 10}).Draw(t, "memory share")
		front := len(in.System[0].Form.Text) + len(in.Pins[0].Form.Text)
		var before *layers.Pack
		for k := range rapid.IntRange(2, 60).Draw(t, "steps") {
			in.Sequence++
			open := &in.Stream[len(in.Stream)-1]
			if rapid.IntRange(0, 3).Draw(t, "save") == 0 { // a memory item
				item := layers.RankedItem{Item: layers.Item{ID: fmt.Sprintf("i%d", k), Form: form(layers.FormFull, 20, fmt.Sprintf("mem%d", k))}}
				in.Memory.Since = append(in.Memory.Since, item)
			}
			switch step := rapid.IntRange(0, 11).Draw(t, "step"); {
			case k > 0 && step == 0:
				source.said = in.Sequence // housekeeping
			case k > 0 && step == 10:
				set() // a profile, by hand
			case k > 0 && step == 11:
				set() // to count at once
				in.Start, in.StartSeq, in.WindowSeq = len(in.Stream)-1, in.Sequence, in.Sequence
			case len(open.Pieces) > 1 && step == 1 && len(in.Stream) < 6:
				open.Done = true
				open.Close, open.Summary = form(string(layers.DetailHeader), 20, "close"), form(string(layers.DetailSummary), 60, "sum")
				set()
				in.Stream = append(in.Stream, layers.StreamConversation{ID: fmt.Sprintf("c%d", len(in.Stream)+1), Profile: len(in.Profiles) - 1})
				open = &in.Stream[len(in.Stream)-1]
				fallthrough
			default:
				n := len(open.Pieces)
				p := piece(fmt.Sprintf("%s#%d", open.ID, n+1), in.Sequence, rapid.IntRange(4, 900).Draw(t, "size"))
				p.User, p.Answer = n == 0, n%2 == 1
				open.Pieces = append(open.Pieces, p)
			}
			in.Budget.Total = total
			pack, err := layers.Build(in)
			var small *layers.BudgetError
			if errors.As(err, &small) {
				in.Budget.Total = small.Smallest
				pack, err = layers.Build(in)
			}
			if err != nil {
				t.Fatal(err)
			}
			if in.StartSeq == in.Sequence && !in.Fill && pack.EpochReason != layers.EpochProfile && pack.Epoch != in.Sequence {
				t.Fatalf("step %d: a profile that is to count at once made the epoch %d (%s)", k, pack.Epoch, pack.EpochReason)
			}
			if pack.StableBytes < front || (in.Fill || in.Layout == layers.LayoutNarrativeFirst) && pack.StableBytes != front {
				t.Fatalf("step %d: claims %d bytes, %d stand in front", k, pack.StableBytes, front)
			}
			if before != nil && before.Budget == pack.Budget && head(before) == head(pack) && (in.Fill || before.Epoch == pack.Epoch) {
				if same := common(before.Text, pack.Text); same < before.StableBytes {
					t.Fatalf("step %d: the pack before claims %d bytes, %d stay", k, before.StableBytes, same)
				}
			}
			before = pack
		}
	})
}

// TestBarePackClaimsTheFront: a pack with the least that must be there says of
// nothing else that it will stay, because layer 0 and the roll-up in it move
// with every record.
func TestBarePackClaimsTheFront(t *testing.T) {
	t.Parallel()
	done := layers.StreamConversation{
		ID: "c1", Done: true, Pieces: []layers.Piece{piece("c1#1", 1, 300)},
		Close: form(string(layers.DetailHeader), 60, "close"), Summary: form(string(layers.DetailSummary), 100, "sum"),
	}
	query := piece("c2#1", 2, 300)
	query.User = true
	in := layers.Input{
		Session: "s", Layout: layers.LayoutStablePrefix, Policy: layers.DefaultPolicy(), Count: words{}, Source: &book{headers: 9},
		System: []layers.Item{{ID: "tools", Form: form(layers.FormFull, 50, "sys")}}, Sequence: 2, WindowSeq: 1,
		Stream: []layers.StreamConversation{done, {ID: "c2", Pieces: []layers.Piece{query}}}, Budget: layers.Budget{Total: 1},
	}
	_, err := layers.Build(in)
	var small *layers.BudgetError
	if !errors.As(err, &small) {
		t.Fatal(err)
	}
	in.Budget.Total = small.Smallest
	pack, err := layers.Build(in)
	if err != nil || pack.StableBytes != len(pack.Branches.System) {
		t.Fatalf("claims %d bytes of a system branch of %d, %v", pack.StableBytes, len(pack.Branches.System), err)
	}
	in.Sequence = 3
	next, err := layers.Build(in)
	if err != nil || common(pack.Text, next.Text) >= len(pack.Text) {
		t.Fatalf("the next pack is the same, %v", err)
	}
}

// head lists what stands in front of the stream and gives way to it in need.
func head(p *layers.Pack) (ids string) {
	for _, s := range p.Sections {
		if s.Name != layers.SectionHeaders && s.Name != layers.SectionSummaries {
			continue
		}
		for _, item := range s.Items {
			ids += item.ID + " "
		}
	}
	return ids
}

// common returns how many bytes at the beginning are the same.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
