package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"hexapla/rpc"
)

func newServe(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve an editor over standard input and output",
		Long: `Serve speaks JSON-RPC with the framing of the Language Server Protocol on
standard input and output. An editor starts it as a child process; nobody types
into it. It ends when the editor says so, or when its input ends.

Messages for people go to standard error. The exit code is 0 after shutdown and
exit, and when the input ended cleanly.`,
		Example: `  hexapla serve
  hexapla serve --data-dir /srv/hexapla`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := dataDir(cmd, p)
			if err != nil {
				return err
			}
			if p.columns(p.out) > 0 {
				fmt.Fprintln(p.errs, "hexapla: serving JSON-RPC on standard input and output; this command is for editors. Ctrl-D ends it.")
			}
			out := p.out
			if out == os.Stdout {
				if out, err = rpc.ClaimStdout(); err != nil {
					return err
				}
			}
			log := slog.NewTextHandler(p.errs, &slog.HandlerOptions{Level: slog.LevelWarn})
			code := rpc.Serve(cmd.Context(), p.in, out, rpc.Options{
				Backend: rpc.NewBackend(rpc.BackendOptions{DataDir: dir, Log: slog.New(log)}),
				Version: version,
				Log:     log,
			})
			if code != 0 {
				return exitError{code}
			}
			return nil
		},
	}
}
