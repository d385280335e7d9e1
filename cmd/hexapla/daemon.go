package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hexapla/rpc"
	"hexapla/rpc/daemon"
)

// release says which program this is.
func (p program) release() daemon.Release {
	r := daemon.Release{Wire: daemon.Wire, Version: version}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				r.Build = s.Value
			}
		}
	}
	if p.as != nil {
		r = *p.as
	}
	return r
}

// place is where the daemon of a data folder is to be found.
func (p program) place(dir string) daemon.Place {
	var sockets []string
	if run := p.getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		sockets = append(sockets, filepath.Join(run, "hexapla"))
	}
	// Not the folder for temporary files: editors set another one each.
	sockets = append(sockets, "/tmp/hexapla-"+strconv.Itoa(os.Geteuid()))
	return daemon.Place{Data: dir, Sockets: sockets}
}

func (p program) daemonClient(dir string, patience time.Duration) daemon.Client {
	return daemon.Client{Place: p.place(dir), Release: p.release(), Patience: patience}
}

// readyDescriptor is where a daemon that was started says how that went.
const readyDescriptor = 3

// What it says; anything else is an error for people.
const (
	daemonReady = "ready"
	daemonHeld  = "held"
)

// startDaemon starts a daemon that belongs to no process and waits until it is
// ready. The process started here starts the daemon and leaves at once, so that
// the daemon is nobody's child: editors kill the children of what they started.
func startDaemon(ctx context.Context, p program, place daemon.Place, idle time.Duration) error {
	self, err := p.self()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	args := []string{"daemon", "--detach", "--data-dir", place.Data, "--" + forceFlag, "--idle", idle.String()}
	for _, dir := range place.Sockets {
		args = append(args, "--socket-dir", dir)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = "/" // no folder stays in use
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Start()
	_ = w.Close() // the other process has its own
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	said, err := io.ReadAll(io.LimitReader(r, 4096))
	if waited := cmd.Wait(); err == nil && len(said) == 0 {
		err = waited
	}
	switch text := strings.TrimSpace(string(said)); {
	case err != nil:
		return err
	case text == daemonReady:
		return nil
	case text == daemonHeld:
		return daemon.ErrHeld
	case text == "":
		return errors.New("it ended before it was ready")
	default:
		return errors.New(text)
	}
}

func newDaemon(p program) *cobra.Command {
	var idle time.Duration
	var sockets []string
	var detach, told bool
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Keep the stores open for all editors and commands",
		Long: `Daemon keeps the stores of a data folder open for all editors and commands of
one user. Nobody needs to start it: serve does, when none runs. There is one for
each data folder, and it leaves when it had no clients for a while, when it is
told to, and when a newer hexapla asks for its place.

It listens on a socket in $XDG_RUNTIME_DIR/hexapla or /tmp/hexapla-UID, which
only the user can enter, and serves that user alone. What it has to say is in
daemon/daemon.log of the data folder: no content, and 10 MiB at most.`,
		Example: `  hexapla daemon status
  hexapla daemon stop
  hexapla daemon --idle 1h    in the foreground`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := writableDataDir(cmd, p)
			if err != nil {
				return err
			}
			place := p.place(dir)
			if sockets != nil {
				place.Sockets = sockets
			}
			var ready *os.File
			if told || detach {
				ready = os.NewFile(readyDescriptor, "ready")
			}
			if detach {
				err = detachDaemon(p, place, idle, ready)
			} else {
				err = runDaemon(cmd.Context(), p, place, idle, ready)
			}
			if err != nil && ready != nil {
				text := err.Error()
				if errors.Is(err, daemon.ErrHeld) {
					text = daemonHeld
				}
				fmt.Fprintln(ready, text)
			}
			return err
		},
	}
	cmd.Flags().DurationVar(&idle, "idle", idleTime, "how long it stays without clients")
	cmd.Flags().StringArrayVar(&sockets, "socket-dir", nil, "")
	cmd.Flags().BoolVar(&detach, "detach", false, "")
	cmd.Flags().BoolVar(&told, "tell", false, "")
	for _, name := range []string{"socket-dir", "detach", "tell"} {
		_ = cmd.Flags().MarkHidden(name) // they exist
	}
	cmd.AddCommand(newDaemonStatus(p), newDaemonStop(p))
	return cmd
}

