package nearness_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hexapla/retrieval/nearness"
	"hexapla/retrieval/vectors"
)

func newTexts(t testing.TB) *nearness.Texts {
	t.Helper()
	model, err := vectors.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return &nearness.Texts{Model: model}
}

// TestB8_Nearness: texts about the same are nearer than others, also without a word
// in common, and in languages that the vectors do not know.
func TestB8_Nearness(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ about, near, far string }{
		{"the database lost its connection", "storage servers are offline", "bake the bread with butter and salt"},
		{"repair the car engine", "the mechanic fixed the motor", "a poem about the ocean"},
		{"データベースの接続が切れた", "データベースの接続を直す", "パンを焼いて塩を入れる"},
		{"zzqx frobnicate_widget", "call frobnicate_widget again", "zzqy another thing"},
	} {
		got := newTexts(t).Near([]string{test.about}, [][]string{{test.near}, {test.far}, {test.about}})
		if got[0] <= got[1] || got[2] != 1 {
			t.Errorf("%q: %v", test.about, got)
		}
	}
}

// TestNearLaws: nearness lies between 0 and 1, is the same from both sides, and does
// not depend on the order of texts or on what was asked before.
func TestNearLaws(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"parser", "bread", "データベース", "zzqx", "the", "main.go", "garden", "\xff", "", "reads 42 files"})
	group := rapid.SliceOfN(word, 0, 6)
	rapid.Check(t, func(rt *rapid.T) {
		a, b := group.Draw(rt, "a"), group.Draw(rt, "b")
		texts := newTexts(t)
		one, other := texts.Near(a, [][]string{b, b})[0], texts.Near(b, [][]string{a})[0]
		slices.Reverse(b)
		if again := newTexts(t).Near(a, [][]string{b})[0]; one != other || one != again || !(one >= 0 && one <= 1) {
			rt.Errorf("%v %v %v", one, other, again)
		}
		if self := texts.Near(a, [][]string{a})[0]; self != 1 {
			rt.Errorf("to itself: %v", self)
		}
	})
}
