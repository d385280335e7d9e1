package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// startAuditing starts the program with bounds of the audit log and opens the
// session "s".
func startAuditing(t *testing.T, dir, bounds string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "serve", "--fixed-keys", "--data-dir", dir)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	client, err := rpc.StartChild(t.Context(), cmd, rpc.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	info := rpc.InitializeParams{ClientName: "test", Options: json.RawMessage(`{"audit":` + bounds + `}`)}
	if _, err := client.Initialize(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	c := &child{t, client}
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	return c
}

// audit returns all entries that a query chooses, in pages of two.
func audit(c *child, query wire.AuditQueryParams) (entries []wire.AuditEntry) {
	c.t.Helper()
	query.Session, query.Limit = "s", 2
	for {
		page := call[wire.AuditQueryResult](c, wire.MethodAuditQuery, query)
		if len(page.Entries) > 2 {
			c.t.Fatalf("a page of %d entries", len(page.Entries))
		}
		entries = append(entries, page.Entries...)
		if query.Cursor = page.Cursor; query.Cursor == "" {
			return entries
		}
	}
}

// TestH15_AuditQuery: entries hold what a pack was made of and what it left out, and
// are found by session, checksum, sequence, time and reason of the epoch.
func TestH15_AuditQuery(t *testing.T) {
	t.Parallel()
	c := startAuditing(t, t.TempDir(), `{}`)
	defer c.stop()
	recordStory(c, 14)
	first, pack := buildPack(c, 3000, nil, "")
	between := nextMillisecond()
	recordMore(c)
	second, _ := buildPack(c, 3000, nil, "")
	again, _ := buildPack(c, 3000, pack.Sequence, "")
	fill := packParams(1200, nil, "")
	fill.Fill = true
	filled := call[wire.PackBuildResult](c, wire.MethodPackBuild, fill)
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "other"})
	params := packParams(3000, nil, "")
	params.Session = "other"
	foreign := call[wire.PackBuildResult](c, wire.MethodPackBuild, params)
	if again.Checksum != first.Checksum {
		t.Fatal("as of then, it is another pack")
	}

	found := audit(c, wire.AuditQueryParams{Checksum: first.Checksum, Items: true})
	if len(found) != 2 {
		t.Fatalf("%d entries of a pack that was built twice", len(found))
	}
	entry := found[1]
	if entry.Epoch != pack.Epoch || entry.EpochReason != pack.EpochReason || entry.Tokens != pack.Tokens.Used || entry.Settings != pack.Settings || entry.Sequence != pack.Sequence {
		t.Errorf("not the pack's: %+v", entry)
	}
	if entry.DroppedTotal != len(pack.Dropped) || len(pack.Dropped) == 0 || !slices.Equal(entry.Dropped, pack.Dropped[:min(50, len(pack.Dropped))]) {
		t.Errorf("%d of %d drops: %+v", len(entry.Dropped), entry.DroppedTotal, entry.Dropped)
	}
	if len(entry.Sections) != len(pack.Sections) {
		t.Fatalf("%d sections, the pack has %d", len(entry.Sections), len(pack.Sections))
	}
	for i, section := range entry.Sections {
		want := pack.Sections[i]
		if section.Name != want.Name || section.Tokens != want.Tokens || !slices.Equal(section.Items, want.Items) {
			t.Errorf("section %d is %+v, the pack has %s, %d, %+v", i, section, want.Name, want.Tokens, want.Items)
		}
	}
	if bare := audit(c, wire.AuditQueryParams{Checksum: first.Checksum}); bare[0].Sections[0].Items != nil {
		t.Error("items that were not asked for")
	}

	order := []string{first.Checksum, second.Checksum, again.Checksum, filled.Checksum, foreign.Checksum}
	for name, one := range map[string]struct {
		query wire.AuditQueryParams
		want  []int // of order
	}{
		"all":              {wire.AuditQueryParams{}, []int{0, 1, 2, 3, 4}},
		"of the session":   {wire.AuditQueryParams{OnlySession: true}, []int{0, 1, 2, 3}},
		"from a sequence":  {wire.AuditQueryParams{FromSequence: pack.Sequence + 1}, []int{1, 3, 4}},
		"to a sequence":    {wire.AuditQueryParams{ToSequence: pack.Sequence}, []int{0, 2}},
		"one sequence":     {wire.AuditQueryParams{FromSequence: pack.Sequence, ToSequence: pack.Sequence}, []int{0, 2}},
		"since":            {wire.AuditQueryParams{Since: between}, []int{1, 2, 3, 4}},
		"until":            {wire.AuditQueryParams{Until: between}, []int{0}},
		"since and until":  {wire.AuditQueryParams{Since: between, Until: "2001-01-01T00:00:00Z"}, nil},
		"filled":           {wire.AuditQueryParams{EpochReason: "fill"}, []int{3}},
		"in no session":    {wire.AuditQueryParams{OnlySession: true, Checksum: foreign.Checksum}, nil},
		"an unknown one":   {wire.AuditQueryParams{Checksum: strings.Repeat("0", 64)}, nil},
		"all that is told": {wire.AuditQueryParams{OnlySession: true, Since: between, FromSequence: pack.Sequence + 1, EpochReason: "fill"}, []int{3}},
	} {
		var got, want []string
		for _, entry := range audit(c, one.query) {
			got = append(got, entry.Checksum)
		}
		for _, i := range slices.Backward(one.want) { // newest first
			want = append(want, order[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d entries, want %d\n%v\n%v", name, len(got), len(want), got, want)
		}
	}
	for path, params := range map[string]string{
		"since": `"since":"yesterday"`, "until": `"until":"2026-02-30T00:00:00Z"`, "fromSequence": `"fromSequence":-1`, "toSequence": `"toSequence":-1`,
		"epochReason": `"epochReason":"boredom"`, "cursor": `"cursor":"x"`,
	} {
		expectError(c, wire.MethodAuditQuery, json.RawMessage(`{"session":"s",`+params+`}`), wire.KindInvalidParams, path, 0, params)
	}
}

// TestH15_AuditRetention: over a bound the oldest entries go, which replay says; the
// others can be built again after a restart and without the index.
func TestH15_AuditRetention(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	never := strings.Repeat("0", 64)
	c := startAuditing(t, dir, `{"entries":3}`)
	recordStory(c, 5)
	gone := func(c *child, checksum, says string) {
		t.Helper()
		for _, ask := range []struct {
			method, path string
			params       any
		}{
			{wire.MethodPackReplay, "checksum", wire.PackReplayParams{Session: "s", Checksum: checksum}},
			{wire.MethodPackDiff, "from", wire.PackDiffParams{Session: "s", From: checksum, To: checksum}},
			{wire.MethodBudgetReport, "checksum", wire.BudgetReportParams{Session: "s", PromptTokens: 1000, Checksum: checksum}},
		} {
			var remote *rpc.Error
			err := c.Call(t.Context(), ask.method, ask.params, nil)
			if !asRemote(err, &remote) || remote.Kind() != wire.KindNotFound || remote.Data.Path != ask.path || !strings.Contains(remote.Message, says) {
				t.Errorf("%s: %v; want not_found of %s that says %q", ask.method, err, ask.path, says)
			}
		}
	}
	gone(c, never, "was built in this workspace")
	var built []string
	for total := 3000; total < 3006; total++ {
		result, _ := buildPack(c, total, nil, "")
		built = append(built, result.Checksum)
	}
	recordMore(c) // its commit takes the entries along
	check := func(c *child) {
		t.Helper()
		if left := audit(c, wire.AuditQueryParams{}); len(left) != 3 || left[0].Checksum != built[5] || left[2].Checksum != built[3] {
			t.Errorf("%d entries are left: %+v", len(left), left)
		}
		for i, checksum := range built {
			if i < 3 {
				gone(c, checksum, "what is older was removed")
				continue
			}
			replay := call[wire.PackReplayResult](c, wire.MethodPackReplay, wire.PackReplayParams{Session: "s", Checksum: checksum})
			if !replay.Match {
				t.Errorf("pack %d: replay does not match", i)
			}
		}
		gone(c, never, "never built in this workspace, or it was built before "+time.Now().UTC().Format("2006-"))
	}
	check(c)
	c.stop()
	c = startAuditing(t, dir, `{"entries":3}`)
	check(c)
	c.stop()
	removeIndex(t, dir)
	c = startAuditing(t, dir, `{"entries":3}`)
	check(c)
	c.stop()

	// Lower bounds take effect with the next pack.
	c = startAuditing(t, dir, `{"entries":100,"bytes":65536}`)
	for total := 4000; total < 4040; total++ {
		buildPack(c, total, nil, "")
	}
	recordMore(c)
	left := audit(c, wire.AuditQueryParams{Items: true})
	if n := len(left); n < 5 || n >= 40 {
		t.Errorf("%d entries in 64 KiB", n)
	}
	c.stop()
	verifyStore(t, dir)
}

// TestAuditOptions: bounds out of range are refused with their place.
func TestAuditOptions(t *testing.T) {
	t.Parallel()
	for options, path := range map[string]string{
		`{"entries":0}`: "initializationOptions.audit.entries", `{"entries":1000001}`: "initializationOptions.audit.entries",
		`{"bytes":1000}`: "initializationOptions.audit.bytes", `{"days":-1}`: "initializationOptions.audit.days",
		`{"weeks":1}`: "initializationOptions.audit", `{"days":"x"}`: "initializationOptions.audit", `[]`: "initializationOptions.audit",
	} {
		m := startRaw(t).call(1, "initialize", json.RawMessage(`{"capabilities":{},"initializationOptions":{"audit":`+options+`}}`))
		var data wire.ErrorData
		if m.Error == nil {
			t.Errorf("%s is taken", options)
		} else if err := json.Unmarshal(m.Error.Data, &data); err != nil || data.Kind != wire.KindInvalidParams || data.Path != path {
			t.Errorf("%s: %+v", options, data)
		}
	}
}
