package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hexapla/rpc/wire"
)

// Lines that a receipt shows of each kind unless all are asked for.
const (
	receiptLosses   = 20
	receiptDropped  = 8
	receiptSurvived = 4
)

// writeReceipt prints what a pack lost; all of it fits into 100 columns.
func writeReceipt(w io.Writer, session string, r *wire.PackReceiptResult, all bool) {
	fmt.Fprintf(w, "session %s: pack %s, %s of %s tokens at sequence %s\n", session, short(r.To.Checksum), thousands(int64(r.To.Used)), thousands(int64(r.To.Total)), thousands(r.To.Sequence))
	fmt.Fprintf(w, "against the pack %s, %s of %s tokens at sequence %s\n", short(r.From.Checksum), thousands(int64(r.From.Used)), thousands(int64(r.From.Total)), thousands(r.From.Sequence))
	if !r.From.Match || !r.To.Match {
		fmt.Fprintln(w, "one of them could not be built again as it was; what follows is an approximation")
	}
	if len(r.Losses) == 0 {
		fmt.Fprint(w, "\nNothing was lost.\n")
		return
	}
	out, tokens := 0, 0
	for _, l := range r.Losses {
		if l.To == "none" {
			out++
		}
		tokens += max(l.FromTokens-l.ToTokens, 0)
	}
	fmt.Fprintf(w, "\n%d things are shown in less detail, of those %d not at all; they took %s tokens more\n\n", len(r.Losses), out, thousands(int64(tokens)))
	fmt.Fprintf(w, "  %-12s %9s %9s   %s\n", "facts in it", "survived", "dropped", "█ survived ░ dropped")
	for _, c := range r.Counts {
		sum := c.Survived + c.Dropped
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %-12s %9s %9s   %s", c.Kind, thousands(int64(c.Survived)), thousands(int64(c.Dropped)), bar(c.Survived, sum, sum)), " "))
	}
	for _, survived := range [...]bool{false, true} {
		most, title := receiptDropped, "Dropped: not in the pack any more"
		if survived {
			most, title = receiptSurvived, "Survived: still in the pack"
		}
		if all {
			most = len(r.Facts)
		}
		writeFates(w, title, r, survived, most)
	}
	writeLosses(w, r, all)
}

// writeFates prints the facts that fared one way, by kind.
func writeFates(w io.Writer, title string, r *wire.PackReceiptResult, survived bool, most int) {
	titled := false
	for _, c := range r.Counts {
		n := 0
		for _, fact := range r.Facts {
			if fact.Kind != c.Kind || fact.Survived != survived {
				continue
			}
			if !titled {
				fmt.Fprintf(w, "\n%s\n", title)
				titled = true
			}
			if n++; n > most {
				continue
			}
			where := handle(fact.Handle)
			if survived {
				where = "in " + fact.In
			}
			kind := ""
			if n == 1 {
				kind = fact.Kind
			}
			text := oneLine(fact.Text)
			if room := explainWidth - 17 - utf8.RuneCountInString(where); fact.Kind == "paths" && utf8.RuneCountInString(text) > room {
				runes := []rune(text) // the end of a path tells more
				text = "…" + string(runes[len(runes)-room+1:])
			}
			fmt.Fprintln(w, ended(fmt.Sprintf("  %-12s %s", kind, text), where))
		}
		if n > most {
			fmt.Fprintf(w, "  %-12s and %s more\n", "", thousands(int64(n-most)))
		}
	}
}

// lossRun is a line of the table: neighbours that fared alike.
type lossRun struct {
	wire.Loss
	last string
	n    int
}

