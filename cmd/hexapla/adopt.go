package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"hexapla/rpc"
	"hexapla/rpc/wire"
	"hexapla/session"
)

func newAdopt(p program) *cobra.Command {
	var workspace string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "adopt [WORKSPACE]",
		Short: "Give a folder the memory of one that was moved or replaced",
		Long: `Adopt gives a folder the memory of a workspace whose own folder is not there any
more: one that was copied to another disk, cloned anew, or restored from a backup.
A folder that was merely renamed keeps its memory without being asked.

Without WORKSPACE it lists the workspaces of the data folder with their ids. With
the id that the folder has already it stays as it is, and is not asked about again.
What was recorded in the folder until now stays where it is and can be adopted
again. Editors that have the folder open see the change with their next session.`,
		Example: `  hexapla adopt
  hexapla adopt 3f9c2a7be0d14455
  hexapla adopt 3f9c2a7be0d14455 --workspace ~/src/brewlog`,
		Args: arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			dir, err := dataDir(cmd, p)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return p.listWorkspaces(dir, asJSON)
			}
			if dir, err = writableDataDir(cmd, p); err != nil {
				return err
			}
			uri, err := folderURI(p, workspace)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			s, err := startServer(ctx, p, dir, "", "")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.stop(ctx)) }()
			var result wire.WorkspaceAdoptResult
			err = s.Call(ctx, wire.MethodWorkspaceAdopt, wire.WorkspaceAdoptParams{Workspace: wire.Workspace{URI: uri}, From: args[0]}, &result)
			switch {
			case rpc.IsKind(err, wire.KindNotFound):
				return fmt.Errorf("no workspace %s; hexapla adopt lists them", args[0])
			case err != nil:
				return fmt.Errorf("adopt: %w", err)
			case asJSON:
				return json.NewEncoder(p.out).Encode(result)
			case result.Before == result.Workspace:
				fmt.Fprintf(p.out, "%s keeps workspace %s\n", uri, result.Workspace)
				return nil
			}
			fmt.Fprintf(p.out, "%s has workspace %s now; it had %s\n", uri, result.Workspace, result.Before)
			return nil
		},
	}
	cmd.Flags().StringVar(&workspace, "workspace", "", "`folder` that gets the memory (default: the current one)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// listWorkspaces prints the workspaces of a data folder.
func (p program) listWorkspaces(dir string, asJSON bool) error {
	known, err := session.KnownWorkspaces(dir)
	if err != nil {
		return err
	}
	if asJSON {
		type row struct {
			Workspace string `json:"workspace"`
			URI       string `json:"uri"`
			State     string `json:"state"`
			Seen      string `json:"seen"`
		}
		rows := []row{}
		for _, k := range known {
			rows = append(rows, row{k.ID, k.URI, string(k.State), day(k.Seen)})
		}
		return json.NewEncoder(p.out).Encode(map[string]any{"workspaces": rows})
	}
	if len(known) == 0 {
		fmt.Fprintln(p.out, "no workspaces yet")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WORKSPACE\tFOLDER\tLAST OPENED\tSTATE")
	for _, k := range known {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.ID, k.URI, day(k.Seen), k.State)
	}
	return w.Flush()
}

func day(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }
