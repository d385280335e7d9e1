package layers_test

import (
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers"
)

// TestH18_WindowOfProfiles: whatever active memory the conversations' profiles
// have, the window moves forward only, by the opening at which it was said to,
// leaves no fewer conversations than the active memory of the one that is first
// then, and is a function of what was known at each opening.
func TestH18_WindowOfProfiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		policy := layers.DefaultPolicy()
		policy.WindowStep = rapid.IntRange(1, 10).Draw(t, "step")
		policy.WindowDeferrals = rapid.IntRange(0, 4).Draw(t, "deferrals")
		prices := layers.CachePrices{Write: 1.25, Read: 0.1}
		active := rapid.SliceOfN(rapid.IntRange(1, layers.MaxActiveMemory), 130, 130).Draw(t, "active")
		sizes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) layers.ConversationSize {
			return layers.ConversationSize{Tokens: rapid.IntRange(10, 30_000).Draw(t, "tokens"), Calls: rapid.IntRange(1, 40).Draw(t, "calls")}
		}), 1, 120).Draw(t, "sizes")
		before := layers.Window{Start: 1}
		for n := 1; n <= len(sizes)+1; n++ {
			w := layers.Windows{Policy: policy, Active: func(base int) int {
				if base >= n {
					t.Fatalf("with %d opened, the profile of conversation %d is asked for", n, base+1)
				}
				return active[base]
			}}
			got := w.At(n, sizes[min(w.From(n), n-1):n-1], prices)
			switch {
			case got.Base < before.Base:
				t.Fatalf("with %d opened the window goes back from %d to %d", n, before.Base, got.Base)
			case got.Base != before.Base && got.Start != n:
				t.Fatalf("conversation %d moved the window, not %d", n, got.Start)
			case got.Base == before.Base && got.Start != before.Start:
				t.Fatalf("with %d opened the start is %d, it was %d", n, got.Start, before.Start)
			case got.Base > 0 && n-1-got.Base < active[got.Base]:
				t.Fatalf("with %d opened layer 1 begins after %d, which leaves fewer than %d", n, got.Base, active[got.Base])
			case w.Base(n)-got.Base > policy.WindowDeferrals*policy.WindowStep:
				t.Fatalf("with %d opened the window begins at %d, the standard is %d", n, got.Base, w.Base(n))
			}
			before = got
		}
	})
}

// TestH18_WindowMovedByHand: a window that was moved by hand begins where the new
// active memory puts it, never before it was, and goes on from there.
func TestH18_WindowMovedByHand(t *testing.T) {
	t.Parallel()
	w := layers.Windows{Policy: layers.DefaultPolicy()}
	for _, c := range []struct {
		then, now layers.Window
		m, active int
		want      layers.Window
	}{
		{layers.Window{Start: 1}, layers.Window{Start: 1}, 9, 3, layers.Window{Base: 5, Start: 9, Seq: 77}},
		{layers.Window{Start: 1}, layers.Window{Start: 1}, 9, 4, layers.Window{Base: 0, Start: 9, Seq: 77}},
		{layers.Window{Base: 10, Start: 16}, layers.Window{Base: 10, Start: 16}, 17, 10, layers.Window{Base: 10, Start: 17, Seq: 77}},
		{layers.Window{Start: 1}, layers.Window{Base: 10, Start: 16}, 9, 3, layers.Window{Base: 10, Start: 16}},
		{layers.Window{Start: 1}, layers.Window{Base: 5, Start: 11}, 9, 3, layers.Window{Base: 5, Start: 9, Seq: 77}},
	} {
		if got := w.Moved(c.then, c.now, c.m, 77, c.active); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
