package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hexapla/internal/shareddata"
	"hexapla/internal/transcript"
	"hexapla/layers"
	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// TestStablePrefix is the law of stable prefixes over a recorded session: from
// one model call to the next, a pack keeps what the one before said would stay,
// unless the epoch changed.
func TestStablePrefix(t *testing.T) {
	t.Parallel()
	seen := checkStablePrefix(t, sessionFile(t, claudeSession), 60, 0, 3000, 8000, 30_000)
	if seen.calls < 50 || seen.kept == 0 || seen.folds == 0 || seen.fills == 0 {
		t.Errorf("the recording shows too little: %+v", seen)
	}
}

// TestStablePrefixOfSharedSessions is the same law over the recorded sessions
// beside the repository, the first HEXAPLA_PREFIX_CALLS model calls of each.
func TestStablePrefixOfSharedSessions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(shareddata.Dir(t), "claude-code", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			checkStablePrefix(t, file, rounds(t, "HEXAPLA_PREFIX_CALLS", 8), 5000)
		})
	}
}

// prefixesSeen counts what a recording brought about.
type prefixesSeen struct{ calls, kept, folds, fills int }

// prefixCase is one way of asking for packs, through all of a recording.
type prefixCase struct {
	layout string
	total  int // 0 means the smallest that works
	fill   bool
	before *wire.Pack
}

// checkStablePrefix checks the law over the first so many model calls of a
// recording, for packs of each total.
func checkStablePrefix(t *testing.T, file string, calls int, totals ...int) (seen prefixesSeen) {
	t.Helper()
	source, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	_, messages, _, err := transcript.ReadAll(file, source)
	if err != nil {
		t.Skip(err) // another program's recording
	}
	c := startChild(t, t.TempDir())
	defer c.stop()
	call[wire.SessionOpenResult](c, wire.MethodSessionOpen, wire.SessionOpenParams{Workspace: wire.Workspace{URI: testWorkspace}, Session: "s"})
	feeder := &feeder{to: &server{c.Client}, id: "s"}
	var cases []*prefixCase
	for _, layout := range []string{"stable-prefix", "narrative-first"} {
		for _, total := range totals {
			cases = append(cases, &prefixCase{layout: layout, total: total})
		}
		cases = append(cases, &prefixCase{layout: layout, total: 8000, fill: true})
	}
	for _, m := range messages {
		if seen.calls == calls {
			break
		}
		if m.Role == layers.RoleAssistant && feeder.conversations > 0 {
			seen.calls++
			for _, one := range cases {
				one.next(c, &seen)
			}
		}
		if err := feeder.feed(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return seen
}

// next builds the next pack of a case and compares it with the one before.
func (p *prefixCase) next(c *child, seen *prefixesSeen) {
	c.t.Helper()
	pack, ok := p.build(c)
	if !ok {
		p.before = nil // what must be in it is larger than the budget for now
		return
	}
	before := p.before
	p.before = &pack
	if before == nil {
		return
	}
	switch { // a pack that fills its budget claims what stays whatever comes
	case p.fill:
		seen.fills++
	case before.Epoch != pack.Epoch:
		seen.folds++
		return
	}
	claim, common := before.StablePrefixBytes, commonPrefix(before.Text, pack.Text)
	if common*100 < claim*95 {
		c.t.Errorf("call %d, %s of %d, fill %v: the pack before claims %d bytes, of which %d stay; sequence %d to %d, epoch %d to %d (%s):\n…%q\n…%q",
			seen.calls, p.layout, p.total, p.fill, claim, common, before.Sequence, pack.Sequence, before.Epoch, pack.Epoch, pack.EpochReason,
			around(before.Text, common), around(pack.Text, common))
	}
	if p.fill && claim != len(pack.Branches.SystemPrompt) {
		c.t.Errorf("call %d, %s of %d, fill %v: claims %d bytes; its system branch has %d", seen.calls, p.layout, p.total, p.fill, claim, len(pack.Branches.SystemPrompt))
	}
	seen.kept++
}

func around(text string, at int) string {
	return text[max(0, at-60):min(len(text), at+60)]
}

func (p *prefixCase) build(c *child) (pack wire.Pack, ok bool) {
	c.t.Helper()
	params := packParams(p.total, nil, p.layout)
	params.Fill = p.fill
	var result wire.PackBuildResult
	var remote *rpc.Error
	if p.total == 0 {
		params.Budget.Total = 1
		err := c.Call(c.t.Context(), wire.MethodPackBuild, params, &result)
		if !asRemote(err, &remote) || remote.Kind() != wire.KindBudgetTooSmall {
			c.t.Fatalf("a budget of 1: %v", err)
		}
		params.Budget.Total = int(remote.Data.SmallestTotal)
	}
	switch err := c.Call(c.t.Context(), wire.MethodPackBuild, params, &result); {
	case errors.As(err, &remote) && remote.Kind() == wire.KindBudgetTooSmall:
		return pack, false
	case err != nil:
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(result.Pack, &pack); err != nil {
		c.t.Fatal(err)
	}
	if pack.StablePrefixBytes != result.Stability.StablePrefixBytes {
		c.t.Errorf("the pack claims %d bytes, its stability %d", pack.StablePrefixBytes, result.Stability.StablePrefixBytes)
	}
	return pack, true
}
