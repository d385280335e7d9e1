package layers_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hexapla/layers"
)

// TestT2_ImportanceLaws: importance is in [0,1], falls with age, rises with use,
// and a new item has its type's weight; tiers follow it.
func TestT2_ImportanceLaws(t *testing.T) {
	t.Parallel()
	p := layers.DefaultMemoryPolicy()
	rank := map[layers.Tier]int{layers.TierCold: 0, layers.TierWarm: 1, layers.TierHot: 2}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(layers.ItemTypes()).Draw(t, "type")
		age := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(1000*24*time.Hour)).Draw(t, "age"))
		older := age + time.Duration(rapid.Int64Range(0, int64(100*24*time.Hour)).Draw(t, "older"))
		uses := rapid.IntRange(-1, 1_000_000).Draw(t, "uses")
		got := p.Importance(kind, age, uses)
		if got < 0 || got > 1 || math.IsNaN(got) {
			t.Fatalf("importance %v", got)
		}
		if old := p.Importance(kind, older, uses); old > got || rank[p.TierOf(old)] > rank[p.TierOf(got)] {
			t.Fatalf("an older item counts for more: %v, %v", old, got)
		}
		if used := p.Importance(kind, age, uses+1); used < got || rank[p.TierOf(used)] < rank[p.TierOf(got)] {
			t.Fatalf("an item that is used more counts for less: %v, %v", used, got)
		}
		weight, _ := p.Weight(kind)
		if fresh := p.Importance(kind, 0, 0); fresh != float64(weight)/100 {
			t.Fatalf("a new item has %v, its type %d %%", fresh, weight)
		}
	})
	for importance, want := range map[float64]layers.Tier{1: layers.TierHot, 0.8: layers.TierHot, 0.799: layers.TierWarm, 0.4: layers.TierWarm, 0.399: layers.TierCold, 0: layers.TierCold} {
		if got := p.TierOf(importance); got != want {
			t.Errorf("%v is %s, want %s", importance, got, want)
		}
	}
	if got := p.Importance(layers.ItemTask, 7*24*time.Hour, 0); got != 0.368 {
		t.Errorf("a task of a week has %v, want 1/e", got)
	}
	if got := p.Importance(layers.ItemTestResult, 0, 9); got != 0.738 {
		t.Errorf("a test result that was used nine times has %v, want 0.6 × (1 + ln 10 / 10)", got)
	}
}

// TestT2_Settings: every number can be set, and one out of range is named.
func TestT2_Settings(t *testing.T) {
	t.Parallel()
	p, err := layers.ParseMemoryPolicy([]byte(`{"weights":{"code":95},"decayHours":1}`), layers.DefaultMemoryPolicy())
	if err != nil || p.Importance(layers.ItemCode, time.Hour, 0) != 0.349 || p.HotPercent != 80 {
		t.Errorf("%+v, %v", p, err)
	}
	for text, member := range map[string]string{
		`{"weights":{"task":-1}}`: "memory.weights.task", `{"decayHours":0}`: "memory.decayHours", `{"hotPercent":101}`: "memory.hotPercent",
		`{"flashPercent":-80}`: "memory.flashPercent", `{"hotPercent":30}`: "", `{"tea":1}`: "", `[]`: "",
	} {
		_, err := layers.ParseMemoryPolicy([]byte(text), layers.DefaultMemoryPolicy())
		var over *layers.LimitError
		if err == nil || errors.As(err, &over) != (member != "") || over != nil && over.Member != member {
			t.Errorf("%s: %v", text, err)
		}
	}
}
