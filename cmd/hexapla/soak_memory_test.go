//go:build linux

package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"hexapla/rpc/wire"
)

// soakPhase is an environment variable: how many appends each phase of
// TestSoak_Memory has.
const soakPhase = "SOAK_PHASE_APPENDS"

// TestSoak_Memory: a daemon that does the same work again and again, in workspaces
// that are new each time and closed after, holds as much memory behind each phase
// as behind the one before. What is measured is what the collector leaves, and
// what the process has of the system when it has given back what it can; per
// operation and not per hour, so that it says the same on any machine. A phase is
// the day's mixture: 200,000 appends, 50,000 packs and 2,000 restarts of editors.
// The same in one workspace, which is opened again and again and grows, is only told.
func TestSoak_Memory(t *testing.T) {
	t.Parallel()
	appends := rounds(t, soakPhase, 10)
	// With few appends a phase the figures for an hour are noise, and not tested.
	warm, phases := 2, 10
	enough := appends >= 200
	if !enough {
		warm, phases = 1, 3
	}
	p := newPost(t)
	path := p.run + "/heap"
	p.env = append(p.env, heapFile+"="+path)
	keeper := p.open("file:///projects/keeper", "keeper") // the daemon stays
	pid := p.daemons()[0]
	if enough {
		fill(keeper)
	}
	work := func(windows []*window, uris []string, phase int) {
		for i := range appends {
			k := i % len(windows)
			w := windows[k]
			if _, err := w.record(fmt.Sprintf("The test of internal/part%d/reader.go fails in %s, please look why.", i%40, item(phase, i)), ""); err != nil {
				t.Fatalf("append %d: %v", i, err)
			}
			if i%4 == 3 {
				if err := w.Call(w.ctx(), wire.MethodPackBuild, wire.PackBuildParams{Session: w.session, Budget: wire.Budget{Total: 8000}}, nil); err != nil {
					t.Fatalf("pack at %d: %v", i, err)
				}
			}
			if i%100 == 99 {
				w.leave()
				windows[k] = p.open(uris[k%len(uris)], fmt.Sprint("s", k))
			}
		}
	}
	measured := func(uris func(phase int) []string, from int) (live, resident []float64, files, goroutines [2]int) {
		for phase := range warm + phases {
			at := uris(phase)
			windows := []*window{p.open(at[0], "s0"), p.open(at[len(at)-1], "s1"), p.open(at[0], "s2")}
			work(windows, at, from+phase)
			for _, w := range windows {
				w.leave()
			}
			p.until("the keeper's workspace alone is open", func() bool {
				status, err := p.client().Status(t.Context())
				return err == nil && status.Workspaces == 1
			})
			state := p.heap(pid, path)
			if phase < warm {
				continue
			}
			live = append(live, float64(state.Live)/(1<<20))
			resident = append(resident, anonymous(t, pid))
			which := min(phase-warm, 1)
			files[which], goroutines[which] = descriptors(t, pid), state.Goroutines
		}
		return live, resident, files, goroutines
	}
	const perHour = float64(soakAppends) / soakHours
	say := func(what string, values []float64) (slope, deviation float64) {
		slope, deviation = trendOf(values)
		slope, deviation = slope/float64(appends), deviation/float64(appends) // by append
		t.Logf("%s %.2f MiB: %+.4f ± %.4f MiB per 1,000 appends, %+.2f ± %.2f MiB per simulated hour",
			what, values, slope*1000, deviation*1000, slope*perHour, deviation*perHour)
		return slope * perHour, deviation * perHour
	}
	live, resident, files, goroutines := measured(func(phase int) []string {
		return []string{fmt.Sprintf("file:///projects/one%d", phase), fmt.Sprintf("file:///projects/two%d", phase)}
	}, 0)
	t.Logf("%d phases of %d appends in workspaces of their own; files %v, goroutines %v", phases, appends, files, goroutines)
	heapGrows, heapMay := say("live heap", live)
	pagesGrow, pagesMay := say("pages", resident)
	if enough {
		if heapGrows-2*heapMay > 1 {
			t.Errorf("the heap grows by %.2f ± %.2f MiB an hour", heapGrows, heapMay)
		}
		// Pages come and go by some MiB for longer than a short phase.
		if appends >= 2000 && pagesGrow-2*pagesMay > 1 {
			t.Errorf("the process grows by %.2f ± %.2f MiB an hour", pagesGrow, pagesMay)
		}
	}
	if first, last := resident[0], resident[len(resident)-1]; last > first+8 {
		t.Errorf("the process had %.2f MiB and has %.2f", first, last)
	}
	if last := live[len(live)-1]; last > live[0]+1 {
		t.Errorf("the heap was %.2f MiB and is %.2f", live[0], last)
	}
	if files[1] > files[0]+5 || goroutines[1] > goroutines[0]+5 {
		t.Errorf("files %v, goroutines %v", files, goroutines)
	}
	if enough {
		live, resident, _, _ = measured(func(int) []string { return []string{"file:///projects/goes-on"} }, 1000)
		t.Logf("the same in one workspace that is opened again and grows")
		say("live heap", live)
		say("pages", resident)
	}
	keeper.leave()
	p.end()
}

// fill has the daemon count more texts than it remembers the counts of, 16,384: that
// memory grows to its bound, and would look like a leak until then.
func fill(w *window) {
	w.t.Helper()
	for part := range 2 {
		turns := make([]wire.Turn, 9000)
		for i := range turns {
			turns[i] = wire.Turn{Role: "user", Text: strings.Repeat(fmt.Sprintf("text %d of part %d ", i, part), 9)}
		}
		if err := w.Call(w.ctx(), wire.MethodConversationRecord, wire.ConversationRecordParams{Session: w.session, Done: true, Turns: turns}, nil); err != nil {
			w.t.Fatal(err)
		}
	}
}

// trendOf is the least-squares slope of values against their index, and its
// standard error.
func trendOf(values []float64) (slope, deviation float64) {
	n := float64(len(values))
	slope = slopeOf(values)
	var mean, squares, spread float64
	for _, y := range values {
		mean += y / n
	}
	for i, y := range values {
		x := float64(i) - (n-1)/2
		rest := y - mean - slope*x
		squares, spread = squares+rest*rest, spread+x*x
	}
	return slope, math.Sqrt(squares / (n - 2) / spread)
}
