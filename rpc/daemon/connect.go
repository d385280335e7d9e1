package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"hexapla/internal/filelock"
)

// Bounds of a client.
const (
	lockPoll  = 10 * time.Millisecond // between looks at a lock that is held
	startTime = 10 * time.Second      // for a daemon to become ready
	// heldTime is how long a daemon that has the lock may be out of reach:
	// starting or leaving takes less.
	heldTime = 2 * time.Second
)

// maxStarts bounds the daemons that are started for one connection.
const maxStarts = 5

// Client finds daemons.
type Client struct {
	Place   Place
	Release Release
	// Patience bounds the wait for a daemon's answer to the greeting; then it is
	// unresponsive.
	Patience time.Duration
	// Start starts a daemon and returns when it is ready, or why it is not; nil to
	// start none.
	Start func(ctx context.Context) error
}

// Connect returns a connection to the daemon, behind the greeting. Without
// Start, no daemon is ErrNone. Other errors: ErrUnresponsive, ErrOutdated,
// ErrHeld, ErrForeign, ErrUnsupported, ctx's error, and what the system says.
func (c Client) Connect(ctx context.Context) (net.Conn, error) {
	if !supported {
		return nil, ErrUnsupported
	}
	conn, _, err := c.greet(ctx, toServe)
	if !errors.Is(err, ErrNone) {
		return conn, err
	}
	if c.Start == nil {
		return nil, c.absent()
	}
	lock, err := c.Place.openLock("spawn.lock")
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	// Whoever has the lock is starting a daemon, which takes as long at most.
	if err := waitLock(ctx, lock, startTime+heldTime); err != nil {
		return nil, err
	}
	deadline, started := time.Now().Add(heldTime), 0
	for {
		conn, _, err := c.greet(ctx, toServe)
		if !errors.Is(err, ErrNone) {
			return conn, err
		}
		switch err := c.absent(); {
		case errors.Is(err, ErrNone):
			starting, cancel := context.WithTimeout(ctx, startTime)
			err := c.Start(starting)
			cancel()
			if err != nil && !errors.Is(err, ErrHeld) {
				return nil, fmt.Errorf("start daemon: %w", err)
			}
			if started++; started == maxStarts {
				return nil, errors.New("start daemon: it leaves as soon as it is ready")
			}
			deadline = time.Now().Add(heldTime)
		case !errors.Is(err, ErrHeld):
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, ErrHeld
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPoll):
		}
	}
}

// absent says why there is no daemon to speak to: ErrNone, or ErrHeld when one
// has the lock.
func (c Client) absent() error {
	if _, err := os.Stat(c.Place.Folder()); err != nil {
		return ErrNone
	}
	lock, err := c.Place.openLock("daemon.lock")
	if err != nil {
		return err
	}
	defer lock.Close() // which gives the lock back
	switch free, err := filelock.Try(lock, false); {
	case err != nil:
		return fmt.Errorf("daemon's lock: %w", err)
	case free:
		return ErrNone
	}
	return ErrHeld
}

// Status asks the daemon how it is.
func (c Client) Status(ctx context.Context) (Status, error) {
	if !supported {
		return Status{}, ErrUnsupported
	}
	conn, status, err := c.greet(ctx, toStatus)
	if err != nil {
		return Status{}, err
	}
	_ = conn.Close() // it has said all
	return status, nil
}

// Stop asks the daemon to leave and waits until it has. What it was asked before
// is answered or can be asked again.
func (c Client) Stop(ctx context.Context) (Status, error) {
	if !supported {
		return Status{}, ErrUnsupported
	}
	conn, status, err := c.greet(ctx, toDrain)
	if err != nil {
		return Status{}, err
	}
	defer conn.Close()
	// Its end is the end of the connection.
	_ = conn.SetReadDeadline(time.Now().Add(c.Patience)) // a broken connection fails at the read
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		return status, ErrUnresponsive
	}
	return status, nil
}

// greet finds the daemon and greets it.
func (c Client) greet(ctx context.Context, want purpose) (net.Conn, Status, error) {
	h, err := c.Place.readHolder()
	if err != nil {
		return nil, Status{}, err
	}
	if err := checkSocket(h.Socket); err != nil {
		return nil, Status{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	var dialer net.Dialer
	dialed, err := dialer.DialContext(ctx, "unix", h.Socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return nil, Status{}, ErrNone // a dead daemon's
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.EAGAIN):
		return nil, Status{}, ErrUnresponsive // its queue is full
	case err != nil:
		return nil, Status{}, fmt.Errorf("socket: %w", err)
	}
	conn, _ := dialed.(*net.UnixConn)
	if uid, err := peerUID(conn); !permitted(uid, os.Geteuid(), err) {
		_ = conn.Close() // nothing was said
		return nil, Status{}, fmt.Errorf("%s: %w: another user listens", h.Socket, ErrForeign)
	}
	status, err := c.introduce(ctx, conn, want)
	if err != nil {
		_ = conn.Close() // the greeting failed
		if errors.Is(err, errLeave) {
			if _, err := c.Stop(ctx); err != nil && !errors.Is(err, ErrNone) {
				return nil, Status{}, err
			}
			err = ErrNone
		}
		return nil, Status{}, err
	}
	return conn, status, nil
}

// errLeave says that the daemon is older and should make room.
var errLeave = errors.New("daemon: it is older")

// introduce exchanges the first lines.
func (c Client) introduce(ctx context.Context, conn *net.UnixConn, want purpose) (Status, error) {
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline) // a broken connection fails at the read
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var reply answer
	err := writeLine(conn, hello{Hexapla: want, Release: c.Release, Data: c.Place.id()})
	if err == nil {
		err = readLine(conn, &reply)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && errors.Is(ctx.Err(), context.Canceled):
		return Status{}, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Status{}, ErrUnresponsive
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return Status{}, ErrNone // it is leaving
	case err != nil:
		return Status{}, err
	}
	theirs := Release{Wire: reply.Wire, Version: reply.Version, Build: reply.Build}
	switch {
	case reply.Refused == refusedOlder:
		return reply.Status, ErrOutdated
	case reply.Refused == refusedNewer, want == toServe && reply.Refused == "" && theirs.OlderThan(c.Release):
		return reply.Status, errLeave
	case reply.Refused == refusedData:
		return Status{}, ErrNone // the folder is a copy, with the lock file of the original
	case reply.Refused != "":
		return reply.Status, fmt.Errorf("the daemon refused: %s", reply.Refused)
	}
	stop()
	return reply.Status, conn.SetDeadline(time.Time{})
}

// waitLock takes a lock, waiting for at most limit.
func waitLock(ctx context.Context, f *os.File, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrUnresponsive)
	defer cancel()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		ok, err := filelock.Try(f, false)
		if ok || err != nil {
			return err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