// writeLosses prints the things that were lost; neighbours that fared alike are
// one line unless all are asked for.
func writeLosses(w io.Writer, r *wire.PackReceiptResult, all bool) {
	var runs []lossRun
	for _, l := range r.Losses {
		if n := len(runs); n > 0 && !all {
			if run := &runs[n-1]; run.To == l.To && run.From == l.From && run.Reason == l.Reason && run.Section == l.Section && (run.Handle == run.ID) == (l.Handle == l.ID) {
				run.last, run.FromTokens, run.ToTokens = l.ID, run.FromTokens+l.FromTokens, run.ToTokens+l.ToTokens
				run.n++
				continue
			}
		}
		runs = append(runs, lossRun{l, l.ID, 1})
	}
	fmt.Fprintf(w, "\nWhat it was\n  %s\n", lossRow(" ", "what", "was", "is", "tokens", "why", "handle"))
	for i, run := range runs {
		if i == receiptLosses && !all {
			fmt.Fprintf(w, "    and %s more lines\n", thousands(int64(len(runs)-i)))
			break
		}
		id, where := run.ID, handle(run.Handle)
		if run.n > 1 {
			times := fmt.Sprintf(" ×%d", run.n)
			id = cut(run.ID+" … "+run.last, idWidth+4-utf8.RuneCountInString(times)) + times
			if run.Handle == run.ID {
				where = "each its own"
			}
		}
		mark := "◐"
		if run.To == "none" {
			mark = "○"
		}
		tokens := thousands(int64(run.FromTokens)) + " → " + thousands(int64(run.ToTokens))
		fmt.Fprintf(w, "  %s\n", lossRow(mark, cut(id, idWidth+4), run.From, run.To, tokens, run.Reason, where))
	}
}

func lossRow(mark, id, from, to, tokens, reason, where string) string {
	return strings.TrimRight(fmt.Sprintf("%s %-*s %-8s %-8s %17s  %-9s %s", mark, idWidth+4, id, from, to, tokens, reason, where), " ")
}

// writeUndone prints what an undo did.
func writeUndone(w io.Writer, checksum string, r *wire.PackUndoResult) {
	state := "built again, byte for byte"
	if !r.Match {
		state = "built again, but not as it was: " + short(r.Rebuilt)
	}
	fmt.Fprintf(w, "undone: pack %s\nthe pack before, %s, was %s\n", short(checksum), short(r.Previous), state)
	tokens := 0
	for _, item := range r.Restored {
		tokens += item.Tokens
	}
	fmt.Fprintf(w, "\n%d things stand at the end of the next pack, %s tokens\n", len(r.Restored), thousands(int64(tokens)))
	for _, item := range r.Restored {
		part := ""
		if !item.Whole {
			part = ", a part"
		}
		fmt.Fprintln(w, ended("  ● "+item.ID, fmt.Sprintf("%s tokens, %s%s", thousands(int64(item.Tokens)), item.Detail, part)))
	}
	reasons := []struct{ reason, text string }{
		{"budget", "no room left; --max-tokens gives more"},
		{"limit", "too many at once"},
		{"served", "served already"},
		{"pack_only", "only in the pack before: hexapla receipt --json has its checksum"},
	}
	for _, reason := range reasons {
		var ids []string
		for _, item := range r.NotRestored {
			if item.Reason == reason.reason {
				ids = append(ids, item.ID)
			}
		}
		if len(ids) > 0 {
			fmt.Fprintln(w, ended(cut(fmt.Sprintf("  ○ %d: %s", len(ids), strings.Join(ids, ", ")), 60), reason.text))
		}
	}
	if len(r.Unarchived) > 0 {
		fmt.Fprintln(w, cut("not archived any more: "+strings.Join(r.Unarchived, ", "), explainWidth))
	}
}

// ended is a line of explainWidth columns with a note at its end.
func ended(text, note string) string {
	room := explainWidth - utf8.RuneCountInString(note) - 2
	return fmt.Sprintf("%-*s  %s", room, cut(text, room), note)
}

// handle shortens a handle that is a checksum.
func handle(h string) string {
	if len(h) == 64 {
		return "pack " + short(h)
	}
	return h
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
