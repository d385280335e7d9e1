package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newChanges(p program) *cobra.Command {
	var folder folderFlags
	var conversation, since string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "changes [FILE]",
		Short: "Show which files were changed, when, in which conversation and by whom",
		Long: `Changes lists what tool calls did to the files of a folder, newest first, over
all of its sessions: the kind of change, lines that came and went where the call
tells, the turn, the session with its agent and model, and what it was for. Calls
that failed are left out. What only a model said of is marked "said".

FILE is a path or the end of one. TIME is as for hexapla stats, and goes by the
times that clients claim.`,
		Example: `  hexapla changes
  hexapla changes session/pack.go --since 7d
  hexapla changes --conversation c12 --json | jq -r '.changes[].file'`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			params := wire.ChangeListParams{Conversation: conversation, Limit: limit}
			if limit < 1 || limit > 500 {
				return usageError{fmt.Errorf("--limit %d: must be 1 to 500", limit)}
			}
			from, err := moment(since, false, time.Now())
			if err != nil {
				return usageError{fmt.Errorf("--since %q: %w", since, err)}
			}
			if since != "" {
				params.Since = from.UTC().Format(time.RFC3339Nano)
			}
			if len(args) > 0 {
				params.File = args[0]
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				params.Session = session
				var result wire.ChangeListResult
				if err := s.Call(ctx, wire.MethodChangeList, params, &result); err != nil {
					return fmt.Errorf("list changes: %w", err)
				}
				if asJSON {
					return indent(p.out, result)
				}
				writeChanges(p.out, &result)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().StringVar(&conversation, "conversation", "", "`id` of the only conversation to look at (default: all)")
	cmd.Flags().StringVar(&since, "since", "", "`time` of the oldest change")
	cmd.Flags().IntVar(&limit, "limit", 50, "most `changes` to print, 1 to 500")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}

// writeChanges writes changes for people, newest first.
func writeChanges(w io.Writer, result *wire.ChangeListResult) {
	if len(result.Changes) == 0 {
		fmt.Fprintln(w, "nothing was changed")
		return
	}
	rows := [][]string{{"when", "turn", "change", "lines", "file", "by"}}
	var notes []string
	for i := range result.Changes {
		c := &result.Changes[i]
		rows = append(rows, []string{dayAndTime(c.Time), c.Turn, c.ChangeType, linesShown(c), fileShown(c), authorShown(c)})
		note := c.Summary
		if c.Source == "housekeeping" {
			note = strings.TrimSpace("said: " + note)
		}
		notes = append(notes, note)
	}
	var table strings.Builder
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	_ = tw.Flush() // a builder takes everything
	lines := strings.Split(strings.TrimRight(table.String(), "\n"), "\n")
	for i, line := range lines {
		fmt.Fprintln(w, strings.TrimRight(line, " "))
		if i > 0 && notes[i-1] != "" {
			fmt.Fprintf(w, "    %s\n", notes[i-1])
		}
	}
	if result.Cursor != "" {
		fmt.Fprintln(w, "\nThere are older ones; --limit shows more.")
	}
	if result.Derived {
		fmt.Fprintln(w, "\nConversations that an older program recorded were read anew, the newest 200 of them.")
	}
}

// dayAndTime is a time of the wire to the minute, in UTC.
func dayAndTime(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04")
}

func fileShown(c *wire.FileChange) string {
	if c.From != "" {
		return c.From + " → " + c.File
	}
	return c.File
}

func linesShown(c *wire.FileChange) string {
	if c.Added == nil || c.Removed == nil {
		return ""
	}
	return fmt.Sprintf("+%d -%d", *c.Added, *c.Removed)
}

func authorShown(c *wire.FileChange) string {
	by := c.By.Session
	if more := strings.TrimSpace(c.By.Agent + " " + c.By.Model); more != "" {
		by += " (" + more + ")"
	}
	return by
}