// detachDaemon starts the daemon proper, in a session of its own, and leaves it
// alone.
func detachDaemon(p program, place daemon.Place, idle time.Duration, ready *os.File) error {
	self, err := p.self()
	if err != nil {
		return err
	}
	args := []string{"daemon", "--tell", "--data-dir", place.Data, "--" + forceFlag, "--idle", idle.String()}
	for _, dir := range place.Sockets {
		args = append(args, "--socket-dir", dir)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = daemon.Detach(readyDescriptor + 1)
	cmd.ExtraFiles = []*os.File{ready}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// runDaemon is the daemon.
func runDaemon(ctx context.Context, p program, place daemon.Place, idle time.Duration, ready *os.File) error {
	p.limitMemory()
	file, err := daemon.OpenLog(place, "daemon.log")
	if err != nil {
		return err
	}
	crashes, err := daemon.OpenLog(place, "crash.log")
	if err != nil {
		return err
	}
	if err := debug.SetCrashOutput(crashes.File(), debug.CrashOptions{}); err != nil {
		return err
	}
	handler := slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelInfo})
	log := slog.New(handler)
	starts := daemon.NewStarts(place)
	started := time.Now().UnixMilli()
	var host *rpc.Host
	err = daemon.Run(ctx, daemon.Options{
		Place: place, Release: p.release(), Idle: idle, Started: started, Log: log,
		Prepare: func() {
			safe := starts.Begin(started)
			if safe {
				log.Warn("the daemons before crashed; the index stays off")
			}
			host = rpc.NewHost(rpc.BackendOptions{DataDir: place.Data, Log: log, NoIndex: safe, Settings: settingsFile(p), ModelCaches: modelCaches(p)})
		},
		Ready: func() {
			if ready != nil {
				fmt.Fprintln(ready, daemonReady)
				_ = ready.Close() // it is said
			}
		},
		Serve: func(ctx context.Context, conn net.Conn) {
			rpc.Serve(ctx, conn, conn, rpc.Options{
				Backend: host.Backend(), Version: version, Log: handler, Handover: true,
				Process: func(int) (string, bool) { return "", false }, // the forwarder looks
			})
		},
		Workspaces: func() int { return host.Workspaces() },
		Close: func(ctx context.Context) {
			if err := host.Close(ctx); err != nil {
				log.Error("close failed", "error", err)
				return
			}
			starts.End()
		},
	})
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	return nil
}

func newDaemonStatus(p program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Say whether a daemon runs, and for whom",
		Long:    "Status asks the daemon of the data folder how it is. The exit code is 1 when none runs.",
		Example: "  hexapla daemon status\n  hexapla daemon status --json",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.tellDaemon(cmd, asJSON, daemon.Client.Status, func(s daemon.Status) string {
				since := time.UnixMilli(s.Started).UTC().Format(time.RFC3339)
				return fmt.Sprintf("process %d, version %s, since %s: %d clients, %d workspaces open; leaves after %s without clients\nsocket %s",
					s.PID, s.Version, since, s.Clients, s.Workspaces, s.Idle, s.Socket)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newDaemonStop(p program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Ask the daemon to leave and wait until it has",
		Long: `Stop asks the daemon of the data folder to leave and waits until it has. What
was answered is on disk. Editors that are open start another one with their next
request. The exit code is 1 when none runs.`,
		Example: "  hexapla daemon stop",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.tellDaemon(cmd, asJSON, daemon.Client.Stop, func(s daemon.Status) string {
				return fmt.Sprintf("process %d has left", s.PID)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// tellDaemon asks the daemon something and prints what it said.
func (p program) tellDaemon(cmd *cobra.Command, asJSON bool, ask func(daemon.Client, context.Context) (daemon.Status, error), text func(daemon.Status) string) error {
	dir, err := dataDir(cmd, p)
	if err != nil {
		return err
	}
	status, err := ask(p.daemonClient(dir, silenceTime), cmd.Context())
	if err != nil {
		return fmt.Errorf("daemon: %w", err)
	}
	if asJSON {
		e := json.NewEncoder(p.out)
		e.SetIndent("", "  ")
		return e.Encode(status)
	}
	_, err = fmt.Fprintln(p.out, text(status))
	return err
}
