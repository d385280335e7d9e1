package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newClusters(p program) *cobra.Command {
	var folder folderFlags
	var limit, members int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "clusters",
		Short: "Show what the folder's conversations are about, in groups",
		Long: `Clusters groups the newest 2,000 conversations of a folder by the words, files
and functions that they have in common, largest group first. Each has a label,
the kind of work that most of its conversations are (bug investigation,
refactoring, feature development or learning), its tokens, its days, and its
conversations, those in the middle of it first: id, nearness to the others, kind
and topic.`,
		Example: `  hexapla clusters
  hexapla clusters --limit 5 --members 10
  hexapla clusters --json | jq '.clusters[].label'`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 200 {
				return usageError{fmt.Errorf("--limit %d: must be 1 to 200", limit)}
			}
			if members < 0 {
				return usageError{fmt.Errorf("--members %d: must not be negative", members)}
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				var result wire.ClusterListResult
				if err := s.Call(ctx, wire.MethodClusterList, wire.ClusterListParams{Session: session, Limit: limit}, &result); err != nil {
					return fmt.Errorf("list clusters: %w", err)
				}
				if asJSON {
					return indent(p.out, result)
				}
				writeClusters(p.out, &result, members)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().IntVar(&limit, "limit", 20, "most `clusters` to print, 1 to 200")
	cmd.Flags().IntVar(&members, "members", 5, "most `conversations` of a cluster to print")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}

// kindOfWork is a kind of work for people.
func kindOfWork(kind string) string {
	switch kind {
	case "bugInvestigation":
		return "bug investigation"
	case "featureDevelopment":
		return "feature development"
	}
	return kind
}

// writeClusters writes clusters for people, with some members of each.
func writeClusters(w io.Writer, r *wire.ClusterListResult, members int) {
	looked := plural(r.Conversations, "conversation")
	if r.Limited {
		looked = "the newest " + looked
	}
	fmt.Fprintf(w, "%s: %s, %d alone\n", looked, plural(r.Total, "cluster"), r.Single)
	for _, c := range r.Clusters {
		fmt.Fprintf(w, "\n%s\n  %s; %s, %s tokens%s\n", c.Label, kindOfWork(c.Kind), plural(len(c.Members), "conversation"), thousands(int64(c.Tokens)), days(c.First, c.Last))
		rows := [][]string{}
		for _, m := range c.Members[:min(len(c.Members), members)] {
			rows = append(rows, []string{m.Conversation, fmt.Sprintf("%.2f", m.Score), kindOfWork(m.Kind), m.Topic})
		}
		var widths [3]int
		for _, row := range rows {
			for i := range widths {
				widths[i] = max(widths[i], len(row[i]))
			}
		}
		for _, row := range rows {
			fmt.Fprintf(w, "    %-*s  %*s  %-*s  %s\n", widths[0], row[0], widths[1], row[1], widths[2], row[2], row[3])
		}
		if more := len(c.Members) - len(rows); more > 0 {
			fmt.Fprintf(w, "    and %d more\n", more)
		}
	}
	if more := r.Total - len(r.Clusters); more > 0 {
		fmt.Fprintf(w, "\nand %s more\n", plural(more, "cluster"))
	}
}

// days tells from which day to which something goes; nothing if it is not known.
func days(first, last string) string {
	from, _, _ := strings.Cut(first, "T")
	to, _, _ := strings.Cut(last, "T")
	switch {
	case from == "":
		return ""
	case from == to:
		return ", " + from
	}
	return ", " + from + " to " + to
}
