package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"hexapla/layers"
	"hexapla/rpc/wire"
)

func newExplain(p program) *cobra.Command {
	var folder folderFlags
	var budget int
	var asOf momentFlag
	var model, layout string
	var fill, entersAt, all, asJSON bool
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Show what the next model call would get, what not, and why",
		Long: `Explain builds the same pack as "hexapla pack" and shows it by layer: everything
that is in it and everything that could have been. Each line has:

  a mark     ● in the pack in full, ◐ in less detail, ○ out; with --all, ─ for
             what stands for other things when none of these is out
  a bar      tokens: dark is in the pack, light is not; a full bar is the largest
             line of its layer
  tokens     in the pack, of those in full, and the detail
  what       its id; neighbours that fared alike are one line, --all shows each
  budget     the smallest total that shows it in any detail, all else being equal;
             with a +, the smallest for one of several
  why        budget   there was no room        rollup   told together with others
             archive  the model let it go      window   layer 1 or 3 has moved on
             → c12    what stands in its place

Nothing is recorded, and the next pack is what it would have been.`,
		Example: `  hexapla explain --budget 8000
  hexapla explain --budget 3000 --all
  hexapla explain --json | jq '.candidates[] | select(.detail == "none") | .id'`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if budget <= 0 {
				return usageError{fmt.Errorf("--budget %d: must be positive", budget)}
			}
			if layout != string(layers.LayoutStablePrefix) && layout != string(layers.LayoutNarrativeFirst) {
				return usageError{fmt.Errorf("--layout %q: must be %s or %s", layout, layers.LayoutStablePrefix, layers.LayoutNarrativeFirst)}
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				params := wire.PackExplainParams{EntersAt: &entersAt, PackBuildParams: wire.PackBuildParams{
					Session: session, Budget: wire.Budget{Total: budget}, Model: model, Layout: layout, Fill: fill, AsOf: asOf.value,
				}}
				var result wire.PackExplainResult
				if err := s.Call(ctx, wire.MethodPackExplain, params, &result); err != nil {
					return fmt.Errorf("explain pack: %w", err)
				}
				if asJSON {
					return indent(p.out, result)
				}
				writeExplained(p.out, session, &result, all)
				return nil
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().Var(&asOf, "as-of", "`moment` to look back to: a sequence number, or a time such as 2026-01-31T12:00:00Z")
	cmd.Flags().IntVar(&budget, "budget", 8000, "`tokens` that the pack may use")
	cmd.Flags().StringVar(&model, "model", "", "`model` that counts tokens (default: the session's)")
	cmd.Flags().StringVar(&layout, "layout", string(layers.LayoutStablePrefix), "order of the sections: stable-prefix or narrative-first")
	cmd.Flags().BoolVar(&fill, "fill", false, "fill the budget, as if no pack before were in a provider's cache")
	cmd.Flags().BoolVar(&entersAt, "enters-at", true, "find the smallest budgets that would show things; false is faster")
	cmd.Flags().BoolVar(&all, "all", false, "a line for each thing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}
