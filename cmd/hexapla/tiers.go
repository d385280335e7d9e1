package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"hexapla/rpc/wire"
)

func newTiers(p program) *cobra.Command {
	var folder folderFlags
	var user string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tiers",
		Short: "Show what messages were put into tiers, and what was used of budgets",
		Long: `Tiers lists the newest builds of a client that has its messages put into four
tiers before each model call: how much of the budget was left, which rule that
gave, and the tokens of each tier. Below stands what the session used as far as
the client reported it, and, with --user, the user in this month; limits are the
client's and not known here.

  left    percent of the budget that was left, or that the client gave (!)
  from    tokens of the messages as they came; "to" as they were sent
  1 to 4  tokens of system prompts and what is asked now, of memory items, of files,
          and of the history`,
		Example: `  hexapla tiers
  hexapla tiers --user ann --limit 5
  hexapla tiers --json | jq '.snapshots[0].tiers'`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > 200 {
				return usageError{fmt.Errorf("--limit %d: must be 1 to 200", limit)}
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				params := wire.TiersSnapshotsParams{Session: session, OnlySession: folder.session != "", Limit: limit}
				if cmd.Flags().Changed("user") {
					params.User = &user
				}
				var out struct {
					Snapshots []wire.TierSnapshot     `json:"snapshots"`
					Budget    wire.BudgetStatusResult `json:"budget"`
				}
				var listed wire.TiersSnapshotsResult
				if err := s.Call(ctx, wire.MethodTiersSnapshots, params, &listed); err != nil {
					return fmt.Errorf("list tiers: %w", err)
				}
				if err := s.Call(ctx, wire.MethodBudgetStatus, wire.BudgetStatusParams{Session: session, User: user}, &out.Budget); err != nil {
					return fmt.Errorf("get the budget: %w", err)
				}
				if out.Snapshots = listed.Snapshots; asJSON {
					return indent(p.out, out)
				}
				return writeTiers(p.out, out.Snapshots, &out.Budget, user)
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().StringVar(&user, "user", "", "`name` of the only user to look at")
	cmd.Flags().IntVar(&limit, "limit", 20, "most `builds` to print, 1 to 200")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answers")
	return cmd
}

// writeTiers writes builds for people, the newest first.
func writeTiers(w io.Writer, snapshots []wire.TierSnapshot, budget *wire.BudgetStatusResult, user string) error {
	if len(snapshots) == 0 {
		fmt.Fprintln(w, "no messages were put into tiers")
	} else {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "time\tleft\trule\tfrom\tto\t1\t2\t3\t4\tms\t")
		for i := range snapshots {
			s := &snapshots[i]
			left, rule := "", "not built"
			if c := s.Strategy; c != nil {
				left = fmt.Sprintf("%g", c.BudgetPercent)
				if c.Given {
					left += "!"
				}
				if s.Built {
					rule = c.Range
				}
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t", strings.TrimSuffix(s.Time, "Z"), left, rule, s.OriginalTokens, s.Tokens)
			for _, tier := range s.Tiers {
				fmt.Fprintf(table, "%d\t", tier.Tokens)
			}
			fmt.Fprintf(table, "%.1f\t\n", s.Ms)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	writeSpent(w, "session", &budget.Used)
	if user != "" {
		writeSpent(w, "user in "+budget.Month, &budget.MonthUsed)
	}
	return nil
}

func writeSpent(w io.Writer, what string, s *wire.BudgetSpent) {
	fmt.Fprintf(w, "%s: %d reports, %d tokens in, %d out, $%.2f\n", what, s.Reports, s.InputTokens, s.OutputTokens, float64(s.MicroUSD)/1e6)
}
