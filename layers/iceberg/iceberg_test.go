package iceberg_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"hexapla/layers/iceberg"
)

// TestI2_Table: the specification's ranges, borders included above.
func TestI2_Table(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		percent  float64
		name     string
		items    int
		files    iceberg.FileMode
		messages int
	}{
		{0, "<40%", 1, iceberg.FilesNone, 0}, {39.999, "<40%", 1, iceberg.FilesNone, 0},
		{40, "40-60%", 3, iceberg.FilesOutline, 2}, {59.9, "40-60%", 3, iceberg.FilesOutline, 2},
		{60, "60-80%", iceberg.Unbounded, iceberg.FilesFull, 5}, {80, ">=80%", iceberg.Unbounded, iceberg.FilesFull, 10}, {100, ">=80%", iceberg.Unbounded, iceberg.FilesFull, 10},
	} {
		rule, name := iceberg.Default().Of(c.percent)
		if name != c.name || rule.Items != c.items || rule.Files != c.files || rule.Messages != c.messages {
			t.Errorf("%v %%: %s %+v", c.percent, name, rule)
		}
	}
}

// TestI2_TableLaws: a table that passes the check has one rule for each share; what
// is forced in never takes anything out, and forcing again changes nothing.
func TestI2_TableLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(t, "rules")
		rules := make(iceberg.Rules, n)
		for i := range rules {
			rules[i] = iceberg.Rule{
				Below: rapid.IntRange(-1, 102).Draw(t, "below"), Items: rapid.IntRange(-2, 5).Draw(t, "items"),
				Files: rapid.SampledFrom(append(iceberg.FileModes(), "half")).Draw(t, "files"), Messages: rapid.IntRange(-2, 5).Draw(t, "messages"),
			}
		}
		if rapid.Bool().Draw(t, "whole") && n > 0 {
			rules[n-1].Below = iceberg.Top
		}
		if err := rules.Check(); err != nil {
			var bad *iceberg.RuleError
			if !errors.As(err, &bad) || bad.Member == "" || bad.Rule > n {
				t.Fatalf("%v", err)
			}
			return
		}
		percent := rapid.Float64Range(0, 100).Draw(t, "percent")
		rule, _ := rules.Of(percent)
		holds, before := 0, 0
		for _, r := range rules {
			if percent >= float64(before) && (percent < float64(r.Below) || r.Below == iceberg.Top) {
				holds++
				if r != rule {
					t.Fatalf("%v: %+v, not %+v", percent, rule, r)
				}
			}
			before = r.Below
		}
		if holds != 1 {
			t.Fatalf("%v has %d rules", percent, holds)
		}
		forced := rapid.SliceOf(rapid.SampledFrom(iceberg.All())).Draw(t, "forced")
		with := rules.With(rule, forced)
		if with.Items != iceberg.Unbounded && with.Items < rule.Items || with.Messages != iceberg.Unbounded && with.Messages < rule.Messages || rules.With(with, forced) != with {
			t.Fatalf("%+v with %v is %+v", rule, forced, with)
		}
	})
}

// TestI3_Left: what is left is between 0 and 100, and falls with what is used.
func TestI3_Left(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 1<<50).Draw(t, "limit")
		a, b := rapid.Int64Range(0, 1<<51).Draw(t, "a"), rapid.Int64Range(0, 1<<51).Draw(t, "b")
		left := iceberg.Left(a, limit)
		if left < 0 || left > 100 || a >= limit && left != 0 || a <= b && left < iceberg.Left(b, limit) {
			t.Fatalf("%d of %d leaves %v", a, limit, left)
		}
	})
}
