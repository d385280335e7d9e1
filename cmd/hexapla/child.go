package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"hexapla/rpc"
	"hexapla/rpc/wire"
)

// server is a server that this process started as a child, as an editor does.
type server struct {
	*rpc.Client
}

// startServer starts `hexapla serve` on a data folder and initializes it, with
// the members of the packing policy and of the profiles that are to differ from
// the default, as JSON, if there are any. It speaks to the daemon that has the
// folder, if one runs; a command starts none. args are more arguments of serve.
func startServer(ctx context.Context, p program, dataDir, policy, profiles string, args ...string) (*server, error) {
	return startServerWith(ctx, p, dataDir, map[string]string{"policy": policy, "profiles": profiles}, args...)
}

// startServerWith is startServer with members of initializationOptions, of which
// empty ones are left out.
func startServerWith(ctx context.Context, p program, dataDir string, members map[string]string, args ...string) (*server, error) {
	self, err := p.self()
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"serve", "--daemon", daemonExisting, "--data-dir", dataDir, "--" + forceFlag}, args...)...)
	cmd.Stderr = p.errs
	cmd.WaitDelay = 5 * time.Second
	client, err := rpc.StartChild(ctx, cmd, rpc.ClientOptions{})
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	s := &server{client}
	info := rpc.InitializeParams{ProcessID: os.Getpid(), ClientName: "hexapla", ClientVersion: version}
	options := map[string]json.RawMessage{}
	for name, member := range members {
		if member != "" {
			options[name] = json.RawMessage(member)
		}
	}
	if len(options) > 0 {
		if info.Options, err = json.Marshal(options); err != nil {
			return nil, errors.Join(fmt.Errorf("start server: %w", err), s.kill())
		}
	}
	if _, err := client.Initialize(ctx, info); err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w", err), s.kill())
	}
	return s, nil
}

// stop ends the server as the protocol has it and waits for the end. When ctx
// has ended, the server was killed already.
func (s *server) stop(ctx context.Context) error {
	if ctx.Err() != nil {
		_ = s.kill() // the context's error is what is told
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("stop server: %w", err), s.kill())
	}
	code, err := s.Wait()
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("stop server: %w", err)
	}
	return nil
}

// kill closes the connection, at which the server ends, and waits for it.
func (s *server) kill() error {
	err := s.Close()
	_, waited := s.Wait()
	return errors.Join(err, waited)
}

// openSession opens a session in a workspace.
func (s *server) openSession(ctx context.Context, params wire.SessionOpenParams) (wire.SessionOpenResult, error) {
	var result wire.SessionOpenResult
	if err := s.Call(ctx, wire.MethodSessionOpen, params, &result); err != nil {
		return result, fmt.Errorf("open session: %w", err)
	}
	return result, nil
}

// explain adds to an error of the server what a person can do about it.
func explain(err error) error {
	var remote *rpc.Error
	if !errors.As(err, &remote) {
		return err
	}
	switch remote.Kind() {
	case wire.KindBudgetTooSmall:
		return fmt.Errorf("%w; --budget %d would do", err, remote.Data.SmallestTotal)
	case wire.KindLocked:
		return fmt.Errorf("%w; process %d has this workspace open without a daemon: name another folder with --data-dir, or close it there", err, remote.Data.PID)
	}
	return err
}
