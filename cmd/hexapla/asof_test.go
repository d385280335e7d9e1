package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// nextMillisecond waits until the clock shows another millisecond than that in
// which the last commit was, and returns it.
func nextMillisecond() string {
	before := time.Now().UnixMilli()
	for time.Now().UnixMilli() <= before {
	}
	return time.UnixMilli(before).UTC().Format(time.RFC3339Nano)
}

// TestAsOfMoment asks the process for packs as of sequence numbers and times.
func TestAsOfMoment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before := time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	c := startChild(t, dir)
	recordStory(c, 3)
	first, pack := buildPack(c, 6000, 0, "")
	at := nextMillisecond()
	recordMore(c)
	now, _ := buildPack(c, 6000, 0, "")
	if now.Checksum == first.Checksum {
		t.Fatal("what was recorded made no difference")
	}
	check := func(c *child) {
		t.Helper()
		zoned, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		for name, moment := range map[string]any{
			"its sequence": pack.Sequence, "its sequence as a decimal": json.RawMessage(strconv.FormatInt(pack.Sequence, 10) + ".0"), "its time": at,
			"its time in another zone": zoned.In(time.FixedZone("", 5*3600+1800)).Format(time.RFC3339Nano),
		} {
			got, _ := buildPack(c, 6000, moment, "")
			if got.Checksum != first.Checksum {
				t.Errorf("as of %s, %v: another pack", name, moment)
			}
		}
		replay := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: first.Checksum})
		if !replay.Match {
			t.Error("replay of the pack as of a time does not match")
		}
		for name, moment := range map[string]any{
			"no moment": nil, "null": json.RawMessage("null"), "zero": 0, "a time to come": "2999-01-01T00:00:00Z",
		} {
			if got, _ := buildPack(c, 6000, moment, ""); got.Checksum != now.Checksum {
				t.Errorf("as of %s: not the newest pack", name)
			}
		}
		explained := call[wire.PackExplainResult](c, wire.MethodPackExplain, wire.PackExplainParams{PackBuildParams: packParams(6000, at, "")})
		if explained.Checksum != first.Checksum || explained.Sequence != pack.Sequence {
			t.Error("explained as of its time: another pack")
		}
		whatIf := call[wire.PackWhatIfResult](c, wire.MethodPackWhatIf, wire.PackWhatIfParams{
			Session: "s", Budgets: []int{6000, 7000}, AsOf: at, System: packParams(0, nil, "").System,
		})
		if whatIf.Packs[0].Checksum != first.Checksum {
			t.Error("what if as of its time: another pack")
		}
	}
	check(c)
	for _, bad := range []struct {
		name   string
		moment any
		kind   wire.Kind
	}{
		{"before the first record", before, wire.KindNotFound},
		{"long before", "0001-01-01T00:00:00Z", wire.KindNotFound},
		{"a sequence to come", 1 << 40, wire.KindNotFound},
		{"beyond 64 bits", json.RawMessage("9223372036854775808"), wire.KindInvalidParams},
		{"beyond everything", json.RawMessage("1e400"), wire.KindInvalidParams},
		{"negative", -1, wire.KindInvalidParams},
		{"a fraction", 1.5, wire.KindInvalidParams},
		{"a number as a string", "5", wire.KindInvalidParams},
		{"no zone", "2026-03-01T12:00:00", wire.KindInvalidParams},
		{"a day", "2026-03-01", wire.KindInvalidParams},
		{"no such day", "2026-02-30T12:00:00Z", wire.KindInvalidParams},
		{"an empty string", "", wire.KindInvalidParams},
		{"a word", "yesterday", wire.KindInvalidParams},
		{"a boolean", true, wire.KindInvalidParams},
		{"an array", []int{1}, wire.KindInvalidParams},
		{"an object", map[string]int{"sequence": 1}, wire.KindInvalidParams},
	} {
		for _, ask := range []struct {
			method string
			params any
		}{
			{wire.MethodPackBuild, packParams(6000, bad.moment, "")},
			{wire.MethodPackExplain, wire.PackExplainParams{PackBuildParams: packParams(6000, bad.moment, "")}},
			{wire.MethodPackWhatIf, wire.PackWhatIfParams{Session: "s", Budgets: []int{6000}, AsOf: bad.moment}},
		} {
			var remote *rpc.Error
			if err := c.Call(t.Context(), ask.method, ask.params, nil); !asRemote(err, &remote) || remote.Kind() != bad.kind || remote.Data.Path != "asOf" {
				t.Errorf("%s as of %s: %v, want %s of asOf", ask.method, bad.name, err, bad.kind)
			}
		}
	}
	c.stop()
	again := startChild(t, dir)
	call[wire.SessionOpenResult](again, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	check(again)
	again.stop()

	// The commands take the same moments.
	text := func(args ...string) string {
		t.Helper()
		o := hexapla(t, nil, append(args, "--data-dir", dir, "--workspace", testWorkspace)...)
		if o.code != 0 {
			t.Fatalf("%q: exit %d, %s", args, o.code, o.errs)
		}
		return o.out
	}
	bySequence := text("pack", "--as-of", strconv.FormatInt(pack.Sequence, 10))
	if byTime := text("pack", "--as-of", at); byTime != bySequence || byTime == text("pack") || strings.Contains(byTime, "And now the writer.") {
		t.Error("hexapla pack --as-of: not the pack of then")
	}
	if byTime := text("explain", "--as-of", at); byTime != text("explain", "--as-of", strconv.FormatInt(pack.Sequence, 10)) || byTime == text("explain") {
		t.Error("hexapla explain --as-of: not the pack of then")
	}
	if o := hexapla(t, nil, "pack", "--as-of", before, "--data-dir", dir, "--workspace", testWorkspace); o.code != 1 || !strings.Contains(o.errs, "asOf: nothing is known to be recorded") {
		t.Errorf("hexapla pack --as-of before the first record: exit %d, %q", o.code, o.errs)
	}
}

func packParams(total int, asOf any, layout string) wire.PackBuildParams {
	return wire.PackBuildParams{
		Session: "s", Budget: wire.Budget{Total: total}, Layout: layout, AsOf: asOf,
		System: &wire.SystemPrompt{Tools: "Bash runs a command.", Guardrails: "Be careful."},
	}
}
