package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// compactionLine is the result for one budget as --json prints it. Shares are
// means over the boundaries, 0 to 1.
type compactionLine struct {
	Set        string  `json:"set"`
	Budget     int     `json:"budget"`
	Boundaries int     `json:"boundaries"`
	Share      float64 `json:"share"`
	TailShare  float64 `json:"tailShare"`
}

// means averages one budget's scores over the boundaries.
func means(results []boundaryResult, budget int) (pack, tail, used float64) {
	for _, r := range results {
		pack += r.scores[budget].pack
		tail += r.scores[budget].tail
		used += float64(r.scores[budget].used)
	}
	n := float64(len(results))
	return ratio(pack, n), ratio(tail, n), ratio(used, n)
}

// writeCompactionJSON writes one object a budget, one a line.
func writeCompactionJSON(w io.Writer, budgets []int, results []boundaryResult) error {
	enc := json.NewEncoder(w)
	for i, budget := range budgets {
		pack, tail, _ := means(results, i)
		line := compactionLine{setCompaction, budget, len(results), places(pack), places(tail)}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// writeCompaction writes the table of the budgets and that of the boundaries.
func writeCompaction(w io.Writer, budgets []int, results []boundaryResult) {
	fmt.Fprintf(w, "what the agent needed after it compacted its history, at %s:\n"+
		"share of the identifiers that are in the pack, and in the last tokens of the plain\n"+
		"history, as many as the budget has; mean of the places\n\n", plural(len(results), "place"))
	rows := [][]string{{"budget", "pack", "tail", "tokens of the pack"}}
	for i, budget := range budgets {
		pack, tail, used := means(results, i)
		rows = append(rows, []string{thousands(int64(budget)), percent(pack), percent(tail), equivalents(used)})
	}
	writeAligned(w, rows)
	fmt.Fprintln(w)
	head := []string{"place", "needed"}
	for _, budget := range budgets {
		head = append(head, thousands(int64(budget))+": pack", "tail")
	}
	rows = [][]string{head}
	for _, r := range results {
		row := []string{r.name(), fmt.Sprint(len(r.gold))}
		for _, s := range r.scores {
			row = append(row, percent(s.pack), percent(s.tail))
		}
		rows = append(rows, row)
	}
	writeAligned(w, rows)
}
