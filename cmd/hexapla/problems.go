package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

// maxProblemText is how many bytes of standard input are looked at.
const maxProblemText = 4 << 20

func newProblems(p program) *cobra.Command {
	var folder folderFlags
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "problems ERROR...",
		Short: "Look an error up: where it was met before and what resolved it",
		Long: `Problems takes an error message, or an output with errors in it, and shows in
which tool outputs of a folder the same error stands, whatever its numbers,
times and paths, and what resolved it: the command that passed then, the files
that were changed in between, and what the assistant said of it. ERROR is read
from standard input where it is "-"; one that begins with a dash stands behind
"--".`,
		Example: `  hexapla problems "undefined: newRoot"
  hexapla problems -- "--- FAIL: TestFlush"
  go test ./... 2>&1 | hexapla problems -`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > 100 {
				return usageError{fmt.Errorf("--limit %d: must be 1 to 100", limit)}
			}
			text := strings.Join(args, " ")
			if text == "-" {
				all, err := io.ReadAll(io.LimitReader(p.in, maxProblemText))
				if err != nil {
					return fmt.Errorf("look up problems: %w", err)
				}
				text = strings.ToValidUTF8(string(all), "\uFFFD")
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				params := wire.ProblemLookupParams{Session: session, Error: text, Limit: limit}
				var result wire.ProblemLookupResult
				if err := s.Call(ctx, wire.MethodProblemLookup, params, &result); err != nil {
					return fmt.Errorf("look up problems: %w", err)
				}
				if asJSON {
					return indent(p.out, result)
				}
				writeProblems(p.out, &result)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().IntVar(&limit, "limit", 10, "most `problems` to print, 1 to 100")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}

// writeProblems writes problems for people.
func writeProblems(w io.Writer, result *wire.ProblemLookupResult) {
	if len(result.Problems) == 0 {
		fmt.Fprintln(w, "this error was not met before")
	}
	for i := range result.Problems {
		known := &result.Problems[i]
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, known.Pattern)
		var ids []string
		for _, place := range known.Seen[:min(len(known.Seen), 10)] {
			ids = append(ids, place.ID)
		}
		more := ""
		if known.Total > len(ids) {
			more = fmt.Sprintf(" and %d more", known.Total-len(ids))
		}
		fmt.Fprintf(w, "  seen in %s%s\n", strings.Join(ids, ", "), more)
		if len(known.Resolutions) == 0 {
			fmt.Fprintln(w, "  not resolved, as far as is known")
		}
		for k := range known.Resolutions {
			writeResolution(w, &known.Resolutions[k])
		}
	}
}

func writeResolution(w io.Writer, r *wire.Resolution) {
	fmt.Fprintf(w, "  %s was resolved in %s", r.Failed.ID, r.Resolved.ID)
	if r.Command != "" {
		fmt.Fprintf(w, ": %s passed", r.Command)
	}
	fmt.Fprintln(w)
	for i := range r.Changes {
		c := &r.Changes[i]
		line := strings.TrimSpace(fmt.Sprintf("%s %s %s", c.ChangeType, fileShown(c), linesShown(c)))
		if c.Summary != "" {
			line += "  " + c.Summary
		}
		fmt.Fprintf(w, "    %s  %s\n", c.Turn, line)
	}
	if r.Finding != "" {
		fmt.Fprintf(w, "    | %s\n", r.Finding)
	}
}
