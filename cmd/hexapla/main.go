// Command hexapla gives an AI code assistant a memory in six layers. An editor
// starts `hexapla serve` as a child process and speaks JSON-RPC with it; the
// other commands are for people: they measure, look things up and explain.
//
// The commands are thin. What they show comes from a server that they start as
// a child of their own, over the same protocol that an editor uses. Nothing
// here calls a model or uses the network.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"hexapla/rpc/daemon"
)

// version of the program. rpc/wire has the version of the protocol.
const version = "0.1.0"

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // the command was understood and failed
	exitUsage   = 2 // the command line was not understood
)

func main() { os.Exit(main1(os.Args[1:], nil)) }

// main1 is the whole program except for the end of the process: it runs one
// command line with the process's standard streams and environment and returns
// the exit code.
func main1(args []string, as *daemon.Release) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	keepPrivate()
	return run(ctx, args, program{
		in: os.Stdin, out: os.Stdout, errs: os.Stderr,
		getenv: os.Getenv, home: os.UserHomeDir, getwd: os.Getwd, self: os.Executable,
		columns: columns, as: as,
	})
}

// program is what a command knows of the process that it runs in.
type program struct {
	in        io.Reader
	out, errs io.Writer
	getenv    func(string) string
	home      func() (string, error) // the user's home folder
	getwd     func() (string, error)
	self      func() (string, error) // path of this program, to start it again as a server
	columns   func(io.Writer) int    // width of a terminal; 0 when w is none
	as        *daemon.Release        // what this program says it is to daemons; the truth when nil
}

// usageError is an error in how a command was called.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// exitError ends a command with a code of its own; what went wrong has been
// said already.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// run runs one command line and returns the exit code.
func run(ctx context.Context, args []string, p program) int {
	root := newRoot(p)
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	err := root.ExecuteContext(ctx)
	var exit exitError
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage):
		fmt.Fprintf(p.errs, "hexapla: %v\nRun 'hexapla --help' for what can be asked.\n", err)
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		fmt.Fprintln(p.errs, "hexapla: interrupted")
		return exitFailure
	}
	fmt.Fprintf(p.errs, "hexapla: %v\n", err)
	return exitFailure
}

func newRoot(p program) *cobra.Command {
	root := &cobra.Command{
		Use:   "hexapla",
		Short: "A memory in six layers for AI code assistants",
		Long: `Hexapla gives an AI code assistant a memory in six layers. It records the
conversations of a workspace and, before each call of a model, builds a pack:
the context that is worth its tokens, within a budget, the same bytes for the
same inputs.

It never calls a model and never uses the network.`,
		Example: `  hexapla replay testdata/sessions/*.jsonl    what packs would have saved in a recorded session
  hexapla serve                               started by an editor: JSON-RPC on standard input and output
  hexapla pack --budget 8000                  the context of the folder's newest session
  hexapla explain --budget 8000               what is in it, what is out, and why
  hexapla receipt                             what was lost when it was folded, and where it is
  hexapla search "torn last line"             conversations of the folder that speak of it
  hexapla stats --since 7d                    what packs saved and what summaries keep
  hexapla changes main.go                     who changed a file, when and what for
  hexapla problems "undefined: newRoot"       where an error was met before and what resolved it
  hexapla clusters                            what its conversations are about, in groups
  hexapla import session.jsonl                take a recorded session, or a shared memory, into the folder's
  hexapla secrets scan                        where secrets stand in what was recorded
  hexapla forget c12 --yes                    take a conversation out, to the last byte
  hexapla adopt                               which folders have a memory, and moving it`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.errs)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().String("data-dir", "", "folder of the stores (default: $HEXAPLA_DATA_DIR, else the user's data folder)")
	root.PersistentFlags().Bool(forceFlag, false, "use the data folder wherever it lies")
	root.AddCommand(newServe(p), newReplay(p), newEval(p), newPack(p), newExplain(p), newReceipt(p), newSearch(p), newClusters(p), newStats(p), newTiers(p), newChanges(p), newProblems(p), newLimits(p), newDaemon(p), newSecrets(p), newForget(p), newAdopt(p), newDoctor(p), newVerify(p), newRepair(p), newBackup(p), newRestore(p), newExport(p), newImport(p), newShare(p), newCompact(p), newVersion(p))
	return root
}

// arguments wraps a check of positional arguments so that its error is a usage
// error.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
