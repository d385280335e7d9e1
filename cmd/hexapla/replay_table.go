package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// maxRows is how many calls a table shows unless all are asked for.
const maxRows = 24

// writeFile writes the table of one replay.
func writeFile(w io.Writer, r *fileResult, all bool) {
	fmt.Fprintf(w, "%s\n", r.file)
	counting := "counted exactly by " + r.counter
	if r.estimate {
		counting = "counts are estimates, " + r.counter
	}
	model := r.model
	if model == "" {
		model = "no model named"
	}
	fmt.Fprintf(w, "%s, %s; %s; %s; packs of at most %s tokens\n\n",
		plural(r.conversations, "conversation"), plural(len(r.calls), "model call"), model, counting, thousands(int64(r.budget)))

	fmt.Fprint(w, "tokens of the full history and of the pack; share of the pack that is the same bytes\n"+
		"as the pack before; input as it is billed, history alone, in plain input tokens\n\n")
	rows := [][]string{
		{"call", "conv", "history", "pack", "same", "billed: full", "window", "summary", "pack", "build ms"},
	}
	shown := sample(len(r.calls), maxRows)
	if all {
		shown = sample(len(r.calls), len(r.calls))
	}
	for _, i := range shown {
		c := r.calls[i]
		over := ""
		if c.violation {
			over = " over budget"
		}
		rows = append(rows, []string{
			fmt.Sprint(c.number), fmt.Sprint(c.conversation), thousands(c.history), thousands(int64(c.pack)) + over,
			percent(ratio(float64(c.same), float64(c.bytes))),
			equivalents(c.charges.full.Equivalents()), equivalents(c.charges.window.Equivalents()),
			equivalents(c.charges.summary.Equivalents()), equivalents(c.charges.pack.Equivalents()),
			fmt.Sprintf("%.1f", float64(c.build.Microseconds())/1000),
		})
	}
	rows = append(rows, []string{
		"all", "", thousands(r.full), thousands(r.pack), percent(r.cachedShare()),
		equivalents(r.history.full.Equivalents()), equivalents(r.history.window.Equivalents()),
		equivalents(r.history.summary.Equivalents()), equivalents(r.history.pack.Equivalents()), "",
	})
	writeAligned(w, rows)
	if len(shown) < len(r.calls) {
		fmt.Fprintf(w, "%d of %d calls shown; --calls shows all\n", len(shown), len(r.calls))
	}
	fmt.Fprintln(w)
	source := "none known"
	switch {
	case r.measured:
		source = fmt.Sprintf("%s on every call, by the first call's usage", thousands(int64(r.overhead)))
	case r.overhead > 0:
		source = fmt.Sprintf("%s on every call, as given", thousands(int64(r.overhead)))
	}
	writeTotals(w, r.totals, "system overhead: "+source)
	p := r.prices.Prices
	priced := r.prices.Name
	if !r.known {
		priced = "an unknown model, taken as the table's default"
	}
	if r.estimate || r.factor != 1 {
		fmt.Fprintf(w, "one counted token is %.2f of the provider's, by the usage of the calls or the table's default; bills are in the provider's\n", r.factor)
	}
	fmt.Fprintf(w, "prices of %s, US dollars per million: input %.2f, cache write %.2f, cache read %.2f\n", priced, p.Input, p.CacheWrite, p.CacheRead)
}

// writeTotal writes the sums over several files.
func writeTotal(w io.Writer, t totals, files int) {
	fmt.Fprintf(w, "all %d files: %s, %s, %s tokens of history, %s of packs, %s of them as before\n\n", files,
		plural(t.conversations, "conversation"), plural(len(t.calls), "model call"), thousands(t.full), thousands(t.pack), percent(t.cachedShare()))
	writeTotals(w, t, "system overhead of each file as above")
}

// writeTotals writes what was saved, in what unit and against what.
func writeTotals(w io.Writer, t totals, overhead string) {
	rows := [][]string{
		{"billed input, in plain input tokens", "full", "window", "summary", "pack"},
		totalRow("history alone", t.history),
		shareRow("  of the full history", t.history),
		totalRow("with the system overhead", t.billed),
		shareRow("  of the full history", t.billed),
		{"  US dollars", dollars(t.dollars.full), dollars(t.dollars.window), dollars(t.dollars.summary), dollars(t.dollars.pack)},
	}
	writeAligned(w, rows)
	fmt.Fprintln(w)
	fmt.Fprintf(w, "history tokens: %s fewer in packs; %s of all packs are the same bytes as in the one before\n", percent(t.reduction()), percent(t.cachedShare()))
	fmt.Fprintln(w, overhead)
	if t.hasActual {
		fmt.Fprintf(w, "what the provider really billed: %s (%s)\n", equivalents(t.actual.Equivalents()), dollars(t.actualDollars))
	}
	if n := t.needs; n.paths.all+n.identifiers.all > 0 {
		fmt.Fprintf(w, "in view when the next tool call needed them: %s of paths, %s of identifiers (a window of the packs' average size: %s, %s)\n",
			percent(ratio(float64(n.paths.pack), float64(n.paths.all))), percent(ratio(float64(n.identifiers.pack), float64(n.identifiers.all))),
			percent(ratio(float64(n.paths.window), float64(n.paths.all))), percent(ratio(float64(n.identifiers.window), float64(n.identifiers.all))))
	}
	within := "no pack over its budget"
	if t.violations > 0 {
		within = plural(t.violations, "pack") + " OVER BUDGET"
	}
	fmt.Fprintf(w, "build: p50 %.1f ms, p99 %.1f ms; %s; last checksum %s\n", t.latency(0.5), t.latency(0.99), within, short(t.checksum))
}

func totalRow(name string, c charges) []string {
	return []string{name, equivalents(c.full.Equivalents()), equivalents(c.window.Equivalents()), equivalents(c.summary.Equivalents()), equivalents(c.pack.Equivalents())}
}

func shareRow(name string, c charges) []string {
	full := c.full.Equivalents()
	return []string{name, percent(ratio(full, full)), percent(ratio(c.window.Equivalents(), full)),
		percent(ratio(c.summary.Equivalents(), full)), percent(ratio(c.pack.Equivalents(), full))}
}

// sample returns at most most indices below n, evenly spaced, with the first
// and the last.
func sample(n, most int) []int {
	if n <= most {
		most = n
	}
	out := make([]int, 0, most)
	for i := range most {
		at := 0
		if most > 1 {
			at = i * (n - 1) / (most - 1)
		}
		out = append(out, at)
	}
	return out
}

// writeAligned writes rows in columns, the first to the left, numbers to the
// right.
func writeAligned(w io.Writer, rows [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	first := 0
	for _, row := range rows {
		first = max(first, utf8.RuneCountInString(row[0]))
	}
	for _, row := range rows {
		pad := strings.Repeat(" ", first-utf8.RuneCountInString(row[0]))
		fmt.Fprintf(tw, "%s%s\t%s\t\n", row[0], pad, strings.Join(row[1:], "\t"))
	}
	_ = tw.Flush() // an error of w shows at the next write
}

// thousands groups digits: 1,234,567.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func equivalents(x float64) string { return thousands(int64(x + 0.5)) }

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }

func dollars(x float64) string { return fmt.Sprintf("$%.2f", x) }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", thousands(int64(n)), what)
}

func short(checksum string) string {
	if len(checksum) > 16 {
		return checksum[:16]
	}
	return checksum
}
