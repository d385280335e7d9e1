package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"hexapla/rpc/wire"
)

// writeStats prints figures: a line each, with a bar where it is a share.
func writeStats(w io.Writer, params wire.MetricsGetParams, r *wire.MetricsGetResult) {
	t := statsTable{w}
	scope := "all sessions"
	if params.OnlySession {
		scope = "session " + params.Session
	}
	fmt.Fprintf(w, "%s: %s with %s\n", scope, plural(r.Window.Conversations, "conversation"), plural(r.Window.Turns, "turn"))
	if r.Packs == 0 {
		where := "yet: an editor builds one before each call of a model"
		if params.Since != "" || params.Until != "" {
			where = "in this window"
		}
		fmt.Fprintf(w, "no packs %s\n", where)
	} else {
		fmt.Fprintf(w, "%s built%s\n\n", plural(r.Packs, "pack"), span(r.Window))
		t.packs(r)
	}
	fmt.Fprintln(w)
	t.memory(r)
}

// span is when packs were built.
func span(window wire.MetricsWindow) string {
	minute := func(s string) string {
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return s
		}
		return at.UTC().Format("2006-01-02 15:04")
	}
	if window.From == "" {
		return ""
	}
	from, to := minute(window.From), minute(window.To)
	if from == to {
		return " " + from + " UTC"
	}
	return " " + from + " to " + to + " UTC"
}

// statsTable writes lines of three columns.
type statsTable struct{ w io.Writer }

// line writes a figure without a bar.
func (t statsTable) line(name, format string, args ...any) {
	fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf("%-16s %-*s  %s", name, barWidth, "", fmt.Sprintf(format, args...)), " "))
}

// share writes a figure that is a share; what is absent is not known.
func (t statsTable) share(name string, x *float64, format string, args ...any) {
	if x == nil {
		t.line(name, "─")
		return
	}
	fmt.Fprintf(t.w, "%-16s %s  %8s  %s\n", name, bar(int(1000**x+0.5), 1000, 1000), percent(*x), fmt.Sprintf(format, args...))
}

func (t statsTable) packs(r *wire.MetricsGetResult) {
	if k := r.Tokens; k != nil {
		turn := ""
		if k.PerTurn != nil {
			turn = fmt.Sprintf("; %s a turn", equivalents(*k.PerTurn))
		}
		t.line("tokens", "%8s  a pack, of %s with the full history%s", equivalents(k.PerPack), equivalents(k.FullHistoryPerPack), turn)
		if x := r.Reduction; x != nil && *x < 0 {
			t.line("reduction", "%8s  more tokens than the full history", percent(-*x))
		} else {
			t.share("reduction", x, "fewer tokens than the full history")
		}
		t.share("same bytes", r.CachedShare, "of the packs as in the one before")
	}
	if b := r.Billed; b != nil {
		t.share("billed", b.Share, "%s plain input tokens of %s with full history", equivalents(b.Equivalents), equivalents(b.FullHistoryEquivalents))
		if b.Dollars != nil && b.FullHistoryDollars != nil {
			t.line("", "%8s  of %s, by the price list, %s", dollars(*b.Dollars), dollars(*b.FullHistoryDollars), plural(b.PricedPacks, "pack"))
		}
	}
	if l := r.Latency; l != nil {
		t.line("build time", "%8s  p50; p95 %.1f ms, p99 %.1f ms", fmt.Sprintf("%.1f ms", l.P50Ms), l.P95Ms, l.P99Ms)
	}
	within := "no pack over its budget"
	if r.BudgetViolations > 0 {
		within = plural(r.BudgetViolations, "pack") + " OVER BUDGET"
	}
	t.line("forced drops", "%8s  %s", thousands(int64(r.ForcedDrops)), within)
	if r.Unmeasured > 0 {
		t.line("", "%8s  of the packs are of an older program and not measured", thousands(int64(r.Unmeasured)))
	}
}

func (t statsTable) memory(r *wire.MetricsGetResult) {
	if a := r.Retrieval; a == nil {
		t.line("retrieval", "nothing was asked for")
	} else {
		t.share("retrieval", &a.HitRate, "%d of %d served in %s; %d put off, %d not found", a.Served, a.Asked, plural(a.Requests, "request"), a.Deferred, a.NotFound)
		t.share("re-asks", &r.ReAsks.Rate, "%d of %d had been given", r.ReAsks.Count, a.Asked)
	}
	if f := r.Fidelity; f == nil {
		t.line("fidelity", "no conversation was completed")
	} else {
		which := plural(f.Conversations, "conversation")
		if f.Limited {
			which = "the newest " + which
		}
		if f.Overall == nil {
			t.line("fidelity", "nothing to be kept, %s", which)
		} else {
			t.share("fidelity", f.Overall.Share, "of note is kept, %s", which)
		}
		for _, kind := range []struct {
			name  string
			share *wire.FidelityShare
		}{{"identifiers", f.Identifiers}, {"decisions", f.Decisions}, {"errors", f.Errors}, {"commands", f.Commands}} {
			switch k := kind.share; {
			case k == nil:
			case k.Share == nil:
				t.line("  "+kind.name, "%8s  none of note; %s of all %s", "─", percent(k.AllShare), thousands(int64(k.All)))
			default:
				t.share("  "+kind.name, k.Share, "%s of %s of note; %s of all %s", thousands(int64(k.Kept)), thousands(int64(k.Noted)), percent(k.AllShare), thousands(int64(k.All)))
			}
		}
	}
	if d := r.Drift; d == nil {
		t.line("drift", "layer 0 has one version at most")
	} else {
		changes := plural(d.Versions, "change")
		if d.Limited {
			changes = "the newest " + changes
		}
		t.share("drift", &d.Mean, "mean of %s of layer 0; %s at most", changes, percent(d.Max))
	}
}
