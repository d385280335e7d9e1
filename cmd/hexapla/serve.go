package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hexapla/rpc"
	"hexapla/rpc/daemon"
	"hexapla/rpc/wire"
)

// Ways of serving.
const (
	daemonAuto     = "auto"     // through the daemon, in this process when there can be none
	daemonOn       = "on"       // through the daemon or not at all
	daemonOff      = "off"      // in this process
	daemonExisting = "existing" // through the daemon if one runs, else in this process
)

func newServe(p program) *cobra.Command {
	var mode string
	var idle, silence time.Duration
	var fixedKeys bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve an editor over standard input and output",
		Long: `Serve speaks JSON-RPC with the framing of the Language Server Protocol on
standard input and output. An editor starts it as a child process; nobody types
into it. It ends when the editor says so, or when its input ends.

The stores are kept open by a daemon, one for each user and data folder, which
all editors and commands share. Serve passes messages on to it, starts it when
none runs, and sends what was not answered again when it was lost. The daemon
leaves when it had no clients for a while. Where there can be no daemon, serve
keeps the stores open itself, as with --daemon=off, and says so; other processes
are then told that a store is locked. --daemon=on is the daemon or nothing, and
--daemon=existing a daemon that runs already, else this process. HEXAPLA_DAEMON
changes the default, which is auto.

A data folder in a repository, in a folder that a service synchronises, or on a
network file system is refused: it could be published there, and open stores are
damaged. --force-data-dir takes it all the same; one in a repository then gets a
.gitignore that leaves everything out. Of a workspace's files .hexapla.yaml is read,
which can set limits of tokens and nothing else, and those that messages refer to
where a client has them put into tiers: nothing that is checked in changes what is
stored, where, or what is kept out of it.

Messages for people go to standard error. The exit code is 0 after shutdown and
exit, and when the input ended cleanly.`,
		Example: `  hexapla serve
  hexapla serve --data-dir /srv/hexapla
  hexapla serve --daemon=off    the stores in this process, for itself`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if mode == "" {
				mode = p.getenv("HEXAPLA_DAEMON")
			}
			if mode == "" {
				mode = daemonAuto
			}
			if !slices.Contains([]string{daemonAuto, daemonOn, daemonOff, daemonExisting}, mode) {
				return usageError{fmt.Errorf("--daemon %q: must be auto, on, off or existing", mode)}
			}
			dir, err := writableDataDir(cmd, p)
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
			s := serving{program: p, dir: dir, mode: mode, fixedKeys: fixedKeys, idle: idle, silence: silence, log: slog.NewTextHandler(p.errs, &slog.HandlerOptions{Level: slog.LevelWarn})}
			if code := s.run(cmd.Context(), out); code != 0 {
				return exitError{code}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&mode, "daemon", "", "where the stores are open: `auto`, on, off or existing (default auto)")
	cmd.Flags().DurationVar(&idle, "idle", idleTime, "how long a daemon that is started here stays without clients")
	cmd.Flags().DurationVar(&silence, "silence", silenceTime, "how long a daemon that owes an answer may be silent")
	cmd.Flags().BoolVar(&fixedKeys, "fixed-keys", false, "")
	cobra.CheckErr(cmd.Flags().MarkHidden("fixed-keys"))
	return cmd
}

// Defaults of the daemon's times.
const (
	idleTime    = 5 * time.Minute
	silenceTime = 10 * time.Second
)

// forwarderGC is by how many percent a forwarder's heap grows between two
// collections; 100 is Go's own, which would be 4 MiB at least.
const forwarderGC = 25

// serving is one run of serve.
type serving struct {
	program
	dir, mode     string
	idle, silence time.Duration
	// fixedKeys gives stores that are made in this process the same key each time,
	// so that measurements and tests give the same bytes again. What is recorded
	// into such a store is marked in a way that everybody knows.
	fixedKeys bool
	log       slog.Handler
}

func (s serving) run(ctx context.Context, out io.Writer) (exitCode int) {
	if s.mode == daemonOff {
		s.limitMemory()
		return rpc.Serve(ctx, s.in, out, s.options())
	}
	// A forwarder holds next to nothing, and there is one for each window.
	debug.SetGCPercent(forwarderGC)
	return rpc.Forward(ctx, s.in, out, rpc.ForwardOptions{Connect: s.connect, Log: s.log, Silence: s.silence})
}

// options are those of a server in this process.
func (s serving) options() rpc.Options {
	backend := rpc.BackendOptions{DataDir: s.dir, Log: slog.New(s.log), Settings: settingsFile(s.program), ModelCaches: modelCaches(s.program)}
	if s.fixedKeys { // the same bytes, whatever other programs have fetched
		backend.ModelCaches = nil
		backend.Random = constant(0x5a)
	}
	return rpc.Options{
		Backend: rpc.NewBackend(backend),
		Version: version,
		Log:     s.log,
	}
}

// constant is a reader of one byte again and again.
type constant byte

func (c constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

// connect finds a server for a forwarder.
func (s serving) connect(ctx context.Context) (rpc.Upstream, error) {
	client := s.daemonClient(s.dir, s.silence)
	if s.mode != daemonExisting {
		client.Start = func(ctx context.Context) error { return startDaemon(ctx, s.program, client.Place, s.idle) }
	}
	conn, err := client.Connect(ctx)
	switch {
	case err == nil:
		return rpc.Upstream{Conn: conn}, nil
	case ctx.Err() != nil, s.mode == daemonOn && !errors.Is(err, daemon.ErrUnresponsive), errors.Is(err, daemon.ErrOutdated):
		return rpc.Upstream{}, fmt.Errorf("daemon: %w", err)
	case errors.Is(err, daemon.ErrUnresponsive):
		return rpc.Upstream{}, rpc.NewError(wire.KindDaemonUnresponsive, "the daemon does not answer")
	}
	debug.SetGCPercent(100) // this process does the work after all
	s.limitMemory()
	options := s.options()
	options.Process = func(int) (string, bool) { return "", false } // the forwarder looks
	up := rpc.Upstream{Conn: rpc.ServeInside(options)}
	if !errors.Is(err, daemon.ErrNone) && !errors.Is(err, daemon.ErrUnsupported) {
		fmt.Fprintf(s.errs, "hexapla: no daemon: %s\n", strings.TrimSpace(err.Error()))
		up.Notice = "no daemon can be had; the stores are open in this process alone, and others are told that they are locked"
	}
	return up, nil
}
