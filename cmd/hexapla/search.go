package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newSearch(p program) *cobra.Command {
	var folder folderFlags
	var kind string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Find conversations by words, paths, identifiers or an error message",
		Long: `Search finds what was said in a folder: conversations, single turns, or tool
outputs. Each hit shows its score and what it is made of, weighted: the words of
the record, of what stands around it and of its conversation, nearness in time,
files and functions in common, the same error, how often it was come back to, and
how useful it proved.`,
		Example: `  hexapla search torn last line
  hexapla search --kind output --limit 3 "undefined: newRoot"`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch kind {
			case "conversation", "turn", "output":
			default:
				return usageError{fmt.Errorf("--kind %q: must be conversation, turn or output", kind)}
			}
			if limit < 1 || limit > 100 {
				return usageError{fmt.Errorf("--limit %d: must be 1 to 100", limit)}
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				params := wire.SearchQueryParams{Session: session, Query: strings.Join(args, " "), Kind: kind, Limit: limit}
				var found wire.SearchQueryResult
				if err := s.Call(ctx, wire.MethodSearchQuery, params, &found); err != nil {
					return fmt.Errorf("search: %w", err)
				}
				if asJSON {
					return indent(p.out, found)
				}
				writeHits(p.out, found)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().StringVar(&kind, "kind", "conversation", "what to find: conversation, turn or output")
	cmd.Flags().IntVar(&limit, "limit", 10, "most `hits` to print, 1 to 100")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}

// writeHits writes hits for people, best first.
func writeHits(w io.Writer, found wire.SearchQueryResult) {
	if len(found.Hits) == 0 {
		fmt.Fprintln(w, "nothing found")
	}
	for i, hit := range found.Hits {
		if i > 0 {
			fmt.Fprintln(w)
		}
		id := hit.Conversation
		if hit.Turn > 0 {
			id = fmt.Sprintf("%s#%d", id, hit.Turn)
		}
		when, _, _ := strings.Cut(hit.Header.Timestamp, "T")
		fmt.Fprintf(w, "%s  %s  %s  %s\n", id, when, hit.Header.Outcome, hit.Header.Topic)
		p := hit.Parts
		fmt.Fprintf(w, "  score %.3f: words %.3f, passage %.3f, conversation %.3f, time %.3f, entities %.3f, errors %.3f, come back to %.3f, useful %.3f\n",
			hit.Score, p.Lexical, p.Passage, p.Conversation, p.Temporal, p.Entities, p.Errors, p.Visits, p.Usefulness)
		if hit.Blob != nil {
			fmt.Fprintf(w, "  output %s, %s bytes\n", short(hit.Blob.SHA256), thousands(hit.Blob.Size))
		}
		for line := range strings.Lines(strings.TrimSpace(hit.Snippet)) {
			fmt.Fprintf(w, "  | %s\n", strings.TrimRight(line, "\r\n"))
		}
	}
	if found.Degraded {
		fmt.Fprintln(w, "\nThe search index is being rebuilt; more may be found later.")
	}
}
