package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"hexapla/layers"
	"hexapla/layers/rendering"
	"hexapla/rpc/wire"
)

func newPack(p program) *cobra.Command {
	var folder folderFlags
	var budget int
	var asOf momentFlag
	var model, layout, render string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "pack",
		Short: "Print the context that the next model call would get",
		Long: `Pack builds the context for the next model call in a folder and prints its
text. The same memory, budget and settings give the same bytes. With --render it
prints that part of a provider's request that carries the context. FORMAT is one of
` + formats() + `.
With --json it prints the whole answer of the server: the sections with their
items and tokens, what was left out and why, and the checksum.`,
		Example: `  hexapla pack --budget 8000
  hexapla pack --render anthropic-messages | jq .messages
  hexapla pack --as-of 2026-01-31T12:00:00Z
  hexapla pack --workspace ~/src/app --json | jq .pack.dropped`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if budget <= 0 {
				return usageError{fmt.Errorf("--budget %d: must be positive", budget)}
			}
			if layout != string(layers.LayoutStablePrefix) && layout != string(layers.LayoutNarrativeFirst) {
				return usageError{fmt.Errorf("--layout %q: must be %s or %s", layout, layers.LayoutStablePrefix, layers.LayoutNarrativeFirst)}
			}
			if render != "" && !rendering.Format(render).Valid() {
				return usageError{fmt.Errorf("--render %q: must be one of %s", render, formats())}
			}
			return withSession(cmd, p, folder, func(ctx context.Context, s *server, session string) error {
				params := wire.PackBuildParams{Session: session, Budget: wire.Budget{Total: budget}, Model: model, Layout: layout, Render: render, AsOf: asOf.value}
				var built wire.PackBuildResult
				if err := s.Call(ctx, wire.MethodPackBuild, params, &built); err != nil {
					return fmt.Errorf("build pack: %w", err)
				}
				if asJSON {
					return indent(p.out, built)
				}
				if built.Rendering != nil && render != string(rendering.Text) {
					_, err := fmt.Fprintf(p.out, "%s\n", built.Rendering.Body)
					return err
				}
				var pack wire.Pack
				if err := json.Unmarshal(built.Pack, &pack); err != nil {
					return fmt.Errorf("build pack: %w", err)
				}
				_, err := io.WriteString(p.out, pack.Text)
				return err
			})
		},
	}
	folder.add(cmd)
	cmd.Flags().Var(&asOf, "as-of", "`moment` to look back to: a sequence number, or a time such as 2026-01-31T12:00:00Z")
	cmd.Flags().IntVar(&budget, "budget", 8000, "`tokens` that the pack may use")
	cmd.Flags().StringVar(&model, "model", "", "`model` that counts tokens (default: the session's)")
	cmd.Flags().StringVar(&layout, "layout", string(layers.LayoutStablePrefix), "order of the sections: stable-prefix or narrative-first")
	cmd.Flags().StringVar(&render, "render", "", "shape of the request of a provider, in this `format`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the server's answer")
	return cmd
}

// formats lists the formats of renderings.
func formats() string {
	var names []string
	for _, format := range rendering.Formats() {
		names = append(names, string(format))
	}
	return strings.Join(names, ", ")
}

// indent prints a value as indented JSON.
func indent(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
